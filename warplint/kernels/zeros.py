"""Values that are certainly zero, in the reverse sweep as well: components that a vector began with and nothing stores.

What is multiplied by such a value gets no gradient, nor does what it is divided by. That is right, whatever else has
been lost of them.
"""

from __future__ import annotations

from collections.abc import Iterator

from warplint.kernels.invariance import Invariance
from warplint.kernels.layout import overlap
from warplint.kernels.makeup import Makeup
from warplint.kernels.trace import Component, Insert, Operation, Trace

#: Those that begin with zeros; what is generic may be one of them.
_COMPOSITES = frozenset({"vec", "mat", "generic"})


def zeros(trace: Trace) -> frozenset[int]:
    """The operations that make such values. Numbers that a dynamic loop starts from are none: it changes them."""
    if not any(_begins_empty(trace, operation) for operation in trace.operations):
        return frozenset()
    changed = {operation.operands[0] for operation in trace.operations if operation.name == "loop"}
    makeup = Makeup(trace, Invariance(trace), through=True)
    found: set[int] = set()
    for operation in trace.operations:
        if operation.index not in changed and _is_zero(trace, operation, makeup, found):
            found.add(operation.index)
    return frozenset(found)


def leave_out(trace: Trace) -> None:
    """Makes sums with such a value other names for what they are added to (or taken from)."""
    nothing = zeros(trace)
    if not nothing:
        return
    for operation in trace.operations:
        if operation.name in ("add", "sub") and operation.operands[1] in nothing:
            operation.name, operation.operands = "copy", operation.operands[:1]
        elif operation.name == "add" and operation.operands[0] in nothing:
            operation.name, operation.operands = "copy", operation.operands[1:]


def _begins_empty(trace: Trace, operation: Operation) -> bool:
    return (
        operation.name == "construct"
        and operation.type.kind in _COMPOSITES
        and (not operation.operands or any(_literal(trace.operations[part]) for part in operation.operands))
    )


def _literal(operation: Operation) -> bool:
    return operation.name == "constant" and type(operation.detail) in (int, float) and operation.detail == 0


def _is_zero(trace: Trace, operation: Operation, makeup: Makeup, found: set[int]) -> bool:
    name, operands = operation.name, operation.operands
    if name in ("copy", "float", "neg"):
        return operands[0] in found
    if name == "mul":
        return not found.isdisjoint(operands)
    if name == "div":
        return operands[0] in found
    if name != "extract":
        return _literal(operation)
    component = operation.detail
    return (
        isinstance(component, tuple)
        and trace.operations[operands[0]].type.kind in _COMPOSITES
        and found.issuperset(makeup.of(operation))
        and not _is_stored(trace, operands[0], component)
    )


def _is_stored(trace: Trace, composite: int, component: Component) -> bool:
    """Whether some store may change the component, be it later: the sweep goes through it before it comes here."""
    origins = frozenset(_origins(trace, composite))
    return any(
        operation.name in ("insert", "insert_add")
        and isinstance(operation.detail, Insert)
        and overlap(operation.detail.component, component) != "apart"
        and not origins.isdisjoint(_origins(trace, operation.operands[0]))
        for operation in trace.operations
    )


def _origins(trace: Trace, composite: int) -> Iterator[int]:
    """The values that a composite and its components were stored into, back to where they began."""
    seen: set[int] = set()
    stack = [composite]
    while stack:
        operation = trace.operations[stack.pop()]
        if operation.index in seen:
            continue
        seen.add(operation.index)
        if operation.name in ("insert", "insert_add", "copy"):
            stack.append(operation.operands[0])
        elif operation.name == "phi":
            stack.extend(operation.operands[1:])
        elif operation.name in ("loop", "exit"):
            stack.extend(operation.operands)
        else:
            yield operation.index
