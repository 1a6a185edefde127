"""Numbers that a loop carries for themselves: each depends on the one before, and on nothing else that varies.

The derivative of the last by the first is then a product of numbers, one for each iteration, whose order does not
matter.

And steps that a loop makes until the carried value itself says that it is enough: what follows leaves it as it is.
"""

from __future__ import annotations

from warplint.kernels import activity
from warplint.kernels.activity import Activity
from warplint.kernels.invariance import Invariance
from warplint.kernels.knowledge import Knowledge
from warplint.kernels.losses import EFFECTS
from warplint.kernels.trace import Operation, Trace


def alone(knowledge: Knowledge, trace: Trace, active: Activity, head: Operation) -> bool:
    """Whether the carried value ``head`` is such a number, and only its own next value is computed from it."""
    loop = head.detail
    if head.type.kind != "float" or not isinstance(loop, int) or len(head.operands) < 2:
        return False
    chain = {head.index}
    stack = [head.operands[1]]
    while stack:
        operation = trace.operations[stack.pop()]
        if operation.index in chain or not active.varied[operation.index]:
            continue
        received = activity.receives(knowledge, operation)
        if not trace.inside(operation.frame, loop) or not received or operation.name in ("load", "loop", "exit"):
            return False
        chain.add(operation.index)
        stack.extend(operation.operands[position] for position in received)
    return not any(_takes(knowledge, active, operation, head, chain) for operation in trace.operations)


def _takes(knowledge: Knowledge, active: Activity, operation: Operation, head: Operation, chain: set[int]) -> bool:
    """Whether an operation passes a gradient to the recurrence from elsewhere than its end."""
    operands = operation.operands
    if operation.index in chain:
        return False
    if operation.name in EFFECTS or operation.name == "return":
        return not chain.isdisjoint(operands)
    if operation.name == "exit" and operands == (head.index,):
        return False
    return bool(active.useful[operation.index]) and any(
        operands[position] in chain for position in activity.receives(knowledge, operation)
    )


def step(trace: Trace, invariance: Invariance, head: Operation) -> int:
    """What the carried value ``head`` becomes in an iteration; where it may also stay as it is, what it else becomes.

    That is asked of the carried value and of what the loop does not change. So once it stays, it stays for good: the
    iterations that step come first, in either order.
    """
    following = trace.operations[head.operands[1]]
    while following.name == "copy":
        following = trace.operations[following.operands[0]]
    if following.name in ("phi", "where") and len(following.operands) == 3:
        condition, *arms = following.operands
        if head.index in arms and all(_follows(trace, invariance, at, head) for at in (condition, *arms)):
            return arms[1 - arms.index(head.index)]
    return head.operands[1]


def _follows(trace: Trace, invariance: Invariance, index: int, head: Operation) -> bool:
    """Whether a value changes in a loop only by what the loop carries in ``head``."""
    operation = trace.operations[index]
    loop = head.detail
    if index == head.index or (isinstance(loop, int) and invariance.holds(index, loop)):
        return True
    if operation.name in ("loop", "exit", "induction", "call", "unknown", "load"):
        return False
    return all(_follows(trace, invariance, operand, head) for operand in operation.operands)
