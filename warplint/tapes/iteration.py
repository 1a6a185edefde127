"""Iterators: ``iter``, ``next`` and ``itertools``.

An iterator is a list of what it still gives, made at once. One without an end is ``endless``: it holds as many elements
as any loop over known things runs for.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from warplint.ir.spans import Location
from warplint.tapes import generators, members, operators, sequences
from warplint.tapes.values import BoundMethod, FunctionValue, GeneratorValue, Instance, ListValue, Unknown, Value

if TYPE_CHECKING:
    from warplint.tapes.machine import Machine

Args = tuple[Value, ...]
Keywords = dict[str, Value]

#: The elements of an iterator without an end that are made, and the most of any other.
_ENDLESS = 64
_MOST = 600


def iterator(machine: Machine, args: Args, keywords: Keywords, site: Location) -> Value:
    """``iter(iterable)``: a list of its own, which ``next`` takes from."""
    if len(args) != 1:
        return Unknown("iter")
    if isinstance(args[0], GeneratorValue):
        return args[0]
    known = sequences.elements(machine, args[0])
    if known is not None:
        return ListValue(known)
    if isinstance(args[0], ListValue):
        return ListValue(list(args[0].items), args[0].open, endless=args[0].endless)
    return args[0] if isinstance(args[0], Unknown) else Unknown("iter")


def following(machine: Machine, args: Args, keywords: Keywords, site: Location) -> Value:
    """``next(iterator, default)``."""
    value = args[0] if args else None
    if isinstance(value, GeneratorValue):
        value = generators.drained(machine, value)
    if isinstance(value, Instance):
        found = members.class_member(machine, value.cls, "__next__")
        if found is not None and isinstance(found[1], FunctionValue):
            return machine.call(BoundMethod(found[1], value), (), {}, site)
    if isinstance(value, ListValue):
        if value.items:
            first = value.items.pop(0)
            if value.endless:
                value.items.append(first if value.cyclic else Unknown("element"))
            return first
        if len(args) > 1 and not value.open:
            return args[1]
        if not value.open:
            machine.fails("StopIteration")
    return Unknown("next")


def call(machine: Machine, name: str, args: Args, keywords: Keywords, site: Location) -> Value:
    """A function of ``itertools``, by its name there."""
    if name == "count":
        start, step = (args[position] if len(args) > position else keywords.get(key, default) for position, key, default
                       in ((0, "start", 0), (1, "step", 1)))  # fmt: skip
        if not isinstance(start, int) or not isinstance(step, int):
            return Unknown(name)
        return ListValue([start + step * number for number in range(_ENDLESS)], True, endless=True)
    if name == "repeat" and args:
        times = args[1] if len(args) > 1 else keywords.get("times")
        if isinstance(times, Unknown):
            times = machine.questions.number(times)
        if isinstance(times, int):
            return ListValue([args[0]] * max(0, min(times, _MOST)))
        return ListValue([args[0]] * _ENDLESS, True, endless=True, cyclic=True)
    if name == "cycle" and args:
        items, _ = sequences.rounds(machine, args[0])
        known = list(items)
        if not known:
            return ListValue([])
        rounds = -(-_ENDLESS // len(known))
        return ListValue(known * rounds, True, endless=True, cyclic=True)
    if name in ("starmap", "accumulate", "takewhile", "dropwhile", "filterfalse"):
        return _with_function(machine, name, args, keywords, site)
    function = _PURE.get(name)
    if function is None:
        return Unknown(f"itertools.{name}")
    if name == "islice" and len(args) == 2 and isinstance(args[1], int):
        first = args[0]
        if isinstance(first, GeneratorValue) and first.left is None and first.most is None:
            return replace(first, most=args[1])
    columns, options, is_open = _split(machine, name, args)
    repeat = keywords.get("repeat", 1)
    if name == "product" and isinstance(repeat, int):
        columns = columns * repeat
    if name == "zip_longest":
        return _taken(itertools.zip_longest(*columns, fillvalue=keywords.get("fillvalue")), is_open)
    if any(option is not None and not isinstance(option, int) for option in options):
        return Unknown(f"itertools.{name}")
    return _taken(function(*columns, *options), is_open)


def _split(machine: Machine, name: str, args: Args) -> tuple[list[list[Value]], list[Value], bool]:
    """The iterables among the arguments, and the numbers behind them."""
    count = 1 if name in ("islice", "permutations", "combinations", "batched", "pairwise", "from_iterable") else None
    columns: list[list[Value]] = []
    is_open = False
    for value in args[:count]:
        known = sequences.elements(machine, value)
        if name == "from_iterable" and known is not None:
            inner = [sequences.rounds(machine, part) for part in known]
            columns.append([ListValue(list(items)) for items, _ in inner])
            is_open = is_open or not all(exact for _, exact in inner)
            continue
        items, exact = sequences.rounds(machine, value) if known is None else (known, True)
        if isinstance(value, ListValue) and value.endless:
            items = list(value.items)
        columns.append(list(items))
        is_open = is_open or not (exact or (isinstance(value, ListValue) and value.endless))
    return columns, [] if count is None else list(args[count:]), is_open


def _taken(items: Iterable[Any], is_open: bool) -> Value:
    try:
        found = list(itertools.islice(items, _MOST))
    except (TypeError, ValueError):
        return Unknown("itertools")
    return ListValue(found, is_open)


def _joined(lists: list[ListValue]) -> Iterable[Any]:
    return (item for inner in lists for item in inner.items)


def _pairs(items: list[Value]) -> Iterable[Any]:
    return zip(items, items[1:], strict=False)


def _batches(items: list[Value], size: int) -> Iterable[Any]:
    return (tuple(items[start : start + size]) for start in range(0, len(items), max(1, size)))


_PURE: dict[str, Callable[..., Iterable[Any]]] = {
    "chain": itertools.chain,
    "from_iterable": _joined,
    "product": itertools.product,
    "permutations": itertools.permutations,
    "combinations": itertools.combinations,
    "islice": itertools.islice,
    "zip_longest": itertools.zip_longest,
    "pairwise": _pairs,
    "batched": _batches,
}


def _with_function(machine: Machine, name: str, args: Args, keywords: Keywords, site: Location) -> Value:
    if len(args) < 2 and name != "accumulate":
        return Unknown(name)
    function, iterable = (args[1] if len(args) > 1 else None, args[0]) if name == "accumulate" else args[:2]
    items, exact = sequences.rounds(machine, iterable)
    found: list[Value] = []
    for number, item in enumerate(items):
        if name == "starmap":
            parts = sequences.elements(machine, item)
            found.append(machine.call(function, tuple(parts), {}, site) if parts is not None else Unknown(name))
        elif name == "accumulate":
            if number == 0 and keywords.get("initial") is not None:
                found.append(keywords["initial"])
            last = found[-1] if found else None
            if not found:
                found.append(item)
            elif function is None:
                found.append(operators.binary(machine, "+", last, item))
            else:
                found.append(machine.call(function, (last, item), {}, site))
        else:
            holds = operators.known_truth(machine.call(function, (item,), {}, site))
            if holds is None:
                return Unknown(name)
            if name == "filterfalse":
                found += [] if holds else [item]
            elif name == "takewhile":
                if not holds:
                    return ListValue(found)
                found.append(item)
            elif found or not holds:
                found.append(item)
    return ListValue(found, not exact)


def filtered(machine: Machine, args: Args, keywords: Keywords, site: Location) -> Value:
    """``filter(function, iterable)``; what cannot be told stays in."""
    if len(args) != 2:
        return Unknown("filter")
    items, exact = sequences.rounds(machine, args[1])
    found: list[Value] = []
    unsure = False
    for item in items:
        value = item if args[0] is None else machine.call(args[0], (item,), {}, site)
        holds = operators.known_truth(value)
        unsure = unsure or holds is None
        if holds is not False:
            found.append(item)
    return ListValue(found, unsure or not exact)


def whether(machine: Machine, name: str, value: Value) -> bool | None:
    """``any(iterable)`` and ``all(iterable)``; None where that cannot be known."""
    known = sequences.elements(machine, value)
    if known is None:
        return None
    truths = [operators.known_truth(item) for item in known]
    if name == "any":
        return True if True in truths else None if None in truths else False
    return False if False in truths else None if None in truths else True


def in_order(machine: Machine, value: Value, keywords: Keywords, site: Location) -> ListValue | None:
    """``sorted(iterable, key=..., reverse=...)``; None where the order is not known."""
    known = sequences.elements(machine, value)
    key, backwards = keywords.get("key"), keywords.get("reverse", False)
    if known is None or not isinstance(backwards, (bool, int)):
        return None
    keys = [item if key is None else machine.call(key, (item,), {}, site) for item in known]
    order = _order(keys, bool(backwards))
    return None if order is None else ListValue([known[position] for position in order])


def _order(keys: list[Value], backwards: bool) -> list[int] | None:
    def comparable(key: Value) -> bool:
        return isinstance(key, (int, float, str)) or (isinstance(key, tuple) and all(map(comparable, key)))

    if not all(map(comparable, keys)):
        return None
    try:
        return sorted(range(len(keys)), key=lambda position: keys[position], reverse=backwards)  # type: ignore[arg-type, return-value]
    except TypeError:
        return None


def extreme(machine: Machine, name: str, args: Args, keywords: Keywords, site: Location) -> Value | None:
    """``min`` and ``max`` with a ``key``, or of nothing with a ``default``; None where that cannot be known."""
    known = sequences.elements(machine, args[0]) if len(args) == 1 else list(args)
    if known is None:
        return None
    if not known:
        return keywords.get("default")
    key = keywords.get("key")
    keys = [item if key is None else machine.call(key, (item,), {}, site) for item in known]
    # The first of several is taken by both.
    order = _order(keys, False)
    if order is None:
        # Any of them may be it; the last one comes after all that the others did.
        return known[-1] if all(isinstance(one, Unknown) for one in keys) else None
    best = keys[order[0 if name == "min" else -1]]
    return known[next(position for position, one in enumerate(keys) if one == best)]
