"""Operators on abstract values."""

from __future__ import annotations

import math
import operator as python
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from warplint.ir.spans import Location
from warplint.tapes import equality, texts
from warplint.tapes.questions import derived
from warplint.tapes.values import (
    ArrayValue,
    BoundMethod,
    DictValue,
    FunctionValue,
    Instance,
    ListValue,
    RangeValue,
    TensorValue,
    Unknown,
    Value,
    is_plain,
)

if TYPE_CHECKING:
    from warplint.tapes.machine import Machine

#: External names that are numbers.
CONSTANTS: dict[str, Value] = {
    **{f"{module}.pi": math.pi for module in ("math", "numpy", "warp")},
    **{f"{module}.PI": math.pi for module in ("warp",)},
    **{f"{module}.e": math.e for module in ("math", "numpy", "warp")},
    **{f"{module}.inf": math.inf for module in ("math", "numpy", "warp")},
    **{f"{module}.tau": math.tau for module in ("math", "warp")},
    "typing.TYPE_CHECKING": False,
    "True": True,
    "False": False,
    "None": None,
}

_BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "+": python.add,
    "-": python.sub,
    "*": python.mul,
    "/": python.truediv,
    "//": python.floordiv,
    "%": python.mod,
    "**": python.pow,
    "<<": python.lshift,
    ">>": python.rshift,
    "&": python.and_,
    "|": python.or_,
    "^": python.xor,
}
_COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "==": python.eq,
    "!=": python.ne,
    "<": python.lt,
    "<=": python.le,
    ">": python.gt,
    ">=": python.ge,
}
_MAX_REPEAT = 4096


def binary(machine: Machine, operator: str, left: Value, right: Value) -> Value:
    """``left operator right``; unknown where it cannot be computed."""
    if left.__class__ is Instance or right.__class__ is Instance:
        left, right = equality.plain_of(left), equality.plain_of(right)
    if isinstance(left, (int, float)) and isinstance(right, (int, float)):
        return _compute(operator, left, right)
    if isinstance(left, str) and (isinstance(right, str) or operator == "%"):
        if operator == "%":
            return texts.percent(left, right)
        return left + right if operator == "+" and isinstance(right, str) else Unknown("text")
    if operator == "*" and isinstance(left, str) and isinstance(right, int) and abs(right) <= _MAX_REPEAT:
        return left * right
    if operator == "|" and isinstance(left, DictValue) and isinstance(right, DictValue):
        return DictValue({**left.entries, **right.entries}, left.open or right.open, factory=left.factory)
    special = _special(machine, operator, left, right)
    if special is not None:
        return special[0]
    if operator == "+" and isinstance(left, tuple) and isinstance(right, tuple):
        return left + right
    if operator == "+" and isinstance(left, ListValue) and isinstance(right, ListValue):
        return ListValue([*left.items, *right.items], left.open or right.open)
    if operator == "*":
        for sequence, times in ((left, right), (right, left)):
            if isinstance(sequence, (ListValue, tuple)) and isinstance(times, (int, Unknown)):
                return _repeat(machine, sequence, times)
    if operator == "%" and isinstance(right, Unknown) and isinstance(left, int):
        # A step counter against an unknown period: the period has one value all through the run.
        period = machine.questions.number(right)
        return left % period if period else Unknown("%")
    if operator == "//" and isinstance(right, Unknown) and isinstance(left, int):
        period = machine.questions.number(right)
        return left // period if period else Unknown("//")
    if isinstance(left, Unknown) or isinstance(right, Unknown):
        result = derived(operator, left, right)
        _elementwise(operator, left, right, result)
        return result
    sources = frozenset(
        item.storage if isinstance(item, ArrayValue) else item.array.storage
        for item in (left, right)
        if isinstance(item, (ArrayValue, TensorValue))
    )
    return Unknown(operator, sources=sources)


_METHODS = {
    "+": "add",
    "-": "sub",
    "*": "mul",
    "/": "truediv",
    "//": "floordiv",
    "%": "mod",
    "**": "pow",
    "@": "matmul",
    "|": "or",
    "&": "and",
    "^": "xor",
    "<<": "lshift",
    ">>": "rshift",
}


def _special(machine: Machine, operator: str, left: Value, right: Value) -> tuple[Value] | None:
    """What the operator's method of a project class gives; None where there is none."""
    from warplint.tapes import members

    name = _METHODS.get(operator)
    for prefix, owner, other in (("", left, right), ("r", right, left)):
        if name is None or not isinstance(owner, Instance):
            continue
        found = members.class_member(machine, owner.cls, f"__{prefix}{name}__")
        if found is not None and isinstance(found[1], FunctionValue):
            definition = found[1].definition
            place = Location(definition.module.path, definition.node.name_span)
            return (machine.call(BoundMethod(found[1], owner), (other,), {}, place),)
    return None


_SHAPE = ("attr", "shape")


def _elementwise(operator: str, left: Value, right: Value, result: Unknown) -> None:
    """Host data with a number, or with data of its shape, keeps that shape; constant data stays constant."""
    shapes = [item.children.get(_SHAPE) for item in (left, right) if isinstance(item, Unknown)]
    if not isinstance(shapes[0], tuple) or any(shape != shapes[0] for shape in shapes):
        return
    if len(shapes) == 1 and not isinstance(left, (int, float)) and not isinstance(right, (int, float)):
        return
    result.children[_SHAPE] = shapes[0]
    if shapes[0]:
        result.children["len"] = shapes[0][0]
    fills = [item.children.get("fill") if isinstance(item, Unknown) else item for item in (left, right)]
    if isinstance(fills[0], (int, float)) and isinstance(fills[1], (int, float)):
        fill = _compute(operator, fills[0], fills[1])
        if isinstance(fill, (int, float)):
            result.children["fill"] = float(fill)


def _compute(operator: str, left: float, right: float) -> Value:
    function = _BINARY.get(operator)
    if function is None:
        return Unknown(operator)
    if operator in ("**", "<<") and isinstance(right, (int, float)) and abs(right) > 64:
        return Unknown(operator)
    try:
        result: Value = function(left, right)
    except (ArithmeticError, TypeError, ValueError):
        return Unknown(operator)
    if isinstance(result, int) and abs(result) > 2**63:
        return Unknown(operator)
    return result


def _repeat(machine: Machine, sequence: ListValue | tuple[Value, ...], times: int | Unknown) -> Value:
    count = times if isinstance(times, int) else machine.questions.number(times)
    items = sequence.items if isinstance(sequence, ListValue) else list(sequence)
    if count * len(items) > _MAX_REPEAT:
        count = max(1, _MAX_REPEAT // max(1, len(items)))
    if isinstance(sequence, ListValue):
        return ListValue(items * count, sequence.open, guessed=sequence.guessed or not isinstance(times, int))
    return tuple(items * count)


def unary(operator: str, value: Value) -> Value:
    """``-value``, ``+value``, ``~value``."""
    if isinstance(value, (int, float)):
        if operator == "-":
            return -value
        if operator == "+":
            return +value
        return ~value if isinstance(value, int) else Unknown(operator)
    if isinstance(value, Unknown):
        result = derived(f"unary {operator}", value)
        if isinstance(value.children.get(_SHAPE), tuple):
            result.children[_SHAPE] = value.children[_SHAPE]
        return result
    return Unknown(operator)


def compare(machine: Machine, operator: str, left: Value, right: Value) -> Value:
    """``left operator right`` for one comparison."""
    if operator in ("is", "is not", "==", "!="):
        equal = equality.same(machine, left, right, identity=operator.startswith("is"))
        if equal is not None:
            return equal if operator in ("is", "==") else not equal
        unknown, other = (left, right) if isinstance(left, Unknown) else (right, left)
        if not isinstance(unknown, Unknown):
            return Unknown(operator)
        if isinstance(other, Instance) and equality.stands_for_value(other):
            other = equality.plain_of(other)
        question = derived("==", unknown, other)
        return question if operator in ("is", "==") else derived("not", question)
    if operator in ("in", "not in"):
        return contains(machine, operator, left, right)
    left, right = equality.plain_of(left), equality.plain_of(right)
    if is_plain(left) and is_plain(right):
        try:
            return _COMPARE[operator](left, right)
        except TypeError:
            return Unknown(operator)
    if isinstance(left, Unknown) or isinstance(right, Unknown):
        return derived(operator, left, right)
    return Unknown(operator)


def contains(machine: Machine, operator: str, left: Value, right: Value) -> Value:
    """``left in right``, or ``left not in right``."""
    found: bool | None = None
    if isinstance(right, Instance) and right.contents is not None and not _defines(right, "__contains__"):
        right = right.contents
    if isinstance(right, DictValue):
        if not right.open and (is_plain(left) or not isinstance(left, Unknown)):
            found = left in right.entries
        elif not isinstance(left, (Unknown, ListValue, DictValue)) and left in right.entries:
            found = True
        if found is False and isinstance(left, Instance) and equality.stands_for_value(left):
            found = equality.plain_of(left) in right.entries
    elif isinstance(right, (ListValue, tuple)):
        found = equality.among(machine, left, right.items if isinstance(right, ListValue) else right)
        if found is False and isinstance(right, ListValue) and right.open:
            found = None
    elif isinstance(right, str) and isinstance(left, str):
        found = left in right
    elif isinstance(right, RangeValue) and isinstance(left, int):
        found = left in right.numbers()
    if found is not None:
        return found if operator == "in" else not found
    for item in (left, right):
        if isinstance(item, Unknown):
            question = derived("in", left, right)
            return question if operator == "in" else derived("not", question)
    return Unknown(operator)


def _defines(value: Instance, name: str) -> bool:
    return any(name in cls.attributes for cls in value.cls.lineage())


def known_truth(value: Value) -> bool | None:
    """Whether a value is true, None where that cannot be known."""
    if value.__class__ is bool:
        return value
    if value.__class__ is Unknown:
        return None
    if isinstance(value, (tuple, int, float, complex, str, bytes)) or value is None:
        return bool(value)
    if isinstance(value, ListValue):
        return None if value.open and not value.items else bool(value.items)
    if isinstance(value, DictValue):
        return None if value.open and not value.entries else bool(value.entries)
    if isinstance(value, RangeValue):
        return bool(value.numbers())
    if isinstance(value, Instance) and value.cls.kind == "enum":
        return known_truth(equality.plain_of(value)) if equality.plain_of(value) is not value else True
    if isinstance(value, Instance):
        special = any(name in cls.attributes for cls in value.cls.lineage() for name in ("__bool__", "__len__"))
        if value.contents is not None and not special:
            return known_truth(value.contents)
        return None if special else True
    return True


def usual(value: Unknown, default: bool) -> bool:
    """The answer that is tried first for an unknown condition: things are there (not None), hosts have no GPU, and no
    captured graph is there to be run instead of the code itself."""
    origin = value.origin
    if origin is not None and origin[0] == "==" and origin[2] is None and default:
        return False
    if origin is not None and origin[0] in (("attr", "is_cuda"), ("attr", "graph")):
        return False
    return default
