"""Elements that one thread of a launch reads and another one writes, in no order that anything guarantees."""

from __future__ import annotations

from collections.abc import Iterator

from warplint.ir.spans import Span
from warplint.kernels.trace import Operation, Trace, Write
from warplint.records import dataclass

#: What makes an index the same for no two threads, or gives each of them one of its own.
_GUARDS = frozenset({"mod", "bit_and", "rshift"})


@dataclass(frozen=True, slots=True)
class Race:
    """``what``: ``neighbour`` (another thread's element is read) or ``shared`` (the index comes from data)."""

    what: str
    store: Operation
    read: Operation
    target: str
    statement: Span


def races(trace: Trace) -> Iterator[Race]:
    """The races of one kernel that are certain from its indices."""
    operations = trace.operations
    stores = [operation for operation in operations if operation.name == "store" and _is_whole(operation)]
    loads = [operation for operation in operations if operation.name == "load"]
    atomics = {
        trace.root(operation.operands[0]) for operation in operations if operation.name in ("accumulate", "atomic")
    }
    seen: set[Span] = set()
    for store in stores:
        write = store.detail
        assert isinstance(write, Write)
        root = trace.root(store.operands[0])
        if operations[root[0]].name != "parameter" or root in atomics or write.statement in seen:
            continue
        if _is_guarded(trace, store):
            continue
        for load in loads:
            if trace.root(load.operands[0]) != root or operations[store.operands[0]].name == "view":
                continue
            what = _what(trace, store, load)
            if what is not None and not _is_guarded(trace, load):
                seen.add(write.statement)
                yield Race(what, store, load, write.target, write.statement)
                break


def _is_whole(store: Operation) -> bool:
    return isinstance(store.detail, Write) and not store.detail.partial


def _what(trace: Trace, store: Operation, load: Operation) -> str | None:
    written, read = store.operands[1:-1], load.operands[1:]
    if len(written) != len(read):
        return None
    if any(trace.operations[index].type.kind != "int" for index in (*written, *read)):
        return None
    pairs = [(_affine(trace, one), _affine(trace, other)) for one, other in zip(written, read, strict=True)]
    same = [one == other for one, other in pairs]
    if all(same):
        return "shared" if _is_updated_by_data(trace, store, load) else None
    moved = 0
    for (one, other), equal in zip(pairs, same, strict=True):
        if equal:
            continue
        if one is None or other is None or one[0] != other[0] or one[1] != 1:
            return None
        moved += 1
    return "neighbour" if moved else None


def _affine(trace: Trace, index: int) -> tuple[int, int, int] | None:
    """An index as a thread's index (its number), the factor and what is added; None for anything else."""
    operation = trace.operations[index]
    if operation.name == "tid" or (operation.name == "induction" and isinstance(operation.detail, tuple)):
        return operation.number, 1, 0
    if operation.name == "copy":
        return _affine(trace, operation.operands[0])
    if operation.name in ("add", "sub"):
        left, right = (trace.operations[operand] for operand in operation.operands)
        sign = 1 if operation.name == "add" else -1
        if right.name == "constant" and type(right.detail) is int:
            base = _affine(trace, left.index)
            return None if base is None else (base[0], base[1], base[2] + sign * right.detail)
        if left.name == "constant" and type(left.detail) is int and sign == 1:
            base = _affine(trace, right.index)
            return None if base is None else (base[0], base[1], base[2] + left.detail)
    return None


def _is_updated_by_data(trace: Trace, store: Operation, load: Operation) -> bool:
    """``a[idx[i]] = a[idx[i]] + x``: the element at an index that was read is replaced by a sum with itself."""
    written, read = store.operands[1:-1], load.operands[1:]
    operations = trace.operations
    if [operations[one].number for one in written] != [operations[one].number for one in read]:
        return False
    if not any(operations[one].name == "load" for one in written):
        return False
    value = operations[store.operands[-1]]
    return value.name in ("add", "sub") and load.number in [operations[part].number for part in value.operands]


def _is_guarded(trace: Trace, operation: Operation) -> bool:
    """Whether a condition picks out some threads, as the colours of a checkerboard do, or there is a loop around."""
    for frame in trace.around(operation.frame):
        if frame.is_loop:
            return True
        if frame.condition is not None and _mentions(trace, frame.condition):
            return True
    return False


def _mentions(trace: Trace, index: int) -> bool:
    """Whether a condition compares with ``==``, or looks at a part of an index."""
    queue = [index]
    seen: set[int] = set()
    while queue:
        current = queue.pop()
        if current in seen:
            continue
        seen.add(current)
        operation = trace.operations[current]
        if operation.name in _GUARDS or (operation.name == "compare" and operation.detail == "=="):
            return True
        if operation.name in ("load", "call", "unknown"):
            return True
        queue.extend(operation.operands)
    return False
