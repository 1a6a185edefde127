"""Context managers: tapes, Warp's scopes, project classes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from warplint.ir import syntax as ir
from warplint.ir.spans import Location
from warplint.records import dataclass
from warplint.tapes import members
from warplint.tapes.values import (
    BoundMethod,
    ContextValue,
    FunctionValue,
    GeneratorContext,
    Instance,
    Partial,
    TapeValue,
    Unknown,
    Value,
)

if TYPE_CHECKING:
    from warplint.tapes.machine import Machine


@dataclass(frozen=True, slots=True)
class _Rest:
    """What the function of a context manager still has to do after its ``yield``."""

    manager: GeneratorContext
    body: tuple[ir.Stmt, ...]


@dataclass(frozen=True, slots=True)
class Entered:
    """An entered context: what ``as`` binds, and what has to be left."""

    result: Value
    manager: Value | _Rest


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
        if value.captures:
            machine.recorder.capture_begins()
        return Entered(value.result, value if value.captures or value.entered is not None else None)
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
    if isinstance(manager, _Rest):
        _run(machine, manager.manager, manager.body)
    elif isinstance(manager, TapeValue):
        machine.recorder.end_tape(manager, site)
    elif isinstance(manager, ContextValue) and manager.captures:
        graph = manager.result.child(("attr", "graph")) if isinstance(manager.result, Unknown) else None
        machine.recorder.capture_ends(graph)
    elif isinstance(manager, ContextValue):
        while manager.entered:
            inner = manager.entered.pop()
            assert isinstance(inner, Entered)
            leave(machine, inner, site)
    elif isinstance(manager, Partial):
        machine.call(manager, (), {}, site)
    elif isinstance(manager, Instance):
        found = members.class_member(machine, manager.cls, "__exit__")
        if found is not None and isinstance(found[1], FunctionValue):
            machine.call(BoundMethod(found[1], manager), (None, None, None), {}, site)


def call_stack_method(
    machine: Machine,
    stack: ContextValue,
    name: str,
    args: tuple[Value, ...],
    keywords: dict[str, Value],
    site: Location,
) -> Value:
    """``stack.enter_context(manager)``, ``stack.callback(function)`` and ``stack.close()`` of an ``ExitStack``."""
    if name == "enter_context" and args and stack.entered is not None:
        if isinstance(args[0], GeneratorContext):
            begun = _begin(machine, args[0])
            if begun is None:
                return Unknown("context")
            stack.entered.append(begun)
            return begun.result
        entered = enter(machine, args[0], site)
        stack.entered.append(entered)
        return entered.result
    if name in ("callback", "push") and args and stack.entered is not None:
        stack.entered.append(Entered(None, Partial(args[0], args[1:], keywords)))
        return args[0]
    if name == "pop_all" and stack.entered is not None:
        moved = ContextValue(None, list(stack.entered))
        moved.result = moved
        stack.entered.clear()
        return moved
    if name == "close":
        leave(machine, Entered(stack, stack), site)
    return Unknown(name)


def _begin(machine: Machine, manager: GeneratorContext) -> Entered | None:
    """Run the function of a context manager up to its ``yield``; None where it cannot be run in two parts."""
    node = manager.definition.node
    parts = _parts(node.body)
    if parts is None or not machine.may_enter(manager.definition):
        return None
    before, given, behind = parts
    _run(machine, manager, before)
    result = None if given is None else machine.evaluate(given, manager.frame)
    return Entered(result, _Rest(manager, behind))


def _run(machine: Machine, manager: GeneratorContext, body: tuple[ir.Stmt, ...]) -> None:
    machine.tick()
    machine.covered.add(id(manager.definition.node))
    machine.recorder.enter(manager.definition.qualname, manager.site)
    machine.callers.append((manager.definition, None))
    try:
        machine.execute(body, manager.frame)
    finally:
        machine.callers.pop()
        machine.recorder.leave()


def _parts(body: tuple[ir.Stmt, ...]) -> tuple[tuple[ir.Stmt, ...], ir.Expr | None, tuple[ir.Stmt, ...]] | None:
    """What stands before the only ``yield`` of a body, what it gives, and what is run after it."""
    for place, statement in enumerate(body):
        if isinstance(statement, ir.ExprStmt) and isinstance(statement.value, ir.Opaque):
            if statement.value.kind == "yield":
                values = statement.value.values
                return body[:place], values[0] if values else None, body[place + 1 :]
        elif isinstance(statement, ir.Try):
            inner = _parts(statement.body)
            if inner is not None:
                behind = (*inner[2], *statement.orelse, *statement.final, *body[place + 1 :])
                return (*body[:place], *inner[0]), inner[1], behind
    return None
