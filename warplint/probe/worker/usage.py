"""How a kernel uses its arguments: what indexes what, what bounds loops, which ids are meshes.

The analysis reads the Python tree of the kernel and of the funcs that it calls. It is a heuristic that makes
good inputs likely: every input set is also run with bounds checks. One thing is concluded from it: where all accesses
to an array were seen to take the thread's own number, no two threads meet there (``Use.is_private``).
"""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import Any, TypeGuard

import warp as wp

from warplint.probe.worker.compat import types
from warplint.probe.worker.extents import Top, combined, folded
from warplint.probe.worker.uses import NOTHING, Path, Use, Value, join, merged

_HANDLES = {
    "mesh": "mesh",
    "bvh": "bvh",
    "hash": "hash_grid",
    "volume": "volume",
}
# Where queries take the node of the tree that they start from.
_ROOTS = {
    "bvh_query_aabb": 3,
    "bvh_query_ray": 3,
    "bvh_query_sphere": 3,
    "bvh_query_capsule": 4,
    "mesh_query_ray": 4,
    "mesh_query_ray_anyhit": 4,
    "mesh_query_ray_count_intersections": 3,
}
# Calls within calls that are followed.
_DEEPEST = 24
_SIGNS = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.FloorDiv: "//", ast.Div: "//", ast.Mod: "%"}
_CASTS = ("int", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")
_LOADING = ("atomic_add", "atomic_sub", "atomic_min", "atomic_max", "atomic_exch", "atomic_cas")


class Usage:
    """The uses of all arguments of a kernel, and the rank of its launch."""

    def __init__(self, kernel: Any) -> None:
        self.uses: dict[Path, Use] = {}
        self.types: dict[str, Any] = {arg.label: arg.type for arg in kernel.adj.args}
        self.rank = 1
        self.tiles = False
        self._stack: list[Any] = []
        # what calls came to: one of the same function with the same arguments adds nothing
        self._known: dict[tuple[int, frozenset[tuple[str, Value]]], Value] = {}
        env = {name: Value((name,), 0, frozenset([(name,)]), top=("drawn", (name,))) for name in self.types}
        self._function(kernel.adj, env)

    def use(self, path: Path) -> Use:
        """The uses of ``path``, made when first asked for."""
        return self.uses.setdefault(path, Use())

    def type_of(self, path: Path) -> Any:
        """The Warp type at ``path``, None where there is none."""
        found = self.types.get(path[0])
        for step in path[1:]:
            if step == "[]":
                found = getattr(found, "dtype", None)
            else:
                variables = getattr(found, "vars", None)
                if not isinstance(variables, dict) or step not in variables:
                    return None
                found = variables[step].type
        return found

    # --- functions ---

    def _function(self, adj: Any, env: dict[str, Value]) -> Value:
        if any(adj is other for other in self._stack) or len(self._stack) > _DEEPEST:
            return join(*env.values())
        key = (id(adj), frozenset(env.items()))
        if key in self._known:
            return self._known[key]
        self._stack.append(adj)
        try:
            body = adj.tree.body[0].body
            walker = _Body(self, adj, env)
            for _ in range(2):  # the second pass sees what loops carry
                walker.block(body)
            self._known[key] = walker.returned
            return walker.returned
        finally:
            self._stack.pop()


class _Body:
    def __init__(self, usage: Usage, adj: Any, env: dict[str, Value]) -> None:
        self.usage = usage
        self.env = env
        self.returned = NOTHING
        scope = dict(getattr(adj.func, "__globals__", {}))
        code = adj.func.__code__
        for name, cell in zip(code.co_freevars, adj.func.__closure__ or (), strict=False):
            try:
                scope[name] = cell.cell_contents
            except ValueError:
                continue
        self.scope = scope

    # --- statements ---

    def block(self, body: list[ast.stmt]) -> None:
        for statement in body:
            self.statement(statement)

    def statement(self, node: ast.stmt) -> None:
        if isinstance(node, ast.Assign):
            value = self.value(node.value)
            for target in node.targets:
                self.store(target, value, node.value)
        elif isinstance(node, ast.AnnAssign):
            if node.value is not None:
                self.store(node.target, self.value(node.value), node.value)
        elif isinstance(node, ast.AugAssign):
            self.augmented(node)
        elif isinstance(node, ast.For):
            self.loop(node)
        elif isinstance(node, ast.While):
            self.tested(node.test)
            self.bounds(self.value(node.test))
            self.block(node.body)
        elif isinstance(node, ast.If):
            self.tested(node.test)
            self.value(node.test)
            self.branch(node.test, node.body)
            self.block(node.orelse)
        elif isinstance(node, ast.Return):
            if node.value is not None:
                value = self.value(node.value)
                tops = [one.top for one in (self.returned, value) if one.top is not None]
                top = combined("max", *tops) if len(set(tops)) == 2 else tops[0] if tops else None
                self.returned = replace(join(self.returned, value), top=top)
        elif isinstance(node, ast.Expr):
            self.value(node.value)
        elif isinstance(node, ast.Assert):
            self.value(node.test)

    def augmented(self, node: ast.AugAssign) -> None:
        """``target op= value``. Warp adds to elements of arrays, and subtracts, with an atomic operation."""
        target, value = node.target, self.value(node.value)
        if isinstance(node.op, (ast.Add, ast.Sub)) and isinstance(target, ast.Subscript):
            base = self.value(target.value)
            array = self.array(base)
            indices = self.indices(target)
            if array is not None and base.consumed + len(indices) == getattr(self.usage.type_of(array), "ndim", 1):
                self.added(array, base.consumed, indices, sums=True)
                return
        before = self.value(target)
        top = combined(_SIGNS.get(type(node.op), ""), before.top, value.top)
        self.store(target, replace(join(before, value), top=top), None)

    def branch(self, test: ast.expr, body: list[ast.stmt]) -> None:
        """The body of an ``if``, where a number that was found to be below a constant is that small."""
        below = self.below(test)
        if below is None or below[0] not in self.env:
            self.block(body)
            return
        name, most = below
        known = self.env[name]
        inside = replace(known, top=combined("min", known.top, ("constant", most)))
        self.env[name] = inside
        self.block(body)
        after = self.env[name]
        self.env[name] = known if after == inside else merged(known, after)

    def below(self, test: ast.expr) -> tuple[str, int] | None:
        """The local of a test ``local < constant``, and the largest value that passes."""
        if not isinstance(test, ast.Compare) or len(test.ops) != 1 or not isinstance(test.left, ast.Name):
            return None
        limit = self.number(test.comparators[0])
        if limit is None or not limit.is_integer() or not isinstance(test.ops[0], (ast.Lt, ast.LtE)):
            return None
        return test.left.id, int(limit) - isinstance(test.ops[0], ast.Lt)

    def number(self, node: ast.expr) -> float | None:
        """The number that an expression is, seen through locals and integer arithmetic."""
        number = self.static(node)
        if number is not None:
            return number
        known = folded(self.value(node).top)
        return None if known is None else float(known)

    def tested(self, test: ast.expr) -> None:
        """Marks arrays of which the kernel asks whether they were passed."""
        for part in ast.walk(test):
            operands = part.values if isinstance(part, ast.BoolOp) else [part.operand] if _negation(part) else []
            for operand in [test, *operands]:
                if isinstance(operand, (ast.Name, ast.Attribute)):
                    array = self.array(self.value(operand))
                    if array is not None:
                        self.usage.use(array).tested = True

    def loop(self, node: ast.For) -> None:
        iterable = node.iter
        self.value(iterable)
        if isinstance(iterable, ast.Call) and isinstance(iterable.func, ast.Name) and iterable.func.id == "range":
            for argument in iterable.args:
                self.bounds(self.value(argument))
            self.neighbours(iterable.args)
        top = self.last(iterable)
        differs = isinstance(iterable, ast.Call) and any(self.value(bound).differs for bound in iterable.args)
        for target in ast.walk(node.target):
            if isinstance(target, ast.Name):
                # what the loop variable indexes is limited by the bounds, which are not indices themselves
                self.env[target.id] = Value(top=top, varies=differs)
        self.block(node.body)

    def neighbours(self, arguments: list[ast.expr]) -> None:
        """Marks arrays whose elements are both ends of one range: they have to be sorted."""
        if len(arguments) < 2:
            return
        first, second = (self.value(argument) for argument in arguments[:2])
        starts = [path for path in first.sources - second.sources if path[-1] == "[]"]
        ends = [path for path in second.sources - first.sources if path[-1] == "[]"]
        if len(starts) == 1 and len(ends) == 1:
            self.usage.use(starts[0]).begins = True
            self.usage.use(ends[0]).begins = False
        for path in first.sources & second.sources:
            if path[-1] == "[]":
                self.usage.use(path).offsets = True

    def last(self, iterable: ast.expr) -> Top | None:
        """What the largest value of a loop variable is made of."""
        if not isinstance(iterable, ast.Call) or self.name(iterable.func).rpartition(".")[2] != "range":
            return None
        arguments = iterable.args
        if not arguments:
            return None
        down = len(arguments) == 3 and (self.static(arguments[2]) or 1.0) < 0.0
        bound = self.value(arguments[0] if down or len(arguments) == 1 else arguments[1])
        return bound.top if down else combined("-", bound.top, ("constant", 1))

    def bounds(self, value: Value) -> None:
        for path in value.sources:
            self.usage.use(path).bound = True

    def store(self, target: ast.expr, value: Value, source: ast.expr | None) -> None:
        if isinstance(target, ast.Name):
            known = self.env.get(target.id)
            self.env[target.id] = value if known is None or known.alias is not None else merged(known, value)
        elif isinstance(target, (ast.Tuple, ast.List)):
            if isinstance(source, ast.Call) and self.name(source.func).endswith("tid"):
                self.usage.rank = max(self.usage.rank, len(target.elts))
            for element in target.elts:
                top = value.top if value.thread else None
                self.store(element, Value(sources=value.sources, thread=value.thread, top=top), None)
        elif isinstance(target, ast.Subscript):
            base = self.value(target.value)
            indices = self.indices(target)
            array = self.array(base)
            if array is not None:
                use = self.usage.use(array)
                use.stores = True
                use.unthreaded = use.unthreaded or all(index.is_uniform for index in indices)
                for position, index in enumerate(indices):
                    self.index(array, base.consumed + position, index)
                    use.store_sources |= index.sources
            elif isinstance(target.value, ast.Subscript):
                self.store(target.value, value, None)
            elif base.alias is not None:
                self.subscripted(base.alias, len(indices), stored=True)
        elif isinstance(target, ast.Attribute):
            base = self.value(target.value)
            if isinstance(target.value, ast.Subscript) and self.array(self.value(target.value.value)) is not None:
                self.store(target.value, value, None)
            elif isinstance(target.value, ast.Name) and base.alias is None:
                self.store(target.value, join(base, value), None)

    # --- expressions ---

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
            value = replace(join(left, right), top=combined(_SIGNS.get(type(node.op), ""), left.top, right.top))
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
        arguments = [self.value(argument) for argument in node.args]
        arguments += [self.value(keyword.value) for keyword in node.keywords]
        name = self.name(node.func)
        short = name.rpartition(".")[2]
        if short == "tid" and not arguments:
            return Value(thread=True, top=("thread",), own=True)
        if short.startswith("tile"):
            self.usage.tiles = True
        target = self.resolve(node.func)
        native = getattr(target, "native_snippet", None) is not None
        if isinstance(target, wp.Function) and target.func is not None and not native:
            return self.enter(target, node, arguments)
        if short == "tile_load" and arguments:
            self.tile(node, arguments[0])
        if short in _LOADING and arguments:
            return self.atomic(short, arguments)
        if short == "load" and arguments:
            array = self.array(arguments[0])
            if array is not None:
                return self.element(arguments[0], array, arguments[1:])
        if short == "lower_bound" and arguments:
            array = self.array(arguments[0])
            if array is not None:
                self.usage.use((*array, "[]")).offsets = True
        if short == "normalize" and arguments and arguments[0].alias is not None:
            self.usage.use(arguments[0].alias).normalized = True
        root = _ROOTS.get(short)
        if root is not None:
            given = arguments[root] if root < len(node.args) else NOTHING
            for keyword, value in zip(node.keywords, arguments[len(node.args) :], strict=False):
                given = value if keyword.arg == "root" else given
            for path in given.sources:
                self.usage.use(path).root = short.partition("_")[0]
        for prefix, handle in _HANDLES.items():
            if short.startswith(prefix + "_") and arguments:
                if handle == "volume" and self.samples_vectors(node, short):
                    handle = "volume of vectors"
                for path in arguments[0].sources:
                    if self.usage.use(path).handle != "volume of vectors":
                        self.usage.use(path).handle = handle
                return Value(varies=True)
        for argument in arguments:
            array = self.array(argument)
            if array is not None and short not in ("len", "address"):
                # a built-in takes the array itself (a tile load, a matrix product): assume both
                use = self.usage.use(array)
                use.handed = True
                use.loads = use.loads or "store" not in short
                use.stores = use.stores or "store" in short or native
        joined = join(*arguments)
        array = self.array(arguments[0]) if short == "len" and arguments else None
        if array is not None:
            return replace(joined, top=("shape", array, arguments[0].consumed))
        if short in _CASTS and len(arguments) == 1:
            return replace(joined, top=arguments[0].top)
        if short in ("min", "max") and len(arguments) == 2:
            return replace(joined, top=combined(short, arguments[0].top, arguments[1].top))
        if short in ("where", "clamp") and len(arguments) == 3:
            one, two = arguments[1:] if short == "where" else (arguments[0], arguments[2])
            return replace(joined, top=combined("max" if short == "where" else "min", one.top, two.top))
        return joined

    def samples_vectors(self, node: ast.Call, name: str) -> bool:
        """Whether a call reads or writes voxels that are vectors."""
        kinds = [keyword.value for keyword in node.keywords if keyword.arg == "dtype"]
        kind = self.resolve(kinds[0]) if kinds else None
        return name.endswith(("_v", "_grad_v")) or len(getattr(kind, "_shape_", ())) == 1

    def tile(self, node: ast.Call, loaded: Value) -> None:
        """The elements that ``tile_load(array, shape, offset)`` reads."""
        array = self.array(loaded)
        given = {keyword.arg: keyword.value for keyword in node.keywords} | dict(
            zip(("shape", "offset"), node.args[1:3], strict=False)
        )
        if array is None or "shape" not in given:
            return
        shape, offset = (
            list(one.elts) if isinstance(one, (ast.Tuple, ast.List)) else [] if one is None else [one]
            for one in (given["shape"], given.get("offset"))
        )
        for dimension, size in enumerate(shape):
            length = self.number(size)
            if length is None:
                continue
            last: Top = ("constant", int(length) - 1)
            start = self.value(offset[dimension]) if dimension < len(offset) else Value(top=("constant", 0))
            top = combined("+", start.top, last)
            self.index(array, loaded.consumed + dimension, replace(start, top=top, own=False))

    def atomic(self, name: str, arguments: list[Value]) -> Value:
        array = self.array(arguments[0])
        if array is not None:
            values = 2 if name == "atomic_cas" else 1
            indices = arguments[1:-values]
            self.added(array, arguments[0].consumed, indices, name in ("atomic_add", "atomic_sub"))
        # what an atomic operation gives out is another number in each thread
        return replace(join(*arguments[1:]), varies=True)

    def added(self, array: Path, consumed: int, indices: list[Value], sums: bool) -> None:
        """Notes an atomic operation on an element."""
        use = self.usage.use(array)
        use.atomics = True
        use.sums = use.sums or sums
        use.extremes = use.extremes or not sums
        for position, index in enumerate(indices):
            self.index(array, consumed + position, index)

    def enter(self, function: Any, node: ast.Call, arguments: list[Value]) -> Value:
        overloads = list(getattr(function, "user_overloads", {}).values()) or [function]
        chosen = next((one for one in overloads if len(one.input_types) == len(arguments)), overloads[0])
        names = [argument.arg for argument in chosen.adj.tree.body[0].args.args]
        env: dict[str, Value] = dict(zip(names, arguments[: len(node.args)], strict=False))
        for keyword, value in zip(node.keywords, arguments[len(node.args) :], strict=False):
            if keyword.arg is not None:
                env[keyword.arg] = value
        self.unpacks(chosen, arguments)
        return self.usage._function(chosen.adj, env)

    def unpacks(self, function: Any, arguments: list[Value]) -> None:
        """Notes floats that a func makes a ``uint64`` of: an id may be packed in them."""
        if len(arguments) != 1 or function.func.__annotations__.get("return") is not wp.uint64:
            return
        for path in arguments[0].sources:
            kind = self.usage.type_of(path)
            if getattr(kind, "_wp_scalar_type_", None) is wp.float32 and len(kind._shape_) == 1:
                self.usage.use(path).packed = function

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


def _negation(node: ast.AST) -> TypeGuard[ast.UnaryOp]:
    return isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)
