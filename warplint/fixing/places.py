"""A finding and the syntax around it."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path

from warplint.ir import syntax as ir
from warplint.ir.facts import Finding
from warplint.ir.fixes import Edit
from warplint.ir.spans import Location, Span
from warplint.records import dataclass
from warplint.source.project import Module, Scope

#: What needs no brackets as the operand of an operator.
CLOSED = (ir.Name, ir.Constant, ir.Attribute, ir.Subscript, ir.Call)


@dataclass(frozen=True, slots=True)
class Plan:
    """Edits and what they do, as an imperative without a full stop.

    ``left`` says what a person has to do besides: such edits are never safe.
    """

    title: str
    edits: tuple[Edit, ...]
    left: str = ""


@dataclass(frozen=True, slots=True)
class Place:
    """A finding and the module that it is in; ``files`` are those that are linted."""

    module: Module
    finding: Finding
    files: Collection[Path] = ()

    @property
    def span(self) -> Span:
        """The primary place."""
        return self.finding.location.span

    def attribute(self, name: str) -> str:
        """An attribute of the fact, as text."""
        return str(self.finding.fact.attributes[name])

    def around(self, span: Span) -> Iterator[ir.Node]:
        """The nodes that cover a span, outermost first."""
        region = self.module.region_at(span.line)
        inside: list[ir.Node] = list(self.module.read(region)) if region is not None else []
        while inside:
            node = next((node for node in inside if node.span.covers(span)), None)
            if node is None:
                return
            yield node
            inside = list(ir.children(node))

    def node(self, span: Span, kind: type[ir.Node]) -> ir.Node | None:
        """The node of a kind that has exactly this span."""
        return next((node for node in self.around(span) if isinstance(node, kind) and node.span == span), None)

    def scope(self) -> Scope:
        """The functions and classes around the finding."""
        return tuple(node for node in self.around(self.span) if isinstance(node, (ir.FunctionDef, ir.ClassDef)))

    def function(self) -> ir.FunctionDef | None:
        """The innermost function around the finding."""
        return next((node for node in reversed(self.scope()) if isinstance(node, ir.FunctionDef)), None)

    def block(self, span: Span) -> tuple[ir.Stmt, ...]:
        """The statements of the innermost block that holds a span."""
        found: tuple[ir.Stmt, ...] = ()
        for node in self.around(span):
            for name in ("body", "orelse", "final"):
                statements = getattr(node, name, ())
                if isinstance(statements, tuple) and any(one.span.covers(span) for one in statements):
                    found = statements
        return found

    def external(self, expr: ir.Expr) -> str | None:
        """The full dotted name of an external thing."""
        return self.module.project.external(self.module, expr, self.scope())

    def names_of_warp(self) -> Iterator[str]:
        """The names by which the module knows Warp."""
        for statement in self.module.statements():
            if isinstance(statement, ir.Import):
                for name, alias in statement.names:
                    if name == "warp":
                        yield alias or name

    def text(self, span: Span) -> str:
        """The source text of a span."""
        lines = self.module.lines[span.line - 1 : span.end_line]
        lines[-1] = lines[-1][: span.end_column - 1]
        lines[0] = lines[0][span.column - 1 :]
        return "\n".join(lines)

    def edit(self, span: Span, text: str) -> Edit:
        """An edit of the finding's file."""
        return Edit(Location(self.module.path, span), text)
