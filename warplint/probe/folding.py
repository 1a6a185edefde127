"""Constants that a plain function of the project computes: the function is read and followed, never called.

Only numbers, texts, truth values, None and tuples of those exist here, and the operations on them are ours. An
environment variable has the value that the code falls back to. What needs anything else is not known.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from warplint.ir import syntax as ir
from warplint.probe import factories
from warplint.records import dataclass
from warplint.source.project import Definition, External, Module, ParameterRef, Project, Scope, Value

#: Functions that read the environment: their second argument is what they return on a machine like any other.
ENVIRONMENT = ("os.getenv", "os.environ.get")

# Followed at most: statements in all, and calls inside calls.
_STEPS = 500
_DEEPEST = 8
_LARGEST = 1 << 64

_UNARY: dict[str, Callable[[Any], Any]] = {
    "-": operator.neg,
    "+": operator.pos,
    "~": operator.invert,
    "not": operator.not_,
}
_BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
    "<<": operator.lshift,
    ">>": operator.rshift,
    "&": operator.and_,
    "|": operator.or_,
    "^": operator.xor,
}
_COMPARED: dict[str, Callable[[Any, Any], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "is": operator.eq,
    "is not": operator.ne,
    "in": lambda one, many: one in many,
    "not in": lambda one, many: one not in many,
}
_CALLED: dict[str, Callable[..., Any]] = {
    "int": int,
    "float": float,
    "bool": bool,
    "str": str,
    "abs": abs,
    "min": min,
    "max": max,
    "round": round,
    "len": len,
}
_TEXT_METHODS = ("lower", "upper", "strip")
_RAISED = (ValueError, TypeError, ArithmeticError, IndexError, KeyError)


@dataclass(frozen=True, slots=True)
class Thing:
    """A function or class of the project, which is itself and nothing else."""

    path: Path
    qualname: str


class Unfolded(Exception):
    """The value is not known without running code of the project."""


class _Returned(Exception):
    def __init__(self, value: Any) -> None:
        super().__init__()
        self.value = value


class Folding:
    """Follows constant expressions of ``project``; one object for one question."""

    def __init__(self, project: Project, unknown: Collection[str] = ()) -> None:
        self._project = project
        self._unknown = frozenset(unknown)
        #: The parameters that were taken to be their defaults.
        self.defaults: dict[str, Any] = {}
        self._steps = 0
        self._depth = 0

    def value(self, expr: ir.Expr, module: Module, scope: Scope, known: Mapping[str, Any] | None = None) -> Any:
        """What ``expr`` is where it stands, with the local variables ``known``. Raises Unfolded."""
        self._step()
        names = known or {}

        def of(part: ir.Expr) -> Any:
            return self.value(part, module, scope, names)

        try:
            if isinstance(expr, ir.Constant):
                return _plain(expr.value)
            if isinstance(expr, ir.Name) and expr.id in names:
                return names[expr.id]
            if isinstance(expr, (ir.Name, ir.Attribute)):
                return self._named(expr, module, scope)
            if isinstance(expr, ir.Unary):
                return _UNARY[expr.operator](of(expr.operand))
            if isinstance(expr, ir.Binary) and expr.operator in _BINARY:
                return _plain(_BINARY[expr.operator](_small(of(expr.left)), _small(of(expr.right))))
            if isinstance(expr, ir.Compare):
                left = of(expr.left)
                for sign, comparator in zip(expr.operators, expr.comparators, strict=True):
                    right = of(comparator)
                    if not _COMPARED[sign](left, right):
                        return False
                    left = right
                return True
            if isinstance(expr, ir.Boolean):
                result = None
                for part in expr.values:
                    result = of(part)
                    if bool(result) != (expr.operator == "and"):
                        break
                return result
            if isinstance(expr, ir.Conditional):
                return of(expr.body) if of(expr.test) else of(expr.orelse)
            if isinstance(expr, (ir.Tuple, ir.List, ir.Set)):
                return tuple(of(part) for part in expr.elements)
            if isinstance(expr, ir.Call):
                return self._call(expr, module, scope, names)
        except RecursionError as error:
            raise Unfolded from error
        raise Unfolded

    def _step(self) -> None:
        self._steps += 1
        if self._steps > _STEPS:
            raise Unfolded

    def _named(self, expr: ir.Name | ir.Attribute, module: Module, scope: Scope) -> Any:
        if isinstance(expr, ir.Name) and expr.id in self._unknown:
            raise Unfolded
        found = self._project.resolve(module, expr, scope)
        if isinstance(found, Value):
            return self.value(found.expr, found.module, found.scope)
        if isinstance(found, Definition):
            return Thing(found.module.path, found.qualname)
        if isinstance(found, External) and found.name in ("True", "False", "None"):
            return {"True": True, "False": False, "None": None}[found.name]
        if isinstance(found, ParameterRef) and found.parameter.default is not None:
            value = self.defaults[found.parameter.name] = self.value(found.parameter.default, module, scope[:-1])
            return value
        raise Unfolded

    def _call(self, call: ir.Call, module: Module, scope: Scope, names: Mapping[str, Any]) -> Any:
        found = self._project.resolve(module, call.func, scope)
        if isinstance(call.func, ir.Attribute) and call.func.attr in _TEXT_METHODS and not call.args:
            owner = self.value(call.func.value, module, scope, names)
            if isinstance(owner, str):
                return getattr(owner, call.func.attr)()
        if any(isinstance(argument, ir.Starred) for argument in call.args):
            raise Unfolded
        if isinstance(found, External):
            if found.name in ENVIRONMENT and not call.keywords:
                return self.value(call.args[1], module, scope, names) if len(call.args) > 1 else None
            if found.name in _CALLED and not call.keywords:
                return _plain(_CALLED[found.name](*(self.value(one, module, scope, names) for one in call.args)))
            raise Unfolded
        if not isinstance(found, Definition) or not isinstance(found.node, ir.FunctionDef) or found.node.decorators:
            raise Unfolded
        bound = factories.bind(call, found.node)
        if bound is None or self._depth >= _DEEPEST:
            raise Unfolded
        given = {name: self.value(expr, module, scope, names) for name, expr in bound.items()}
        for parameter in found.node.parameters:
            if parameter.name not in given:
                if parameter.default is None:
                    raise Unfolded
                given[parameter.name] = self.value(parameter.default, found.module, found.scope)
        self._depth += 1
        try:
            self._block(found.node.body, found, dict(given))
        except _Returned as returned:
            return returned.value
        finally:
            self._depth -= 1
        return None

    def _block(self, body: Sequence[ir.Stmt], function: Definition, names: dict[str, Any]) -> None:
        for statement in body:
            self._statement(statement, function, names)

    def _statement(self, statement: ir.Stmt, function: Definition, names: dict[str, Any]) -> None:
        self._step()

        def of(part: ir.Expr) -> Any:
            return self.value(part, function.module, function.inner_scope, names)

        if isinstance(statement, ir.Return):
            raise _Returned(of(statement.value) if statement.value is not None else None)
        if isinstance(statement, ir.Assign):
            value = of(statement.value)
            for target in statement.targets:
                if not isinstance(target, ir.Name):
                    raise Unfolded
                names[target.id] = value
        elif isinstance(statement, ir.AnnAssign) and isinstance(statement.target, ir.Name) and statement.value:
            names[statement.target.id] = of(statement.value)
        elif isinstance(statement, ir.If):
            self._block(statement.body if of(statement.test) else statement.orelse, function, names)
        elif isinstance(statement, ir.Try) and not statement.final:
            try:
                self._block(statement.body, function, names)
            except _RAISED as error:
                self._handled(error, statement, function, names)
            else:
                self._block(statement.orelse, function, names)
        elif isinstance(statement, ir.Pass) or (
            isinstance(statement, ir.ExprStmt) and isinstance(statement.value, ir.Constant)
        ):
            return
        else:
            raise Unfolded

    def _handled(self, error: Exception, statement: ir.Try, function: Definition, names: dict[str, Any]) -> None:
        for handler in statement.handlers:
            caught = "" if handler.type is None else ir.dotted(handler.type)
            if caught in ("", "Exception", type(error).__name__):
                self._block(handler.body, function, names)
                return
        raise Unfolded


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, (bool, float, str)):
        return value
    if isinstance(value, int) and abs(value) < _LARGEST:
        return value
    raise Unfolded


def _small(value: Any) -> Any:
    """An operand that cannot make a large result out of little code."""
    if isinstance(value, bool) or (isinstance(value, int) and abs(value) < (1 << 20)) or isinstance(value, float):
        return value
    raise Unfolded


def fold(
    project: Project,
    expr: ir.Expr,
    module: Module,
    scope: Scope,
    known: Mapping[str, Any] | None = None,
    unknown: Collection[str] = (),
    defaults: dict[str, Any] | None = None,
) -> Any:
    """The number, text, truth value or None that ``expr`` is.

    ``known`` has closure variables whose values are known, ``unknown`` names such whose values are not (whatever their
    defaults). ``defaults`` gets the parameters that were taken to be their defaults, by name. Raises Unfolded where it
    is not known so.
    """
    folding = Folding(project, unknown)
    try:
        value = folding.value(expr, module, scope, known)
    except _RAISED as error:
        raise Unfolded from error
    if defaults is not None:
        defaults.update(folding.defaults)
    return value
