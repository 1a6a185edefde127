"""What the LibCST visitor rests on: the places of nodes, and the IR nodes made of their parts."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from typing import Any

import libcst as cst

from warplint.ir import syntax as ir
from warplint.ir.spans import Span

#: A place: line and column, both from 1.
Point = tuple[int, int]


class Placing(cst.CSTVisitor):
    """Keeps the IR node of every LibCST node that was left, and tells where nodes stand in their file."""

    def __init__(self, positions: Any, shift: int) -> None:
        super().__init__()
        self._positions = positions
        self._shift = shift
        self._made: dict[cst.CSTNode, Any] = {}

    # --- places ---

    def _start(self, node: cst.CSTNode) -> Point:
        start = self._positions[node].start
        return start.line + self._shift, start.column + 1

    def _end(self, node: cst.CSTNode) -> Point:
        end = self._positions[node].end
        return end.line + self._shift, end.column + 1

    def _span(self, node: cst.CSTNode) -> Span:
        place = self._positions[node]
        start, end = place.start, place.end
        return Span(start.line + self._shift, start.column + 1, end.line + self._shift, end.column + 1)

    def _outer_start(self, node: Any) -> Point:
        return self._start(node.lpar[0] if node.lpar else node)

    def _outer_end(self, node: Any) -> Point:
        return self._end(node.rpar[-1] if node.rpar else node)

    def _with_parentheses(self, node: Any) -> Span:
        """The span of an expression that owns its innermost parentheses."""
        if not node.lpar:
            return self._span(node)
        return Span(*self._start(node.lpar[-1]), *self._end(node.rpar[0]))

    def _down_to(self, node: cst.CSTNode, *blocks: tuple[ir.Stmt, ...]) -> Span:
        """From the start of a compound statement to the end of the last statement in it."""
        last = next(block for block in reversed(blocks) if block)[-1].span
        return Span(*self._start(node), last.end_line, last.end_column)

    # --- parts that were made ---

    def _of(self, node: cst.CSTNode) -> Any:
        return self._made[node]

    def _maybe(self, node: cst.CSTNode | None) -> Any:
        return None if node is None else self._made[node]

    def _all(self, nodes: Iterable[cst.CSTNode]) -> tuple[Any, ...]:
        return tuple([self._made[node] for node in nodes])

    def _put(self, node: cst.CSTNode, made: ir.Node) -> None:
        self._made[node] = made


def identifier(node: Any) -> str:
    """A name, or names with dots between, as Python's parser gives it: in Unicode's NFKC form (PEP 3131)."""
    if isinstance(node, cst.Attribute):
        return f"{identifier(node.value)}.{identifier(node.attr)}"
    name: str = node.value
    return name if name.isascii() else unicodedata.normalize("NFKC", name)


#: Nodes without parts that the IR keeps. A format string is one of them: its parts have no true places before
#: Python 3.12.
NOT_ENTERED = (
    cst.BaseParenthesizableWhitespace,
    cst.TrailingWhitespace,
    cst.EmptyLine,
    cst.Newline,
    cst.Comment,
    cst.Comma,
    cst.Colon,
    cst.Dot,
    cst.Semicolon,
    cst.AssignEqual,
    cst.LeftParen,
    cst.RightParen,
    cst.LeftSquareBracket,
    cst.RightSquareBracket,
    cst.LeftCurlyBrace,
    cst.RightCurlyBrace,
    cst.BaseUnaryOp,
    cst.BaseBinaryOp,
    cst.BaseCompOp,
    cst.BaseAugOp,
    cst.BaseBooleanOp,
    cst.ConcatenatedString,
    cst.FormattedString,
)
