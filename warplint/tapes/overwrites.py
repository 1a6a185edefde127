"""Memory that the reverse sweep reads and that was changed before it: the fact ``overwritten-before-sweep``.

The adjoint of an operation reads the values of its inputs where its derivative depends on them. The tape keeps no
copies: it reads what the arrays hold when ``backward()`` runs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal, Union

from warplint.ir.effects import EffectSummary
from warplint.ir.facts import Fact, Label
from warplint.ir.programs import TapeProgram
from warplint.ir.spans import Location
from warplint.records import dataclass
from warplint.tapes import copies, duplicates, housekeeping, programs
from warplint.tapes.active import Activity, Edge, Origins
from warplint.tapes.recorded import Operation, Sweep
from warplint.tapes.stories import called_from, launch_name, name_of, plain_name
from warplint.tapes.trace import Access, Aliased, Copied, Filled, Launched, Trace, ViewChanged
from warplint.tapes.values import ArrayValue, Storage, is_plain
from warplint.tapes.views import apart, disjoint

#: What changes memory, and its place in the trace.
Write = tuple[int, Union[Launched, Copied, Filled, ViewChanged]]
#: ``value``: an adjoint reads the old value. ``leak``: the gradient of the new contents goes on to what wrote the old.
Loss = Literal["value", "leak"]


@dataclass(frozen=True, slots=True)
class _Overwrite:
    """``reader`` is an operation on the tape that needs, or wrote, what ``array`` held before ``write``."""

    array: ArrayValue
    reader: Operation
    write: Write
    origins: Origins
    loss: Loss


@dataclass(frozen=True, slots=True)
class _Numbers:
    """The numbers of rows of an array; ``single``: the rows are its elements."""

    numbers: frozenset[int]
    single: bool


@dataclass(slots=True)
class _Needed:
    """A value that an adjoint will read: the operation, the array, and the inputs whose gradient it goes into."""

    reader: Operation
    access: Access
    origins: Origins
    rows: _Numbers | None = None  # the rows of the array that are read, where they are known


def facts(trace: Trace, sweeps: list[Sweep], actives: list[Activity]) -> Iterator[Fact]:
    """The facts of one trace; ``actives`` are the activities of its sweeps."""
    swept: set[int] = set()
    right: set[Location] = set()  # where earlier tapes recorded what did no harm
    for sweep, active in zip(sweeps, actives, strict=True):
        again = sweep.backward.tape in swept
        swept.add(sweep.backward.tape)
        if sweep.custom or not sweep.operations or again:
            continue  # what a second sweep finds is another mistake
        seen: set[int] = set()
        same: set[int] | None = None
        for found in _overwrites(trace, sweep, active):
            if same is None:  # what a launch that is made again stores is what was there
                same = {second[0] for _, second in duplicates.repeated(trace, sweep)}
            if found.write[0] not in seen | same:
                seen.add(found.write[0])
                late = housekeeping.late(trace, sweep, found.write[0]) if found.loss == "value" else None
                yield _fact(trace, sweep, found, right) if late is None else late
        right |= {record.context.site for position, record in sweep.operations if position not in seen}


def _overwrites(trace: Trace, sweep: Sweep, active: Activity) -> Iterator[_Overwrite]:
    if not any(active.edges.values()):
        return
    recorded = dict(sweep.operations)
    needed: dict[Storage, list[_Needed]] = {}
    last = sweep.operations[0][0]
    for position in range(last, sweep.position):
        record = trace.records[position]
        if isinstance(record, Filled):
            yield from _filled((position, record), needed, active, sweep, last)
        elif isinstance(record, ViewChanged):
            yield from _replaced((position, record), needed)
        elif isinstance(record, (Launched, Copied)):
            on_tape = position in recorded
            # A launch inside the tape that is not recorded is another mistake.
            if on_tape or record.context.tape != sweep.backward.tape:
                for array, access in _written(record):
                    lost = [one for one in needed.get(array.storage, ()) if _overlap(one, record, array, access)]
                    yield from _lost(array, (position, record), lost, needed)
        if position in recorded:
            last = position
            if isinstance(record, Launched):
                yield from _in_place((position, record), active.edges.get(position, ()))
                for value in _needs((position, record), active.edges.get(position, ())):
                    needed.setdefault(value.access.array.storage, []).append(value)


def _lost(
    array: ArrayValue, write: Write, lost: list[_Needed], needed: dict[Storage, list[_Needed]]
) -> Iterator[_Overwrite]:
    """The loss of values, told once: what is written over them later does no more harm."""
    if lost:
        yield _Overwrite(array, lost[0].reader, write, lost[0].origins, "value")
        needed[array.storage] = [one for one in needed[array.storage] if one not in lost]


def _needs(operation: tuple[int, Launched], edges: tuple[Edge, ...]) -> Iterator[_Needed]:
    """What the adjoint of an operation reads of arrays that the operation itself leaves as they are."""
    _, record = operation
    summary = record.summary
    if summary is None or not edges:
        return
    by_path = {access.path: access for access in record.accesses}
    changed = [access.array for access in record.accesses if access.writes or access.accumulates]
    active: dict[tuple[str, ...], Origins] = {}
    for access in record.accesses:
        for edge in edges:
            if edge.source is access.array:
                active.setdefault(access.path, edge.origins)
    for source, wanted in sorted(summary.needs):
        read = by_path.get(wanted)
        if source not in active or read is None or not read.differentiable or not read.reads:
            continue
        rows = _rows(record, read.path, "needed")
        left = all(one.storage is not read.array.storage or disjoint(one, read.array) for one in changed)
        if left or rows is not None:
            yield _Needed(operation, read, active[source], rows)


def _rows(record: Launched, path: tuple[str, ...], which: Literal["needed", "written"]) -> _Numbers | None:
    """The rows of an array that a launch needs or writes, None where they are not known."""
    summary = record.summary
    if summary is None:
        return None
    values = dict(zip(summary.parameters, record.arguments, strict=False))
    for known in summary.rows:
        if known.path == path:
            found = set()
            for row in known.needed if which == "needed" else known.written:
                value = values.get(row.parameter) if row.parameter else 0
                if not isinstance(value, int) or isinstance(value, bool):
                    return None
                found.add(value + row.offset)
            return _Numbers(frozenset(found), known.single)
    return None


def _in_place(operation: tuple[int, Launched], edges: tuple[Edge, ...]) -> Iterator[_Overwrite]:
    """Arrays that a launch gets twice: as what it reads, and as what it writes.

    What a kernel does to one argument is seen in the kernel.
    """
    _, record = operation
    if record.summary is None or not edges:
        return
    by_path = {access.path: access for access in record.accesses}
    written = [access for access in record.accesses if access.writes and _is_plain(record.summary, access)]
    if not written:
        return
    for source, wanted in sorted(record.summary.needs):
        read = by_path.get(wanted)
        origins = next(
            (edge.origins for edge in edges if source in by_path and edge.source is by_path[source].array), ()
        )
        if read is None or not origins or not read.differentiable or read.writes or read.accumulates:
            continue
        for access in written:
            if access.array.storage is read.array.storage and access.array.view == read.array.view:
                yield _Overwrite(read.array, operation, operation, origins, "value")
                return


def _is_plain(summary: EffectSummary, access: Access) -> bool:
    """Whether the places where a launch stores into an array do not depend on what it is given."""
    effect = summary.effect(access.path)
    return effect is not None and not effect.placed


def _written(record: Launched | Copied) -> Iterator[tuple[ArrayValue, Access | None]]:
    if isinstance(record, Copied):
        yield record.target, None
        return
    for access in record.accesses:
        if access.writes or access.accumulates:
            yield access.array, access


def _overlap(value: _Needed, record: Launched | Copied, array: ArrayValue, access: Access | None) -> bool:
    """Whether a write surely reaches elements that the reader read."""
    read = value.access.array
    if apart(read, array) or _elsewhere(value, array):
        return False
    if isinstance(record, Copied):
        # Slices of a copy are views, but offsets are arguments that the trace does not keep.
        return record.whole or bool(array.view)
    assert access is not None and record.summary is not None
    effect = record.summary.effect(access.path)
    if effect is None:
        return False
    if value.rows is not None and not read.view and not array.view:
        rows = _rows(record, access.path, "written")
        if rows is not None:
            return not rows.numbers.isdisjoint(value.rows.numbers)
        if value.rows.single and not _reached(record, access, value.rows.numbers):
            return False
    if value.rows is None and _writes_itself(value.reader[1], read):
        return False  # which of its elements such a launch reads is not known
    if not effect.placed:
        return True
    # Where it writes depends on its arguments: the same kernel with the same ones writes the same elements.
    reader = value.reader[1]
    if not isinstance(reader, Launched) or reader.kernel != record.kernel:
        return False
    names = record.summary.parameters
    before, after = (dict(zip(names, launch.arguments, strict=False)) for launch in (reader, record))
    return all(len(path) == 1 and _same(before.get(path[0]), after.get(path[0])) for path in effect.placed)


def _reached(record: Launched, access: Access, elements: frozenset[int]) -> bool:
    """Whether a launch surely has a thread with the number of one of the ``elements``, which stores to it."""
    own = record.summary is not None and access.path in record.summary.own
    extent = record.dim[0] if record.dim else None
    return own and isinstance(extent, int) and any(element < extent for element in elements)


def _elsewhere(value: _Needed, array: ArrayValue) -> bool:
    """Whether a view holds none of the rows that are needed, as far as is known."""
    if value.rows is None or not array.view or value.access.array.view:
        return False
    row = re.match(r"\[(\d+)[],]", array.view)
    return row is None or int(row[1]) not in value.rows.numbers


def _writes_itself(record: Launched | Copied, read: ArrayValue) -> bool:
    """Whether an operation writes an array that it reads."""
    return isinstance(record, Launched) and any(
        access.array.storage is read.storage
        and not disjoint(access.array, read)
        and (access.writes or access.accumulates)
        for access in record.accesses
    )


def _same(first: object, second: object) -> bool:
    if isinstance(first, ArrayValue) and isinstance(second, ArrayValue):
        return first is second
    return is_plain(first) and first is not None and first == second


def _replaced(write: tuple[int, Filled | ViewChanged], needed: dict[Storage, list[_Needed]]) -> Iterator[_Overwrite]:
    """What the host writes over values that an adjoint will read."""
    array = write[1].array
    lost = [
        value
        for value in needed.get(array.storage, ())
        if not apart(value.access.array, array) and not _elsewhere(value, array)
    ]
    yield from _lost(array, write, lost, needed)


def _filled(
    write: tuple[int, Filled], needed: dict[Storage, list[_Needed]], active: Activity, sweep: Sweep, last: int
) -> Iterator[_Overwrite]:
    array = write[1].array
    found = list(_replaced(write, needed))
    if found:
        yield from found
        return
    # A fill is not recorded: the gradient of what is computed on top of it goes on to what was there before.
    origins = active.varied.get(last, {}).get(array.storage, ())
    if any(
        isinstance(old, Copied) and old.target.storage is array.storage and copies.is_clone(old)
        for _, old in sweep.operations
    ):
        return  # a clone that only allocates is another mistake
    if origins and not array.view and _useful_after(active, sweep, write[0], array.storage):
        for operation in reversed(sweep.operations):
            if operation[0] < write[0] and any(edge.target.storage is array.storage for edge in _edges(operation)):
                yield _Overwrite(array, operation, write, origins, "leak")
                return


def _edges(operation: Operation) -> tuple[Edge, ...]:
    record = operation[1]
    pairs = record.flows if isinstance(record, Launched) else ((record.source, record.target),)
    return tuple(Edge(source, target, ()) for source, target in pairs)


def _useful_after(active: Activity, sweep: Sweep, position: int, storage: Storage) -> bool:
    """Whether the loss depends on what the memory holds at ``position``, and more than the loss itself does."""
    before = [place for place, _ in sweep.operations if place < position]
    behind = [place for place, _ in sweep.operations if place > position]
    return bool(before and behind) and storage in active.useful[before[-1]]


# --- what is told ---

_HOW = {Filled: "fill", Copied: "copy", Launched: "launch", ViewChanged: "view"}
_TOLD = {
    "fill": "{array} is changed here, which no tape records",
    "copy": "{array} is changed here",
    "launch": "{array} is changed here",
    "view": "what `numpy()` gave is changed in place here: on the CPU, that is the memory of {array}",
}


def _fact(trace: Trace, sweep: Sweep, found: _Overwrite, right: set[Location]) -> Fact:
    position, record = found.write
    site = record.context.site
    array = name_of(found.array)
    how = _HOW[type(record)]
    before = _in_recording(sweep, found.write)
    reader = launch_name(found.reader[1])
    if found.loss == "value":
        told = f"{reader} reads {array}, and its adjoint will read it again"
    else:
        told = f"{reader} writes {array} on the tape"
    labels = (
        Label(found.reader[1].context.site, told),
        Label(site, _TOLD[how].format(array=array)),
        *called_from(record.context.stack, "called from here"),
        Label(sweep.backward.context.site, "the reverse sweep finds what is there now"),
    )
    attributes = {
        "array": plain_name(found.array),
        "reader": reader.strip("`"),
        "writer": launch_name(record).strip("`") if isinstance(record, (Launched, Copied)) else "",
        "by": how,
        "loss": found.loss,
        "during": "recording" if before else "after",
    }
    alias = next(
        (
            one
            for one in trace.records[:position]
            if isinstance(one, Aliased)
            and one.tape == sweep.backward.tape
            and found.array.storage in one.storages
            and (not one.across or site in right)
        ),
        None,
    )
    if alias is not None and found.loss == "value":
        return _aliased(trace, sweep, found, alias, labels)
    return Fact(
        "overwritten-before-sweep",
        site,
        attributes,
        labels,
        record.context.definition,
        "taped",
        _program(trace, sweep, found),
    )


def _aliased(trace: Trace, sweep: Sweep, found: _Overwrite, alias: Aliased, labels: tuple[Label, ...]) -> Fact:
    place = alias.context
    story = (
        Label(place.site, f"from here on, {name_of(found.array)} is there under two names"),
        *called_from(place.stack, "called from here"),
        *labels,
    )
    attributes = {"array": plain_name(found.array), "reader": launch_name(found.reader[1]).strip("`")}
    program = _program(trace, sweep, found)
    return Fact("state-alias", place.site, attributes, story, place.definition, "taped", program)


def _in_recording(sweep: Sweep, write: Write) -> bool:
    """Whether the tape was still open."""
    return write[1].context.tape == sweep.backward.tape


def _program(trace: Trace, sweep: Sweep, found: _Overwrite) -> TapeProgram | None:
    # Not what starts from a loss and from gradients that are passed with it, or from nothing that is known.
    known = bool(sweep.seeds) if sweep.backward.loss is None else not sweep.backward.seeds
    if not known or isinstance(found.write[1], ViewChanged):
        return None
    return programs.overwritten(trace, sweep, found.array.storage, found.origins)
