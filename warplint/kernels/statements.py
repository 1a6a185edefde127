"""Which statement a place in a body belongs to, and which statements set a local."""

from __future__ import annotations

from collections.abc import Iterator

from warplint.ir import syntax as ir
from warplint.ir.spans import Span
from warplint.source.project import Definition


class Statements:
    """The statements of one definition."""

    def __init__(self, definition: Definition) -> None:
        #: Simple statements, and of compound ones what stands before the colon; with the names that each sets.
        self._places: list[tuple[Span, frozenset[str]]] = []
        self._collect(getattr(definition.node, "body", ()))

    def at(self, place: Span) -> Span:
        """The statement around a place (of a loop or branch: its head); the place itself where there is none."""
        return next((span for span, _ in self._places if span.covers(place)), place)

    def setting(self, name: str, within: Span) -> list[Span]:
        """The statements that set a local, or a part of it, in a part of the body."""
        return [span for span, names in self._places if name in names and within.covers(span)]

    def _collect(self, statements: tuple[ir.Stmt, ...]) -> None:
        for statement in statements:
            names: frozenset[str] = frozenset()
            if isinstance(statement, ir.Assign):
                names = frozenset(name for target in statement.targets for name in _set_by(target))
            elif isinstance(statement, (ir.AugAssign, ir.AnnAssign)):
                names = frozenset(_set_by(statement.target))
            if isinstance(statement, (ir.If, ir.While)):
                self._places.append((Span(*statement.span[:2], *statement.test.span[2:]), names))
            elif isinstance(statement, ir.For):
                self._places.append((Span(*statement.span[:2], *statement.iterable.span[2:]), names))
            else:
                self._places.append((statement.span, names))
            if isinstance(statement, (ir.If, ir.While, ir.For, ir.With)):
                self._collect(statement.body)
            if isinstance(statement, (ir.If, ir.While, ir.For)):
                self._collect(statement.orelse)


def _set_by(target: ir.Expr) -> Iterator[str]:
    if isinstance(target, (ir.Tuple, ir.List)):
        for element in target.elements:
            yield from _set_by(element)
        return
    while isinstance(target, (ir.Subscript, ir.Attribute)):
        target = target.value
    if isinstance(target, ir.Name):
        yield target.id
