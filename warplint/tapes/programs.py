"""Programs: a trace cut down to the operations that a finding is about."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace

from warplint.ir import programs as ir
from warplint.ir.spans import Location
from warplint.tapes import hostdata, hostvalues
from warplint.tapes.launches import StructSnapshot
from warplint.tapes.recorded import Sweep, replaced_gradient, touched
from warplint.tapes.trace import (
    Allocated,
    BackwardRun,
    Copied,
    Filled,
    GradientRead,
    GradientSeeded,
    GradientZeroed,
    Launched,
    Record,
    TapeBegan,
    TapeEnded,
    Trace,
)
from warplint.tapes.values import ArrayValue, Storage, Unknown, is_plain

#: A program with more operations than this is not worth a probe.
MAX_OPERATIONS = 400
#: The functions of Warp, besides launches and copies, that a probe calls.
_CALLED = frozenset({"array_sum", "array_inner", "array_scan"})
#: Rows of an array that are filled one by one.
_MAX_ROWS = 32
#: Stands for host data that goes into an input while the program runs.
_STORED = 0.6


def chain(
    trace: Trace, position: int, backward: BackwardRun, origin: ArrayValue, severed: list[ArrayValue], site: Location
) -> ir.TapeProgram | None:
    """The program of one tape up to its backward: from ``origin`` over the ``severed`` arrays to the loss.

    Those that are allocated at ``site`` are flagged. The others get their gradients, so that what the program shows is
    due to this one place.
    """
    if backward.loss is None:
        return None
    kept = _slice(trace.records[: position + 1], {backward.loss.storage}, {backward.tape})
    if kept is None:
        return None
    here = {array.storage.number for array in severed if array.storage.site == site}
    elsewhere = {array.storage.number for array in severed} - here
    operations = [
        replace(operation, requires_grad=True)
        if isinstance(operation, ir.Allocate) and operation.array in elsewhere
        else operation
        for operation in _operations(kept)
    ]
    return ir.TapeProgram(
        operations=(*operations, ir.ReadGradient(backward.context.site, reference(origin))),
        inputs=(origin.storage.number,),
        objective=reference(backward.loss),
        flagged=tuple(sorted(here)),
    )


def windows(
    trace: Trace, last: int, tapes: set[int], losses: set[Storage], parameter: ArrayValue, read: int
) -> ir.TapeProgram | None:
    """The program of several tapes whose gradients add up in ``parameter``."""
    kept = _slice(trace.records[: last + 1], losses, tapes)
    if kept is None:
        return None
    operations = _keeping(_operations(kept), parameter.storage.number)
    site = trace.records[read].context.site
    return ir.TapeProgram(
        operations=(*operations, ir.ReadGradient(site, reference(parameter))),
        inputs=(parameter.storage.number,),
        objective=None,
        flagged=(),
    )


def gradient(
    trace: Trace,
    sweep: Sweep,
    origins: tuple[ArrayValue, ...],
    tapes: frozenset[int] = frozenset(),
    read: int | None = None,
    hosted: bool = False,
) -> ir.TapeProgram | None:
    """The program up to ``sweep``, whose gradient with respect to ``origins`` is read after it (at ``read``).

    ``tapes`` are others whose sweeps belong to the story. ``hosted``: what host code computes on the way does, too.
    """
    if sweep.backward.loss is None and sweep.seeds:
        return _seeded(trace, sweep, origins, tapes, read)
    loss = sweep.backward.loss
    if loss is None or sweep.backward.seeds:
        return None
    wanted = {sweep.backward.tape, *tapes}
    end = sweep.position if read is None else read
    losses = {
        record.loss.storage
        for record in trace.records[:end]
        if isinstance(record, BackwardRun) and record.tape in wanted and record.loss is not None
    }
    read_from = {origin.storage for origin in origins}
    records = trace.records[: end + 1]
    kept = _slice(hostvalues.hosted(records) if hosted else records, losses | {loss.storage}, wanted, read_from)
    if kept is None:
        return None
    site = trace.records[end].context.site
    return ir.TapeProgram(
        operations=(*_operations(kept), *(ir.ReadGradient(site, reference(origin)) for origin in origins)),
        inputs=tuple(dict.fromkeys(origin.storage.number for origin in origins)),
        objective=None,
        flagged=(),
    )


def _seeded(
    trace: Trace, sweep: Sweep, origins: tuple[ArrayValue, ...], tapes: frozenset[int], read: int | None
) -> ir.TapeProgram | None:
    """As ``gradient``, for sweeps that are given gradients: a program gives them ones, whatever they are."""
    end = sweep.position if read is None else read
    wanted = {sweep.backward.tape, *tapes}
    inputs = {origin.storage for origin in origins}
    # What is copied into an input between two sweeps is another place to differentiate at: a program stays at one.
    records = [
        record
        for record in trace.records[: end + 1]
        if not isinstance(record, Copied) or record.recorded or record.target.storage not in inputs
    ]
    kept = _slice(records, sweep.goals, wanted, inputs)
    if kept is None:
        return None
    site = trace.records[end].context.site
    return ir.TapeProgram(
        operations=(
            *_starting_from_ones(kept, sweep),
            *(ir.ReadGradient(site, reference(origin)) for origin in origins),
        ),
        inputs=tuple(dict.fromkeys(origin.storage.number for origin in origins)),
    )


def _starting_from_ones(kept: list[Record], sweep: Sweep) -> list[ir.Operation]:
    """The operations of ``kept``, whose sweeps start from ones in what ``sweep`` is given gradients of."""
    seeds = tuple(reference(seed) for seed in dict.fromkeys(sweep.seeds))
    return [
        replace(operation, loss=None, seeds=seeds) if isinstance(operation, ir.Backward) else operation
        for operation in _operations(kept)
    ]


def segments(trace: Trace, sweeps: list[Sweep], last: Sweep, origins: tuple[ArrayValue, ...]) -> ir.TapeProgram | None:
    """The program up to ``last``, the sweep of the first segment: each of ``sweeps`` before it hands gradients over."""
    chain = [sweep for sweep in sweeps if sweep.position <= last.position]
    goals = chain[0].goals
    if len(goals) != 1 or not origins:
        return None
    tapes = {sweep.backward.tape for sweep in chain}
    given = {
        array.storage
        for sweep in chain
        for array in (*sweep.seeds, *sweep.backward.given)
        if isinstance(array, ArrayValue)
    }
    swept = {storage for sweep in chain for storage in touched(sweep)}
    kept = _slice(trace.records[: last.position + 1], goals | given, tapes, swept)
    if kept is None:
        return None
    found = _operations(kept)
    by_site = {(sweep.backward.tape, sweep.backward.context.site): sweep for sweep in chain}
    operations = [
        _handing(operation, by_site[operation.tape, operation.site], first=operation.tape == chain[0].backward.tape)
        if isinstance(operation, ir.Backward)
        else operation
        for operation in found
    ]
    goal = next(array for array in trace.arrays if array.storage in goals)
    site = last.backward.context.site
    return ir.TapeProgram(
        operations=(*operations, *(ir.ReadGradient(site, reference(origin)) for origin in origins)),
        inputs=tuple(dict.fromkeys(origin.storage.number for origin in origins)),
        objective=reference(goal),
    )


def _handing(operation: ir.Backward, sweep: Sweep, first: bool) -> ir.Backward:
    """A sweep with what it starts from; the first of all starts from ones."""
    record = sweep.backward
    if record.loss is not None and not first:
        return operation
    if record.seeds and not first:
        given = tuple(reference(one) if isinstance(one, ArrayValue) else None for one in record.given)
        return replace(operation, given=given)
    if record.loss is None and not record.seeds and not first:
        return replace(operation, held=True)
    return operation if record.loss is not None else replace(operation, seeds=tuple(map(reference, sweep.seeds)))


def with_and_without(
    trace: Trace, sweep: Sweep, origins: tuple[ArrayValue, ...], extra: Launched, dropped: Collection[int] = ()
) -> ir.TapeProgram | None:
    """The program up to ``sweep``, with all that the launch ``extra`` needs, which is flagged.

    The records at the places ``dropped`` are another matter.
    """
    loss = sweep.backward.loss
    records = [record for place, record in enumerate(trace.records[: sweep.position + 1]) if place not in dropped]
    if loss is None or sweep.backward.seeds or not any(record is extra for record in records):
        return None
    written = {access.array.storage for access in extra.accesses if access.writes or access.accumulates}
    kept = _slice(records, {loss.storage} | written, {sweep.backward.tape}, {origin.storage for origin in origins})
    if kept is None:
        return None
    launches = [record for record in kept if isinstance(record, Launched)]
    site = sweep.backward.context.site
    return ir.TapeProgram(
        operations=(*_operations(kept), *(ir.ReadGradient(site, reference(origin)) for origin in origins)),
        inputs=tuple(dict.fromkeys(origin.storage.number for origin in origins)),
        objective=None,
        flagged=tuple(number for number, record in enumerate(launches) if record is extra),
    )


def reading(trace: Trace, position: int, array: ArrayValue) -> ir.TapeProgram | None:
    """The program up to the launch at ``position``, which reads what ``array`` holds; it is compared on no tape."""
    launch = trace.records[position]
    assert isinstance(launch, Launched)
    stored = [access.array for access in launch.accesses if access.writes or access.accumulates]
    fed = [target for source, target in launch.flows if source.storage is array.storage]
    goal = next((target for target in (*fed, *stored) if target.storage.owner is None), None)
    kept = _slice(trace.records[: position + 1], {goal.storage}, set()) if goal is not None else None
    if kept is None or goal is None:
        return None
    return ir.TapeProgram(tuple(_operations(kept)), (array.storage.number,), reference(goal))


def seeded_with_ones(
    trace: Trace, sweep: Sweep, origins: tuple[ArrayValue, ...], seed: ArrayValue, factor: float, means: int
) -> ir.TapeProgram | None:
    """The program up to ``sweep``, which starts from ones in the gradient of ``seed``, where the program reports
    ``factor`` times the sum of what it holds, or of its mean."""
    kept = _slice(trace.records[: sweep.position + 1], {seed.storage}, {sweep.backward.tape})
    if kept is None:
        return None
    operations = [
        replace(operation, loss=None, seeds=(reference(seed),)) if isinstance(operation, ir.Backward) else operation
        for operation in _operations(kept)
    ]
    site = sweep.backward.context.site
    return ir.TapeProgram(
        operations=(*operations, *(ir.ReadGradient(site, reference(origin)) for origin in origins)),
        inputs=tuple(dict.fromkeys(origin.storage.number for origin in origins)),
        objective=reference(seed),
        factor=factor,
        means=means,
    )


def without_sweep(
    trace: Trace, sweep: Sweep, origins: tuple[ArrayValue, ...], goal: ArrayValue, end: int
) -> ir.TapeProgram | None:
    """The program up to ``end``, where the gradient is read: no sweep of the tape has brought that of ``goal`` yet."""
    tape = sweep.backward.tape
    kept = _slice(trace.records[: end + 1], {goal.storage}, {tape})
    if kept is None:
        return None
    site = trace.records[end].context.site
    operations = _operations(kept)
    opened = sum(isinstance(operation, ir.TapeBegin) for operation in operations)
    if opened > sum(isinstance(operation, ir.TapeEnd) for operation in operations):
        operations.append(ir.TapeEnd(site, tape))
    return ir.TapeProgram(
        operations=(*operations, *(ir.ReadGradient(site, reference(origin)) for origin in origins)),
        inputs=tuple(dict.fromkeys(origin.storage.number for origin in origins)),
        objective=reference(goal),
        flagged=(),
    )


def flagged_late(
    trace: Trace, sweep: Sweep, origins: tuple[ArrayValue, ...], array: ArrayValue
) -> ir.TapeProgram | None:
    """The program up to ``sweep`` where the gradient of ``array`` is made after a struct was given the array."""
    program = gradient(trace, sweep, origins)
    if program is None:
        return None
    operations = [
        replace(operation, requires_grad=False)
        if isinstance(operation, ir.Allocate) and operation.array == array.storage.number
        else operation
        for operation in program.operations
    ]
    return replace(program, operations=tuple(operations))


def overwritten(trace: Trace, sweep: Sweep, storage: Storage, origins: tuple[ArrayValue, ...]) -> ir.TapeProgram | None:
    """The program of one tape up to its ``sweep``, with all that happens to ``storage`` on the way.

    What the host stores after the tape's first operation is not where the program is differentiated. A sweep that is
    given gradients gets ones, whatever they are.
    """
    position, loss = sweep.position, sweep.backward.loss
    goals = sweep.goals if loss is None else {loss.storage}
    kept = _slice(trace.records[: position + 1], goals | {storage}, {sweep.backward.tape})
    if kept is None:
        return None
    late = {id(record) for record in trace.records[sweep.operations[0][0] : position]}
    inputs = {origin.storage for origin in origins}
    for index, record in enumerate(kept):
        if not isinstance(record, Filled) or id(record) not in late or record.array.storage not in inputs:
            continue
        if isinstance(record.value, Unknown) and contents(record) is None:
            kept[index] = replace(record, value=_STORED)
    site = trace.records[position].context.site
    operations = _operations(kept) if loss is not None else _starting_from_ones(kept, sweep)
    return ir.TapeProgram(
        operations=(*operations, *(ir.ReadGradient(site, reference(origin)) for origin in origins)),
        inputs=tuple(dict.fromkeys(origin.storage.number for origin in origins)),
        objective=None if loss is None else reference(loss),
        flagged=(),
    )


def operations(records: list[Record], goals: set[Storage], tapes: set[int]) -> list[ir.Operation] | None:
    """What ``goals`` at the end of ``records`` depend on, as operations, with ``tapes``; None where that is not known
    or too much."""
    kept = _slice(records, goals, tapes)
    return None if kept is None else _operations(kept)


def _slice(
    records: list[Record], goals: set[Storage], tapes: set[int], read: Collection[Storage] = ()
) -> list[Record] | None:
    """The records that what is in ``goals`` at the end depends on, with the allocations and the tapes, and what zeroes
    the gradients of ``read``."""
    needed = set(goals)
    computed = {
        access.array.storage
        for record in records
        if isinstance(record, Launched)
        for access in record.accesses
        if access.writes or access.accumulates
    }
    kept: list[Record] = []
    for record in reversed(records):
        if isinstance(record, Allocated):
            storage = record.array.storage
            if storage in needed:
                kept.append(record)
                if storage.like is not None:
                    needed |= {
                        other.array.storage
                        for other in records
                        if isinstance(other, Allocated) and other.array.storage.number == storage.like
                    }
        elif isinstance(record, Launched):
            if record.adjoint:
                continue
            written = {access.array.storage for access in record.accesses if access.writes or access.accumulates}
            if written & needed:
                kept.append(record)
                needed |= {array.storage for array in _arrays(record.arguments)}
        elif isinstance(record, Copied):
            target = record.target.storage
            if target in needed or (target in read and replaced_gradient(record, target) is not None):
                if record.by and record.by not in _CALLED:
                    return None  # a probe does not call it
                kept.append(record)
                needed.add(record.source.storage)
        elif isinstance(record, Filled):
            if record.array.storage in needed:
                kept.append(record)
                if isinstance(record.value, hostvalues.Hosted):
                    needed |= {array.storage for array in record.value.arrays}
                    continue
                origin = contents(record)
                rows = hostdata.rows_of(record.value) if origin is None else None
                if rows is not None and not _can_fill(record, rows):
                    return None
                if origin is not None:
                    needed.add(origin.storage)
                elif rows is not None:
                    needed |= {row.array.storage for row in rows.values() if isinstance(row, hostdata.RowOf)}
                elif record.sources & computed:
                    return None  # what host code made of these contents is not known
        elif isinstance(record, (TapeBegan, TapeEnded, BackwardRun)):
            if record.tape in tapes:
                kept.append(record)
                if isinstance(record, BackwardRun) and record.loss is not None:
                    needed.add(record.loss.storage)
        elif isinstance(record, GradientZeroed) and (
            record.tape in tapes
            or (record.array is not None and (record.array.storage in needed or record.array.storage in read))
        ):
            kept.append(record)
        if len(kept) > MAX_OPERATIONS:
            return None
    kept.reverse()
    return kept


def contents(record: Filled) -> ArrayValue | None:
    """The array whose contents went over the host into another one, unchanged; such a copy is on no tape."""
    if not isinstance(record.value, Unknown):
        return None
    found = record.value.children.get("contents")
    return found if isinstance(found, ArrayValue) and found.storage.owner is None else None


def _keeping(operations: list[ir.Operation], parameter: int) -> list[ir.Operation]:
    """The operations without those that zero the parameter's gradient: what is summed elsewhere sums up there."""
    found: list[ir.Operation] = []
    others: list[ir.Allocate] = []
    for operation in operations:
        if isinstance(operation, ir.Allocate) and operation.array != parameter and operation.requires_grad is not False:
            others.append(operation)
        if not isinstance(operation, ir.ZeroGradients):
            found.append(operation)
        elif operation.array is None:
            found.extend(ir.ZeroGradients(operation.site, None, ir.ArrayRef(other.array)) for other in others)
        elif operation.array.array != parameter:
            found.append(operation)
    return found


def _arrays(arguments: tuple[object, ...]) -> list[ArrayValue]:
    found: list[ArrayValue] = []
    for argument in arguments:
        if isinstance(argument, ArrayValue):
            found.append(argument)
        elif isinstance(argument, StructSnapshot):
            found.extend(_arrays(tuple(argument.fields.values())))
        elif isinstance(argument, tuple):
            found.extend(_arrays(argument))
        elif isinstance(argument, hostvalues.Hosted):
            found.extend(argument.arrays)
    return found


def reference(array: ArrayValue) -> ir.ArrayRef:
    """An array as a program refers to it."""
    return ir.ArrayRef(array.storage.number, array.view)


def _operations(records: list[Record]) -> list[ir.Operation]:
    found: list[ir.Operation] = []
    identities: dict[int, int] = {}
    for record in records:
        rows = hostdata.rows_of(record.value) if isinstance(record, Filled) and contents(record) is None else None
        if isinstance(record, Filled) and rows is not None:
            found.extend(_fill_rows(record, rows))
            continue
        operation = _operation(record, identities)
        last = found[-1] if found else None
        if isinstance(operation, ir.Compute) and isinstance(last, ir.Compute) and last.site == operation.site:
            found[-1] = replace(last, sources=(*last.sources, *operation.sources))  # one call
        elif operation is not None:
            found.append(operation)
    return found


def _own_rows(record: Filled, rows: Mapping[int | None, hostdata.RowOf | float]) -> int:
    """How many rows of an array get what was in another row of it."""
    own = [
        row for row in rows.values() if isinstance(row, hostdata.RowOf) and row.array.storage is record.array.storage
    ]
    return len(own)


def _can_fill(record: Filled, rows: Mapping[int | None, hostdata.RowOf | float]) -> bool:
    """Whether a program can do the same with copies and fills, one after the other."""
    shape, own = record.array.shape, _own_rows(record, rows)
    return not own or (own == 1 and shape is not None and isinstance(shape[0], int) and shape[0] <= _MAX_ROWS)


def _fill_rows(record: Filled, rows: Mapping[int | None, hostdata.RowOf | float]) -> Iterator[ir.Operation]:
    """Host data that was made row by row; the row None stands for all others.

    A row of the array itself was read before the others got their new contents.
    """
    site, target = record.context.site, reference(record.array)
    rows = dict(rows)
    if _own_rows(record, rows):
        assert record.array.shape is not None and isinstance(record.array.shape[0], int)
        others = rows.pop(None)
        rows |= {index: others for index in range(record.array.shape[0]) if index not in rows}
    for index, row in rows.items():
        place = target if index is None else ir.ArrayRef(target.array, f"{target.view}[{index}]")
        if isinstance(row, hostdata.RowOf):
            source = reference(row.array)
            yield ir.Copy(site, place, ir.ArrayRef(source.array, f"{source.view}[{row.index}]"), recorded=False)
        else:
            yield ir.Fill(site, place, row)


def _operation(record: Record, identities: dict[int, int]) -> ir.Operation | None:
    site = record.context.site
    if isinstance(record, Allocated):
        return _allocate(record)
    if isinstance(record, Launched):
        arguments = tuple(argument(value, identities) for value in record.arguments)
        recorded = record.recorded or record.context.tape is None
        return ir.Launch(site, record.kernel, _shape(record.dim), arguments, recorded)
    if isinstance(record, Copied) and record.by:
        return ir.Compute(site, record.by, reference(record.target), (reference(record.source),))
    if isinstance(record, Copied):
        return ir.Copy(site, reference(record.target), reference(record.source))
    if isinstance(record, Filled):
        origin = contents(record)
        if origin is not None:
            recorded = record.context.tape is None
            return ir.Copy(site, reference(record.array), reference(origin), recorded)
        return ir.Fill(site, reference(record.array), argument(record.value, identities))
    if isinstance(record, TapeBegan):
        return ir.TapeBegin(site, record.tape)
    if isinstance(record, TapeEnded):
        return ir.TapeEnd(site, record.tape)
    if isinstance(record, BackwardRun):
        loss = reference(record.loss) if record.loss is not None else None
        return ir.Backward(site, record.tape, loss, tuple(reference(seed) for seed in record.seeds))
    if isinstance(record, GradientZeroed):
        array = reference(record.array) if record.array is not None else None
        return ir.ZeroGradients(site, record.tape, array)
    if isinstance(record, GradientRead):
        return ir.ReadGradient(site, reference(record.array))
    if isinstance(record, GradientSeeded):
        if not isinstance(record.value, ArrayValue):
            return None
        return ir.Copy(site, ir.ArrayRef(-1 - record.array.storage.number), reference(record.value), recorded=False)
    return None


def _allocate(record: Allocated) -> ir.Allocate:
    array, storage = record.array, record.array.storage
    return ir.Allocate(
        array=storage.number,
        site=storage.site,
        source=storage.source,
        dtype=array.dtype,
        shape=_shape(array.shape),
        requires_grad=array.requires_grad,
        name=storage.name,
        like=storage.like,
        values=storage.values,
        retains=storage.retains,
    )


def _shape(shape: tuple[int | Unknown, ...] | None) -> tuple[int | ir.Unknown, ...] | None:
    if shape is None:
        return None
    return tuple(extent if isinstance(extent, int) else ir.Unknown(extent.hint) for extent in shape)


def argument(value: object, identities: dict[int, int]) -> ir.Argument:
    """A value as a program can hold it."""
    if isinstance(value, hostvalues.Hosted):
        return value.value
    if isinstance(value, ArrayValue):
        if value.storage.owner is not None:
            return ir.Unknown(f"gradient of {value.storage.owner.name}")
        return reference(value)
    if isinstance(value, StructSnapshot):
        identity = identities.setdefault(value.identity, len(identities) + 1)
        fields = {name: argument(inner, identities) for name, inner in value.fields.items()}
        return ir.StructValue(value.struct, fields, identity)
    if isinstance(value, Unknown):
        if value.origin is not None and value.origin[0] == "vector":
            numbers = value.origin[2]
            if isinstance(numbers, tuple) and all(isinstance(number, (int, float)) for number in numbers):
                return numbers
        return ir.Unknown(value.hint)
    if is_plain(value) and not isinstance(value, (bytes, complex)):
        return value  # type: ignore[return-value]
    return ir.Unknown(type(value).__name__)
