"""Cutting source text by spans: verbatim, but for names that mean something else where the text goes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from warplint.ir import syntax as ir
from warplint.ir.spans import Span
from warplint.records import dataclass

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


@dataclass(frozen=True, slots=True)
class Mark:
    """Where one flagged place is counted: whether a loop repeats it, and the numbers of the blocks that should run too.

    The blocks are those of the outermost loop around the place: agreement says little while half of the code that
    feeds what the loop carries never ran. ``around`` has for each of them the block that it is in (0: none of them).
    ``way`` numbers the blocks that hold the place, outermost first. Where a whole function is flagged, ``blocks``
    are all of it; ``once`` are those of them that are no bodies of loops: to run them once is enough.
    """

    in_loop: bool
    blocks: tuple[int, ...] = ()
    around: tuple[int, ...] = ()
    way: tuple[int, ...] = ()
    once: tuple[int, ...] | None = None
    #: Counted where the outermost loop around the place begins; 0 without one.
    entry: int = 0
    #: Whether the place leaves a loop, by itself or in what follows it.
    leaves: bool = False


#: Blocks are numbered apart from flagged places, and those of each file apart from those of others.
BLOCKS = 1000
_FILE = 10**9


def line_of(block: int) -> int:
    """The line that the block with this number begins on, in its file."""
    return (block - BLOCKS) % _FILE // 1000


def reach_edits(
    function: ir.FunctionDef, lines: Sequence[str], flagged: Iterable[tuple[int, Span]], file: int = 0
) -> tuple[list[Edit], dict[int, Mark]]:
    """Edits that print a mark whenever a flagged place in ``function`` is reached; and what each mark means.

    The blocks of one function have the same numbers whichever place asks for them; ``file`` keeps those of functions
    from several files apart.
    """
    wanted: dict[tuple[int, ...], str] = {}
    statements: dict[Span, ir.Stmt] = {}
    marks: dict[int, Mark] = {}

    def ask(statement: ir.Stmt, number: int) -> None:
        statements[statement.span] = statement
        wanted[(*statement.span, number)] = f'{WARP}.printf("{REACHED} {number}~\\n")'

    for number, span in flagged:
        entry, leaves = 0, False
        if span == function.span:
            blocks = [*_inner_blocks(function.body), *_rests(function.body)]
            blocks = [block for block in blocks if not _leaves(block)]
            blocks.sort(key=lambda block: block[0].span)
            repeated = {id(body) for body in _loop_bodies(function.body)}
            once = tuple(_number(block, file) for block in blocks if id(block) not in repeated)
            path, way, in_loop = [_first(function.body)], [], False
        else:
            path = _path(function.body, span)
            if not path:
                continue
            loops = [statement for statement in path if isinstance(statement, (ir.For, ir.While))]
            # without a loop, the other branches exclude the flagged one
            blocks = [block for block in _inner_blocks(loops[0].body) if not _leaves(block)] if loops else []
            way = [block for outer, inner in pairwise(path) for block in _blocks(outer) if inner in block]
            leaves = bool(loops) and _ends_loop(path)
            once, in_loop = None, bool(loops) and not leaves
            if in_loop:
                entry = _number((loops[0],), file)
                ask(loops[0], entry)
        ask(path[-1], number)
        for block in (*blocks, *way):
            ask(block[0], _number(block, file))
        marks[number] = Mark(
            in_loop,
            tuple(_number(block, file) for block in blocks),
            tuple(_around(block, blocks, file) for block in blocks),
            tuple(_number(block, file) for block in way),
            once,
            entry,
            leaves,
        )
    edits: list[Edit] = []
    for key, mark in sorted(wanted.items()):
        span = Span(*key[:4])
        before = Span(span.line, span.column, span.line, span.column)
        if isinstance(statements[span], (ir.If, ir.For, ir.While, ir.With, ir.Try, ir.Match)):
            indent = lines[span.line - 1][: span.column - 1]
            edits.append(Edit(before, f"{mark}\n{indent}"))
        else:
            edits.append(Edit(before, f"{mark}; "))
    return edits, marks


def _first(body: tuple[ir.Stmt, ...]) -> ir.Stmt:
    """The first statement of a body that is not its documentation."""
    documented = len(body) > 1 and isinstance(body[0], ir.ExprStmt) and isinstance(body[0].value, ir.Constant)
    return body[1] if documented else body[0]


def _rests(body: tuple[ir.Stmt, ...]) -> Iterator[tuple[ir.Stmt, ...]]:
    """What stands behind a branch that leaves its block, at any depth: it runs where the branch is not taken."""
    for number, statement in enumerate(body):
        for block in _blocks(statement):
            yield from _rests(block)
        if isinstance(statement, ir.If) and _jumps(statement) and body[number + 1 :]:
            yield body[number + 1 :]


def _jumps(statement: ir.If) -> bool:
    return any(block and isinstance(block[-1], (ir.Return, ir.Break, ir.Continue)) for block in _blocks(statement))


def _loop_bodies(body: tuple[ir.Stmt, ...]) -> Iterator[tuple[ir.Stmt, ...]]:
    """The bodies of all loops in a body, at any depth."""
    for statement in body:
        if isinstance(statement, (ir.For, ir.While)):
            yield statement.body
            yield from _loop_bodies(statement.body)
        elif isinstance(statement, ir.If):
            yield from _loop_bodies(statement.body)
            yield from _loop_bodies(statement.orelse)


def _ends_loop(path: list[ir.Stmt]) -> bool:
    """Whether the last statement of ``path`` runs once at most: it, or what follows it, leaves the loop."""
    for outer, inner in zip(path[:-1], path[1:], strict=True):
        for block in _blocks(outer):
            if isinstance(outer, ir.If) and inner in block and isinstance(block[-1], (ir.Break, ir.Return)):
                return True
    return isinstance(path[-1], (ir.Break, ir.Return))


def _around(block: tuple[ir.Stmt, ...], blocks: Sequence[tuple[ir.Stmt, ...]], file: int) -> int:
    """The number of the innermost of ``blocks`` that ``block`` is in."""
    around = 0
    for other in blocks:  # outer ones come before inner ones
        whole = other[0].span.to(other[-1].span)
        if other is not block and whole.covers(block[0].span):
            around = _number(other, file)
    return around


def _number(block: tuple[ir.Stmt, ...], file: int) -> int:
    span = block[0].span
    return BLOCKS + file * _FILE + span.line * 1000 + min(span.column, 999)


def _leaves(block: tuple[ir.Stmt, ...]) -> bool:
    """Whether a block only skips or gives up."""
    return all(
        isinstance(statement, (ir.Continue, ir.Break, ir.Pass, ir.Return))
        or (isinstance(statement, ir.ExprStmt) and isinstance(statement.value, ir.Constant))
        for statement in block
    )


def _inner_blocks(body: tuple[ir.Stmt, ...]) -> Iterator[tuple[ir.Stmt, ...]]:
    """The bodies of the compound statements in ``body``, at any depth; an `elif` counts as its branches."""
    for statement in body:
        if isinstance(statement, ir.If):
            yield statement.body
            yield from _inner_blocks(statement.body)
            nested = len(statement.orelse) == 1 and isinstance(statement.orelse[0], ir.If)
            if statement.orelse and not nested:
                yield statement.orelse
            yield from _inner_blocks(statement.orelse)
        elif isinstance(statement, (ir.For, ir.While)):
            yield statement.body
            yield from _inner_blocks(statement.body)


def _path(body: tuple[ir.Stmt, ...], span: Span) -> list[ir.Stmt]:
    """The statements around ``span``, outermost first; the last has to run for ``span`` to count."""
    found: list[ir.Stmt] = []
    while True:
        holder = next((statement for statement in body if statement.span.covers(span)), None)
        if holder is None:
            break
        found.append(holder)
        inner = [block for block in _blocks(holder) if any(statement.span.covers(span) for statement in block)]
        if not inner:
            break
        body = inner[0]
    if not found:
        return []
    last = found[-1]
    if isinstance(last, (ir.For, ir.While)) and last.body:
        found.append(last.body[0])  # the header counts when the body runs
    else:
        clause = _elif(last, span)
        if clause is not None:
            # an `elif` has no place before it: its first statement stands for it
            found.append(clause.body[0])
    return found


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
