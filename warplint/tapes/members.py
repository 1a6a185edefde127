"""Attributes, items and iteration."""

from __future__ import annotations

from typing import TYPE_CHECKING

from warplint.ir import syntax as ir
from warplint.ir.spans import Location
from warplint.source.bindings import Binder, binders
from warplint.source.project import Definition
from warplint.tapes import arrays, hostdata, shrink
from warplint.tapes.frames import Frame
from warplint.tapes.memo import Memo
from warplint.tapes.questions import derived
from warplint.tapes.values import (
    ArrayValue,
    BoundMethod,
    Builtin,
    ClassValue,
    CommandValue,
    ContextValue,
    DictValue,
    ExternalValue,
    FunctionValue,
    Instance,
    KernelValue,
    ListValue,
    Method,
    ModuleValue,
    OptimizerValue,
    Partial,
    RangeValue,
    Super,
    TapeValue,
    TensorValue,
    Unknown,
    Value,
)

if TYPE_CHECKING:
    from warplint.tapes.machine import Machine


# --- reading attributes ---


def get_attribute(machine: Machine, owner: Value, name: str, site: Location) -> Value:
    """``owner.name``."""
    if isinstance(owner, Instance):
        return _instance_attribute(machine, owner, name, site)
    if isinstance(owner, ExternalValue):
        from warplint.tapes.expressions import external

        return external(f"{owner.name}.{name}")
    if isinstance(owner, ModuleValue):
        if name == "__dict__":
            return owner
        if name in ("get", "update", "setdefault") and not owner.module.bindings(name):
            return Method(owner, name)
        return machine.global_name(owner.module, name)
    if isinstance(owner, ArrayValue):
        return arrays.attribute(machine, owner, name, site)
    if isinstance(owner, Unknown):
        array = machine.recorder.materialized(owner)
        if array is not None and name in arrays.ATTRIBUTES:
            return arrays.attribute(machine, array, name, site)
        if name == "__dict__":
            known = {
                key[1]: value for key, value in owner.children.items() if isinstance(key, tuple) and key[0] == "attr"
            }
            return DictValue(known, open=True)
        part = owner.child(("attr", name), f"{owner.hint}.{name}" if owner.hint else name)
        if name == "T" and isinstance(part, Unknown):
            hostdata.note_view(owner, part, strided=True)
        return part
    if isinstance(owner, ClassValue):
        return _class_attribute(machine, owner, name, owner, site)
    if isinstance(owner, Super):
        return _super_attribute(machine, owner, name, site)
    if isinstance(owner, TensorValue):
        return arrays.tensor_attribute(machine, owner, name, site)
    if isinstance(owner, TapeValue):
        return Method(owner, name)
    if isinstance(owner, (ListValue, DictValue, OptimizerValue, tuple, str, RangeValue)):
        return Method(owner, name)
    if isinstance(owner, (FunctionValue, KernelValue, BoundMethod, Partial)):
        if name in ("__name__", "key") and isinstance(owner, (FunctionValue, KernelValue)):
            return owner.definition.node.name
        if name == "func" and isinstance(owner, Partial):
            return owner.function
        if name == "register" and isinstance(owner, FunctionValue) and owner.variants is not None:
            return Method(owner, name)
        return Unknown(name)
    if isinstance(owner, ContextValue) and owner.captures and isinstance(owner.result, Unknown):
        return owner.result.child(("attr", name))
    if isinstance(owner, (CommandValue, Method, ContextValue)):
        return Method(owner, name)
    if isinstance(owner, (int, float)):
        return owner if name in ("value", "real") else Unknown(name)
    return Unknown(name)


def _instance_attribute(machine: Machine, owner: Instance, name: str, site: Location) -> Value:
    if name in owner.attributes:
        return owner.attributes[name]
    if name == "__dict__":
        return DictValue(owner.attributes, open=bool(owner.cls.external_bases))
    if name == "__class__":
        return owner.cls
    if name == "__init__" and class_member(machine, owner.cls, name) is None:
        return ExternalValue("object.__init__")
    if owner.cls.kind == "namedtuple" and name in ("_replace", "_asdict"):
        return Method(owner, name)
    if not name.startswith("__") and class_member(machine, owner.cls, name) is None:
        maker = class_member(machine, owner.cls, "__getattr__")
        if maker is not None and isinstance(maker[1], FunctionValue):
            return machine.call(BoundMethod(maker[1], owner), (name,), {}, site)
    if owner.contents is not None and class_member(machine, owner.cls, name) is None:
        from warplint.tapes import inheriting

        return inheriting.inherited(machine, owner, name)
    found = _class_attribute(machine, owner.cls, name, owner, site)
    if isinstance(found, Unknown) and class_member(machine, owner.cls, name) is None:
        if not owner.cls.external_bases:
            machine.fails("AttributeError")
        owner.attributes[name] = found  # the same unknown value each time; a property is asked again
    return found


def class_member(machine: Machine, cls: ClassValue, name: str) -> tuple[ClassValue, Value] | None:
    """A member of a class or of its project bases, and the class that has it."""
    lineage = cls.lineage()
    if name not in _bound_by(cls, lineage):
        # as is nearly every name that an object gets; the class may still have been given it from outside
        for ancestor in lineage:
            if name in ancestor.attributes:
                return ancestor, ancestor.attributes[name]
        return None
    for ancestor in lineage:
        if name in ancestor.attributes:
            return ancestor, ancestor.attributes[name]
        definition = ancestor.definition
        found = _bound_in(definition.node).get(name)
        if found is None:
            continue
        node = found
        value: Value
        if isinstance(node, (ir.FunctionDef, ir.ClassDef)):
            value = machine.definition_value(
                Definition(definition.module, node, definition.inner_scope), ancestor.closure
            )
        elif isinstance(node, ir.Assign) or (isinstance(node, ir.AnnAssign) and node.value is not None):
            assert node.value is not None
            for used in _names_in(node.value):
                if used != name and used in _bound_in(definition.node):
                    class_member(machine, ancestor, used)
            value = machine.evaluate(node.value, class_frame(machine, ancestor))
            if value.__class__ is int and isinstance(node.value, ir.Constant) and ancestor.kind != "enum":
                value = shrink.count(machine, definition.module, name, value)
        else:
            value = Unknown(name)
        if ancestor.kind == "enum" and not isinstance(value, (FunctionValue, ClassValue)):
            value = Instance(ancestor, {"value": value, "name": name, "_value_": value, "_name_": name})
        ancestor.attributes[name] = value
        if isinstance(value, Instance) and not value.is_struct and ancestor.kind != "enum":
            told = class_member(machine, value.cls, "__set_name__")
            if told is not None and isinstance(told[1], FunctionValue):
                place = Location(definition.module.path, definition.node.name_span)
                machine.call(BoundMethod(told[1], value), (ancestor, name), {}, place)
        return ancestor, value
    return None


def _used_names(node: ir.Expr) -> tuple[str, ...]:
    return tuple(dict.fromkeys(inner.id for inner in ir.walk(node) if isinstance(inner, ir.Name)))


_names_in = Memo(_used_names)


def _called_fields(node: ir.FunctionDef | ir.ClassDef) -> tuple[str, ...]:
    return tuple(
        name
        for name, inner in _bound_in(node).items()
        if isinstance(inner, ir.Assign) and isinstance(inner.value, ir.Call) and isinstance(inner.value.func, ir.Name)
    )


_fields_by_call = Memo(_called_fields)


def described(cls: ClassValue) -> tuple[str, ...]:
    """The names in the body of a class that get an object whose class wants to be told its name."""
    module = cls.definition.module
    return _fields_by_call(cls.definition.node) if "__set_name__" in module.text else ()


def enum_members(machine: Machine, cls: ClassValue) -> list[Value]:
    """The members of an enumeration, in order."""
    found: list[Value] = []
    for name, node in _bound_in(cls.definition.node).items():
        if isinstance(node, ir.Assign) and not name.startswith("_"):
            member = class_member(machine, cls, name)
            found += [] if member is None else [member[1]]
    return found


def _body_names(node: ir.FunctionDef | ir.ClassDef) -> dict[str, Binder]:
    return dict(binders(node.body))


#: The names that a class body binds, and the last statement that binds each.
_bound_in = Memo(_body_names)


def _bound_by(cls: ClassValue, lineage: tuple[ClassValue, ...]) -> frozenset[str]:
    """The names that the bodies of a class and of its project bases bind."""
    if cls.bound is None:
        cls.bound = frozenset().union(*(_bound_in(ancestor.definition.node) for ancestor in lineage))
    return cls.bound


def class_frame(machine: Machine, cls: ClassValue) -> Frame:
    """The frame in which the body of a class is evaluated."""
    parent = cls.closure
    return Frame(cls.definition.module, cls.definition.inner_scope, dict(cls.attributes), parent, "class")


_UNDECORATED: frozenset[str] = frozenset()


def decorators(machine: Machine, function: FunctionValue) -> frozenset[str]:
    """The last parts of the names of a function's decorators (``property``, ``staticmethod``, ``setter``)."""
    node = function.definition.node
    return _decorators(node) if node.decorators else _UNDECORATED


def _decorator_names(node: ir.FunctionDef | ir.ClassDef) -> frozenset[str]:
    names = set()
    for decorator in node.decorators:
        inner = decorator.func if isinstance(decorator, ir.Call) else decorator
        if isinstance(inner, ir.Name):
            names.add(inner.id)
        elif isinstance(inner, ir.Attribute):
            names.add(inner.attr)
    return frozenset(names)


_decorators = Memo(_decorator_names)


def _class_attribute(machine: Machine, cls: ClassValue, name: str, receiver: Value, site: Location) -> Value:
    found = class_member(machine, cls, name)
    if found is None:
        if receiver is cls and cls.meta is not None:
            told = _meta_attribute(machine, cls, cls.meta, name, site)
            if told is not None:
                return told[0]
        if receiver is cls:
            if name == "__new__":
                return Builtin(name, _new)
            if name == "__subclasses__":
                return Builtin(name, lambda machine, args, keywords, site: _subclasses(machine, cls))
            if name == "__members__" and cls.kind == "enum":
                return DictValue({_enum_name(member): member for member in enum_members(machine, cls)})
            if name == "__dict__":
                return DictValue(body_of(machine, cls), open=True)
            if name == "__name__":
                return cls.definition.node.name
            if name == "apply" and any(base.endswith("autograd.Function") for base in cls.external_bases):
                return Method(cls, "apply")
        return Unknown(name)
    if isinstance(found[1], (DictValue, ListValue)):
        from warplint.tapes import tables

        tables.complete_class(machine, found[0])
    return _bind(machine, found[0], found[1], receiver, name, site)


def _subclasses(machine: Machine, cls: ClassValue) -> Value:
    from warplint.tapes import tables

    return ListValue(list(tables.subclasses(machine, cls)))


def _enum_name(member: Value) -> Value:
    return member.attributes.get("name") if isinstance(member, Instance) else None


def body_of(machine: Machine, cls: ClassValue) -> dict[object, Value]:
    """What the body of a class binds, in order."""
    found: dict[object, Value] = {}
    for name in _bound_in(cls.definition.node):
        member = class_member(machine, cls, name)
        if member is not None and member[0] is cls:
            found[name] = member[1]
    return found | {name: value for name, value in cls.attributes.items() if name not in found}


def _meta_attribute(
    machine: Machine, cls: ClassValue, meta: ClassValue, name: str, site: Location
) -> tuple[Value] | None:
    """What a class has of its own class, None where it has nothing."""
    found = class_member(machine, meta, name)
    if found is None:
        maker = None if name.startswith("__") else class_member(machine, meta, "__getattr__")
        if maker is not None and isinstance(maker[1], FunctionValue):
            return (machine.call(BoundMethod(maker[1], cls), (name,), {}, site),)
        return None
    member = found[1]
    if not isinstance(member, FunctionValue):
        from warplint.tapes import tables

        if isinstance(member, (DictValue, ListValue)):
            tables.complete_class(machine, meta)
        return (member,)
    if decorators(machine, member) & {"property", "cached_property"}:
        return (machine.call(member, (cls,), {}, site),)
    return (BoundMethod(member, cls),)


def _bind(machine: Machine, owner: ClassValue, member: Value, receiver: Value, name: str, site: Location) -> Value:
    if isinstance(member, Instance) and not member.is_struct and isinstance(receiver, (Instance, ClassValue)):
        getter = class_member(machine, member.cls, "__get__")
        if getter is not None and isinstance(getter[1], FunctionValue):
            given = (None, receiver) if isinstance(receiver, ClassValue) else (receiver, receiver.cls)
            return machine.call(BoundMethod(getter[1], member), given, {}, site)
    if isinstance(member, Partial) and member.method and not isinstance(receiver, ClassValue):
        return Partial(member.function, (receiver, *member.args), member.keywords)
    if not isinstance(member, FunctionValue):
        return member
    marks = decorators(machine, member)
    if not marks:
        return member if isinstance(receiver, ClassValue) else BoundMethod(member, receiver)
    if "staticmethod" in marks:
        return member
    if "classmethod" in marks:
        return BoundMethod(member, receiver.cls if isinstance(receiver, Instance) else receiver)
    if isinstance(receiver, ClassValue):
        return member
    if marks & {"property", "cached_property"}:
        value = machine.call(member, (receiver,), {}, site)
        if "cached_property" in marks and isinstance(receiver, Instance):
            receiver.attributes[name] = value
        return value
    if marks & {"setter", "deleter"}:
        return _property_of(machine, owner, name, receiver, site)
    return BoundMethod(member, receiver)


def _property_of(machine: Machine, owner: ClassValue, name: str, receiver: Value, site: Location) -> Value:
    # the name is bound twice: the getter is the def with @property
    for bound, node in binders(owner.definition.node.body):
        if bound == name and isinstance(node, ir.FunctionDef):
            function = FunctionValue(
                Definition(owner.definition.module, node, owner.definition.inner_scope), owner.closure
            )
            if decorators(machine, function) & {"property"}:
                return machine.call(function, (receiver,), {}, site)
    return Unknown(name)


def make_super(frame: Frame) -> Value:
    """``super()`` in a method."""
    owner: Frame | None = frame
    while owner is not None and owner.cls is None:
        owner = owner.parent
    if owner is None or owner.cls is None:
        return Unknown("super")
    return Super(owner.cls, owner.receiver)


def _super_attribute(machine: Machine, owner: Super, name: str, site: Location) -> Value:
    receiver = owner.receiver
    cls = receiver.cls if isinstance(receiver, Instance) else receiver
    if isinstance(cls, ClassValue):
        lineage = cls.lineage()
        if cls is receiver and owner.cls not in lineage and cls.meta is not None:
            lineage = cls.meta.lineage()
        behind = lineage[lineage.index(owner.cls) + 1 :] if owner.cls in lineage else []
        for ancestor in behind:
            found = class_member(machine, ancestor, name)
            if found is not None:
                return _bind(machine, found[0], found[1], receiver, name, site)
    if isinstance(receiver, Instance) and receiver.contents is not None:
        from warplint.tapes import inheriting

        return inheriting.inherited(machine, receiver, name)
    if name == "__setattr__":
        return Partial(ExternalValue("object.__setattr__"), (receiver,), {})
    if name in ("__init__", "__init_subclass__"):
        return ExternalValue("object.__init__")
    if name == "__new__":
        return machine.making[-1] if machine.making and "type" in owner.cls.external_bases else Builtin(name, _new)
    if name == "__call__" and isinstance(receiver, ClassValue):
        from warplint.tapes import classes

        return Builtin(name, lambda machine, args, words, site: classes.construct(machine, receiver, args, words, site))
    return Unknown(name)


def _new(machine: Machine, args: tuple[Value, ...], keywords: dict[str, Value], site: Location) -> Value:
    """``object.__new__(cls)``."""
    if not args or not isinstance(args[0], ClassValue):
        return Unknown("__new__")
    made = Instance(args[0])
    machine.instances.append(made)
    return made


# --- writing attributes ---


def set_attribute(machine: Machine, owner: Value, name: str, value: Value, site: Location) -> None:
    """``owner.name = value``."""
    if isinstance(owner, Instance):
        custom = None if owner.is_struct else class_member(machine, owner.cls, "__setattr__")
        if custom is not None and isinstance(custom[1], FunctionValue):
            machine.call(BoundMethod(custom[1], owner), (name, value), {}, site)
            return
        found = None if owner.is_struct else class_member(machine, owner.cls, name)
        if found is not None and isinstance(found[1], Instance):
            setter = class_member(machine, found[1].cls, "__set__")
            if setter is not None and isinstance(setter[1], FunctionValue):
                machine.call(BoundMethod(setter[1], found[1]), (owner, value), {}, site)
                return
        if found is not None and isinstance(found[1], FunctionValue):
            marks = decorators(machine, found[1])
            if marks & {"property", "setter"}:
                if "setter" in marks:
                    machine.call(found[1], (owner, value), {}, site)
                return
        before = owner.attributes.get(name)
        owner.attributes[name] = value
        if owner.is_struct:
            machine.recorder.bound(owner, name, value, site)
        elif value.__class__ is ArrayValue or value.__class__ is Instance:
            machine.recorder.stored(owner.attributes, name, before, value, site)
        elif value.__class__ is ListValue and before.__class__ is ListValue and before is not value:
            machine.recorder.relisted(value, site)
        if isinstance(value, ArrayValue) and not value.storage.name:
            value.storage.name = name
    elif isinstance(owner, ClassValue):
        owner.attributes[name] = value
    elif isinstance(owner, ExternalValue):
        if owner.name == "warp.config" and name == "verify_autograd_array_access" and value is True:
            machine.recorder.tracker_set(site)
    elif isinstance(owner, ModuleValue):
        machine.globals(owner.module).names[name] = value
    elif isinstance(owner, ArrayValue):
        arrays.set_attribute(machine, owner, name, value, site)
    elif isinstance(owner, TensorValue):
        arrays.set_attribute(machine, owner.array, name, value, site)
    elif isinstance(owner, TapeValue):
        if name == "launches":
            machine.recorder.reset_tape(owner)
    elif isinstance(owner, Unknown):
        array = machine.recorder.materialized(owner)
        if array is not None and name in ("requires_grad", "grad"):
            arrays.set_attribute(machine, array, name, value, site)
            return
        if name == "requires_grad" and isinstance(value, bool):
            arrays.set_attribute(machine, machine.recorder.materialize(owner, site), name, value, site)
            return
        owner.children[("attr", name)] = value


def truth_of_attribute(owner: Unknown, name: str) -> Unknown:
    """The question whether an unknown object has an attribute."""
    return derived("hasattr", owner, name)
