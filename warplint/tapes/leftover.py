"""Gradients of states and buffers that the sweep of the next round starts with: the fact ``gradient-not-zeroed``.

A sweep leaves a gradient in what it comes to and no launch stores: in the state that a round begins with, and in
buffers that are added to. Where the tape of the next round writes that memory, its sweep takes what was left for a part
of its own.
"""

from __future__ import annotations

from collections.abc import Iterator

from warplint.ir.facts import Fact, Label
from warplint.tapes import programs
from warplint.tapes.active import Activity, activity
from warplint.tapes.recorded import Sweep, written
from warplint.tapes.repeats import in_one_loop, read_after, zeroed_between
from warplint.tapes.stories import called_from, name_of, plain_name
from warplint.tapes.trace import Copied, Launched, Trace
from warplint.tapes.values import ArrayValue, Storage


def facts(trace: Trace, sweeps: list[Sweep], actives: list[Activity]) -> Iterator[Fact]:
    """The facts of one trace; ``actives`` are the activities of its sweeps."""
    told: set[object] = set()
    for first, second, before, active in zip(sweeps, sweeps[1:], actives, actives[1:], strict=False):
        site = second.backward.context.site
        if site in told or not _are_rounds(first, second):
            continue
        fact = _between(trace, sweeps, (first, second), before, active)
        if fact is not None:
            told.add(site)
            yield fact


def _are_rounds(first: Sweep, second: Sweep) -> bool:
    """Whether two sweeps in a row are those of two rounds, recorded one after the other, with a loss each."""
    if first.custom or second.custom or first.seeds or second.seeds or not first.operations or not second.operations:
        return False
    if first.backward.loss is None or second.backward.loss is None or first.backward.tape == second.backward.tape:
        return False
    return first.backward.context.site == second.backward.context.site and first.position < second.operations[0][0]


def _between(
    trace: Trace, sweeps: list[Sweep], pair: tuple[Sweep, Sweep], before: Activity, active: Activity
) -> Fact | None:
    first, second = pair
    goals = first.goals | second.goals
    left: set[Storage] | None = None
    for edges in active.edges.values():
        for edge in edges:
            state, storage = edge.target, edge.target.storage
            if storage in goals or storage.kind != "allocation" or storage.retains:
                continue
            left = _left(trace, first) if left is None else left
            if storage not in left:
                continue
            if zeroed_between(trace, sweeps, first, second, state) is not False:
                continue
            for parameter in edge.origins:
                read = read_after(trace, second.position, parameter)
                early = read_after(trace, first.position, parameter, second.position)
                if read is None:
                    continue
                if early is None:  # nobody looked at what the first round brought, and the next is one of the same loop
                    if not in_one_loop(first, second):
                        continue
                elif trace.records[read].context.site != trace.records[early].context.site:
                    continue
                known = parameter.storage in {one.storage for one in before.inputs}
                if known and zeroed_between(trace, sweeps, first, second, parameter) is True:
                    return _fact(trace, first, second, state, parameter, read)
    return None


def _left(trace: Trace, sweep: Sweep) -> set[Storage]:
    """The memory that a sweep leaves a gradient in.

    A state that a launch has computed before is left out: a program that goes through its steps in reverse, and records
    each again, means the gradient that the step behind has left.
    """
    edges = [edge for found in activity(trace, sweep, all_inputs=True).edges.values() for edge in found]
    reached = {array.storage for edge in edges for array in (edge.source, edge.target)}
    stored: set[Storage] = set()
    added: set[Storage] = set()
    for _, record in sweep.operations:
        if isinstance(record, Copied):
            stored.add(record.target.storage)
        else:
            stored |= {access.array.storage for access in record.accesses if access.writes}
            added |= {access.array.storage for access in record.accesses if access.accumulates}
    computed = {
        storage
        for record in trace.records[: sweep.operations[0][0]]
        if isinstance(record, (Launched, Copied))
        for storage in written(record)
    }
    return {storage for storage in reached - stored if storage in added or storage not in computed}


def _fact(trace: Trace, first: Sweep, second: Sweep, state: ArrayValue, parameter: ArrayValue, read: int) -> Fact:
    name = name_of(state)
    place = second.backward.context
    labels = (
        Label(place.site, f"the sweep begins with what the one before has left in the gradient of {name}"),
        *called_from(place.stack, "called from here"),
        Label(trace.records[read].context.site, f"the gradient of {name_of(parameter)} is used here after every sweep"),
    )
    loss = second.backward.loss
    attributes = {
        "parameter": plain_name(state),
        "loss": plain_name(loss) if loss is not None else "",
        "used": "carried into",
    }
    program = programs.gradient(trace, second, (parameter,), frozenset({first.backward.tape}), read)
    return Fact("gradient-not-zeroed", place.site, attributes, labels, place.definition, "taped", program)
