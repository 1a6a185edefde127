"""Attributes, items and iteration."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from warplint.ir import syntax as ir
from warplint.ir.spans import Location
from warplint.source.bindings import Binder, binders
from warplint.source.project import Definition
from warplint.tapes import arrays, operators
from warplint.tapes.memo import Memo
from warplint.tapes.questions import ROUNDS, derived
from warplint.tapes.values import (
    ArrayValue,
    BoundMethod,
    ClassValue,
    CommandValue,
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
    is_plain,
)

if TYPE_CHECKING:
    from warplint.tapes.machine import Frame, Machine


def is_key(value: Value) -> bool:
    """Whether a value can be a key of a known dict entry."""
    return is_plain(value) or (not isinstance(value, (Unknown, ListValue, DictValue, tuple, slice)))


# --- reading attributes ---


def get_attribute(machine: Machine, owner: Value, name: str, site: Location) -> Value:
    """``owner.name``."""
    if isinstance(owner, Instance):
        return _instance_attribute(machine, owner, name, site)
    if isinstance(owner, ExternalValue):
        from warplint.tapes.expressions import external

        return external(f"{owner.name}.{name}")
    if isinstance(owner, ModuleValue):
        return machine.global_name(owner.module, name)
    if isinstance(owner, ArrayValue):
        return arrays.attribute(machine, owner, name, site)
    if isinstance(owner, Unknown):
        array = machine.recorder.materialized(owner)
        if array is not None and name in arrays.ATTRIBUTES:
            return arrays.attribute(machine, array, name, site)
        return owner.child(("attr", name), f"{owner.hint}.{name}" if owner.hint else name)
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
        return Unknown(name)
    if isinstance(owner, (CommandValue, Method)):
        return Method(owner, name)
    if isinstance(owner, (int, float)):
        return owner if name in ("value", "real") else Unknown(name)
    return Unknown(name)


def _instance_attribute(machine: Machine, owner: Instance, name: str, site: Location) -> Value:
    if name in owner.attributes:
        return owner.attributes[name]
    if name == "__dict__":
        return DictValue(dict(owner.attributes), open=True)
    if name == "__class__":
        return owner.cls
    found = _class_attribute(machine, owner.cls, name, owner, site)
    if isinstance(found, Unknown) and not isinstance(owner.cls.attributes.get(name), Unknown):
        owner.attributes[name] = found
    return found


def class_member(machine: Machine, cls: ClassValue, name: str) -> tuple[ClassValue, Value] | None:
    """A member of a class or of its project bases, and the class that has it."""
    for ancestor in cls.lineage():
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
            value = machine.evaluate(node.value, class_frame(machine, ancestor))
        else:
            value = Unknown(name)
        if ancestor.kind == "enum" and not isinstance(value, (FunctionValue, ClassValue)):
            value = Instance(ancestor, {"value": value, "name": name, "_value_": value, "_name_": name})
        ancestor.attributes[name] = value
        return ancestor, value
    return None


def _body_names(node: ir.FunctionDef | ir.ClassDef) -> dict[str, Binder]:
    return dict(binders(node.body))


#: The names that a class body binds, and the last statement that binds each.
_bound_in = Memo(_body_names)


def class_frame(machine: Machine, cls: ClassValue) -> Frame:
    """The frame in which the body of a class is evaluated."""
    from warplint.tapes.machine import Frame as NewFrame

    parent = cls.closure
    return NewFrame(cls.definition.module, cls.definition.inner_scope, dict(cls.attributes), parent, "class")


def decorators(machine: Machine, function: FunctionValue) -> set[str]:
    """The last parts of the names of a function's decorators (``property``, ``staticmethod``, ``setter``)."""
    names = set()
    for decorator in function.definition.node.decorators:
        inner = decorator.func if isinstance(decorator, ir.Call) else decorator
        if isinstance(inner, ir.Name):
            names.add(inner.id)
        elif isinstance(inner, ir.Attribute):
            names.add(inner.attr)
    return names


def _class_attribute(machine: Machine, cls: ClassValue, name: str, receiver: Value, site: Location) -> Value:
    found = class_member(machine, cls, name)
    if found is None:
        if receiver is cls:
            if name == "__name__":
                return cls.definition.node.name
            if name == "apply" and any(base.endswith("autograd.Function") for base in cls.external_bases):
                return Method(cls, "apply")
        return Unknown(name)
    return _bind(machine, found[0], found[1], receiver, name, site)


def _bind(machine: Machine, owner: ClassValue, member: Value, receiver: Value, name: str, site: Location) -> Value:
    if not isinstance(member, FunctionValue):
        return member
    marks = decorators(machine, member)
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
        behind = lineage[lineage.index(owner.cls) + 1 :] if owner.cls in lineage else []
        for ancestor in behind:
            found = class_member(machine, ancestor, name)
            if found is not None:
                return _bind(machine, found[0], found[1], receiver, name, site)
    if name in ("__init__", "__init_subclass__", "__setattr__"):
        return ExternalValue("object.__init__")
    return Unknown(name)


# --- writing attributes ---


def set_attribute(machine: Machine, owner: Value, name: str, value: Value, site: Location) -> None:
    """``owner.name = value``."""
    if isinstance(owner, Instance):
        found = None if owner.is_struct else class_member(machine, owner.cls, name)
        if found is not None and isinstance(found[1], FunctionValue):
            marks = decorators(machine, found[1])
            if marks & {"property", "setter"}:
                if "setter" in marks:
                    machine.call(found[1], (owner, value), {}, site)
                return
        owner.attributes[name] = value
        if isinstance(value, ArrayValue) and not value.storage.name:
            value.storage.name = name
    elif isinstance(owner, ClassValue):
        owner.attributes[name] = value
    elif isinstance(owner, ModuleValue):
        machine.globals(owner.module).names[name] = value
    elif isinstance(owner, ArrayValue):
        arrays.set_attribute(machine, owner, name, value, site)
    elif isinstance(owner, TensorValue):
        arrays.set_attribute(machine, owner.array, name, value, site)
    elif isinstance(owner, Unknown):
        array = machine.recorder.materialized(owner)
        if array is not None and name in ("requires_grad", "grad"):
            arrays.set_attribute(machine, array, name, value, site)
            return
        if name == "requires_grad" and isinstance(value, bool):
            arrays.set_attribute(machine, machine.recorder.materialize(owner, site), name, value, site)
            return
        owner.children[("attr", name)] = value


# --- items ---


def get_item(machine: Machine, owner: Value, index: Value, site: Location) -> Value:
    """``owner[index]``."""
    if isinstance(owner, (ListValue, tuple, RangeValue)):
        return _sequence_item(machine, owner, index)
    if isinstance(owner, DictValue):
        if is_key(index) and index in owner.entries:
            return owner.entries[index]
        return _rest(owner).child(("item", index if is_key(index) else id(index)))
    if isinstance(owner, ArrayValue):
        return arrays.item(machine, owner, index, site)
    if isinstance(owner, TensorValue):
        return TensorValue(machine.recorder.view(owner.array, "[...]", None))
    if isinstance(owner, Method) and isinstance(owner.receiver, TapeValue) and owner.name == "gradients":
        if isinstance(index, Unknown):
            index = machine.recorder.materialize(index, site)
        if isinstance(index, ArrayValue):
            return machine.recorder.gradient(index)
        return Unknown("gradient")
    if isinstance(owner, Unknown):
        array = machine.recorder.materialized(owner)
        if array is not None and isinstance(index, (slice, tuple)):
            return arrays.item(machine, array, index, site)
        if is_key(index):
            return owner.child(("item", index))
        if isinstance(index, Unknown):
            return owner.child(("item", id(index)))
        return Unknown(owner.hint, sources=owner.sources)
    if isinstance(owner, Instance):
        found = class_member(machine, owner.cls, "__getitem__")
        if found is not None and isinstance(found[1], FunctionValue):
            return machine.call(BoundMethod(found[1], owner), (index,), {}, site)
    if isinstance(owner, (ExternalValue, ClassValue, FunctionValue)):
        return owner if not isinstance(owner, ExternalValue) else ExternalValue(owner.name)
    return Unknown("item")


def _rest(owner: DictValue | ListValue) -> Unknown:
    if isinstance(owner, DictValue):
        if owner.rest is None:
            owner.rest = Unknown("item")
        return owner.rest
    if owner.element is None:
        owner.element = Unknown("element")
    return owner.element


def _sequence_item(machine: Machine, owner: ListValue | tuple[Value, ...] | RangeValue, index: Value) -> Value:
    items = items_of(owner)
    if isinstance(index, slice):
        if all(part is None or isinstance(part, int) for part in (index.start, index.stop, index.step)):
            if isinstance(owner, ListValue):
                return ListValue(items[index], owner.open)
            return tuple(items[index])
        if isinstance(index.stop, Unknown) or isinstance(index.start, Unknown):
            parts = [
                machine.questions.number(part) if isinstance(part, Unknown) else part
                for part in (index.start, index.stop, index.step)
            ]
            if all(part is None or isinstance(part, int) for part in parts):
                found = items[slice(*parts)]
                return ListValue(found, owner.open) if isinstance(owner, ListValue) else tuple(found)
        return Unknown("slice")
    index = operators.plain_of(index)
    is_open = isinstance(owner, ListValue) and owner.open
    if isinstance(index, Unknown):
        if index.origin is None and not index.hint:
            return Unknown("element")
        index = machine.questions.number(index)
    if isinstance(index, int) and not (is_open and index < 0) and -len(items) <= index < len(items):
        return items[index]
    if isinstance(owner, ListValue) and isinstance(index, int):
        return _rest(owner).child(("item", index))
    return Unknown("element")


def items_of(owner: ListValue | tuple[Value, ...] | RangeValue) -> list[Value]:
    """The known elements of a sequence."""
    if isinstance(owner, ListValue):
        return owner.items
    if isinstance(owner, RangeValue):
        return list(owner.numbers()[:4096])
    return list(owner)


def set_item(machine: Machine, owner: Value, index: Value, value: Value, site: Location) -> None:
    """``owner[index] = value``."""
    if isinstance(owner, ListValue):
        if isinstance(index, Unknown) and owner.items:
            index = machine.questions.number(index)
        if isinstance(index, int) and -len(owner.items) <= index < len(owner.items):
            owner.items[index] = value
        elif isinstance(index, slice):
            known = elements(machine, value)
            if known is not None and all(
                part is None or isinstance(part, int) for part in (index.start, index.stop, index.step)
            ):
                try:
                    owner.items[index] = known
                    return
                except ValueError:
                    pass
            owner.open = True
        elif not isinstance(index, int):
            # It may be any of them.
            owner.items[:] = [Unknown("element") for _ in owner.items]
    elif isinstance(owner, DictValue):
        if is_key(index):
            owner.entries[index] = value
        else:
            owner.open = True
    elif isinstance(owner, ArrayValue):
        arrays.set_item(machine, owner, index, value, site)
    elif isinstance(owner, Unknown):
        if is_key(index):
            owner.children[("item", index)] = value
    elif isinstance(owner, Instance):
        found = class_member(machine, owner.cls, "__setitem__")
        if found is not None and isinstance(found[1], FunctionValue):
            machine.call(BoundMethod(found[1], owner), (index, value), {}, site)


# --- iteration ---


def elements(machine: Machine, value: Value) -> list[Value] | None:
    """All elements of a sequence, None where they are not all known."""
    if isinstance(value, ListValue):
        return None if value.open else list(value.items)
    if isinstance(value, tuple):
        return list(value)
    if isinstance(value, RangeValue):
        return items_of(value)
    if isinstance(value, DictValue):
        return None if value.open else list(value.entries)
    if isinstance(value, str):
        return list(value)
    return None


def rounds(machine: Machine, value: Value) -> tuple[Iterable[Value], bool]:
    """What a loop over ``value`` binds in each round, and whether these rounds are all there are."""
    known = elements(machine, value)
    if known is not None:
        return known, True
    if isinstance(value, ListValue):
        if value.items:
            return list(value.items), False
        return [_rest(value).child(("item", number)) for number in range(ROUNDS)], False
    if isinstance(value, DictValue):
        return list(value.entries) or [Unknown("key")], False
    if isinstance(value, Unknown):
        size = length(machine, value)
        count = size if isinstance(size, int) else machine.questions.number(size)
        return [value.child(("item", number)) for number in range(count)], False
    if isinstance(value, ArrayValue):
        return [Unknown("element", sources=frozenset({value.storage})) for _ in range(ROUNDS)], False
    if isinstance(value, Instance):
        found = class_member(machine, value.cls, "__iter__")
        if found is None:
            sized = class_member(machine, value.cls, "__len__")
            getter = class_member(machine, value.cls, "__getitem__")
            if sized is not None and getter is not None and isinstance(getter[1], FunctionValue):
                site = value.cls.definition.node.name_span
                place = Location(value.cls.definition.module.path, site)
                return [
                    machine.call(BoundMethod(getter[1], value), (number,), {}, place) for number in range(ROUNDS)
                ], False
    return [Unknown("element") for _ in range(ROUNDS)], False


def length(machine: Machine, value: Unknown) -> int | Unknown:
    """``len(value)`` for an unknown value."""
    found = value.children.get("len")
    if not isinstance(found, (int, Unknown)):
        found = value.children["len"] = Unknown(f"len({value.hint})", ("len", value))
    return found


# --- assignment ---


def assign(machine: Machine, target: ir.Expr, value: Value, frame: Frame) -> None:
    """Bind a target of any form."""
    if isinstance(target, ir.Name):
        machine.bind(target.id, value, frame)
        if isinstance(value, ArrayValue) and not value.storage.name:
            value.storage.name = target.id
    elif isinstance(target, ir.Attribute):
        owner = machine.evaluate(target.value, frame)
        set_attribute(machine, owner, target.attr, value, machine.location(target, frame))
    elif isinstance(target, ir.Subscript):
        owner = machine.evaluate(target.value, frame)
        index = machine.evaluate(target.index, frame)
        set_item(machine, owner, index, value, machine.location(target, frame))
    elif isinstance(target, (ir.Tuple, ir.List)):
        _unpack(machine, target.elements, value, frame)
    elif isinstance(target, ir.Starred):
        assign(machine, target.value, value, frame)


def _unpack(machine: Machine, targets: tuple[ir.Expr, ...], value: Value, frame: Frame) -> None:
    known = elements(machine, value)
    star = next((number for number, target in enumerate(targets) if isinstance(target, ir.Starred)), None)
    if known is not None and star is not None and len(known) >= len(targets) - 1:
        behind = len(targets) - star - 1
        parts: list[Value] = [
            *known[:star],
            ListValue(known[star : len(known) - behind]),
            *known[len(known) - behind :],
        ]
    elif known is not None and len(known) == len(targets):
        parts = known
    elif isinstance(value, Unknown):
        parts = [value.child(("item", number)) for number in range(len(targets))]
    else:
        parts = [Unknown("item") for _ in targets]
    for target, part in zip(targets, parts, strict=True):
        assign(machine, target, part, frame)


def truth_of_attribute(owner: Unknown, name: str) -> Unknown:
    """The question whether an unknown object has an attribute."""
    return derived("hasattr", owner, name)


def is_true(value: Value) -> bool:
    """Whether a value is surely true."""
    return operators.known_truth(value) is True
