"""The facts of a file that is being edited: what cannot have changed since the last version is taken over."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import TypeVar

from warplint import kernels, tapes
from warplint.analysis import Linted, Wanted, kernel_facts, may_launch, tape_facts
from warplint.ir.effects import EffectSummary, Uses
from warplint.ir.facts import Fact
from warplint.ir.found import FileAnalysis
from warplint.ir.moving import moved
from warplint.ir.places import locations
from warplint.reach import reaching
from warplint.records import dataclass
from warplint.server.shape import Shape, Words
from warplint.source.project import Definition, Module, Project

#: How many entries of each kind are kept for a file, above those that its last version used.
_SPARE = 200
# Results of the tape analysis that are kept.
_TAPES = 4

Key = TypeVar("Key")
Value = TypeVar("Value")


class Superseded(Exception):
    """There is a newer version of the text."""


@dataclass(frozen=True, slots=True)
class _Kept:
    """Facts, and the lines (first and last) that the regions which they depend on had."""

    facts: tuple[Fact, ...]
    lines: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class _Tape:
    """What came of the tapes of a file: also of use where nothing but bodies of kernels changed."""

    facts: tuple[Fact, ...]
    uses: Uses
    lines: tuple[tuple[int, int], ...]
    #: The effects that the analysis asked for, by the number of the region and the name.
    effects: Mapping[tuple[int, str], EffectSummary | None]


@dataclass(slots=True)
class Memory:
    """What is remembered of one file."""

    words: dict[str, Words] = field(default_factory=dict)
    facts: dict[object, _Kept] = field(default_factory=dict)
    effects: dict[object, EffectSummary | None] = field(default_factory=dict)
    tapes: dict[object, _Tape] = field(default_factory=dict)
    shape: Shape | None = None
    #: Whether both readers agree on a region, by its text.
    agreed: dict[tuple[Path, str], bool] = field(default_factory=dict)

    def trim(self, regions: int) -> None:
        """Forget what was not used for long; what was used last stands last."""
        most = 2 * regions + _SPARE
        _trim(self.words, most)
        _trim(self.facts, most)
        _trim(self.effects, most)
        _trim(self.agreed, most)
        _trim(self.tapes, _TAPES)


def _trim(kept: dict[Key, Value], most: int) -> None:
    for key in list(kept)[: max(0, len(kept) - most)]:
        del kept[key]


def analyse_again(
    project: Project, module: Module, memory: Memory, around: object, wanted: Wanted, check: Callable[[], None]
) -> tuple[FileAnalysis, Shape]:
    """What ``analyse_files`` finds in one loaded file of a project without memory of its own; and how its regions hang
    together.

    ``around`` is equal where everything outside the file is as it was. ``check`` is called now and then, and raises
    ``Superseded`` to end the work; what was found by then is remembered.
    """
    run = _Run(project, module, memory, around, check)
    found = run.all(wanted)
    memory.trim(len(module.regions))
    if found is not None:
        return found, run.shape
    # As the command line does it: the two readers differ, or something could not be read.
    fresh = project.after(())
    linted = Linted(fresh, wanted)
    analysis = tape_facts(linted, module.path) if "warp" in module.text or "Tape" in module.text else None
    analysis = analysis or FileAnalysis(module.path)
    check()
    if "@" in module.text:
        analysis = analysis.and_then(kernel_facts(linted, module.path, analysis.uses))
    return analysis, run.shape


class _Run:
    """One analysis of one version."""

    def __init__(
        self, project: Project, module: Module, memory: Memory, around: object, check: Callable[[], None]
    ) -> None:
        self._project = project
        self._module = module
        self._memory = memory
        self._around = around
        self._check = check
        self.shape = memory.shape = Shape(module, memory.words, memory.shape)

    def all(self, wanted: Wanted) -> FileAnalysis | None:
        """None where only the long way is sure."""
        facts: list[Fact] = []
        uses: Uses = {}
        text = self._module.text
        if "warp" in text or "Tape" in text:
            found, uses = self._tapes()
            self._check()
            if may_launch(text):
                found = [*found, *self._launches()]
            facts += wanted(found)
        if "@" in text:
            of_kernels = wanted(self._kernels(uses))
            facts += [reaching(fact, uses, self._project) for fact in of_kernels]
        if self._project.problems or not self._agreed(facts):
            return None
        return FileAnalysis(self._module.path, tuple(facts), uses=uses)

    # --- kernels ---

    def _kernels(self, uses: Uses) -> list[Fact]:
        found: list[Fact] = []
        used = frozenset(uses.items())
        for region in list(kernels.relevant_regions(self._project, self._module)):
            number = self.shape.index[region.line]
            closure = self.shape.closure(number)
            key = (self._around, self.shape.base, used, closure.index(number), self.shape.key(closure))
            kept = self._memory.facts.pop(key, None)
            if kept is None:
                self._check()
                facts = tuple(kernels.analyse(self._project, self._module, uses, region))
                if not self._within(facts, closure):
                    found += facts
                    continue
                kept = _Kept(facts, self._lines(closure))
            self._memory.facts[key] = kept
            found += self._placed(kept.facts, kept.lines, closure)
        return found

    # --- launches ---

    def _launches(self) -> Iterator[Fact]:
        for region in list(kernels.launching_regions(self._project, self._module)):
            number = self.shape.index[region.line]
            below = self.shape.below(number)
            key = (self._around, self.shape.base, "launches", below.index(number), self.shape.faces(below, number))
            kept = self._memory.facts.pop(key, None)
            if kept is None:
                self._check()
                kept = _Kept(tuple(kernels.launches(self._project, self._module, region)), self._lines(below))
                if not self._within(kept.facts, below):
                    yield from kept.facts
                    continue
            self._memory.facts[key] = kept
            yield from self._placed(kept.facts, kept.lines, below)

    # --- tapes ---

    def _tapes(self) -> tuple[Sequence[Fact], Uses]:
        every = range(len(self.shape.regions))
        key = (self._around, self.shape.tape_key())
        kept = self._memory.tapes.pop(key, None)
        if kept is None or not self._holds(kept):
            asked: dict[tuple[int, str], EffectSummary | None] = {}
            given: list[Definition] = []

            def effects(definition: Definition) -> EffectSummary | None:
                if definition.given:  # which functions a factory was called with is not found again by names
                    given.append(definition)
                    return kernels.effects(self._project, definition)
                summary, where = self._effects(definition)
                if where is not None:
                    asked[where] = summary
                return summary

            analysis = tapes.TapeAnalysis(self._project, effects)
            facts = tuple(analysis.module(self._module))
            kept = _Tape(facts, analysis.uses, self._lines(every), asked)
            if given:
                return self._placed(kept.facts, kept.lines, every), kept.uses
        self._memory.tapes[key] = kept
        return self._placed(kept.facts, kept.lines, every), kept.uses

    def _holds(self, kept: _Tape) -> bool:
        """Whether the kernels do what they did."""
        for (number, name), summary in kept.effects.items():
            region = self.shape.regions[number]
            if self.shape.is_kernel(number) and region.names == (name,):
                key = self._effects_key(number)
                if key in self._memory.effects:
                    if self._memory.effects[key] != summary:
                        return False
                    self._memory.effects[key] = self._memory.effects.pop(key)  # it was used
                    continue
            found = [one for one in self._module.within(region) if one.qualname == name]
            if len(found) != 1 or self._effects(found[0])[0] != summary:
                return False
        return True

    def _effects(self, definition: Definition) -> tuple[EffectSummary | None, tuple[int, str] | None]:
        """The effects, and which region of the file they are those of."""
        region = self._module.region_at(definition.node.span.line) if definition.module is self._module else None
        if region is None:
            return kernels.effects(self._project, definition), None
        number = self.shape.index[region.line]
        where = (number, definition.qualname)
        if not self.shape.is_kernel(number):
            return kernels.effects(self._project, definition), where
        key = self._effects_key(number)
        if key in self._memory.effects:
            summary = self._memory.effects.pop(key)
        else:
            self._check()
            summary = kernels.effects(self._project, definition)
        self._memory.effects[key] = summary
        return summary, where

    def _effects_key(self, number: int) -> object:
        closure = self.shape.closure(number)
        return (self._around, self.shape.base, closure.index(number), self.shape.key(closure))

    # --- places ---

    def _lines(self, closure: Sequence[int]) -> tuple[tuple[int, int], ...]:
        regions = self.shape.regions
        return tuple((regions[number].line, regions[number].end_line) for number in closure)

    def _within(self, facts: Sequence[Fact], closure: Sequence[int]) -> bool:
        """Whether all places of ``facts`` in this file are in the regions that they were found to depend on."""
        own = {line for first, last in self._lines(closure) for line in range(first, last + 1)}
        return all(
            location.span.line in own and location.span.end_line in own
            for location in locations(facts)
            if location.path == self._module.path
        )

    def _placed(
        self, facts: tuple[Fact, ...], lines: tuple[tuple[int, int], ...], closure: Sequence[int]
    ) -> tuple[Fact, ...]:
        """``facts`` where their regions are now."""
        if not facts:
            return facts
        now = self._lines(closure)
        if now == lines:
            return facts
        by = {
            old: new
            for (old_first, old_last), (new_first, _) in zip(lines, now, strict=True)
            for old, new in zip(
                range(old_first, old_last + 1), range(new_first, new_first + old_last + 1), strict=False
            )
        }
        return moved(facts, self._module.path, by)

    # --- readers ---

    def _agreed(self, facts: Sequence[Fact]) -> bool:
        """Whether the precise reader reads everything as the fast one did that holds one of ``facts``."""
        for fact in facts:
            path, line = fact.location.path, fact.location.span.line
            module = self._project.module(path)
            region = module.region_at(line) if module is not None else None
            if module is None or region is None:
                continue
            key = (path, module.region_text(region))
            agreed = self._memory.agreed.pop(key, None)
            if agreed is None:
                self._check()
                agreed = not self._project.read_otherwise([(path, line)])
            self._memory.agreed[key] = agreed
            if not agreed:
                return False
        return True
