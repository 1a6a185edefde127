"""Operations that the reverse sweep goes past, and sweeps that start nowhere: the facts ``backward-disabled``,
``launch-not-recorded``, ``utility-not-recorded``, ``loss-not-on-tape`` and ``host-round-trip``."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from warplint.ir.facts import Fact, Label
from warplint.tapes import hostnumbers, hostvalues, programs
from warplint.tapes.active import Activity, Edge, Origins, activity
from warplint.tapes.arrays import size as size_of
from warplint.tapes.recorded import Operation, Sweep, edges, overwritten, unclear, written
from warplint.tapes.stories import called_from, launch_name, name_of, plain_name
from warplint.tapes.trace import (
    BackwardRun,
    Copied,
    Escaped,
    Filled,
    GradientRead,
    GradientZeroed,
    Launched,
    Replayed,
    TapeBegan,
    Trace,
    ViewChanged,
)
from warplint.tapes.values import ArrayValue, Storage


def facts(trace: Trace, sweeps: list[Sweep], actives: list[Activity]) -> Iterator[Fact]:
    """The facts of one trace; ``actives`` are the activities of its sweeps."""
    for sweep, active in zip(sweeps, actives, strict=True):
        if not sweep.custom:
            yield from _over_the_host(trace, sweep, active)
            yield from _as_a_number(trace, sweep, active)
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
            belongs = record.recorded or bool(record.by)
        else:
            continue
        if belongs and record.context.tape == tape:
            operations.append((position, record))
    return replace(sweep, operations=tuple(operations))


def _is_disabled(record: Launched | Copied) -> bool:
    return isinstance(record, Launched) and record.summary is not None and record.summary.backward is False


#: What switches an adjoint off, in words.
_LEVELS = {
    "kernel": "an option of the kernel",
    "module": "an option of its module",
    "config": "`wp.config.enable_backward`",
}


def _gone_past(trace: Trace, sweep: Sweep, whole: Sweep) -> Iterator[Fact]:
    suspects = [(at, record) for at, record in whole.operations if not record.recorded or _is_disabled(record)]
    if not suspects:
        return
    ways = activity(trace, whole, edges).edges
    replays: set[int] = set()
    for position, record in suspects:
        found = ways.get(position, ())
        if not found:
            continue
        if record.by:
            if id(record.context) not in replays:  # one graph may hold many launches
                yield _by_utility(trace, sweep, record, found[0])
            replays.add(id(record.context))
        elif isinstance(record, Launched):
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
    if kind == "backward-disabled" and record.summary is not None:
        attributes["level"] = _LEVELS.get(record.summary.level, record.summary.level)
    program = programs.gradient(trace, sweep, edge.origins)
    return Fact(kind, site, attributes, labels, record.context.definition, "taped", program)


def _by_utility(trace: Trace, sweep: Sweep, record: Launched | Copied, edge: Edge) -> Fact:
    place = record.context
    labels = (
        Label(place.site, f"`{record.by}` writes {name_of(edge.target)} from {name_of(edge.source)}, on no tape"),
        *called_from(place.stack, "called from here"),
        Label(sweep.backward.context.site, "the reverse sweep goes past it"),
    )
    attributes = {
        "function": record.by,
        "source": plain_name(edge.source),
        "target": plain_name(edge.target),
        "input": plain_name(edge.origins[0]),
    }
    program = programs.gradient(trace, sweep, edge.origins)
    return Fact("utility-not-recorded", place.site, attributes, labels, place.definition, "taped", program)


def _off_the_tape(trace: Trace, sweep: Sweep, whole: Sweep) -> Iterator[Fact]:
    """A loss that was computed where the tape did not see it."""
    loss = sweep.backward.loss
    cause = _cannot_start(trace, sweep)
    inputs = _inputs(trace, sweep)
    if cause and inputs:
        place = sweep.backward.context
        told = (Label(place.site, "no gradient starts here"), *called_from(place.stack, "called from here"))
        attributes = {
            "loss": plain_name(loss) if loss is not None else "",
            "input": plain_name(inputs[0]),
            "cause": cause,
        }
        goal = next((target for _, record in reversed(sweep.operations) for _, target in edges(record)), None)
        program = None
        if loss is None and goal is not None:
            program = programs.without_sweep(trace, sweep, inputs, goal, sweep.position)
        yield Fact("loss-not-on-tape", place.site, attributes, told, place.definition, "taped", program)
        return
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
    if not inputs or (computed is None and not _left_alone(trace, sweep, loss)):
        return
    site = sweep.backward.context.site
    labels = (
        Label(site, f"the sweep starts from {name_of(loss)}, which nothing on this tape writes"),
        *called_from(sweep.backward.context.stack, "called from here"),
        Label(computed.context.site, f"{name_of(loss)} is computed here, where the tape does not see it")
        if computed is not None
        else Label(loss.storage.site, f"{name_of(loss)} is made here, and nothing is computed into it"),
    )
    attributes = {
        "loss": plain_name(loss),
        "input": plain_name(inputs[0]),
        "cause": f"nothing on this tape writes `{plain_name(loss)}`",
    }
    goal = next((target for _, record in reversed(sweep.operations) for _, target in edges(record)), None)
    if computed is None and goal is not None:
        program = programs.without_sweep(trace, sweep, inputs, goal, sweep.position)
    else:
        program = programs.gradient(trace, sweep, inputs)
    yield Fact("loss-not-on-tape", site, attributes, labels, sweep.backward.context.definition, "taped", program)


def _left_alone(trace: Trace, sweep: Sweep, loss: ArrayValue) -> bool:
    """Whether an array surely holds, when the sweep starts from it, what it was made with."""
    storage = loss.storage
    return storage.kind == "allocation" and not any(
        isinstance(record, Replayed) or (isinstance(record, (Escaped, ViewChanged)) and record.array.storage is storage)
        for record in trace.records[: sweep.position]
    )


def _cannot_start(trace: Trace, sweep: Sweep) -> str:
    """Why a sweep has nothing to start from, though its tape is as it should be; empty where it has, or may have."""
    loss = sweep.backward.loss
    if sweep.seeds or not sweep.backward.known or not sweep.operations:
        return ""
    if loss is not None:
        known = loss.shape is not None and all(isinstance(extent, int) for extent in loss.shape)
        several = known and size_of(loss) != 1
        return f"`{plain_name(loss)}` has more than one element, and is given no gradients" if several else ""
    targets = {target.storage for _, record in sweep.operations for _, target in edges(record)}
    if not targets or any(target.kind != "allocation" for target in targets):
        return ""  # what came from outside may be seeded outside
    records = trace.records[sweep.operations[0][0] : sweep.position]
    if any(unclear(record, target) for record in records for target in targets):
        return ""
    for record in trace.records[: sweep.position]:
        # The sweep of another tape may have left the gradient that this one goes on with.
        if isinstance(record, BackwardRun) and record.tape != sweep.backward.tape and not _erased(trace, record, sweep):
            return ""
    return "it is given neither a loss nor seeds"


def _erased(trace: Trace, earlier: BackwardRun, sweep: Sweep) -> bool:
    """Whether all gradients that an earlier sweep left are zeroed before ``sweep``."""
    behind = False
    for record in trace.records[: sweep.position]:
        behind = behind or record is earlier
        if behind and isinstance(record, GradientZeroed) and record.tape == earlier.tape:
            return True
    return False


def _inputs(trace: Trace, sweep: Sweep) -> tuple[ArrayValue, ...]:
    """The arrays that the tape reads and whose gradient is looked at after the sweep."""
    read = {source.storage: source for _, record in sweep.operations for source, _ in edges(record)}
    wanted = [
        record.array.storage
        for record in trace.records[sweep.position :]
        if isinstance(record, GradientRead) and record.how != "escape" and record.array.storage in read
    ]
    return tuple(read[storage] for storage in dict.fromkeys(wanted))


def _over_the_host(trace: Trace, sweep: Sweep, active: Activity) -> Iterator[Fact]:
    """Contents of an array on the path that go over the host into another array on the path."""
    if not active.edges:
        return
    behind = list(sweep.operations)
    before: int | None = None
    # The memory that the loss depends on, for every place between two operations.
    for position in range(_opened(trace, sweep), sweep.operations[-1][0]):
        if behind and behind[0][0] == position:
            before = behind.pop(0)[0]
        record = trace.records[position]
        if not isinstance(record, Filled) or record.context.tape != sweep.backward.tape or not record.sources:
            continue
        if not behind or record.array.storage not in _useful_before(active, behind[0]):
            continue
        for source in sorted(record.sources, key=lambda storage: storage.number):
            known = active.varied[before].get(source, ()) if before is not None else ()
            origins = known or _input(trace, sweep, active, source)
            if origins and source is not record.array.storage:
                yield _round_trip(trace, sweep, record, source, origins)
                break


def _as_a_number(trace: Trace, sweep: Sweep, active: Activity) -> Iterator[Fact]:
    """Contents of an array on the path that go over the host into a number that a launch on the path computes with."""
    if not active.edges:
        return
    told: set[tuple[int, str, int]] = set()
    for found in hostnumbers.handed_over(sweep, active.useful):
        source = found.array.storage
        line = (id(found.launch), found.parameter, found.context.site.span.line)
        if line in told:
            continue
        before = [position for position, _ in sweep.operations if position < found.position]
        origins = active.varied[before[-1]].get(source, ()) if before else ()
        if not origins and source in active.wanted:
            origins = _input(trace, sweep, active, source)
        if origins:
            told.add(line)
            yield _by_number(trace, sweep, found, origins)


def _by_number(trace: Trace, sweep: Sweep, found: hostnumbers.HostNumber, origins: Origins) -> Fact:
    place = found.context
    launch, name = launch_name(found.launch), name_of(found.array)
    labels = (
        Label(place.site, f"what {name} holds is read on the host"),
        *called_from(place.stack, "called from here"),
        Label(found.launch.context.site, f"{launch} gets what came of it as `{found.parameter}`, a plain number"),
        Label(sweep.backward.context.site, "the reverse sweep brings no gradient back through a number"),
    )
    attributes = {"array": found.parameter, "source": plain_name(found.array), "input": plain_name(origins[0])}
    program = None
    if hostvalues.holds(trace.records, found.launch, found.parameter):
        program = programs.gradient(trace, sweep, origins, hosted=True)
    return Fact("host-round-trip", place.site, attributes, labels, place.definition, "taped", program)


def _opened(trace: Trace, sweep: Sweep) -> int:
    first = sweep.operations[0][0]
    for position in range(first, -1, -1):
        record = trace.records[position]
        if isinstance(record, TapeBegan) and record.tape == sweep.backward.tape:
            return position
    return first


def _useful_before(active: Activity, operation: Operation) -> set[Storage]:
    position, record = operation
    after = active.useful[position]
    return (set(after) - overwritten(record)) | {
        source.storage for source, target in edges(record) if target.storage in after
    }


def _input(trace: Trace, sweep: Sweep, active: Activity, source: Storage) -> Origins:
    """The array of this memory, if it is an input whose gradient is read and that no operation of the tape writes."""
    if (active.wanted and source not in active.wanted) or any(
        source in written(record) for _, record in sweep.operations
    ):
        return ()
    flags = sweep.backward.flags
    return tuple(
        array for array in trace.arrays if array.storage is source and not array.view and flags.get(id(array)) is True
    )[:1]


def _round_trip(trace: Trace, sweep: Sweep, record: Filled, source: Storage, origins: Origins) -> Fact:
    site = record.context.site
    name = source.name or "an array"
    labels = (
        Label(site, f"{name_of(record.array)} is made here of what `{name}` holds, on the host"),
        *called_from(record.context.stack, "called from here"),
        Label(sweep.backward.context.site, f"the reverse sweep comes to {name_of(record.array)} and stops there"),
    )
    attributes = {"array": plain_name(record.array), "source": name, "input": plain_name(origins[0])}
    direct = programs.contents(record) is not None
    program = None
    if direct or hostvalues.holds_contents(trace.records, record):
        program = programs.gradient(trace, sweep, origins, hosted=not direct)
    return Fact("host-round-trip", site, attributes, labels, record.context.definition, "taped", program)
