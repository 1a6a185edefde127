"""Squares about a mean: a sum over ``(x[i] - s / n)``, squared, where a loop before has added up ``s``.

The reverse sweep has another mean, because the sum is lost. Every deviation is then wrong by the same amount, and with
it the gradient of every ``x[i]``; but what goes through the mean is wrong by that amount as well, with the other sign.
The two cancel, as long as both loops run over the same ``n`` elements and every square counts alike.
"""

from __future__ import annotations

from warplint.kernels.activity import Activity
from warplint.kernels.invariance import Invariance
from warplint.kernels.trace import Operation, Trace


def balanced(trace: Trace, active: Activity, invariance: Invariance, reader: int, lost: int) -> bool:
    """Whether ``reader`` squares a deviation from the mean that is made of the sum ``lost``, and sums that up."""
    square = trace.operations[reader]
    if square.name not in ("mul", "dot"):
        return False
    deviation, other = (_itself(trace, operand) for operand in square.operands)
    if deviation.number != other.number or deviation.name != "sub":
        return False
    for term, mean in (deviation.operands, deviation.operands[::-1]):
        count = _divided(trace, _itself(trace, mean), lost)
        loop = trace.operations[reader].frame
        if count is not None and _summed(trace, square.index, loop) is not None:
            first = _plain_sum(trace, active, lost)
            return first is not None and (
                _element(trace, invariance, term, loop, count) is not None
                and _element(trace, invariance, term, loop, count) == _element(trace, invariance, *first, count)
            )
    return False


def _itself(trace: Trace, index: int) -> Operation:
    """The operation that makes a value, other names for it passed over."""
    operation = trace.operations[index]
    while operation.name == "copy":
        operation = trace.operations[operation.operands[0]]
    return operation


def _divided(trace: Trace, mean: Operation, lost: int) -> int | None:
    """The number (of a value) by which the sum is divided, None where ``mean`` is no such quotient."""
    if mean.name == "mul":
        for total, share in (mean.operands, mean.operands[::-1]):
            inverse = _itself(trace, share)
            if _itself(trace, total).index == lost and inverse.name == "div":
                one = _itself(trace, inverse.operands[0])
                return _whole(trace, inverse.operands[1]) if one.detail == 1.0 else None
        return None
    if mean.name != "div" or _itself(trace, mean.operands[0]).index != lost:
        return None
    return _whole(trace, mean.operands[1])


def _whole(trace: Trace, index: int) -> int:
    operation = _itself(trace, index)
    return operation.number if operation.name != "float" else trace.operations[operation.operands[0]].number


def _summed(trace: Trace, term: int, loop: int) -> Operation | None:
    """The head of a value to which a loop adds ``term`` in every iteration, and which nothing else there reads."""
    if trace.frames[loop].kind != "for":
        return None
    users = [operation for operation in trace.operations if term in operation.operands]
    if len(users) != 1 or users[0].name != "add" or users[0].frame != loop:
        return None
    for operand in users[0].operands:
        head = trace.operations[operand]
        if head.name == "loop" and head.detail == loop and head.operands[1:] == (users[0].index,):
            reads = [operation.name for operation in trace.operations if head.index in operation.operands]
            return head if sorted(reads) == ["add", "exit"] else None
    return None


def _plain_sum(trace: Trace, active: Activity, leaving: int) -> tuple[int, int] | None:
    """The term that a loop has added up, and the loop's frame; the sum begins at a number."""
    head = trace.operations[trace.operations[leaving].operands[0]]
    if head.name != "loop" or len(head.operands) != 2 or active.varied[head.operands[0]]:
        return None
    last = trace.operations[head.operands[1]]
    loop = head.detail
    if last.name != "add" or not isinstance(loop, int) or head.index not in last.operands:
        return None
    term = next((operand for operand in last.operands if operand != head.index), None)
    if term is None or _summed(trace, term, loop) is not head:
        return None
    return term, loop


def _element(trace: Trace, invariance: Invariance, term: int, loop: int, count: int) -> object:
    """Which elements a term goes through in a loop over ``range(count)``, None where that cannot be told."""
    load = _itself(trace, term)
    if load.name != "load" or load.frame != loop or invariance.is_written(0, load.operands[0]):
        return None
    parts: list[object] = []
    for operand in load.operands[1:]:
        at = _itself(trace, operand)
        if at.name == "induction" and at.detail == loop:
            if [trace.operations[bound].number for bound in at.operands] != [count]:
                return None
            parts.append("each")
        elif invariance.holds(at.index, loop):
            parts.append(at.number)
        else:
            return None
    return (trace.root(load.operands[0]), tuple(parts)) if "each" in parts else None
