"""``functools``, ``operator``, ``copy`` and the functions of ``dataclasses``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from warplint.ir.spans import Location
from warplint.tapes import members, operators, sequences
from warplint.tapes.values import (
    Builtin,
    DictValue,
    Instance,
    ListValue,
    Unknown,
    Value,
    is_key,
)

if TYPE_CHECKING:
    from warplint.tapes.machine import Machine

Args = tuple[Value, ...]
Keywords = dict[str, Value]


def reduce(machine: Machine, args: Args, keywords: Keywords, site: Location) -> Value:
    """``functools.reduce(function, iterable, initial)``."""
    if len(args) < 2:
        return Unknown("reduce")
    items, exact = sequences.rounds(machine, args[1])
    left = list(items)
    if len(args) > 2:
        left.insert(0, args[2])
    if not left or not exact:
        return Unknown("reduce")
    result = left[0]
    for item in left[1:]:
        result = machine.call(args[0], (result, item), {}, site)
    return result


def attribute_getter(machine: Machine, args: Args, keywords: Keywords, site: Location) -> Value:
    """``operator.attrgetter("a.b", ...)``."""
    if not args or not all(isinstance(name, str) for name in args):
        return Unknown("attrgetter")

    def get(machine: Machine, given: Args, words: Keywords, place: Location) -> Value:
        found: list[Value] = []
        for name in args:
            value = given[0] if given else Unknown("attrgetter")
            for part in str(name).split("."):
                value = members.get_attribute(machine, value, part, place)
            found.append(value)
        return found[0] if len(found) == 1 else tuple(found)

    return Builtin("attrgetter", get)


def item_getter(machine: Machine, args: Args, keywords: Keywords, site: Location) -> Value:
    """``operator.itemgetter(index, ...)``."""

    def get(machine: Machine, given: Args, words: Keywords, place: Location) -> Value:
        owner = given[0] if given else Unknown("itemgetter")
        found = [sequences.get_item(machine, owner, index, place) for index in args]
        return found[0] if len(found) == 1 else tuple(found)

    return Builtin("itemgetter", get) if args else Unknown("itemgetter")


def method_caller(machine: Machine, args: Args, keywords: Keywords, site: Location) -> Value:
    """``operator.methodcaller(name, ...)``."""
    if not args or not isinstance(args[0], str):
        return Unknown("methodcaller")
    name, rest = args[0], args[1:]

    def run(machine: Machine, given: Args, words: Keywords, place: Location) -> Value:
        owner = given[0] if given else Unknown("methodcaller")
        return machine.call(members.get_attribute(machine, owner, name, place), rest, dict(keywords), place)

    return Builtin("methodcaller", run)


_OPERATORS = {
    "add": "+",
    "sub": "-",
    "mul": "*",
    "truediv": "/",
    "floordiv": "//",
    "mod": "%",
    "pow": "**",
    "and_": "&",
    "or_": "|",
    "xor": "^",
    "lshift": "<<",
    "rshift": ">>",
}
_COMPARISONS = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">=", "is_": "is", "is_not": "is not"}


def operator(machine: Machine, name: str, args: Args, keywords: Keywords, site: Location) -> Value:
    """A function of ``operator`` that does what an operator does."""
    if name in _OPERATORS and len(args) == 2:
        return operators.binary(machine, _OPERATORS[name], args[0], args[1])
    if name in _COMPARISONS and len(args) == 2:
        return operators.compare(machine, _COMPARISONS[name], args[0], args[1])
    if name == "neg" and len(args) == 1:
        return operators.unary("-", args[0])
    if name == "getitem" and len(args) == 2:
        return sequences.get_item(machine, args[0], args[1], site)
    if name == "setitem" and len(args) == 3:
        sequences.set_item(machine, *args, site)
        return None
    if name == "index" and len(args) == 1:
        return args[0]
    return Unknown(f"operator.{name}")


def shallow_copy(machine: Machine, args: Args, keywords: Keywords, site: Location) -> Value:
    """``copy.copy(value)``: another container with the same contents."""
    value = args[0] if args else None
    if isinstance(value, ListValue):
        return ListValue(list(value.items), value.open, limit=value.limit)
    if isinstance(value, DictValue):
        return DictValue(dict(value.entries), value.open, factory=value.factory)
    if isinstance(value, Instance) and not value.is_struct and not _copies_itself(machine, value, "__copy__"):
        made = Instance(value.cls, dict(value.attributes))
        if value.contents is not None:
            copied = shallow_copy(machine, (value.contents,), {}, site)
            made.contents = copied if isinstance(copied, (ListValue, DictValue)) else None
        machine.instances.append(made)
        return made
    return value if isinstance(value, (int, float, str, bytes, tuple)) or value is None else Unknown("copy")


def deep_copy(machine: Machine, args: Args, keywords: Keywords, site: Location) -> Value:
    """``copy.deepcopy(value)``: containers are followed, and what of Warp is in them is not known any more."""
    return _deep(machine, args[0], {}) if args else Unknown("copy")


def _deep(machine: Machine, value: Value, made: dict[int, Value]) -> Value:
    if id(value) in made:
        return made[id(value)]
    if isinstance(value, ListValue):
        copied = ListValue([], value.open, limit=value.limit)
        made[id(value)] = copied
        copied.items.extend(_deep(machine, item, made) for item in value.items)
        return copied
    if isinstance(value, DictValue):
        entries = DictValue({}, value.open, factory=value.factory)
        made[id(value)] = entries
        entries.entries.update({key: _deep(machine, item, made) for key, item in value.entries.items()})
        return entries
    if isinstance(value, tuple):
        return tuple(_deep(machine, item, made) for item in value)
    if isinstance(value, Instance) and not value.is_struct and not _copies_itself(machine, value, "__deepcopy__"):
        instance = Instance(value.cls)
        made[id(value)] = instance
        machine.instances.append(instance)
        instance.attributes.update({name: _deep(machine, item, made) for name, item in value.attributes.items()})
        contents = None if value.contents is None else _deep(machine, value.contents, made)
        instance.contents = contents if isinstance(contents, (ListValue, DictValue)) else None
        return instance
    if isinstance(value, (int, float, str, bytes)) or value is None:
        return value
    made[id(value)] = Unknown("copy")
    return made[id(value)]


def _copies_itself(machine: Machine, value: Instance, name: str) -> bool:
    if value.cls.kind == "enum" or members.class_member(machine, value.cls, name) is not None:
        return True
    return any(base != "typing.NamedTuple" and not base.startswith("abc.") for base in value.cls.external_bases)


def replaced(machine: Machine, args: Args, keywords: Keywords, site: Location) -> Value:
    """``dataclasses.replace(instance, name=value, ...)``, and ``_replace`` of a named tuple."""
    from warplint.tapes.classes import construct, fields_of

    value = args[0] if args else None
    if not isinstance(value, Instance) or value.cls.kind not in ("dataclass", "namedtuple") or "**" in keywords:
        return Unknown("replace")
    given = {name: value.attributes.get(name, Unknown(name)) for name in fields_of(value.cls)}
    return construct(machine, value.cls, (), {**given, **keywords}, site)


def as_dict(machine: Machine, args: Args, keywords: Keywords, site: Location) -> Value:
    """``_asdict()`` of a named tuple, and ``vars`` of anything: the objects themselves."""
    from warplint.tapes.classes import fields_of

    value = args[0] if args else None
    if not isinstance(value, Instance):
        return Unknown("asdict")
    return DictValue({name: value.attributes.get(name, Unknown(name)) for name in fields_of(value.cls)})


def as_plain_dict(machine: Machine, args: Args, keywords: Keywords, site: Location) -> Value:
    """``dataclasses.asdict(instance)``: nested dataclasses become dicts, and anything else is copied deeply."""
    value = args[0] if args else None
    if not isinstance(value, Instance) or value.cls.kind != "dataclass":
        return Unknown("asdict")
    return DictValue({name: _plain(machine, part, site) for name, part in _parts(value)})


def as_plain_tuple(machine: Machine, args: Args, keywords: Keywords, site: Location) -> Value:
    """``dataclasses.astuple(instance)``."""
    value = args[0] if args else None
    if not isinstance(value, Instance) or value.cls.kind != "dataclass":
        return Unknown("astuple")
    return tuple(_deep(machine, part, {}) for _, part in _parts(value))


def _parts(value: Instance) -> list[tuple[str, Value]]:
    from warplint.tapes.classes import fields_of

    return [(name, value.attributes.get(name, Unknown(name))) for name in fields_of(value.cls)]


def _plain(machine: Machine, value: Value, site: Location) -> Value:
    if isinstance(value, Instance) and value.cls.kind == "dataclass":
        return as_plain_dict(machine, (value,), {}, site)
    return _deep(machine, value, {})


def dict_of_keys(machine: Machine, args: Args, keywords: Keywords, site: Location) -> Value:
    """``dict.fromkeys(keys, value)``: one value for all."""
    known = sequences.elements(machine, args[0]) if args else None
    if known is None or not all(map(is_key, known)):
        return DictValue(open=True)
    return DictValue(dict.fromkeys(known, args[1] if len(args) > 1 else None))


def default_dict(machine: Machine, args: Args, keywords: Keywords, site: Location) -> Value:
    """``collections.defaultdict(factory, ...)``."""
    from warplint.tapes.builtins import make_dict

    made = make_dict(machine, args[1:], keywords)
    if isinstance(made, DictValue) and args and args[0] is not None:
        made.factory = args[0]
    return made


def chained(machine: Machine, args: Args, keywords: Keywords, site: Location) -> Value:
    """``collections.ChainMap(first, ...)``: the first that has a key counts."""
    made = DictValue()
    for value in reversed(args):
        if isinstance(value, DictValue):
            made.entries.update(value.entries)
            made.open = made.open or value.open
        else:
            made.open = True
    return made
