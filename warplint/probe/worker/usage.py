"""How a kernel uses its arguments: what indexes what, what bounds loops, which ids are meshes.

The analysis reads the Python tree of the kernel and of the funcs that it calls. It is a heuristic that makes
good inputs likely: every input set is also run with bounds checks. One thing is concluded from it: where all accesses
to an array were seen to take the thread's own number, no two threads meet there (``Use.is_private``).
"""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import Any, TypeGuard

from warplint.probe.worker.calls import Calls
from warplint.probe.worker.expressions import SIGNS
from warplint.probe.worker.extents import Top, combined
from warplint.probe.worker.uses import NOTHING, Path, Use, Value, join, merged

# Calls within calls that are followed.
_DEEPEST = 24


class Usage:
    """The uses of all arguments of a kernel, and the rank of its launch."""

    def __init__(self, kernel: Any) -> None:
        self.uses: dict[Path, Use] = {}
        self.types: dict[str, Any] = {arg.label: arg.type for arg in kernel.adj.args}
        self.rank = 1
        self.tiles = False
        #: The extents of arrays that came of these uses, by what decides them (see ``extents.Extents``).
        self.sizes: dict[tuple[object, ...], dict[tuple[Path, int], int]] = {}
        self._stack: list[Any] = []
        # what calls came to: one of the same function with the same arguments adds nothing
        self._known: dict[tuple[int, frozenset[tuple[str, Value]]], Value] = {}
        env = {name: Value((name,), 0, frozenset([(name,)]), top=("drawn", (name,))) for name in self.types}
        self.function(kernel.adj, env)

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

    def function(self, adj: Any, env: dict[str, Value]) -> Value:
        """What a function returns, with these values for its parameters; how it uses them is noted."""
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


class _Body(Calls):
    """The statements of one function."""

    def __init__(self, usage: Usage, adj: Any, env: dict[str, Value]) -> None:
        super().__init__(usage, adj, env)
        self.returned = NOTHING

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
        top = combined(SIGNS.get(type(node.op), ""), before.top, value.top)
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


def _negation(node: ast.AST) -> TypeGuard[ast.UnaryOp]:
    return isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)
