"""Which statements bind which names."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

from warplint.ir import syntax as ir

#: A statement (or parameter) that binds a name.
Binder: TypeAlias = "ir.Binder"


def target_names(target: ir.Expr) -> Iterator[str]:
    """The names that an assignment target binds (none for ``a.b`` and ``a[i]``)."""
    if isinstance(target, ir.Name):
        yield target.id
    elif isinstance(target, (ir.Tuple, ir.List)):
        for element in target.elements:
            yield from target_names(element)
    elif isinstance(target, ir.Starred):
        yield from target_names(target.value)


def binders(body: tuple[ir.Stmt, ...]) -> Iterator[tuple[str, Binder]]:
    """Pairs of name and binding statement for one scope: nested blocks included, nested definitions not entered.

    A star import binds the name ``*``. ``name := value`` inside expressions is left out; see ``Module.walrus``.
    """
    for statement in body:
        if isinstance(statement, (ir.FunctionDef, ir.ClassDef, ir.TypeAlias)):
            yield statement.name, statement
        elif isinstance(statement, ir.Assign):
            for target in statement.targets:
                for name in target_names(target):
                    yield name, statement
        elif isinstance(statement, (ir.AnnAssign, ir.AugAssign)):
            for name in target_names(statement.target):
                if not (isinstance(statement, ir.AnnAssign) and statement.value is None):
                    yield name, statement
        elif isinstance(statement, ir.Import):
            for dotted, alias in statement.names:
                yield alias or dotted.partition(".")[0], statement
        elif isinstance(statement, ir.ImportFrom):
            for imported, alias in statement.names:
                yield alias or imported, statement
        elif isinstance(statement, (ir.If, ir.While)):
            yield from binders(statement.body)
            yield from binders(statement.orelse)
        elif isinstance(statement, ir.For):
            for name in target_names(statement.target):
                yield name, statement
            yield from binders(statement.body)
            yield from binders(statement.orelse)
        elif isinstance(statement, ir.With):
            for item in statement.items:
                if item.target is not None:
                    for name in target_names(item.target):
                        yield name, statement
            yield from binders(statement.body)
        elif isinstance(statement, ir.Try):
            yield from binders(statement.body)
            for handler in statement.handlers:
                if handler.name is not None:
                    yield handler.name, statement
                yield from binders(handler.body)
            yield from binders(statement.orelse)
            yield from binders(statement.final)
        elif isinstance(statement, ir.Match):
            for case in statement.cases:
                for name in case.names:
                    yield name, statement
                yield from binders(case.body)
        elif isinstance(statement, ir.Delete):
            for target in statement.targets:
                for name in target_names(target):
                    yield name, statement
        elif isinstance(statement, ir.Global):
            for name in statement.names:
                yield name, statement


#: Scopes that are remembered: long-running programs (an editor's server) parse the same file again and again.
_MOST_SCOPES = 6_000

_BOUND: dict[int, tuple[ir.FunctionDef | ir.ClassDef, dict[str, tuple[Binder, ...]]]] = {}


def bound_names(scope: ir.FunctionDef | ir.ClassDef) -> dict[str, tuple[Binder, ...]]:
    """The local names of a function, parameters included, or of a class, with the statements that bind them."""
    known = _BOUND.get(id(scope))
    if known is not None and known[0] is scope:
        return known[1]
    parameters = scope.parameters if isinstance(scope, ir.FunctionDef) else ()
    found: dict[str, list[Binder]] = {parameter.name: [parameter] for parameter in parameters}
    for name, binder in binders(scope.body):
        found.setdefault(name, []).append(binder)
    result = {name: tuple(statements) for name, statements in found.items()}
    if len(_BOUND) >= _MOST_SCOPES:
        del _BOUND[next(iter(_BOUND))]
    _BOUND[id(scope)] = (scope, result)
    return result
