"""Source text to IR with LibCST: the reader behind every reported place, and the one that knows newer syntax.

The tree and its spans are those of ``warplint.frontend.fast``, which follow Python's ``ast``: an expression's span
leaves out parentheses around it, except a tuple's and a generator expression's own; a definition's span starts
behind its decorators; a compound statement ends where its last statement does.
"""

from __future__ import annotations

import ast
import dataclasses
import re
import unicodedata
import warnings
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import libcst as cst
from libcst.metadata import MetadataWrapper, PositionProvider

from warplint.frontend.operators import AUGMENTED, BINARY, COMPARISON, UNARY
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

#: A place: line and column, both from 1.
_Point = tuple[int, int]


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


class _Visitor(cst.CSTVisitor):
    """Builds the IR node of every LibCST node when it leaves it, from those of its parts.

    It goes its own way through the tree (``walk``): LibCST's ``visit`` makes every node anew, in case a part changed.
    """

    def __init__(self, positions: Any, shift: int) -> None:
        super().__init__()
        self._positions = positions
        self._shift = shift
        self._made: dict[cst.CSTNode, Any] = {}

    # --- places ---

    def _start(self, node: cst.CSTNode) -> _Point:
        start = self._positions[node].start
        return start.line + self._shift, start.column + 1

    def _end(self, node: cst.CSTNode) -> _Point:
        end = self._positions[node].end
        return end.line + self._shift, end.column + 1

    def _span(self, node: cst.CSTNode) -> Span:
        place = self._positions[node]
        start, end = place.start, place.end
        return Span(start.line + self._shift, start.column + 1, end.line + self._shift, end.column + 1)

    def _outer_start(self, node: Any) -> _Point:
        return self._start(node.lpar[0] if node.lpar else node)

    def _outer_end(self, node: Any) -> _Point:
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
        name = _identifier(node.name.name) if node.name else None
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

    def _pattern_start(self, pattern: cst.MatchPattern) -> _Point:
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
        names = tuple([_identifier(item.name) for item in original_node.names])
        self._put(original_node, ir.Global(self._span(original_node), "global", names))

    def leave_Nonlocal(self, original_node: cst.Nonlocal) -> None:
        names = tuple([_identifier(item.name) for item in original_node.names])
        self._put(original_node, ir.Global(self._span(original_node), "nonlocal", names))

    def leave_Import(self, original_node: cst.Import) -> None:
        self._put(original_node, ir.Import(self._span(original_node), _aliases(original_node.names)))

    def leave_ImportFrom(self, original_node: cst.ImportFrom) -> None:
        module = _identifier(original_node.module) if original_node.module else ""
        level = len(original_node.relative)
        names = (("*", None),) if isinstance(original_node.names, cst.ImportStar) else _aliases(original_node.names)
        self._put(original_node, ir.ImportFrom(self._span(original_node), module, level, names))

    def leave_FunctionDef(self, original_node: cst.FunctionDef) -> None:
        body = self._block(original_node.body)
        made = ir.FunctionDef(
            self._down_to(original_node, body),
            _identifier(original_node.name),
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
            _identifier(original_node.name),
            self._span(original_node.name),
            bases,
            keywords,
            tuple([self._of(decorator.decorator) for decorator in original_node.decorators]),
            body,
        )
        self._put(original_node, made)

    def leave_TypeAlias(self, original_node: cst.TypeAlias) -> None:
        span = Span(*self._start(original_node), *self._outer_end(original_node.value))
        made = ir.TypeAlias(span, _identifier(original_node.name), self._of(original_node.value))
        self._put(original_node, made)

    def leave_Parameters(self, original_node: cst.Parameters) -> None:
        node = original_node
        found = [self._parameter(param, "positional") for param in (*node.posonly_params, *node.params)]
        if isinstance(node.star_arg, cst.Param):
            found.append(self._parameter(node.star_arg, "*"))
        found.extend(self._parameter(param, "keyword") for param in node.kwonly_params)
        if node.star_kwarg is not None:
            found.append(self._parameter(node.star_kwarg, "**"))
        self._made[node] = tuple(found)

    def _parameter(self, node: cst.Param, kind: str) -> ir.Parameter:
        annotation = self._of(node.annotation.annotation) if node.annotation else None
        end = self._end(node.annotation or node.name)
        span = Span(*self._start(node.name), *end)
        return ir.Parameter(span, _identifier(node.name), annotation, self._maybe(node.default), kind)

    # --- expressions ---

    def leave_Name(self, original_node: cst.Name) -> None:
        span = self._span(original_node)
        if original_node.value in _NAMED_CONSTANTS:
            self._put(original_node, ir.Constant(span, _NAMED_CONSTANTS[original_node.value]))
        else:
            self._put(original_node, ir.Name(span, _identifier(original_node)))

    def _leave_literal(self, node: cst.BaseNumber | cst.SimpleString) -> None:
        self._put(node, ir.Constant(self._span(node), self._literal(node)))

    def _literal(self, node: Any) -> Any:
        try:
            return ast.literal_eval(node.value)
        except (SyntaxError, ValueError) as error:
            message = error.msg if isinstance(error, SyntaxError) else str(error)
            raise SyntaxError(message, (None, *self._start(node), None)) from None

    def leave_Integer(self, original_node: cst.Integer) -> None:
        self._leave_literal(original_node)

    def leave_Float(self, original_node: cst.Float) -> None:
        self._leave_literal(original_node)

    def leave_Imaginary(self, original_node: cst.Imaginary) -> None:
        self._leave_literal(original_node)

    def leave_SimpleString(self, original_node: cst.SimpleString) -> None:
        self._leave_literal(original_node)

    def leave_ConcatenatedString(self, original_node: cst.ConcatenatedString) -> None:
        parts: list[cst.BaseString] = []
        rest: cst.BaseString = original_node
        while isinstance(rest, cst.ConcatenatedString):
            parts.append(rest.left)
            rest = rest.right
        parts.append(rest)
        if not all(isinstance(part, cst.SimpleString) for part in parts):
            self._put(original_node, ir.Format(self._span(original_node)))
            return
        values = [self._literal(part) for part in parts]
        if len({type(value) for value in values}) > 1:
            raise SyntaxError("cannot mix bytes and nonbytes literals", (None, *self._start(original_node), None))
        self._put(original_node, ir.Constant(self._span(original_node), type(values[0])().join(values)))

    def leave_FormattedString(self, original_node: cst.FormattedString) -> None:
        self._put(original_node, ir.Format(self._span(original_node)))

    def leave_TemplatedString(self, original_node: cst.CSTNode) -> None:
        self._put(original_node, ir.Format(self._span(original_node)))

    def leave_Ellipsis(self, original_node: cst.Ellipsis) -> None:
        self._put(original_node, ir.Constant(self._span(original_node), ...))

    def leave_Attribute(self, original_node: cst.Attribute) -> None:
        value, name = self._of(original_node.value), _identifier(original_node.attr)
        self._put(original_node, ir.Attribute(self._span(original_node), value, name))

    def leave_Subscript(self, original_node: cst.Subscript) -> None:
        elements = original_node.slice
        last = elements[-1]
        indices = [self._index(element.slice) for element in elements]
        if len(indices) == 1 and not isinstance(last.comma, cst.Comma) and not isinstance(indices[0], ir.Starred):
            index: ir.Expr = indices[0]
        else:
            end: _Point = (indices[-1].span.end_line, indices[-1].span.end_column)
            if isinstance(last.slice, cst.Index):
                end = self._outer_end(last.slice.value)
            if isinstance(last.comma, cst.Comma):
                end = self._start(last.comma.whitespace_after)
            index = ir.Tuple(Span(*self._start(elements[0]), *end), tuple(indices))
        self._put(original_node, ir.Subscript(self._span(original_node), self._of(original_node.value), index))

    def _index(self, node: cst.BaseSlice) -> ir.Expr:
        if isinstance(node, cst.Index):
            value: ir.Expr = self._of(node.value)
            if node.star:
                return ir.Starred(Span(*self._start(node), *self._outer_end(node.value)), value)
            return value
        assert isinstance(node, cst.Slice)
        # LibCST counts the whitespace around colons as part of the slice.
        start = self._outer_start(node.lower) if node.lower else self._end(node.first_colon.whitespace_before)
        if node.step:
            end = self._outer_end(node.step)
        elif isinstance(node.second_colon, cst.Colon):
            end = self._start(node.second_colon.whitespace_after)
        elif node.upper:
            end = self._outer_end(node.upper)
        else:
            end = self._start(node.first_colon.whitespace_after)
        return ir.Slice(Span(*start, *end), self._maybe(node.lower), self._maybe(node.upper), self._maybe(node.step))

    def leave_Call(self, original_node: cst.Call) -> None:
        args, keywords = self._arguments(original_node.args)
        span = self._span(original_node)
        if (
            len(args) == 1
            and isinstance(args[0], ir.Comprehension)
            and isinstance(original_node.args[0].value, cst.GeneratorExp)
        ):
            generator = original_node.args[0].value
            if not generator.lpar:
                # The call's parentheses are also the generator's; the space behind the opening one tells where it is.
                line, column = self._start(original_node.whitespace_before_args)
                whole = Span(line, column - 1, span.end_line, span.end_column)
                args = (ir.Comprehension(whole, "generator", None, args[0].element, args[0].generators),)
        self._put(original_node, ir.Call(span, self._of(original_node.func), args, keywords))

    def _arguments(self, nodes: Iterable[cst.Arg]) -> tuple[tuple[ir.Expr, ...], tuple[ir.Keyword, ...]]:
        args: list[ir.Expr] = []
        keywords: list[ir.Keyword] = []
        for node in nodes:
            value = self._of(node.value)
            if node.star == "*":
                args.append(ir.Starred(self._span(node), value))
            elif node.star == "**" or node.keyword is not None:
                name = _identifier(node.keyword) if node.keyword else None
                keywords.append(ir.Keyword(self._span(node), name, value))
            else:
                args.append(value)
        return tuple(args), tuple(keywords)

    def leave_BinaryOperation(self, original_node: cst.BinaryOperation) -> None:
        operator = BINARY[original_node.operator.__class__.__name__]
        left, right = self._of(original_node.left), self._of(original_node.right)
        self._put(original_node, ir.Binary(self._span(original_node), left, operator, right))

    def leave_UnaryOperation(self, original_node: cst.UnaryOperation) -> None:
        operator = UNARY[original_node.operator.__class__.__name__]
        operand = self._of(original_node.expression)
        self._put(original_node, ir.Unary(self._span(original_node), operator, operand))

    def leave_Comparison(self, original_node: cst.Comparison) -> None:
        operators = tuple([COMPARISON[part.operator.__class__.__name__] for part in original_node.comparisons])
        comparators = tuple([self._of(part.comparator) for part in original_node.comparisons])
        left = self._of(original_node.left)
        self._put(original_node, ir.Compare(self._span(original_node), left, operators, comparators))

    def leave_BooleanOperation(self, original_node: cst.BooleanOperation) -> None:
        operator = "and" if isinstance(original_node.operator, cst.And) else "or"
        left, right = self._of(original_node.left), self._of(original_node.right)
        # `a and b and c` is one operation with three values, `(a and b) and c` is two.
        chained = isinstance(left, ir.Boolean) and left.operator == operator and not original_node.left.lpar
        values = (*left.values, right) if chained else (left, right)
        self._put(original_node, ir.Boolean(self._span(original_node), operator, values))

    def leave_IfExp(self, original_node: cst.IfExp) -> None:
        test, body = self._of(original_node.test), self._of(original_node.body)
        orelse = self._of(original_node.orelse)
        self._put(original_node, ir.Conditional(self._span(original_node), test, body, orelse))

    def leave_Element(self, original_node: cst.Element) -> None:
        self._put(original_node, self._of(original_node.value))

    def leave_StarredElement(self, original_node: cst.StarredElement) -> None:
        span = Span(*self._start(original_node), *self._outer_end(original_node.value))
        self._put(original_node, ir.Starred(span, self._of(original_node.value)))

    def leave_Tuple(self, original_node: cst.Tuple) -> None:
        span = self._with_parentheses(original_node)
        self._put(original_node, ir.Tuple(span, self._all(original_node.elements)))

    def leave_List(self, original_node: cst.List) -> None:
        self._put(original_node, ir.List(self._span(original_node), self._all(original_node.elements)))

    def leave_Set(self, original_node: cst.Set) -> None:
        self._put(original_node, ir.Set(self._span(original_node), self._all(original_node.elements)))

    def leave_Dict(self, original_node: cst.Dict) -> None:
        keys, values = [], []
        for element in original_node.elements:
            keys.append(self._of(element.key) if isinstance(element, cst.DictElement) else None)
            values.append(self._of(element.value))
        self._put(original_node, ir.Dict(self._span(original_node), tuple(keys), tuple(values)))

    def leave_Lambda(self, original_node: cst.Lambda) -> None:
        parameters, body = self._of(original_node.params), self._of(original_node.body)
        self._put(original_node, ir.Lambda(self._span(original_node), parameters, body))

    def _leave_comprehension(self, node: Any, kind: str, span: Span) -> None:
        key, element = (self._of(node.key), self._of(node.value)) if kind == "dict" else (None, self._of(node.elt))
        generators = []
        clause: cst.CompFor | None = node.for_in
        while clause is not None:
            target, iterable = self._of(clause.target), self._of(clause.iter)
            conditions = tuple([self._of(condition.test) for condition in clause.ifs])
            last = conditions[-1] if conditions else iterable
            generators.append(ir.Generator(target.span.to(last.span), target, iterable, conditions))
            clause = clause.inner_for_in
        self._put(node, ir.Comprehension(span, kind, key, element, tuple(generators)))

    def leave_ListComp(self, original_node: cst.ListComp) -> None:
        self._leave_comprehension(original_node, "list", self._span(original_node))

    def leave_SetComp(self, original_node: cst.SetComp) -> None:
        self._leave_comprehension(original_node, "set", self._span(original_node))

    def leave_DictComp(self, original_node: cst.DictComp) -> None:
        self._leave_comprehension(original_node, "dict", self._span(original_node))

    def leave_GeneratorExp(self, original_node: cst.GeneratorExp) -> None:
        self._leave_comprehension(original_node, "generator", self._with_parentheses(original_node))

    def leave_NamedExpr(self, original_node: cst.NamedExpr) -> None:
        target, value = self._of(original_node.target), self._of(original_node.value)
        self._put(original_node, ir.Walrus(self._span(original_node), target, value))

    def leave_Await(self, original_node: cst.Await) -> None:
        value = self._of(original_node.expression)
        self._put(original_node, ir.Opaque(self._span(original_node), "await", (value,)))

    def leave_Yield(self, original_node: cst.Yield) -> None:
        value = original_node.value
        start = self._start(original_node)
        if value is None:
            span = Span(*start, start[0], start[1] + len("yield"))
            self._put(original_node, ir.Opaque(span, "yield", ()))
            return
        kind, item = ("yieldfrom", value.item) if isinstance(value, cst.From) else ("yield", value)
        span = Span(*start, *self._outer_end(item))
        self._put(original_node, ir.Opaque(span, kind, (self._of(item),)))


class _Captures(cst.CSTVisitor):
    """The names that a pattern binds."""

    def __init__(self) -> None:
        super().__init__()
        self.names: set[str] = set()

    def _capture(self, name: cst.Name | None) -> None:
        if name is not None:
            self.names.add(_identifier(name))

    def visit_MatchAs(self, node: cst.MatchAs) -> None:
        self._capture(node.name)

    def visit_MatchStar(self, node: cst.MatchStar) -> None:
        self._capture(node.name)

    def visit_MatchMapping(self, node: cst.MatchMapping) -> None:
        self._capture(node.rest)


def _identifier(node: Any) -> str:
    """A name, or names with dots between, as Python's parser gives it: in Unicode's NFKC form (PEP 3131)."""
    if isinstance(node, cst.Attribute):
        return f"{_identifier(node.value)}.{_identifier(node.attr)}"
    name: str = node.value
    return name if name.isascii() else unicodedata.normalize("NFKC", name)


def _aliases(names: Sequence[cst.ImportAlias]) -> tuple[tuple[str, str | None], ...]:
    return tuple([(_identifier(name.name), _identifier(name.asname.name) if name.asname else None) for name in names])


_NAMED_CONSTANTS = {"True": True, "False": False, "None": None}

#: The way through a node of a class: its fields that can hold parts, and what is called when it is left.
_Way = tuple[tuple[str, ...], "Callable[[_Visitor, Any], None] | None"]
_WAYS: dict[type, _Way] = {}

# Fields that hold spaces and punctuation only. The others hold nodes, text, or say that there is nothing.
_BLANK = re.compile(r"\w*whitespace\w*|\w*lines\w*|header|footer|[lr](?:par|bracket|brace)|comma|semicolon|equal|dot")


def _way(kind: type) -> _Way:
    found: _Way = ((), None)
    if issubclass(kind, cst.CSTNode) and not issubclass(kind, _NOT_ENTERED):
        names = tuple(field.name for field in dataclasses.fields(kind) if not _BLANK.fullmatch(field.name))
        found = (names, getattr(_Visitor, f"leave_{kind.__name__}", None))
    elif issubclass(kind, cst.CSTNode):
        found = ((), getattr(_Visitor, f"leave_{kind.__name__}", None))
    _WAYS[kind] = found
    return found


# Nodes without parts that the IR keeps. A format string is one of them: its parts have no true places before
# Python 3.12.
_NOT_ENTERED = (
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
