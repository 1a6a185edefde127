"""Where a kernel computes something else than Python would from the same text.

``%`` follows C: the remainder has the sign of the left side. (``//`` rounds down, as in Python, for whole numbers and
others.) ``round`` takes halves away from zero. A local that only one arm of a branch sets has some value after the
other one.
"""

from __future__ import annotations

from collections.abc import Iterator

from warplint.ir.spans import Span
from warplint.kernels.knowledge import Knowledge
from warplint.kernels.numeric import Evaluator, Place
from warplint.kernels.ranges import bounds
from warplint.kernels.trace import Operation, Trace
from warplint.records import dataclass

#: What makes a range say less than is known where it is used.
_CHOSEN = frozenset({"phi", "where", "select", "loop", "exit", "call", "unknown"})
_GIVEN = frozenset({"induction", "tid", "load", "parameter"})


@dataclass(frozen=True, slots=True)
class Difference:
    """``what``: ``remainder``, ``rounding`` or ``one-branch``; ``question`` as the probe asks it."""

    span: Span
    what: str
    code: Span
    question: dict[str, str]


def differences(knowledge: Knowledge, trace: Trace) -> Iterator[Difference]:
    """What one body computes otherwise than Python, as far as it certainly does for some values."""
    evaluator = Evaluator(knowledge)
    place = Place(trace)
    for operation in trace.operations:
        if operation.name == "mod" and _may_be_negative(evaluator, place, operation):
            kind = trace.operations[operation.operands[0]].type.kind
            if kind in ("int", "float"):
                question = {"ask": "operator", "operator": "%", "type": "int32" if kind == "int" else "float32"}
                yield Difference(operation.span, "remainder", trace.operations[operation.operands[0]].span, question)
        elif operation.name == "round" and operation.detail == "python":
            question = {"ask": "operator", "operator": "round", "type": "float32"}
            yield Difference(operation.span, "rounding", operation.span, question)
    for span in trace.one_armed:
        yield Difference(span, "one-branch", span, {"ask": "unbound"})


def _may_be_negative(evaluator: Evaluator, place: Place, operation: Operation) -> bool:
    """Whether the left side is negative for some thread, and nothing around it asks first."""
    trace = place.trace
    low, _ = bounds(evaluator, place, operation.operands[0])
    if not -1e9 < low < 0.0:
        return False
    leaves = _leaves(trace, operation.operands[0])
    if leaves is None:
        return False
    for frame in trace.around(operation.frame):
        if frame.condition is None:
            continue
        asked = _leaves(trace, frame.condition)
        # the counter of an unrolled loop is a constant, and a condition may still be about it
        if not leaves or not asked or not leaves.isdisjoint(asked):
            return False
    return True


def _leaves(trace: Trace, index: int) -> frozenset[int] | None:
    """The values that one is computed from, by number; None where it is a choice among several."""
    found: set[int] = set()
    queue = [index]
    seen: set[int] = set()
    while queue:
        current = queue.pop()
        if current in seen:
            continue
        seen.add(current)
        operation = trace.operations[current]
        if operation.name in _CHOSEN:
            return None
        is_leaf = not operation.operands or operation.name in _GIVEN
        if is_leaf and operation.name != "constant":
            found.add(operation.number)
        queue.extend(() if is_leaf else operation.operands)
    return frozenset(found)
