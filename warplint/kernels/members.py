"""Components of vectors that are members of local structs: stores that the reverse sweep leaves out."""

from __future__ import annotations

from warplint.kernels import layout
from warplint.kernels.activity import Activity
from warplint.kernels.trace import Insert, Operation, Trace


def stored(operation: Operation) -> bool:
    """Whether the operation stores a component of a struct's member."""
    return isinstance(operation.detail, Insert) and operation.detail.in_struct


def used(trace: Trace, active: Activity, insert: Operation) -> bool:
    """Whether the member of a struct that a component was stored to is used later, alone or with the struct."""
    operations = trace.operations
    #: The structs that hold the member, and under which name.
    holders: dict[int, object] = {}
    for _ in range(2):  # the second time round for loops
        for operation in operations[1:]:
            operands = operation.operands
            if operation.name == "setfield" and operands[1] in (insert.index, *holders):
                holders[operation.index] = operation.detail
                continue
            held = next((operand for operand in operands if operand in holders), None)
            if held is None:
                continue
            if operation.name in ("copy", "phi", "loop", "exit") or (
                operation.name == "setfield" and operation.detail != holders[held]
            ):
                holders[operation.index] = holders[held]
            elif operation.name == "field":
                if operation.detail == holders[held] and _reads(trace, active, operation, insert):
                    return True
            elif operation.name != "setfield" and operation.name != "jump":
                return True
    return False


def _reads(trace: Trace, active: Activity, member: Operation, insert: Operation) -> bool:
    """Whether anything reads the stored component from a member."""
    stored = insert.detail
    assert isinstance(stored, Insert)
    return bool(active.useful[member.index]) and any(
        member.index in operation.operands
        and not (
            operation.name == "extract"
            and isinstance(operation.detail, tuple)
            and layout.overlap(stored.component, operation.detail) == "apart"
        )
        for operation in trace.operations
    )
