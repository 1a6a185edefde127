"""Gradients that are counted more than once: the facts ``gradient-not-zeroed``, ``backward-twice`` and
``tape-re-entered``."""

from __future__ import annotations

from collections.abc import Iterator

from warplint.ir.facts import Fact, Label
from warplint.tapes import programs
from warplint.tapes.active import Activity
from warplint.tapes.recorded import Sweep, replaced_gradient, touched, unclear, written
from warplint.tapes.stories import called_from, name_of, plain_name
from warplint.tapes.trace import (
    BackwardRun,
    Copied,
    Filled,
    GradientRead,
    GradientSeeded,
    GradientUsed,
    GradientZeroed,
    Launched,
    ParameterUpdated,
    Reported,
    TapeBegan,
    Trace,
)
from warplint.tapes.values import ArrayValue, Storage


def facts(trace: Trace, sweeps: list[Sweep], actives: list[Activity]) -> Iterator[Fact]:
    """The facts of one trace; ``actives`` are the activities of its sweeps."""
    latest: dict[Storage, Sweep] = {}
    for sweep, active in zip(sweeps, actives, strict=True):
        told = False
        for parameter in active.inputs:
            first = latest.get(parameter.storage)
            latest[parameter.storage] = sweep
            if first is None or first is sweep or told or sweep.custom or first.custom:
                continue  # the first view of one block comes before the others
            fact = _between(trace, sweeps, first, sweep, parameter)
            if fact is not None:
                told = True
                yield fact


def _between(trace: Trace, sweeps: list[Sweep], first: Sweep, second: Sweep, parameter: ArrayValue) -> Fact | None:
    """What is wrong with two sweeps in a row that bring a gradient to ``parameter``."""
    summed = _summed_twice(trace, sweeps, first, second, parameter)
    if summed is not None:
        return _not_zeroed(trace, first, second, parameter, summed)
    if first.seeds or second.seeds:
        return _seeded(trace, sweeps, first, second, parameter)
    if first.backward.loss is None or second.backward.loss is None:
        return None
    zeroed = zeroed_between(trace, sweeps, first, second, parameter)
    read = read_after(trace, second.position, parameter)
    if zeroed is None or read is None:
        return None
    if first.backward.tape == second.backward.tape:
        entered = [
            position
            for position in range(first.position, second.position)
            if isinstance(record := trace.records[position], TapeBegan) and record.tape == second.backward.tape
        ]
        if entered:
            piled = not zeroed or _adds_up(first, second) or _goes_on(trace, sweeps, first, second)
            return _re_entered(trace, first, second, parameter, entered[0], read) if piled else None
        # Another loss does not help where the first one was added up: its gradient is still one.
        same = first.backward.loss.storage is second.backward.loss.storage
        added = not same and _accumulated(first.backward.loss, second)
        goes_on = added and zeroed_between(trace, sweeps, first, second, first.backward.loss) is False
        return _twice(trace, first, second, parameter, read) if goes_on or ((same or added) and not zeroed) else None
    if zeroed or first.backward.context.site != second.backward.context.site:
        return None
    before = read_after(trace, first.position, parameter, second.position)
    if before is None or trace.records[before].context.site != trace.records[read].context.site:
        return None  # only what uses the gradient after every sweep counts it more than once
    used = trace.records[before]
    assert isinstance(used, GradientRead)
    if used.how in ("optimizer", "launch") or _changed(trace, first, second, parameter):
        return _not_zeroed(trace, first, second, parameter, read)
    if not _goes_with_one_loss(trace, first, second, read):
        return None
    return _not_zeroed(trace, first, second, parameter, read)


def in_one_loop(first: Sweep, second: Sweep) -> bool:
    """Whether two sweeps are made in rounds of the same loop."""
    loops = {number for number, _ in first.backward.context.loops}
    return any(number in loops for number, _ in second.backward.context.loops)


def _seeded(trace: Trace, sweeps: list[Sweep], first: Sweep, second: Sweep, parameter: ArrayValue) -> Fact | None:
    """What is wrong with two sweeps that start from gradients given by hand.

    Several sweeps may add up the gradient of one objective: only what uses it after each of them counts it twice.
    """
    if first.goals != second.goals or first.backward.context.site != second.backward.context.site:
        return None
    if zeroed_between(trace, sweeps, first, second, parameter) is not False:
        return None
    read, before = (
        read_after(trace, second.position, parameter),
        read_after(trace, first.position, parameter, second.position),
    )
    if read is None or before is None or trace.records[before].context.site != trace.records[read].context.site:
        return None
    if first.backward.tape == second.backward.tape:
        entered = any(
            isinstance(record, TapeBegan) and record.tape == second.backward.tape
            for record in trace.records[first.position : second.position]
        )
        return None if entered else _twice(trace, first, second, parameter, read)
    used = trace.records[before]
    assert isinstance(used, GradientRead)
    if used.how in ("optimizer", "launch") or _changed(trace, first, second, parameter):
        return _not_zeroed(trace, first, second, parameter, read)
    return None


def _summed_twice(trace: Trace, sweeps: list[Sweep], first: Sweep, second: Sweep, parameter: ArrayValue) -> int | None:
    """Where the host adds up a gradient after every sweep that still holds what it has added before."""
    storage = parameter.storage
    summed: list[int] = []
    for position in range(first.position + 1, len(trace.records)):
        record = trace.records[position]
        if isinstance(record, GradientRead) and record.array.storage is storage and record.how == "sum":
            summed.append(position)
            if position > second.position:
                break
        elif isinstance(record, GradientZeroed):
            if record.array is not None:
                if record.array.storage is storage:
                    return None
            elif any(sweep.backward.tape == record.tape and storage in touched(sweep) for sweep in sweeps):
                return None
        elif isinstance(record, BackwardRun) and position != second.position or unclear(record, storage):
            return None
    sites = [trace.records[position].context.site for position in summed]
    between = len(summed) == 2 and summed[0] < second.position < summed[1]
    return summed[1] if between and sites[0] == sites[1] else None


def _goes_with_one_loss(trace: Trace, first: Sweep, second: Sweep, read: int) -> bool:
    """Whether the gradient of both sweeps is the result of the run, together with the loss of the second alone."""
    loss, before = second.backward.loss, first.backward.loss
    assert loss is not None and before is not None
    if not any(isinstance(record, GradientUsed) and record.result and record.read == read for record in trace):
        return False
    reported = {storage for record in trace if isinstance(record, Reported) for storage in record.storages}
    if loss.storage not in reported or (before.storage is not loss.storage and before.storage in reported):
        return False
    return before.storage is not loss.storage or any(
        isinstance(record, Filled) and record.array.storage is loss.storage and record.value == 0
        for record in trace.records[first.position : second.position]
    )


def zeroed_between(
    trace: Trace, sweeps: list[Sweep], first: Sweep, second: Sweep, parameter: ArrayValue
) -> bool | None:
    """Whether the gradient of ``parameter`` is zeroed between two sweeps; None where that is not known."""
    storage = parameter.storage
    zeroed = False
    for position in range(first.position + 1, second.position):
        record = trace.records[position]
        if isinstance(record, GradientZeroed):
            if record.array is not None:
                zeroed = zeroed or record.array.storage is storage
            else:
                # `tape.zero()` zeroes the gradients that sweeps of this tape have used so far.
                zeroed = zeroed or any(
                    sweep.backward.tape == record.tape and sweep.position < position and storage in touched(sweep)
                    for sweep in sweeps
                )
        elif unclear(record, storage) or replaced_gradient(record, storage) is not None:
            return None
    return zeroed


def read_after(trace: Trace, start: int, parameter: ArrayValue, end: int | None = None) -> int | None:
    """Where the gradient is used after ``start``: before it is zeroed, and before anything unknown happens to it."""
    storage = parameter.storage
    for position in range(start + 1, len(trace.records) if end is None else end):
        record = trace.records[position]
        if isinstance(record, GradientRead) and record.array.storage is storage:
            return position if record.how in ("host", "optimizer", "launch", "copy") else None
        if isinstance(record, GradientZeroed) and (record.array is None or record.array.storage is storage):
            return None
        if isinstance(record, GradientSeeded) and record.array.storage is storage:
            return None
    return None


def _changed(trace: Trace, first: Sweep, second: Sweep, parameter: ArrayValue) -> bool:
    """Whether the parameter gets other contents between two sweeps."""
    for record in trace.records[first.position : second.position]:
        if isinstance(record, (ParameterUpdated, Filled)) and record.array.storage is parameter.storage:
            return True
        if isinstance(record, (Launched, Copied)) and parameter.storage in written(record):
            return True
    return False


def _adds_up(first: Sweep, second: Sweep) -> bool:
    """Whether both recordings add to the same loss: then its gradient goes into both of them."""
    loss = second.backward.loss
    if loss is None or first.backward.loss is None or first.backward.loss.storage is not loss.storage:
        return False
    return _accumulated(loss, second)


def _goes_on(trace: Trace, sweeps: list[Sweep], first: Sweep, second: Sweep) -> bool:
    """Whether the second sweep also starts from the loss of the first, whose gradient is still there."""
    loss, latest = first.backward.loss, second.backward.loss
    if loss is None or latest is None or loss.storage is latest.storage or not _accumulated(loss, second):
        return False
    return zeroed_between(trace, sweeps, first, second, loss) is False


def _accumulated(loss: ArrayValue, sweep: Sweep) -> bool:
    """Whether an operation on the tape adds to a loss: the sweep then leaves the gradient of the loss as it is."""
    return any(
        access.accumulates and access.array.storage is loss.storage
        for _, record in sweep.operations
        if isinstance(record, Launched)
        for access in record.accesses
    )


# --- what is told ---


def _not_zeroed(trace: Trace, first: Sweep, second: Sweep, parameter: ArrayValue, read: int) -> Fact:
    name = name_of(parameter)
    site = second.backward.context.site
    labels = (
        Label(site, f"the sweep adds to the gradient of {name}, which still holds that of the sweep before"),
        *called_from(second.backward.context.stack, "called from here"),
        Label(trace.records[read].context.site, "the gradient is used here after every sweep"),
    )
    return _fact(trace, "gradient-not-zeroed", second, parameter, labels, frozenset({first.backward.tape}), read)


def _twice(trace: Trace, first: Sweep, second: Sweep, parameter: ArrayValue, read: int) -> Fact:
    name = name_of(parameter)
    labels = (
        Label(first.backward.context.site, f"the first sweep of this tape puts the gradient into {name}"),
        Label(second.backward.context.site, "the second adds it again"),
        *called_from(second.backward.context.stack, "called from here"),
        Label(trace.records[read].context.site, "the gradient is used here"),
    )
    return _fact(trace, "backward-twice", second, parameter, labels, frozenset(), read)


def _re_entered(trace: Trace, first: Sweep, second: Sweep, parameter: ArrayValue, entered: int, read: int) -> Fact:
    name = name_of(parameter)
    place = trace.records[entered].context
    labels = (
        Label(place.site, "the tape is entered again, and still holds what it recorded before"),
        *called_from(place.stack, "called from here"),
        Label(second.backward.context.site, f"the sweep goes over both recordings: {name} gets the gradients of both"),
        Label(trace.records[read].context.site, "the gradient is used here"),
    )
    return _fact(trace, "tape-re-entered", second, parameter, labels, frozenset(), read)


def _fact(
    trace: Trace,
    kind: str,
    second: Sweep,
    parameter: ArrayValue,
    labels: tuple[Label, ...],
    tapes: frozenset[int],
    read: int,
) -> Fact:
    primary = labels[1] if kind == "backward-twice" else labels[0]
    loss = second.backward.loss
    attributes = {"parameter": plain_name(parameter), "loss": plain_name(loss) if loss is not None else ""}
    if kind == "gradient-not-zeroed":
        attributes["used"] = "used after"
    program = programs.gradient(trace, second, (parameter,), tapes, read)
    return Fact(kind, primary.location, attributes, labels, second.backward.context.definition, "taped", program)
