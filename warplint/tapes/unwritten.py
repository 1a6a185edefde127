"""Memory that is read before anything was written to it: the fact ``uninitialised-read``."""

from __future__ import annotations

from collections.abc import Iterator

from warplint.ir.facts import Fact, Label
from warplint.tapes.stories import called_from, launch_name, name_of, plain_name
from warplint.tapes.trace import Allocated, Copied, Escaped, Filled, Launched, Replayed, Trace
from warplint.tapes.values import ArrayValue, Storage


def facts(trace: Trace) -> Iterator[Fact]:
    """The facts of one trace."""
    empty: dict[Storage, ArrayValue] = {}
    for record in trace.records:
        if isinstance(record, Allocated):
            storage = record.array.storage
            if storage.source in ("empty", "empty_like") and storage.kind == "allocation":
                empty[storage] = record.array
        elif not empty:
            continue
        elif isinstance(record, Replayed):
            empty.clear()
        elif isinstance(record, (Filled, Escaped)):
            empty.pop(record.array.storage, None)
        elif isinstance(record, Copied):
            empty.pop(record.target.storage, None)
            empty.pop(record.source.storage, None)
        elif isinstance(record, Launched):
            for access in record.accesses:
                array = empty.get(access.array.storage)
                written = access.writes and access.covers
                if array is not None and not record.adjoint and not written and access.path in record.at_once:
                    yield _fact(record, array)
            for access in record.accesses:
                empty.pop(access.array.storage, None)


def _fact(record: Launched, array: ArrayValue) -> Fact:
    place = record.context
    labels = (
        Label(place.site, f"{launch_name(record)} reads {name_of(array)}"),
        *called_from(place.stack, "called from here"),
        Label(array.storage.site, "it is allocated here, and nothing is written to it in between"),
    )
    attributes = {"array": plain_name(array), "kernel": launch_name(record).strip("`")}
    return Fact("uninitialised-read", place.site, attributes, labels, place.definition, "taped")
