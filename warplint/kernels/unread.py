"""Stores and sums that nothing reads: the element is overwritten before, on the path that is asked about.

No gradient comes to what is stored or added there, so it may read values that are gone.
"""

from __future__ import annotations

from dataclasses import field

from warplint.kernels.elements import Access, Array, Elements
from warplint.kernels.losses import EFFECTS
from warplint.kernels.trace import Operation, Trace, Write
from warplint.records import dataclass


@dataclass(frozen=True)
class Path:
    """What is known of a path through a body: how conditions were decided, and over which ranges (by the numbers of
    their operands) loops have run at least once."""

    conditions: dict[int, bool] = field(default_factory=dict)
    ranges: frozenset[tuple[int, ...]] = frozenset()


class Unread:
    """Answers that question for the stores and sums of one trace."""

    def __init__(self, trace: Trace, elements: Elements) -> None:
        self._trace = trace
        self._elements = elements

    def on(self, path: Path, store: Operation) -> bool:
        """Whether the element is certainly stored again on ``path``, and not read in between.

        ``store`` may also add to the element, if nobody takes what an atomic found there.
        """
        if store.name != "store" and not self._only_adds(store):
            return False
        array, element = self._elements.access(store)
        for later in self._trace.operations[store.index + 1 :]:
            if later.name == "store" and isinstance(later.detail, Write) and not later.detail.partial:
                other, access = self._elements.access(later)
                if other == array and self._covers(access, element, path) and self._runs(later, store, path):
                    return True
            elif self._reads(later, array, element):
                return False
        return False

    def _covers(self, later: Access, element: Access, path: Path) -> bool:
        """Whether a store writes the element, if only in the first iteration of a loop."""
        if len(later.bases) != len(element.bases):
            return False
        for base, offset, known, at in zip(later.bases, later.offsets, element.bases, element.offsets, strict=True):
            if (base, offset) == (known, at):
                continue
            start = self._elements.start(base)
            if start is None or known != -1 or start + offset != at:
                return False
            if self._trace.operations[base].name != "induction" or self._range(base) not in path.ranges:
                return False
        return True

    def _range(self, induction: int) -> tuple[int, ...]:
        operations = self._trace.operations
        return tuple(operations[operand].number for operand in operations[induction].operands)

    def ranges(self, frame: int) -> frozenset[tuple[int, ...]]:
        """The ranges of the ``for`` loops around a frame, which have run where the frame has."""
        loops = set(self._trace.loops(frame))
        return frozenset(
            self._range(operation.index)
            for operation in self._trace.operations
            if operation.name == "induction"
            and operation.detail in loops
            and self._trace.frames[int(str(operation.detail))].kind == "for"
        )

    def _runs(self, later: Operation, store: Operation, path: Path) -> bool:
        """Whether ``later`` certainly runs after ``store``, in the same iteration of the loops around that."""
        frame = later.frame
        while frame != store.frame:
            if frame == 0:
                return False
            around = self._trace.frames[frame]
            if around.kind == "for":
                if not self._goes_over(frame, path):
                    return False
            elif around.condition is None or path.conditions.get(around.condition) != around.arm:
                return False
            frame = around.parent
        return True

    def _goes_over(self, loop: int, path: Path) -> bool:
        """Whether the loop itself goes over one of the ranges of the path."""
        return any(
            operation.name == "induction" and operation.detail == loop and self._range(operation.index) in path.ranges
            for operation in self._trace.operations
        )

    def _reads(self, operation: Operation, array: Array, element: Access) -> bool:
        """Whether an operation may read the element, or leave before it is stored again."""
        if operation.name in ("jump", "return"):
            return True
        if self._only_adds(operation):
            return False  # and what it adds is gone as well
        if operation.name == "load" or operation.name in EFFECTS - {"store"}:
            other, access = self._elements.access(operation)
            return other == array and not self._apart(access, element)
        if operation.name in ("view", "field", "copy", "len", "extent", "store"):
            return False
        return any(self._trace.root(operand) == array for operand in operation.operands)

    def _only_adds(self, operation: Operation) -> bool:
        return operation.name == "accumulate" and not any(
            operation.index in other.operands for other in self._trace.operations[operation.index + 1 :]
        )

    def _apart(self, one: Access, other: Access) -> bool:
        """Whether two elements are certainly not the same."""
        return len(one.bases) == len(other.bases) and any(
            base == known and offset != at
            for base, offset, known, at in zip(one.bases, one.offsets, other.bases, other.offsets, strict=True)
        )
