"""Gradients that are read when they are not there: the fact ``stale-gradient``."""

from __future__ import annotations

from collections.abc import Iterator

from warplint.ir.facts import Fact, Label
from warplint.ir.programs import TapeProgram
from warplint.ir.spans import Location
from warplint.tapes import programs
from warplint.tapes.active import Activity, activity
from warplint.tapes.recorded import Sweep, edges, replaced_gradient, touched, unclear
from warplint.tapes.stories import called_from, name_of, plain_name
from warplint.tapes.trace import BackwardRun, Copied, GradientRead, GradientUsed, GradientZeroed, Launched, Trace
from warplint.tapes.values import ArrayValue, Storage


def facts(trace: Trace, sweeps: list[Sweep], actives: list[Activity]) -> Iterator[Fact]:
    """The facts of one trace; ``actives`` are the activities of its sweeps."""
    for number, (sweep, active) in enumerate(zip(sweeps, actives, strict=True)):
        if sweep.custom or sweep.seeds or sweep.backward.loss is None:
            continue
        end = sweeps[number + 1].position if number + 1 < len(sweeps) else len(trace.records)
        zeroed = [
            (found[1], found[0], index)
            for index, parameter in enumerate(active.inputs)
            if (found := _after_zeroing(trace, sweep, parameter, end)) is not None
        ]
        if zeroed:
            read, at, index = min(zeroed)
            yield _zeroed(trace, sweep, active.inputs[index], at, read)
            continue
        start = _begins(sweep, sweeps[:number])
        for parameter in active.inputs:
            early = _too_early(trace, sweep, parameter, start, end)
            if early is not None:
                yield _early(trace, sweep, parameter, early)
                break
        else:
            for parameter, read in _never_swept(trace, sweep, sweeps[:number], end):
                yield _early(trace, sweep, parameter, read)
                break
    yield from _used(trace, sweeps)


# --- what is used of a gradient, or given back ---


def _used(trace: Trace, sweeps: list[Sweep]) -> Iterator[Fact]:
    """Gradients that are zero where the run reads them to give them back, or have become so where they are used."""
    seen: set[int] = set()
    for position, record in enumerate(trace.records):
        if not isinstance(record, GradientUsed) or record.read in seen:
            continue
        storage = record.array.storage
        last = _last_change(trace, sweeps, record.read, storage)
        if record.shared and isinstance(last, Sweep):
            now = _last_change(trace, sweeps, position, storage)
            if isinstance(now, int) and now > record.read and not last.custom:
                seen.add(record.read)
                yield _emptied(trace, last, record, now, position)
        elif record.result and isinstance(last, int):
            seen.add(record.read)
            before = [sweep for sweep in sweeps if sweep.position < last and storage in touched(sweep)]
            later = [sweep for sweep in sweeps if sweep.position > record.read and storage in touched(sweep)]
            if later and not later[0].custom and _is_open(trace, later[0], record.read):
                yield _early(trace, later[0], record.array, record.read)
            elif before and not before[-1].custom:
                yield _zeroed(trace, before[-1], record.array, last, record.read)


def _is_open(trace: Trace, sweep: Sweep, position: int) -> bool:
    """Whether the tape of a sweep holds something already at ``position``."""
    return bool(sweep.operations) and sweep.operations[0][0] < position


def _last_change(trace: Trace, sweeps: list[Sweep], position: int, storage: Storage) -> Sweep | int | None:
    """What decides the gradient of ``storage`` at ``position``: the sweep that brought it, or where it was zeroed; None
    where neither is known."""
    swept = [sweep for sweep in sweeps if sweep.position < position and storage in touched(sweep)]
    for place in range(position - 1, -1, -1):
        record = trace.records[place]
        if swept and place == swept[-1].position:
            return swept[-1]
        if isinstance(record, GradientZeroed):
            if record.array is not None:
                if record.array.storage is storage:
                    return place
            elif any(sweep.backward.tape == record.tape and sweep.position < place for sweep in swept):
                return place
        elif (source := replaced_gradient(record, storage)) is not None:
            return None if _has_gradient(trace, source, place) else place
        elif isinstance(record, BackwardRun) or unclear(record, storage):
            return None
    return None


def _has_gradient(trace: Trace, storage: Storage, position: int) -> bool:
    """Whether the gradient of an array may be other than zero at ``position``."""
    if storage.kind != "allocation":
        return True
    for place, record in enumerate(trace.records[:position]):
        if unclear(record, storage):
            return True
        source = replaced_gradient(record, storage)
        if source is not None and _has_gradient(trace, source, place):
            return True
        if isinstance(record, (Launched, Copied)) and record.recorded:
            used = [array.storage for pair in edges(record) for array in pair]
            if storage in used:
                return True
    return False


def _emptied(trace: Trace, sweep: Sweep, used: GradientUsed, zeroed: int, position: int) -> Fact:
    place = trace.records[used.read].context
    name = name_of(used.array)
    labels = (
        Label(place.site, f"`numpy()` gives the memory of the gradient of {name} itself, on the CPU"),
        *called_from(place.stack, "called from here"),
        Label(trace.records[zeroed].context.site, f"it is {_gone(trace, zeroed)} here"),
        Label(used.context.site, "what was read is used after that"),
    )
    loss = sweep.backward.loss
    program = programs.gradient(trace, sweep, (used.array,), frozenset(), position) if loss is not None else None
    return _fact(sweep, used.array, place.site, place.definition, labels, "is zeroed before it is used", program)


def _never_swept(trace: Trace, sweep: Sweep, earlier: list[Sweep], end: int) -> Iterator[tuple[ArrayValue, int]]:
    """Parameters whose gradient is used before the only sweep that brings them one, and where that is."""
    start = sweep.operations[0][0] if sweep.operations else sweep.position
    swept = {source.storage for one in earlier for _, record in one.operations for source, _ in edges(record)}
    read = {
        record.array.storage
        for record in trace.records[start : sweep.position]
        if isinstance(record, GradientRead) and record.how != "escape"
    }
    if not read - swept:
        return
    for parameter in activity(trace, sweep, since=start).inputs:
        storage = parameter.storage
        if storage.kind != "allocation" or storage in swept or storage not in read:
            continue
        if not any(unclear(record, storage) for record in trace.records[:start]):
            early = _too_early(trace, sweep, parameter, start, end)
            if early is not None:
                yield parameter, early


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
        elif (source := replaced_gradient(record, storage)) is not None:
            if _has_gradient(trace, source, position):
                return None
            zeroed = position if zeroed is None else zeroed
        elif isinstance(record, GradientRead) and record.array.storage is storage:
            return None if zeroed is None else (zeroed, position)
    return None


def _begins(sweep: Sweep, earlier: list[Sweep]) -> int:
    """Where what is recorded for this sweep begins: a tape that is used again still holds what was swept before."""
    before = max((one.position for one in earlier if one.backward.tape == sweep.backward.tape), default=-1)
    places = [position for position, _ in sweep.operations]
    return next((position for position in places if position > before), places[0] if places else sweep.position)


def _too_early(trace: Trace, sweep: Sweep, parameter: ArrayValue, start: int, end: int) -> int | None:
    """Where the gradient is used between the recording, from ``start`` on, and its sweep, if it is not used after that.

    ``end`` is the next sweep. What the recordings on the way to it begin with is after this one's sweep.
    """
    storage = parameter.storage
    found: int | None = None
    for position in range(start, end):
        record = trace.records[position]
        if unclear(record, storage):
            return None
        if isinstance(record, GradientRead) and record.array.storage is storage:
            if position > sweep.position:
                return found if _recording(trace, sweep, position, end) else None
            found = position if found is None else found
    return found


def _recording(trace: Trace, sweep: Sweep, position: int, end: int) -> bool:
    """Whether the next tape is being recorded, or has been, at ``position``."""
    between = trace.records[sweep.position + 1 : position]
    return any(isinstance(record, Launched) and record.recorded for record in between) and end < len(trace.records)


def _early(trace: Trace, sweep: Sweep, parameter: ArrayValue, read: int) -> Fact:
    place = trace.records[read].context
    name = name_of(parameter)
    labels = (
        Label(place.site, f"the gradient of {name} is used here"),
        *called_from(place.stack, "called from here"),
        Label(sweep.backward.context.site, "the sweep that it is for comes later"),
    )
    loss = sweep.backward.loss
    program = programs.without_sweep(trace, sweep, (parameter,), loss, read) if loss is not None else None
    cause = "comes with the `backward()` after it"
    return _fact(sweep, parameter, place.site, place.definition, labels, cause, program)


def _zeroed(trace: Trace, sweep: Sweep, parameter: ArrayValue, zeroed: int, read: int) -> Fact:
    place = trace.records[read].context
    name = name_of(parameter)
    labels = (
        Label(place.site, f"the gradient of {name} is used here, where it is zero"),
        *called_from(place.stack, "called from here"),
        Label(sweep.backward.context.site, "the sweep puts it there"),
        Label(trace.records[zeroed].context.site, f"it is {_gone(trace, zeroed)} before anything used it"),
    )
    program = programs.gradient(trace, sweep, (parameter,), frozenset(), read)
    cause = "a copy took the place of" if isinstance(trace.records[zeroed], Copied) else "was zeroed before"
    return _fact(sweep, parameter, place.site, place.definition, labels, cause, program)


def _gone(trace: Trace, zeroed: int) -> str:
    """What became of a gradient, in words."""
    record = trace.records[zeroed]
    if isinstance(record, Copied):
        return f"overwritten by that of {name_of(record.source)}, which is copied with the contents and zero,"
    return "zeroed"


def _fact(
    sweep: Sweep,
    parameter: ArrayValue,
    site: Location,
    definition: str,
    labels: tuple[Label, ...],
    cause: str,
    program: TapeProgram | None,
) -> Fact:
    loss = sweep.backward.loss
    attributes = {
        "parameter": plain_name(parameter),
        "loss": plain_name(loss) if loss is not None else "",
        "cause": cause,
    }
    return Fact("stale-gradient", site, attributes, labels, definition, "taped", program)
