"""Texts: what f-strings make of plain values (``fields[f"level{step}"]``), and the methods of texts."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Union

from warplint.ir import syntax as ir
from warplint.ir.spans import Span
from warplint.tapes.code import Code
from warplint.tapes.frames import Frame
from warplint.tapes.values import ListValue, Unknown, Value

if TYPE_CHECKING:
    from warplint.source.project import Module
    from warplint.tapes.machine import Machine

_OPERATORS = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.FloorDiv: "//", ast.Mod: "%"}
#: What is written between the expressions, or an expression and the format that is wanted of it.
_Part = Union[str, tuple[ir.Expr, str]]


def make(node: ir.Format, path: Path) -> Code:
    """The text of an f-string; unknown where it holds anything but names, attributes, items and arithmetic of numbers
    and texts."""

    known: list[list[_Part] | None] = []  # what was read, once it was

    def run(machine: Machine, frame: Frame) -> Value:
        if not known:
            known.append(_read(node.span, _written(node.span, frame.module)))
        parts = known[0]
        if parts is None:
            return Unknown("text")
        made: list[str] = []
        for part in parts:
            if isinstance(part, str):
                made.append(part)
                continue
            value = machine.evaluate(part[0], frame)
            if not isinstance(value, (str, int, float)):
                return Unknown("text")
            try:
                made.append(format(value, part[1]))
            except ValueError:
                return Unknown("text")
        return "".join(made)

    return run


def _written(span: Span, module: Module) -> str:
    """What stands at a span."""
    lines = list(module.lines[span.line - 1 : span.end_line])
    lines[-1] = lines[-1][: span.end_column - 1]
    lines[0] = lines[0][span.column - 1 :]
    return "\n".join(lines)


def _read(span: Span, text: str) -> list[_Part] | None:
    try:
        tree = ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError):
        return None
    if not isinstance(tree, ast.JoinedStr):
        return None
    parts: list[_Part] = []
    for value in tree.values:
        if isinstance(value, ast.Constant) and isinstance(value.value, str):
            parts.append(value.value)
            continue
        if not isinstance(value, ast.FormattedValue) or value.conversion != -1:
            return None
        wanted = ""
        if isinstance(value.format_spec, ast.JoinedStr):
            pieces = value.format_spec.values
            if not all(isinstance(piece, ast.Constant) for piece in pieces):
                return None
            wanted = "".join(str(piece.value) for piece in pieces if isinstance(piece, ast.Constant))
        inner = _expression(value.value, span)
        if inner is None:
            return None
        parts.append((inner, wanted))
    return parts


def _expression(node: ast.expr, span: Span) -> ir.Expr | None:
    """A simple expression; it is placed where the whole f-string is, since older parsers misplace what is inside."""
    if isinstance(node, ast.Name):
        return ir.Name(span, node.id)
    if isinstance(node, ast.Constant) and isinstance(node.value, (int, float, str)):
        return ir.Constant(span, node.value)
    if isinstance(node, ast.Attribute):
        owner = _expression(node.value, span)
        return None if owner is None else ir.Attribute(span, owner, node.attr)
    if isinstance(node, ast.Subscript):
        owner, index = _expression(node.value, span), _expression(node.slice, span)
        return None if owner is None or index is None else ir.Subscript(span, owner, index)
    if isinstance(node, ast.BinOp) and node.op.__class__ in _OPERATORS:
        left, right = _expression(node.left, span), _expression(node.right, span)
        if left is not None and right is not None:
            return ir.Binary(span, left, _OPERATORS[node.op.__class__], right)
    return None


# --- methods ---


def call_method(owner: str, name: str, args: tuple[Value, ...], keywords: dict[str, Value]) -> Value:
    """``owner.name(...)`` of a text, where everything is plain."""
    function: Callable[..., Any] | None = getattr(owner, name, None)
    given = [tuple(arg.items) if isinstance(arg, ListValue) and not arg.open else arg for arg in args]
    if function is None or not _is_plain(given) or not _is_plain(list(keywords.values())):
        return Unknown("text")
    try:
        result = function(*given, **keywords)
    except (TypeError, ValueError, LookupError):
        return Unknown("text")
    if isinstance(result, list):
        return ListValue(list(result))
    return result if isinstance(result, (str, int, bool, tuple, bytes)) else Unknown("text")


def percent(owner: str, value: Value) -> Value:
    """``owner % value``."""
    if not _is_plain([value]):
        return Unknown("text")
    try:
        return operator.mod(owner, value)  # type: ignore[no-any-return]
    except (TypeError, ValueError):
        return Unknown("text")


def _is_plain(values: list[Value]) -> bool:
    return all(
        isinstance(value, (str, int, float)) or value is None or (isinstance(value, tuple) and _is_plain(list(value)))
        for value in values
    )
