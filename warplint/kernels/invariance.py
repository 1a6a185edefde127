"""What stays the same from one iteration of a dynamic loop to the next."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from warplint.kernels.knowledge import Knowledge
from warplint.kernels.losses import EFFECTS
from warplint.kernels.trace import Operation, Trace
from warplint.source.project import Definition


class Invariance:
    """Tells which values of a trace a loop does not change."""

    def __init__(self, trace: Trace, knowledge: Knowledge | None = None) -> None:
        self._trace = trace
        self._knowledge = knowledge
        #: What extracted components are made of, where that is known; the whole composite may change.
        self.parts: Callable[[Operation], tuple[int, ...]] | None = None
        #: The arrays that each loop writes, as far as they were asked for.
        self._writes: dict[int, set[object]] = {}

    def holds(self, index: int, loop: int) -> bool:
        """Whether a value is the same in every iteration; for one in an inner loop: whether all its values are."""
        operation = self._trace.operations[index]
        if not self._trace.inside(operation.frame, loop):
            return True
        if operation.name in ("loop", "exit", "unknown"):
            return False
        if operation.name == "call" and (
            not self._is_pure(operation) or any(self.is_written(loop, array) for array in self._memory(operation))
        ):
            return False
        if operation.name == "induction" and operation.detail == loop:
            return False
        if operation.name == "load" and self.is_written(loop, operation.operands[0]):
            return False
        operands = operation.operands
        if operation.name == "extract" and self.parts is not None:
            operands = self.parts(operation)
        return all(self.holds(operand, loop) for operand in operands)

    def _is_pure(self, operation: Operation) -> bool:
        """Whether an operation is the call of a func that is known to write nothing."""
        if self._knowledge is None or not isinstance(operation.detail, Definition):
            return False
        summary = self._knowledge.summarise(operation.detail)
        return summary is not None and summary.complete and not summary.writes

    def _memory(self, operation: Operation) -> Iterator[int]:
        """The operands that are arrays, or may hold some."""
        for operand in operation.operands:
            if self._trace.operations[operand].type.kind in ("array", "struct", "unknown"):
                yield operand

    def is_written(self, loop: int, array: int) -> bool:
        """Whether a loop may write the array."""
        trace = self._trace
        if loop not in self._writes:
            roots: set[object] = set()
            for operation in trace.operations:
                if operation.name in EFFECTS and trace.inside(operation.frame, loop):
                    roots.add(trace.root(operation.operands[0]))
                elif (
                    operation.name in ("call", "unknown")
                    and trace.inside(operation.frame, loop)
                    and not self._is_pure(operation)
                ):
                    roots.update(trace.root(operand) for operand in self._memory(operation))
            self._writes[loop] = roots
        root, fields = trace.root(array)
        return (root, fields) in self._writes[loop] or (root, ()) in self._writes[loop]
