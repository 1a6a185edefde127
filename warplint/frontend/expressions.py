"""Expressions of the LibCST visitor, parameters and arguments with them."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import Any

import libcst as cst

from warplint.frontend.operators import BINARY, COMPARISON, UNARY
from warplint.frontend.placing import Placing, Point, identifier
from warplint.ir import syntax as ir
from warplint.ir.spans import Span

_NAMED_CONSTANTS = {"True": True, "False": False, "None": None}


class Expressions(Placing):
    """Builds the IR node of every expression when it is left, from those of its parts."""

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
        return ir.Parameter(span, identifier(node.name), annotation, self._maybe(node.default), kind)

    def leave_Name(self, original_node: cst.Name) -> None:
        span = self._span(original_node)
        if original_node.value in _NAMED_CONSTANTS:
            self._put(original_node, ir.Constant(span, _NAMED_CONSTANTS[original_node.value]))
        else:
            self._put(original_node, ir.Name(span, identifier(original_node)))

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
        value, name = self._of(original_node.value), identifier(original_node.attr)
        self._put(original_node, ir.Attribute(self._span(original_node), value, name))

    def leave_Subscript(self, original_node: cst.Subscript) -> None:
        elements = original_node.slice
        last = elements[-1]
        indices = [self._index(element.slice) for element in elements]
        if len(indices) == 1 and not isinstance(last.comma, cst.Comma) and not isinstance(indices[0], ir.Starred):
            index: ir.Expr = indices[0]
        else:
            end: Point = (indices[-1].span.end_line, indices[-1].span.end_column)
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
                name = identifier(node.keyword) if node.keyword else None
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
