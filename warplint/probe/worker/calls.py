"""What the calls in a kernel come to: operations on arrays, queries of meshes and trees, and funcs."""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import Any

import warp as wp

from warplint.probe.worker.expressions import Expressions
from warplint.probe.worker.extents import Top, combined
from warplint.probe.worker.uses import NOTHING, Path, Value, join

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
_CASTS = ("int", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")
_LOADING = ("atomic_add", "atomic_sub", "atomic_min", "atomic_max", "atomic_exch", "atomic_cas")


class Calls(Expressions):
    """The calls of one function."""

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
        return self.usage.function(chosen.adj, env)

    def unpacks(self, function: Any, arguments: list[Value]) -> None:
        """Notes floats that a func makes a ``uint64`` of: an id may be packed in them."""
        if len(arguments) != 1 or function.func.__annotations__.get("return") is not wp.uint64:
            return
        for path in arguments[0].sources:
            kind = self.usage.type_of(path)
            if getattr(kind, "_wp_scalar_type_", None) is wp.float32 and len(kind._shape_) == 1:
                self.usage.use(path).packed = function
