"""Kernels that are made by a call: ``wp.kernel(function)`` and ``wp.kernel(enable_backward=False)(function)``."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from warplint.ir import syntax as ir
from warplint.ir.spans import Location
from warplint.source.project import Definition
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


def _written(definition: Definition, machine: Machine) -> ir.Expr | None:
    """An expression that means ``wp.kernel`` where a function is defined."""
    span = definition.node.name_span
    for name in ("wp", "warp"):
        mark = ir.Attribute(span, ir.Name(span, name), "kernel")
        if machine.project.external(definition.module, mark, definition.scope) == "warp.kernel":
            return mark
    return None
