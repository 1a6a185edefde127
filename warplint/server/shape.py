"""What each region of a module can have to do with the others: told from words alone, and rather too much than too
little. The facts of a region are taken over from an earlier version of a file only where nothing that this finds has
changed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from warplint.hosts import head_of_kernel
from warplint.kernels.options import is_decorated
from warplint.records import dataclass
from warplint.source.bindings import binders
from warplint.source.project import Module
from warplint.source.regions import Region, statement_text

_WORD = re.compile(r"[^\W\d]\w*")
_DEFINED = re.compile(r"\b(?:def|class)\s+(\w+)")
_HEADER = re.compile(r"(?:(?!^[ \t]*(?:async[ \t]+)?(?:def|class)\b).*\n)*", re.MULTILINE)
_CALLED = re.compile(r"([^\W\d]\w*)\s*\(")
# What options of kernels are told from, wherever it stands (warplint.kernels.options).
_OPTIONS = re.compile(r"set_module_options|\bconfig\.|\.options\b|enable_backward")
#: How thread indices are asked for on one line.
_UNPACKED = re.compile(r"[ \t]*\w+(?:[ \t]*,[ \t]*\w+)*[ \t]*=[ \t]*(?:\w+\.)*tid\(\)[ \t]*(?:#.*)?")
# What is asked of the text of a whole file.
_WHOLE = ("enable_vector_component_overwrites", "yield", "Tape")
_OVERWRITES_SET = re.compile(r"\bconfig\.enable_vector_component_overwrites\s*=")


@dataclass(frozen=True, slots=True)
class Words:
    """The words of one region: all, those that it binds or defines, those of its decorators, and those called.

    ``single``: it is one function at the top level, without another inside.
    """

    all: frozenset[str]
    bound: frozenset[str]
    decorators: frozenset[str]
    called: frozenset[str]
    single: bool
    options: bool


class Shape:
    """The regions of one version of a module and how they hang together."""

    def __init__(self, module: Module, known: dict[str, Words], before: Shape | None = None) -> None:
        """``known`` holds the words of regions by their texts, and gets those that are new. ``before`` is the shape of
        an earlier version."""
        self.module = module
        self.regions = module.regions
        self.texts = [statement_text(module.region_text(region)) for region in self.regions]
        self.index = {region.line: number for number, region in enumerate(self.regions)}
        self.words: list[Words] = []
        for region, text in zip(self.regions, self.texts, strict=True):
            words = known.get(text)
            if words is None:
                words = known[text] = _words(module, region, text)
            self.words.append(words)
        self._decorated = [is_decorated(module, region) for region in self.regions]
        self._binding: dict[str, list[int]] = {}
        self._attached: dict[str, list[int]] = {}
        for number, words in enumerate(self.words):
            for name in words.bound:
                self._binding.setdefault(name, []).append(number)
        own = {name for name, places in self._binding.items() if any(self.regions[n].kind != "import" for n in places)}
        for number, words in enumerate(self.words):
            for name in words.decorators & own if not self.is_kernel(number) else ():
                self._attached.setdefault(name, []).append(number)
        self._mentioning: dict[str, list[int]] | None = None
        self._below: dict[int, tuple[int, ...]] = {}
        self._closures = before._closures_that_hold(self) if before is not None else {}
        #: What all regions depend on.
        self.base = (
            tuple(
                text
                for region, text, words in zip(self.regions, self.texts, self.words, strict=True)
                if region.kind == "import" or words.options and region.kind not in ("def", "class")
            ),
            module.walrus,
            module.rebound,
            tuple(word in module.text for word in _WHOLE),
            _WHOLE[0] in module.text and _OVERWRITES_SET.search(module.text) is not None,
        )

    def is_kernel(self, number: int) -> bool:
        """Whether a region is one kernel at the top level, by its decorators."""
        words = self.words[number]
        return words.single and self._decorated[number] and "kernel" in words.decorators

    def closure(self, number: int) -> tuple[int, ...]:
        """The regions that the facts of a region can depend on, in order, itself included."""
        found = self._closures.get(number)
        if found is None:
            start = {number} if self.is_kernel(number) else self._up(number)
            found = self._closures[number] = tuple(sorted(self._down(start)))
        return found

    def below(self, number: int) -> tuple[int, ...]:
        """A region and those that bind what it names, and what these name in their turn, in order."""
        if self.is_kernel(number):
            return self.closure(number)
        found = self._below.get(number)
        if found is None:
            found = self._below[number] = tuple(sorted(self._down({number})))
        return found

    def faces(self, closure: Iterable[int], own: int) -> tuple[object, ...]:
        """What a launch in the region ``own`` sees of some regions: of a kernel only how it is declared, and how many
        thread indices it asks for."""
        return tuple(
            self._face(number) if number != own and self.is_kernel(number) else self.texts[number] for number in closure
        )

    def _face(self, number: int) -> object:
        text = self.texts[number]
        body = text.find("):\n")
        lines = [line for line in text[body:].split("\n") if "tid" in line]
        return (text[:body], *lines) if body >= 0 and all(map(_UNPACKED.fullmatch, lines)) else text

    def _closures_that_hold(self, later: Shape) -> dict[int, tuple[int, ...]]:
        """The closures of kernels that are the same in a later version, where the same names are bound in the same
        regions: those without a region whose words have changed."""
        kinds = [[region.kind for region in shape.regions] for shape in (self, later)]
        if kinds[0] != kinds[1] or self._decorated != later._decorated:
            return {}
        changed: set[int] = set()
        names = self._binding.keys()
        for number, (old, new) in enumerate(zip(self.words, later.words, strict=True)):
            if old is not new:
                if old.bound != new.bound or old.decorators != new.decorators or old.single != new.single:
                    return {}
                if not names.isdisjoint(old.all ^ new.all):
                    changed.add(number)
        if not changed:
            return dict(self._closures)
        return {
            number: closure
            for number, closure in self._closures.items()
            if later.is_kernel(number) and changed.isdisjoint(closure)
        }

    def key(self, closure: Iterable[int]) -> tuple[str, ...]:
        """The texts of some regions."""
        return tuple(self.texts[number] for number in closure)

    def tape_key(self) -> tuple[object, ...]:
        """What the tape analysis sees of the module, besides the effects of kernels."""
        parts: list[object] = [self.base, len(self.regions)]
        for number, (text, words) in enumerate(zip(self.texts, self.words, strict=True)):
            if self.is_kernel(number):
                parts.append(head_of_kernel(text, words.called))
            else:
                parts.append(text)
        return tuple(parts)

    def _down(self, start: set[int]) -> set[int]:
        """``start`` and all regions that bind what is named in these, or that decorate themselves with it."""
        names = self._binding.keys()
        found, queue = set(start), list(start)
        while queue:
            words = self.words[queue.pop()]
            for name in words.all & names:
                for other in (*self._binding[name], *self._attached.get(name, ())):
                    if other not in found:
                        found.add(other)
                        queue.append(other)
        return found

    def _up(self, start: int) -> set[int]:
        """``start`` and the regions that can call what it defines, and what these define in their turn."""
        if self._mentioning is None:
            self._mentioning = {}
            names = self._binding.keys()
            for number, words in enumerate(self.words):
                for name in words.all & names:
                    self._mentioning.setdefault(name, []).append(number)
        found, queue = {start}, [start]
        while queue:
            number = queue.pop()
            if number != start and self.is_kernel(number):
                continue  # nothing calls a kernel
            # Only a factory or a method hands out functions under other names, in host code.
            anywhere = not (self.words[number].single and self._decorated[number])
            for name in self.words[number].bound:
                for other in self._mentioning.get(name, ()):
                    if other not in found and (anywhere or self._decorated[other]):
                        found.add(other)
                        queue.append(other)
        return found


def _words(module: Module, region: Region, text: str) -> Words:
    every = frozenset(_WORD.findall(text))
    if region.kind in ("def", "class"):
        defined = _DEFINED.findall(text)
        header = _HEADER.match(text)
        decorators = frozenset(_WORD.findall(header[0])) if header is not None and "@" in header[0] else frozenset()
        bound = frozenset((*region.names, *defined))
        single = region.kind == "def" and len(defined) == 1 and "lambda" not in every
    else:
        bound = frozenset(name for name, _ in binders(module.read(region)))
        decorators, single = frozenset(), False
        if region.kind not in ("import", "assign"):
            bound |= frozenset(_DEFINED.findall(text))
            if "@" in text:
                decorators = every
    return Words(every, bound, decorators, frozenset(_CALLED.findall(text)), single, bool(_OPTIONS.search(text)))
