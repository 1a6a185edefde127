"""What generic parameters have to be: scalars, vectors or matrices, told from how the code uses them.

Warp binds ``Any`` when a kernel is launched, so the text of a kernel only says it in passing: ``wp.length(x)`` takes a
vector, ``q[0, 1]`` a matrix, ``x[i] + dt * v`` makes ``x`` and ``v`` alike and ``dt`` a number. This is unification
over those remarks, through the funcs that are called. It may be wrong or silent: Warp's own code generator has the
last word (``generics``).
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Sequence
from typing import Any

import warp as wp

from warplint.probe.worker.compat import types
from warplint.records import dataclass

#: ``("scalar", 0, 0)``, ``("vector", n, 0)``, ``("matrix", rows, columns)``, ``("quat", 4, 0)`` or ``("transform", 7,
#: 0)``. A size of 0 is not known.
Kind = tuple[str, int, int]

SCALAR: Kind = ("scalar", 0, 0)

# What built-ins say of their arguments: `same` makes all of them alike, `vectors` makes them vectors, and so on; and
# what they return: `same` as the first, a `scalar`, ...
_SAME = ("add", "sub", "min", "max", "clamp", "mod", "neg", "abs", "cw_mul", "cw_div", "sign", "floor", "ceil", "round")
_NUMBERS = (
    *("exp", "log", "log2", "log10", "sqrt", "cbrt", "sin", "cos", "tan", "asin", "acos", "atan", "atan2", "sinh"),
    *("cosh", "tanh", "pow", "erf", "erfc", "step", "degrees", "radians", "isfinite"),
)
_VECTORS = {"dot": "scalar", "length": "scalar", "length_sq": "scalar", "normalize": "same", "cross": "same"}
_MATRICES = {"transpose": "same", "inverse": "same", "determinant": "scalar", "trace": "scalar", "ddot": "scalar"}
_STORING = ("atomic_add", "atomic_sub", "atomic_min", "atomic_max", "atomic_exch")
_ROTATIONS = ("quat_rotate", "quat_rotate_inv")
_MOVES = ("transform_point", "transform_vector")
# Rounds of unification: what one product says may tell another.
_ROUNDS = 6
# Calls within calls that are followed.
_DEEPEST = 24


class Node:
    """One unknown; nodes that are found to be equal share their value."""

    __slots__ = ("_next", "_value", "weak")

    def __init__(self, value: Any = None) -> None:
        self._next: Node | None = None
        self._value = value
        self.weak = False

    def root(self) -> Node:
        """The node that holds the value."""
        node = self
        while node._next is not None:
            node = node._next
        return node

    @property
    def value(self) -> Any:
        return self.root()._value

    def learn(self, value: Any) -> None:
        """Takes ``value`` where nothing is known yet, or something less exact."""
        root = self.root()
        if root._value is None or _refines(root._value, value):
            root._value = value

    def join(self, other: Node) -> None:
        """Makes both the same; what is known of the first wins where they contradict each other."""
        one, two = self.root(), other.root()
        if one is two:
            return
        if one._value is None or (two._value is not None and _refines(one._value, two._value)):
            one._value = two._value
        two._next = one


def _refines(known: Any, value: Any) -> bool:
    """Whether ``value`` is ``known`` with a size (or with a larger one: an index showed that there is more)."""
    return (
        isinstance(known, tuple)
        and isinstance(value, tuple)
        and known[0] == value[0]
        and sum(value[1:]) > sum(known[1:])
    )


@dataclass(frozen=True, slots=True)
class Term:
    """What an expression is: its kind, and the type of its numbers."""

    kind: Node
    number: Node
    #: The element of this array, where the expression is the array.
    array: bool = False

    @property
    def is_known(self) -> bool:
        """Whether there is nothing left to learn."""
        kind = self.kind.value
        return self.number.value is not None and kind is not None and (kind == SCALAR or kind[1] > 0)

    def alike(self, other: Term) -> None:
        """Both have one type."""
        self.kind.join(other.kind)
        self.number.join(other.number)


def unknown() -> Term:
    """Something of which nothing is known."""
    return Term(Node(), Node())


def known(kind: Any) -> Term | None:
    """What a concrete Warp type is; None for types that are of no interest here."""
    if types.is_array(kind):
        inner = known(kind.dtype)
        return Term(inner.kind, inner.number, True) if inner is not None else None
    if types.type_is_generic(kind):
        return None
    if kind is float:
        return Term(Node(SCALAR), Node(wp.float32))
    if kind in (int, bool, wp.bool):
        return Term(Node(SCALAR), Node(wp.int32))
    scalar = getattr(kind, "_wp_scalar_type_", None)
    if scalar is not None:
        hint = getattr(kind, "_wp_generic_type_str_", "")
        shape = tuple(kind._shape_)
        if hint == "quat_t":
            return Term(Node(("quat", 4, 0)), Node(scalar))
        if hint == "transform_t":
            return Term(Node(("transform", 7, 0)), Node(scalar))
        found: Kind = ("vector", shape[0], 0) if len(shape) == 1 else ("matrix", shape[0], shape[1])
        return Term(Node(found), Node(scalar))
    if kind in types.scalar_types:
        return Term(Node(SCALAR), Node(kind))
    return None


class Shapes:
    """Unification over the body of ``adj``; ``terms`` has an entry for each parameter.

    ``arrays`` names the generic parameters that are arrays, annotated as such or not.
    """

    def __init__(self, adj: Any, arrays: Collection[str] = ()) -> None:
        self.terms: dict[str, Term] = {}
        self._products: list[tuple[Term, Term, Term]] = []
        self._indexed: list[tuple[Term, Term]] = []
        self._stack: list[Any] = []
        # arguments of which nothing is known, by call and parameter
        self.blanks: dict[tuple[int, str], Term] = {}
        # calls that were followed: what they were given, and what came of it
        self._followed: dict[int, list[tuple[dict[str, Any], list[Any]]]] = {}
        env: dict[str, Any] = {}
        for argument in adj.args:
            term = known(argument.type) or Term(Node(), Node(), argument.label in arrays)
            env[argument.label] = self.terms[argument.label] = term
        self.function(adj, env)
        self._solve()

    def _solve(self) -> None:
        for final in (False, True):
            for _ in range(_ROUNDS):
                for product in self._products:
                    _product(*product)
                for base, element in self._indexed:
                    found = element.kind.value
                    if found is not None and found[0] == "vector":
                        base.kind.learn(("matrix", 0, 0))
                    elif found == SCALAR or final:
                        base.kind.learn(("vector", 0, 0))
                        if base.kind.value[0] == "vector":
                            element.kind.learn(SCALAR)

    def function(self, adj: Any, env: dict[str, Any]) -> list[Any]:
        """What ``adj`` returns, for parameters as in ``env``."""
        if any(adj is other for other in self._stack) or len(self._stack) >= _DEEPEST:
            return []
        followed = self._followed.setdefault(id(adj), [])
        for given, returned in followed:
            if given.keys() == env.keys() and all(_same(given[name], env[name]) for name in env):
                return returned
        self._stack.append(adj)
        try:
            walker = _Walk(self, adj, dict(env))
            for _ in range(2):
                walker.block(adj.tree.body[0].body)
            followed.append((env, walker.returned))
            return walker.returned
        finally:
            self._stack.pop()


def _same(one: Term, two: Term) -> bool:
    """Whether a call with the one says nothing that a call with the other did not say."""
    if one.array != two.array:
        return False
    if one.kind.root() is two.kind.root() and one.number.root() is two.number.root():
        return True
    return one.is_known and two.is_known and one.kind.value == two.kind.value and one.number.value == two.number.value


def _product(a: Term, b: Term, result: Term) -> None:
    """``result = a * b``, as far as it is known yet."""
    left, right, whole = (term.kind.value and term.kind.value[0] for term in (a, b, result))
    if left == "scalar":
        result.kind.join(b.kind)
    elif right == "scalar":
        result.kind.join(a.kind)
    elif whole == "scalar":
        a.kind.learn(SCALAR)
        b.kind.learn(SCALAR)
    elif left == "matrix" and right == "vector":
        result.kind.learn(("vector", 0, 0))
    elif left == right and left in ("matrix", "quat"):
        result.kind.join(a.kind)
    elif left == "vector" and (whole == "vector" or right is None):
        b.kind.learn(SCALAR)
    elif right == "vector" and left is None and whole is None:
        a.kind.learn(SCALAR)


class _Walk:
    """One function body."""

    def __init__(self, shapes: Shapes, adj: Any, env: dict[str, Any]) -> None:
        self.shapes = shapes
        self.env = env
        self.returned: list[Any] = []
        self.loops = 0
        scope = dict(getattr(adj.func, "__globals__", {}))
        for name, cell in zip(adj.func.__code__.co_freevars, adj.func.__closure__ or (), strict=False):
            try:
                scope[name] = cell.cell_contents
            except ValueError:
                continue
        self.scope = scope

    def block(self, body: Sequence[ast.stmt]) -> None:
        for statement in body:
            self.statement(statement)

    def statement(self, node: ast.stmt) -> None:
        if isinstance(node, ast.Assign):
            value = self.value(node.value)
            for target in node.targets:
                self.store(target, value)
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            self.store(node.target, self.value(node.value))
        elif isinstance(node, ast.AugAssign):
            self.store(node.target, self.operation(node.op, self.value(node.target), self.value(node.value)))
        elif isinstance(node, (ast.For, ast.While)):
            self.loops += 1
            if isinstance(node, ast.While):
                self.value(node.test)
            else:
                self.value(node.iter)
            self.block(node.body)
            self.loops -= 1
        elif isinstance(node, ast.If):
            self.value(node.test)
            self.block(node.body)
            self.block(node.orelse)
        elif isinstance(node, ast.Return):
            parts = node.value.elts if isinstance(node.value, ast.Tuple) else [node.value]
            values = [self.value(part) for part in parts]
            for earlier, value in zip(self.returned, values, strict=False):
                _unite(earlier, value)
            self.returned = self.returned or values
        elif isinstance(node, ast.Expr):
            self.value(node.value)

    def store(self, target: ast.expr, value: Any) -> None:
        if isinstance(target, ast.Name):
            earlier = self.env.get(target.id)
            if self.loops and isinstance(earlier, Term) and not earlier.array:
                _unite(earlier, value)
            else:
                self.env[target.id] = value
        elif isinstance(target, ast.Tuple):
            parts = value if isinstance(value, list) and len(value) == len(target.elts) else [None] * len(target.elts)
            for element, part in zip(target.elts, parts, strict=True):
                self.store(element, part)
        elif isinstance(target, (ast.Subscript, ast.Attribute)):
            _unite(self.value(target), value)

    def value(self, node: ast.expr | None) -> Any:
        if isinstance(node, ast.Name):
            if node.id in self.env:
                return self.env[node.id]
            return self.constant(self.scope.get(node.id))
        if isinstance(node, ast.Constant):
            return self.constant(node.value)
        if isinstance(node, ast.Subscript):
            return self.subscript(node)
        if isinstance(node, ast.Attribute):
            return self.attribute(node)
        if isinstance(node, ast.BinOp):
            return self.operation(node.op, self.value(node.left), self.value(node.right))
        if isinstance(node, ast.UnaryOp):
            return self.value(node.operand)
        if isinstance(node, ast.Compare):
            parts = [self.value(part) for part in (node.left, *node.comparators)]
            for one, two in zip(parts, parts[1:], strict=False):
                _unite(one, two)
                if not isinstance(node.ops[0], (ast.Eq, ast.NotEq)):
                    for part in (one, two):
                        if isinstance(part, Term):
                            part.kind.learn(SCALAR)
            return None
        if isinstance(node, ast.IfExp):
            self.value(node.test)
            one, two = self.value(node.body), self.value(node.orelse)
            _unite(one, two)
            return one or two
        if isinstance(node, ast.BoolOp):
            for part in node.values:
                self.value(part)
            return None
        if isinstance(node, ast.Call):
            return self.call(node)
        return None

    def constant(self, value: Any) -> Term | None:
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            return known(type(value)) if type(value) in types.scalar_types else None
        # a literal fits numbers of its own kind only, which shows where the product is compiled
        return Term(Node(SCALAR), Node(wp.float32) if isinstance(value, float) else Node())

    def subscript(self, node: ast.Subscript) -> Any:
        base = self.value(node.value)
        indices = list(node.slice.elts) if isinstance(node.slice, ast.Tuple) else [node.slice]
        for index in indices:
            self.value(index)
        if not isinstance(base, Term):
            return None
        if base.array:
            return Term(base.kind, base.number)
        element = Term(Node(), base.number)
        sizes = [index.value + 1 for index in indices if isinstance(index, ast.Constant) and type(index.value) is int]
        least = max([3, *sizes]) if len(sizes) == len(indices) else 0
        if len(indices) == 2:
            base.kind.learn(("matrix", least, least))
            element.kind.learn(SCALAR)
        elif base.kind.value is not None and base.kind.value[0] == "matrix":
            element.kind.learn(("vector", base.kind.value[2], 0))
        elif base.kind.value is not None:
            element.kind.learn(SCALAR)
            base.kind.learn((base.kind.value[0], least, 0))
        else:
            self.shapes._indexed.append((base, element))
        return element

    def attribute(self, node: ast.Attribute) -> Any:
        if isinstance(node.value, ast.Name) and node.value.id not in self.env:
            return self.constant(getattr(self.scope.get(node.value.id), node.attr, None))
        base = self.value(node.value)
        if isinstance(base, Term) and not base.array and node.attr in ("x", "y", "z", "w"):
            base.kind.learn(("vector", 4 if node.attr == "w" else 3, 0))
            return Term(Node(SCALAR), base.number)
        return None

    def operation(self, op: ast.operator, left: Any, right: Any) -> Any:
        if not isinstance(left, Term) or not isinstance(right, Term):
            known_one = left if isinstance(left, Term) else right
            if isinstance(op, (ast.Add, ast.Sub)):
                return known_one
            return None
        left.number.join(right.number)
        if isinstance(op, ast.Mult):
            result = Term(Node(), left.number)
            self.shapes._products.append((left, right, result))
            _product(left, right, result)
            return result
        if isinstance(op, ast.Div):
            right.kind.learn(SCALAR)
            return left
        if isinstance(op, (ast.Add, ast.Sub, ast.Mod)):
            left.kind.join(right.kind)
            return left
        left.kind.learn(SCALAR)
        return left

    def call(self, node: ast.Call) -> Any:
        given = [self.value(argument) for argument in node.args]
        given += [self.value(keyword.value) for keyword in node.keywords]
        made = self.constructed(node)
        if made is not None:
            return self.made(made, given)
        target = self.resolve(node.func)
        if isinstance(target, wp.Function) and target.func is not None:
            return self.enter(target, node, given)
        concrete = known(target) if isinstance(target, type) else None
        if concrete is not None:
            return self.converted(concrete, given)
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if name in ("float", "int"):
            return self.converted(known({"float": float, "int": int}[name]), given)
        return self.builtin(name, given)

    def constructed(self, node: ast.Call) -> Term | None:
        """What ``type(x)(...)`` and ``x.dtype(...)`` make: what ``x`` is."""
        function = node.func
        if isinstance(function, ast.Call) and isinstance(function.func, ast.Name) and function.func.id == "type":
            found = self.value(function.args[0]) if function.args else None
            return found if isinstance(found, Term) else None
        if isinstance(function, ast.Attribute) and function.attr == "dtype":
            found = self.value(function.value)
            return Term(found.kind if found.array else Node(SCALAR), found.number) if isinstance(found, Term) else None
        return None

    def made(self, made: Term, given: list[Any]) -> Term:
        terms = [one for one in given if isinstance(one, Term)]
        if len(given) > 1:
            made.kind.learn(("matrix", 3, 3) if len(given) == 9 else ("vector", len(given), 0))
            for one in terms:
                one.kind.learn(SCALAR)
                if one.number.value is None or made.number.value is None:
                    made.number.join(one.number)
        return Term(made.kind, made.number)

    def converted(self, concrete: Term | None, given: list[Any]) -> Term | None:
        if concrete is None:
            return None
        terms = [one for one in given if isinstance(one, Term)]
        if concrete.kind.value == SCALAR:
            for one in terms:
                one.kind.learn(SCALAR)
        elif len(given) > 1 and concrete.kind.value[0] in ("vector", "quat"):
            for one in terms:
                one.kind.learn(SCALAR)
                concrete.number.join(one.number)
        return concrete

    def enter(self, target: Any, node: ast.Call, given: list[Any]) -> Any:
        overloads = [*getattr(target, "user_templates", {}).values(), *getattr(target, "user_overloads", {}).values()]
        if len(overloads) != 1:
            return None
        chosen = overloads[0]
        names = list(chosen.input_types)
        names = names[: len(node.args)] + [keyword.arg or "" for keyword in node.keywords]
        env: dict[str, Any] = {}
        for name, value in zip(names, given, strict=False):
            declared = known(chosen.input_types[name]) if name in chosen.input_types else None
            if declared is not None and isinstance(value, Term):
                value.alike(declared)
            if isinstance(value, Term):
                env[name] = value
            else:
                # of no interest; the same in both passes over the caller
                env[name] = declared or self.shapes.blanks.setdefault((id(node), name), unknown())
        returned = self.shapes.function(chosen.adj, env)
        return returned[0] if len(returned) == 1 else returned or None

    def builtin(self, name: str, given: list[Any]) -> Any:
        terms = [one for one in given if isinstance(one, Term)]
        first = terms[0] if terms else None
        if name == "where":
            for one, two in zip(given[1:], given[2:], strict=False):
                _unite(one, two)
            return next((one for one in given[1:] if isinstance(one, Term)), None)
        if name in _STORING and isinstance(given[0] if given else None, Term):
            _unite(Term(given[0].kind, given[0].number), given[-1])
            return Term(given[0].kind, given[0].number)
        if first is None:
            return Term(Node(SCALAR), Node(wp.float32)) if name.startswith("rand") else None
        if name in _SAME or name in _NUMBERS:
            for one in terms:
                if name in _NUMBERS:
                    one.kind.learn(SCALAR)
                first.alike(one)
            return Term(first.kind, first.number)
        for table, kind in ((_VECTORS, "vector"), (_MATRICES, "matrix")):
            if name in table:
                for one in terms:
                    one.kind.learn((kind, 3 if name == "cross" else 0, 0))
                    first.alike(one)
                return Term(first.kind if table[name] == "same" else Node(SCALAR), first.number)
        if name in ("outer", "skew"):
            for one in terms:
                one.kind.learn(("vector", 3 if name == "skew" else 0, 0))
                one.number.join(first.number)
            return Term(Node(("matrix", 0, 0)), first.number)
        if name in _ROTATIONS or name in _MOVES:
            first.kind.learn(("quat", 4, 0) if name in _ROTATIONS else ("transform", 7, 0))
            for one in terms[1:]:
                one.kind.learn(("vector", 3, 0))
                one.number.join(first.number)
            return Term(Node(("vector", 3, 0)), first.number)
        return None

    def resolve(self, node: ast.expr) -> Any:
        if isinstance(node, ast.Name):
            return None if node.id in self.env else self.scope.get(node.id)
        if isinstance(node, ast.Attribute):
            owner = self.resolve(node.value)
            return getattr(owner, node.attr, None) if owner is not None else None
        return None


def _unite(one: Any, two: Any) -> None:
    if isinstance(one, Term) and isinstance(two, Term):
        one.alike(two)
