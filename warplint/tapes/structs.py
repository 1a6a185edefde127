"""Structs that are not, when the sweep comes, what a launch was given: facts ``overwritten-before-sweep`` (fields)
and ``flag-set-after-struct``.

The tape keeps the struct object, and an array's gradient is looked up when the array is put into the struct.
"""

from __future__ import annotations

from collections.abc import Iterator

from warplint.ir.facts import Fact, Label
from warplint.tapes import programs
from warplint.tapes.active import Activity, Edge
from warplint.tapes.launches import StructSnapshot
from warplint.tapes.recorded import Sweep
from warplint.tapes.stories import called_from, launch_name, name_of, plain_name
from warplint.tapes.trace import Bound, Flagged, Launched, Trace
from warplint.tapes.values import ArrayValue, Unknown, is_plain

#: A field of a struct instance.
_Field = tuple[int, str]


def facts(trace: Trace, sweeps: list[Sweep], actives: list[Activity]) -> Iterator[Fact]:
    """The facts of one trace; ``actives`` are the activities of its sweeps."""
    bound: dict[_Field, list[tuple[int, Bound]]] = {}
    for position, record in enumerate(trace.records):
        if isinstance(record, Bound):
            bound.setdefault((record.struct, record.field), []).append((position, record))
    if not bound:
        return
    for sweep, active in zip(sweeps, actives, strict=True):
        if sweep.custom:
            continue
        seen: set[int] = set()
        for position, record in sweep.operations:
            edges = active.edges.get(position, ())
            if not edges or not isinstance(record, Launched) or record.summary is None:
                continue
            for name, value in zip(record.summary.parameters, record.arguments, strict=False):
                if isinstance(value, StructSnapshot):
                    for identity, field, held, since in _fields(value, bound, position):
                        history = bound.get((identity, field), [])
                        later = [entry for entry in history if position < entry[0] < sweep.position]
                        before = [entry[1] for entry in history if entry[0] < position]
                        if since < 0 and later and _differs(held, later[-1][1].value) and later[0][0] not in seen:
                            if _matters(record, edges, (name, field), held):
                                seen.add(later[0][0])
                                yield _rebound(trace, sweep, record, edges, later[0][1], held)
                        elif before and isinstance(held, ArrayValue) and before[-1].flag is False:
                            flag = _flagged(trace, held, position)
                            if flag is not None and flag[0] > since and flag[0] not in seen and _in_edges(edges, held):
                                seen.add(flag[0])
                                yield _flag_after(trace, sweep, record, edges, before[-1], flag[1])


def _fields(
    struct: StructSnapshot, bound: dict[_Field, list[tuple[int, Bound]]], position: int, since: int = -1
) -> Iterator[tuple[int, str, object, int]]:
    """The fields of a struct and of the structs in it: the identity of the struct, the name, the value, and when the
    struct was put into the outer one for the last time (which copies its fields as they are then); -1 for none."""
    for field, held in struct.fields.items():
        yield struct.identity, field, held, since
        if isinstance(held, StructSnapshot):
            put = [place for place, _ in bound.get((struct.identity, field), []) if place < position]
            if put:
                yield from _fields(held, bound, position, max(since, put[-1]))


def _in_edges(edges: tuple[Edge, ...], array: ArrayValue) -> bool:
    return any(array in (edge.source, edge.target) for edge in edges)


def _matters(record: Launched, edges: tuple[Edge, ...], path: tuple[str, str], held: object) -> bool:
    """Whether the adjoint of a launch surely uses a field: the array itself, or a number that is a factor."""
    if not isinstance(held, ArrayValue):
        return path in record.factors
    if _in_edges(edges, held):
        return True
    assert record.summary is not None
    sources = {access.path for access in record.accesses if any(edge.source is access.array for edge in edges)}
    return any(source in sources and wanted == path for source, wanted in record.summary.needs)


def _differs(first: object, second: object) -> bool:
    """Whether two values of a field are surely different."""
    if isinstance(first, ArrayValue):
        return isinstance(second, ArrayValue) and second.storage is not first.storage
    if isinstance(first, (int, float)) and isinstance(second, (int, float)):
        return first != second
    if isinstance(first, Unknown) and isinstance(second, Unknown) and first.origin and second.origin:
        # one unknown number, with different numbers added to it or multiplied by it
        if first.origin[0] != second.origin[0] or first.origin[0] not in ("+", "-", "*", "/"):
            return False
        pairs = [(a, b) for a, b in zip(first.origin[1:], second.origin[1:], strict=False) if a is not b]
        return len(pairs) == 1 and all(is_plain(part) for part in pairs[0]) and pairs[0][0] != pairs[0][1]
    return False


def _flagged(trace: Trace, array: ArrayValue, position: int) -> tuple[int, Flagged] | None:
    """Where the array's flag was set last."""
    for place in range(position - 1, -1, -1):
        record = trace.records[place]
        if isinstance(record, Flagged) and record.array is array:
            return place, record
    return None


def _rebound(
    trace: Trace, sweep: Sweep, record: Launched, edges: tuple[Edge, ...], change: Bound, held: object
) -> Fact:
    place = change.context
    array = name_of(held) if isinstance(held, ArrayValue) else "another number"
    labels = (
        Label(record.context.site, f"{launch_name(record)} is recorded while `{change.field}` is {array}"),
        Label(place.site, f"the same struct gets another `{change.field}`: the tape keeps the struct, not its fields"),
        *called_from(place.stack, "called from here"),
        Label(sweep.backward.context.site, "the reverse sweep finds what is there now"),
    )
    attributes = {
        "array": change.field,
        "reader": launch_name(record).strip("`"),
        "writer": "",
        "by": "binding",
        "loss": "value",
        "during": "after",
    }
    origins = tuple(dict.fromkeys(origin for edge in edges for origin in edge.origins))
    program = programs.gradient(trace, sweep, origins)
    return Fact("overwritten-before-sweep", place.site, attributes, labels, place.definition, "taped", program)


def _flag_after(
    trace: Trace, sweep: Sweep, record: Launched, edges: tuple[Edge, ...], before: Bound, flag: Flagged
) -> Fact:
    place = flag.context
    labels = (
        Label(before.context.site, f"{name_of(flag.array)} goes into the struct, without a gradient"),
        Label(place.site, "it gets a gradient here, which the struct does not know"),
        *called_from(place.stack, "called from here"),
        Label(record.context.site, f"{launch_name(record)} is given the struct"),
    )
    attributes = {"array": plain_name(flag.array), "field": before.field, "kernel": launch_name(record).strip("`")}
    origins = tuple(dict.fromkeys(origin for edge in edges for origin in edge.origins))
    program = programs.flagged_late(trace, sweep, origins, flag.array)
    return Fact("flag-set-after-struct", place.site, attributes, labels, place.definition, "taped", program)
