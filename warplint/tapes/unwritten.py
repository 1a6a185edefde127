"""Memory that is read before anything was written to it: the fact ``uninitialised-read``."""

from __future__ import annotations

from collections.abc import Iterator

from warplint.ir.facts import Fact, Label
from warplint.ir.spans import Location
from warplint.tapes import programs
from warplint.tapes.stories import called_from, launch_name, name_of, plain_name
from warplint.tapes.trace import Allocated, Copied, Escaped, Filled, Launched, Replayed, Trace
from warplint.tapes.values import ArrayValue, Storage


class Reads:
    """The launches of all traces of a module that read memory without contents.

    A trace may take a way that no run takes. What is told is what every trace does that comes by.
    """

    def __init__(self) -> None:
        self._found: dict[Location, Fact] = {}
        self._right: set[Location] = set()

    def look(self, trace: Trace) -> None:
        """Note what the launches of one trace read."""
        empty: dict[Storage, ArrayValue] = {}
        told: set[Storage] = set()
        found: dict[Location, Fact] = {}
        right: set[Location] = set()
        for position, record in enumerate(trace.records):
            if isinstance(record, Allocated):
                storage = record.array.storage
                if storage.source in ("empty", "empty_like") and storage.kind == "allocation":
                    empty[storage] = record.array
            elif isinstance(record, Replayed):
                empty.clear()
            elif isinstance(record, (Filled, Escaped)):
                empty.pop(record.array.storage, None)
            elif isinstance(record, Copied):
                empty.pop(record.target.storage, None)
                empty.pop(record.source.storage, None)
            elif isinstance(record, Launched) and not record.adjoint:
                used = {access.array.storage for access in record.accesses}
                read = [storage for storage in _read(record) if storage in empty]
                if read:
                    found.setdefault(record.context.site, _fact(trace, position, record, empty[read[0]]))
                    told.add(read[0])
                elif not used & told:
                    right.add(record.context.site)
                for storage in used:
                    empty.pop(storage, None)
        # The first round of a loop may read what the others find written.
        self._right |= right - found.keys()
        self._found = found | self._found

    def facts(self) -> Iterator[Fact]:
        """The facts of all traces."""
        for site, fact in self._found.items():
            if site not in self._right:
                yield fact


def _read(record: Launched) -> list[Storage]:
    return [
        access.array.storage
        for access in record.accesses
        if access.path in record.at_once and not (access.writes and access.covers)
    ]


def _fact(trace: Trace, position: int, record: Launched, array: ArrayValue) -> Fact:
    place = record.context
    labels = (
        Label(place.site, f"{launch_name(record)} reads {name_of(array)}"),
        *called_from(place.stack, "called from here"),
        Label(array.storage.site, "it is allocated here, and nothing is written to it in between"),
    )
    attributes = {"array": plain_name(array), "kernel": launch_name(record).strip("`")}
    program = programs.reading(trace, position, array)
    return Fact("uninitialised-read", place.site, attributes, labels, place.definition, "taped", program)
