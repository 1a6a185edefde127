"""The elements of array parameters that a body reads and writes, as far as its parameters say which they are."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from warplint.kernels.losses import EFFECTS
from warplint.kernels.summary import Element
from warplint.kernels.trace import Trace


def elements(trace: Trace, loads: bool) -> Iterator[tuple[int, Element]]:
    """The loads (else the writes) of a body whose indices are parameters, or run over all elements."""
    operations = trace.operations
    positions = {index: position for position, (_, _, index) in enumerate(trace.parameters)}
    for operation in operations:
        if operation.name not in (("load",) if loads else EFFECTS):
            continue
        root, fields = trace.root(operation.operands[0])
        indices: tuple[int, ...] = operation.operands[1:] if loads else operation.operands[1:-1]
        view = operations[operation.operands[0]]
        while view.name in ("view", "copy"):
            indices = view.operands[1:] + indices
            view = operations[view.operands[0]]
        if root not in positions:
            continue
        if all(index in positions for index in indices):
            yield operation.index, Element(positions[root], fields, tuple(positions[index] for index in indices))
        elif loads and len(indices) == 1 and _from_zero(trace, indices[0]):
            yield operation.index, Element(positions[root], fields, None)


def reaches(trace: Trace, load: int, wanted: Collection[int]) -> bool:
    """Whether a value among ``wanted``, those that an adjoint reads, is computed from an element."""
    if not wanted:
        return False
    reached = {load}
    for operation in trace.operations[load + 1 :]:
        if not reached.isdisjoint(operation.operands) and operation.name not in EFFECTS:
            reached.add(operation.index)
    return not reached.isdisjoint(wanted)


def finds(trace: Trace) -> bool:
    """Whether a body compares what it loads with what it stores in the same array: it looks for a value, or adds it."""
    operations = trace.operations
    stored = {
        (trace.root(operation.operands[0]), operations[operation.operands[-1]].number)
        for operation in operations
        if operation.name in ("store", "atomic")
    }
    if not stored:
        return False
    for operation in operations:
        if operation.name == "compare" and operation.detail in ("==", "!="):
            for one, other in (operation.operands, operation.operands[::-1]):
                read = operations[one]
                if read.name in ("load", "atomic") and (
                    (trace.root(read.operands[0]), operations[other].number) in stored
                ):
                    return True
    return False


def _from_zero(trace: Trace, index: int) -> bool:
    """Whether an index is the variable of a loop over ``range(n)``."""
    operation = trace.operations[index]
    if operation.name != "induction" or not isinstance(operation.detail, int) or len(operation.operands) != 1:
        return False
    return trace.frames[operation.detail].kind == "for"
