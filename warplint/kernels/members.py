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
    stored = insert.detail
    assert isinstance(stored, Insert)
    #: The structs that hold the member, and under which name; its values, as far as the component is in them.
    holders: dict[int, object] = {}
    values = {insert.index}
    for _ in range(2):  # the second time round for loops
        for operation in trace.operations[1:]:
            name, operands = operation.name, operation.operands
            value = next((operand for operand in operands if operand in values), None)
            held = next((operand for operand in operands if operand in holders), None)
            if name == "setfield" and operands[1] in (*values, *holders):
                holders[operation.index] = operation.detail
            elif value is not None and name in ("copy", "phi", "loop", "exit"):
                values.add(operation.index)
            elif value is not None and name in ("insert", "insert_add") and operands[-1] != value:
                if not _replaces(operation, stored):
                    values.add(operation.index)
            elif value is not None and name != "jump":
                if active.useful[value] and not _apart(operation, stored):
                    return True
            elif held is None:
                continue
            elif name in ("copy", "phi", "loop", "exit") or (name == "setfield" and operation.detail != holders[held]):
                holders[operation.index] = holders[held]
            elif name == "field":
                if operation.detail == holders[held]:
                    values.add(operation.index)
            elif name not in ("setfield", "jump"):
                return True
    return False


def _replaces(operation: Operation, stored: Insert) -> bool:
    """Whether a store leaves nothing of a component that was stored before."""
    insert = operation.detail
    return operation.name == "insert" and isinstance(insert, Insert) and insert.component == stored.component


def _apart(operation: Operation, stored: Insert) -> bool:
    """Whether an operation takes another component out of the member."""
    return (
        operation.name == "extract"
        and isinstance(operation.detail, tuple)
        and layout.overlap(stored.component, operation.detail) == "apart"
    )
