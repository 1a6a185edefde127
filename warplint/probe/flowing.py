"""Which parameters of a function may flow into a place in it: more than do, never fewer."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from warplint.ir import syntax as ir
from warplint.ir.spans import Span
from warplint.source.modules import blocks

#: Built-ins that write, by their names.
_WRITING = re.compile(r"atomic|store")


def sources(node: ir.FunctionDef, places: Iterable[Span]) -> tuple[str, ...]:
    """The parameters that may flow into ``places``: through locals, through arrays that are stored to and read, and
    through conditions, in whatever order all that stands."""
    wanted = {name for place in places for name in _names_at(node, place)}
    steps = list(_steps(node.body, frozenset()))
    grown = True
    while grown:
        grown = False
        for targets, feeding in steps:
            if targets & wanted and not feeding <= wanted:
                wanted |= feeding
                grown = True
    return tuple(parameter.name for parameter in node.parameters if parameter.name in wanted)


def _names_at(node: ir.FunctionDef, place: Span) -> Iterator[str]:
    """The names in a place, and those that decide whether it runs."""
    for inner in ir.walk(node):
        if isinstance(inner, ir.Name) and place.covers(inner.span):
            yield inner.id
        elif isinstance(inner, (ir.If, ir.While)) and inner.span.covers(place):
            yield from _names(inner.test)
        elif isinstance(inner, ir.For) and inner.span.covers(place):
            yield from _names(inner.iterable)


def _steps(body: Iterable[ir.Stmt], deciding: frozenset[str]) -> Iterator[tuple[frozenset[str], frozenset[str]]]:
    """What each statement may change, and what flows into that; ``deciding`` are the names that decide if it runs."""
    for statement in body:
        inside = deciding
        if isinstance(statement, ir.Assign):
            targets = [*statement.targets]
            flowing = frozenset(name for target in targets for name in _names(target))
            yield _bases(targets), _names(statement.value) | flowing | deciding
            if isinstance(statement.value, (ir.Name, ir.Attribute, ir.Subscript)):
                # two names for one array
                yield _bases([statement.value]), flowing
        elif isinstance(statement, (ir.AugAssign, ir.AnnAssign)):
            value = frozenset[str]() if statement.value is None else _names(statement.value)
            yield _bases([statement.target]), value | _names(statement.target) | deciding
        elif isinstance(statement, ir.For):
            inside = deciding | _names(statement.iterable)
            yield _names(statement.target), inside
        elif isinstance(statement, (ir.If, ir.While)):
            inside = deciding | _names(statement.test)
        for inner in blocks(statement):
            yield from _steps(inner, inside)
        for call in _own_calls(statement):
            given = frozenset(name for argument in _arguments(call) for name in _names(argument))
            yield _written(call, isinstance(statement, ir.ExprStmt), given), given | deciding


def _own_calls(statement: ir.Stmt) -> Iterator[ir.Call]:
    below = {id(inner) for block in blocks(statement) for one in block for inner in ir.walk(one)}
    for inner in ir.walk(statement):
        if isinstance(inner, ir.Call) and id(inner) not in below:
            yield inner


def _written(call: ir.Call, alone: bool, given: frozenset[str]) -> frozenset[str]:
    """What a call may write to. A built-in of Warp that writes does so to its first argument, and a func to arrays,
    which it is handed by name."""
    name = (ir.dotted(call.func) or "").rpartition(".")[2]
    if isinstance(call.func, ir.Name) and not _WRITING.search(name):
        return frozenset(one.id for one in _arguments(call) if isinstance(one, ir.Name))
    if alone or _WRITING.search(name):
        return _names(call.args[0]) if call.args else given
    return frozenset()


def _arguments(call: ir.Call) -> tuple[ir.Expr, ...]:
    return (*call.args, *(keyword.value for keyword in call.keywords))


def _names(node: ir.Node) -> frozenset[str]:
    return frozenset(inner.id for inner in ir.walk(node) if isinstance(inner, ir.Name))


def _bases(targets: Iterable[ir.Expr]) -> frozenset[str]:
    """The names of what is assigned to, not of the indices."""
    found: set[str] = set()
    left = list(targets)
    while left:
        target = left.pop()
        if isinstance(target, (ir.Tuple, ir.List)):
            left += target.elements
        elif isinstance(target, (ir.Subscript, ir.Attribute, ir.Starred)):
            left.append(target.value)
        else:
            found |= _names(target)
    return frozenset(found)
