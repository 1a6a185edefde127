"""The syntax tree that every analysis reads: Python statements and expressions, frozen and with spans.

Both readers of source text (``warplint.frontend``) produce exactly these nodes, so nothing behind
the front end depends on how a file was parsed. Node names follow the Python language reference.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Union

from warplint.ir.spans import Span
from warplint.records import dataclass


@dataclass(frozen=True, slots=True)
class Node:
    """Anything with a place in the source text."""

    span: Span


# --- expressions -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Name(Node):
    id: str


@dataclass(frozen=True, slots=True)
class Constant(Node):
    """A literal: number, string, bytes, ``True``, ``False``, ``None`` or ``...``."""

    value: object


@dataclass(frozen=True, slots=True)
class Attribute(Node):
    value: Expr
    attr: str


@dataclass(frozen=True, slots=True)
class Subscript(Node):
    """``value[index]``; several indices make ``index`` a ``Tuple``."""

    value: Expr
    index: Expr


@dataclass(frozen=True, slots=True)
class Slice(Node):
    lower: Expr | None
    upper: Expr | None
    step: Expr | None


@dataclass(frozen=True, slots=True)
class Keyword(Node):
    """``name=value`` in a call; ``**value`` has no name."""

    name: str | None
    value: Expr


@dataclass(frozen=True, slots=True)
class Call(Node):
    func: Expr
    args: tuple[Expr, ...]
    keywords: tuple[Keyword, ...]

    def keyword(self, name: str) -> Expr | None:
        """The value passed as ``name=...``, or None."""
        for keyword in self.keywords:
            if keyword.name == name:
                return keyword.value
        return None


@dataclass(frozen=True, slots=True)
class Binary(Node):
    """``left operator right``; the operator as written (``+``, ``**``, ``//``, ``@``, ``<<``, ...)."""

    left: Expr
    operator: str
    right: Expr


@dataclass(frozen=True, slots=True)
class Unary(Node):
    """``operator operand`` with operator ``-``, ``+``, ``~`` or ``not``."""

    operator: str
    operand: Expr


@dataclass(frozen=True, slots=True)
class Compare(Node):
    """``left operators[0] comparators[0] operators[1] ...``; operators as written (``not in``, ``is``)."""

    left: Expr
    operators: tuple[str, ...]
    comparators: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Boolean(Node):
    """``values[0] operator values[1] ...`` with operator ``and`` or ``or``."""

    operator: str
    values: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Conditional(Node):
    """``body if test else orelse``."""

    test: Expr
    body: Expr
    orelse: Expr


@dataclass(frozen=True, slots=True)
class Tuple(Node):
    elements: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class List(Node):
    elements: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Set(Node):
    elements: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Dict(Node):
    """``{key: value}``; a ``**mapping`` entry has the key None."""

    keys: tuple[Expr | None, ...]
    values: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Starred(Node):
    value: Expr


@dataclass(frozen=True, slots=True)
class Lambda(Node):
    parameters: tuple[Parameter, ...]
    body: Expr


@dataclass(frozen=True, slots=True)
class Generator(Node):
    """``for target in iterable if condition ...`` in a comprehension."""

    target: Expr
    iterable: Expr
    conditions: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Comprehension(Node):
    """A comprehension; ``kind`` is ``list``, ``set``, ``dict`` or ``generator``; ``key`` only for ``dict``."""

    kind: str
    key: Expr | None
    element: Expr
    generators: tuple[Generator, ...]


@dataclass(frozen=True, slots=True)
class Walrus(Node):
    """``target := value``."""

    target: Name
    value: Expr


@dataclass(frozen=True, slots=True)
class Format(Node):
    """An f-string. Its parts are not kept: before Python 3.12 the parser gives them no true places."""


@dataclass(frozen=True, slots=True)
class Opaque(Node):
    """An expression that no analysis interprets (``await``, ``yield``); its parts are kept."""

    kind: str
    values: tuple[Expr, ...]


Expr = Union[
    Name,
    Constant,
    Attribute,
    Subscript,
    Slice,
    Call,
    Binary,
    Unary,
    Compare,
    Boolean,
    Conditional,
    Tuple,
    List,
    Set,
    Dict,
    Starred,
    Lambda,
    Comprehension,
    Walrus,
    Format,
    Opaque,
]


# --- statements --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Parameter(Node):
    """A parameter; ``kind`` is ``positional``, ``keyword`` (after ``*``), ``*`` or ``**``."""

    name: str
    annotation: Expr | None
    default: Expr | None
    kind: str


@dataclass(frozen=True, slots=True)
class Assign(Node):
    """``targets[0] = targets[1] = ... = value``."""

    targets: tuple[Expr, ...]
    value: Expr


@dataclass(frozen=True, slots=True)
class AugAssign(Node):
    """``target operator= value``; the operator without its ``=`` (``+``, ``**``, ...)."""

    target: Expr
    operator: str
    value: Expr


@dataclass(frozen=True, slots=True)
class AnnAssign(Node):
    target: Expr
    annotation: Expr
    value: Expr | None


@dataclass(frozen=True, slots=True)
class ExprStmt(Node):
    value: Expr


@dataclass(frozen=True, slots=True)
class If(Node):
    test: Expr
    body: tuple[Stmt, ...]
    orelse: tuple[Stmt, ...]


@dataclass(frozen=True, slots=True)
class For(Node):
    target: Expr
    iterable: Expr
    body: tuple[Stmt, ...]
    orelse: tuple[Stmt, ...]


@dataclass(frozen=True, slots=True)
class While(Node):
    test: Expr
    body: tuple[Stmt, ...]
    orelse: tuple[Stmt, ...]


@dataclass(frozen=True, slots=True)
class WithItem(Node):
    context: Expr
    target: Expr | None


@dataclass(frozen=True, slots=True)
class With(Node):
    items: tuple[WithItem, ...]
    body: tuple[Stmt, ...]


@dataclass(frozen=True, slots=True)
class Handler(Node):
    """``except type as name:``; ``name`` may be None."""

    type: Expr | None
    name: str | None
    body: tuple[Stmt, ...]


@dataclass(frozen=True, slots=True)
class Try(Node):
    body: tuple[Stmt, ...]
    handlers: tuple[Handler, ...]
    orelse: tuple[Stmt, ...]
    final: tuple[Stmt, ...]


@dataclass(frozen=True, slots=True)
class Case(Node):
    """One ``case`` of a ``match``; the pattern is not kept, only the names that it binds."""

    names: tuple[str, ...]
    guard: Expr | None
    body: tuple[Stmt, ...]


@dataclass(frozen=True, slots=True)
class Match(Node):
    subject: Expr
    cases: tuple[Case, ...]


@dataclass(frozen=True, slots=True)
class Return(Node):
    value: Expr | None


@dataclass(frozen=True, slots=True)
class Raise(Node):
    value: Expr | None


@dataclass(frozen=True, slots=True)
class Assert(Node):
    test: Expr


@dataclass(frozen=True, slots=True)
class Delete(Node):
    targets: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Break(Node):
    pass


@dataclass(frozen=True, slots=True)
class Continue(Node):
    pass


@dataclass(frozen=True, slots=True)
class Pass(Node):
    pass


@dataclass(frozen=True, slots=True)
class Global(Node):
    """``global`` or ``nonlocal`` (``kind``) names."""

    kind: str
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Import(Node):
    """``import a.b as c``: pairs of dotted name and alias (None without ``as``)."""

    names: tuple[tuple[str, str | None], ...]


@dataclass(frozen=True, slots=True)
class ImportFrom(Node):
    """``from ..module import name as alias``: ``level`` counts the leading dots; ``*`` is a name."""

    module: str
    level: int
    names: tuple[tuple[str, str | None], ...]


@dataclass(frozen=True, slots=True)
class FunctionDef(Node):
    """A function; its span starts at ``def`` (not at the decorators), ``name_span`` is its name."""

    name: str
    name_span: Span
    parameters: tuple[Parameter, ...]
    returns: Expr | None
    decorators: tuple[Expr, ...]
    body: tuple[Stmt, ...]


@dataclass(frozen=True, slots=True)
class ClassDef(Node):
    """A class; its span starts at ``class``."""

    name: str
    name_span: Span
    bases: tuple[Expr, ...]
    keywords: tuple[Keyword, ...]
    decorators: tuple[Expr, ...]
    body: tuple[Stmt, ...]


@dataclass(frozen=True, slots=True)
class TypeAlias(Node):
    """``type name = value``."""

    name: str
    value: Expr


Stmt = Union[
    Assign,
    AugAssign,
    AnnAssign,
    ExprStmt,
    If,
    For,
    While,
    With,
    Try,
    Match,
    Return,
    Raise,
    Assert,
    Delete,
    Break,
    Continue,
    Pass,
    Global,
    Import,
    ImportFrom,
    FunctionDef,
    ClassDef,
    TypeAlias,
]

#: What binds a name.
Binder = Union[
    FunctionDef,
    ClassDef,
    Import,
    ImportFrom,
    Assign,
    AnnAssign,
    AugAssign,
    For,
    With,
    Try,
    Match,
    Delete,
    Global,
    TypeAlias,
    Parameter,
]


def _inside(node: Node) -> list[Node]:
    found: list[Node] = []
    names = _PARTS.get(node.__class__)
    for name in _parts_of(node.__class__) if names is None else names:
        value = getattr(node, name)
        if value.__class__ is tuple:
            found += [item for item in value if item is not None]
        elif value is not None:
            found.append(value)
    return found


#: The names of the fields that hold nodes, by the class of the node: much of an analysis goes through trees.
_PARTS: dict[type[Node], tuple[str, ...]] = {}

#: What fields are annotated with that hold no nodes.
_NO_NODES = frozenset(
    {"Span", "str", "int", "object", "str | None", "tuple[str, ...]", "tuple[tuple[str, str | None], ...]"}
)


def _parts_of(kind: type[Node]) -> tuple[str, ...]:
    fields = dataclasses.fields(kind)
    found = _PARTS[kind] = tuple(field.name for field in fields if field.type not in _NO_NODES)
    return found


def children(node: Node) -> Iterator[Node]:
    """The nodes directly inside ``node``, in the order of its fields."""
    yield from _inside(node)


def walk(node: Node) -> Iterator[Node]:
    """``node`` and every node inside it, parents first."""
    stack = [node]
    while stack:
        current = stack.pop()
        yield current
        inside = _inside(current)
        inside.reverse()
        stack += inside


def dotted(expr: Expr) -> str | None:
    """``a.b.c`` for a chain of attributes on a name, else None."""
    parts: list[str] = []
    while isinstance(expr, Attribute):
        parts.append(expr.attr)
        expr = expr.value
    if not isinstance(expr, Name):
        return None
    return ".".join([expr.id, *reversed(parts)])
