"""Classes of the project: how they are made, their metaclasses, and how objects are made of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from warplint.ir import syntax as ir
from warplint.ir.spans import Location
from warplint.source.project import Definition
from warplint.tapes import calls, inheriting, members, shrink
from warplint.tapes.escaping import escape
from warplint.tapes.frames import Frame
from warplint.tapes.values import (
    BoundMethod,
    Builtin,
    ClassValue,
    DictValue,
    ExternalValue,
    FunctionValue,
    Instance,
    Unknown,
    Value,
)

if TYPE_CHECKING:
    from warplint.tapes.machine import Machine

_STRUCT_DECORATORS = frozenset({"warp.struct"})
_DATACLASS_DECORATORS = frozenset({"dataclasses.dataclass", "chex.dataclass", "flax.struct.dataclass", "attr.s"})


def define(machine: Machine, definition: Definition, node: ir.ClassDef, frame: Frame, closure: Frame | None) -> Value:
    """What a ``class`` statement binds its name to."""
    bases = tuple(machine.evaluate(base, frame) for base in node.bases)
    cls = ClassValue(definition, bases, closure)
    marks: list[tuple[FunctionValue | BoundMethod, ir.Expr]] = []
    for decorator in node.decorators:
        inner = decorator.func if isinstance(decorator, ir.Call) else decorator
        applied = machine.evaluate(inner, frame)
        if isinstance(applied, ExternalValue):
            if applied.name in _STRUCT_DECORATORS:
                cls.kind = "struct"
            elif applied.name in _DATACLASS_DECORATORS:
                cls.kind = "dataclass"
        elif isinstance(applied, (FunctionValue, BoundMethod)):
            marks.append((applied, decorator))
    _set_kind(cls)
    for name in members.described(cls):
        members.class_member(machine, cls, name)
    result: Value = _made(machine, cls, node, frame)
    for maker, decorator in reversed(marks):
        made = calls.decorated(machine, maker, decorator, result, frame)
        result = result if made is None or isinstance(made, Unknown) else made
    return result


def _set_kind(cls: ClassValue) -> None:
    """What a class is by those that it derives from."""
    outside = cls.external_bases
    if "warp.Tape" in outside:
        cls.kind = "tape"
    elif "typing.NamedTuple" in outside:
        cls.kind = "namedtuple"
    elif any(name.startswith("enum.") for name in outside):
        cls.kind = "enum"
    elif cls.kind == "plain" and any(isinstance(base, ClassValue) and base.kind == "dataclass" for base in cls.bases):
        cls.kind = "dataclass"


# --- metaclasses ---


def _made(machine: Machine, cls: ClassValue, node: ir.ClassDef, frame: Frame) -> Value:
    """What the metaclass makes of a class; the classes that it derives from are told of it.

    Python manual, "Metaclasses": ``__new__`` of the metaclass makes the class, which calls ``__init_subclass__``, then
    comes the ``__init__`` of the metaclass.
    """
    written = next((keyword.value for keyword in node.keywords if keyword.name == "metaclass"), None)
    meta = None if written is None else machine.evaluate(written, frame)
    for base in cls.lineage():
        if meta is None:
            meta = base.meta
    if not isinstance(meta, ClassValue):
        _tell_base(machine, cls, node, frame)
        return cls
    cls.meta = meta
    site = machine.location(node, frame)
    keywords = {
        keyword.name: machine.evaluate(keyword.value, frame)
        for keyword in node.keywords
        if keyword.name is not None and keyword.name != "metaclass"
    }
    hooks = {name: members.class_member(machine, meta, name) for name in ("__new__", "__init__")}
    body = DictValue(members.body_of(machine, cls)) if any(hooks.values()) else DictValue()
    before = dict(body.entries)
    given = (node.name, cls.bases, body)
    result: Value = cls
    maker, starter = hooks["__new__"], hooks["__init__"]

    def new(machine: Machine, args: tuple[Value, ...], words: dict[str, Value], place: Location) -> Value:
        """``type.__new__(metaclass, name, bases, body)``."""
        changed = args[3] if len(args) > 3 and isinstance(args[3], DictValue) else body
        for name, value in changed.entries.items():
            if before.get(name) is not value and isinstance(name, str):
                cls.attributes[name] = value
        _tell_base(machine, cls, node, frame)
        return cls

    if maker is not None and isinstance(maker[1], FunctionValue) and machine.may_enter(maker[1].definition):
        machine.making.append(Builtin("__new__", new))
        made = calls.call_function(machine, maker[1], (meta, *given), keywords, site, bound=True)
        machine.making.pop()
        result = made if isinstance(made, ClassValue) else cls
    else:
        _tell_base(machine, cls, node, frame)
    if starter is not None and isinstance(starter[1], FunctionValue) and machine.may_enter(starter[1].definition):
        calls.call_function(machine, starter[1], (cls, *given), keywords, site, bound=True)
    return result


def make(machine: Machine, args: tuple[Value, ...], keywords: dict[str, Value], site: Location) -> Value:
    """``type(name, bases, body)``."""
    name, bases, body = args
    module = machine.project.module(site.path)
    if not isinstance(name, str) or not isinstance(bases, tuple) or not isinstance(body, DictValue) or module is None:
        return Unknown("type")
    node = ir.ClassDef(site.span, name, site.span, (), (), (), ())
    cls = ClassValue(Definition(module, node, ()), bases, None)
    cls.attributes.update({key: value for key, value in body.entries.items() if isinstance(key, str)})
    if body.open:
        cls.bases = (*bases, Unknown("members"))
    _set_kind(cls)
    return _made(machine, cls, node, machine.globals(module))


def call(
    machine: Machine, cls: ClassValue, args: tuple[Value, ...], keywords: dict[str, Value], site: Location
) -> Value:
    """``cls(...)``, which is a call of the class's own class."""
    if cls.meta is not None:
        found = members.class_member(machine, cls.meta, "__call__")
        if found is not None and isinstance(found[1], FunctionValue):
            return calls.call_function(machine, found[1], (cls, *args), keywords, site, bound=True)
    return construct(machine, cls, args, keywords, site)


def _tell_base(machine: Machine, cls: ClassValue, node: ir.ClassDef, frame: Frame) -> None:
    """A class that is made is given to the ``__init_subclass__`` of the class that it derives from."""
    for base in cls.lineage()[1:]:
        found = members.class_member(machine, base, "__init_subclass__")
        if found is not None:
            if isinstance(found[1], FunctionValue) and machine.may_enter(found[1].definition):
                site = machine.location(node, frame)
                keywords = {
                    keyword.name: machine.evaluate(keyword.value, frame)
                    for keyword in node.keywords
                    if keyword.name is not None and keyword.name != "metaclass"
                }
                calls.call_function(machine, found[1], (cls,), keywords, site, bound=True)
            return


# --- objects ---


def construct(
    machine: Machine, cls: ClassValue, args: tuple[Value, ...], keywords: dict[str, Value], site: Location
) -> Value:
    """``cls(...)``, as ``type`` does it."""
    if cls.kind == "tape":
        return machine.recorder.new_tape()
    if cls.kind == "enum":
        return _member(machine, cls, args[0]) if args else Unknown(cls.definition.node.name)
    machine.tick()
    maker = members.class_member(machine, cls, "__new__") if cls.kind == "plain" else None
    if maker is not None and isinstance(maker[1], FunctionValue):
        given = calls.call_function(machine, maker[1], (cls, *args), keywords, site, bound=True)
        if not isinstance(given, Instance):
            return given
        instance = given
    else:
        instance = Instance(cls)
        machine.instances.append(instance)
    if cls.kind == "plain" and cls.external_bases:
        instance.contents = inheriting.new_contents(cls)
    if cls.kind == "struct":
        for field in _fields(cls):
            instance.attributes[field.target.id] = None  # type: ignore[union-attr]
        return instance
    found = members.class_member(machine, cls, "__init__")
    if found is not None and isinstance(found[1], FunctionValue):
        calls.call_function(machine, found[1], (instance, *args), keywords, site, bound=True)
    elif cls.kind in ("dataclass", "namedtuple"):
        _fill_fields(machine, instance, args, keywords, site)
    elif instance.contents is not None:
        inheriting.fill(machine, instance, args, keywords, site)
    elif args or keywords:
        escape(machine, args, keywords, cls.definition.node.name, site)
    return instance


def _member(machine: Machine, cls: ClassValue, value: Value) -> Value:
    """The member of an enumeration that has a value; the value itself where none is known to."""
    for member in members.enum_members(machine, cls):
        if isinstance(member, Instance) and (member is value or member.attributes.get("value") == value):
            return member
    return value


def _fields(cls: ClassValue) -> list[ir.AnnAssign]:
    """The annotated fields of a class and of its project bases, base classes first."""
    found: dict[str, ir.AnnAssign] = {}
    for ancestor in reversed(cls.lineage()):
        for statement in ancestor.definition.node.body:
            if isinstance(statement, ir.AnnAssign) and isinstance(statement.target, ir.Name):
                found[statement.target.id] = statement
    return list(found.values())


def fields_of(cls: ClassValue) -> list[str]:
    """The names of the fields of a dataclass, in order."""
    return [field.target.id for field in _fields(cls) if isinstance(field.target, ir.Name)]


def _fill_fields(
    machine: Machine, instance: Instance, args: tuple[Value, ...], keywords: dict[str, Value], site: Location
) -> None:
    module = instance.cls.definition.module
    frame = members.class_frame(machine, instance.cls)
    for place, field in enumerate(_fields(instance.cls)):
        assert isinstance(field.target, ir.Name)
        name = field.target.id
        value: Value
        if place < len(args):
            value = args[place]
            if value.__class__ is int:
                value = shrink.passed(machine, module, name, value, (place, len(args)))
        elif name in keywords:
            value = keywords[name]
            if value.__class__ is int:
                value = shrink.passed(machine, module, name, value)
        elif field.value is not None:
            value = _field_default(machine, field.value, frame, site)
            if value.__class__ is int and isinstance(field.value, ir.Constant):
                value = shrink.count(machine, module, name, value)
        else:
            value = Unknown(name)
        instance.attributes[name] = calls.named(value, name)
    found = members.class_member(machine, instance.cls, "__post_init__")
    if found is not None and isinstance(found[1], FunctionValue):
        calls.call_function(machine, found[1], (instance,), {}, site, bound=True)


def _field_default(machine: Machine, node: ir.Expr, frame: Frame, site: Location) -> Value:
    if isinstance(node, ir.Call) and machine.evaluate(node.func, frame) == ExternalValue("dataclasses.field"):
        factory = node.keyword("default_factory")
        if factory is not None:
            return machine.call(machine.evaluate(factory, frame), (), {}, site)
        default = node.keyword("default")
        return Unknown("field") if default is None else machine.evaluate(default, frame)
    return machine.evaluate(node, frame)
