"""The tape analysis of one module: runs, the facts in their traces, and how they use kernels."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path as FilePath

from warplint.ir.effects import KernelUse, Path
from warplint.ir.facts import Fact
from warplint.ir.runs import HostRun
from warplint.ir.spans import Location
from warplint.source.project import Module, Project
from warplint.tapes import (
    checkers,
    copies,
    duplicates,
    entries,
    housekeeping,
    leftover,
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
from warplint.tapes.trace import BackwardRun, Launched, Trace
from warplint.tapes.values import Storage


class TapeAnalysis:
    """The tape analysis of one project. ``effects`` says what each kernel does to its arguments.

    What is learned on the way stays here: ``uses`` of the kernels (by path and qualified name) that any run launched,
    ``exhausted``, the entry points whose run ended, or was not made, for want of steps (pairs of path and name), and
    how many ``runs`` were made and how many ``steps`` they took.
    """

    #: The most steps for one module.
    BUDGET = entries.MODULE_BUDGET

    def __init__(self, project: Project, effects: Effects) -> None:
        self.project = project
        self.effects = effects
        self.uses: dict[tuple[FilePath, str], KernelUse] = {}
        self.exhausted: list[tuple[FilePath, str]] = []
        self.runs = 0
        self.steps = 0

    def take(self, before: HostRun) -> None:
        """Take over what an earlier analysis learned on the way."""
        self.uses.update(before.uses)
        self.exhausted += before.exhausted
        self.runs += before.runs
        self.steps += before.steps

    def module(self, module: Module) -> Iterator[Fact]:
        """The facts about tapes in what ``module`` runs; places may be in the modules that it uses."""
        if not entries.concerns(module):
            return
        seen: set[tuple[str, Location]] = set()
        left_out: list[str] = []
        reads = unwritten.Reads()
        for trace in entries.traces(self.project, module, self.effects, left_out):
            self._note(module, trace)
            self.runs += 1
            self.steps += trace.steps
            reads.look(trace)
            sweeps = recorded.sweeps(trace)
            actives = [activity(trace, sweep) for sweep in sweeps]
            found = [
                *severed.facts(trace, sweeps),
                *windows.facts(trace, sweeps),
                *overwrites.facts(trace, sweeps, actives),
                *repeats.facts(trace, sweeps, actives),
                *leftover.facts(trace, sweeps, actives),
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
        held = _held(trace)
        for record in trace:
            if isinstance(record, Launched):
                key = (record.kernel.path, record.kernel.qualname)
                use = KernelUse(record.adjoint)  # which of its arrays have a gradient, another list says
                if record.recorded:
                    use = KernelUse(True, _constant(record, held), _absent(record))
                self.uses[key] = self.uses[key].also(use) if key in self.uses else use


def _held(trace: Trace) -> frozenset[Storage] | None:
    """The memory that may be meant to have a gradient although its array has none; None: any that is written.

    It is given one by hand, or stands between arrays that have one, which is a defect of the host code.
    """
    sweeps = [record for record in trace if isinstance(record, BackwardRun)]
    if not trace.finished or not sweeps or not all(sweep.known for sweep in sweeps):
        return None
    flows = [flow for record in trace if isinstance(record, Launched) for flow in record.flows]
    fed = {target.storage for source, target in flows if source.requires_grad is not False}
    passing = {source.storage for source, target in flows if source.storage is not target.storage}
    return frozenset({seed.storage for sweep in sweeps for seed in sweep.seeds} | (fed & passing))


def _constant(launch: Launched, held: frozenset[Storage] | None) -> frozenset[Path]:
    """The arrays of a launch that have no gradient, and are not meant to have one where the launch writes them."""
    return frozenset(
        access.path
        for access in launch.accesses
        if access.array.requires_grad is False
        and (not (access.writes or access.accumulates) or (held is not None and access.array.storage not in held))
    )


def _absent(launch: Launched) -> frozenset[str]:
    """The parameters for which a launch passes ``None``."""
    names = launch.summary.parameters if launch.summary is not None else ()
    return frozenset(name for name, value in zip(names, launch.arguments, strict=False) if value is None)


def analyse(project: Project, module: Module, effects: Effects) -> Iterator[Fact]:
    """The facts about tapes in what ``module`` runs. ``effects`` says what each kernel does to its arguments."""
    return TapeAnalysis(project, effects).module(module)
