"""Conditions that are fixed before a kernel is compiled, and what they should be for a flagged place to be in it."""

from __future__ import annotations

from collections.abc import Iterator

from warplint.ir import syntax as ir
from warplint.ir.spans import Span

#: Rounds of a loop that Warp does not unroll (``max_unroll`` is 16 unless somebody changes it).
UNROLLED = 17

# Calls around a condition that change nothing about it.
_AROUND = ("bool", "static", "constant")


def around(body: tuple[ir.Stmt, ...], span: Span) -> Iterator[tuple[ir.Expr, bool]]:
    """The conditions of the `if` statements around ``span``, outermost first, and whether they have to hold."""
    for statement in body:
        if not statement.span.covers(span):
            continue
        if isinstance(statement, ir.If):
            inside = any(one.span.covers(span) for one in statement.body)
            if inside or any(one.span.covers(span) for one in statement.orelse):
                yield statement.test, inside
            yield from around((*statement.body, *statement.orelse), span)
        elif isinstance(statement, (ir.For, ir.While)):
            yield from around((*statement.body, *statement.orelse), span)


def bounds(body: tuple[ir.Stmt, ...], span: Span) -> Iterator[ir.Name]:
    """The names that bound the `for` loops around ``span``."""
    for statement in body:
        if not statement.span.covers(span):
            continue
        if isinstance(statement, ir.For) and isinstance(statement.iterable, ir.Call):
            for argument in statement.iterable.args:
                yield from (inner for inner in ir.walk(argument) if isinstance(inner, ir.Name))
        if isinstance(statement, (ir.If, ir.For, ir.While)):
            yield from bounds((*statement.body, *statement.orelse), span)


def wanted(condition: ir.Expr, holds: bool) -> Iterator[tuple[ir.Expr, bool | int | str]]:
    """Names in ``condition`` and values of them that make it hold, or not hold."""
    while (
        isinstance(condition, ir.Call)
        and len(condition.args) == 1
        and (ir.dotted(condition.func) or "").rpartition(".")[2] in _AROUND
    ):
        condition = condition.args[0]
    if isinstance(condition, ir.Name):
        yield condition, holds
    elif isinstance(condition, ir.Unary) and condition.operator == "not":
        yield from wanted(condition.operand, not holds)
    elif isinstance(condition, ir.Boolean) and (condition.operator == "and") == holds:
        for part in condition.values:
            yield from wanted(part, holds)
    elif isinstance(condition, ir.Compare) and len(condition.operators) == 1 and isinstance(condition.left, ir.Name):
        other = condition.comparators[0]
        equal = condition.operators[0] == "=="
        value = other.value if isinstance(other, ir.Constant) else None
        if isinstance(value, (int, str)) and equal == holds and condition.operators[0] in ("==", "!="):
            yield condition.left, value
