"""Numbers that a dynamic loop carries and leaves as they are: no choice that it makes ever takes another value.

``done = False`` with ``if done:`` around all that would set it, or a bound that nothing reaches: where the number
before the loop is written out, it decides what the loop does, and in the reverse sweep it is still there. What is only
set to itself needs no number.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from math import isclose

from warplint.kernels.trace import Operation, Trace

_COMPARED: dict[str, Callable[[float, float], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}
_COMPUTED: dict[str, Callable[[float, float], float]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
}
_SAME = frozenset({"copy", "float", "int", "bool", "pos"})


class Steady:
    """Tells which values of one trace are numbers, and which loops keep them."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._kept: dict[int, bool] = {}

    def keeps(self, carried: Operation) -> bool:
        """Whether a loop keeps a value that it carries, by the ``loop`` operation or its ``exit``."""
        if carried.name == "exit":
            head, *left = carried.operands  # what it holds where the loop is left early
            carried = self._trace.operations[head]
            if not all(self._is(value, head, {}) for value in left):
                return False
        if carried.name != "loop" or len(carried.operands) != 2:
            return False
        if carried.index not in self._kept:
            self._kept[carried.index] = False  # while it is asked for by what it depends on
            before = self._number(carried.operands[0], {})
            known = {} if before is None else {carried.index: before}
            self._kept[carried.index] = self._is(carried.operands[1], carried.index, known)
        return self._kept[carried.index]

    def _is(self, index: int, head: int, known: dict[int, float]) -> bool:
        """Whether a value is the one that the loop carries in ``head``, which has a ``known`` number."""
        operation = self._trace.operations[index]
        if index == head:
            return True
        if operation.name == "copy":
            return self._is(operation.operands[0], head, known)
        if operation.name in ("where", "phi"):
            decided = self._decided(operation.operands[0], known)
            arms = operation.operands[1:] if decided is None else (operation.operands[1 if decided else 2],)
            return all(self._is(arm, head, known) for arm in arms)
        return False

    def _decided(self, index: int, known: dict[int, float]) -> bool | None:
        """What a condition on numbers says, None where that is not certain."""
        operation = self._trace.operations[index]
        if operation.name == "logic":
            parts = [self._decided(operand, known) for operand in operation.operands]
            if operation.detail == "not":
                return None if parts[0] is None else not parts[0]
            settling = operation.detail == "or"  # one part that says this settles it
            if settling in parts:
                return settling
            return None if None in parts else not settling
        if operation.name != "compare":
            number = self._number(index, known)
            return None if number is None else bool(number)
        left, right = (self._number(operand, known) for operand in operation.operands)
        if left is None or right is None or str(operation.detail) not in _COMPARED:
            return None
        if left != right and isclose(left, right, rel_tol=1e-5, abs_tol=1e-30):
            return None  # they may be equal once rounded
        return _COMPARED[str(operation.detail)](left, right)

    def _number(self, index: int, known: dict[int, float]) -> float | None:
        """The number that a value certainly is; ``known`` are those of some operations."""
        if index in known:
            return known[index]
        operation = self._trace.operations[index]
        if operation.name == "constant":
            return float(operation.detail) if isinstance(operation.detail, (bool, int, float)) else None
        if operation.name in _SAME and len(operation.operands) == 1:
            number = self._number(operation.operands[0], known)
            return float(int(number)) if number is not None and operation.name == "int" else number
        if operation.name in ("exit", "loop"):
            if not self.keeps(operation):
                return None
            head = operation if operation.name == "loop" else self._trace.operations[operation.operands[0]]
            return self._number(head.operands[0], known)
        if operation.name in _COMPUTED and len(operation.operands) == 2:
            left, right = (self._number(operand, known) for operand in operation.operands)
            return None if left is None or right is None else _COMPUTED[operation.name](left, right)
        return None
