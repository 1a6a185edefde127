"""Gradients that a sweep leaves behind in arrays between the inputs and the loss, for the next one to go on with.

The adjoint of a store zeroes the gradient of what it stored to; that of an accumulation leaves it. An array that lives
through several tapes, and that each of them only adds to, so carries its gradient from one sweep into the next, even
where the gradients of the parameters are zeroed.
"""

from __future__ import annotations

from warplint.tapes.active import Activity
from warplint.tapes.recorded import Sweep, written
from warplint.tapes.trace import Launched
from warplint.tapes.values import ArrayValue, Storage


def left_behind(
    first: Sweep, second: Sweep, before: Activity, active: Activity, parameter: ArrayValue
) -> list[tuple[ArrayValue, Launched]]:
    """The arrays whose gradient from the first sweep flows on to ``parameter`` in the second, and what adds to each
    on the second tape."""
    ends = first.goals | second.goals | {parameter.storage}
    filled = {edge.target.storage for edges in before.edges.values() for edge in edges}
    found: dict[Storage, tuple[ArrayValue, Launched]] = {}
    for position, record in second.operations:
        for edge in active.edges.get(position, ()):
            target = edge.target
            if target.storage in ends or target.storage in found or target.storage not in filled:
                continue
            if parameter not in edge.origins or target.requires_grad is not True or target.view:
                continue
            if isinstance(record, Launched) and all(_only_adds(sweep, target.storage) for sweep in (first, second)):
                found[target.storage] = (target, record)
    return list(found.values())


def _only_adds(sweep: Sweep, storage: Storage) -> bool:
    """Whether all that a tape does to some memory is adding to it."""
    adds = False
    for _, record in sweep.operations:
        if storage not in written(record):
            continue
        if not isinstance(record, Launched):
            return False
        for access in record.accesses:
            if access.array.storage is storage:
                if access.writes and not access.accumulates:
                    return False
                adds = adds or access.accumulates
    return adds
