"""The tape analysis of one module: runs, and the facts in their traces."""

from __future__ import annotations

from collections.abc import Iterator

from warplint.ir.facts import Fact
from warplint.ir.spans import Location
from warplint.source.project import Module, Project
from warplint.tapes import entries, recorded, severed, windows
from warplint.tapes.machine import Effects


def analyse(project: Project, module: Module, effects: Effects) -> Iterator[Fact]:
    """The facts about tapes in what ``module`` runs. ``effects`` says what each kernel does to its arguments."""
    if not entries.TAPE.search(module.text):
        return
    seen: set[tuple[str, Location]] = set()
    for trace in entries.traces(project, module, effects):
        sweeps = recorded.sweeps(trace)
        for fact in (*severed.facts(trace, sweeps), *windows.facts(trace, sweeps)):
            key = (fact.kind, fact.location)
            if key not in seen:
                seen.add(key)
                yield fact
