"""Context managers: tapes, Warp's scopes, project classes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from warplint.ir.spans import Location
from warplint.records import dataclass
from warplint.tapes import members
from warplint.tapes.values import (
    BoundMethod,
    ContextValue,
    FunctionValue,
    GeneratorContext,
    Instance,
    TapeValue,
    Unknown,
    Value,
)

if TYPE_CHECKING:
    from warplint.tapes.machine import Machine


@dataclass(frozen=True, slots=True)
class Entered:
    """An entered context: what ``as`` binds, and what has to be left."""

    result: Value
    manager: Value


def tape_of(machine: Machine, value: Value) -> TapeValue | None:
    """The tape that a value is; an unknown value that is named like one becomes one."""
    if isinstance(value, TapeValue):
        return value
    if isinstance(value, Unknown):
        found = value.children.get("tape")
        if isinstance(found, TapeValue):
            return found
        if "tape" in value.hint.lower().rpartition(".")[2]:
            made = machine.recorder.new_tape()
            value.children["tape"] = made
            return made
    return None


def enter(machine: Machine, value: Value, site: Location) -> Entered:
    """``with value``."""
    tape = tape_of(machine, value)
    if tape is not None:
        machine.recorder.begin_tape(tape, site, machine.instances)
        return Entered(tape, tape)
    if isinstance(value, ContextValue):
        return Entered(value.result, None if value.entered is None else value)
    if isinstance(value, Instance):
        found = members.class_member(machine, value.cls, "__enter__")
        if found is not None and isinstance(found[1], FunctionValue):
            return Entered(machine.call(BoundMethod(found[1], value), (), {}, site), value)
        return Entered(value, None)
    if isinstance(value, Unknown):
        return Entered(value.child("enter"), None)
    return Entered(Unknown("context"), None)


def leave(machine: Machine, entered: Entered, site: Location) -> None:
    """The end of the ``with`` block."""
    manager = entered.manager
    if isinstance(manager, TapeValue):
        machine.recorder.end_tape(manager, site)
    elif isinstance(manager, ContextValue):
        while manager.entered:
            inner = manager.entered.pop()
            assert isinstance(inner, Entered)
            leave(machine, inner, site)
    elif isinstance(manager, Instance):
        found = members.class_member(machine, manager.cls, "__exit__")
        if found is not None and isinstance(found[1], FunctionValue):
            machine.call(BoundMethod(found[1], manager), (None, None, None), {}, site)


def call_stack_method(
    machine: Machine, stack: ContextValue, name: str, args: tuple[Value, ...], site: Location
) -> Value:
    """``stack.enter_context(manager)`` and ``stack.close()`` of an ``ExitStack``."""
    if name == "enter_context" and args and stack.entered is not None:
        if isinstance(args[0], GeneratorContext):
            return Unknown("context")  # what comes after its `yield` would have to wait
        entered = enter(machine, args[0], site)
        stack.entered.append(entered)
        return entered.result
    if name == "close":
        leave(machine, Entered(stack, stack), site)
    return Unknown(name)
