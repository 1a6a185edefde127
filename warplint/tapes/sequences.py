"""Items, iteration and assignment."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING

from warplint.ir.spans import Location
from warplint.tapes import arrays, equality, generators, hostdata, members, records
from warplint.tapes.frames import HostError
from warplint.tapes.questions import ROUNDS
from warplint.tapes.rounds import MAX_ROUNDS
from warplint.tapes.values import (
    ArrayValue,
    BoundMethod,
    ClassValue,
    DictValue,
    ExternalValue,
    FunctionValue,
    GeneratorValue,
    Instance,
    ListValue,
    Method,
    ModuleValue,
    RangeValue,
    TapeValue,
    TensorValue,
    Unknown,
    Value,
    is_key,
)

if TYPE_CHECKING:
    from warplint.tapes.machine import Machine


def get_item(machine: Machine, owner: Value, index: Value, site: Location) -> Value:
    """``owner[index]``."""
    if index.__class__ is int:  # the usual cases come first
        items = owner.items if owner.__class__ is ListValue else owner if owner.__class__ is tuple else ()
        if 0 <= index < len(items):
            return items[index]
    if isinstance(owner, (ListValue, tuple, RangeValue)):
        return _sequence_item(machine, owner, index)
    if isinstance(owner, DictValue):
        if is_key(index) and index in owner.entries:
            return owner.entries[index]
        if owner.factory is None and not owner.open and is_key(index):
            machine.fails("KeyError")
        if owner.factory is not None and not owner.open and is_key(index):
            made = owner.entries[index] = machine.call(owner.factory, (), {}, site)
            return made
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
        part = Unknown(owner.hint, sources=owner.sources)
        if isinstance(index, (slice, tuple)):
            hostdata.note_part(owner, index, part)
        return part
    if isinstance(owner, Instance):
        inside = records.items(owner)
        if inside is not None:
            return _sequence_item(machine, tuple(inside), index)
        found = members.class_member(machine, owner.cls, "__getitem__")
        if found is not None and isinstance(found[1], FunctionValue):
            return machine.call(BoundMethod(found[1], owner), (index,), {}, site)
        if owner.contents is not None:
            from warplint.tapes import inheriting

            return inheriting.item(machine, owner, index, site)
    if isinstance(owner, ModuleValue) and isinstance(index, str):  # `globals()[name]`
        return machine.global_name(owner.module, index)
    if isinstance(owner, ExternalValue) and owner.name == "sys.modules":
        from warplint.tapes import services

        return services.module_named(machine, index, site) or Unknown("module")
    if isinstance(owner, ClassValue):
        found = None if owner.meta is None else members.class_member(machine, owner.meta, "__getitem__")
        found = found or members.class_member(machine, owner, "__class_getitem__")
        if found is not None and isinstance(found[1], FunctionValue):
            return machine.call(BoundMethod(found[1], owner), (index,), {}, site)
        if owner.kind == "enum" and isinstance(index, str):
            member = members.class_member(machine, owner, index)
            return Unknown("member") if member is None else member[1]
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
    index = equality.plain_of(index)
    is_open = isinstance(owner, ListValue) and owner.open
    if isinstance(index, Unknown):
        if index.origin is None and not index.hint:
            return Unknown("element")
        index = machine.questions.number(index)
    if isinstance(index, int) and not (is_open and index < 0) and -len(items) <= index < len(items):
        return items[index]
    if isinstance(index, int) and not is_open:
        machine.fails("IndexError")
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
            before, owner.items[index] = owner.items[index], value
            if value.__class__ is ArrayValue or value.__class__ is Instance:
                machine.recorder.stored(owner.items, index % len(owner.items), before, value, site)
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
            previous, owner.entries[index] = owner.entries.get(index), value
            if value.__class__ is ArrayValue:
                machine.recorder.stored(owner.entries, index, previous, value, site)
        else:
            owner.open = True
    elif isinstance(owner, ArrayValue):
        arrays.set_item(machine, owner, index, value, site)
    elif isinstance(owner, Unknown):
        hostdata.note_change(machine, owner, site)
        hostdata.note_row(owner, index, value)
        for fact in ("fill", "values", "contents"):
            owner.children.pop(fact, None)
        if isinstance(value, Unknown):
            owner.sources |= value.sources
        if is_key(index):
            owner.children[("item", index)] = value
    elif isinstance(owner, ModuleValue):
        if isinstance(index, str):
            members.set_attribute(machine, owner, index, value, site)
    elif isinstance(owner, Instance):
        found = members.class_member(machine, owner.cls, "__setitem__")
        if found is not None and isinstance(found[1], FunctionValue):
            machine.call(BoundMethod(found[1], owner), (index, value), {}, site)
        elif owner.contents is not None:
            set_item(machine, owner.contents, index, value, site)


def delete_item(owner: Value, index: Value) -> None:
    """``del owner[index]``."""
    if isinstance(owner, ListValue):
        parts = (index.start, index.stop, index.step) if isinstance(index, slice) else (index,)
        if all(part is None or isinstance(part, int) for part in parts):
            with suppress(IndexError, ValueError):
                del owner.items[index]  # type: ignore[arg-type]
        else:
            # It may have been any of them.
            owner.items[:] = [Unknown("element") for _ in owner.items]
            owner.open = True
    elif isinstance(owner, DictValue):
        if is_key(index):
            owner.entries.pop(index, None)
        else:
            owner.open = True
    elif isinstance(owner, Instance) and owner.contents is not None:
        delete_item(owner.contents, index)


# --- iteration ---


def elements(machine: Machine, value: Value) -> list[Value] | None:
    """All elements of a sequence, None where they are not all known."""
    if isinstance(value, ListValue):
        return None if value.open else list(value.items)
    if isinstance(value, tuple):
        return list(value)
    if isinstance(value, RangeValue):
        return items_of(value)
    if isinstance(value, GeneratorValue):
        return elements(machine, generators.drained(machine, value))
    if isinstance(value, DictValue):
        return None if value.open else list(value.entries)
    if isinstance(value, str):
        return list(value)
    if isinstance(value, Instance):
        inside = records.items(value)
        following = None if inside is not None else _following(machine, value)
        if following is not None:
            return list(_taken(machine, value, following))
        given = None if inside is not None else _iterated(machine, value)
        if given is None and value.contents is not None:
            given = value.contents
        return inside if given is None else elements(machine, given)
    if isinstance(value, ClassValue) and value.kind == "enum":
        return members.enum_members(machine, value)
    if isinstance(value, ClassValue) and value.meta is not None:
        found = members.class_member(machine, value.meta, "__iter__")
        if found is not None and isinstance(found[1], FunctionValue):
            place = Location(value.definition.module.path, value.definition.node.name_span)
            return elements(machine, machine.call(BoundMethod(found[1], value), (), {}, place))
    return None


def guessed(value: Value) -> bool:
    """Whether the number of elements that are there stands for one that is not known."""
    return isinstance(value, (RangeValue, ListValue)) and value.guessed


def rounds(machine: Machine, value: Value) -> tuple[Iterable[Value], bool]:
    """What a loop over ``value`` binds in each round, and whether these rounds are all there are."""
    if isinstance(value, Instance) and (following := _following(machine, value)) is not None:
        return _taken(machine, value, following), False
    known = elements(machine, value)
    if known is not None:
        return known, True
    if isinstance(value, GeneratorValue):
        return rounds(machine, generators.drained(machine, value))
    if isinstance(value, ListValue):
        if value.endless:
            return value.items[:ROUNDS], False
        if value.items:
            return list(value.items), False
        return [_rest(value).child(("item", number)) for number in range(ROUNDS)], False
    if isinstance(value, DictValue):
        return list(value.entries) or [Unknown("key")], False
    if isinstance(value, Unknown):
        known = _numbers(value)
        if known is not None:
            return known, True
        size = length(machine, value)
        count = size if isinstance(size, int) else machine.questions.number(size)
        return [value.child(("item", number)) for number in range(count)], False
    if isinstance(value, ArrayValue):
        return [Unknown("element", sources=frozenset({value.storage})) for _ in range(ROUNDS)], False
    if isinstance(value, Instance):
        given = _iterated(machine, value)
        if given is None:
            given = value.contents
        if given is not None:
            return rounds(machine, given)
        if members.class_member(machine, value.cls, "__iter__") is None:
            sized = members.class_member(machine, value.cls, "__len__")
            getter = members.class_member(machine, value.cls, "__getitem__")
            if sized is not None and getter is not None and isinstance(getter[1], FunctionValue):
                site = value.cls.definition.node.name_span
                place = Location(value.cls.definition.module.path, site)
                given = (
                    machine.call(BoundMethod(sized[1], value), (), {}, place)
                    if isinstance(sized[1], FunctionValue)
                    else None
                )
                count = given if isinstance(given, int) else ROUNDS
                return [
                    machine.call(BoundMethod(getter[1], value), (number,), {}, place) for number in range(count)
                ], isinstance(given, int)
    return [Unknown("element") for _ in range(ROUNDS)], False


def _following(machine: Machine, value: Instance) -> FunctionValue | None:
    """The ``__next__`` of what a project class gives to a loop, if it gives itself."""
    found = members.class_member(machine, value.cls, "__next__")
    return found[1] if found is not None and isinstance(found[1], FunctionValue) else None


def _taken(machine: Machine, value: Instance, following: FunctionValue) -> Iterator[Value]:
    """What ``__next__`` of a project class gives, until it says that there is no more."""
    definition = following.definition
    place = Location(definition.module.path, definition.node.name_span)
    _iterated(machine, value)
    for _ in range(MAX_ROUNDS):
        around = len(machine.handlers)
        machine.handlers.append(_STOP)
        try:
            item = machine.call(BoundMethod(following, value), (), {}, place)
        except HostError:
            return
        finally:
            del machine.handlers[around:]
        yield item


_STOP = frozenset({"StopIteration"})


def _iterated(machine: Machine, value: Instance) -> Value:
    """What the ``__iter__`` of a project class gives, None where that says nothing."""
    found = members.class_member(machine, value.cls, "__iter__")
    if found is None or not isinstance(found[1], FunctionValue):
        return None
    definition = found[1].definition
    place = Location(definition.module.path, definition.node.name_span)
    given = machine.call(BoundMethod(found[1], value), (), {}, place)
    return None if isinstance(given, Instance) else given


def _numbers(data: Unknown) -> list[Value] | None:
    """The elements of host data of one axis, where they are known numbers."""
    known, extents = data.children.get("values"), data.children.get(("attr", "shape"))
    if isinstance(extents, tuple) and len(extents) > 1:
        return None
    items = known.items if isinstance(known, ListValue) and not known.open else known
    if not isinstance(items, (list, tuple)) or not all(isinstance(item, (int, float)) for item in items):
        return None
    return [int(item) if isinstance(item, float) and item.is_integer() else item for item in items]


def length(machine: Machine, value: Unknown) -> int | Unknown:
    """``len(value)`` for an unknown value."""
    found = value.children.get("len")
    if not isinstance(found, (int, Unknown)):
        found = value.children["len"] = Unknown(f"len({value.hint})", ("len", value))
    return found


# --- assignment ---


def unpacked(machine: Machine, value: Value, count: int, star: int | None) -> list[Value]:
    """The parts of a value that is assigned to ``count`` targets, of which the one at ``star`` takes what is left."""
    known = elements(machine, value)
    if known is not None and star is not None and len(known) >= count - 1:
        behind = len(known) - (count - star - 1)
        return [*known[:star], ListValue(known[star:behind]), *known[behind:]]
    if known is not None and len(known) == count:
        return known
    if isinstance(value, Unknown):
        return [value.child(("item", number)) for number in range(count)]
    return [Unknown("item") for _ in range(count)]
