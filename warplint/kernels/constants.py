"""Values that are fixed before a kernel runs: literals, module and class constants, closure variables of factories."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping
from typing import Any

from warplint.ir import syntax as ir
from warplint.kernels.arithmetic import BINARY
from warplint.source.project import (
    UNKNOWN,
    Definition,
    External,
    Module,
    ParameterRef,
    Project,
    Resolved,
    Scope,
    Value,
)
from warplint.source.regions import Region

#: Values of the parameters of enclosing functions, by name.
Closure = Mapping[str, object]

_UNARY: dict[str, Callable[[Any], Any]] = {
    "-": operator.neg,
    "+": operator.pos,
    "~": operator.invert,
    "not": operator.not_,
}
_COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_NAMED = {
    "math.pi": math.pi,
    "math.e": math.e,
    "math.tau": math.tau,
    "math.inf": math.inf,
    "math.nan": math.nan,
    "numpy.pi": math.pi,
    "numpy.inf": math.inf,
    "warp.pi": math.pi,
    "warp.PI": math.pi,
    "warp.tau": math.tau,
    "warp.TAU": math.tau,
    "warp.e": math.e,
    "warp.inf": math.inf,
    "warp.INF": math.inf,
    "warp.nan": math.nan,
}
_CALLS: dict[str, Callable[..., Any]] = {
    "int": int,
    "float": float,
    "bool": bool,
    "abs": abs,
    "min": min,
    "max": max,
    "round": round,
    "len": len,
    "math.sqrt": math.sqrt,
    "math.ceil": math.ceil,
    "math.floor": math.floor,
    "warp.constant": lambda value: value,
    "warp.int32": int,
    "warp.int64": int,
    "warp.uint32": int,
    "warp.float32": float,
    "warp.float64": float,
    "warp.bool": bool,
}


class Constants:
    """Evaluates expressions outside kernels. Nothing is executed: only arithmetic on known numbers is done."""

    def __init__(self, project: Project) -> None:
        self._project = project

    def evaluate(
        self, module: Module, expr: ir.Expr | None, scope: Scope, closure: Closure | None = None, depth: int = 0
    ) -> object:
        """The value of ``expr`` (a number, bool, string or tuple), UNKNOWN if it is not fixed or not simple."""
        if expr is None or depth > 16:
            return UNKNOWN
        again = depth + 1
        if isinstance(expr, ir.Constant):
            return expr.value
        if isinstance(expr, (ir.Name, ir.Attribute)):
            return self.resolved(self._project.resolve(module, expr, scope), closure, again, module, expr, scope)
        if isinstance(expr, ir.Unary):
            operand = self.evaluate(module, expr.operand, scope, closure, again)
            return _apply(_UNARY.get(expr.operator), operand)
        if isinstance(expr, ir.Binary):
            left = self.evaluate(module, expr.left, scope, closure, again)
            if left is UNKNOWN:
                return UNKNOWN
            return _apply(BINARY.get(expr.operator), left, self.evaluate(module, expr.right, scope, closure, again))
        if isinstance(expr, ir.Compare) and len(expr.operators) == 1:
            left = self.evaluate(module, expr.left, scope, closure, again)
            right = self.evaluate(module, expr.comparators[0], scope, closure, again)
            return _apply(_COMPARE.get(expr.operators[0]), left, right)
        if isinstance(expr, ir.Conditional):
            test = self.evaluate(module, expr.test, scope, closure, again)
            if test is UNKNOWN:
                return UNKNOWN
            return self.evaluate(module, expr.body if test else expr.orelse, scope, closure, again)
        if isinstance(expr, (ir.Tuple, ir.List)):
            items = tuple(self.evaluate(module, item, scope, closure, again) for item in expr.elements)
            return UNKNOWN if UNKNOWN in items else items
        if isinstance(expr, ir.Call) and not expr.keywords:
            name = self._project.external(module, expr.func, scope)
            function = _CALLS.get(name) if name else None
            if function is None:
                return UNKNOWN
            return _apply(function, *(self.evaluate(module, item, scope, closure, again) for item in expr.args))
        return UNKNOWN

    def resolved(
        self,
        found: Resolved,
        closure: Closure | None,
        depth: int,
        module: Module,
        expr: ir.Expr,
        scope: Scope,
    ) -> object:
        """The value of a name that was resolved to ``found``."""
        if isinstance(found, External):
            return _NAMED.get(found.name, UNKNOWN)
        if isinstance(found, Value):
            return self.evaluate(found.module, found.expr, found.scope, closure, depth)
        if isinstance(found, ParameterRef):
            value = (closure or {}).get(found.parameter.name, UNKNOWN)
            return value if value is not UNKNOWN or closure is not None else UNKNOWN
        if found is UNKNOWN and isinstance(expr, ir.Attribute) and expr.attr == "value":
            # ``Mode.FAST.value`` of an enum, ``N.val``: the member itself
            owner = self._project.resolve(module, expr.value, scope)
            if isinstance(owner, Value) and owner.scope and isinstance(owner.scope[-1], ir.ClassDef):
                return self.evaluate(owner.module, owner.expr, owner.scope, closure, depth)
        return UNKNOWN


def _apply(function: Callable[..., Any] | None, *operands: object) -> object:
    if function is None or any(operand is UNKNOWN for operand in operands):
        return UNKNOWN
    try:
        result = function(*operands)
    except Exception:  # arithmetic on literals can fail in any way; the value is then not known
        return UNKNOWN
    if isinstance(result, int) and abs(result) > 1 << 64:
        return UNKNOWN
    return result


class Factories:
    """The values that factories of kernels are called with."""

    def __init__(self, project: Project, constants: Constants) -> None:
        self._project = project
        self._constants = constants
        self._known: dict[tuple[object, str], tuple[dict[str, object], ...]] = {}

    def closures(self, definition: Definition) -> tuple[Closure, ...]:
        """One closure for each different way in which the factory around ``definition`` is called, at most four.

        A parameter whose argument is not known is left out. Without an enclosing function there is one empty closure.
        """
        outer = [node for node in definition.scope if isinstance(node, ir.FunctionDef)]
        if not outer:
            return ({},)
        factory = outer[0]
        position = definition.scope.index(factory)
        found = self._calls(Definition(definition.module, factory, definition.scope[:position]))
        return found or (_defaults(factory, self._constants, definition),)

    def _calls(self, factory: Definition) -> tuple[dict[str, object], ...]:
        key = (factory.module.path, factory.qualname)
        known = self._known.get(key)
        if known is not None:
            return known
        self._known[key] = ()
        assert isinstance(factory.node, ir.FunctionDef)
        names = [parameter.name for parameter in factory.node.parameters]
        if names and names[0] in ("self", "cls"):
            names = names[1:]
        found: list[dict[str, object]] = []
        for module, call, scope in self._project_calls(factory):
            closure = _defaults(factory.node, self._constants, factory)
            for name in names:
                closure.setdefault(name, UNKNOWN)
            for name, argument in zip(names, call.args, strict=False):
                closure[name] = self._constants.evaluate(module, argument, scope)
            for keyword in call.keywords:
                if keyword.name is not None:
                    closure[keyword.name] = self._constants.evaluate(module, keyword.value, scope)
            closure = {name: value for name, value in closure.items() if value is not UNKNOWN}
            if closure not in found:
                found.append(closure)
        result = tuple(found[:4])
        self._known[key] = result
        return result

    def _project_calls(self, factory: Definition) -> list[tuple[Module, ir.Call, Scope]]:
        found: list[tuple[Module, ir.Call, Scope]] = []
        for module, region, lines in mentions(self._project, factory.node.name):
            for statement in module.read(region):
                found.extend(_calls_of(self._project, module, statement, (), factory, lines))
        return found


def mentions(project: Project, name: str) -> list[tuple[Module, Region, list[int]]]:
    """The regions of all modules read so far whose text contains ``name`` directly before a bracket, but for the
    definition of that name, and the lines where it does."""
    return [
        (module, region, lines)
        for module in project.modules_with(name)
        for region, lines in module.regions_that_call(name)
    ]


def _calls_of(
    project: Project, module: Module, node: ir.Node, scope: Scope, target: Definition, lines: list[int]
) -> list[tuple[Module, ir.Call, Scope]]:
    """The calls of ``target`` in ``node``; ``lines`` are all lines where they can stand."""
    found: list[tuple[Module, ir.Call, Scope]] = []
    span = None if isinstance(node, (ir.FunctionDef, ir.ClassDef)) else getattr(node, "span", None)
    # The span of a definition leaves out its decorators.
    if span is not None and not any(span.line <= line <= span.end_line for line in lines):
        return found
    if isinstance(node, ir.Call):
        callee = node.func
        last = callee.attr if isinstance(callee, ir.Attribute) else callee.id if isinstance(callee, ir.Name) else None
        if last == target.node.name:
            resolved = project.resolve(module, callee, scope)
            if isinstance(resolved, Definition) and resolved.node is target.node:
                found.append((module, node, scope))
    inner = (*scope, node) if isinstance(node, (ir.FunctionDef, ir.ClassDef)) else scope
    for child in ir.children(node):
        found.extend(_calls_of(project, module, child, inner, target, lines))
    return found


def _defaults(factory: ir.FunctionDef, constants: Constants, place: Definition) -> dict[str, object]:
    values: dict[str, object] = {}
    for parameter in factory.parameters:
        if parameter.default is not None:
            value = constants.evaluate(place.module, parameter.default, ())
            if value is not UNKNOWN and value is not None:
                values[parameter.name] = value
    return values
