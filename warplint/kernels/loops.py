"""Which ``for`` loops Warp unrolls: ``Adjoint.get_unroll_range`` and ``eval_num`` of ``warp/_src/codegen.py``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Union

from warplint.ir import syntax as ir
from warplint.source.bindings import bound_names
from warplint.source.project import UNKNOWN, External, Unknown

if TYPE_CHECKING:
    from warplint.kernels.builder import Builder

#: The iterations of an unrolled loop, None for a dynamic one, UNKNOWN where that cannot be told.
Decision = Union[range, None, Unknown]


def unroll(builder: Builder, loop: ir.For) -> Decision:
    """How Warp compiles ``loop`` at this place in the body that ``builder`` is in."""
    call = loop.iterable
    if not (
        isinstance(call, ir.Call)
        and isinstance(call.func, ir.Name)
        and call.func.id == "range"
        and 1 <= len(call.args) <= 3
    ):
        return None
    values = [number(builder, argument) for argument in call.args]
    if None in values:
        return None
    forced = _holds_static(builder, loop)
    if any(value is UNKNOWN for value in values):
        # An unknown count is unrolled if it is small or the body forces it.
        return UNKNOWN
    bounds = [value for value in values if isinstance(value, int)]
    if len(bounds) == 3 and bounds[2] == 0:
        return UNKNOWN
    iterations = range(*bounds)
    if forced:
        return iterations
    limit = builder.options.max_unroll
    if limit is None:
        return UNKNOWN if len(iterations) > 1 else iterations
    if len(iterations) > limit:
        return None
    if contains_control(loop.body, (ir.Break,)):
        return None
    # Warp unrolls a loop with ``continue`` from 1.19 on.
    if not contains_control(loop.body, (ir.Continue,)):
        return iterations
    return None if builder.knowledge.warp_version(builder.module.path) < (1, 19) else iterations


def contains_control(body: tuple[ir.Stmt, ...], kinds: tuple[type[ir.Node], ...]) -> bool:
    """Whether a jump of one of ``kinds`` in ``body`` leaves or continues this loop (not one inside it)."""
    for statement in body:
        if isinstance(statement, kinds):
            return True
        if isinstance(statement, ir.If) and (
            contains_control(statement.body, kinds) or contains_control(statement.orelse, kinds)
        ):
            return True
    return False


def number(builder: Builder, expr: ir.Expr) -> int | None | Unknown:
    """The whole number that Warp sees at compile time, None for a value of the run, UNKNOWN if that is unclear."""
    if isinstance(expr, ir.Constant):
        return expr.value if isinstance(expr.value, int) else None
    if isinstance(expr, ir.Unary) and expr.operator in ("-", "+"):
        inner = number(builder, expr.operand)
        return -inner if isinstance(inner, int) and expr.operator == "-" else None if isinstance(inner, int) else inner
    if isinstance(expr, ir.Name) and expr.id in builder.symbols:
        return _local(builder, builder.symbols[expr.id])
    if isinstance(expr, ir.Attribute) and _is_local(builder, expr):
        return _local_attribute(builder, expr)
    if isinstance(expr, (ir.Name, ir.Attribute)):
        scope = builder.definition.scope
        found = builder.project.resolve(builder.module, expr, scope)
        value = builder.knowledge.constants.evaluate(builder.module, expr, scope, builder.closure)
        if isinstance(value, bool):
            return UNKNOWN
        if isinstance(value, int):
            return value
        if isinstance(value, float) or isinstance(found, External):
            return None
        return UNKNOWN
    if isinstance(expr, ir.Call):
        return _call(builder, expr)
    if isinstance(expr, ir.Conditional):
        test = number(builder, expr.test)
        if isinstance(test, int):
            return number(builder, expr.body if test else expr.orelse)
        return test
    return None


def _is_local(builder: Builder, expr: ir.Expr) -> bool:
    while isinstance(expr, (ir.Attribute, ir.Subscript)):
        expr = expr.value
    return isinstance(expr, ir.Name) and expr.id in builder.symbols


def _local(builder: Builder, index: int) -> int | None | Unknown:
    operation = builder.trace.operations[index]
    if operation.name != "constant":
        return None
    if isinstance(operation.detail, int):
        return operation.detail
    return UNKNOWN if operation.detail is UNKNOWN else None


def _local_attribute(builder: Builder, expr: ir.Attribute) -> int | None | Unknown:
    if expr.attr == "length" and isinstance(expr.value, ir.Name):
        return _length(builder, expr.value)
    return None


def _length(builder: Builder, expr: ir.Expr) -> int | None | Unknown:
    """``len(x)``: vectors and matrices have it at compile time, arrays do not."""
    if isinstance(expr, ir.Name) and expr.id in builder.symbols:
        type_ = builder.type_of(builder.symbols[expr.id])
        if type_.is_composite:
            return type_.shape[0] if type_.shape else UNKNOWN
        if type_.kind == "array":
            return None
    return UNKNOWN


def _call(builder: Builder, expr: ir.Call) -> int | None | Unknown:
    name = builder.project.external(builder.module, expr.func, builder.definition.scope)
    if name == "len" and len(expr.args) == 1:
        return _length(builder, expr.args[0])
    if name == "warp.static" and len(expr.args) == 1:
        value = builder.knowledge.constants.evaluate(
            builder.module, expr.args[0], builder.definition.scope, builder.closure
        )
        if isinstance(value, int):
            return value
        return None if isinstance(value, float) else UNKNOWN
    return None


def _holds_static(builder: Builder, loop: ir.For) -> bool:
    """Whether a ``wp.static`` in the loop is still there when Warp unrolls: it is if it reads a local.

    Static expressions that can be evaluated at once are replaced before code is generated.
    """
    if "static" not in builder.module.text:
        return False
    known = builder.statics.get(id(loop))
    if known is None:
        known = builder.statics[id(loop)] = _reads_local_static(builder, loop)
    return known


def _reads_local_static(builder: Builder, loop: ir.For) -> bool:
    node = builder.definition.node
    assert isinstance(node, ir.FunctionDef)
    for inner in ir.walk(loop):
        if not isinstance(inner, ir.Call):
            continue
        last = inner.func.attr if isinstance(inner.func, ir.Attribute) else getattr(inner.func, "id", "")
        if last != "static":
            continue
        if builder.project.external(builder.module, inner.func, builder.definition.scope) != "warp.static":
            continue
        local = bound_names(node)
        reads = {name.id for argument in inner.args for name in ir.walk(argument) if isinstance(name, ir.Name)}
        if reads & set(local):
            return True
    return False
