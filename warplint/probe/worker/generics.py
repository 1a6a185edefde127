"""Instances of generic kernels and funcs: types for every ``Any`` with which Warp's code generator accepts the body.

A guess from how the parameters are used (``shapes``) comes first. Where Warp refuses it, the parameters that flow into
the statement it stopped at are given other types, and what gets farthest is tried further. Building an adjoint takes
milliseconds and shows nearly all that a compiler would (``Adjoint.build`` in ``warp/_src/codegen.py``).
"""

from __future__ import annotations

import ast
import contextlib
import heapq
from collections.abc import Iterator, Sequence
from typing import Any

import warp as wp

from warplint.probe.worker.compat import building_once, types
from warplint.probe.worker.inputs import Choice, choices
from warplint.probe.worker.shapes import SCALAR, Kind, Shapes, Term
from warplint.probe.worker.usage import Usage
from warplint.probe.worker.uses import Use
from warplint.records import dataclass

# How many instances are built at most before the guess counts as wrong, and how many of those that fit are returned.
_BUILDS = 120
_RETURNED = 3
_KINDS: tuple[Kind, ...] = (
    SCALAR,
    ("vector", 3, 0),
    ("matrix", 3, 3),
    ("quat", 4, 0),
    ("vector", 4, 0),
    ("vector", 2, 0),
    ("vector", 6, 0),
    ("transform", 7, 0),
)
_FLOATS = (wp.float32, wp.float64)
# What values of Warp's own types have.
_COMPONENTS = {"x", "y", "z", "w", "dtype", "shape", "ndim", "length", "size", "ptr", "strides", "grad"}
_DEEPEST = 8


@dataclass(frozen=True, slots=True)
class Slot:
    """One generic parameter: its name, its annotation, how many dimensions it has as an array (0: it is none)."""

    name: str
    annotation: Any
    ndim: int
    use: Use | None
    #: The struct of the script that has all that is read and written of it by name.
    struct: Any = None


@dataclass(frozen=True, slots=True, order=True)
class Filling:
    """What one slot is filled with: a kind, and which of the number types."""

    kind: Kind
    number: str


def fitting(item: Any, double: bool) -> list[Choice]:
    """Types for the parameters of the generic kernel or func ``item`` with which Warp accepts it, the likeliest first.

    ``double`` prefers float64 where the code allows it: finite differences are worth more there. Empty if nothing was
    found that fits. ``item`` must come from a module that is not compiled afterwards: instances stay behind in it.
    """
    try:
        with building_once():
            return list(_Search(item).run(double))[:_RETURNED]
    except (AttributeError, KeyError, IndexError, TypeError, ValueError, RecursionError):
        return []  # code that was not thought of: the plain choices are left


class _Search:
    def __init__(self, item: Any) -> None:
        self.kernel = isinstance(item, wp.Kernel)
        if not self.kernel:
            templates = list(item.user_templates.values())
            item = templates[0] if templates else item
        self.item = item
        self.adj = item.adj
        uses = Usage(item).uses if self.kernel else {}
        self.slots: list[Slot] = []
        for argument in self.adj.args:
            if types.type_is_generic(argument.type):
                path = (argument.label, "[]") if types.is_array(argument.type) else (argument.label,)
                rank = argument.type.ndim if types.is_array(argument.type) else _array_rank(self.adj, argument.label)
                struct = None if types.is_array(argument.type) else _struct(self.adj, argument.label)
                self.slots.append(Slot(argument.label, argument.type, rank, uses.get(path), struct))
        self.builds = 0
        self.tried: dict[tuple[Filling, ...], tuple[int, set[str]] | None] = {}

    # --- one instance ---

    def kinds(self, fillings: Sequence[Filling]) -> tuple[Any, ...]:
        """The concrete types of all parameters."""
        filled = {slot.name: _typed(slot, filling) for slot, filling in zip(self.slots, fillings, strict=True)}
        return tuple(filled.get(argument.label, argument.type) for argument in self.adj.args)

    def stops(self, fillings: tuple[Filling, ...]) -> tuple[int, set[str]] | None:
        """None if Warp accepts the instance; else how far it came, and the slots that flow into where it stopped."""
        if fillings in self.tried:
            return self.tried[fillings]
        self.builds += 1
        try:
            self._build(self.kinds(fillings))
            found = None
        except _Stopped as stopped:
            found = stopped.line, self._flowing(stopped.line)
        self.tried[fillings] = found
        return found

    def _build(self, kinds: tuple[Any, ...]) -> None:
        if self.kernel:
            try:
                instance = wp.overload(self.item, list(kinds))
            except Exception as error:
                raise _Stopped(0) from error
            adj, options = instance.adj, self.item.module.options
        else:
            try:
                instance = self.item.get_overload(list(kinds), {})
            except Exception as error:
                raise _Stopped(0) from error
            if instance is None:
                raise _Stopped(0)
            adj, options = instance.adj, self.item.module.options
        try:
            adj.build(None, options)
        except TypeError:
            if adj.lineno is not None:
                raise _Stopped(adj.lineno) from None
            adj.build(None)  # Warp < 1.6 takes no options here
        except Exception as error:
            raise _Stopped(adj.lineno or 0) from error

    def _flowing(self, line: int) -> set[str]:
        """The slots that flow into the statement at ``line``, by the names in it and what those were assigned from."""
        body = self.adj.tree.body[0]
        statements = [
            node for node in ast.walk(body) if isinstance(node, ast.stmt) and node.lineno <= line + 1 <= _end(node)
        ]
        here = min(statements, key=lambda node: _end(node) - node.lineno, default=None)
        if here is None or here is body:
            return {slot.name for slot in self.slots}
        names = {node.id for node in ast.walk(here) if isinstance(node, ast.Name)}
        if isinstance(here, (ast.For, ast.While, ast.If)):
            head = here.iter if isinstance(here, ast.For) else here.test
            names = {node.id for node in ast.walk(head) if isinstance(node, ast.Name)}
        assigned = [
            ({one.id for target in targets for one in ast.walk(target) if isinstance(one, ast.Name)}, node)
            for node in ast.walk(body)
            if (targets := _targets(node))
        ]
        while True:
            more = {
                one.id
                for bound, node in assigned
                if bound & names
                for one in ast.walk(node)
                if isinstance(one, ast.Name)
            }
            if more <= names:
                break
            names |= more
        return {slot.name for slot in self.slots if slot.name in names}

    # --- the search ---

    def run(self, double: bool) -> Iterator[Choice]:
        """Instances that Warp accepts."""
        starts = self._starts(double)
        accepted = [start for start in starts if self.stops(start) is None]
        if not accepted:
            accepted = self._climb(starts)
        for fillings in accepted:
            yield Choice(wp.float32, kinds=self.kinds(fillings))

    def _starts(self, double: bool) -> list[tuple[Filling, ...]]:
        terms = Shapes(self.adj, {slot.name for slot in self.slots if slot.ndim}).terms
        guesses = []
        for free in ("float64", "float32") if double else ("float32", "float64"):
            guesses.append(tuple(_guess(slot, terms[slot.name], free) for slot in self.slots))
        for free in _FLOATS:
            # all alike, whatever the literals say
            guesses.append(tuple(Filling(one.kind, _number(one.number, free.__name__)) for one in guesses[0]))
        for choice in choices():
            plain: list[Filling] = []
            for slot in self.slots:
                kind = ("vector", 3, 0) if choice.number is wp.vec3f else SCALAR
                plain.append(Filling(kind, _number(_guess(slot, terms[slot.name], "float32").number, "float32")))
            guesses.append(tuple(plain))
        # what stands for a struct needs no guess
        known = Filling(SCALAR, "float32")
        pairs = [zip(self.slots, guess, strict=True) for guess in guesses]
        return list(dict.fromkeys(tuple(known if slot.struct else one for slot, one in pair) for pair in pairs))

    def _climb(self, starts: list[tuple[Filling, ...]]) -> list[tuple[Filling, ...]]:
        """Changes what flows into the statement that Warp refuses, from what came farthest."""
        queue: list[tuple[int, int, int, tuple[Filling, ...]]] = []
        order = 0
        for start in starts:
            stop = self.stops(start)
            if stop is not None:
                heapq.heappush(queue, (-stop[0], 0, order, start))
                order += 1
        expanded: set[tuple[Filling, ...]] = set()
        while queue and self.builds < _BUILDS:
            _, depth, _, fillings = heapq.heappop(queue)
            if fillings in expanded:
                continue
            expanded.add(fillings)
            stop = self.stops(fillings)
            assert stop is not None
            for changed in self._changes(fillings, stop[1]):
                if changed in self.tried:
                    continue
                if self.builds >= _BUILDS:
                    break
                result = self.stops(changed)
                if result is None:
                    return [changed]
                if result[0] >= stop[0]:
                    order += 1
                    heapq.heappush(queue, (-result[0], depth + 1, order, changed))
        return []

    def _changes(self, fillings: tuple[Filling, ...], flowing: set[str]) -> Iterator[tuple[Filling, ...]]:
        places = [n for n, slot in enumerate(self.slots) if slot.name in flowing and slot.struct is None]
        for number in ("float64", "float32"):
            yield tuple(
                Filling(one.kind, _number(one.number, number)) if place in places else one
                for place, one in enumerate(fillings)
            )
            yield tuple(
                one if slot.struct else Filling(one.kind, _number(one.number, number))
                for slot, one in zip(self.slots, fillings, strict=True)
            )
        for place in places:
            for kind in _KINDS:
                yield (*fillings[:place], Filling(kind, fillings[place].number), *fillings[place + 1 :])
        for place in places:
            for number in ("float32", "float64", "int32"):
                yield (*fillings[:place], Filling(fillings[place].kind, number), *fillings[place + 1 :])


class _Stopped(Exception):
    """Warp refuses an instance at ``line`` of the function (0: at its signature)."""

    def __init__(self, line: int) -> None:
        super().__init__(line)
        self.line = line


def _guess(slot: Slot, term: Term, free: str) -> Filling:
    use = slot.use
    kind: Kind = term.kind.value or SCALAR
    number = term.number.value
    name = getattr(number, "__name__", free)
    if kind == SCALAR and use is not None and use.index_of and number is None:
        name = "int32"
    if number is not None and number not in (*_FLOATS, wp.float16):
        # literals that are integers say little
        name = "int32" if number is wp.int32 else name
    return Filling(kind, name)


def _number(now: str, wanted: str) -> str:
    """Another float type; integers stay."""
    return wanted if now.startswith("float") else now


def _typed(slot: Slot, filling: Filling) -> Any:
    """The type that a filling means for a slot; what the annotation fixes stays as it is."""
    if slot.struct is not None:
        return slot.struct
    number = getattr(wp, filling.number)
    inner = slot.annotation.dtype if types.is_array(slot.annotation) else slot.annotation
    kind = _element(inner, filling.kind, number, slot.use)
    return wp.array(dtype=kind, ndim=slot.ndim) if slot.ndim else kind


def _element(inner: Any, kind: Kind, number: Any, use: Use | None) -> Any:
    if not types.type_is_generic(inner):
        return inner
    scalar = getattr(inner, "_wp_scalar_type_", None)
    if scalar is not None:
        fixed = [size if isinstance(size, int) and size > 0 else 0 for size in inner._shape_]
        sizes = [own or (given if given > 1 else 3) for own, given in zip(fixed, kind[1:], strict=False)]
        if types.type_is_generic(scalar):
            scalar = number if scalar is not getattr(types, "Int", None) else wp.int32
        hint = getattr(inner, "_wp_generic_type_str_", "")
        if hint == "quat_t":
            return types.quaternion(dtype=scalar)
        if hint == "transform_t":
            return types.transformation(dtype=scalar)
        return types.vector(sizes[0], scalar) if len(fixed) == 1 else types.matrix((sizes[0], sizes[1]), scalar)
    if inner in (getattr(types, "Float", None), getattr(types, "Scalar", None)):
        return number
    if inner is getattr(types, "Int", None):
        return wp.int32
    name, rows, columns = kind
    if name == "scalar":
        return number
    if name == "quat":
        return types.quaternion(dtype=number)
    if name == "transform":
        return types.transformation(dtype=number)
    if name == "matrix":
        return types.matrix((rows or 3, columns or rows or 3), number)
    return types.vector(rows or 3, number)


def _struct(adj: Any, name: str) -> Any:
    """The smallest struct that has what is read and written of the parameter ``name``; None where nothing is."""
    fields = _fields(adj, name, [])
    if not fields:
        return None
    script = getattr(adj.func, "__globals__", {}).values()
    known = [one for one in script if hasattr(one, "vars") and hasattr(one, "cls")]
    fitting_ones = [one for one in known if fields <= set(one.vars)]
    return min(fitting_ones, key=lambda one: len(one.vars), default=None)


def _fields(adj: Any, name: str, stack: list[Any]) -> set[str]:
    """What is read and written of the parameter ``name`` by name, here and in the funcs that it is passed to."""
    if any(adj is other for other, _ in stack) or len(stack) > _DEEPEST:
        return set()
    stack = [*stack, (adj, name)]
    scope = dict(getattr(adj.func, "__globals__", {}))
    for free, cell in zip(adj.func.__code__.co_freevars, adj.func.__closure__ or (), strict=False):
        with contextlib.suppress(ValueError):
            scope[free] = cell.cell_contents
    same = {name}
    found: set[str] = set()
    for node in ast.walk(adj.tree.body[0]):
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Name) and node.value.id in same:
            same |= {target.id for target in node.targets if isinstance(target, ast.Name)}
    for node in ast.walk(adj.tree.body[0]):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in same:
            found.add(node.attr)
        elif isinstance(node, ast.Call):
            target = scope.get(node.func.id) if isinstance(node.func, ast.Name) else None
            templates = [
                *getattr(target, "user_templates", {}).values(),
                *getattr(target, "user_overloads", {}).values(),
            ]
            for called in templates[:1]:
                names = list(called.input_types)
                given = [*zip(names, node.args, strict=False), *((one.arg, one.value) for one in node.keywords)]
                for parameter, value in given:
                    if isinstance(value, ast.Name) and value.id in same and parameter in called.input_types:
                        found |= _fields(called.adj, parameter, stack)
    return found - _COMPONENTS


def _array_rank(adj: Any, name: str) -> int:
    """How many indices the parameter ``name`` takes as an array: it is one if an index is no constant."""
    rank = 0
    for node in ast.walk(adj.tree.body[0]):
        if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name) and node.value.id == name:
            indices = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
            if isinstance(node.ctx, ast.Store) or not all(isinstance(index, ast.Constant) for index in indices):
                rank = max(rank, len(indices))
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args:
            first = node.args[0]
            if node.func.attr.startswith("atomic_") and isinstance(first, ast.Name) and first.id == name:
                rank = max(rank, len(node.args) - 2)
    return rank


def _targets(node: ast.AST) -> list[ast.expr]:
    if isinstance(node, ast.Assign):
        return node.targets
    if isinstance(node, (ast.AugAssign, ast.AnnAssign, ast.For)):
        return [node.target]
    return []


def _end(node: ast.stmt) -> int:
    return node.end_lineno or node.lineno
