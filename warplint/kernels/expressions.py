"""Expressions of a body, as operations."""

from __future__ import annotations

import builtins as python
import re
from abc import abstractmethod

from warplint.ir import syntax as ir
from warplint.ir.spans import Span
from warplint.kernels import builtins, refusals, untranslated
from warplint.kernels.builder import Builder
from warplint.kernels.trace import Component
from warplint.kernels.types import (
    BOOL,
    BOOL_ITSELF,
    FLOAT,
    GENERIC,
    HANDLE,
    INT,
    QUAT,
    STRING,
    UNKNOWN_TYPE,
    Type,
    array,
    literal,
    vector,
)
from warplint.source.bindings import bound_names
from warplint.source.project import UNKNOWN, Definition, External, ParameterRef, Value

BINARY = {
    "+": "add",
    "-": "sub",
    "*": "mul",
    "/": "div",
    "//": "floordiv",
    "%": "mod",
    "**": "pow",
    "@": "mul",
    "&": "bit_and",
    "|": "bit_or",
    "^": "bit_xor",
    "<<": "lshift",
    ">>": "rshift",
}
#: The names that Python has everywhere.
_PYTHON = frozenset(dir(python))
#: What can give a module names that it does not bind.
_DYNAMIC = re.compile(r"\b(?:globals|vars|exec|setattr|locals|__dict__)\b")
_NUMPY = frozenset({"array", "zeros", "ones", "empty", "full", "eye", "arange", "linspace"})
_ATTRIBUTES = {"x": 0, "y": 1, "z": 2, "w": 3}


class Expressions(Builder):
    """Evaluates expressions."""

    #: How many calls the expression is an argument of, one in another. A name may stand for anything there.
    arguments_around = 0
    #: How many `and` and `or` decide whether the expression is evaluated at all.
    operands_asked = 0

    def expr(self, node: ir.Expr) -> int:
        """The operation that holds the value of ``node``."""
        if isinstance(node, ir.Name):
            return self._name(node)
        if isinstance(node, ir.Constant):
            return self._literal(node)
        if isinstance(node, ir.Attribute):
            return self._attribute(node)
        if isinstance(node, ir.Subscript):
            return self._subscript(node)
        if isinstance(node, ir.Binary):
            return self.operator(BINARY.get(node.operator, ""), self.expr(node.left), self.expr(node.right), node.span)
        if isinstance(node, ir.Unary):
            return self._unary(node)
        if isinstance(node, ir.Call):
            return self.call(node)
        if isinstance(node, ir.Compare):
            return self._compare(node)
        if isinstance(node, ir.Boolean):
            first = self.expr(node.values[0])
            self.operands_asked += 1
            values = (first, *(self.expr(value) for value in node.values[1:]))
            self.operands_asked -= 1
            return self.emit("logic", values, BOOL_ITSELF, node.span, node.operator)
        if isinstance(node, ir.Conditional):
            return self._conditional(node)
        if isinstance(node, ir.Tuple):
            parts = tuple(self.expr(element) for element in node.elements)
            return self.emit("construct", parts, Type("tuple", parts=tuple(map(self.type_of, parts))), node.span)
        if isinstance(node, ir.Walrus):
            value = self.expr(node.value)
            self.symbols[node.target.id] = value
            self.refuse(node.span, "walrus", "it has no `:=`")
            return value
        self.check_construct(node)
        return self.unknown(node.span)

    def check_construct(self, node: ir.Expr) -> None:
        """Refuses an expression that has no translation."""
        found = untranslated.expression(node)
        if found is not None:
            self.refuse(node.span, *found)

    # --- leaves ---

    def _literal(self, node: ir.Constant) -> int:
        if node.value is None and not self.arguments_around:
            self.refuse(node.span, "none", "it has no `None`")
        return self.constant(node.value, node.span, STRING if isinstance(node.value, str) else literal(node.value))

    def _name(self, node: ir.Name) -> int:
        known = self.symbols.get(node.id)
        if known is not None:
            unasked = not self.operands_asked and not any(self.trace.loops(self.frame))
            if unasked and self.one_armed.get(node.id) == (known, self.frame):
                self.trace.one_armed.append(node.span)  # in a loop, an earlier round may have set it
            return known
        return self._outer(node)

    def _is_nowhere(self, name: str) -> bool:
        """Whether nothing in the function or in its module can bind a name, and Python has none of it either."""
        module, own = self.module, bound_names(self.definition.node)
        if name in own or name in _PYTHON or name.startswith("__") or module.binds(name) or module.bindings("*"):
            return False
        return not _DYNAMIC.search(module.text)

    def _outer(self, node: ir.Expr) -> int:
        """A name or attribute that is no local: a constant if anything."""
        scope = self.definition.scope
        value = self.knowledge.constants.evaluate(self.module, node, scope, self.closure)
        found = self.project.resolve(self.module, node, scope)
        if isinstance(node, ir.Name) and not scope and self._is_nowhere(node.id):
            self.refuse(node.span, "undefined-name", f"nothing here is called `{node.id}`")
        if value is not UNKNOWN and not isinstance(value, tuple):
            written = isinstance(found, Value) and untranslated.is_literal(self._inner(found))
            return self.constant(value, node.span, literal(value) if written else None)
        if isinstance(found, Value) and not self.arguments_around and not found.scope:
            kind = untranslated.container(found.expr)
            call = found.expr.func if isinstance(found.expr, ir.Call) else None
            made = self.project.external(found.module, call, found.scope) if call is not None else None
            if made is not None and made.removeprefix("numpy.") in _NUMPY:
                kind = "numpy array"
            if kind is not None:
                self.refuse(node.span, "container", f"a kernel reads no {kind} from outside: `wp.static` takes a value")
        if isinstance(found, (Value, ParameterRef, External)) or found is UNKNOWN:
            type_ = UNKNOWN_TYPE
            if isinstance(found, Value):
                type_ = self._constant_type(found)
            elif isinstance(found, External):
                member = found.name.startswith("warp.") and found.name.count(".") > 1  # wp.Volume.LINEAR, not wp.INF
                type_ = INT if member and found.name.rpartition(".")[2].isupper() else type_
            return self.constant(UNKNOWN, node.span, type_)
        return self.unknown(node.span)

    def _inner(self, found: Value) -> ir.Expr:
        """What ``wp.constant`` is called with, or the expression itself."""
        expr = found.expr
        while isinstance(expr, ir.Call) and len(expr.args) == 1:
            if self.project.external(found.module, expr.func, found.scope) != "warp.constant":
                break
            expr = expr.args[0]
        return expr

    def _constant_type(self, found: Value) -> Type:
        expr = self._inner(found)
        if isinstance(expr, ir.Call):
            return self.knowledge.types.annotation(found.module, expr.func, found.scope)
        return UNKNOWN_TYPE

    # --- operators ---

    def operator(self, name: str, left: int, right: int, span: Span) -> int:
        """``left`` operator ``right`` by the name of Warp's built-in."""
        if name == "":
            return self.unknown(span, (left, right))
        custom = self._custom_operator(name, left, right, span)
        if custom is not None:
            return custom
        if not self.module.bindings(name):  # a user's func of that name comes first
            self.refuse(span, "operand-types", refusals.operands(name, self.type_of(left), self.type_of(right)))
        if name in ("bit_and", "bit_or", "bit_xor", "lshift", "rshift"):
            whole = self.type_of(left)
            return self.emit(name, (left, right), whole if whole.is_composite or whole.kind == "int" else INT, span)
        type_ = builtins.arithmetic(name, self.type_of(left), self.type_of(right))
        return self.emit(name, (left, right), type_, span)

    def _custom_operator(self, name: str, left: int, right: int, span: Span) -> int | None:
        # A user may overload ``+`` by a func named ``add``; Warp looks for one before it uses its own.
        if not self.module.bindings(name):
            return None
        if self.type_of(left).kind != "struct" and self.type_of(right).kind != "struct":
            return None
        found = self.project.resolve(self.module, ir.Name(span, name), self.definition.scope)
        if isinstance(found, Definition) and self.knowledge.decorations.role(found) == "func":
            return self.emit("call", (left, right), self.knowledge.returned(found), span, found)
        return None

    def _unary(self, node: ir.Unary) -> int:
        operand = self.expr(node.operand)
        operation = self.trace.operations[operand]
        if node.operator == "-" and operation.name == "constant":
            if isinstance(operation.detail, (int, float)) and not isinstance(operation.detail, bool):
                return self.constant(-operation.detail, node.span)
            return self.constant(UNKNOWN, node.span, operation.type)
        if node.operator == "not":
            if operation.type.kind == "float" and operation.type.exact is not None:
                self.refuse(node.span, "operand-types", f"`not` is not defined for {refusals.spelled(operation.type)}")
            return self.emit("logic", (operand,), BOOL_ITSELF, node.span, "not")
        if node.operator == "~":
            if operation.type.kind in ("float", "bool") and operation.type.exact is not None:
                self.refuse(node.span, "operand-types", f"`~` is not defined for {refusals.spelled(operation.type)}")
            whole = operation.type if operation.type.is_composite or operation.type.kind == "int" else INT
            return self.emit("invert", (operand,), whole, node.span)
        return self.emit("neg" if node.operator == "-" else "pos", (operand,), operation.type, node.span)

    def _compare(self, node: ir.Compare) -> int:
        left = self.expr(node.left)
        results: list[int] = []
        for symbol, comparator in zip(node.operators, node.comparators, strict=True):
            right = self.expr(comparator)
            if results and refusals.differ(self.type_of(left), self.type_of(right)):
                pair = f"{refusals.spelled(self.type_of(left))} and {refusals.spelled(self.type_of(right))}"
                self.refuse(node.span, "operand-types", f"a chain compares values of one type, not {pair}")
            if symbol in ("in", "not in", "is", "is not"):
                self.refuse(node.span, "operator", f"it has no operator `{symbol}`")
            results.append(self.emit("compare", (left, right), BOOL_ITSELF, node.span, symbol))
            left = right
        return results[0] if len(results) == 1 else self.emit("logic", tuple(results), BOOL, node.span, "and")

    def _conditional(self, node: ir.Conditional) -> int:
        condition = self.expr(node.test)
        fixed = self.fixed(condition)
        if self.knowledge.warp_version(self.module.path) <= (1, 5):
            self.refuse(node.span, "conditional", "Warp 1.5 has no conditional expressions")
        if fixed is not None:
            return self.expr(node.body if fixed else node.orelse)
        outer = self.frame
        self.open_frame("branch", node.body.span, condition, True)
        body = self.expr(node.body)
        self.frame = outer
        self.open_frame("branch", node.orelse.span, condition, False)
        orelse = self.expr(node.orelse)
        self.frame = outer
        if refusals.differ(self.type_of(body), self.type_of(orelse)):
            pair = f"{refusals.spelled(self.type_of(body))} and {refusals.spelled(self.type_of(orelse))}"
            self.refuse(node.span, "operand-types", f"both arms are of one type, not {pair}")
        return self.emit("phi", (condition, body, orelse), self.join(body, orelse), node.span)

    def join(self, first: int, second: int) -> Type:
        """The common type of two values."""
        one, other = self.type_of(first), self.type_of(second)
        if one.kind == "unknown":
            return other
        return one

    def fixed(self, index: int) -> bool | None:
        """The truth value of a compile-time condition, None for one of the run."""
        operation = self.trace.operations[index]
        if operation.name == "constant" and isinstance(operation.detail, (bool, int, float)):
            return bool(operation.detail)
        return None

    # --- attributes and subscripts ---

    def _attribute(self, node: ir.Attribute) -> int:
        if not self._rooted_in_local(node):
            return self._outer(node)
        made = self.type_expression(node.value)
        if made is not None:
            known = node.attr == "length" and made.kind == "vec" and bool(made.shape)
            return self.constant(made.shape[0] if known else UNKNOWN, node.span, INT if node.attr == "length" else None)
        value = self.expr(node.value)
        return self.member(value, node.attr, node.span)

    def _rooted_in_local(self, node: ir.Expr) -> bool:
        while isinstance(node, ir.Attribute):
            node = node.value
        return not isinstance(node, ir.Name) or node.id in self.symbols

    def member(self, value: int, name: str, span: Span) -> int:
        """``value.name``."""
        type_ = self.type_of(value)
        if type_.kind == "struct" and type_.struct is not None:
            fields = self.knowledge.types.fields(type_.struct)
            if name not in fields:
                self.refuse(span, "attribute", f"`{type_.struct.node.name}` has no field `{name}`")
            field = fields.get(name, UNKNOWN_TYPE)
            return self.emit("field", (value,), field, span, name)
        if type_.is_composite:
            self.refuse(span, "attribute", refusals.component(type_, name))
            component = self.component_of(type_, name)
            if component is not None:
                return self.emit("extract", (value,), self._component_type(type_, component), span, component)
            return self.constant(UNKNOWN, span, INT)  # v.length, v.dtype
        if type_.kind in ("array", "tile"):
            if name == "grad":
                return self.emit("field", (value,), type_, span, name)
            return self.constant(UNKNOWN, span) if name == "dtype" else self.emit("unknown", (), HANDLE, span)
        if type_.kind == "generic" and name in ("dtype", "length"):
            return self.constant(UNKNOWN, span, INT if name == "length" else UNKNOWN_TYPE)
        if type_.kind == "handle":
            # fields of query results: positions, signs and indices without a derivative
            return self.unknown(span, (value,), HANDLE)
        return self.unknown(span, (value,))

    def component_of(self, type_: Type, name: str) -> Component | None:
        """The component that an attribute of a vector, quaternion or transform names."""
        if type_.kind == "transform":
            return {"p": ((0, 3),), "q": ((3, 7),)}.get(name)
        if name in _ATTRIBUTES and type_.kind in ("vec", "quat"):
            return (_ATTRIBUTES[name],)
        return None

    def _component_type(self, type_: Type, component: Component) -> Type:
        return self._part_type(type_, component).exactly(type_.exact)

    def _part_type(self, type_: Type, component: Component) -> Type:
        scalar = INT if type_.scalar == "int" else FLOAT
        if type_.kind == "transform" and component == ((0, 3),):
            return vector(3)
        if type_.kind == "transform" and component == ((3, 7),):
            return QUAT
        if type_.kind == "mat":
            columns = type_.shape[1] if type_.shape else 0
            ranges = sum(isinstance(part, tuple) and isinstance(part[0], int) for part in component)
            if len(component) == 1 and ranges == 0:
                return vector(columns, type_.scalar)
            if ranges:
                return Type("mat" if ranges == 2 or len(component) == 1 else "vec", type_.scalar)
            return scalar
        part = component[0]
        if isinstance(part, tuple) and isinstance(part[0], int):
            return vector(int(part[1]) - part[0], type_.scalar)
        return scalar

    def indices(self, node: ir.Expr) -> tuple[int, ...]:
        """The values of a subscript's indices; slices give their bounds."""
        items = node.elements if isinstance(node, ir.Tuple) else (node,)
        found: list[int] = []
        for item in items:
            if isinstance(item, ir.Slice):
                bounds = [bound for bound in (item.lower, item.upper, item.step) if bound is not None]
                parts = tuple(self.expr(bound) for bound in bounds)
                found.append(self.emit("slice", parts, HANDLE, item.span, ("slice", len(bounds), id(item))))
            else:
                found.append(self.expr(item))
        return tuple(found)

    def component(self, type_: Type, node: ir.Expr, indices: tuple[int, ...]) -> Component:
        """The component that a subscript names."""
        items = node.elements if isinstance(node, ir.Tuple) else (node,)
        parts: list[int | tuple[int, int] | tuple[str, int]] = []
        for position, (item, index) in enumerate(zip(items, indices, strict=True)):
            size = type_.shape[position] if position < len(type_.shape) else None
            operation = self.trace.operations[index]
            if isinstance(item, ir.Slice):
                parts.append(self._slice(item, size) or ("value", index))
            elif operation.name == "constant" and isinstance(operation.detail, int):
                value = operation.detail
                # which one it is from the other end is known with the size alone
                known = value >= 0 or size is not None
                parts.append((value + size if value < 0 and size else value) if known else ("value", operation.number))
            else:
                parts.append(("value", operation.number))
        return tuple(parts)

    def _slice(self, item: ir.Slice, size: int | None) -> tuple[int, int] | None:
        bounds: list[int | None] = []
        for bound in (item.lower, item.upper):
            if bound is None:
                bounds.append(None)
                continue
            value = self.trace.operations[self.expr(bound)]
            if value.name != "constant" or not isinstance(value.detail, int):
                return None
            bounds.append(value.detail)
        if item.step is not None or size is None:
            return None
        start, stop, _ = slice(*bounds).indices(size)
        return (start, stop)

    def _subscript(self, node: ir.Subscript) -> int:
        if isinstance(node.value, ir.Attribute) and node.value.attr == "adjoint":
            return self.unknown(node.span)
        target, indices, node = self.location(node)
        return self.element(target, indices, node)

    def location(self, node: ir.Subscript) -> tuple[int, tuple[int, ...], ir.Subscript]:
        """The value that is subscripted and the indices; ``m[0][1]`` on a matrix or array counts as ``m[0, 1]``."""
        chain = [node]
        inner = node.value
        while isinstance(inner, ir.Subscript):
            chain.append(inner)
            inner = inner.value
        target = self.expr(inner)
        while True:
            current = chain.pop()
            indices = self.indices(current.index)
            type_ = self.type_of(target)
            while chain and self._takes_more(type_, indices):
                following = chain.pop()
                indices += self.indices(following.index)
                first, second = current.index, following.index
                items = (
                    *(first.elements if isinstance(first, ir.Tuple) else (first,)),
                    *(second.elements if isinstance(second, ir.Tuple) else (second,)),
                )
                current = ir.Subscript(following.span, current.value, ir.Tuple(second.span, items))
            if not chain:
                return target, indices, current
            target = self.element(target, indices, current)

    def _takes_more(self, type_: Type, indices: tuple[int, ...]) -> bool:
        if any(self.trace.operations[index].name == "slice" for index in indices):
            return False
        if type_.kind == "array":
            return type_.ndim is not None and len(indices) < type_.ndim
        return (type_.kind == "mat" or type_.is_value) and len(indices) < 2

    def element(self, target: int, indices: tuple[int, ...], node: ir.Subscript) -> int:
        """``target[indices]`` as a value."""
        type_ = self.type_of(target)
        if type_.kind == "array":
            sliced = any(self.trace.operations[index].name == "slice" for index in indices)
            if sliced or (type_.ndim is not None and len(indices) < type_.ndim):
                rank = None if sliced or type_.ndim is None else type_.ndim - len(indices)
                view = array(type_.element or UNKNOWN_TYPE, rank)
                return self.emit("view", (target, *indices), view, node.span)
            self._check_indices(type_, indices, node.span)
            return self.emit("load", (target, *indices), type_.element or UNKNOWN_TYPE, node.span)
        if type_.is_composite:
            component = self.component(type_, node.index, indices)
            return self.emit(
                "extract", (target, *indices), self._component_type(type_, component), node.span, component
            )
        if type_.kind == "tile":
            return self.emit("tile_extract", (target, *indices), type_.element or UNKNOWN_TYPE, node.span)
        if type_.kind == "tuple" and len(indices) == 1:
            return self.item(target, self.trace.operations[indices[0]].detail, node.span)
        if type_.kind == "generic":
            return self.emit(
                "extract", (target, *indices), type_, node.span, self.component(type_, node.index, indices)
            )
        return self.unknown(node.span, (target, *indices))

    def _check_indices(self, type_: Type, indices: tuple[int, ...], span: Span) -> None:
        types = [self.type_of(index) for index in indices]
        if type_.ndim is not None and len(indices) > type_.ndim and type_.element is not None:
            if type_.element.kind in ("float", "int", "bool"):
                self.refuse(span, "index", f"{len(indices)} indices into an array of {type_.ndim} dimension(s)")
        elif any(index.kind == "float" and index.exact is not None or index.kind == "bool" for index in types):
            self.refuse(span, "index", "an index is a whole number")

    def item(self, target: int, position: object, span: Span) -> int:
        """One part of a tuple."""
        operation = self.trace.operations[target]
        if operation.name == "construct" and isinstance(position, int) and position < len(operation.operands):
            return operation.operands[position]
        parts = operation.type.parts
        type_ = parts[position] if isinstance(position, int) and 0 <= position < len(parts) else UNKNOWN_TYPE
        if not parts and operation.type.kind == "generic":
            type_ = GENERIC  # whatever it is, its parts may be arrays
        return self.emit("item", (target,), type_, span, position)

    @abstractmethod
    def type_expression(self, callee: ir.Expr) -> Type | None:
        """The type that an expression like ``x.dtype`` or ``type(x[0])`` stands for, None for anything else."""

    @abstractmethod
    def call(self, node: ir.Call) -> int:
        """The value of a call."""
