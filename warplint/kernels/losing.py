"""Where values are lost, and what is computed from them: the losses of one trace, spread over its operations.

What the losses are is said in ``warplint.kernels.lost``, which asks who reads them.
"""

from __future__ import annotations

from warplint.kernels import layout, members
from warplint.kernels.elements import Elements
from warplint.kernels.losses import Loss
from warplint.kernels.makeup import Makeup
from warplint.kernels.paths import Paths
from warplint.kernels.steady import Steady
from warplint.kernels.trace import SCRATCH, Insert, Operation, Trace


class Losses:
    """The losses of one trace.

    Args:
        trace: the record of a body.
        elements: which array elements are overwritten in it.
        makeup: what components are made of.
        paths: which comparisons of overwritten elements say the same again.
        forward: the loops whose iterations are reversed in forward order.
        overwrites_handled: whether component stores make a new vector each (``enable_vector_component_overwrites``).
        zeros: the operations that make zero, whatever is lost.
    """

    def __init__(
        self,
        trace: Trace,
        elements: Elements,
        makeup: Makeup,
        paths: Paths,
        forward: frozenset[int],
        overwrites_handled: bool | None,
        zeros: frozenset[int],
    ) -> None:
        self._trace = trace
        self._elements = elements
        self._makeup = makeup
        self._paths = paths
        self._forward = forward
        self._steady = Steady(trace)
        self._overwrites_handled = overwrites_handled
        self._zeros = zeros
        self.all: list[Loss] = []
        count = len(trace.operations)
        #: Bit sets of losses: of a value computed from lost ones, and of the carried variable itself.
        self.stale = [0] * count
        self.direct = [0] * count

    def _loss(self, loss: Loss) -> int:
        self.all.append(loss)
        return 1 << (len(self.all) - 1)

    def spread(self) -> None:
        """Fills ``stale`` and ``direct``."""
        trace = self._trace
        own: dict[int, int] = {}
        overwritten = self._elements.overwritten()
        for operation in trace.operations:
            if operation.name == "loop" and not self.kept(operation):
                own[operation.index] = self._loss(Loss("carried", operation.index))
                self.direct[operation.operands[0]] |= self._loss(Loss("mutated", operation.index))
            elif members.stored(operation):
                own[operation.index] = self._loss(Loss("member", operation.index))
            elif operation.name in ("insert", "insert_add"):
                if self._overwrites_handled is False or operation.name == "insert_add":
                    self.direct[operation.operands[0]] |= self._loss(Loss("mutated", operation.index))
            elif operation.name == "tile_assign" or operation.detail == "in place":
                self.direct[operation.operands[0]] |= self._loss(Loss("mutated", operation.index))
            elif operation.name == "exit" and not self.kept(operation):
                own[operation.index] = self._loss(Loss("result", operation.index))
            elif operation.index in overwritten:
                overwriter, array = overwritten[operation.index]
                own[operation.index] = self._loss(Loss("overwritten", operation.index, overwriter, array))
            elif operation.name == "load" and trace.operations[trace.root(operation.operands[0])[0]].detail == SCRATCH:
                own[operation.index] = self._loss(Loss("scratch", operation.index))
        changed = bool(self.all)
        while changed:
            changed = False
            for operation in trace.operations:
                index = operation.index
                if index in self._zeros:
                    continue
                bits = own.get(index, 0)
                if operation.name == "loop":
                    if operation.detail in self._forward or self.kept(operation):
                        self.direct[index] |= bits
                        bits = 0
                elif operation.name == "exit":
                    if self.kept(operation):
                        bits |= self.stale[operation.operands[0]]
                else:
                    for operand in self.components(operation):
                        bits |= self.stale[operand]
                    if operation.name == "compare" and bits:
                        bits &= ~self._redecided(operation)
                    for operand in operation.operands:
                        if self.direct[operand] and operation.frame:
                            bits |= self._replayed_late(operation, self.direct[operand])
                if bits | self.stale[index] != self.stale[index]:
                    self.stale[index] |= bits
                    changed = True

    def _redecided(self, comparison: Operation) -> int:
        """The losses of elements that a comparison reads and that do not change what it says."""
        found = 0
        for position, loss in enumerate(self.all):
            if loss.overwriter is None or loss.origin not in comparison.operands:
                continue
            if self._paths.decided_again(comparison, loss.origin, self._elements.overwriters(loss.origin)):
                found |= 1 << position
        return found

    def components(self, operation: Operation) -> tuple[int, ...]:
        """The values that an operation is computed from: for an extracted component not the whole composite.

        A loop variable is right whatever the loop's end: that is another defect (``_bounds``).
        """
        if operation.name == "induction" and isinstance(operation.detail, int):
            count = len(operation.operands)
            return operation.operands[0:1] + operation.operands[2:] if count > 1 else ()
        if operation.name == "field":
            return (layout.member(self._trace, operation),)
        if operation.name != "extract":
            return operation.operands
        return self._makeup.of(operation)

    def _replayed_late(self, operation: Operation, bits: int) -> int:
        """The losses among ``bits`` that have happened when the reverse sweep runs the operation's loop again."""
        found = 0
        while bits:
            position = (bits & -bits).bit_length() - 1
            bits &= bits - 1
            loss = self.all[position]
            if loss.kind == "mutated" and operation.index < loss.origin:
                insert, component = self._trace.operations[loss.origin].detail, operation.detail
                if isinstance(insert, Insert) and isinstance(component, tuple):
                    apart = layout.overlap(insert.component, component) != "same"
                    if apart:
                        continue  # it reads another component
                origin = self._trace.operations[loss.origin].frame
                if any(not self._trace.inside(origin, loop) for loop in self._trace.loops(operation.frame)):
                    found |= 1 << position
        return found

    def kept(self, operation: Operation) -> bool:
        """Whether what a loop carries is taken to be there: the loop is perhaps unrolled, or never changes it."""
        return self.kind(operation) == "undecided" or self._steady.keeps(operation)

    def kind(self, operation: Operation) -> str:
        frame = operation.detail
        return self._trace.frames[frame].kind if isinstance(frame, int) else ""
