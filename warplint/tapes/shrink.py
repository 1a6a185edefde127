"""Smaller numbers: a program that is too long to run is run with fewer steps.

The numbers of frames, steps, windows and rounds are parameters of host code: a program with fewer of them is the same
program. Their order is kept, and a number that was a multiple of another by far stays one. A count gets smaller where
it is written out: in an assignment, as a default, a field, an entry of a dict, an argument, an option of the command
line.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from warplint.ir import syntax as ir
from warplint.source.project import Module
from warplint.tapes.memo import ModuleMemo

if TYPE_CHECKING:
    from warplint.tapes.machine import Machine

#: Counts up to the first number become the second; all larger than the last become twelve. Each divides the next.
_STEPS = ((16, 3), (128, 6))

_RANGE = "range("
_BRACKET = re.compile(r"[()]")
_WORD = re.compile(r"[^\W\d]\w*")


def smaller(number: int) -> int:
    """What stands for a count."""
    if number <= 3:
        return number
    return next((small for limit, small in _STEPS if number <= limit), 12)


def _counts(module: Module) -> frozenset[str]:
    # The text is enough: to read all of a large module for this would cost more than to run what is needed of it.
    text = module.text
    found: set[str] = set()
    start = text.find(_RANGE)
    while start >= 0:
        before = text[max(0, start - 2) : start]
        if before[-1:] == "t":  # ``trange``
            before = before[:-1]
        if not (before and (before[-1].isalnum() or before[-1] == "_")):
            found.update(_WORD.findall(_argument(text, start + len(_RANGE))))
        start = text.find(_RANGE, start + 1)
    return frozenset(found - {"self", "len", "min", "max", "int", "shape", "range"})


def _argument(text: str, start: int) -> str:
    """What stands between a bracket that was opened just before ``start`` and the one that closes it."""
    depth = 1
    for bracket in _BRACKET.finditer(text, start, start + 400):
        depth += 1 if bracket[0] == "(" else -1
        if depth == 0:
            return text[start : bracket.start()]
    return ""


#: The names (of variables, parameters and attributes) that bound a loop somewhere in a module.
counts = ModuleMemo(_counts)


def assigned(machine: Machine, module: Module, target: ir.Expr, node: ir.Expr, value: int) -> int:
    """What an assignment binds: a count that is written out (or rounded from a duration) gets smaller in a run with
    smaller counts; any other run notes that it met one.

    Counts that are computed from others follow those.
    """
    name = target.attr if isinstance(target, ir.Attribute) else target.id if isinstance(target, ir.Name) else ""
    rounded = isinstance(node, ir.Call) and isinstance(node.func, ir.Name) and node.func.id in ("int", "round")
    return count(machine, module, name, value) if rounded or isinstance(node, ir.Constant) else value


def count(machine: Machine, module: Module, name: str, value: int) -> int:
    """What ``name`` gets (a variable, parameter, field, key, or option of the command line) where ``module`` writes out
    ``value`` for it."""
    if value <= 3 or (machine.counts and not machine.shrunk) or name not in counts(module):
        return value
    machine.counts = True
    return smaller(value) if machine.shrunk else value


def passed(machine: Machine, module: Module, name: str, value: int, place: tuple[int, int] | None = None) -> int:
    """What the parameter ``name`` of a function or class of ``module`` gets: a count that the call spells out gets
    smaller, too.

    ``place``: which of how many positional arguments it is; those that the call does not spell (an object, for a
    method) come first. None for a keyword.
    """
    written = machine.written
    if value <= 3 or written is None:
        return value
    node: ir.Expr | None = None
    if place is None:
        node = written.keyword(name)
    elif not any(isinstance(argument, ir.Starred) for argument in written.args):
        at = place[0] - (place[1] - len(written.args))
        node = written.args[at] if 0 <= at < len(written.args) else None
    spelled = isinstance(node, ir.Constant) and node.value == value
    return count(machine, module, name, value) if spelled else value
