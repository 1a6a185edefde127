"""Whether two values are equal, and whether they are one object."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from warplint.ir import syntax as ir
from warplint.ir.spans import Location
from warplint.tapes.memo import Memo
from warplint.tapes.values import (
    BoundMethod,
    ClassValue,
    ExternalValue,
    FunctionValue,
    Instance,
    Unknown,
    Value,
    is_plain,
)

if TYPE_CHECKING:
    from warplint.tapes.machine import Machine

#: Operators whose results are numbers or data where their operands are.
_ARITHMETIC = frozenset({"+", "-", "*", "/", "//", "%", "**", "@", "|", "&", "^", "<<", ">>"})


def plain_of(value: Value) -> Value:
    """The number or text behind a member of an enumeration; anything else as it is."""
    if isinstance(value, Instance) and value.cls.kind == "enum":
        inner = value.attributes.get("value")
        return inner if is_plain(inner) and inner is not None else value
    return value


def same(machine: Machine, left: Value, right: Value, *, identity: bool) -> bool | None:
    """Whether ``left is right``, or else ``left == right``; None where that cannot be known."""
    if isinstance(left, Unknown) or isinstance(right, Unknown):
        computed = left if right is None else right if left is None else None
        if isinstance(computed, Unknown) and _is_data(computed):
            return False
        return True if left is right else None
    if is_plain(left) and is_plain(right):
        if identity and (isinstance(left, bool) != isinstance(right, bool)):
            return False
        return bool(left == right)
    if isinstance(left, ExternalValue) and isinstance(right, ExternalValue):
        return left.name == right.name
    if left is None or right is None:
        return False  # the other is an object
    if left is right:
        return True
    if isinstance(left, Instance) and isinstance(right, Instance):
        if left.cls.kind == right.cls.kind == "enum":
            return _same_member(machine, left, right, identity)
        if not identity:
            return _equal_objects(machine, left, right)
    if not identity and isinstance(left, Instance) != isinstance(right, Instance):
        return _equals_value(machine, left, right)
    return False if identity else None


def among(machine: Machine, left: Value, items: Iterable[Value]) -> bool | None:
    """Whether ``left`` equals one of the items, None if that is not known."""
    unsure = False
    for item in items:
        if item.__class__ is str and left.__class__ is str:  # the usual case, and lists of names are long
            if item == left:
                return True
            continue
        equal = same(machine, left, item, identity=False)
        if equal:
            return True
        unsure = unsure or equal is None
    return None if unsure else False


def _is_data(value: Unknown) -> bool:
    """Whether an unknown value is a number or data that arithmetic or numpy made of what arrays hold."""
    if "contents" in value.children:
        return True
    if value.origin is None or not value.sources:
        return False
    head = value.origin[0]
    kind = head[0] if isinstance(head, tuple) else head
    return kind == "result" or (isinstance(kind, str) and (kind in _ARITHMETIC or kind.startswith("unary ")))


# --- members of enumerations ---


def _same_member(machine: Machine, left: Instance, right: Instance, identity: bool) -> bool | None:
    """Two names of members are of one member where their values are equal (Python manual, ``enum``: "a name with the
    same value is an alias"); members of two classes are equal where both are numbers or texts as well."""
    if _method(machine, left, "__eq__") is not None or _method(machine, right, "__eq__") is not None:
        return None
    values = left.attributes.get("value"), right.attributes.get("value")
    if left.cls is not right.cls:
        if identity or not (stands_for_value(left) and stands_for_value(right)):
            return False
        return same(machine, *values, identity=False)
    if any(isinstance(value, Unknown) and value.hint == "enum.auto" for value in values):
        return False  # a value of its own
    return same(machine, *values, identity=False)


def _equals_value(machine: Machine, left: Value, right: Value) -> bool | None:
    """Whether an object equals something that is no object of a project class."""
    member, value = (left, right) if isinstance(left, Instance) else (right, left)
    assert isinstance(member, Instance)
    if member.cls.kind != "enum" or _method(machine, member, "__eq__") is not None or not is_plain(value):
        return None
    return same(machine, plain_of(member), value, identity=False) if stands_for_value(member) else False


def stands_for_value(value: Instance) -> bool:
    """Whether an object is a member of an enumeration whose members are numbers or texts too, as those of ``IntEnum``
    are."""
    return value.cls.kind == "enum" and any(name not in ("enum.Enum", "enum.Flag") for name in value.cls.external_bases)


# --- objects ---


def _equal_objects(machine: Machine, left: Instance, right: Instance) -> bool | None:
    """``left == right`` for two objects of project classes that are not one: what their own ``__eq__`` says, the fields
    of a dataclass, and else no (Python manual, "Data model", ``object.__eq__``)."""
    for owner, other in ((left, right), (right, left)):
        method = _method(machine, owner, "__eq__")
        if method is not None:
            definition = method.definition
            place = Location(definition.module.path, definition.node.name_span)
            answer = machine.call(BoundMethod(method, owner), (other,), {}, place)
            return answer if isinstance(answer, bool) else None
    if any(cls.external_bases or cls.kind not in ("plain", "dataclass") for cls in (left.cls, right.cls)):
        return None
    marks = [ancestor.definition.node.decorators for cls in (left.cls, right.cls) for ancestor in cls.lineage()]
    if left.cls.kind == right.cls.kind == "plain":
        return None if any(marks) else False  # what a decorator adds is not known
    if left.cls is not right.cls:
        return False if all(len(cls.definition.node.decorators) == 1 for cls in (left.cls, right.cls)) else None
    compared = _compared_fields(left.cls)
    if compared is None:
        return None
    equal = [
        same(machine, *(value.attributes.get(name) for value in (left, right)), identity=False) for name in compared
    ]
    return False if False in equal else None if None in equal else True


def _compared_fields(cls: ClassValue) -> list[str] | None:
    """The fields that the ``__eq__`` of a dataclass compares; None where that is not known."""
    if len(cls.definition.node.decorators) != 1:
        return None
    found: dict[str, bool] = {}
    for ancestor in reversed(cls.lineage()):
        node = ancestor.definition.node
        if node.decorators:
            assert isinstance(node, ir.ClassDef)
            fields = _FIELDS(node)
            if fields is None:
                return None
            found.update(fields)
    return [name for name, compares in found.items() if compares]


def _fields(node: ir.ClassDef) -> dict[str, bool] | None:
    """The fields of a dataclass, and whether each is compared; None where its decorator may make another ``__eq__``."""
    if any(isinstance(mark, ir.Call) and mark.keyword("eq") is not None for mark in node.decorators):
        return None
    return {
        statement.target.id: not (isinstance(statement.value, ir.Call) and statement.value.keyword("compare"))
        for statement in node.body
        if isinstance(statement, ir.AnnAssign) and isinstance(statement.target, ir.Name)
        if not any(_is_class_variable(part) for part in ir.walk(statement.annotation))
    }


def _is_class_variable(part: ir.Node) -> bool:
    return (isinstance(part, ir.Name) and part.id == "ClassVar") or (
        isinstance(part, ir.Attribute) and part.attr == "ClassVar"
    )


_FIELDS = Memo(_fields)


def _method(machine: Machine, owner: Instance, name: str) -> FunctionValue | None:
    """A method that the class of an object has from the project."""
    from warplint.tapes import members

    found = members.class_member(machine, owner.cls, name)
    return found[1] if found is not None and isinstance(found[1], FunctionValue) else None
