"""Components of local vectors, matrices, quaternions and transforms that are stored over a differentiable value.

A component store changes the composite in place, and its adjoint passes on the component's gradient without clearing
it. What the component held before then gets that gradient too.
"""

from __future__ import annotations

from collections.abc import Iterator

from warplint.kernels.activity import Activity
from warplint.kernels.filling import filled
from warplint.kernels.invariance import Invariance
from warplint.kernels.layout import flat, overlap
from warplint.kernels.losses import EFFECTS
from warplint.kernels.trace import Component, Insert, Operation, Trace
from warplint.records import dataclass

#: Operations that use what they are given, though nothing uses them.
_SINKS = EFFECTS | {"return", "call", "tile_store", "tile_atomic_add", "volume_store", "tile_scatter_add"}


@dataclass(frozen=True, slots=True)
class Overwrite:
    """The store (an ``insert``) and the operation that gave the component its differentiable value."""

    store: int
    previous: int


class Components:
    """Finds the overwritten components of one trace."""

    def __init__(self, trace: Trace, active: Activity) -> None:
        self._trace = trace
        self._active = active
        self._invariance = Invariance(trace)

    def find(self) -> Iterator[Overwrite]:
        """All stores over a differentiable component, in order."""
        for operation in self._trace.operations:
            if operation.name != "insert" or not self._active.useful[operation.index]:
                continue
            insert = operation.detail
            assert isinstance(insert, Insert)
            if insert.in_struct:
                continue  # another defect: the right side's gradient is dropped
            previous = self.previous(operation.operands[0], insert.component, operation)
            if previous is not None and self._is_used(operation, insert.component):
                yield Overwrite(operation.index, previous)

    def _is_used(self, store: Operation, component: Component) -> bool:
        """Whether a gradient reaches the component from what comes after its store."""
        holders = {store.index}
        size = 0
        while len(holders) > size:  # once more where loops hand it on
            size = len(holders)
            for operation in self._trace.operations:
                operands = operation.operands
                if not self._active.useful[operation.index] and operation.name not in _SINKS:
                    continue
                if operation.name in ("insert", "insert_add") and operands[0] in holders:
                    if operands[-1] in holders:
                        return True
                    holders.add(operation.index)
                elif operation.name in ("copy", "phi", "loop", "exit") and not holders.isdisjoint(operands):
                    holders.add(operation.index)
                elif operation.name == "extract" and operands[0] in holders:
                    asked = operation.detail
                    if not isinstance(asked, tuple) or overlap(component, asked) != "apart":
                        return True
                elif operation.name != "jump" and operation.index not in holders and not holders.isdisjoint(operands):
                    return True
        return False

    def previous(self, index: int, component: Component, store: Operation) -> int | None:
        """The operation that gave ``component`` of composite ``index`` a differentiable value, None if nothing did."""
        return self._search(index, component, store.frame, set())

    def _search(self, index: int, component: Component, frame: int, seen: set[int]) -> int | None:
        if index in seen or not self._active.varied[index]:
            return None
        seen.add(index)
        operation = self._trace.operations[index]
        name = operation.name
        operands = operation.operands
        if name in ("insert", "insert_add"):
            insert = operation.detail
            assert isinstance(insert, Insert)
            relation = overlap(insert.component, component)
            if relation == "same" and self._active.varied[operands[-1]]:
                return index
            if relation == "same" and name == "insert" and insert.component == component:
                # a constant came last; what was there before still gets its gradient through this store's own defect
                return None
            return self._search(operands[0], component, frame, seen)
        if name == "construct":
            return self._constructed(operation, component, frame, seen)
        if name == "exit":
            store = filled(self._trace, operation, component, self._active.varied)
            if store is not None:
                return store
        if name in ("copy", "exit"):
            return next((hit for o in operands if (hit := self._search(o, component, frame, seen)) is not None), None)
        if name in ("phi", "where", "select"):
            return next(
                (hit for o in operands[1:] if (hit := self._search(o, component, frame, seen)) is not None), None
            )
        if name == "loop":
            return self._carried(operation, component, frame, seen)
        return index

    def _carried(self, operation: Operation, component: Component, frame: int, seen: set[int]) -> int | None:
        before = self._search(operation.operands[0], component, frame, seen)
        if before is not None or len(operation.operands) < 2:
            return before
        loop = operation.detail
        assert isinstance(loop, int)
        if self._trace.frames[loop].kind == "undecided":
            return None
        for part in component:
            if isinstance(part, tuple) and part[0] == "value":
                source = self._trace.operations[int(part[1])]
                if not self._invariance.holds(source.index, loop):
                    return None  # another component in the next iteration
        return self._search(operation.operands[1], component, frame, seen)

    def _constructed(self, operation: Operation, component: Component, frame: int, seen: set[int]) -> int | None:
        parts = operation.operands
        if not parts:
            return None
        sizes = operation.type.shape
        operations = self._trace.operations
        scalars = all(not operations[part].type.is_composite for part in parts)
        total = 1
        for size in sizes:
            total *= size
        if scalars and sizes and len(parts) == total:
            positions = flat(component, sizes)
            if positions is not None:
                return operation.index if any(self._active.varied[parts[at]] for at in positions) else None
            return None  # a component that is chosen at run time
        if operation.type.kind == "transform" and len(parts) == 2:
            first = component[0]
            if first == (0, 3) or (isinstance(first, int) and first < 3):
                return operation.index if self._active.varied[parts[0]] else None
            if first == (3, 7) or (isinstance(first, int) and first >= 3):
                return operation.index if self._active.varied[parts[1]] else None
        if len(parts) == 1 and operations[parts[0]].type.kind == operation.type.kind:
            return self._search(parts[0], component, frame, seen)
        if operation.type.is_value and not all(self._active.varied[part] for part in parts):
            return None  # vectors and matrices have their components at other places
        return operation.index
