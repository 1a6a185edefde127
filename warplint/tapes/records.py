"""Classes that are made by a call: ``namedtuple("Pair", "first second")``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from warplint.ir import syntax as ir
from warplint.ir.spans import Location
from warplint.source.project import Definition
from warplint.tapes.values import ClassValue, Instance, ListValue, Unknown, Value

if TYPE_CHECKING:
    from warplint.tapes.machine import Machine


def make_class(machine: Machine, args: tuple[Value, ...], keywords: dict[str, Value], site: Location) -> Value:
    """``collections.namedtuple(name, fields)`` and ``typing.NamedTuple(name, [(field, type), ...])``."""
    given = dict(zip(("typename", "field_names"), args, strict=False)) | keywords
    title, fields = given.get("typename"), _names(given.get("field_names"))
    module = machine.project.module(site.path)
    if not isinstance(title, str) or fields is None or module is None or "rename" in keywords:
        return Unknown("namedtuple")
    span = site.span
    body = tuple(ir.AnnAssign(span, ir.Name(span, name), ir.Constant(span, None), None) for name in fields)
    node = ir.ClassDef(span, title, span, (), (), (), body)
    return ClassValue(Definition(module, node, ()), (), None, "namedtuple")


def _names(fields: Value) -> list[str] | None:
    if isinstance(fields, str):
        return fields.replace(",", " ").split()
    if isinstance(fields, ListValue) and fields.open:
        return None
    items = fields.items if isinstance(fields, ListValue) else fields
    if not isinstance(items, (list, tuple)):
        return None
    names = [item[0] if isinstance(item, tuple) and item else item for item in items]
    return [name for name in names if isinstance(name, str)] if all(isinstance(name, str) for name in names) else None


def items(value: Instance) -> list[Value] | None:
    """The elements of a named tuple in the order of its fields, None for any other object."""
    if value.cls.kind != "namedtuple":
        return None
    fields = [
        statement.target.id
        for cls in reversed(value.cls.lineage())
        for statement in cls.definition.node.body
        if isinstance(statement, ir.AnnAssign) and isinstance(statement.target, ir.Name)
    ]
    return [value.attributes.get(name, Unknown(name)) for name in fields]
