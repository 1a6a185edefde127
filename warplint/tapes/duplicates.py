"""Launches that are made twice with nothing between: the fact ``duplicate-launch``."""

from __future__ import annotations

from collections.abc import Iterator

from warplint.ir.facts import Fact, Label
from warplint.tapes import programs
from warplint.tapes.active import Activity, Origins
from warplint.tapes.launches import StructSnapshot
from warplint.tapes.recorded import Operation, Sweep, written
from warplint.tapes.stories import called_from, launch_name, plain_name
from warplint.tapes.trace import Copied, Escaped, Filled, Launched, ParameterUpdated, Replayed, Trace
from warplint.tapes.values import ArrayValue, Storage, is_plain


def facts(trace: Trace, sweeps: list[Sweep], actives: list[Activity]) -> Iterator[Fact]:
    """The facts of one trace; ``actives`` are the activities of its sweeps."""
    for sweep, active in zip(sweeps, actives, strict=True):
        if sweep.custom:
            continue
        for first, second in repeated(trace, sweep):
            origins = _origins(active, second[0])
            if origins:
                yield _fact(trace, sweep, first, second, origins)


def repeated(trace: Trace, sweep: Sweep) -> Iterator[tuple[Operation, Operation]]:
    """Pairs of recorded launches of which the second stores what the first has stored already."""
    if len(sweep.operations) < 2:
        return
    recorded = {position for position, _ in sweep.operations}
    standing = _Standing()
    for position in range(sweep.operations[0][0], sweep.operations[-1][0] + 1):
        record = trace.records[position]
        if isinstance(record, Replayed):
            standing.clear()
        elif isinstance(record, (Filled, Escaped, ParameterUpdated)):
            standing.changed({record.array.storage})
        elif isinstance(record, (Launched, Copied)):
            repeatable = isinstance(record, Launched) and position in recorded and _repeatable(record)
            first = standing.first(record) if repeatable and isinstance(record, Launched) else None
            if first is not None:
                if position == first[0] + 1 or _owned(first[1]):
                    yield first, (position, record)
                continue
            standing.changed(written(record))
            if isinstance(record, Launched) and repeatable:
                standing.add(position, record)


class _Standing:
    """Launches of which nothing has changed an array since: to make one again is to compute the same."""

    def __init__(self) -> None:
        # By what launches that are the same have in common, and the places of those that use a piece of memory.
        self._alike: dict[tuple[object, ...], dict[int, Launched]] = {}
        self._users: dict[Storage, dict[int, tuple[object, ...]]] = {}

    def clear(self) -> None:
        """Forget all of them."""
        self._alike.clear()
        self._users.clear()

    def add(self, position: int, record: Launched) -> None:
        """A launch was made."""
        key = _key(record)
        self._alike.setdefault(key, {})[position] = record
        for access in record.accesses:
            self._users.setdefault(access.array.storage, {})[position] = key

    def first(self, record: Launched) -> tuple[int, Launched] | None:
        """The first launch that is the same as this one."""
        return next((one for one in self._alike.get(_key(record), {}).items() if same(one[1], record)), None)

    def changed(self, storages: set[Storage]) -> None:
        """Forget the launches whose arrays are changed."""
        for storage in storages:
            for position, key in self._users.pop(storage, {}).items():
                self._alike.get(key, {}).pop(position, None)


def _key(record: Launched) -> tuple[object, ...]:
    """What launches that are the same have in common: the kernel and the memory that it is given."""
    memory = (id(value.storage) if isinstance(value, ArrayValue) else None for value in record.arguments)
    return (record.kernel.path, record.kernel.qualname, *memory)


def _repeatable(record: Launched) -> bool:
    """Whether making this launch a second time changes nothing."""
    summary = record.summary
    if summary is None or not summary.complete or "." in record.kernel.qualname:
        return False
    stores = [access for access in record.accesses if access.writes or access.accumulates]
    if any(access.accumulates or access.reads or not access.covers for access in stores):
        return False
    read = {access.array.storage for access in record.accesses if access.reads}
    return bool(stores) and not any(access.array.storage in read for access in stores)


def _owned(record: Launched) -> bool:
    """Whether nothing unknown can have changed the arguments since they were last used."""
    return all(is_plain(value) or _allocated(value) for value in record.arguments)


def _allocated(value: object) -> bool:
    if isinstance(value, StructSnapshot):
        return all(is_plain(inner) or _allocated(inner) for inner in value.fields.values())
    return isinstance(value, ArrayValue) and value.storage.kind == "allocation"


def same(first: Launched | Copied, second: Launched | Copied) -> bool:
    """Whether two operations are launches of one kernel with the same arguments."""
    if not isinstance(first, Launched) or not isinstance(second, Launched):
        return False
    if first.kernel != second.kernel or len(first.arguments) != len(second.arguments):
        return False
    return alike(first.dim, second.dim) and alike(first.arguments, second.arguments)


def alike(first: object, second: object) -> bool:
    """Whether two arguments are surely the same."""
    if first is second:
        return True
    if isinstance(first, ArrayValue) and isinstance(second, ArrayValue):
        known = "?" not in first.view
        return known and first.storage is second.storage and (first.view, first.dtype) == (second.view, second.dtype)
    if isinstance(first, StructSnapshot) and isinstance(second, StructSnapshot):
        if first.struct != second.struct or first.fields.keys() != second.fields.keys():
            return False
        return all(alike(value, second.fields[name]) for name, value in first.fields.items())
    if isinstance(first, tuple) and isinstance(second, tuple):
        return len(first) == len(second) and all(alike(a, b) for a, b in zip(first, second, strict=True))
    return is_plain(first) and type(first) is type(second) and first == second


def _origins(active: Activity, position: int) -> Origins:
    return tuple(dict.fromkeys(origin for edge in active.edges.get(position, ()) for origin in edge.origins))


def _fact(trace: Trace, sweep: Sweep, first: Operation, second: Operation, origins: Origins) -> Fact:
    record = second[1]
    place = record.context
    kernel = launch_name(record)
    labels = (
        Label(place.site, f"{kernel} is launched again with the same arguments, which nothing changed"),
        *called_from(place.stack, "called from here"),
        Label(first[1].context.site, "it was launched here"),
        Label(sweep.backward.context.site, "the reverse sweep goes over both"),
    )
    assert isinstance(record, Launched)
    stored = [access.array for access in record.accesses if access.writes]
    attributes = {
        "kernel": kernel.strip("`"),
        "array": plain_name(stored[0]),
        "retained": any(array.storage.retains for array in stored),
    }
    program = programs.with_and_without(trace, sweep, origins, record)
    return Fact("duplicate-launch", place.site, attributes, labels, place.definition, "taped", program)
