"""Which modules the code of a module can see: told from words, and rather too many than too few."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from warplint.source.modules import Module

_WORD = re.compile(r"[^\W\d]\w*")


class Visible:
    """Whoever imports a module names it, or lies in the package that it is."""

    def __init__(self, modules: Iterable[Module]) -> None:
        #: All modules, in the order of their paths.
        self.modules = sorted(modules, key=lambda module: module.path)
        self._places = {module.path: place for place, module in enumerate(self.modules)}
        named: dict[str, int] = {}
        for place, path in enumerate(self._places):
            name = path.parent.name if path.stem == "__init__" else path.stem
            named[name] = named.get(name, 0) | 1 << place
        # The modules that each one may import, as bits.
        self._beside = [self._imported(module, named) for module in self.modules]
        self._from: dict[Path, int] = {}

    def _imported(self, module: Module, named: Mapping[str, int]) -> int:
        found = 0
        for word in named.keys() & set(_WORD.findall(module.text)):
            found |= named[word]
        for folder in module.path.parents:
            place = self._places.get(folder / "__init__.py")
            found |= 0 if place is None else 1 << place
        return found

    def places(self, path: Path) -> int:
        """The numbers of the modules that the module at ``path`` can see, itself among them, as bits."""
        if path not in self._from:
            place = self._places.get(path)
            found = left = 0 if place is None else 1 << place
            while left:
                low = left & -left
                new = self._beside[low.bit_length() - 1] & ~found
                found |= new
                left = (left ^ low) | new
            self._from[path] = found
        return self._from[path]

    def sees(self, path: Path, other: Path) -> bool:
        """Whether the module at ``path`` can see what is at ``other``."""
        place = self._places.get(other)
        return place is not None and bool(self.places(path) >> place & 1)
