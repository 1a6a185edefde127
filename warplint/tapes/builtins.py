"""Python's built-in functions."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from warplint.ir.spans import Location
from warplint.tapes import equality, functional, hostdata, iteration, members, operators, sequences
from warplint.tapes.questions import ROUNDS, derived
from warplint.tapes.values import (
    ArrayValue,
    ClassValue,
    DictValue,
    ExternalValue,
    GeneratorValue,
    Instance,
    KernelValue,
    ListValue,
    ModuleValue,
    RangeValue,
    TapeValue,
    TensorValue,
    Unknown,
    Value,
    is_key,
    is_plain,
)

if TYPE_CHECKING:
    from warplint.tapes.machine import Machine

_PURE: dict[str, Callable[..., Any]] = {
    function.__name__: function for function in (abs, round, min, max, sum, divmod, pow, ord)
}
_HARMLESS = frozenset(
    {
        "print",
        "repr",
        "hash",
        "id",
        "input",
        "format",
        "vars",
        "dir",
        "breakpoint",
        "sorted",
        "any",
        "all",
    }
)


def call(
    machine: Machine, name: str, args: tuple[Value, ...], keywords: dict[str, Value], site: Location
) -> tuple[bool, Value]:
    """Call a built-in function; the first result tells whether it was one that is modelled."""
    handler = _BUILTINS.get(name)
    if handler is not None:
        return True, handler(machine, args, keywords, site)
    if name in _PURE or name.startswith("math."):
        function = _PURE.get(name) or getattr(math, name.removeprefix("math."), None)
        if name in ("min", "max") and ("key" in keywords or "default" in keywords):
            found = iteration.extreme(machine, name, args, keywords, site)
            return True, Unknown(name) if found is None else found
        return True, _pure(machine, name, function, args)
    if name.startswith("itertools."):
        return True, iteration.call(machine, name.rpartition(".")[2], args, keywords, site)
    if name.startswith("operator."):
        return True, functional.operator(machine, name.removeprefix("operator."), args, keywords, site)
    if name in _HARMLESS:
        from warplint.tapes.tapes import read_gradients

        for value in args:
            read_gradients(machine, value, "host", site)
            hostdata.note_use(machine, value, site, result=name == "print" and _is_made_elsewhere(machine, value, site))
        if name in ("any", "all") and args:
            holds = iteration.whether(machine, name, args[0])
            return True, Unknown(name) if holds is None else holds
        if name == "sorted" and args:
            found = iteration.in_order(machine, args[0], keywords, site)
            if found is not None:
                return True, found
        if name == "sorted" and args and isinstance(args[0], ListValue):
            return True, ListValue([Unknown("element") for _ in args[0].items], args[0].open)
        if name == "sorted" and args and isinstance(args[0], Unknown):
            return True, Unknown(name, sources=args[0].sources)
        if name == "vars" and args and isinstance(args[0], (Instance, Unknown, ClassValue, ModuleValue)):
            return True, members.get_attribute(machine, args[0], "__dict__", site)
        return True, Unknown(name)
    return False, None


def _is_made_elsewhere(machine: Machine, value: Value, site: Location) -> bool:
    """Whether what is printed is the result of a call, and was not read of an array just here, to show it."""
    for part in value if isinstance(value, tuple) else (value,):
        known = part.children.get("read") if isinstance(part, Unknown) else None
        if isinstance(known, tuple) and known[1].definition == machine.recorder.context(site).definition:
            return False
    return True


def _pure(machine: Machine, name: str, function: Callable[..., Any] | None, args: tuple[Value, ...]) -> Value:
    if len(args) == 1 and name in ("min", "max", "sum"):
        known = sequences.elements(machine, args[0])
        if name == "sum" and known is not None and len(args) < 2 and any(isinstance(item, Unknown) for item in known):
            return derived(name, *known)
        args = tuple(known) if known is not None else args
        if name == "sum":
            args = (args,) if known is not None else args
    if len(args) == 2 and name == "sum":
        known = sequences.elements(machine, args[0])
        if known is not None and all(isinstance(item, (ListValue, tuple)) for item in (*known, args[1])):
            return functools.reduce(lambda one, other: operators.binary(machine, "+", one, other), known, args[1])
    if args and function is not None and is_plain(args):
        try:
            return function(*args)  # type: ignore[no-any-return]
        except (TypeError, ValueError, ArithmeticError):
            return Unknown(name)
    if name in ("min", "max") and any(isinstance(arg, int) for arg in args):
        # of a known and an unknown number of things, the unknown one is the smaller
        unknown = [arg for arg in args if isinstance(arg, Unknown)]
        numbers = [arg for arg in args if isinstance(arg, int)]
        if len(unknown) + len(numbers) == len(args) and unknown:
            counts = [*numbers, *(machine.questions.number(arg) for arg in unknown)]
            return min(counts) if name == "min" else max(counts)
    unknowns = [arg for arg in args if isinstance(arg, Unknown)]
    if unknowns:
        return derived(name, *args)
    return Unknown(name)


def _range(machine: Machine, args: tuple[Value, ...], keywords: dict[str, Value], site: Location) -> Value:
    numbers: list[int] = []
    guessed = False
    for arg in args:
        if isinstance(arg, Unknown):
            numbers.append(machine.questions.number(arg))
            guessed = True
        elif isinstance(arg, (int, float)):
            numbers.append(int(arg))
        else:
            numbers.append(ROUNDS)
            guessed = True
    if len(numbers) == 1:
        return RangeValue(0, numbers[0], 1, guessed)
    if len(numbers) == 2:
        return RangeValue(numbers[0], numbers[1], 1, guessed)
    if len(numbers) == 3 and numbers[2] != 0:
        return RangeValue(numbers[0], numbers[1], numbers[2], guessed)
    return Unknown("range")


def _len(machine: Machine, args: tuple[Value, ...], keywords: dict[str, Value], site: Location) -> Value:
    value = args[0] if args else None
    known = sequences.elements(machine, value) if not isinstance(value, RangeValue) else None
    if known is not None:
        return len(known)
    if isinstance(value, RangeValue):
        return len(value.numbers())
    if isinstance(value, Unknown):
        array = machine.recorder.materialized(value)
        if array is None:
            return sequences.length(machine, value)
        value = array
    if isinstance(value, TensorValue):
        value = value.array
    if isinstance(value, ArrayValue):
        return value.shape[0] if value.shape else machine.pure(f"len of {value.storage.name}", value)
    if isinstance(value, Instance):
        found = members.class_member(machine, value.cls, "__len__")
        if found is not None:
            from warplint.tapes.values import BoundMethod, FunctionValue

            if isinstance(found[1], FunctionValue):
                return machine.call(BoundMethod(found[1], value), (), {}, site)
    return Unknown("len")


def _int(machine: Machine, args: tuple[Value, ...], keywords: dict[str, Value], site: Location) -> Value:
    value = equality.plain_of(args[0]) if args else 0
    if isinstance(value, (int, float)):
        return int(value) if math.isfinite(value) else Unknown("int")
    if isinstance(value, str) and len(args) == 1:
        try:
            return int(value)
        except ValueError:
            return Unknown("int")
    if isinstance(value, Unknown):
        return derived("int", value)
    return Unknown("int")


def _float(machine: Machine, args: tuple[Value, ...], keywords: dict[str, Value], site: Location) -> Value:
    value = args[0] if args else 0.0
    if isinstance(value, (int, float)):
        return float(value)
    if isinstance(value, Unknown):
        return derived("float", value)
    return Unknown("float")


def _bool(machine: Machine, args: tuple[Value, ...], keywords: dict[str, Value], site: Location) -> Value:
    known = operators.known_truth(args[0]) if args else False
    if known is not None:
        return known
    return args[0] if args else False


def _list(machine: Machine, args: tuple[Value, ...], keywords: dict[str, Value], site: Location) -> Value:
    if not args:
        return ListValue([])
    known = sequences.elements(machine, args[0])
    if known is not None:
        return ListValue(known)
    if isinstance(args[0], ListValue):
        return ListValue(list(args[0].items), True)
    if isinstance(args[0], Unknown):
        return args[0]
    return Unknown("list")


def _tuple(machine: Machine, args: tuple[Value, ...], keywords: dict[str, Value], site: Location) -> Value:
    if not args:
        return ()
    known = sequences.elements(machine, args[0])
    return tuple(known) if known is not None else args[0] if isinstance(args[0], Unknown) else Unknown("tuple")


def make_dict(machine: Machine, args: tuple[Value, ...], keywords: dict[str, Value]) -> Value:
    """``dict(...)``."""
    result = DictValue()
    if args and isinstance(args[0], Instance) and args[0].contents is not None:
        args = (args[0].contents, *args[1:])
    if args and isinstance(args[0], DictValue):
        result.entries.update(args[0].entries)
        result.open = args[0].open
    elif args:
        known = sequences.elements(machine, args[0])
        pairs = [item for item in known or [] if isinstance(item, tuple) and len(item) == 2]
        result.open = known is None or len(pairs) != len(known)
        result.entries.update({key: value for key, value in pairs if is_key(key)})
    result.entries.update({key: value for key, value in keywords.items() if key not in ("*", "**")})
    result.open = result.open or "**" in keywords
    return result


def _enumerate(machine: Machine, args: tuple[Value, ...], keywords: dict[str, Value], site: Location) -> Value:
    start = args[1] if len(args) > 1 else keywords.get("start", 0)
    first = start if isinstance(start, int) else 0
    if args and isinstance(args[0], GeneratorValue) and args[0].left is None and args[0].first is None:
        return replace(args[0], first=first)
    items, exact = sequences.rounds(machine, args[0]) if args else ((), True)
    # a loop over this makes as many rounds as are known, which is all that matters
    return ListValue([(first + number, item) for number, item in enumerate(items)])


def _zip(machine: Machine, args: tuple[Value, ...], keywords: dict[str, Value], site: Location) -> Value:
    columns = [_column(machine, arg) for arg in args]
    return ListValue([tuple(row) for row in zip(*columns, strict=False)])


def _column(machine: Machine, value: Value) -> list[Value]:
    """What a loop that goes on for as long as other things do gets of ``value``."""
    if isinstance(value, ListValue) and value.endless:
        return list(value.items)
    return list(sequences.rounds(machine, value)[0])


def _reversed(machine: Machine, args: tuple[Value, ...], keywords: dict[str, Value], site: Location) -> Value:
    items, _ = sequences.rounds(machine, args[0]) if args else ((), True)
    return ListValue(list(items)[::-1])


def _map(machine: Machine, args: tuple[Value, ...], keywords: dict[str, Value], site: Location) -> Value:
    if len(args) < 2:
        return Unknown("map")
    columns = [list(sequences.rounds(machine, arg)[0]) for arg in args[1:]]
    return ListValue([machine.call(args[0], tuple(row), {}, site) for row in zip(*columns, strict=False)])


def _getattr(machine: Machine, args: tuple[Value, ...], keywords: dict[str, Value], site: Location) -> Value:
    if len(args) >= 2 and isinstance(args[1], str):
        owner = args[0]
        if len(args) == 3 and isinstance(owner, Instance):
            missing = args[1] not in owner.attributes and members.class_member(machine, owner.cls, args[1]) is None
            if missing and not owner.cls.external_bases:
                return args[2]
        return members.get_attribute(machine, owner, args[1], site)
    return Unknown("getattr")


def _hasattr(machine: Machine, args: tuple[Value, ...], keywords: dict[str, Value], site: Location) -> Value:
    if len(args) == 2 and isinstance(args[1], str):
        owner, name = args[0], args[1]
        if isinstance(owner, Instance):
            if name in owner.attributes or members.class_member(machine, owner.cls, name) is not None:
                return True
            return Unknown("hasattr") if owner.cls.external_bases else False
        if isinstance(owner, Unknown):
            return members.truth_of_attribute(owner, name)
    return Unknown("hasattr")


def _setattr(machine: Machine, args: tuple[Value, ...], keywords: dict[str, Value], site: Location) -> Value:
    if len(args) == 3:
        if isinstance(args[1], str):
            members.set_attribute(machine, args[0], args[1], args[2], site)
        elif isinstance(args[0], Instance):
            # Which attribute this sets is not known. It may replace an array without gradient by one that has one, so
            # these are known no more; that it replaces anything else is not assumed.
            for name, held in args[0].attributes.items():
                if isinstance(held, ArrayValue) and held.requires_grad is False:
                    args[0].attributes[name] = Unknown(name)
    return None


def _set_directly(machine: Machine, args: tuple[Value, ...], keywords: dict[str, Value], site: Location) -> Value:
    """``object.__setattr__(owner, name, value)``, which asks no method of the class."""
    if len(args) == 3 and isinstance(args[0], Instance) and isinstance(args[1], str):
        args[0].attributes[args[1]] = args[2]
        return None
    return _setattr(machine, args, keywords, site)


def _get_directly(machine: Machine, args: tuple[Value, ...], keywords: dict[str, Value], site: Location) -> Value:
    """``object.__getattribute__(owner, name)``."""
    if len(args) == 2 and isinstance(args[0], Instance) and isinstance(args[1], str) and args[1] in args[0].attributes:
        return args[0].attributes[args[1]]
    return _getattr(machine, args, keywords, site)


_TYPES: dict[str, tuple[type, ...]] = {
    "int": (int,),
    "float": (float,),
    "bool": (bool,),
    "str": (str,),
    "list": (ListValue,),
    "dict": (DictValue,),
    "tuple": (tuple,),
    "set": (ListValue,),
    "range": (RangeValue,),
    "warp.array": (ArrayValue,),
    "warp.Tape": (TapeValue,),
    "warp.Kernel": (KernelValue,),
    "torch.Tensor": (TensorValue,),
    "numpy.ndarray": (),
}


def _isinstance(machine: Machine, args: tuple[Value, ...], keywords: dict[str, Value], site: Location) -> Value:
    if len(args) != 2:
        return Unknown("isinstance")
    value, kinds = args
    if isinstance(value, Unknown):
        array = machine.recorder.materialized(value)
        if array is None:
            return derived("isinstance", value, kinds)
        value = array
    answers = [is_instance(value, kind) for kind in (kinds if isinstance(kinds, tuple) else (kinds,))]
    if True in answers:
        return True
    return False if None not in answers else Unknown("isinstance")


def is_instance(value: Value, kind: Value) -> bool | None:
    """Whether a value is of a type, None where that is not known."""
    if isinstance(kind, ExternalValue):
        types = _TYPES.get(kind.name)
        if types is None:
            return None if isinstance(value, Instance) and value.cls.external_bases else False
        return isinstance(value, types)
    if isinstance(kind, ClassValue):
        return isinstance(value, Instance) and kind in value.cls.lineage()
    return None


def _type(machine: Machine, args: tuple[Value, ...], keywords: dict[str, Value], site: Location) -> Value:
    if len(args) == 3:
        from warplint.tapes import classes

        return classes.make(machine, args, keywords, site)
    if len(args) == 1 and isinstance(args[0], Instance):
        return args[0].cls
    if len(args) == 1 and isinstance(args[0], ClassValue) and args[0].meta is not None:
        return args[0].meta
    return Unknown("type")


def _str(machine: Machine, args: tuple[Value, ...], keywords: dict[str, Value], site: Location) -> Value:
    if args and isinstance(args[0], (str, int)):
        return str(args[0])
    return Unknown("text")


def _callable(machine: Machine, args: tuple[Value, ...], keywords: dict[str, Value], site: Location) -> Value:
    value = args[0] if args else None
    if isinstance(value, Instance):
        return members.class_member(machine, value.cls, "__call__") is not None or bool(value.cls.external_bases)
    if isinstance(value, Unknown):
        return derived("callable", value)
    return not (is_plain(value) or isinstance(value, (ListValue, DictValue, ArrayValue, TapeValue, RangeValue)))


def _slice(machine: Machine, args: tuple[Value, ...], keywords: dict[str, Value], site: Location) -> Value:
    return slice(*args) if 1 <= len(args) <= 3 else Unknown("slice")


_BUILTINS: dict[str, Callable[[Any, tuple[Value, ...], dict[str, Value], Location], Value]] = {
    "range": _range,
    "len": _len,
    "int": _int,
    "float": _float,
    "bool": _bool,
    "str": _str,
    "list": _list,
    "set": _list,
    "frozenset": _list,
    "tuple": _tuple,
    "dict": lambda machine, args, keywords, site: make_dict(machine, args, keywords),
    "enumerate": _enumerate,
    "zip": _zip,
    "reversed": _reversed,
    "map": _map,
    "next": iteration.following,
    "iter": iteration.iterator,
    "filter": iteration.filtered,
    "dict.fromkeys": functional.dict_of_keys,
    "getattr": _getattr,
    "hasattr": _hasattr,
    "setattr": _setattr,
    "object.__setattr__": _set_directly,
    "object.__getattribute__": _get_directly,
    "isinstance": _isinstance,
    "type": _type,
    "slice": _slice,
    "callable": _callable,
    "typing.cast": lambda machine, args, keywords, site: args[1] if len(args) > 1 else Unknown("cast"),
    "object": lambda machine, args, keywords, site: Unknown("object"),
    "tqdm.tqdm": lambda machine, args, keywords, site: args[0] if args else Unknown("tqdm"),
    "tqdm.trange": _range,
}
