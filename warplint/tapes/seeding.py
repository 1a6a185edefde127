"""Gradients that a sweep is given by hand: the facts ``seed-mismatch`` and ``adjoint-dropped``."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from warplint.ir.facts import Fact, Label
from warplint.tapes import programs
from warplint.tapes.active import Activity, activity
from warplint.tapes.recorded import Sweep, touched, written
from warplint.tapes.stories import called_from, name_of, plain_name
from warplint.tapes.trace import Copied, Filled, GradientRead, GradientSeeded, Launched, Reported, Scaled, Trace
from warplint.tapes.values import ArrayValue, Storage, Unknown, Value

_ROUNDING = 1.0e-6


def facts(trace: Trace, sweeps: list[Sweep], actives: list[Activity]) -> Iterator[Fact]:
    """The facts of one trace; ``actives`` are the activities of its sweeps."""
    before = 0
    for number, (sweep, active) in enumerate(zip(sweeps, actives, strict=True)):
        if not sweep.custom and sweep.seeds and active.inputs:
            yield from _mismatch(trace, sweep, active, before)
            if number and not sweeps[number - 1].custom:
                yield from _dropped(trace, sweeps, number, actives[number - 1])
        before = sweep.position


# --- the scale of what is reported ---


def _mismatch(trace: Trace, sweep: Sweep, active: Activity, before: int) -> Iterator[Fact]:
    """Seeds of one for every element, where the program reports a mean or a multiple of them."""
    seeds = {seed.storage: seed for seed in sweep.seeds}
    loss = sweep.backward.loss
    if len(seeds) != 1 or (loss is not None and loss.storage not in seeds):
        return
    ((storage, seed),) = seeds.items()
    value, filled = _seed_value(trace, sweep, before, storage)
    reports = [
        record
        for record in trace.records[sweep.operations[0][0] :]
        if isinstance(record, Reported) and storage in record.storages
    ]
    if seed.view:
        return
    if _is_one_over(value, seed) and reports and all(record.kind == "sum" for record in reports):
        yield _scaled(trace, sweep, active, seed, reports[0], filled)
    if not _is_ones(value):
        return
    one = seed.shape is not None and all(extent == 1 for extent in seed.shape)
    gradients = {origin.storage.gradient for origin in active.inputs}
    found: Scaled | None = None
    for record in trace.records[sweep.operations[0][0] :]:
        if isinstance(record, Scaled):
            if record.storage in gradients:
                return  # the gradient is scaled as well
            if record.storage is storage and not (one and record.how == "mean"):
                found = found or record
        elif isinstance(record, Launched) and record.context.tape is None and found is None:
            written_here = written(record)
            if storage in written_here:
                break
    if found is not None:
        yield _scaled(trace, sweep, active, seed, found, filled)
        return
    if reports and all(record.kind == "curved" for record in reports):
        yield _scaled(trace, sweep, active, seed, reports[0], filled)


def _seed_value(trace: Trace, sweep: Sweep, before: int, storage: Storage) -> tuple[Value, GradientSeeded | None]:
    """The gradient that a sweep starts from, and where it was filled in if ``backward`` is not given it."""
    for seed, value in zip(sweep.backward.seeds, sweep.backward.given, strict=False):
        if seed.storage is storage:
            return value, None
    found: GradientSeeded | None = None
    for record in trace.records[before : sweep.position]:
        if isinstance(record, GradientSeeded) and record.array.storage is storage:
            found = record
    return (found.value if found is not None else None), found


def _is_ones(value: Value) -> bool:
    if isinstance(value, Unknown):
        value = value.children.get("fill")
    if isinstance(value, ArrayValue):
        storage = value.storage
        return storage.source in ("ones", "ones_like") or bool(storage.values and set(storage.values) == {1.0})
    return isinstance(value, (int, float)) and value == 1.0


def _is_one_over(value: Value, seed: ArrayValue) -> bool:
    """Whether a seed is one over the number of elements that it has."""
    count = 1
    for extent in seed.shape or (0,):
        count = count * extent if isinstance(extent, int) else 0
    if isinstance(value, Unknown):
        value = value.children.get("fill")
    if isinstance(value, ArrayValue):
        held = set(value.storage.values or ())
        value = held.pop() if len(held) == 1 else None
    return isinstance(value, float) and count > 1 and abs(value * count - 1.0) < _ROUNDING


def _scaled(
    trace: Trace,
    sweep: Sweep,
    active: Activity,
    seed: ArrayValue,
    report: Scaled | Reported,
    filled: GradientSeeded | None,
) -> Fact:
    place = sweep.backward.context if filled is None else filled.context
    name, seeds = name_of(seed), "ones, as for the sum"
    begin = f"the sweep starts from ones in the gradient of {name}: from its sum"
    if isinstance(report, Scaled):
        what = "a mean" if report.how == "mean" else "a multiple"
        end = f"what is made of {name} here is {what} of that"
    else:
        what = "another function" if report.kind == "curved" else "the sum"
        end = f"what is given back here is {what} of what {name} holds"
        if report.kind == "sum":
            seeds = "one over their number, as for the mean"
            begin = f"the sweep starts from that in the gradient of {name}: from its mean"
    labels = (
        Label(place.site, begin),
        *called_from(place.stack, "called from here"),
        Label(report.context.site, end),
    )
    attributes = {
        "array": plain_name(seed),
        "seeds": seeds,
        "reported": what,
        "input": plain_name(active.inputs[0]),
    }
    program = None
    if isinstance(report, Scaled) and report.factor is not None:
        program = programs.seeded_with_ones(trace, sweep, active.inputs, seed, report.factor, report.means)
    return Fact("seed-mismatch", place.site, attributes, labels, place.definition, "taped", program)


# --- gradients that go from one sweep to the next ---


def _dropped(trace: Trace, sweeps: list[Sweep], number: int, active: Activity) -> Iterator[Fact]:
    """States of a segment whose gradient does not go on to the segment before it, as that of others does.

    The sweep with this ``number`` is that of the segment before.
    """
    first, second = sweeps[number - 1], sweeps[number]
    in_turn = first.backward.context.site == second.backward.context.site
    if not active.inputs:
        return
    # Nobody has to look at a gradient for it to be left behind.
    persistent = {origin.storage for origin in activity(trace, second, all_inputs=True).inputs}
    states = [one for one in activity(trace, first, all_inputs=True).inputs if one.storage not in persistent]
    if len(states) < 2:
        return
    used = {state.storage: _passed_on(trace, first, second, state.storage) for state in states}
    for state in states:
        if used[state.storage]:
            continue
        siblings = [
            other for other in states if used[other.storage] and other.storage.definition == state.storage.definition
        ]
        if not siblings:
            continue
        found = [_computed_by(trace, first, one.storage) for one in (state, siblings[0])]
        if all(found) and (in_turn or _records(second, found)):
            fact = _lost_state(first, second, state, siblings[0])
            last = next(one for one in reversed(sweeps) if one.backward.context.site == second.backward.context.site)
            lasting = tuple(one for one in active.inputs if one.storage in persistent) or _looked_at(trace, last)
            yield replace(fact, program=programs.segments(trace, sweeps, last, lasting))


def _looked_at(trace: Trace, last: Sweep) -> tuple[ArrayValue, ...]:
    """The arrays of a sweep's operations, with memory that none of them writes, whose gradient is read after it."""
    used = touched(last) - {storage for _, record in last.operations for storage in written(record)}
    found = [
        record.array
        for record in trace.records[last.position :]
        if isinstance(record, GradientRead) and record.how == "host" and record.array.storage in used
    ]
    return tuple(dict.fromkeys(found))


def _passed_on(trace: Trace, first: Sweep, second: Sweep, storage: Storage) -> bool:
    """Whether the gradient of a state is used, after the sweep that found it, for what the next one starts from."""
    if storage.gradient is None:
        return False
    derived = {storage.gradient}
    for record in trace.records[first.position : second.position]:
        if isinstance(record, Copied) and record.source.storage in derived:
            derived.add(record.target.storage)
        elif isinstance(record, Filled) and record.sources & derived:
            derived.add(record.array.storage)
        elif isinstance(record, Launched):
            if any(access.reads and access.array.storage in derived for access in record.accesses):
                return True
        elif isinstance(record, GradientSeeded) and record.sources & derived:
            return True
    for value in second.backward.given:
        if isinstance(value, ArrayValue) and value.storage in derived:
            return True
        if isinstance(value, Unknown):
            return True
    return False


def _records(sweep: Sweep, launches: list[Launched | None]) -> bool:
    """Whether a tape holds all these launches of the run before it, recorded again."""
    recorded = {record.context.site for _, record in sweep.operations}
    return all(launch is not None and launch.context.site in recorded for launch in launches)


def _computed_by(trace: Trace, sweep: Sweep, storage: Storage, depth: int = 4) -> Launched | None:
    """The launch that wrote what a state holds at the start of its segment, directly or before it was copied."""
    if depth == 0:
        return None
    start = sweep.operations[0][0]
    for position in range(start - 1, -1, -1):
        record = trace.records[position]
        if isinstance(record, Launched) and storage in written(record):
            return None if any(access.array.storage.owner is not None for access in record.accesses) else record
        if isinstance(record, Copied) and record.target.storage is storage:
            return _computed_by(trace, sweep, record.source.storage, depth - 1)
        if isinstance(record, Filled) and record.array.storage is storage:
            found = (_computed_by(trace, sweep, source, depth - 1) for source in record.sources)
            return next((launch for launch in found if launch is not None), None)
    return None


def _lost_state(first: Sweep, second: Sweep, state: ArrayValue, sibling: ArrayValue) -> Fact:
    place = second.backward.context
    labels = (
        Label(place.site, "this sweep goes on with the gradients of one segment in the segment before it"),
        *called_from(place.stack, "called from here"),
        Label(state.storage.site, f"the sweep brings a gradient to {name_of(state)}, which nothing hands on"),
        Label(sibling.storage.site, f"that of {name_of(sibling)} is handed on"),
    )
    attributes = {"state": plain_name(state), "other": plain_name(sibling)}
    return Fact("adjoint-dropped", place.site, attributes, labels, place.definition, "taped")
