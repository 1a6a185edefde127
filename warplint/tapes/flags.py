"""Where it is decided whether an array has a gradient: at the allocation, or at a call that leads to it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from warplint.ir import syntax as ir
from warplint.source.project import Definition
from warplint.tapes.memo import Memo

if TYPE_CHECKING:
    from warplint.tapes.machine import Machine


def decided_above(machine: Machine, written: ir.Expr | None) -> int:
    """How many calls lie between an allocation and the place that decides its ``requires_grad``.

    ``written`` is the argument as it is written at the allocation. Where it is a parameter of the function, the call of
    that function decides, by what it passes or does not pass.
    """
    levels = 0
    for definition, call in reversed(machine.callers):
        if not isinstance(written, ir.Name) or call is None:
            break
        place = _position(definition, written.id)
        if place is None:
            break
        levels += 1
        written = _passed(call, written.id, place)
    return levels


def _position(definition: Definition, name: str) -> int | None:
    """The place of a parameter among the arguments of a call; None for what is no parameter, or is bound again."""
    node = definition.node
    if not isinstance(node, ir.FunctionDef):
        return None
    names = [parameter.name for parameter in node.parameters]
    if name not in names:
        return None
    if name in _assigned(node):
        return None
    of_object = bool(definition.scope) and isinstance(definition.scope[-1], ir.ClassDef)
    static = any(isinstance(mark, ir.Name) and mark.id == "staticmethod" for mark in node.decorators)
    return names.index(name) - (1 if of_object and not static else 0)


@Memo
def _assigned(node: ir.FunctionDef) -> frozenset[str]:
    """The names that are assigned to in a function, and in those inside it."""
    assigned = (target for inner in ir.walk(node) if isinstance(inner, ir.Assign) for target in inner.targets)
    return frozenset(target.id for target in assigned if isinstance(target, ir.Name))


def _passed(call: ir.Call, name: str, place: int) -> ir.Expr | None:
    """What a call passes for a parameter, None where that is its default."""
    given = call.keyword(name)
    if given is not None:
        return given
    return call.args[place] if 0 <= place < len(call.args) else None
