"""What is recorded after the loss and has no part in it: the fact ``housekeeping-on-tape``."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Literal

from warplint.ir.facts import Fact, Label
from warplint.ir.spans import Location
from warplint.tapes import programs
from warplint.tapes.active import activity
from warplint.tapes.recorded import Sweep, edges, written
from warplint.tapes.stories import called_from, launch_name, name_of, plain_name
from warplint.tapes.trace import Launched, Record, TapeBegan, TapeEnded, Trace
from warplint.tapes.values import ArrayValue, Storage

#: ``step``: changes an array by its gradient. ``reset``: stores what depends on nothing. ``metric``: only looks.
#: ``overwrite``: stores over what the sweep will read.
Purpose = Literal["step", "reset", "metric", "overwrite"]


def facts(trace: Trace, sweeps: list[Sweep], told: set[Location]) -> Iterator[Fact]:
    """The facts of one trace; ``told`` are places that other findings are about."""
    goals: dict[int, set[Storage]] = {}
    for sweep in sweeps:
        goals.setdefault(sweep.backward.tape, set()).update(sweep.goals)
    for sweep in sweeps:
        if sweep.custom or sweep.seeds or sweep.backward.loss is None:
            continue
        last = _completed(sweep, sweep.backward.loss)
        if last is None or not _after(trace, sweep, last):
            continue
        # What comes after the loss may erase it: what it depends on is asked without that.
        rest = tuple(operation for operation in sweep.operations if operation[0] <= last)
        inputs = activity(trace, replace(sweep, operations=rest)).inputs
        if not inputs:
            continue
        before = {storage for position, record in sweep.operations if position <= last for storage in _used(record)}
        # What a loop does in every round has its part in them all but the last.
        rounds = {record.context.site for position, record in sweep.operations if position <= last}
        after = _after(trace, sweep, last)
        for place, (position, record) in enumerate(after):
            changed = written(record)
            read_on = any(changed & _read(later) for _, later in after[place + 1 :])
            if changed & goals[sweep.backward.tape] - {sweep.backward.loss.storage} or read_on:
                continue
            purpose = _purpose(record, before)
            if purpose == "metric" and record.context.site in rounds:
                continue
            if purpose is not None and not {record.context.site, _statement(trace, sweep, record, last)} & told:
                yield _fact(trace, sweep, (position, record), purpose, inputs, last)


def late(trace: Trace, sweep: Sweep, position: int) -> Fact | None:
    """The fact about a recorded launch that overwrites what the sweep will read; None for one that comes before the
    loss is complete."""
    record, loss = trace.records[position], sweep.backward.loss
    if not isinstance(record, Launched) or loss is None or sweep.seeds or position not in dict(sweep.operations):
        return None
    last = _completed(sweep, loss)
    if last is None or position <= last:
        return None
    if any(one.context.site == record.context.site for at, one in sweep.operations if at <= last):
        return None  # what a loop does in every round has its part in them all but the last
    rest = tuple(operation for operation in sweep.operations if operation[0] <= last)
    inputs = activity(trace, replace(sweep, operations=rest)).inputs
    return _fact(trace, sweep, (position, record), "overwrite", inputs, last) if inputs else None


def _statement(trace: Trace, sweep: Sweep, record: Launched, last: int) -> Location:
    """The place to take off the tape: the call in the function of the tape block that leads to a launch, if all that it
    records comes after the operation at ``last``; else the launch."""
    began = next((one for one in trace.records if isinstance(one, TapeBegan) and one.tape == sweep.backward.tape), None)
    if began is None:
        return record.context.site
    depth = len(began.context.stack)
    place = _below(record, began.context.stack)
    if place is None:
        return record.context.site
    before = {_below(one, began.context.stack) for position, one in sweep.operations if position <= last}
    return place if place not in before and depth < len(record.context.stack) else record.context.site


def _below(record: Record, stack: tuple[Location, ...]) -> Location | None:
    """The place in the function with this stack from which a record comes; None where it does not come from there."""
    around = record.context.stack
    if around[: len(stack)] != stack:
        return None
    return around[len(stack)] if len(around) > len(stack) else record.context.site


def _completed(sweep: Sweep, loss: ArrayValue) -> int | None:
    """Where the last operation is that anything flows into the loss from."""
    for position, record in reversed(sweep.operations):
        if any(target.storage is loss.storage for _, target in edges(record)):
            return position
    return None


def _after(trace: Trace, sweep: Sweep, last: int) -> list[tuple[int, Launched]]:
    """The launches that the tape records after the loss is complete, those after the sweep included."""
    tape = sweep.backward.tape
    found: list[tuple[int, Launched]] = []
    for position in range(last + 1, len(trace.records)):
        record = trace.records[position]
        if isinstance(record, TapeEnded) and record.tape == tape:
            break
        if isinstance(record, Launched) and record.recorded and record.context.tape == tape:
            found.append((position, record))
    return found


def _purpose(record: Launched, before: set[Storage]) -> Purpose | None:
    if record.summary is None or not record.summary.complete or record.adjoint or record.summary.backward is False:
        return None
    stored = [access.array for access in record.accesses if access.writes or access.accumulates]
    if any(array.storage.owner is not None for array in stored):
        return None  # a seed
    owners = {access.array.storage.owner for access in record.accesses if access.reads} - {None}
    if any(array.storage in owners for array in stored):
        return "step"
    flows = edges(record)
    if not flows:
        return "reset" if stored and all(array.storage in before for array in stored) else None
    if all(array.storage not in before for array in stored) and any(source.storage in before for source, _ in flows):
        return "metric"
    return None


def _used(record: object) -> set[Storage]:
    if isinstance(record, Launched):
        return {access.array.storage for access in record.accesses}
    return set()


def _read(record: Launched) -> set[Storage]:
    return {access.array.storage for access in record.accesses if access.reads}


def _fact(
    trace: Trace,
    sweep: Sweep,
    operation: tuple[int, Launched],
    purpose: Purpose,
    inputs: tuple[ArrayValue, ...],
    last: int,
) -> Fact:
    position, record = operation
    others = [at for at, _ in _after(trace, sweep, last) if at != position]
    program = programs.with_and_without(trace, sweep, inputs, record, others)
    assert sweep.backward.loss is not None
    target: ArrayValue = next(access.array for access in record.accesses if access.writes or access.accumulates)
    what = {
        "step": f"changes {name_of(target)} by its gradient",
        "reset": f"resets {name_of(target)}",
        "metric": f"only looks, and writes {name_of(target)}",
        "overwrite": f"overwrites {name_of(target)}, which the sweep will read",
    }[purpose]
    place = record.context
    statement = _statement(trace, sweep, record, last)
    labels = (
        Label(place.site, f"{launch_name(record)} {what}, and is recorded"),
        *called_from(place.stack, "called from here"),
        Label(sweep.backward.context.site, f"the sweep starts from {name_of(sweep.backward.loss)}"),
    )
    attributes = {
        "kernel": launch_name(record).strip("`"),
        "array": plain_name(target),
        "purpose": purpose,
        "loss": plain_name(sweep.backward.loss),
        "erases": target.storage is sweep.backward.loss.storage,
    }
    return Fact("housekeeping-on-tape", statement, attributes, labels, place.definition, "taped", program)
