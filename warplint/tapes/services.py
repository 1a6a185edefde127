"""Parts of Python's library that hand values and functions on: ``argparse``, executors, event loops, ``types``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from warplint.ir import syntax as ir
from warplint.ir.spans import Location
from warplint.source.project import Definition
from warplint.tapes import functional, sequences, shrink
from warplint.tapes.values import (
    ArrayValue,
    BoundMethod,
    Builtin,
    ClassValue,
    DictValue,
    FunctionValue,
    Instance,
    ListValue,
    ModuleValue,
    Partial,
    Unknown,
    Value,
)

if TYPE_CHECKING:
    from warplint.tapes.machine import Machine

Args = tuple[Value, ...]
Keywords = dict[str, Value]


def _object(hint: str, members: dict[str, Value]) -> Unknown:
    """Something with known members that can get others."""
    made = Unknown(hint)
    made.children.update({("attr", name): member for name, member in members.items()})
    return made


# --- argparse ---


def parser(machine: Machine, args: Args, keywords: Keywords, site: Location) -> Value:
    """``argparse.ArgumentParser()``: what it parses is what the defaults say, where they say something."""
    known: dict[str, Value] = {}

    def add(machine: Machine, args: Args, words: Keywords, place: Location) -> Value:
        flags = [flag for flag in args if isinstance(flag, str)]
        long = [flag for flag in flags if flag.startswith("--")] or flags
        name = words.get("dest", long[0].lstrip("-").replace("-", "_") if long else None)
        if isinstance(name, str):
            action = words.get("action")
            usual: Value = None
            if action in ("store_true", "store_false"):
                usual = action == "store_false"
            elif flags and not flags[0].startswith("-"):
                usual = Unknown(name)
            known[name] = _option(machine, words.get("default", usual), name, place)
        return Unknown("argument")

    def defaults(machine: Machine, args: Args, words: Keywords, place: Location) -> Value:
        known.update(words)
        return None

    def parse(machine: Machine, args: Args, words: Keywords, place: Location) -> Value:
        return namespace(machine, args, known, place)

    def parse_known(machine: Machine, args: Args, words: Keywords, place: Location) -> Value:
        return (namespace(machine, args, known, place), ListValue([], True))

    made = _object(
        "parser",
        {
            "add_argument": Builtin("add_argument", add),
            "set_defaults": Builtin("set_defaults", defaults),
            "parse_args": Builtin("parse_args", parse),
            "parse_known_args": Builtin("parse_known_args", parse_known),
        },
    )
    same = Builtin("add_argument_group", lambda machine, args, words, place: made)
    made.children[("attr", "add_argument_group")] = made.children[("attr", "add_mutually_exclusive_group")] = same
    return made


def _option(machine: Machine, value: Value, name: str, site: Location) -> Value:
    """An option: a flag may be what its default says or not, and anything else is its default."""
    if not isinstance(value, bool):
        module = machine.project.module(site.path)
        return shrink.count(machine, module, name, value) if isinstance(value, int) and module is not None else value
    flag = Unknown(name)
    flag.children["default"] = value
    return flag


# --- functions that others call ---


def executor(machine: Machine, args: Args, keywords: Keywords, site: Location) -> Value:
    """``concurrent.futures`` executors and pools: what is submitted runs at once."""

    def submit(machine: Machine, args: Args, words: Keywords, place: Location) -> Value:
        answer = machine.call(args[0], args[1:], words, place) if args else Unknown("future")
        return _object("future", {"result": Builtin("result", lambda machine, args, words, place: answer)})

    def mapped(machine: Machine, args: Args, words: Keywords, place: Location) -> Value:
        columns = [list(sequences.rounds(machine, column)[0]) for column in args[1:]]
        return ListValue([machine.call(args[0], row, {}, place) for row in zip(*columns, strict=False)])

    made = _object("executor", {"submit": Builtin("submit", submit), "map": Builtin("map", mapped)})
    made.children["enter"] = made
    return made


def completed(machine: Machine, args: Args, keywords: Keywords, site: Location) -> Value:
    """``concurrent.futures.as_completed(futures)``: in the order of submission."""
    return args[0] if args else Unknown("futures")


def thread(machine: Machine, args: Args, keywords: Keywords, site: Location) -> Value:
    """``threading.Thread(target=function, args=(...))``: it runs when it is started."""
    function = keywords.get("target")
    given = sequences.elements(machine, keywords.get("args", ()))
    words = keywords.get("kwargs")

    def start(machine: Machine, args: Args, none: Keywords, place: Location) -> Value:
        named = {str(key): value for key, value in words.entries.items()} if isinstance(words, DictValue) else {}
        return machine.call(function, tuple(given or ()), named, place)

    return _object("thread", {"start": Builtin("start", start)})


def awaited(machine: Machine, args: Args, keywords: Keywords, site: Location) -> Value:
    """``asyncio.run(coroutine)``, whose body has run when it was called."""
    return args[0] if args else Unknown("coroutine")


def gathered(machine: Machine, args: Args, keywords: Keywords, site: Location) -> Value:
    """``asyncio.gather(...)``."""
    return ListValue(list(args), "*" in keywords)


# --- types, sys, queues ---


def namespace(machine: Machine, args: Args, keywords: Keywords, site: Location) -> Value:
    """``types.SimpleNamespace(name=value, ...)``: an object of a class without members."""
    module = machine.project.module(site.path)
    if module is None:
        return Unknown("namespace")
    node = ir.ClassDef(site.span, "SimpleNamespace", site.span, (), (), (), ())
    outside: tuple[Value, ...] = (Unknown("members"),) if "**" in keywords else ()
    made = Instance(ClassValue(Definition(module, node, ()), outside, None))
    machine.instances.append(made)
    for key, value in keywords.items():
        if key not in ("*", "**"):
            made.attributes[key] = value
            if isinstance(value, ArrayValue) and not value.storage.name:
                value.storage.name = key
    return made


def variable(machine: Machine, args: Args, keywords: Keywords, site: Location) -> Value:
    """``contextvars.ContextVar(name, default=value)``."""
    kept = [keywords["default"]] if "default" in keywords else []

    def get(machine: Machine, args: Args, words: Keywords, place: Location) -> Value:
        return kept[-1] if kept else args[0] if args else Unknown("variable")

    def put(machine: Machine, args: Args, words: Keywords, place: Location) -> Value:
        kept.append(args[0] if args else None)
        return Unknown("token")

    def reset(machine: Machine, args: Args, words: Keywords, place: Location) -> Value:
        if kept:
            kept.pop()
        return None

    return _object(
        "variable", {"get": Builtin("get", get), "set": Builtin("set", put), "reset": Builtin("reset", reset)}
    )


def queue(machine: Machine, args: Args, keywords: Keywords, site: Location) -> Value:
    """``queue.Queue()`` and its kin: first in, first out."""
    held = ListValue([])

    def put(machine: Machine, args: Args, words: Keywords, place: Location) -> Value:
        held.items.append(args[0] if args else words.get("item"))
        return None

    def get(machine: Machine, args: Args, words: Keywords, place: Location) -> Value:
        return held.items.pop(0) if held.items else Unknown("item")

    def empty(machine: Machine, args: Args, words: Keywords, place: Location) -> Value:
        return not held.items

    def size(machine: Machine, args: Args, words: Keywords, place: Location) -> Value:
        return len(held.items)

    names: dict[str, Value] = {name: Builtin(name, put) for name in ("put", "put_nowait")}
    names |= {name: Builtin(name, get) for name in ("get", "get_nowait")}
    return _object("queue", names | {"empty": Builtin("empty", empty), "qsize": Builtin("qsize", size)})


def wrapping(machine: Machine, args: Args, keywords: Keywords, site: Location) -> Value:
    """``functools.wraps(function)``, which gives the wrapper back that it is called with."""
    return Builtin("wraps", lambda machine, args, words, place: args[0] if args else Unknown("wraps"))


def bound(machine: Machine, args: Args, keywords: Keywords, site: Location) -> Value:
    """``types.MethodType(function, object)``."""
    if len(args) != 2:
        return Unknown("MethodType")
    return BoundMethod(args[0], args[1]) if isinstance(args[0], FunctionValue) else Partial(args[0], args[1:], {})


def same(machine: Machine, args: Args, keywords: Keywords, site: Location) -> Value:
    """What looks like its argument: ``types.MappingProxyType``, ``weakref.proxy``."""
    return args[0] if args else functional.shallow_copy(machine, args, keywords, site)


def imported(machine: Machine, args: Args, keywords: Keywords, site: Location) -> Value:
    """``importlib.import_module(name)`` of a module of the project, or ``sys.modules[name]``."""
    name = args[0] if args else keywords.get("name")
    here = machine.project.module(site.path)
    if not isinstance(name, str) or here is None:
        return Unknown("module")
    if name in (here.name, "__main__"):
        return machine.module_value(here)
    found = None if name.startswith(".") else machine.project.find(name, here)
    return Unknown("module") if found is None else machine.module_value(found)


def module_named(machine: Machine, name: Value, site: Location) -> ModuleValue | None:
    """``sys.modules[name]``, as far as it is a module of the project."""
    found = imported(machine, (name,), {}, site)
    return found if isinstance(found, ModuleValue) else None
