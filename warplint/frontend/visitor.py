"""Source text to IR with LibCST: the reader behind every reported place, and the one that knows newer syntax.

The tree and its spans are those of ``warplint.frontend.fast``, which follow Python's ``ast``: an expression's span
leaves out parentheses around it, except a tuple's and a generator expression's own; a definition's span starts
behind its decorators; a compound statement ends where its last statement does.
"""

from __future__ import annotations

import dataclasses
import re
import warnings
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import libcst as cst
from libcst.metadata import MetadataWrapper, PositionProvider

from warplint.frontend.expressions import Expressions
from warplint.frontend.operators import AUGMENTED
from warplint.frontend.placing import NOT_ENTERED, Point, identifier
from warplint.ir import syntax as ir
from warplint.ir.spans import Span

# CPython's own limit for brackets, and more operations than any person writes in one expression.
_MAX_DEPTH = 200
_MAX_CLAUSES = 1000
_DEEP = re.compile(
    r"(?:(?:[-+~]|not\b|await\b|lambda:)\s*){200}"
    r"|(?:[-+*/%@&|^.]+\s*\w+\s*){2000}"
    r"|(?:\bif\b[^\n]*\belse\b\s*){200}"
)
_FORM_FEED = re.compile(r"^[ \t]*\f[ \t\f]*[^\s#]", re.MULTILINE)


def read(text: str, first_line: int = 1) -> tuple[ir.Stmt, ...]:
    """The statements of ``text``, whose first line is line ``first_line`` of its file.

    Raises SyntaxError, with line and column in the file, where LibCST cannot parse the text.
    """
    _check(text, first_line)
    try:
        module = cst.parse_module(text)
    except cst.ParserSyntaxError as error:
        line, column = error.raw_line, error.raw_column + 1
        raise SyntaxError(error.message, (None, line + first_line - 1, column, error.context)) from None
    except cst.CSTValidationError as error:
        raise SyntaxError(str(error), (None, first_line, 1, None)) from None
    except UnicodeError as error:
        raise SyntaxError(f"the text is not valid Unicode: {error}", (None, first_line, 1, None)) from None
    # A module fresh from the parser holds no node twice, so it need not be copied.
    wrapper = _Wrapper(module, unsafe_skip_copy=True)
    try:
        positions = wrapper.resolve(PositionProvider)
    except KeyError:  # LibCST hides the RecursionError behind the lack of a position
        raise RecursionError from None
    reader = _Visitor(positions, first_line - 1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # invalid escapes are not our subject
        reader.walk(wrapper.module)
    return reader.statements(wrapper.module.body)


class _Wrapper(MetadataWrapper):
    """LibCST walks the whole tree for providers of metadata that share a walk, even where there are none."""

    def visit_batched(self, visitors: Iterable[Any], *arguments: Any, **keywords: Any) -> cst.CSTNode:
        visitors = list(visitors)
        return super().visit_batched(visitors, *arguments, **keywords) if visitors else self.module


def _check(text: str, first_line: int) -> None:
    """Keeps from LibCST what it cannot read.

    It crashes the process where brackets or operators nest some thousand levels deep. It forgets a form feed in front
    of code, so that columns would be wrong.
    """
    depth = 0
    for bracket in re.finditer(r"[(\[{]|[)\]}]", text):
        depth += 1 if bracket[0] in "([{" else -1
        if depth > _MAX_DEPTH:
            raise RecursionError("too many nested brackets")
    if _DEEP.search(text) or text.count("elif") > _MAX_CLAUSES:
        raise RecursionError("too many nested operations")
    found = _FORM_FEED.search(text)
    if found:
        line = first_line + text.count("\n", 0, found.start())
        raise SyntaxError("LibCST loses the form feed in front of this code", (None, line, 1, None))


class _Visitor(Expressions):
    """Builds the IR node of every LibCST node when it leaves it, from those of its parts.

    It goes its own way through the tree (``walk``): LibCST's ``visit`` makes every node anew, in case a part changed.
    """

    def walk(self, node: Any) -> None:
        """Call the ``leave`` methods of everything inside ``node``, and then its own."""
        names, leave = _WAYS.get(node.__class__) or _way(node.__class__)
        for name in names:
            value = getattr(node, name)
            if isinstance(value, (list, tuple)):
                for item in value:
                    self.walk(item)
            elif value is not None:
                self.walk(value)
        if leave is not None:
            leave(self, node)

    # --- blocks ---

    def statements(self, lines: Sequence[cst.CSTNode]) -> tuple[ir.Stmt, ...]:
        """The statements made from the lines of a block; one line may hold several."""
        found: list[ir.Stmt] = []
        for line in lines:
            if isinstance(line, cst.SimpleStatementLine):
                found.extend(self._all(line.body))
            else:
                found.append(self._of(line))
        return tuple(found)

    def _block(self, body: cst.BaseSuite) -> tuple[ir.Stmt, ...]:
        if isinstance(body, cst.IndentedBlock):
            return self.statements(body.body)
        return self._all(body.body)

    def _orelse(self, orelse: cst.If | cst.Else | None) -> tuple[ir.Stmt, ...]:
        if orelse is None:
            return ()
        return (self._of(orelse),) if isinstance(orelse, cst.If) else self._block(orelse.body)

    # --- statements ---

    def leave_Assign(self, original_node: cst.Assign) -> None:
        targets = tuple([self._of(target.target) for target in original_node.targets])
        self._put(original_node, ir.Assign(self._span(original_node), targets, self._of(original_node.value)))

    def leave_AugAssign(self, original_node: cst.AugAssign) -> None:
        target, value = self._of(original_node.target), self._of(original_node.value)
        operator = AUGMENTED[original_node.operator.__class__.__name__]
        self._put(original_node, ir.AugAssign(self._span(original_node), target, operator, value))

    def leave_AnnAssign(self, original_node: cst.AnnAssign) -> None:
        annotation = self._of(original_node.annotation.annotation)
        target, value = self._of(original_node.target), self._maybe(original_node.value)
        self._put(original_node, ir.AnnAssign(self._span(original_node), target, annotation, value))

    def leave_Expr(self, original_node: cst.Expr) -> None:
        self._put(original_node, ir.ExprStmt(self._span(original_node), self._of(original_node.value)))

    def leave_If(self, original_node: cst.If) -> None:
        body, orelse = self._block(original_node.body), self._orelse(original_node.orelse)
        span = self._down_to(original_node, body, orelse)
        self._put(original_node, ir.If(span, self._of(original_node.test), body, orelse))

    def leave_For(self, original_node: cst.For) -> None:
        body, orelse = self._block(original_node.body), self._orelse(original_node.orelse)
        span = self._down_to(original_node, body, orelse)
        target, iterable = self._of(original_node.target), self._of(original_node.iter)
        self._put(original_node, ir.For(span, target, iterable, body, orelse))

    def leave_While(self, original_node: cst.While) -> None:
        body, orelse = self._block(original_node.body), self._orelse(original_node.orelse)
        span = self._down_to(original_node, body, orelse)
        self._put(original_node, ir.While(span, self._of(original_node.test), body, orelse))

    def leave_WithItem(self, original_node: cst.WithItem) -> None:
        context = self._of(original_node.item)
        target = self._of(original_node.asname.name) if original_node.asname else None
        span = context.span.to(target.span) if target else context.span
        self._put(original_node, ir.WithItem(span, context, target))

    def leave_With(self, original_node: cst.With) -> None:
        body = self._block(original_node.body)
        span = self._down_to(original_node, body)
        self._put(original_node, ir.With(span, self._all(original_node.items), body))

    def _leave_handler(self, node: cst.ExceptHandler | cst.ExceptStarHandler) -> None:
        body = self._block(node.body)
        name = identifier(node.name.name) if node.name else None
        self._put(node, ir.Handler(self._down_to(node, body), self._maybe(node.type), name, body))

    def leave_ExceptHandler(self, original_node: cst.ExceptHandler) -> None:
        self._leave_handler(original_node)

    def leave_ExceptStarHandler(self, original_node: cst.ExceptStarHandler) -> None:
        self._leave_handler(original_node)

    def _leave_try(self, node: cst.Try | cst.TryStar) -> None:
        body, orelse = self._block(node.body), self._orelse(node.orelse)
        final = self._block(node.finalbody.body) if node.finalbody else ()
        handlers = self._all(node.handlers)
        span = self._down_to(node, body, handlers[-1].body if handlers else (), orelse, final)
        self._put(node, ir.Try(span, body, handlers, orelse, final))

    def leave_Try(self, original_node: cst.Try) -> None:
        self._leave_try(original_node)

    def leave_TryStar(self, original_node: cst.TryStar) -> None:
        self._leave_try(original_node)

    def leave_MatchCase(self, original_node: cst.MatchCase) -> None:
        captures = _Captures()
        original_node.pattern.visit(captures)
        body = self._block(original_node.body)
        start = self._pattern_start(original_node.pattern)
        span = Span(*start, body[-1].span.end_line, body[-1].span.end_column)
        guard = self._maybe(original_node.guard)
        self._put(original_node, ir.Case(span, tuple(sorted(captures.names)), guard, body))

    def _pattern_start(self, pattern: cst.MatchPattern) -> Point:
        if isinstance(pattern, cst.MatchTuple) and pattern.lpar:
            return self._start(pattern.lpar[-1])
        return self._start(pattern)

    def leave_Match(self, original_node: cst.Match) -> None:
        cases = self._all(original_node.cases)
        span = self._down_to(original_node, cases[-1].body)
        self._put(original_node, ir.Match(span, self._of(original_node.subject), cases))

    def leave_Return(self, original_node: cst.Return) -> None:
        self._put(original_node, ir.Return(self._span(original_node), self._maybe(original_node.value)))

    def leave_Raise(self, original_node: cst.Raise) -> None:
        self._put(original_node, ir.Raise(self._span(original_node), self._maybe(original_node.exc)))

    def leave_Assert(self, original_node: cst.Assert) -> None:
        self._put(original_node, ir.Assert(self._span(original_node), self._of(original_node.test)))

    def leave_Del(self, original_node: cst.Del) -> None:
        target = original_node.target
        if isinstance(target, cst.Tuple) and not target.lpar:
            targets = self._of(target).elements
        else:
            targets = (self._of(target),)
        self._put(original_node, ir.Delete(self._span(original_node), targets))

    def leave_Break(self, original_node: cst.Break) -> None:
        self._put(original_node, ir.Break(self._span(original_node)))

    def leave_Continue(self, original_node: cst.Continue) -> None:
        self._put(original_node, ir.Continue(self._span(original_node)))

    def leave_Pass(self, original_node: cst.Pass) -> None:
        self._put(original_node, ir.Pass(self._span(original_node)))

    def leave_Global(self, original_node: cst.Global) -> None:
        names = tuple([identifier(item.name) for item in original_node.names])
        self._put(original_node, ir.Global(self._span(original_node), "global", names))

    def leave_Nonlocal(self, original_node: cst.Nonlocal) -> None:
        names = tuple([identifier(item.name) for item in original_node.names])
        self._put(original_node, ir.Global(self._span(original_node), "nonlocal", names))

    def leave_Import(self, original_node: cst.Import) -> None:
        self._put(original_node, ir.Import(self._span(original_node), _aliases(original_node.names)))

    def leave_ImportFrom(self, original_node: cst.ImportFrom) -> None:
        module = identifier(original_node.module) if original_node.module else ""
        level = len(original_node.relative)
        names = (("*", None),) if isinstance(original_node.names, cst.ImportStar) else _aliases(original_node.names)
        self._put(original_node, ir.ImportFrom(self._span(original_node), module, level, names))

    def leave_FunctionDef(self, original_node: cst.FunctionDef) -> None:
        body = self._block(original_node.body)
        made = ir.FunctionDef(
            self._down_to(original_node, body),
            identifier(original_node.name),
            self._span(original_node.name),
            self._of(original_node.params),
            self._of(original_node.returns.annotation) if original_node.returns else None,
            tuple([self._of(decorator.decorator) for decorator in original_node.decorators]),
            body,
        )
        self._put(original_node, made)

    def leave_ClassDef(self, original_node: cst.ClassDef) -> None:
        body = self._block(original_node.body)
        bases, keywords = self._arguments((*original_node.bases, *original_node.keywords))
        made = ir.ClassDef(
            self._down_to(original_node, body),
            identifier(original_node.name),
            self._span(original_node.name),
            bases,
            keywords,
            tuple([self._of(decorator.decorator) for decorator in original_node.decorators]),
            body,
        )
        self._put(original_node, made)

    def leave_TypeAlias(self, original_node: cst.TypeAlias) -> None:
        span = Span(*self._start(original_node), *self._outer_end(original_node.value))
        made = ir.TypeAlias(span, identifier(original_node.name), self._of(original_node.value))
        self._put(original_node, made)


class _Captures(cst.CSTVisitor):
    """The names that a pattern binds."""

    def __init__(self) -> None:
        super().__init__()
        self.names: set[str] = set()

    def _capture(self, name: cst.Name | None) -> None:
        if name is not None:
            self.names.add(identifier(name))

    def visit_MatchAs(self, node: cst.MatchAs) -> None:
        self._capture(node.name)

    def visit_MatchStar(self, node: cst.MatchStar) -> None:
        self._capture(node.name)

    def visit_MatchMapping(self, node: cst.MatchMapping) -> None:
        self._capture(node.rest)


def _aliases(names: Sequence[cst.ImportAlias]) -> tuple[tuple[str, str | None], ...]:
    return tuple([(identifier(name.name), identifier(name.asname.name) if name.asname else None) for name in names])


#: The way through a node of a class: its fields that can hold parts, and what is called when it is left.
_Way = tuple[tuple[str, ...], "Callable[[_Visitor, Any], None] | None"]
_WAYS: dict[type, _Way] = {}

# Fields that hold spaces and punctuation only. The others hold nodes, text, or say that there is nothing.
_BLANK = re.compile(r"\w*whitespace\w*|\w*lines\w*|header|footer|[lr](?:par|bracket|brace)|comma|semicolon|equal|dot")


def _way(kind: type) -> _Way:
    found: _Way = ((), None)
    if issubclass(kind, cst.CSTNode) and not issubclass(kind, NOT_ENTERED):
        names = tuple(field.name for field in dataclasses.fields(kind) if not _BLANK.fullmatch(field.name))
        found = (names, getattr(_Visitor, f"leave_{kind.__name__}", None))
    elif issubclass(kind, cst.CSTNode):
        found = ((), getattr(_Visitor, f"leave_{kind.__name__}", None))
    _WAYS[kind] = found
    return found
