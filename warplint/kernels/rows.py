"""Which rows of an array a kernel reads and writes, where its arguments name them (``h[step + 1, i] = h[step, i]``)."""

from __future__ import annotations

from collections.abc import Iterable

from warplint.ir.effects import Path, Row, Rows
from warplint.kernels.trace import Operation, Trace

_READS = frozenset({"load"})
_WRITES = frozenset({"store", "accumulate", "atomic"})
#: What may have an array among its operands without reading or writing an element.
_HARMLESS = frozenset({"parameter", "view", "copy", "field", "load", "store", "accumulate", "atomic", "len", "extent"})


def rows(trace: Trace, needed: Iterable[int]) -> tuple[Rows, ...]:
    """The rows of the array parameters (and of the arrays in them) that the kernel reads and writes.

    ``needed`` are the loads whose values adjoints read: only these count as reads. An array is left out where any of
    its rows is not a number, a parameter, or one with a number added, or where something else is done with it.
    """
    wanted = set(needed)
    reads: dict[Path, set[Row]] = {}
    writes: dict[Path, set[Row]] = {}
    left_out: set[Path] = set()
    several: set[Path] = set()
    for operation in trace.operations:
        for operand in operation.operands:
            if trace.operations[operand].type.kind == "array" and operation.name not in _HARMLESS:
                path = _path(trace, operand)
                if path is not None:
                    left_out.add(path)
        if operation.name not in _READS | _WRITES:
            continue
        path = _path(trace, operation.operands[0])
        if path is None:
            continue
        indices = _indices(trace, operation)
        row = _row(trace, indices[0]) if indices else None
        if len(indices) > 1:
            several.add(path)
        if row is None:
            left_out.add(path)
        elif operation.name in _WRITES:
            writes.setdefault(path, set()).add(row)
        elif operation.index in wanted:
            reads.setdefault(path, set()).add(row)
    return tuple(
        Rows(path, frozenset(reads.get(path, ())), frozenset(writes.get(path, ())), path not in several)
        for path in dict.fromkeys((*reads, *writes))
        if path not in left_out
    )


def own(trace: Trace) -> frozenset[Path]:
    """The arrays in which threads store to the row with their own number (``wp.tid()``, or its first part)."""
    found: set[Path] = set()
    for operation in trace.operations:
        path = _path(trace, operation.operands[0]) if operation.name in _WRITES else None
        indices = _indices(trace, operation) if path is not None else ()
        if path is not None and indices and _is_thread(trace, indices[0]):
            found.add(path)
    return frozenset(found)


def _indices(trace: Trace, operation: Operation) -> tuple[int, ...]:
    """The indices of an access, those of the views that it goes through among them."""
    indices = operation.operands[1:] if operation.name in _READS else operation.operands[1:-1]
    view = trace.operations[operation.operands[0]]
    while view.name in ("view", "copy"):
        indices = view.operands[1:] + indices
        view = trace.operations[view.operands[0]]
    return indices


def _is_thread(trace: Trace, index: int) -> bool:
    operation = trace.operations[index]
    if operation.name == "copy":
        return _is_thread(trace, operation.operands[0])
    return operation.name == "tid" or (operation.name == "induction" and operation.detail == ("tid", 0))


def _path(trace: Trace, index: int) -> Path | None:
    root, fields = trace.root(index)
    operation = trace.operations[root]
    return (str(operation.detail), *fields) if operation.name == "parameter" else None


def _row(trace: Trace, index: int) -> Row | None:
    """A number, a parameter, or one with a number added."""
    operation = trace.operations[index]
    if operation.name == "constant" and type(operation.detail) is int:
        return Row("", operation.detail)
    if operation.name == "copy":
        return _row(trace, operation.operands[0])
    if operation.name == "parameter":
        return Row(str(operation.detail), 0)
    if operation.name in ("add", "sub") and len(operation.operands) == 2:
        left, right = (trace.operations[operand] for operand in operation.operands)
        if operation.name == "add" and left.name == "constant":
            left, right = right, left
        if left.name == "parameter" and right.name == "constant" and type(right.detail) is int:
            return Row(str(left.detail), right.detail if operation.name == "add" else -right.detail)
    return None
