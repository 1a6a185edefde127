"""One objective cut into several tapes: the fact ``window-backward``."""

from __future__ import annotations

from collections.abc import Iterator

from warplint.ir.facts import Fact, Label
from warplint.records import dataclass
from warplint.tapes import programs
from warplint.tapes.recorded import Operation, Sweep, edges, overwritten, written
from warplint.tapes.stories import called_from, launch_name, name_of, plain_name
from warplint.tapes.trace import (
    Copied,
    Escaped,
    Filled,
    GradientRead,
    GradientSeeded,
    GradientZeroed,
    Launched,
    ParameterUpdated,
    Trace,
)
from warplint.tapes.values import ArrayValue, Storage


@dataclass(frozen=True, slots=True)
class _Carry:
    """State that the first window leaves behind: written by ``writer`` there, read by ``reader`` in the second."""

    state: ArrayValue
    writer: Operation
    reader: Operation


@dataclass(frozen=True, slots=True)
class _Pair:
    """Two neighbouring windows of one objective."""

    first: Sweep
    second: Sweep
    parameter: ArrayValue
    carry: _Carry


def facts(trace: Trace, sweeps: list[Sweep]) -> Iterator[Fact]:
    """The facts of one trace."""
    chain: list[_Pair] = []
    for first, second in zip(sweeps, sweeps[1:], strict=False):
        pair = _pair(trace, first, second)
        if pair is not None and chain and chain[-1].parameter.storage is not pair.parameter.storage:
            yield from _consumed(trace, chain)
            chain = []
        if pair is None:
            yield from _consumed(trace, chain)
            chain = []
        else:
            chain.append(pair)
    yield from _consumed(trace, chain)


def _pair(trace: Trace, first: Sweep, second: Sweep) -> _Pair | None:
    if first.backward.context.site != second.backward.context.site or not first.operations or not second.operations:
        return None
    if first.position > second.operations[0][0]:
        return None  # the second window was recorded before the first one's sweep: the sweeps run in reverse order
    if first.custom or second.custom or _seeded(trace, first, second):
        return None
    for parameter in _parameters(trace, first, second):
        if _touched(trace, first, second, parameter):
            continue
        carry = _carry(trace, first, second, parameter)
        if carry is not None:
            return _Pair(first, second, parameter, carry)
    return None


def _seeded(trace: Trace, first: Sweep, second: Sweep) -> bool:
    """Whether gradients of anything but the losses were set by hand around the two sweeps."""
    losses = {sweep.backward.loss.storage for sweep in (first, second) if sweep.backward.loss is not None}
    if not losses:
        return True
    return any(seed.storage not in losses for sweep in (first, second) for seed in sweep.seeds) or any(
        isinstance(record, GradientSeeded) and record.array.storage not in losses
        for record in trace.records[first.position : second.position]
    )


def _parameters(trace: Trace, first: Sweep, second: Sweep) -> list[ArrayValue]:
    """The inputs with gradients that both windows read and neither writes."""
    changed = {storage for sweep in (first, second) for _, record in sweep.operations for storage in written(record)}
    candidates = [_inputs(sweep, changed) for sweep in (first, second)]
    found = [array for storage, array in candidates[0].items() if storage in candidates[1]]
    return [array for array in found if array.requires_grad is True]


def _inputs(sweep: Sweep, changed: set[Storage]) -> dict[Storage, ArrayValue]:
    found: dict[Storage, ArrayValue] = {}
    useful = set(sweep.goals)
    for _, record in reversed(sweep.operations):
        sources = [source for source, target in edges(record) if target.storage in useful]
        useful -= overwritten(record)
        for source in sources:
            useful.add(source.storage)
            if source.storage not in changed and source.storage.owner is None:
                found[source.storage] = source
    return found


def _touched(trace: Trace, first: Sweep, second: Sweep, parameter: ArrayValue) -> bool:
    """Whether the parameter or its gradient is used or changed between the two sweeps.

    A gradient that is added to what is kept elsewhere, and zeroed after that, adds up over the windows all the same.
    """
    storage = parameter.storage
    looked = summed = zeroed = False
    for record in trace.records[first.position + 1 : second.position]:
        if isinstance(record, GradientZeroed):
            if _zeroes(record, first, parameter):
                if not summed:
                    return True
                zeroed = True
        elif isinstance(record, GradientRead) and record.how != "escape":
            if record.array.storage is storage:
                looked = True
                summed = summed or (record.how == "sum" and not zeroed)
        elif isinstance(record, (GradientRead, ParameterUpdated, Filled, Escaped)):
            if record.array.storage is storage:
                return True
        elif isinstance(record, (Launched, Copied)) and storage in written(record):
            return True
    return looked and not (summed and zeroed)


#: Memory that holds what the first window computed, and the operation and array that put it there.
_Tainted = dict[Storage, tuple[Operation, ArrayValue]]


def _zeroes(record: GradientZeroed, sweep: Sweep, parameter: ArrayValue) -> bool:
    """Whether a record zeroes the gradient that ``sweep`` left in the parameter."""
    if record.array is not None:
        return record.array.storage is parameter.storage
    return record.tape == sweep.backward.tape


def _carry(trace: Trace, first: Sweep, second: Sweep, parameter: ArrayValue) -> _Carry | None:
    losses = first.goals | second.goals
    start, end = second.operations[0][0], second.position
    # what the first window computed from the parameter
    varied = {parameter.storage}
    tainted: _Tainted = {}
    for operation in first.operations:
        for source, target in edges(operation[1]):
            if source.storage in varied or source.storage in tainted:
                tainted[target.storage] = (operation, target)
    for loss in losses:
        tainted.pop(loss, None)  # a loss that adds up over the windows is no state
    # what of that is still there when the second window begins
    for position in range(first.operations[-1][0] + 1, start):
        _propagate(trace, position, tainted)
    # which of it the second window's loss depends on
    recorded = {position for position, _ in second.operations}
    carried: dict[Storage, _Carry] = {}
    for position in range(start, end):
        record = trace.records[position]
        if position in recorded and isinstance(record, (Launched, Copied)):
            reached: dict[Storage, _Carry] = {}
            for source, target in edges(record):
                writer = tainted.get(source.storage)
                if source.storage in carried:
                    reached.setdefault(target.storage, carried[source.storage])
                elif writer is not None:
                    reached.setdefault(target.storage, _Carry(source, writer[0], (position, record)))
            for storage in _replaced(record) - reached.keys():
                carried.pop(storage, None)
            carried.update(reached)
            for storage in _replaced(record):
                tainted.pop(storage, None)
        else:
            if isinstance(record, Filled) and not record.array.view:
                carried.pop(record.array.storage, None)
            _propagate(trace, position, tainted)
    return next((carried[goal] for goal in second.goals if goal in carried), None)


def _replaced(record: Launched | Copied) -> set[Storage]:
    """The memory whose old contents an operation replaces.

    A plain store may leave some elements alone; that a window depends on these is not assumed.
    """
    kept = {target.storage for source, target in edges(record) if source.storage is target.storage}
    if isinstance(record, Copied):
        return set() if record.target.storage in kept else {record.target.storage}
    return {access.array.storage for access in record.accesses if access.writes and not access.accumulates} - kept


def _propagate(trace: Trace, position: int, tainted: _Tainted) -> None:
    """What one record that is not on the second tape does to what the first window left."""
    record = trace.records[position]
    if isinstance(record, (Launched, Copied)):
        found = {
            target.storage: tainted[source.storage] for source, target in edges(record) if source.storage in tainted
        }
        for storage in _replaced(record):
            tainted.pop(storage, None)
        tainted.update(found)
    elif isinstance(record, Filled):
        came_from = next((tainted[source] for source in record.sources if source in tainted), None)
        if came_from is not None:
            tainted[record.array.storage] = came_from
        elif not record.array.view:
            tainted.pop(record.array.storage, None)
    elif isinstance(record, Escaped):
        tainted.pop(record.array.storage, None)


def _consumed(trace: Trace, chain: list[_Pair]) -> Iterator[Fact]:
    """The fact, if the gradient that adds up over the windows is used after the last of them."""
    if not chain:
        return
    parameter = chain[0].parameter
    last = chain[-1].second
    for position in range(last.position + 1, len(trace.records)):
        record = trace.records[position]
        if isinstance(record, GradientZeroed) and _zeroes(record, last, parameter):
            return
        if isinstance(record, (GradientRead, ParameterUpdated)) and record.array.storage is parameter.storage:
            yield _fact(trace, chain, position)
            return


def _fact(trace: Trace, chain: list[_Pair], consumed: int) -> Fact:
    pair = chain[0]
    backward = pair.second.backward
    carry = pair.carry
    site = backward.context.site
    use = trace.records[consumed].context.site
    state, parameter = name_of(carry.state), name_of(pair.parameter)
    labels = (
        Label(site, "each window has a reverse sweep of its own, which ends where its tape began"),
        *called_from(backward.context.stack, "called for every window"),
        Label(carry.writer[1].context.site, f"{launch_name(carry.writer[1])} writes {state} in one window"),
        Label(carry.reader[1].context.site, f"{launch_name(carry.reader[1])} reads it in the next, on another tape"),
        Label(use, f"the gradient of {parameter}, added up over the windows, is used here"),
    )
    sweeps = [chain[0].first, *(inner.second for inner in chain)]
    attributes = {
        "state": plain_name(carry.state),
        "parameter": plain_name(pair.parameter),
        "windows": len(sweeps),
        "loss": plain_name(backward.loss) if backward.loss is not None else "",
    }
    program = programs.windows(
        trace,
        sweeps[-1].position,
        {sweep.backward.tape for sweep in sweeps},
        {storage for sweep in sweeps for storage in sweep.goals},
        pair.parameter,
        consumed,
    )
    return Fact("window-backward", site, attributes, labels, backward.context.definition, "taped", program)
