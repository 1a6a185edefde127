"""Early exits: ``break``, ``return`` and ``continue`` in dynamic loops.

The reverse sweep runs the body of a loop forward up to the jump, for each iteration. What it does then is not what the
forward sweep did: ``for`` loops start from the last iteration of the *range*, so that a ``break`` ends the reverse
sweep before it began, or after iterations that never ran. ``while`` loops and loops over queries go forward and stop
where they should, but the iteration that breaks loses the adjoints of what it did before. So does every iteration
that is cut short by ``continue``. After a ``return`` the remaining iterations, and what follows the loop, get
gradients though they never ran.
"""

from __future__ import annotations

from collections.abc import Iterator

from warplint.kernels.activity import Activity
from warplint.kernels.knowledge import Knowledge
from warplint.kernels.losses import EFFECTS, Loss, Lost
from warplint.kernels.trace import Jump, Operation, Trace


class Jumps:
    """Finds the jumps of one trace that cut off adjoints."""

    def __init__(self, knowledge: Knowledge, trace: Trace, active: Activity, forward: frozenset[int]) -> None:
        self._knowledge = knowledge
        self._trace = trace
        self._active = active
        self._forward = forward
        # The operations whose adjoints hand on a gradient from outside of an iteration; None: not looked for yet.
        self._working: list[Operation] | None = None

    def find(self) -> Iterator[Lost]:
        """One for each jump, with an operation whose adjoint is lost or wrongly run."""
        for operation in self._trace.operations:
            if isinstance(operation.detail, Jump):
                victim = self._victim(operation, operation.detail)
                if victim is not None:
                    yield Lost(Loss("cut", operation.index), victim, victim, "exit", operation.span)

    def _victim(self, jump: Operation, detail: Jump) -> int | None:
        trace = self._trace
        frame = trace.frames[detail.loop]
        if frame.kind == "undecided":
            return None
        whole = detail.kind == "return" or (detail.kind == "break" and detail.loop not in self._forward)
        if self._working is None:
            self._working = [operation for operation in trace.operations if self._works(operation)]
        for operation in self._working:
            if trace.inside(operation.frame, detail.loop):
                if not whole and (operation.index > jump.index or trace.exclusive(operation.frame, jump.frame)):
                    continue
            elif detail.kind != "return" or operation.index < jump.index:
                continue
            return operation.index
        return self._carried(jump, detail.loop, whole)

    def _works(self, operation: Operation) -> bool:
        """Whether the operation hands on a gradient that comes from outside of the iteration."""
        active = self._active
        if operation.name in EFFECTS:
            return active.active(operation.operands[-1]) or self._clears(operation)
        if operation.name == "return":
            return any(active.varied[operand] for operand in operation.operands)
        if operation.name == "call":
            summary = self._knowledge.summarise(operation.detail)  # type: ignore[arg-type]
            return summary is not None and any(
                active.varied[operation.operands[position]]
                for position in summary.stored
                if position < len(operation.operands)
            )
        return False

    def _clears(self, operation: Operation) -> bool:
        """Whether a store takes the gradient from what an element held before, which the body reads."""
        array = operation.operands[0]
        return operation.name == "store" and bool(self._active.varied[array]) and self._trace.loads_from(array)

    def _carried(self, jump: Operation, loop: int, whole: bool) -> int | None:
        """A carried value that a gradient reaches from after the iteration, and that the iteration has changed."""
        trace = self._trace
        for operation in trace.operations:
            if operation.name != "loop" or operation.detail != loop or len(operation.operands) < 2:
                continue
            if not (self._active.useful[operation.index] or self._used_after(operation)):
                continue
            half = len(jump.operands) // 2
            pairs = zip(jump.operands[:half], jump.operands[half:], strict=True)
            values = [value for head, value in pairs if head == operation.index]
            if whole:
                values.append(operation.operands[1])
            for value in values:
                if value != operation.index and self._changed(value, operation.index):
                    return value
        return None

    def _changed(self, value: int, head: int) -> bool:
        operation = self._trace.operations[value]
        if not self._active.varied[value]:
            return False
        if operation.name in ("phi", "copy"):
            parts = operation.operands[1:] if operation.name == "phi" else operation.operands
            return any(part != head and self._changed(part, head) for part in parts)
        return True

    def _used_after(self, head: Operation) -> bool:
        return any(
            operation.name == "exit" and head.index in operation.operands and self._active.useful[operation.index]
            for operation in self._trace.operations[head.index :]
        )
