"""Objects of classes that derive from Python's own containers: they hold a list or dict beside their attributes.

The methods that such a class does not have itself are those of the container.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from warplint.ir.spans import Location
from warplint.tapes import containers, members, sequences
from warplint.tapes.values import (
    BoundMethod,
    Builtin,
    ClassValue,
    DictValue,
    FunctionValue,
    Instance,
    ListValue,
    Method,
    Value,
)

if TYPE_CHECKING:
    from warplint.tapes.machine import Machine

_DICTS = frozenset({"dict", "collections.OrderedDict", "collections.UserDict", "collections.defaultdict"})
_LISTS = frozenset({"list", "set", "collections.UserList", "collections.deque"})


def new_contents(cls: ClassValue) -> ListValue | DictValue | None:
    """What an object of a class holds when it is made; None for a class that derives from no container."""
    outside = set(cls.external_bases)
    if outside & _DICTS:
        return DictValue()
    return ListValue([]) if outside & _LISTS else None


def fill(
    machine: Machine, owner: Instance, args: tuple[Value, ...], keywords: dict[str, Value], site: Location
) -> None:
    """What the container's own ``__init__`` does."""
    if isinstance(owner.contents, DictValue):
        first = args[0] if args else None
        if "collections.defaultdict" in owner.cls.external_bases:
            owner.contents.factory, first = first, args[1] if len(args) > 1 else None
        containers.call_method(machine, owner.contents, "update", () if first is None else (first,), keywords, site)
    elif isinstance(owner.contents, ListValue) and args:
        containers.call_method(machine, owner.contents, "extend", args[:1], {}, site)


def own(machine: Machine, owner: Instance, name: str) -> BoundMethod | None:
    """A method that the class of an object defines itself."""
    found = members.class_member(machine, owner.cls, name)
    return BoundMethod(found[1], owner) if found is not None and isinstance(found[1], FunctionValue) else None


def inherited(machine: Machine, owner: Instance, name: str) -> Value:
    """A method of the container; also what ``super()`` gives."""
    assert owner.contents is not None
    if name == "__init__":
        return Builtin(name, lambda machine, args, keywords, site: fill(machine, owner, args, keywords, site))
    if name in _SPECIAL:
        return Builtin(name, lambda machine, args, keywords, site: _special(machine, owner, name, args, site))
    return owner.contents if name == "data" else Method(owner.contents, name)


_SPECIAL = frozenset({"__getitem__", "__setitem__", "__delitem__", "__contains__", "__len__", "__iter__"})


def _special(machine: Machine, owner: Instance, name: str, args: tuple[Value, ...], site: Location) -> Value:
    from warplint.tapes import operators
    from warplint.tapes.values import Unknown

    contents = owner.contents
    if name == "__getitem__" and args:
        return item(machine, owner, args[0], site)
    if name == "__setitem__" and len(args) == 2:
        sequences.set_item(machine, contents, args[0], args[1], site)
        return None
    if name == "__delitem__" and args:
        sequences.delete_item(contents, args[0])
        return None
    if name == "__contains__" and args:
        return operators.contains(machine, "in", args[0], contents)
    known = sequences.elements(machine, contents)
    if known is None:
        return Unknown(name)
    return len(known) if name == "__len__" else ListValue(known)


def item(machine: Machine, owner: Instance, index: Value, site: Location) -> Value:
    """``owner[index]``, where the class leaves that to its container."""
    contents = owner.contents
    missing = own(machine, owner, "__missing__")
    if missing is not None and isinstance(contents, DictValue) and not contents.open:
        from warplint.tapes.values import is_key

        if is_key(index) and index not in contents.entries:
            return machine.call(missing, (index,), {}, site)
    return sequences.get_item(machine, contents, index, site)
