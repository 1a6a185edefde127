"""Gradients that a store should have zeroed: the fact ``retained-gradient``.

A store hands the gradient of an element on and zeroes it, because what the element held before has no part in what
comes after. With ``retain_grad`` it stays, and an earlier store takes it for its own.
"""

from __future__ import annotations

from collections.abc import Iterator

from warplint.ir.facts import Fact, Label
from warplint.tapes import duplicates, programs
from warplint.tapes.active import Activity, Origins
from warplint.tapes.recorded import Operation, Sweep, edges
from warplint.tapes.stories import called_from, launch_name, name_of, plain_name
from warplint.tapes.trace import Copied, Launched, Trace
from warplint.tapes.values import ArrayValue, Storage


def facts(trace: Trace, sweeps: list[Sweep], actives: list[Activity]) -> Iterator[Fact]:
    """The facts of one trace; ``actives`` are the activities of its sweeps."""
    for sweep, active in zip(sweeps, actives, strict=True):
        if sweep.custom or not active.goals:
            continue
        seen: set[Storage] = set()
        first: dict[Storage, tuple[Operation, ArrayValue]] = {}
        for position, record in sweep.operations:
            twice = _by_itself(active, position, record)
            if twice is not None and twice[0].storage not in seen:
                seen.add(twice[0].storage)
                yield _fact(trace, sweep, (position, record), (position, record), *twice)
            for array in _stored(record):
                storage = array.storage
                known = first.get(storage)
                if known is None or storage in seen or storage not in active.useful.get(position, ()):
                    continue
                if known[1].view != array.view or duplicates.same(known[0][1], record):
                    continue  # other elements, or a launch that is made twice, which is told as such
                seen.add(storage)
                origins = active.varied[known[0][0]][storage]
                yield _fact(trace, sweep, known[0], (position, record), array, origins)
            for source, target in edges(record):
                varied = active.varied.get(position, {}).get(target.storage)
                if target.storage.retains and varied and source.storage is not target.storage and _whole(record):
                    first.setdefault(target.storage, ((position, record), target))


def _by_itself(active: Activity, position: int, record: Launched | Copied) -> tuple[ArrayValue, Origins] | None:
    """An array that one launch stores to twice, first what it computes from an array with a gradient."""
    if not isinstance(record, Launched) or not record.again:
        return None
    arrays = {access.path[0]: access.array for access in record.accesses if len(access.path) == 1}
    ways = {edge.source.storage: edge.origins for edge in active.edges.get(position, ())}
    for target, source in sorted(record.again):
        array, read = arrays.get(target), arrays.get(source)
        if array is None or read is None or not array.storage.retains:
            continue
        if array.storage in active.useful.get(position, ()) and read.storage in ways:
            return array, ways[read.storage]
    return None


def _stored(record: Launched | Copied) -> list[ArrayValue]:
    """The arrays with retained gradients whose elements an operation surely stores to, thread by thread."""
    if isinstance(record, Copied):
        return [record.target] if record.target.storage.retains and record.whole else []
    if not _whole(record):
        return []
    return [access.array for access in record.accesses if access.writes and access.array.storage.retains]


def _whole(record: Launched | Copied) -> bool:
    """Whether nothing but the thread decides which elements an operation writes."""
    if isinstance(record, Copied):
        return record.whole
    summary = record.summary
    return summary is not None and not any(
        effect.placed for effect in summary.effects if effect.writes or effect.accumulates
    )


def _fact(trace: Trace, sweep: Sweep, first: Operation, second: Operation, array: ArrayValue, origins: Origins) -> Fact:
    storage = array.storage
    labels = (
        Label(storage.site, f"{name_of(array)} keeps its gradient when it is stored to"),
        *called_from(storage.stack, "called from here"),
        Label(first[1].context.site, f"{launch_name(first[1])} stores to it"),
        Label(second[1].context.site, f"{launch_name(second[1])} stores to it again"),
        Label(sweep.backward.context.site, "the gradient of what was stored last goes into both"),
    )
    attributes = {
        "array": plain_name(array),
        "first": launch_name(first[1]).strip("`"),
        "second": launch_name(second[1]).strip("`"),
    }
    program = programs.gradient(trace, sweep, origins)
    return Fact("retained-gradient", storage.site, attributes, labels, storage.definition, "taped", program)
