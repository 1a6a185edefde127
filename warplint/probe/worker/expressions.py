"""What the expressions of a kernel are made of: which arguments flow into a value, and which indices it has been."""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import Any, Protocol

from warplint.probe.worker.compat import types
from warplint.probe.worker.extents import combined, folded
from warplint.probe.worker.uses import NOTHING, Path, Use, Value, join

#: How Python's operators are written.
SIGNS = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.FloorDiv: "//", ast.Div: "//", ast.Mod: "%"}


class Uses(Protocol):
    """Where uses are noted: ``warplint.probe.worker.usage.Usage``."""

    rank: int
    tiles: bool

    def use(self, path: Path) -> Use:
        """The uses of ``path``, made when first asked for."""
        ...

    def type_of(self, path: Path) -> Any:
        """The Warp type at ``path``, None where there is none."""
        ...

    def function(self, adj: Any, env: dict[str, Value]) -> Value:
        """What a function returns, with these values for its parameters."""
        ...


class Expressions:
    """The expressions of one function, whose locals are in ``env``."""

    def __init__(self, usage: Uses, adj: Any, env: dict[str, Value]) -> None:
        self.usage = usage
        self.env = env
        scope = dict(getattr(adj.func, "__globals__", {}))
        code = adj.func.__code__
        for name, cell in zip(code.co_freevars, adj.func.__closure__ or (), strict=False):
            try:
                scope[name] = cell.cell_contents
            except ValueError:
                continue
        self.scope = scope

    def array(self, value: Value) -> Path | None:
        """The path of the array that ``value`` is (or a view of)."""
        if value.alias is None:
            return None
        kind = self.usage.type_of(value.alias)
        return value.alias if kind is not None and types.is_array(kind) else None

    def indices(self, node: ast.Subscript) -> list[Value]:
        index = node.slice
        if isinstance(index, ast.Tuple):
            return [self.value(element) for element in index.elts]
        return [self.value(index)]

    def subscripted(self, path: Path, rank: int, stored: bool) -> None:
        """Notes that something whose type is not known takes ``rank`` indices."""
        use = self.usage.use(path)
        use.subscripts = max(use.subscripts, rank)
        use.stores = use.stores or stored

    def index(self, array: Path, dimension: int, value: Value) -> None:
        (self.usage.use(array).own if value.own else self.usage.use(array).shared).add(dimension)
        if value.top is not None:
            self.usage.use(array).tops.add((dimension, value.top))
        for path in value.sources:
            self.usage.use(path).index_of.add((array, dimension))
            if path == (*array, "[]"):
                self.usage.use(path).chained = True

    def element(self, base: Value, array: Path, indices: list[Value]) -> Value:
        """What ``array[indices]`` is: an element, or a view where dimensions remain."""
        for position, index in enumerate(indices):
            self.index(array, base.consumed + position, index)
        consumed = base.consumed + len(indices)
        kind = self.usage.type_of(array)
        if consumed < getattr(kind, "ndim", 1):
            return Value(array, consumed, base.sources, False)
        self.usage.use(array).loads = True
        path = (*array, "[]")
        return Value(path, 0, frozenset([path]), False, ("drawn", path))

    def value(self, node: ast.expr | None) -> Value:
        if node is None:
            return NOTHING
        if isinstance(node, ast.Name):
            return self.env.get(node.id) or self.constant(node)
        if isinstance(node, ast.Constant):
            return self.constant(node)
        if isinstance(node, ast.Attribute):
            return self.attribute(node)
        if isinstance(node, ast.Subscript):
            extent = self.extent(node)
            if extent is not None:
                return extent
            base = self.value(node.value)
            indices = self.indices(node)
            array = self.array(base)
            if array is not None:
                return self.element(base, array, indices)
            if base.alias is not None:
                self.subscripted(base.alias, len(indices), stored=False)
            return join(base, *indices) if base.alias is None else Value(sources=base.sources, thread=base.thread)
        if isinstance(node, ast.Call):
            return self.call(node)
        if isinstance(node, ast.Compare):
            return self.compare(node)
        if isinstance(node, ast.BinOp):
            left, right = self.value(node.left), self.value(node.right)
            value = replace(join(left, right), top=combined(SIGNS.get(type(node.op), ""), left.top, right.top))
            if isinstance(node.op, (ast.BitAnd, ast.BitOr, ast.BitXor, ast.LShift, ast.RShift)):
                for path in value.sources:
                    self.usage.use(path).bits = True
                self.masked(node, left, right)
            if isinstance(node.op, (ast.Div, ast.FloorDiv, ast.Mod)):
                for path in self.value(node.right).sources:
                    self.usage.use(path).divides = True
            scale = folded(right.top)
            if isinstance(node.op, (ast.Div, ast.FloorDiv)) and scale is not None and scale > 1:
                for path in left.sources:
                    self.usage.use(path).scales.add(scale)
            return value
        return join(*(self.value(child) for child in ast.iter_child_nodes(node) if isinstance(child, ast.expr)))

    def masked(self, node: ast.BinOp, left: Value, right: Value) -> None:
        """Notes which bits matter of a number: ``flags & MASK``, ``flags & (1 << 3)``, ``(flags >> 3) & 1``."""
        if isinstance(node.op, ast.BitAnd):
            for operand, other, flowing in ((node.right, node.left, left), (node.left, node.right, right)):
                mask = self.number(operand)
                if mask is None or not mask.is_integer() or not 0 < mask < 2**31:
                    continue
                shifted = 0
                if isinstance(other, ast.BinOp) and isinstance(other.op, ast.RShift):
                    shifted = int(self.number(other.right) or 0)
                for path in flowing.sources:
                    self.usage.use(path).masks.add(int(mask) << min(max(shifted, 0), 30))

    def number(self, node: ast.expr) -> float | None:
        """The number that an expression is, seen through locals and integer arithmetic."""
        number = self.static(node)
        if number is not None:
            return number
        known = folded(self.value(node).top)
        return None if known is None else float(known)

    def constant(self, node: ast.expr) -> Value:
        """An integer that is known."""
        number = self.static(node)
        return Value(top=("constant", int(number))) if number is not None and number.is_integer() else NOTHING

    def extent(self, node: ast.Subscript) -> Value | None:
        """What ``x.shape[d]`` is; None for any other subscript."""
        if not isinstance(node.value, ast.Attribute) or node.value.attr != "shape":
            return None
        base = self.value(node.value.value)
        array = self.array(base)
        dimension = self.static(node.slice)
        if array is None or dimension is None:
            return NOTHING
        return Value(top=("shape", array, base.consumed + int(dimension)))

    def attribute(self, node: ast.Attribute) -> Value:
        base = self.value(node.value)
        if base.alias is not None:
            if node.attr in ("shape", "ndim", "size"):
                return NOTHING
            path = (*base.alias, node.attr)
            if self.usage.type_of(path) is not None:
                return Value(path, 0, frozenset([path]), False, ("drawn", path))
        return Value(sources=base.sources, thread=base.thread)

    def compare(self, node: ast.Compare) -> Value:
        operands = [node.left, *node.comparators]
        values = [self.value(operand) for operand in operands]
        ordered = any(isinstance(op, (ast.Lt, ast.GtE, ast.LtE, ast.Gt)) for op in node.ops)
        for operand, value in zip(operands, values, strict=False):
            for other, flowing in zip(operands, values, strict=False):
                if other is operand:
                    continue
                constant = self.number(operand)
                for path in flowing.sources:
                    if constant is not None:
                        self.usage.use(path).constants.add(constant)
                        if ordered and constant.is_integer():
                            self.usage.use(path).sides.add(int(constant) - 1)
                    elif ordered and value.alias is not None and value.alias != path:
                        self.usage.use(path).above.add(value.alias)
                    elif value.thread and ordered:
                        self.usage.use(path).bound = True
        return join(*values)

    def call(self, node: ast.Call) -> Value:
        """What a call comes to (see ``warplint.probe.worker.calls``)."""
        raise NotImplementedError

    # --- names ---

    def name(self, node: ast.expr) -> str:
        if isinstance(node, ast.Attribute):
            return f"{self.name(node.value)}.{node.attr}"
        return node.id if isinstance(node, ast.Name) else ""

    def resolve(self, node: ast.expr) -> Any:
        if isinstance(node, ast.Name):
            return self.scope.get(node.id)
        if isinstance(node, ast.Attribute):
            owner = self.resolve(node.value)
            return getattr(owner, node.attr, None) if owner is not None else None
        return None

    def static(self, node: ast.expr) -> float | None:
        """The number that a constant expression is."""
        if isinstance(node, ast.Constant) and isinstance(node.value, (int, float)):
            return float(node.value)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            inner = self.static(node.operand)
            return None if inner is None else -inner
        if isinstance(node, ast.Call) and len(node.args) == 1 and not node.keywords:
            return self.static(node.args[0])
        if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.LShift, ast.BitOr)):
            one, two = self.static(node.left), self.static(node.right)
            if one is None or two is None or not (one.is_integer() and two.is_integer()) or not 0 <= two < 2**31:
                return None
            if isinstance(node.op, ast.BitOr):
                return float(int(one) | int(two))
            return float(int(one) << int(two)) if two < 31 else None
        if isinstance(node, ast.Name) and node.id in self.env:
            return None
        found = self.resolve(node)
        try:
            return float(found) if isinstance(found, (int, float)) else None
        except (TypeError, ValueError):
            return None
