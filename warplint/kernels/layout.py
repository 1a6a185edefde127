"""Where elements, the components of composites and the members of structs lie."""

from __future__ import annotations

from collections.abc import Callable

from warplint.kernels.trace import Component, Operation, Trace

#: A number that is not known: that of a value, -1 for zero, and a constant added to it.
Limit = tuple[int, int]


def member(trace: Trace, field: Operation) -> int:
    """The value that was assigned to a struct's member, or a struct in which no other member was set since.

    Loops that set other members alone are passed by: they leave this one as it was, in the reverse sweep as well.
    """
    operation = trace.operations[field.operands[0]]
    while True:
        if operation.name == "setfield" and operation.detail == field.detail:
            return operation.operands[1]
        if operation.name in ("setfield", "copy"):
            operation = trace.operations[operation.operands[0]]
            continue
        first = head(trace, operation)
        if first is None or not leaves_alone(trace, first, operation, lambda store: _sets(store, field)):
            return operation.index
        operation = trace.operations[first.operands[0]]


def _sets(store: Operation, field: Operation) -> bool:
    return store.name != "setfield" or store.detail == field.detail


def head(trace: Trace, operation: Operation) -> Operation | None:
    """The head of the dynamic loop that carries the composite which an operation is inside or after that loop."""
    if operation.name not in ("loop", "exit"):
        return None
    found = operation if operation.name == "loop" else trace.operations[operation.operands[0]]
    if found.name != "loop" or found.detail != operation.detail or len(found.operands) < 2:
        return None
    return found


def leaves_alone(trace: Trace, head: Operation, leaving: Operation, touches: Callable[[Operation], bool]) -> bool:
    """Whether none of the stores of a loop ``touches`` the part of a composite that is asked for.

    ``leaving``: the head, or what the composite is after the loop.
    """
    loop = head.detail
    assert isinstance(loop, int)
    seen = {head.index}
    stack = [*head.operands[1:], *(leaving.operands if leaving.name == "exit" else ())]
    while stack:
        operation = trace.operations[stack.pop()]
        if operation.index in seen or not trace.inside(operation.frame, loop):
            continue
        seen.add(operation.index)
        if operation.name in ("insert", "insert_add", "setfield"):
            if touches(operation):
                return False
            stack.append(operation.operands[0])
        elif operation.name == "phi":
            stack.extend(operation.operands[1:])
        elif operation.name in ("copy", "exit", "loop"):
            stack.extend(operation.operands)
        else:
            return False
    return True


def overlap(stored: Component, asked: Component) -> str:
    """``same``: the store certainly covers (part of) the component, ``apart``: certainly not, else ``unknown``."""
    relation = "same"
    for one, other in zip(stored, asked, strict=False):
        if one == other:
            continue
        first, second = bounds(one), bounds(other)
        if first is None or second is None:
            relation = "unknown"
        elif first[1] <= second[0] or second[1] <= first[0]:
            return "apart"
    return relation


def bounds(part: object) -> tuple[int, int] | None:
    """The first position of a part and the one after its last, None if not known."""
    if isinstance(part, int):
        return (part, part + 1)
    if isinstance(part, tuple) and isinstance(part[0], int):
        return (part[0], int(part[1]))
    return None


def flat(component: Component, sizes: tuple[int, ...]) -> list[int] | None:
    """The positions of a component's scalars in row-major order, None if not known."""
    positions = [0]
    for axis, size in enumerate(sizes):
        limits = bounds(component[axis]) if axis < len(component) else (0, size)
        if limits is None:
            return None
        positions = [position * size + at for position in positions for at in range(*limits) if at < size]
    return positions


def ranged(trace: Trace, induction: Operation, offset: int) -> tuple[Limit, Limit] | None:
    """The least number that the variable of a loop takes, and the one after the greatest, moved by ``offset``; None if
    that is not known."""
    frame, operands = induction.detail, induction.operands
    if not isinstance(frame, int) or trace.frames[frame].kind != "for" or not operands:
        return None
    start = integer(trace, operands[0]) if len(operands) > 1 else (-1, 0)
    stop = integer(trace, operands[min(1, len(operands) - 1)])
    step = integer(trace, operands[2]) if len(operands) > 2 else (-1, 1)
    if step[0] != -1 or step[1] == 0:
        return None
    low, high = (start, stop) if step[1] > 0 else ((stop[0], stop[1] + 1), (start[0], start[1] + 1))
    return (low[0], low[1] + offset), (high[0], high[1] + offset)


def integer(trace: Trace, index: int) -> Limit:
    """An integer as the number of a value, -1 for zero, and a constant that is added to it."""
    operation = trace.operations[index]
    if operation.name == "copy" or (
        operation.name == "int" and trace.operations[operation.operands[0]].type.kind == "int"
    ):
        return integer(trace, operation.operands[0])
    if operation.name == "constant" and type(operation.detail) is int:
        return -1, operation.detail
    if operation.name == "neg":
        base, offset = integer(trace, operation.operands[0])
        return (-1, -offset) if base == -1 else (operation.number, 0)
    if operation.name in ("add", "sub") and operation.type.kind == "int":
        left, right = (integer(trace, operand) for operand in operation.operands)
        if right[0] == -1:
            return left[0], left[1] + (right[1] if operation.name == "add" else -right[1])
        if left[0] == -1 and operation.name == "add":
            return right[0], right[1] + left[1]
    return operation.number, 0
