"""Operations that the reverse sweep goes past, and sweeps that start nowhere: the facts ``backward-disabled``,
``launch-not-recorded`` and ``loss-not-on-tape``."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from warplint.ir.facts import Fact, Label
from warplint.tapes import programs
from warplint.tapes.active import Edge, activity
from warplint.tapes.recorded import Operation, Sweep, edges, written
from warplint.tapes.stories import called_from, launch_name, name_of, plain_name
from warplint.tapes.trace import Copied, Filled, GradientRead, Launched, Trace
from warplint.tapes.values import ArrayValue


def facts(trace: Trace, sweeps: list[Sweep]) -> Iterator[Fact]:
    """The facts of one trace."""
    for sweep in sweeps:
        if not sweep.custom:
            whole = _whole(trace, sweep)
            yield from _gone_past(trace, sweep, whole)
            yield from _off_the_tape(trace, sweep, whole)


def _whole(trace: Trace, sweep: Sweep) -> Sweep:
    """The sweep as it would be if every launch inside the tape was recorded."""
    tape = sweep.backward.tape
    operations: list[Operation] = []
    for position, record in enumerate(trace.records[: sweep.position]):
        if isinstance(record, Launched):
            belongs = not record.adjoint
        elif isinstance(record, Copied):
            belongs = record.recorded
        else:
            continue
        if belongs and record.context.tape == tape:
            operations.append((position, record))
    return replace(sweep, operations=tuple(operations))


def _is_disabled(record: Launched | Copied) -> bool:
    return isinstance(record, Launched) and record.summary is not None and record.summary.backward is False


def _gone_past(trace: Trace, sweep: Sweep, whole: Sweep) -> Iterator[Fact]:
    suspects = [(at, record) for at, record in whole.operations if not record.recorded or _is_disabled(record)]
    if not suspects:
        return
    ways = activity(trace, whole, edges).edges
    for position, record in suspects:
        found = ways.get(position, ())
        if found and isinstance(record, Launched):
            kind = "backward-disabled" if record.recorded else "launch-not-recorded"
            yield _past(trace, sweep, record, found[0], kind)


def _past(trace: Trace, sweep: Sweep, record: Launched, edge: Edge, kind: str) -> Fact:
    site = record.context.site
    kernel = launch_name(record)
    told = "is compiled without an adjoint" if kind == "backward-disabled" else "is launched without being recorded"
    labels = (
        Label(site, f"{kernel}, which writes {name_of(edge.target)} from {name_of(edge.source)}, {told}"),
        *called_from(record.context.stack, "called from here"),
        Label(sweep.backward.context.site, "the reverse sweep goes past it"),
    )
    attributes = {
        "kernel": kernel.strip("`"),
        "source": plain_name(edge.source),
        "target": plain_name(edge.target),
        "input": plain_name(edge.origins[0]),
    }
    program = programs.gradient(trace, sweep, edge.origins)
    return Fact(kind, site, attributes, labels, record.context.definition, "taped", program)


def _off_the_tape(trace: Trace, sweep: Sweep, whole: Sweep) -> Iterator[Fact]:
    """A loss that was computed where the tape did not see it."""
    loss = sweep.backward.loss
    if loss is None or sweep.seeds or not sweep.backward.known or not whole.operations:
        return
    for _, operation in whole.operations:
        if isinstance(operation, Launched) and (operation.summary is None or not operation.summary.complete):
            return
        if loss.storage in written(operation):
            return
    computed: Launched | Copied | Filled | None = None
    for record in trace.records[: sweep.position]:
        if isinstance(record, (Launched, Copied)) and loss.storage in written(record):
            computed = record
        elif isinstance(record, Filled) and record.array.storage is loss.storage:
            computed = record if record.sources else None
    inputs = _inputs(trace, sweep)
    if computed is None or not inputs:
        return
    site = sweep.backward.context.site
    labels = (
        Label(site, f"the sweep starts from {name_of(loss)}, which nothing on this tape writes"),
        *called_from(sweep.backward.context.stack, "called from here"),
        Label(computed.context.site, f"{name_of(loss)} is computed here, where the tape does not see it"),
    )
    attributes = {"loss": plain_name(loss), "input": plain_name(inputs[0])}
    program = programs.gradient(trace, sweep, inputs)
    yield Fact("loss-not-on-tape", site, attributes, labels, sweep.backward.context.definition, "taped", program)


def _inputs(trace: Trace, sweep: Sweep) -> tuple[ArrayValue, ...]:
    """The arrays that the tape reads and whose gradient is looked at after the sweep."""
    read = {source.storage: source for _, record in sweep.operations for source, _ in edges(record)}
    wanted = [
        record.array.storage
        for record in trace.records[sweep.position :]
        if isinstance(record, GradientRead) and record.how != "escape" and record.array.storage in read
    ]
    return tuple(read[storage] for storage in dict.fromkeys(wanted))
