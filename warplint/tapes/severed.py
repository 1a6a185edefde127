"""Arrays without gradients on a differentiable path: the fact ``missing-requires-grad``."""

from __future__ import annotations

from collections.abc import Iterator

from warplint.ir.facts import Fact, Label
from warplint.ir.spans import Location
from warplint.records import dataclass
from warplint.tapes import programs
from warplint.tapes.dtypes import is_whole
from warplint.tapes.recorded import Operation, Sweep, carried, overwritten
from warplint.tapes.stories import allocated_label, called_from, launch_name, name_of, plain_name
from warplint.tapes.trace import BackwardRun, Copied, GradientRead, Launched, Trace
from warplint.tapes.values import ArrayValue, Storage


@dataclass(frozen=True, slots=True)
class _Severed:
    """``array`` is written by ``writer`` from ``source`` and read by ``reader`` on the way to the loss."""

    array: ArrayValue
    writer: Operation
    reader: Operation
    source: ArrayValue
    origin: ArrayValue


def facts(trace: Trace, sweeps: list[Sweep]) -> Iterator[Fact]:
    """The facts of one trace."""
    for sweep in sweeps:
        if not sweep.custom and sweep.operations:
            yield from _at_backward(trace, sweep)


def _at_backward(trace: Trace, sweep: Sweep) -> Iterator[Fact]:
    flags = sweep.backward.flags
    goals = [*sweep.seeds]
    if sweep.backward.loss is not None:
        goals.append(sweep.backward.loss)
    sure = {goal.storage for goal in goals if flags.get(id(goal)) is True}
    if not sure:
        return
    wanted = {
        record.array.storage
        for record in trace.records[sweep.position :]
        if isinstance(record, GradientRead) and record.how != "escape"
    }
    if not wanted and not trace.finished:
        return  # the run ended before it could tell whose gradient is wanted
    found: dict[Storage, _Severed] = {}
    for severed in _severed(list(sweep.operations), flags, sure, wanted):
        found.setdefault(severed.array.storage, severed)
    arrays = [severed.array for severed in found.values()]
    sites: set[Location] = set()
    for severed in found.values():
        place = _decided_at(severed.array.storage)
        if place not in sites:
            sites.add(place)
            yield _fact(trace, sweep.position, sweep.backward, severed, arrays)


def _severed(
    operations: list[Operation], flags: dict[int, bool | None], goals: set[Storage], wanted: set[Storage]
) -> Iterator[_Severed]:
    # forward: what depends on an input that has a gradient
    origins: dict[Storage, ArrayValue] = {}
    writers: dict[Storage, list[tuple[Operation, ArrayValue]]] = {}
    for operation in operations:
        fresh: dict[Storage, ArrayValue] = {}
        for source, target in carried(operation[1]):
            if is_whole(source.dtype) or is_whole(target.dtype) or target.storage.owner is not None:
                continue
            origin = origins.get(source.storage)
            if origin is None and flags.get(id(source)) is True and source.storage not in writers:
                origin = source
                if wanted and origin.storage not in wanted:
                    continue  # nobody looks at the gradient of this one
            if origin is None:
                continue
            if source.storage is not target.storage:
                fresh.setdefault(target.storage, origin)
                writers.setdefault(target.storage, []).append((operation, source))
        for storage, origin in fresh.items():
            origins.setdefault(storage, origin)
    # backward: what the loss depends on
    useful = set(goals)
    found: list[_Severed] = []
    for operation in reversed(operations):
        record = operation[1]
        reaching = [
            (source, target)
            for source, target in carried(record)
            if target.storage in useful and source.storage is not target.storage
        ]
        for source, _ in reaching:
            if source.storage in goals or flags.get(id(source)) is not False:
                continue
            if source.storage.kind != "allocation" or source.storage not in origins:
                continue
            # A kernel may read again what it has stored itself.
            last = operation[0] if _rereads(record, source.storage) else operation[0] - 1
            before = [entry for entry in writers[source.storage] if entry[0][0] <= last]
            if before and _never_flagged(source, writers, flags):
                writer, writer_source = before[0]
                found.append(_Severed(source, writer, operation, writer_source, origins[source.storage]))
        useful -= overwritten(record)
        useful |= {source.storage for source, _ in reaching}
    yield from reversed(found)


def _rereads(record: Launched | Copied, storage: Storage) -> bool:
    return isinstance(record, Launched) and any(
        access.reread and access.array.storage is storage for access in record.accesses
    )


def _never_flagged(
    array: ArrayValue,
    writers: dict[Storage, list[tuple[Operation, ArrayValue]]],
    flags: dict[int, bool | None],
) -> bool:
    """Whether no name for the array's memory on the tape has a gradient."""
    for operation, _ in writers[array.storage]:
        for _, target in carried(operation[1]):
            if target.storage is array.storage and flags.get(id(target)) is not False:
                return False
    return True


def _fact(trace: Trace, position: int, backward: BackwardRun, severed: _Severed, together: list[ArrayValue]) -> Fact:
    storage = severed.array.storage
    loss = backward.loss
    place = _decided_at(storage)
    decided = [Label(place, "what is passed here decides that it has no gradient")] if storage.decided_above else []
    labels = [
        *decided,
        Label(storage.site, allocated_label(storage)),
        *called_from(storage.stack, "called from here"),
        Label(
            severed.writer[1].context.site,
            f"{launch_name(severed.writer[1])} writes {name_of(severed.array)} from {name_of(severed.source)}",
        ),
        Label(
            severed.reader[1].context.site,
            f"{launch_name(severed.reader[1])} reads {name_of(severed.array)} on the way to the loss",
        ),
        Label(backward.context.site, f"the reverse sweep starts here and stops at {name_of(severed.array)}"),
    ]
    attributes = {
        "array": plain_name(severed.array),
        "allocator": storage.source,
        "input": plain_name(severed.origin),
        "loss": plain_name(loss) if loss is not None else "",
        "writer": launch_name(severed.writer[1]).strip("`"),
        "reader": launch_name(severed.reader[1]).strip("`"),
        "explicit": storage.explicit,
    }
    program = programs.chain(trace, position, backward, severed.origin, together, storage.site)
    return Fact("missing-requires-grad", place, attributes, _distinct(labels), storage.definition, "taped", program)


def _decided_at(storage: Storage) -> Location:
    """The place that decides whether an array has a gradient: the allocation, or a call that leads to it."""
    above = storage.decided_above
    return storage.stack[-above] if 0 < above <= len(storage.stack) else storage.site


def _distinct(labels: list[Label]) -> tuple[Label, ...]:
    seen: set[tuple[Location, str]] = set()
    kept = []
    for label in labels:
        if (label.location, label.text) not in seen:
            seen.add((label.location, label.text))
            kept.append(label)
    return tuple(kept)
