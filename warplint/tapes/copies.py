"""Copies on the tape: the facts ``clone-as-allocator`` and ``copy-before-reader``."""

from __future__ import annotations

from collections.abc import Iterator

from warplint.ir.facts import Fact, Label
from warplint.ir.programs import TapeProgram
from warplint.tapes import programs
from warplint.tapes.active import Activity, Origins
from warplint.tapes.recorded import Sweep, overwritten, written
from warplint.tapes.stories import called_from, launch_name, name_of, plain_name
from warplint.tapes.trace import Copied, Filled, Launched, Trace
from warplint.tapes.values import Storage


def facts(trace: Trace, sweeps: list[Sweep], actives: list[Activity]) -> Iterator[Fact]:
    """The facts of one trace; ``actives`` are the activities of its sweeps."""
    for sweep, active in zip(sweeps, actives, strict=True):
        if sweep.custom:
            continue
        for number, (position, record) in enumerate(sweep.operations):
            if not isinstance(record, Copied):
                continue
            edges = active.edges.get(position, ())
            if is_clone(record):
                origins = active.varied.get(position, {}).get(record.target.storage, ())
                # all that comes after the clone is gone through
                change = _first_change(trace, position, sweep.position, record.target.storage) if origins else None
                if change is not None and (edges or isinstance(change, Launched)):
                    yield _allocator(trace, sweep, record, change, edges[0].origins if edges else origins)
                    continue
            if edges:
                reader = _later_reader(sweep, active, number)
                if reader is not None:
                    yield _before_reader(trace, sweep, record, reader, edges[0].origins)


def is_clone(record: Copied) -> bool:
    """Whether a copy is the one that ``wp.clone`` makes."""
    return record.target.storage.source == "clone" and record.context.site == record.target.storage.site


def _first_change(trace: Trace, start: int, end: int, storage: Storage) -> Launched | Filled | None:
    """What replaces all of the contents of a clone, if nothing used them before."""
    for record in trace.records[start + 1 : end]:
        if isinstance(record, Filled) and record.array.storage is storage:
            return record if not record.array.view and not record.sources else None
        if isinstance(record, Launched) and any(access.array.storage is storage for access in record.accesses):
            return record if storage in overwritten(record) and not _reads(record, storage) else None
        if isinstance(record, Copied) and storage in (record.source.storage, record.target.storage):
            return None
    return None


def _reads(record: Launched, storage: Storage) -> bool:
    return any(access.reads and access.array.storage is storage for access in record.accesses)


def _later_reader(sweep: Sweep, active: Activity, number: int) -> Launched | Copied | None:
    """An operation after a copy that a gradient comes to the source of the copy through as well."""
    position, record = sweep.operations[number]
    assert isinstance(record, Copied)
    source = record.source.storage
    for later, operation in sweep.operations[number + 1 :]:
        if any(edge.source.storage is source for edge in active.edges.get(later, ())):
            return operation
        if source in written(operation):
            return None
    return None


def _allocator(trace: Trace, sweep: Sweep, record: Copied, change: Launched | Filled, origins: Origins) -> Fact:
    place = record.context
    filled = isinstance(change, Filled)
    told = "it is filled here" if isinstance(change, Filled) else f"{launch_name(change)} stores to all of it"
    labels = (
        Label(place.site, f"the copy of {name_of(record.source)} is recorded, and a gradient goes back through it"),
        *called_from(place.stack, "called from here"),
        Label(change.context.site, f"{told}, before anything read what was copied"),
    )
    attributes = {
        "array": plain_name(record.target),
        "source": plain_name(record.source),
        "by": "fill" if filled else "launch",
    }
    program: TapeProgram | None = programs.gradient(trace, sweep, origins) if filled else None
    return Fact("clone-as-allocator", place.site, attributes, labels, place.definition, "taped", program)


def _before_reader(trace: Trace, sweep: Sweep, record: Copied, reader: Launched | Copied, origins: Origins) -> Fact:
    place = record.context
    labels = (
        Label(place.site, f"{name_of(record.source)} is copied on the tape"),
        *called_from(place.stack, "called from here"),
        Label(reader.context.site, f"{launch_name(reader)} reads {name_of(record.source)} after that"),
        Label(sweep.backward.context.site, "the adjoint of the copy comes last, and replaces the gradient"),
    )
    attributes = {
        "source": plain_name(record.source),
        "target": plain_name(record.target),
        "reader": launch_name(reader).strip("`"),
    }
    program = programs.gradient(trace, sweep, origins)
    return Fact("copy-before-reader", place.site, attributes, labels, place.definition, "taped", program)
