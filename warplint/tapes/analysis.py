"""The tape analysis of one module: runs, the facts in their traces, and which kernels tapes reach."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from warplint.ir.facts import Fact, Reach
from warplint.ir.spans import Location
from warplint.source.project import Module, Project
from warplint.tapes import entries, recorded, severed, windows
from warplint.tapes.machine import Effects
from warplint.tapes.trace import Launched, Trace


class TapeAnalysis:
    """The tape analysis of one project. ``effects`` says what each kernel does to its arguments.

    What is learned on the way stays here: ``reach`` of the kernels (by path and qualified name) that any run launched,
    and ``exhausted``, the runs that ended for want of steps (pairs of path and entry point).
    """

    def __init__(self, project: Project, effects: Effects) -> None:
        self.project = project
        self.effects = effects
        self.reach: dict[tuple[Path, str], Reach] = {}
        self.exhausted: list[tuple[Path, str]] = []

    def module(self, module: Module) -> Iterator[Fact]:
        """The facts about tapes in what ``module`` runs; places may be in the modules that it uses."""
        if not entries.concerns(module):
            return
        seen: set[tuple[str, Location]] = set()
        for trace in entries.traces(self.project, module, self.effects):
            self._note(module, trace)
            sweeps = recorded.sweeps(trace)
            for fact in (*severed.facts(trace, sweeps), *windows.facts(trace, sweeps)):
                key = (fact.kind, fact.location)
                if key not in seen:
                    seen.add(key)
                    yield fact

    def _note(self, module: Module, trace: Trace) -> None:
        if not trace.finished:
            self.exhausted.append((module.path, trace.entry))
        for record in trace:
            if isinstance(record, Launched) and not record.adjoint:
                key = (record.kernel.path, record.kernel.qualname)
                if record.recorded:
                    self.reach[key] = "taped"
                else:
                    self.reach.setdefault(key, "untaped")


def analyse(project: Project, module: Module, effects: Effects) -> Iterator[Fact]:
    """The facts about tapes in what ``module`` runs. ``effects`` says what each kernel does to its arguments."""
    return TapeAnalysis(project, effects).module(module)


def reach(project: Project, modules: Iterable[Module], effects: Effects) -> dict[tuple[Path, str], Reach]:
    """Which kernels (by path and qualified name) the runs of ``modules`` launch on a tape (``taped``) or only outside
    (``untaped``); a kernel that is not in the result was launched by none of them."""
    analysis = TapeAnalysis(project, effects)
    for module in modules:
        for _ in analysis.module(module):
            pass
    return analysis.reach
