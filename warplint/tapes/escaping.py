"""Values that go to code which is not known."""

from __future__ import annotations

from typing import TYPE_CHECKING

from warplint.ir.spans import Location
from warplint.tapes.values import (
    ArrayValue,
    BoundMethod,
    DictValue,
    Instance,
    ListValue,
    TensorValue,
    Value,
)

if TYPE_CHECKING:
    from warplint.tapes.machine import Machine


def escape(machine: Machine, args: tuple[Value, ...], keywords: dict[str, Value], callee: str, site: Location) -> None:
    """Values go to code that is not known: what it may do to arrays becomes unknown.

    Such code may switch gradients on, so "no gradient" is no longer known; that it switches them off is not assumed.
    """
    for array in reachable_arrays((*args, *keywords.values())):
        if array.requires_grad is False and array.storage.owner is None:
            array.requires_grad = None
        machine.recorder.escaped(array, callee, site)


def reachable_arrays(values: tuple[Value, ...], limit: int = 400) -> list[ArrayValue]:
    """The arrays that can be reached from some values."""
    found: list[ArrayValue] = []
    seen: set[int] = set()
    stack: list[Value] = list(reversed(values))
    while stack and len(found) < limit:
        value = stack.pop()
        if isinstance(value, ArrayValue):
            if id(value) not in seen:
                seen.add(id(value))
                found.append(value)
            continue
        if isinstance(value, tuple):
            stack.extend(value)
            continue
        if not isinstance(value, (ListValue, DictValue, Instance, TensorValue, BoundMethod)) or id(value) in seen:
            continue
        seen.add(id(value))
        if isinstance(value, ListValue):
            stack.extend(value.items)
        elif isinstance(value, DictValue):
            stack.extend(value.entries.values())
        elif isinstance(value, Instance):
            stack.extend(value.attributes.values())
            if value.contents is not None:
                stack.append(value.contents)
        elif isinstance(value, BoundMethod):
            stack.append(value.receiver)
        else:
            stack.append(value.array)
    return found
