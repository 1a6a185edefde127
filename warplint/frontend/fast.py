"""Source text to IR with Python's own parser: the reader that screens everything."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Callable
from typing import Any

from warplint.ir import syntax as ir
from warplint.ir.spans import Span

_OPERATORS: dict[type[ast.AST], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.Pow: "**",
    ast.MatMult: "@",
    ast.LShift: "<<",
    ast.RShift: ">>",
    ast.BitOr: "|",
    ast.BitAnd: "&",
    ast.BitXor: "^",
    ast.USub: "-",
    ast.UAdd: "+",
    ast.Invert: "~",
    ast.Not: "not",
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Is: "is",
    ast.IsNot: "is not",
    ast.In: "in",
    ast.NotIn: "not in",
    ast.And: "and",
    ast.Or: "or",
}


def read(text: str, first_line: int = 1) -> tuple[ir.Stmt, ...]:
    """The statements of ``text``, whose first line is line ``first_line`` of its file.

    Raises SyntaxError as ``ast.parse`` does.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # invalid escapes are not our subject
        tree = ast.parse(text)
    return _Reader(text, first_line).block(tree.body)


# What ``Span(...)`` calls in the end; every node has a span, and this way it costs half as much.
_new = tuple.__new__

# What stands before the name of a function or class, which ast does not locate.
_BEFORE_NAME = re.compile(r"(?:async(?:[ \t\f]|\\\n)+)?(?:def|class)(?:[ \t\f]|\\\n)+")
_WORD = re.compile(r"\w+")


def _column(line: str, offset: int) -> int:
    return len(line.encode()[:offset].decode()) + 1


class _Reader:
    """Turns ``ast`` nodes into IR nodes, with spans in code points and lines of the whole file."""

    def __init__(self, text: str, first_line: int) -> None:
        self._shift = first_line - 1
        self._text = text
        # ast counts columns in UTF-8 bytes; only lines with other characters need translating.
        self._lines = None if text.isascii() else [None if line.isascii() else line for line in text.split("\n")]
        self._offsets: list[int] | None = None

    def span(self, node: Any) -> Span:
        line, end_line, shift = node.lineno, node.end_lineno, self._shift
        column, end_column = node.col_offset + 1, node.end_col_offset + 1
        lines = self._lines
        if lines is not None:
            first, last = lines[line - 1], lines[end_line - 1]
            if first is not None:
                column = _column(first, node.col_offset)
            if last is not None:
                end_column = _column(last, node.end_col_offset)
        return _new(Span, (line + shift, column, end_line + shift, end_column))

    def _down_to(self, node: Any, *blocks: tuple[ir.Stmt, ...]) -> Span:
        """From the start of a compound statement to the end of the last statement in it.

        ast would count a semicolon behind that.
        """
        start = self.span(node)
        last = next(block for block in reversed(blocks) if block)[-1].span
        return _new(Span, (start.line, start.column, last.end_line, last.end_column))

    # --- statements ---

    def block(self, body: list[ast.stmt]) -> tuple[ir.Stmt, ...]:
        return tuple([_STATEMENTS[node.__class__](self, node) for node in body])

    def assign(self, node: ast.Assign) -> ir.Stmt:
        return ir.Assign(self.span(node), self.all(node.targets), self.expr(node.value))

    def aug_assign(self, node: ast.AugAssign) -> ir.Stmt:
        operator = _OPERATORS[node.op.__class__]
        return ir.AugAssign(self.span(node), self.expr(node.target), operator, self.expr(node.value))

    def ann_assign(self, node: ast.AnnAssign) -> ir.Stmt:
        return ir.AnnAssign(self.span(node), self.expr(node.target), self.expr(node.annotation), self.maybe(node.value))

    def expr_stmt(self, node: ast.Expr) -> ir.Stmt:
        return ir.ExprStmt(self.span(node), self.expr(node.value))

    def if_(self, node: ast.If) -> ir.Stmt:
        test, body, orelse = self.expr(node.test), self.block(node.body), self.block(node.orelse)
        return ir.If(self._down_to(node, body, orelse), test, body, orelse)

    def for_(self, node: ast.For | ast.AsyncFor) -> ir.Stmt:
        target, iterable = self.expr(node.target), self.expr(node.iter)
        body, orelse = self.block(node.body), self.block(node.orelse)
        return ir.For(self._down_to(node, body, orelse), target, iterable, body, orelse)

    def while_(self, node: ast.While) -> ir.Stmt:
        test, body, orelse = self.expr(node.test), self.block(node.body), self.block(node.orelse)
        return ir.While(self._down_to(node, body, orelse), test, body, orelse)

    def with_(self, node: ast.With | ast.AsyncWith) -> ir.Stmt:
        items = []
        for item in node.items:
            context = self.expr(item.context_expr)
            target = self.maybe(item.optional_vars)
            items.append(ir.WithItem(context.span.to(target.span) if target else context.span, context, target))
        body = self.block(node.body)
        return ir.With(self._down_to(node, body), tuple(items), body)

    def try_(self, node: Any) -> ir.Stmt:
        body, orelse, final = self.block(node.body), self.block(node.orelse), self.block(node.finalbody)
        handlers = tuple([self._handler(handler) for handler in node.handlers])
        span = self._down_to(node, body, handlers[-1].body if handlers else (), orelse, final)
        return ir.Try(span, body, handlers, orelse, final)

    def _handler(self, node: ast.ExceptHandler) -> ir.Handler:
        body = self.block(node.body)
        return ir.Handler(self._down_to(node, body), self.maybe(node.type), node.name, body)

    def match(self, node: ast.Match) -> ir.Stmt:
        cases = []
        for case in node.cases:
            names = sorted(
                {
                    name
                    for pattern in ast.walk(case.pattern)
                    for name in (getattr(pattern, "name", None), getattr(pattern, "rest", None))
                    if isinstance(name, str)
                }
            )
            body = self.block(case.body)
            start = self.span(case.pattern)
            cases.append(ir.Case(start.to(body[-1].span), tuple(names), self.maybe(case.guard), body))
        return ir.Match(self._down_to(node, cases[-1].body), self.expr(node.subject), tuple(cases))

    def return_(self, node: ast.Return) -> ir.Stmt:
        return ir.Return(self.span(node), self.maybe(node.value))

    def raise_(self, node: ast.Raise) -> ir.Stmt:
        return ir.Raise(self.span(node), self.maybe(node.exc))

    def assert_(self, node: ast.Assert) -> ir.Stmt:
        return ir.Assert(self.span(node), self.expr(node.test))

    def delete(self, node: ast.Delete) -> ir.Stmt:
        return ir.Delete(self.span(node), self.all(node.targets))

    def break_(self, node: ast.Break) -> ir.Stmt:
        return ir.Break(self.span(node))

    def continue_(self, node: ast.Continue) -> ir.Stmt:
        return ir.Continue(self.span(node))

    def pass_(self, node: ast.Pass) -> ir.Stmt:
        return ir.Pass(self.span(node))

    def global_(self, node: ast.Global) -> ir.Stmt:
        return ir.Global(self.span(node), "global", tuple(node.names))

    def nonlocal_(self, node: ast.Nonlocal) -> ir.Stmt:
        return ir.Global(self.span(node), "nonlocal", tuple(node.names))

    def import_(self, node: ast.Import) -> ir.Stmt:
        return ir.Import(self.span(node), tuple([(alias.name, alias.asname) for alias in node.names]))

    def import_from(self, node: ast.ImportFrom) -> ir.Stmt:
        names = tuple([(alias.name, alias.asname) for alias in node.names])
        return ir.ImportFrom(self.span(node), node.module or "", node.level, names)

    def function(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> ir.Stmt:
        body = self.block(node.body)
        return ir.FunctionDef(
            self._down_to(node, body),
            node.name,
            self._name_span(node),
            self.parameters(node.args),
            self.maybe(node.returns),
            self.all(node.decorator_list),
            body,
        )

    def class_(self, node: ast.ClassDef) -> ir.Stmt:
        body = self.block(node.body)
        return ir.ClassDef(
            self._down_to(node, body),
            node.name,
            self._name_span(node),
            self.all(node.bases),
            self.keywords(node.keywords),
            self.all(node.decorator_list),
            body,
        )

    def type_alias(self, node: Any) -> ir.Stmt:
        return ir.TypeAlias(self.span(node), node.name.id, self.expr(node.value))

    def _name_span(self, node: Any) -> Span:
        """The span of the name of a definition."""
        if self._offsets is None:
            self._offsets = [0, *(newline.end() for newline in re.finditer("\n", self._text))]
        # Nothing but indentation, which is ASCII, stands before the keyword.
        line, start = node.lineno, self._offsets[node.lineno - 1] + node.col_offset
        before = _BEFORE_NAME.match(self._text, start)
        assert before is not None
        name = _WORD.match(self._text, before.end())
        assert name is not None
        line += self._text.count("\n", start, name.start())
        column = name.start() - self._offsets[line - 1] + 1
        return Span(line + self._shift, column, line + self._shift, column + name.end() - name.start())

    def parameters(self, node: ast.arguments) -> tuple[ir.Parameter, ...]:
        if not (node.args or node.posonlyargs or node.kwonlyargs or node.vararg or node.kwarg):
            return ()
        positional = [*node.posonlyargs, *node.args]
        defaults: list[ast.expr | None] = [None] * (len(positional) - len(node.defaults))
        defaults.extend(node.defaults)
        found = [self._parameter(arg, default, "positional") for arg, default in zip(positional, defaults, strict=True)]
        if node.vararg:
            found.append(self._parameter(node.vararg, None, "*"))
        for arg, default in zip(node.kwonlyargs, node.kw_defaults, strict=True):
            found.append(self._parameter(arg, default, "keyword"))
        if node.kwarg:
            found.append(self._parameter(node.kwarg, None, "**"))
        return tuple(found)

    def _parameter(self, arg: ast.arg, default: ast.expr | None, kind: str) -> ir.Parameter:
        return ir.Parameter(self.span(arg), arg.arg, self.maybe(arg.annotation), self.maybe(default), kind)

    # --- expressions ---

    def expr(self, node: ast.expr) -> ir.Expr:
        return _EXPRESSIONS[node.__class__](self, node)

    def maybe(self, node: ast.expr | None) -> ir.Expr | None:
        return None if node is None else _EXPRESSIONS[node.__class__](self, node)

    def all(self, nodes: list[Any]) -> tuple[ir.Expr, ...]:
        return tuple([_EXPRESSIONS[node.__class__](self, node) for node in nodes])

    def keywords(self, nodes: list[ast.keyword]) -> tuple[ir.Keyword, ...]:
        return tuple([ir.Keyword(self.span(node), node.arg, self.expr(node.value)) for node in nodes])

    def name(self, node: ast.Name) -> ir.Expr:
        return ir.Name(self.span(node), node.id)

    def constant(self, node: ast.Constant) -> ir.Expr:
        return ir.Constant(self.span(node), node.value)

    def attribute(self, node: ast.Attribute) -> ir.Expr:
        return ir.Attribute(self.span(node), self.expr(node.value), node.attr)

    def subscript(self, node: ast.Subscript) -> ir.Expr:
        return ir.Subscript(self.span(node), self.expr(node.value), self.expr(node.slice))

    def slice(self, node: ast.Slice) -> ir.Expr:
        return ir.Slice(self.span(node), self.maybe(node.lower), self.maybe(node.upper), self.maybe(node.step))

    def call(self, node: ast.Call) -> ir.Expr:
        return ir.Call(self.span(node), self.expr(node.func), self.all(node.args), self.keywords(node.keywords))

    def binary(self, node: ast.BinOp) -> ir.Expr:
        operator = _OPERATORS[node.op.__class__]
        return ir.Binary(self.span(node), self.expr(node.left), operator, self.expr(node.right))

    def unary(self, node: ast.UnaryOp) -> ir.Expr:
        return ir.Unary(self.span(node), _OPERATORS[node.op.__class__], self.expr(node.operand))

    def compare(self, node: ast.Compare) -> ir.Expr:
        operators = tuple([_OPERATORS[operator.__class__] for operator in node.ops])
        return ir.Compare(self.span(node), self.expr(node.left), operators, self.all(node.comparators))

    def boolean(self, node: ast.BoolOp) -> ir.Expr:
        return ir.Boolean(self.span(node), _OPERATORS[node.op.__class__], self.all(node.values))

    def conditional(self, node: ast.IfExp) -> ir.Expr:
        return ir.Conditional(self.span(node), self.expr(node.test), self.expr(node.body), self.expr(node.orelse))

    def tuple_(self, node: ast.Tuple) -> ir.Expr:
        return ir.Tuple(self.span(node), self.all(node.elts))

    def list_(self, node: ast.List) -> ir.Expr:
        return ir.List(self.span(node), self.all(node.elts))

    def set_(self, node: ast.Set) -> ir.Expr:
        return ir.Set(self.span(node), self.all(node.elts))

    def dict_(self, node: ast.Dict) -> ir.Expr:
        return ir.Dict(self.span(node), tuple([self.maybe(key) for key in node.keys]), self.all(node.values))

    def starred(self, node: ast.Starred) -> ir.Expr:
        return ir.Starred(self.span(node), self.expr(node.value))

    def lambda_(self, node: ast.Lambda) -> ir.Expr:
        return ir.Lambda(self.span(node), self.parameters(node.args), self.expr(node.body))

    def comprehension(self, node: Any) -> ir.Expr:
        kind = _COMPREHENSIONS[node.__class__]
        key = self.expr(node.key) if kind == "dict" else None
        element = self.expr(node.value if kind == "dict" else node.elt)
        generators = []
        for generator in node.generators:
            target, iterable = self.expr(generator.target), self.expr(generator.iter)
            conditions = self.all(generator.ifs)
            last = conditions[-1] if conditions else iterable
            generators.append(ir.Generator(target.span.to(last.span), target, iterable, conditions))
        return ir.Comprehension(self.span(node), kind, key, element, tuple(generators))

    def walrus(self, node: ast.NamedExpr) -> ir.Expr:
        target = ir.Name(self.span(node.target), node.target.id)
        return ir.Walrus(self.span(node), target, self.expr(node.value))

    def format(self, node: Any) -> ir.Expr:
        return ir.Format(self.span(node))

    def opaque(self, node: Any) -> ir.Expr:
        value = getattr(node, "value", None)
        return ir.Opaque(self.span(node), node.__class__.__name__.lower(), (self.expr(value),) if value else ())


_COMPREHENSIONS: dict[type[ast.AST], str] = {
    ast.ListComp: "list",
    ast.SetComp: "set",
    ast.DictComp: "dict",
    ast.GeneratorExp: "generator",
}

_STATEMENTS: dict[type[ast.AST], Callable[[_Reader, Any], ir.Stmt]] = {
    ast.Assign: _Reader.assign,
    ast.AugAssign: _Reader.aug_assign,
    ast.AnnAssign: _Reader.ann_assign,
    ast.Expr: _Reader.expr_stmt,
    ast.If: _Reader.if_,
    ast.For: _Reader.for_,
    ast.AsyncFor: _Reader.for_,
    ast.While: _Reader.while_,
    ast.With: _Reader.with_,
    ast.AsyncWith: _Reader.with_,
    ast.Try: _Reader.try_,
    ast.Match: _Reader.match,
    ast.Return: _Reader.return_,
    ast.Raise: _Reader.raise_,
    ast.Assert: _Reader.assert_,
    ast.Delete: _Reader.delete,
    ast.Break: _Reader.break_,
    ast.Continue: _Reader.continue_,
    ast.Pass: _Reader.pass_,
    ast.Global: _Reader.global_,
    ast.Nonlocal: _Reader.nonlocal_,
    ast.Import: _Reader.import_,
    ast.ImportFrom: _Reader.import_from,
    ast.FunctionDef: _Reader.function,
    ast.AsyncFunctionDef: _Reader.function,
    ast.ClassDef: _Reader.class_,
}
for _name, _method in (("TryStar", _Reader.try_), ("TypeAlias", _Reader.type_alias)):
    if hasattr(ast, _name):  # from Python 3.11 and 3.12 on
        _STATEMENTS[getattr(ast, _name)] = _method

_EXPRESSIONS: dict[type[ast.AST], Callable[[_Reader, Any], ir.Expr]] = {
    ast.Name: _Reader.name,
    ast.Constant: _Reader.constant,
    ast.Attribute: _Reader.attribute,
    ast.Subscript: _Reader.subscript,
    ast.Slice: _Reader.slice,
    ast.Call: _Reader.call,
    ast.BinOp: _Reader.binary,
    ast.UnaryOp: _Reader.unary,
    ast.Compare: _Reader.compare,
    ast.BoolOp: _Reader.boolean,
    ast.IfExp: _Reader.conditional,
    ast.Tuple: _Reader.tuple_,
    ast.List: _Reader.list_,
    ast.Set: _Reader.set_,
    ast.Dict: _Reader.dict_,
    ast.Starred: _Reader.starred,
    ast.Lambda: _Reader.lambda_,
    ast.ListComp: _Reader.comprehension,
    ast.SetComp: _Reader.comprehension,
    ast.DictComp: _Reader.comprehension,
    ast.GeneratorExp: _Reader.comprehension,
    ast.NamedExpr: _Reader.walrus,
    ast.JoinedStr: _Reader.format,
    ast.Await: _Reader.opaque,
    ast.Yield: _Reader.opaque,
    ast.YieldFrom: _Reader.opaque,
}
if hasattr(ast, "TemplateStr"):  # Python 3.14
    _EXPRESSIONS[ast.TemplateStr] = _Reader.format
