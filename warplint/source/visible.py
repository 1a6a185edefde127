"""Which modules the code of a module can see: told from words, and rather too many than too few."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from pathlib import Path

from warplint.source.modules import Module


def name_of(path: Path) -> str:
    """What code that imports the file at ``path`` calls it, or the package that it is."""
    return path.parent.name if path.stem == "__init__" else path.stem


class Visible:
    """Whoever imports a module names it, or lies in the package that it is."""

    def __init__(self, modules: Iterable[Module]) -> None:
        #: All modules, in the order of their paths.
        self.modules = sorted(modules, key=lambda module: module.path)
        self._places = {module.path: place for place, module in enumerate(self.modules)}
        named: dict[str, int] = {}
        for place, path in enumerate(self._places):
            name = name_of(path)
            named[name] = named.get(name, 0) | 1 << place
        # The modules that each one may import, as bits.
        self._beside: list[int] = []
        self._from = [0] * len(self.modules)
        names = frozenset(named)
        known: dict[int, bool] = {}
        for module in self.modules:
            asked, found = module.files_named or (frozenset(), frozenset())
            if id(asked) not in known:
                known[id(asked)] = names <= asked
            words = found if known[id(asked)] else module.words()
            self._beside.append(self._imported(module, names & words, named))

    @cached_property
    def _with(self) -> Mapping[str, list[int]]:
        """The numbers of the modules that have a word in them."""
        found: dict[str, list[int]] = {}
        for place, module in enumerate(self.modules):
            for word in module.words():
                found.setdefault(word, []).append(place)
        return found

    def _imported(self, module: Module, words: Iterable[str], named: Mapping[str, int]) -> int:
        found = 0
        for word in words:
            found |= named[word]
        for folder in module.path.parents:
            place = self._places.get(folder / "__init__.py")
            found |= 0 if place is None else 1 << place
        return found

    def number(self, path: Path) -> int | None:
        """The place of the module at ``path`` among all."""
        return self._places.get(path)

    def places(self, path: Path) -> int:
        """The numbers of the modules that the module at ``path`` can see, itself among them, as bits."""
        place = self._places.get(path)
        return 0 if place is None else self.seen_by(place)

    def seen_by(self, place: int) -> int:
        """The same for the module with a number."""
        found = self._from[place]
        if not found:
            found = left = 1 << place
            while left:
                low = left & -left
                new = self._beside[low.bit_length() - 1] & ~found
                found |= new
                left = (left ^ low) | new
            self._from[place] = found
        return found

    def sees(self, path: Path, other: Path) -> bool:
        """Whether the module at ``path`` can see what is at ``other``."""
        place = self._places.get(other)
        return place is not None and bool(self.places(path) >> place & 1)

    def mentioning(self, word: str, path: Path, but: int = 0) -> Iterator[tuple[int, Module]]:
        """The modules that have a word in them and can see what is at ``path``, with their numbers; without those whose
        bits are set in ``but``."""
        wanted = self._places.get(path)
        if wanted is None:
            return
        for place in self._with.get(word, ()):
            if not but >> place & 1 and self.seen_by(place) >> wanted & 1:
                yield place, self.modules[place]
