"""Methods of lists, dicts, strings and tuples."""

from __future__ import annotations

from typing import TYPE_CHECKING

from warplint.ir.spans import Location
from warplint.tapes import iteration, sequences, texts
from warplint.tapes.values import (
    ArrayValue,
    DictValue,
    Instance,
    ListValue,
    Method,
    ModuleValue,
    TapeValue,
    Unknown,
    Value,
    is_key,
)

if TYPE_CHECKING:
    from warplint.tapes.machine import Machine


def call_method(
    machine: Machine, receiver: Value, name: str, args: tuple[Value, ...], keywords: dict[str, Value], site: Location
) -> Value:
    """``receiver.name(...)`` for a value of Python's own types."""
    if isinstance(receiver, ListValue):
        if name == "sort":
            ordered = iteration.in_order(machine, receiver, keywords, site)
            receiver.items[:] = [Unknown("element") for _ in receiver.items] if ordered is None else ordered.items
            return None
        return _list_method(machine, receiver, name, args)
    if isinstance(receiver, DictValue):
        return _dict_method(machine, receiver, name, args, keywords)
    if isinstance(receiver, str):
        return texts.call_method(receiver, name, args, keywords)
    if isinstance(receiver, ModuleValue):  # `globals().update(...)`
        return _module_method(machine, receiver, name, args, keywords, site)
    if isinstance(receiver, tuple):
        if name == "index" and args and args[0] in receiver:
            return receiver.index(args[0])
        if name == "count":
            return Unknown("count")
        return Unknown(name)
    if isinstance(receiver, Method) and isinstance(receiver.receiver, TapeValue) and receiver.name == "gradients":
        if name == "get" and args and isinstance(args[0], ArrayValue):
            return machine.recorder.gradient(args[0])
        return Unknown("gradient")
    if isinstance(receiver, Method) and isinstance(receiver.receiver, TapeValue) and receiver.name == "launches":
        if name == "clear":
            machine.recorder.reset_tape(receiver.receiver)
        return None
    return Unknown(name)


def _module_method(
    machine: Machine, owner: ModuleValue, name: str, args: tuple[Value, ...], keywords: dict[str, Value], site: Location
) -> Value:
    """A method of the dict of a module's names."""
    names: dict[object, Value] = {key: value for key, value in keywords.items()}  # noqa: C416
    if name == "update" and args and isinstance(args[0], DictValue):
        names |= args[0].entries
    elif name in ("get", "setdefault") and args and isinstance(args[0], str):
        known = args[0] in machine.globals(owner.module).names or bool(owner.module.bindings(args[0]))
        if known:
            return sequences.get_item(machine, owner, args[0], site)
        if name == "get":
            return args[1] if len(args) > 1 else None
        names = {args[0]: args[1] if len(args) > 1 else None}
    for key, value in names.items():
        sequences.set_item(machine, owner, key, value, site)  # type: ignore[arg-type]
    return names.get(args[0]) if name == "setdefault" and args else None


def _list_method(machine: Machine, owner: ListValue, name: str, args: tuple[Value, ...]) -> Value:
    first = args[0] if args else None
    if name in ("append", "add"):
        if args:
            owner.items.append(first)
            _shorten(owner, left=True)
        return None
    if name in ("appendleft", "extendleft", "rotate"):
        return _at_the_left(machine, owner, name, first)
    if name in ("extend", "update"):
        known = sequences.elements(machine, first)
        if known is None:
            owner.open = True
        else:
            owner.items.extend(known)
            _shorten(owner, left=True)
        return None
    if name == "insert" and len(args) == 2:
        if isinstance(first, int):
            owner.items.insert(first, args[1])
        else:
            owner.items.append(args[1])
            owner.open = True
        return None
    if name == "pop":
        index = first if args else -1
        if isinstance(index, int) and not (owner.open and index < 0) and -len(owner.items) <= index < len(owner.items):
            return owner.items.pop(index)
        if isinstance(index, int) and not owner.open:
            machine.fails("IndexError")
        return Unknown("element")
    if name in ("popleft",):
        if not owner.items and not owner.open:
            machine.fails("IndexError")
        return owner.items.pop(0) if owner.items else Unknown("element")
    if name == "clear":
        owner.items.clear()
        owner.open = False
        return None
    if name == "reverse":
        owner.items.reverse()
        return None
    if name == "copy":
        return ListValue(list(owner.items), owner.open, limit=owner.limit)
    if name in ("remove", "discard"):
        if args and first in owner.items:
            owner.items.remove(first)
        return None
    if name == "index":
        return owner.items.index(first) if first in owner.items else Unknown("index")
    return Unknown(name)


def _at_the_left(machine: Machine, owner: ListValue, name: str, first: Value) -> Value:
    """Methods that only a deque has."""
    if name == "appendleft":
        owner.items.insert(0, first)
        _shorten(owner, left=False)
    elif name == "extendleft":
        known = sequences.elements(machine, first)
        owner.items[:0] = reversed(known or [])
        owner.open = owner.open or known is None
        _shorten(owner, left=False)
    elif owner.items:
        steps = 1 if first is None else first
        if isinstance(steps, int) and not owner.open:
            steps %= len(owner.items)
            owner.items[:] = owner.items[-steps:] + owner.items[:-steps] if steps else owner.items
        else:
            # Which element is where, nobody knows.
            owner.items[:] = [Unknown("element") for _ in owner.items]
    return None


def _shorten(owner: ListValue, *, left: bool) -> None:
    """What is too much for a deque with a ``maxlen`` falls out at the other end."""
    if owner.limit is not None and len(owner.items) > owner.limit:
        if left:
            del owner.items[: len(owner.items) - owner.limit]
        else:
            del owner.items[owner.limit :]


def _dict_method(
    machine: Machine, owner: DictValue, name: str, args: tuple[Value, ...], keywords: dict[str, Value]
) -> Value:
    first = args[0] if args else None
    if name in ("get", "pop", "setdefault") and args:
        key_known = is_key(first)
        if key_known and first in owner.entries:
            return owner.entries.pop(first) if name == "pop" else owner.entries[first]
        if name == "pop" and len(args) == 1 and key_known and not owner.open:
            machine.fails("KeyError")
        if owner.open or not key_known:
            return Unknown("item")
        default = args[1] if len(args) > 1 else None
        if name == "setdefault":
            owner.entries[first] = default
        return default
    if name == "popitem" and owner.entries and not owner.open:
        return owner.entries.popitem()
    if name == "move_to_end" and is_key(first) and first in owner.entries:
        moved = owner.entries.pop(first)
        if keywords.get("last", True) is False:
            rest = dict(owner.entries)
            owner.entries.clear()
            owner.entries.update({first: moved, **rest})
        else:
            owner.entries[first] = moved
        return None
    if name == "items":
        return ListValue([(key, value) for key, value in owner.entries.items()], owner.open)
    if name == "values":
        return ListValue(list(owner.entries.values()), owner.open)
    if name == "keys":
        return ListValue(list(owner.entries), owner.open)
    if name == "update":
        if isinstance(first, Instance):
            first = first.contents
        if isinstance(first, DictValue):
            owner.entries.update(first.entries)
            owner.open = owner.open or first.open
        elif args:
            pairs = sequences.elements(machine, first)
            owner.open = owner.open or pairs is None
            for pair in pairs or ():
                if isinstance(pair, tuple) and len(pair) == 2 and is_key(pair[0]):
                    owner.entries[pair[0]] = pair[1]
                else:
                    owner.open = True
        owner.entries.update(keywords)
        return None
    if name == "clear":
        owner.entries.clear()
        owner.open = False
        return None
    if name == "copy":
        return DictValue(dict(owner.entries), owner.open, factory=owner.factory)
    return Unknown(name)
