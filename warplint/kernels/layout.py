"""Where the components of composites lie, and which values a component consists of."""

from __future__ import annotations

from math import prod

from warplint.kernels.trace import Component, Insert, Operation, Trace


def parts(trace: Trace, extract: Operation) -> tuple[int, ...]:
    """The values that an extracted component consists of, as far as that can be told; else the whole composite."""
    component = extract.detail
    index = extract.operands[0]
    found: tuple[int, ...] = ()
    while isinstance(component, tuple):
        operation = trace.operations[index]
        if operation.name in ("insert", "insert_add"):
            insert = operation.detail
            assert isinstance(insert, Insert)
            relation = overlap(insert.component, component)
            if relation == "unknown" or (relation == "same" and insert.component != component):
                break
            if relation == "same":
                found = (*found, operation.operands[-1])
                if operation.name == "insert":
                    return found
        elif operation.name == "construct":
            sizes = operation.type.shape
            positions = flat(component, sizes) if sizes else None
            scalars = not any(trace.operations[part].type.is_composite for part in operation.operands)
            if scalars and positions is not None and len(operation.operands) in (0, prod(sizes)):
                return (*found, *(operation.operands[at] for at in positions if operation.operands))
            break
        elif operation.name == "field":
            held = member(trace, operation)
            if trace.operations[held].type.kind == "struct":
                break
            index = held
            continue
        elif operation.name != "copy":
            break
        index = operation.operands[0]
    return (*found, index)


def member(trace: Trace, field: Operation) -> int:
    """The value that was assigned to a struct's member, or a struct in which no other member was set since."""
    operation = trace.operations[field.operands[0]]
    while operation.name in ("setfield", "copy"):
        if operation.name == "setfield" and operation.detail == field.detail:
            return operation.operands[1]
        operation = trace.operations[operation.operands[0]]
    return operation.index


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
