"""Kernels that are made by a call, and what a factory hands to those that it makes.

``wp.kernel(function)`` and ``wp.kernel(enable_backward=False)(function)`` are such calls.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from warplint.ir import syntax as ir
from warplint.ir.spans import Location
from warplint.source.project import Definition
from warplint.tapes.frames import Frame
from warplint.tapes.memo import Memo
from warplint.tapes.values import Builtin, FunctionValue, KernelValue, LambdaValue, Unknown, Value

if TYPE_CHECKING:
    from warplint.tapes.machine import Machine


def make(machine: Machine, args: tuple[Value, ...], keywords: dict[str, Value], site: Location) -> Value:
    """``wp.kernel(...)``: of a function its kernel, without one what makes kernels."""
    given = args[0] if args else keywords.get("f")
    options = {name: value for name, value in keywords.items() if name != "f"}
    if given is None:
        return Builtin("kernel", lambda machine, args, words, site: make(machine, args, {**options, **words}, site))
    if isinstance(given, KernelValue):
        return given
    if not isinstance(given, FunctionValue) or isinstance(given, LambdaValue):
        return Unknown("kernel")
    return _kernel(machine, given, options, site)


def construct(machine: Machine, args: tuple[Value, ...], keywords: dict[str, Value], site: Location) -> Value:
    """``wp.Kernel(func, key=..., module=..., options=...)``, which is what the decorator calls."""
    given = args[0] if args else keywords.get("func")
    options = keywords.get("options")
    if options is not None or len(args) > 3:
        return Unknown("kernel")
    return make(machine, (given,), {}, site) if isinstance(given, FunctionValue) else Unknown("kernel")


def _kernel(machine: Machine, function: FunctionValue, options: dict[str, Value], site: Location) -> Value:
    """The kernel of a function, which from here on is as if it had the decorator."""
    definition = function.definition
    assert isinstance(definition.node, ir.FunctionDef)
    mark = _written(definition, machine)
    backward = options.get("enable_backward")
    if mark is None or isinstance(backward, Unknown) or "**" in options or "module_options" in options:
        return Unknown("kernel")
    node = machine.marked.get(id(definition.node))
    if node is None:
        node = machine.marked[id(definition.node)] = replace(definition.node, decorators=(mark,))
    made = Definition(definition.module, node, definition.scope)
    return KernelValue(made, function.closure, backward if isinstance(backward, bool) else None, made=True)


#: Functions that are given to functions that are given, and so on.
_DEEPEST = 3


def with_given(definition: Definition, closure: Frame | None, depth: int = 0) -> Definition:
    """A kernel or func together with the functions of the project that it calls by names of the factory around it."""
    if closure is None or depth > _DEEPEST:
        return definition
    found = []
    for name in _called(definition.node):
        frame = closure.find(name)
        value = None if frame is None else frame.names[name]
        if isinstance(value, FunctionValue):
            inner = with_given(value.definition, value.closure, depth + 1)
            if inner.given or inner.scope != definition.scope:  # else its name says it
                found.append((name, inner))
    return replace(definition, given=tuple(found)) if found else definition


def _called_names(node: ir.Node) -> tuple[str, ...]:
    """The names that are called in a body, also by ``wp.static(name)(x)``."""
    names: dict[str, None] = {}
    for inner in ir.walk(node):
        if isinstance(inner, ir.Call):
            callee = inner.func
            if isinstance(callee, ir.Call) and len(callee.args) == 1:
                callee = callee.args[0]
            if isinstance(callee, ir.Name):
                names[callee.id] = None
    return tuple(names)


_called = Memo(_called_names)


def _written(definition: Definition, machine: Machine) -> ir.Expr | None:
    """An expression that means ``wp.kernel`` where a function is defined."""
    span = definition.node.name_span
    for name in ("wp", "warp"):
        mark = ir.Attribute(span, ir.Name(span, name), "kernel")
        if machine.project.external(definition.module, mark, definition.scope) == "warp.kernel":
            return mark
    return None
