"""Cutting source text by spans: verbatim, but for names that mean something else where the text goes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from warplint.ir import syntax as ir
from warplint.ir.spans import Span

#: What the counting twin prints where the flagged place number N is reached, as ``~reached N~``; the worker counts it.
REACHED = "~reached"
#: The name under which every slice imports Warp for its own use.
WARP = "_probe_warp"


@dataclass(frozen=True, slots=True)
class Edit:
    """``text`` instead of what stands in ``span`` (an insertion if the span is empty)."""

    span: Span
    text: str


def cut(lines: Sequence[str], span: Span, edits: Iterable[Edit]) -> str:
    """The text in ``span`` with ``edits`` applied; edits inside other edits are dropped."""
    line, column = span.end_line, span.end_column
    parts: list[str] = []
    for edit in sorted(edits, key=lambda one: (one.span[:2], one.span[2:]), reverse=True):
        if not span.covers(edit.span) or edit.span[2:] > (line, column):
            continue
        parts.append(_between(lines, edit.span.end_line, edit.span.end_column, line, column))
        parts.append(edit.text)
        line, column = edit.span.line, edit.span.column
    parts.append(_between(lines, span.line, span.column, line, column))
    return "".join(reversed(parts))


def _between(lines: Sequence[str], line: int, column: int, end_line: int, end_column: int) -> str:
    if line == end_line:
        return lines[line - 1][column - 1 : end_column - 1]
    middle = lines[line : end_line - 1]
    return "\n".join([lines[line - 1][column - 1 :], *middle, lines[end_line - 1][: end_column - 1]])


def dedent(text: str, columns: int) -> str:
    """``text`` with up to ``columns`` blanks taken from the front of every line but the first."""
    first, *rest = text.split("\n")
    prefix = " " * columns
    return "\n".join([first, *(line[columns:] if line.startswith(prefix) else line.lstrip(" \t") for line in rest)])


def reach_edits(
    function: ir.FunctionDef, lines: Sequence[str], flagged: Iterable[tuple[int, Span]]
) -> tuple[list[Edit], dict[int, bool]]:
    """Edits that print a mark whenever a flagged place in ``function`` is reached; for each mark, whether it is in a loop."""
    edits: list[Edit] = []
    looped: dict[int, bool] = {}
    for number, span in flagged:
        found = _statement(function.body, span, False)
        if found is None:
            continue
        statement, in_loop = found
        looped[number] = looped.get(number, False) or in_loop
        mark = f'{WARP}.printf("{REACHED} {number}~\\n")'
        start = statement.span
        before = Span(start.line, start.column, start.line, start.column)
        if isinstance(statement, (ir.If, ir.For, ir.While, ir.With, ir.Try, ir.Match)):
            indent = lines[start.line - 1][: start.column - 1]
            edits.append(Edit(before, f"{mark}\n{indent}"))
        else:
            edits.append(Edit(before, f"{mark}; "))
    return edits, looped


def _statement(body: tuple[ir.Stmt, ...], span: Span, looped: bool) -> tuple[ir.Stmt, bool] | None:
    """The statement that has to run for ``span`` to count, and whether it is in a loop."""
    for statement in body:
        if not statement.span.covers(span):
            continue
        inner_loop = looped or isinstance(statement, (ir.For, ir.While))
        for block in _blocks(statement):
            found = _statement(block, span, inner_loop)
            if found is not None:
                return found
        if isinstance(statement, (ir.For, ir.While)) and statement.body:
            return statement.body[0], True  # the header counts when the body runs
        clause = _elif(statement, span)
        # an `elif` has no place before it: its first statement stands for it
        return (clause.body[0] if clause is not None else statement), looped
    return None


def _elif(statement: ir.Stmt, span: Span) -> ir.If | None:
    """The `elif` clause of ``statement`` whose condition holds ``span``."""
    found: ir.If | None = None
    while isinstance(statement, ir.If) and len(statement.orelse) == 1 and isinstance(statement.orelse[0], ir.If):
        statement = statement.orelse[0]
        if statement.span.covers(span):
            found = statement
    return found


def _blocks(statement: ir.Stmt) -> tuple[tuple[ir.Stmt, ...], ...]:
    if isinstance(statement, ir.If):
        alternative = statement.orelse
        if len(alternative) == 1 and isinstance(alternative[0], ir.If):
            # perhaps an `elif`: enter it, but never stop at it
            nested = alternative[0]
            return (statement.body, nested.body, *_blocks(nested)[1:])
        return (statement.body, alternative)
    if isinstance(statement, (ir.For, ir.While)):
        return (statement.body, statement.orelse)
    if isinstance(statement, ir.With):
        return (statement.body,)
    return ()
