"""The recipe for copies onto arrays that a reverse sweep still has to read: the name gets a fresh array."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from warplint.fixing.places import Place, Plan
from warplint.ir import syntax as ir
from warplint.ir.spans import Span
from warplint.records import dataclass

#: What makes an array with memory of its own, and how many of its arguments come before the device.
_FRESH = {"zeros": 2, "empty": 2, "ones": 2, "full": 3, "array": 2, "from_numpy": 2}
_LIKE = {"zeros_like": 1, "empty_like": 1, "ones_like": 1, "full_like": 2, "clone": 1}
_LAUNCHES = ("warp.launch", "warp.launch_tiled")
#: What is asked of an array, or done to it, at once: nobody keeps the array for later.
_ASKED = frozenset({"shape", "size", "dtype", "ndim", "device", "assign", "zero_", "fill_"})
#: Where an array is made, and when, is not seen in its own call, or a launch keeps its arrays.
_ELSEWHERE = re.compile(r"\bScopedDevice\b|\bset_device\b|\brecord_cmd\b|\bcapture_begin\b|\bScopedCapture\b")


@dataclass(frozen=True, slots=True)
class _Copy:
    """``wp.copy(target, source)`` or ``target.assign(source)``; ``warp`` is the name of Warp's module."""

    statement: ir.ExprStmt
    target: str
    source: str
    warp: str


def rebind(place: Place) -> Iterator[Plan]:
    """``x = wp.clone(y)`` for ``wp.copy(x, y)`` and ``x.assign(y)``, where ``x`` is all that knows the array."""
    function = place.function()
    copy = _copy(place)
    if function is None or copy is None or "#" in place.text(copy.statement.span):
        return
    text = place.text(function.span)
    if _ELSEWHERE.search(text) or re.search(rf"\b{re.escape(copy.target)}\s*\.\s*grad\b", text):
        return
    uses = _Uses(place, function, copy.statement.span)
    if not uses.are_all_at_once(copy.target) or not uses.are_on_one_device(copy.target, copy.source):
        return
    written = f"{copy.target} = {copy.warp}.clone({copy.source})"
    yield Plan(f"Give `{copy.target}` a fresh array: `{written}`", (place.edit(copy.statement.span, written),))


def _copy(place: Place) -> _Copy | None:
    statement = next((one for one in place.block(place.span) if one.span.covers(place.span)), None)
    call = statement.value if isinstance(statement, ir.ExprStmt) else None
    if not isinstance(statement, ir.ExprStmt) or not isinstance(call, ir.Call):
        return None
    if not isinstance(call.func, ir.Attribute):
        return None
    if place.external(call.func) == "warp.copy":
        parts = dict(zip(("dest", "src"), call.args, strict=False))
        parts |= {str(one.name): one.value for one in call.keywords}
        if set(parts) != {"dest", "src"} or len(call.args) > 2:
            return None
        target, source, warp = parts["dest"], parts["src"], place.text(call.func.value.span)
    elif call.func.attr == "assign" and len(call.args) == 1 and not call.keywords:
        target, source, warp = call.func.value, call.args[0], next(place.names_of_warp(), "")
    else:
        return None
    if not isinstance(target, ir.Name) or not isinstance(source, ir.Name) or target.id == source.id or not warp:
        return None
    return _Copy(statement, target.id, source.id, warp)


class _Uses:
    """What a function does with the names of its arrays."""

    def __init__(self, place: Place, function: ir.FunctionDef, copy: Span) -> None:
        self._place = place
        self._function = function
        # The outermost loop around the copy, or the copy: what comes after it comes after the last copy.
        around = [node for node in place.around(copy) if function.span.covers(node.span)]
        loop = next((node for node in around if isinstance(node, (ir.For, ir.While))), None)
        self._end = (loop.span if loop is not None else copy)[2:]
        self._parents: dict[int, ir.Node] = {}
        for node in ir.walk(function):
            for child in ir.children(node):
                self._parents[id(child)] = node

    def _names(self, name: str) -> Iterator[ir.Name]:
        for node in ir.walk(self._function):
            if isinstance(node, ir.Name) and node.id == name:
                yield node

    def _around(self, node: ir.Node) -> Iterator[ir.Node]:
        """What a node is a part of, innermost first, in this function."""
        while node is not self._function:
            node = self._parents[id(node)]
            yield node

    def _bindings(self, name: str) -> list[ir.Call] | None:
        """The allocations that a name is bound to; None if it is also bound to something else, or elsewhere."""
        if any(parameter.name == name for parameter in self._function.parameters):
            return None
        found = []
        for node in ir.walk(self._function):
            if isinstance(node, ir.Global) and name in node.names:
                return None
            if not isinstance(node, ir.Assign) and any(_binds(target, name) for target in _targets(node)):
                return None
            if isinstance(node, ir.Assign) and any(_binds(target, name) for target in node.targets):
                call = node.value
                if len(node.targets) > 1 or not isinstance(node.targets[0], ir.Name) or not isinstance(call, ir.Call):
                    return None
                kind = (self._place.external(call.func) or "").removeprefix("warp.")
                if len(call.args) > (_FRESH | _LIKE).get(kind, -1) or any(one.name is None for one in call.keywords):
                    return None
                if any(isinstance(argument, ir.Starred) for argument in call.args):
                    return None
                if any(one.name in ("ptr", "copy", "grad") for one in call.keywords):
                    return None
                found.append(call)
        return found

    def are_all_at_once(self, name: str) -> bool:
        """Whether nothing but the name keeps an array of it for later."""
        if not self._bindings(name):
            return False
        return all(self._at_once(node) for node in self._names(name))

    def _at_once(self, node: ir.Name) -> bool:
        around = list(self._around(node))
        if any(isinstance(one, (ir.FunctionDef, ir.Lambda, ir.ClassDef, ir.Comprehension)) for one in around[:-1]):
            return False
        use = around[0]
        if isinstance(use, ir.Assign):
            return node in use.targets and len(use.targets) == 1
        if isinstance(use, ir.Attribute):
            later = node.span[:2] >= self._end
            return use.attr in _ASKED or (use.attr == "numpy" and later)
        if isinstance(use, ir.Keyword) and len(around) > 1:
            use = around[1]
        if isinstance(use, ir.Call):
            known = (self._place.external(use.func) or "").removeprefix("warp.")
            swept = isinstance(use.func, ir.Attribute) and use.func.attr == "backward"
            counted = isinstance(use.func, ir.Name) and use.func.id == "len"
            return known == "copy" or known in _LIKE or swept or counted
        if isinstance(use, (ir.List, ir.Tuple)):
            outer = around[2] if len(around) > 2 and isinstance(around[1], ir.Keyword) else around[1]
            return isinstance(outer, ir.Call) and self._place.external(outer.func) in _LAUNCHES
        return False

    def are_on_one_device(self, name: str, other: str) -> bool:
        """Whether the arrays of two names are surely on one device."""
        devices = self._devices(name, {}) | self._devices(other, {})
        return len(devices) == 1 and None not in devices

    def _devices(self, name: str, seen: Mapping[str, bool]) -> set[str | None]:
        """The devices of the arrays of a name, as text; None for one that is not known, empty text for the default."""
        bindings = self._bindings(name)
        if not bindings:
            return {None}
        found: set[str | None] = set()
        for call in bindings:
            given = call.keyword("device")
            kind = (self._place.external(call.func) or "").removeprefix("warp.")
            if given is not None:
                named = isinstance(given, ir.Name) and self._is_constant(given.id)
                found.add(self._place.text(given.span) if named or isinstance(given, ir.Constant) else None)
            elif kind in _FRESH:
                found.add("")
            else:
                like = call.args[0] if call.args else None
                if not isinstance(like, ir.Name):
                    found.add(None)
                elif like.id != name and like.id not in seen:
                    found |= self._devices(like.id, {**seen, name: True})
        return found

    def _is_constant(self, name: str) -> bool:
        """Whether a name is never bound anew in this function."""
        return not any(_binds(target, name) for node in ir.walk(self._function) for target in _targets(node))


def _targets(node: ir.Node) -> tuple[ir.Expr, ...]:
    """What a statement, or a part of one, binds."""
    if isinstance(node, ir.Assign):
        return node.targets
    if isinstance(node, (ir.For, ir.AugAssign, ir.AnnAssign, ir.Walrus, ir.Generator)):
        return (node.target,)
    if isinstance(node, ir.WithItem) and node.target is not None:
        return (node.target,)
    return ()


def _binds(target: ir.Node, name: str) -> bool:
    """Whether an assignment to ``target`` binds a name."""
    if isinstance(target, ir.Name):
        return target.id == name
    if isinstance(target, (ir.Tuple, ir.List, ir.Starred)):
        return any(_binds(part, name) for part in ir.children(target))
    return False
