"""The program of a finding again, from source text that was edited since."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from warplint.ir import programs as ir
from warplint.ir.spans import Location
from warplint.source.project import Module, Project
from warplint.tapes import entries, programs
from warplint.tapes.machine import Effects
from warplint.tapes.trace import BackwardRun, Trace

#: Where a place of the old text is in the new one.
Moving = Callable[[Location], Location]

# Where gradients are zeroed and a tape is closed may be otherwise than before.
_FREE = (ir.ZeroGradients, ir.TapeEnd)


def again(
    project: Project, modules: Iterable[Module], program: ir.TapeProgram, moving: Moving, effects: Effects
) -> ir.TapeProgram | None:
    """``program`` as the modules of ``project`` run it now: the same operations at the places where they are now.

    Gradients may be zeroed and tapes closed elsewhere than before, and allocations and launches may be made otherwise.
    None where no run does the same.
    """
    for module in modules:
        if not entries.concerns(module):
            continue
        for trace in entries.traces(project, module, effects, []):
            found = _from(trace, program, moving)
            if found is not None:
                return found
    return None


def _from(trace: Trace, program: ir.TapeProgram, moving: Moving) -> ir.TapeProgram | None:
    reads = [operation for operation in program.operations if isinstance(operation, ir.ReadGradient)]
    before = [operation for operation in program.operations if not isinstance(operation, ir.ReadGradient)]
    sweeps = [operation for operation in before if isinstance(operation, ir.Backward)]
    tapes = {operation.tape for operation in sweeps}
    if not reads or not sweeps:
        return None
    runs = [
        (position, record)
        for position, record in enumerate(trace.records)
        if isinstance(record, BackwardRun) and record.tape in tapes
    ][: len(sweeps)]
    if len(runs) < len(sweeps):
        return None
    end = runs[-1][0]
    read, swept = moving(reads[-1].site), moving(sweeps[-1].site)
    if read != swept:
        later = (at for at in range(end + 1, len(trace.records)) if _begins(trace.records[at].context.site, read))
        found = next(later, None)
        if found is None:
            return None
        end = found
    goals = {record.loss.storage for _, record in runs if record.loss is not None}
    operations = programs.operations(trace.records[: end + 1], goals, tapes)
    if operations is None or not _same(before, operations, moving):
        return None
    return replace(program, operations=(*_chosen(before, operations, program.flagged), *reads))


def _begins(site: Location, other: Location) -> bool:
    return site.path == other.path and site.span[:2] == other.span[:2]


def _same(before: Iterable[ir.Operation], now: Iterable[ir.Operation], moving: Moving) -> bool:
    """Whether both do the same at the same places, but for what may differ."""
    first = [operation for operation in before if not isinstance(operation, _FREE)]
    second = [operation for operation in now if not isinstance(operation, _FREE)]
    return len(first) == len(second) and all(
        type(old) is type(new)
        and _begins(moving(old.site), new.site)
        and (not isinstance(old, ir.Allocate) or not isinstance(new, ir.Allocate) or old.array == new.array)
        for old, new in zip(first, second, strict=True)
    )


def _chosen(
    before: Iterable[ir.Operation], now: Iterable[ir.Operation], flagged: tuple[int, ...]
) -> Iterable[ir.Operation]:
    """The operations with what the old program had chosen for what nobody knows, or for other findings."""
    first = iter([operation for operation in before if not isinstance(operation, _FREE)])
    for new in now:
        old = None if isinstance(new, _FREE) else next(first)
        if isinstance(old, ir.Allocate) and isinstance(new, ir.Allocate):
            if old.requires_grad and new.array not in flagged:
                new = replace(new, requires_grad=True)
        elif isinstance(old, ir.Fill) and isinstance(new, ir.Fill) and isinstance(new.value, ir.Unknown):
            new = replace(new, value=old.value)
        yield new
