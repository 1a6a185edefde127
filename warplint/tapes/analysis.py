"""The tape analysis of one module: runs, the facts in their traces, and how they use kernels."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path as FilePath

from warplint.ir.effects import KernelUse, Path
from warplint.ir.facts import Fact
from warplint.ir.spans import Location
from warplint.source.project import Module, Project
from warplint.tapes import (
    checkers,
    copies,
    duplicates,
    entries,
    housekeeping,
    lost,
    overwrites,
    recorded,
    repeats,
    retained,
    seeding,
    severed,
    stale,
    structs,
    unconverged,
    unwritten,
    windows,
)
from warplint.tapes.active import activity
from warplint.tapes.machine import Effects
from warplint.tapes.trace import Launched, Trace


class TapeAnalysis:
    """The tape analysis of one project. ``effects`` says what each kernel does to its arguments.

    What is learned on the way stays here: ``uses`` of the kernels (by path and qualified name) that any run launched,
    and ``exhausted``, the entry points whose run ended, or was not made, for want of steps (pairs of path and name).
    """

    def __init__(self, project: Project, effects: Effects) -> None:
        self.project = project
        self.effects = effects
        self.uses: dict[tuple[FilePath, str], KernelUse] = {}
        self.exhausted: list[tuple[FilePath, str]] = []

    def module(self, module: Module) -> Iterator[Fact]:
        """The facts about tapes in what ``module`` runs; places may be in the modules that it uses."""
        if not entries.concerns(module):
            return
        seen: set[tuple[str, Location]] = set()
        left_out: list[str] = []
        reads = unwritten.Reads()
        for trace in entries.traces(self.project, module, self.effects, left_out):
            self._note(module, trace)
            reads.look(trace)
            sweeps = recorded.sweeps(trace)
            actives = [activity(trace, sweep) for sweep in sweeps]
            found = [
                *severed.facts(trace, sweeps),
                *windows.facts(trace, sweeps),
                *overwrites.facts(trace, sweeps, actives),
                *repeats.facts(trace, sweeps, actives),
                *lost.facts(trace, sweeps, actives),
                *stale.facts(trace, sweeps, actives),
                *retained.facts(trace, sweeps, actives),
                *duplicates.facts(trace, sweeps, actives),
                *seeding.facts(trace, sweeps, actives),
                *structs.facts(trace, sweeps, actives),
                *copies.facts(trace, sweeps, actives),
                *checkers.facts(trace),
                *unconverged.facts(trace, sweeps, actives),
            ]
            told = {fact.location for fact in found}
            for fact in (*found, *housekeeping.facts(trace, sweeps, told)):
                key = (fact.kind, fact.location)
                if key not in seen:
                    seen.add(key)
                    yield fact
        yield from reads.facts()
        self.exhausted += [(module.path, entry) for entry in left_out]

    def _note(self, module: Module, trace: Trace) -> None:
        if not trace.finished:
            self.exhausted.append((module.path, trace.entry))
        for record in trace:
            if isinstance(record, Launched) and not record.adjoint:
                key = (record.kernel.path, record.kernel.qualname)
                use = KernelUse(record.recorded, _constant(record) if record.recorded else frozenset())
                self.uses[key] = self.uses[key].also(use) if key in self.uses else use


def _constant(launch: Launched) -> frozenset[Path]:
    """The arrays that a launch only reads and that have no gradient."""
    read = [access for access in launch.accesses if access.reads and not access.writes and not access.accumulates]
    return frozenset(access.path for access in read if access.array.requires_grad is False)


def analyse(project: Project, module: Module, effects: Effects) -> Iterator[Fact]:
    """The facts about tapes in what ``module`` runs. ``effects`` says what each kernel does to its arguments."""
    return TapeAnalysis(project, effects).module(module)
