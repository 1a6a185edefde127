"""The facts about kernels, funcs and launches that an earlier run found, where nothing that they rest on has changed.

They are kept by the regions of files, and move with these. What a change can make a difference to is told by
``changes.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from warplint import kernels
from warplint.changes import Changes, Node
from warplint.ir.effects import Uses
from warplint.ir.facts import Fact
from warplint.ir.moving import relocated
from warplint.ir.runs import Earlier, KeptFacts
from warplint.source.project import Module, Project
from warplint.source.regions import Region
from warplint.source.visible import Visible

#: Picks the facts that matter to a run.
Wanted = Callable[[Sequence[Fact]], Sequence[Fact]]


class Taken:
    """What of an earlier run holds for the loaded files of a project."""

    def __init__(self, project: Project, earlier: Earlier, visible: Visible) -> None:
        self.changes = Changes(project, earlier.modules, visible)
        self._earlier = earlier

    def of_uses(self, uses: Uses) -> frozenset[Node]:
        """The regions whose facts about kernels are to be found again, now that it is known how kernels are used."""
        return self.changes.of_uses(self._earlier.uses, uses)

    def kernels(self, path: Path, again: frozenset[Node]) -> tuple[dict[int, tuple[Fact, ...]], set[int]] | None:
        """The facts about kernels in a file by the first lines of its regions, and the regions that are to be looked
        at ``again``; None: all are."""
        kept = self._earlier.facts.get(path)
        if kept is None or kept.kernels is None:
            return None
        return self._held(path, kept.kernels, again, frozenset() if self.changes.nothing else kept.restless)

    def launches(self, path: Path) -> tuple[dict[int, tuple[Fact, ...]], set[int]] | None:
        """The same for the facts about launches."""
        kept = self._earlier.facts.get(path)
        if kept is None or kept.launches is None:
            return None
        return self._held(path, kept.launches, self.changes.launches, frozenset())

    def restless(self, path: Path) -> frozenset[int]:
        """The first lines of the regions whose facts rest on more than words tell."""
        kept = self._earlier.facts[path]
        now = self.changes.now(path)
        return kept.restless if now is None else frozenset(now[line] for line in kept.restless if line in now)

    def _held(
        self, path: Path, facts: Mapping[int, tuple[Fact, ...]], again: Iterable[Node], restless: frozenset[int]
    ) -> tuple[dict[int, tuple[Fact, ...]], set[int]] | None:
        if self.changes.everything:
            return None
        now = self.changes.now(path)
        lines = {line for place, line in again if place == path}
        lines |= {line if now is None else now[line] for line in restless if now is None or line in now}
        held: dict[int, tuple[Fact, ...]] = {}
        for old, some in facts.items():
            line = old if now is None else now.get(old)
            if line is None or line in lines:
                continue
            try:
                held[line] = relocated(some, self.changes.place)
            except LookupError:
                lines.add(line)
        return held, lines


def kernel_facts(
    project: Project,
    module: Module,
    uses: Uses,
    taken: Taken | None,
    again: frozenset[Node],
    wanted: Wanted,
    kinds: frozenset[str] | None,
) -> tuple[Sequence[Fact], KeptFacts]:
    """The facts about the kernels and funcs of a module, and what is to be kept of them; ``kinds`` as in ``Linted``."""
    held = taken.kernels(module.path, again) if taken is not None else None
    restless: set[int] = set()

    def analyse(region: Region) -> tuple[Fact, ...]:
        before = kernels.asked_widely(project)
        facts = tuple(kernels.analyse(project, module, uses, region, kinds))
        if kernels.asked_widely(project) != before:
            restless.add(region.line)
        return facts

    def regions() -> Iterable[Region]:
        return list(kernels.relevant_regions(project, module))

    found, kept = _of_regions(held, regions, analyse, wanted)
    if taken is not None and held is not None:
        restless |= taken.restless(module.path) - held[1]
    return found, KeptFacts(module.path, kernels=kept, restless=frozenset(restless))


def launch_facts(
    project: Project, module: Module, taken: Taken | None, wanted: Wanted, any_at_all: bool
) -> tuple[Sequence[Fact], KeptFacts]:
    """The facts about the launches in a module, and what is to be kept of them."""
    if not any_at_all:
        return (), KeptFacts(module.path, launches={})
    held = taken.launches(module.path) if taken is not None else None

    def analyse(region: Region) -> tuple[Fact, ...]:
        return tuple(kernels.launches(project, module, region))

    def regions() -> Iterable[Region]:
        return list(kernels.launching_regions(project, module))

    found, kept = _of_regions(held, regions, analyse, wanted)
    return found, KeptFacts(module.path, launches=kept)


def _of_regions(
    held: tuple[dict[int, tuple[Fact, ...]], set[int]] | None,
    regions: Callable[[], Iterable[Region]],
    analyse: Callable[[Region], tuple[Fact, ...]],
    wanted: Wanted,
) -> tuple[Sequence[Fact], dict[int, tuple[Fact, ...]]]:
    by_region: dict[int, tuple[Fact, ...]]
    if held is not None and not held[1]:
        by_region = held[0]
    else:
        by_region = {}
        for region in regions():
            if held is None or region.line in held[1]:
                by_region[region.line] = analyse(region)
            elif region.line in held[0]:
                by_region[region.line] = held[0][region.line]
    every = [fact for line in sorted(by_region) for fact in by_region[line]]
    found = wanted(every) if every else []
    matter = {id(fact) for fact in found}
    kept = {line: tuple(fact for fact in facts if id(fact) in matter) for line, facts in by_region.items()}
    return found, {line: facts for line, facts in kept.items() if facts}
