"""Smaller numbers: a program that is too long to run is run with fewer steps.

The numbers of frames, steps, windows and rounds are parameters of host code: a program with fewer of them is the same
program. Their order is kept, and a number that was a multiple of another by far stays one.
"""

from __future__ import annotations

from warplint.ir import syntax as ir
from warplint.source.project import Module
from warplint.tapes.values import Value

_NAMES: dict[int, tuple[Module, frozenset[str]]] = {}


def smaller(number: int) -> int:
    """What stands for a count."""
    if number <= 4:
        return number
    if number <= 16:
        return 4
    return 8 if number <= 128 else 16


def counts(module: Module) -> frozenset[str]:
    """The names (of variables, parameters and attributes) that bound a loop somewhere in ``module``."""
    known = _NAMES.get(id(module))
    if known is not None and known[0] is module:
        return known[1]
    found: set[str] = set()
    for definition in module.functions():
        for node in ir.walk(definition.node):
            if isinstance(node, ir.Call) and isinstance(node.func, ir.Name) and node.func.id in ("range", "trange"):
                for arg in node.args:
                    for inner in ir.walk(arg):
                        if isinstance(inner, ir.Name):
                            found.add(inner.id)
                        elif isinstance(inner, ir.Attribute):
                            found.add(inner.attr)
    names = frozenset(found - {"self", "len", "min", "max", "int", "shape", "range"})
    _NAMES[id(module)] = (module, names)
    return names


def assigned(module: Module, target: ir.Expr, node: ir.Expr, value: Value) -> Value:
    """What an assignment binds: a count that is written out (or rounded from a duration) gets smaller.

    Counts that are computed from others follow those.
    """
    if not isinstance(value, int) or isinstance(value, bool) or value <= 4:
        return value
    name = target.attr if isinstance(target, ir.Attribute) else target.id if isinstance(target, ir.Name) else ""
    if name not in counts(module):
        return value
    if isinstance(node, ir.Constant) or (
        isinstance(node, ir.Call) and isinstance(node.func, ir.Name) and node.func.id in ("int", "round")
    ):
        return smaller(value)
    return value
