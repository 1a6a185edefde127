"""Gradients that are read when they are not there: the fact ``stale-gradient``."""

from __future__ import annotations

from collections.abc import Iterator

from warplint.ir.facts import Fact, Label
from warplint.tapes import programs
from warplint.tapes.active import Activity
from warplint.tapes.recorded import Sweep, unclear
from warplint.tapes.stories import called_from, name_of, plain_name
from warplint.tapes.trace import GradientRead, GradientZeroed, Trace
from warplint.tapes.values import ArrayValue


def facts(trace: Trace, sweeps: list[Sweep], actives: list[Activity]) -> Iterator[Fact]:
    """The facts of one trace; ``actives`` are the activities of its sweeps."""
    for number, (sweep, active) in enumerate(zip(sweeps, actives, strict=True)):
        if sweep.custom or sweep.seeds or sweep.backward.loss is None:
            continue
        end = sweeps[number + 1].position if number + 1 < len(sweeps) else len(trace.records)
        for parameter in active.inputs:
            found = _after_zeroing(trace, sweep, parameter, end)
            if found is not None:
                yield _zeroed(trace, sweep, parameter, *found)
                break


def _after_zeroing(trace: Trace, sweep: Sweep, parameter: ArrayValue, end: int) -> tuple[int, int] | None:
    """Where the gradient that nobody has used yet is zeroed, and where it is used after that."""
    storage = parameter.storage
    zeroed: int | None = None
    for position in range(sweep.position + 1, end):
        record = trace.records[position]
        if isinstance(record, GradientZeroed):
            if record.tape == sweep.backward.tape or (record.array is not None and record.array.storage is storage):
                zeroed = position if zeroed is None else zeroed
        elif unclear(record, storage):
            return None
        elif isinstance(record, GradientRead) and record.array.storage is storage:
            return None if zeroed is None else (zeroed, position)
    return None


def _zeroed(trace: Trace, sweep: Sweep, parameter: ArrayValue, zeroed: int, read: int) -> Fact:
    place = trace.records[read].context
    name = name_of(parameter)
    labels = (
        Label(place.site, f"the gradient of {name} is used here, where it is zero"),
        *called_from(place.stack, "called from here"),
        Label(sweep.backward.context.site, "the sweep puts it there"),
        Label(trace.records[zeroed].context.site, "it is zeroed before anything used it"),
    )
    loss = sweep.backward.loss
    attributes = {"parameter": plain_name(parameter), "loss": plain_name(loss) if loss is not None else ""}
    program = programs.gradient(trace, sweep, (parameter,), frozenset(), read)
    return Fact("stale-gradient", place.site, attributes, labels, place.definition, "taped", program)
