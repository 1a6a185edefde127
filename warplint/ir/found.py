"""What came of the analysis of a file."""

from __future__ import annotations

from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING

from warplint.ir.facts import Fact, Problem
from warplint.records import dataclass

if TYPE_CHECKING:
    from warplint.ir.effects import Uses
    from warplint.ir.runs import HostRun, KeptFacts


@dataclass(frozen=True, slots=True)
class Inputs:
    """What a project knows of the file system: the files that it read, and places where it looked for one in vain."""

    present: frozenset[Path] = frozenset()
    absent: frozenset[Path] = frozenset()

    def also(self, other: Inputs) -> Inputs:
        """Both together."""
        if not other.present and not other.absent:
            return self
        return Inputs(self.present | other.present, self.absent | other.absent)


@dataclass(frozen=True, slots=True)
class FileAnalysis:
    """What came of one file: facts, how it uses kernels, and what kept us from more (with a traceback, if that is our
    fault)."""

    path: Path
    facts: tuple[Fact, ...] = ()
    problems: tuple[Problem, ...] = ()
    traceback: str | None = None
    uses: Uses = field(default_factory=dict)
    #: Entry points of host code that was not followed to its end, for want of steps: pairs of file and name.
    exhausted: tuple[tuple[Path, str], ...] = ()
    #: What was read and looked for besides the linted files.
    inputs: Inputs = Inputs()
    #: How often host code was run, the steps that it took, and the most that one file may take.
    runs: int = 0
    steps: int = 0
    budget: int = 0
    #: What later runs may take over of the tapes, if nothing that it rests on has changed.
    host: HostRun | None = None
    #: The facts of its regions, for the same.
    kept: KeptFacts | None = None

    def and_then(self, more: FileAnalysis) -> FileAnalysis:
        """Both together."""
        from warplint.ir.effects import merged

        return FileAnalysis(
            self.path,
            (*self.facts, *more.facts),
            tuple(dict.fromkeys((*self.problems, *more.problems))),
            self.traceback or more.traceback,
            merged((self.uses, more.uses)),
            tuple(dict.fromkeys((*self.exhausted, *more.exhausted))),
            self.inputs.also(more.inputs),
            self.runs + more.runs,
            self.steps + more.steps,
            max(self.budget, more.budget),
            self.host or more.host,
            more.kept if self.kept is None else self.kept if more.kept is None else self.kept.also(more.kept),
        )
