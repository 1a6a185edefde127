"""Objects that come to have two names: what ``states[0] = states[-1]`` or ``first.q = last.q`` does."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Union

from warplint.records import dataclass
from warplint.tapes.trace import Context
from warplint.tapes.values import ArrayValue, DictValue, Instance, ListValue, Storage, Value

#: What holds values by name or number.
Container = Union[dict[Any, Value], list[Value]]

#: How many values are looked through for another name of one object, and how deep.
_MOST, _DEEPEST = 4_000, 4


@dataclass(frozen=True, slots=True)
class _Store:
    """``container`` got ``value`` under ``key``; ``other`` is where it had it already, None where it had not."""

    context: Context
    container: Container
    key: object
    value: Value
    other: object


@dataclass(frozen=True, slots=True)
class Shared:
    """Memory with two names since ``context``; ``across``: the names are in different containers."""

    context: Context
    storages: frozenset[Storage]
    across: bool


class Aliases:
    """The stores of one run that may have given an object a second name."""

    def __init__(self) -> None:
        self._stores: list[_Store] = []

    def note(self, context: Context, container: Container, key: object, before: Value, value: Value) -> None:
        """``container`` gets ``value`` under ``key``, in place of ``before``."""
        places = container.items() if isinstance(container, dict) else enumerate(container)
        for other, known in places:
            if known is value and other != key:
                self._stores.append(_Store(context, container, key, value, other))
                return
        # A first value is how an object is made; what replaces one may be what stands elsewhere.
        if before is not value and type(before) is type(value) and isinstance(value, ArrayValue):
            self._stores.append(_Store(context, container, key, value, None))

    def note_list(self, context: Context, items: list[Value]) -> None:
        """A list with ``items`` replaces another one."""
        first: dict[int, int] = {}
        for place, value in enumerate(items):
            if isinstance(value, (ArrayValue, Instance)) and first.setdefault(id(value), place) != place:
                self._stores.append(_Store(context, items, place, value, first[id(value)]))
                return

    def standing(self, instances: Iterable[Instance]) -> Iterator[Shared]:
        """The objects that have two names now. ``instances`` are all objects that may hold the second one."""
        held: dict[int, int] | None = None
        for store in self._stores:
            if _entry(store.container, store.key) is not store.value:
                continue
            if store.other is not None:
                if _entry(store.container, store.other) is store.value:
                    yield Shared(store.context, frozenset(_memory(store.value)), False)
                continue
            if held is None:
                held = _holders(instances)
            if held.get(id(store.value), 0) > 1:
                yield Shared(store.context, frozenset(_memory(store.value)), True)


def _entry(container: Container, place: object) -> Value:
    if isinstance(container, dict):
        return container.get(place)
    return container[place] if isinstance(place, int) and place < len(container) else None


def _memory(value: Value, depth: int = 2) -> set[Storage]:
    """The memory of an array, or of the arrays that an object has."""
    if isinstance(value, ArrayValue):
        return {value.storage}
    if isinstance(value, Instance) and depth:
        return {storage for inner in value.attributes.values() for storage in _memory(inner, depth - 1)}
    return set()


def _holders(instances: Iterable[Instance]) -> dict[int, int]:
    """How many places hold each array, by its identity: attributes of objects, and what stands in containers there."""
    found: dict[int, int] = {}
    seen: set[int] = set()
    left: list[tuple[Value, int]] = [(instance, _DEEPEST) for instance in instances]
    while left and len(seen) < _MOST:
        value, depth = left.pop()
        if id(value) in seen or not depth:
            continue
        seen.add(id(value))
        inner: Iterable[Value] = ()
        if isinstance(value, Instance):
            held = () if value.contents is None else (value.contents,)
            inner = () if value.is_struct else (*value.attributes.values(), *held)
        elif isinstance(value, DictValue):
            inner = value.entries.values()
        elif isinstance(value, ListValue):
            inner = value.items
        elif isinstance(value, tuple):
            inner = value
        for one in inner:
            if isinstance(one, ArrayValue):
                found[id(one)] = found.get(id(one), 0) + 1
            elif isinstance(one, (Instance, DictValue, ListValue, tuple)):
                left.append((one, depth - 1))
    return found
