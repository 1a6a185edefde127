"""Loops that fill a local composite: a store at their own variable in every iteration, as in ``v[i] = x[i]``.

After such a loop, every component that its variable ran over holds what was stored there.
"""

from __future__ import annotations

from collections.abc import Sequence

from warplint.kernels.layout import Limit, head, integer, ranged
from warplint.kernels.trace import Component, Insert, Operation, Trace

_Stores = list[tuple[Operation, tuple[int, ...]]]


def filled(trace: Trace, leaving: Operation, component: Component, varied: Sequence[int]) -> int | None:
    """The store by which a loop has certainly given a component of a composite a differentiable value, if it runs.

    ``leaving`` is the composite after the loop. None where the loop also stores something else, or does so in branches.
    """
    stores = _stores(trace, leaving, ())
    if stores is None or not all(varied[store.operands[-1]] for store, _ in stores):
        return None
    for store, loops in stores:
        insert = store.detail
        assert isinstance(insert, Insert)
        if _is_diagonal(trace, insert.component):
            continue
        parts = zip(insert.component, component, strict=False)
        if all(_covers(trace, stored, asked, loops) for stored, asked in parts):
            return store.index
    return None


def _stores(trace: Trace, leaving: Operation, loops: tuple[int, ...]) -> _Stores | None:
    """The stores of a loop, the last one first, and the loops around each; None where not all are made in every
    iteration."""
    first = head(trace, leaving)
    if first is None or leaving.name != "exit" or len(leaving.operands) != 1:
        return None
    loop = first.detail
    assert isinstance(loop, int)
    if trace.frames[loop].kind != "for":
        return None
    around = (*loops, loop)
    found: _Stores = []
    operation = trace.operations[first.operands[1]]
    while operation is not first:
        if operation.frame != loop:
            return None
        if operation.name in ("insert", "insert_add"):
            found.append((operation, around))
        elif operation.name == "exit":
            inner, carried = _stores(trace, operation, around), head(trace, operation)
            if inner is None or carried is None:
                return None
            found += inner
            operation = carried
        elif operation.name != "copy":
            return None
        operation = trace.operations[operation.operands[0]]
    return found


def _is_diagonal(trace: Trace, component: Component) -> bool:
    """Whether two indices of a store run together, so that it does not meet all pairs of positions."""
    bases = [integer(trace, int(part[1]))[0] for part in component if isinstance(part, tuple) and part[0] == "value"]
    return len(set(bases)) < len(bases)


def _covers(trace: Trace, stored: object, asked: object, loops: tuple[int, ...]) -> bool:
    """Whether an index runs over a position that is asked for: over all of them, or the first or the last one."""
    if isinstance(stored, int):
        return stored == asked
    run = _run(trace, stored, loops)
    wanted = _positions(trace, asked)
    if run is None or wanted is None:
        return False
    (low, high), (least, most) = run, wanted
    if least[0] == low[0] and most[0] == high[0] and least[1] >= low[1] and most[1] <= high[1]:
        return True
    single = (least[0], least[1] + 1) == most
    return single and (least == low or most == high)


def _run(trace: Trace, part: object, loops: tuple[int, ...]) -> tuple[Limit, Limit] | None:
    """What the variable of one of ``loops`` runs over one by one, a number added; None if the index is none."""
    if not isinstance(part, tuple) or part[0] != "value":
        return None
    base, offset = integer(trace, int(part[1]))
    source = trace.operations[base]
    if base < 0 or source.name != "induction" or source.detail not in loops:
        return None
    if len(source.operands) > 2 and integer(trace, source.operands[2]) not in ((-1, 1), (-1, -1)):
        return None
    return ranged(trace, source, offset)


def _positions(trace: Trace, part: object) -> tuple[Limit, Limit] | None:
    """The least position that an index takes, and the one after the greatest."""
    if isinstance(part, int):
        return (-1, part), (-1, part + 1)
    if not isinstance(part, tuple) or part[0] != "value":
        return None
    base, offset = integer(trace, int(part[1]))
    source = trace.operations[base]
    if base >= 0 and source.name == "induction":
        return ranged(trace, source, offset)
    return (base, offset), (base, offset + 1)
