"""Code of expressions."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from warplint.ir import syntax as ir
from warplint.ir.spans import Location
from warplint.source.project import canonical
from warplint.tapes import calls, generators, hostdata, members, operators, sequences, shrink, texts
from warplint.tapes.code import Code, Makers
from warplint.tapes.frames import Frame
from warplint.tapes.questions import derived
from warplint.tapes.values import (
    ArrayValue,
    DictValue,
    ExternalValue,
    GeneratorValue,
    Instance,
    LambdaValue,
    ListValue,
    Method,
    Unknown,
    Value,
    is_key,
)

if TYPE_CHECKING:
    from warplint.tapes.machine import Machine

_BUILTINS = frozenset(dir(__builtins__) if not isinstance(__builtins__, dict) else __builtins__)

_MAKERS: Makers[Code] = Makers()
#: The code of an expression in the file at a path: ``make`` makes it, ``code`` remembers it.
make = _MAKERS.make
code = _MAKERS.of

# External names are few, and met at every other step.
_EXTERNAL: dict[str, Value] = {}


def is_builtin(name: str) -> bool:
    """Whether Python itself knows the name."""
    return name in _BUILTINS


def external(name: str) -> Value:
    """The value of an external name: a constant where it is one."""
    if name not in _EXTERNAL:
        _EXTERNAL[name] = operators.CONSTANTS.get(name, ExternalValue(canonical(name)))
    return _EXTERNAL[name]


def truth(machine: Machine, value: Value, site: Location, default: bool = True, matters: bool = True) -> bool:
    """Whether a value is true in this run; asks where that cannot be known."""
    known = operators.known_truth(value)
    if known is not None:
        return known
    if isinstance(value, Unknown):
        return machine.questions.truth(value, site, operators.usual(value, default), matters)
    return True


# --- names and parts ---


def _name(node: ir.Name, path: Path) -> Code:
    name = node.id

    def run(machine: Machine, frame: Frame) -> Value:
        outer: Frame | None = frame
        while outer is not None:
            names = outer.names
            if name in names:
                return names[name]
            outer = outer.parent
        return machine.global_name(frame.module, name)

    return run


def _constant(node: ir.Constant, path: Path) -> Code:
    value: Value = node.value if node.value is not ... else None  # type: ignore[assignment]
    return lambda machine, frame: value


def _attribute(node: ir.Attribute, path: Path) -> Code:
    inner, name, site = make(node.value, path), node.attr, Location(path, node.span)

    def run(machine: Machine, frame: Frame) -> Value:
        owner = inner(machine, frame)
        kind = owner.__class__
        # The usual owners come first: this is where most of a run's time goes.
        if kind is Instance:
            attributes = owner.attributes  # type: ignore[union-attr]
            if name in attributes:
                return attributes[name]
        elif kind is ExternalValue:
            return external(f"{owner.name}.{name}")  # type: ignore[union-attr]
        elif kind is ListValue or kind is DictValue:
            return Method(owner, name)
        return members.get_attribute(machine, owner, name, site)

    return run


def _subscript(node: ir.Subscript, path: Path) -> Code:
    value, position, site = make(node.value, path), make(node.index, path), Location(path, node.span)

    def run(machine: Machine, frame: Frame) -> Value:
        owner = value(machine, frame)
        return sequences.get_item(machine, owner, position(machine, frame), site)

    return run


def _slice(node: ir.Slice, path: Path) -> Code:
    parts = [None if part is None else make(part, path) for part in (node.lower, node.upper, node.step)]
    return lambda machine, frame: slice(*[None if part is None else part(machine, frame) for part in parts])


# --- calls ---


def _call(node: ir.Call, path: Path) -> Code:
    if node.func.__class__ is ir.Name and node.func.id in _NAMES_OF and not node.args and not node.keywords:
        return _NAMES_OF[node.func.id]
    if any(arg.__class__ is ir.Starred for arg in node.args) or any(word.name is None for word in node.keywords):
        return _call_with_spread(node, path)
    callee, site = make(node.func, path), Location(path, node.span)
    positional = [make(arg, path) for arg in node.args]
    named = [(word.name, make(word.value, path)) for word in node.keywords if word.name is not None]
    owner = _owner_name(node)

    def run(machine: Machine, frame: Frame) -> Value:
        machine.budget -= 1
        if machine.budget < machine.floor:
            machine.reached()
        function = callee(machine, frame)
        args = [arg(machine, frame) for arg in positional]
        keywords = {name: value(machine, frame) for name, value in named} if named else {}
        if owner and function.__class__ is Method and function.receiver.__class__ is ListValue:
            _name_elements(owner, args)
        machine.written = node
        return calls.call(machine, function, tuple(args), keywords, site)

    return run


def _super(machine: Machine, frame: Frame) -> Value:
    machine.tick()
    return members.make_super(frame)


def _globals(machine: Machine, frame: Frame) -> Value:
    """``globals()``: the module itself, whose items are its names."""
    machine.tick()
    return machine.module_value(frame.module)


def _locals(machine: Machine, frame: Frame) -> Value:
    """``locals()``, and ``vars()`` without an argument."""
    if frame.kind == "module":
        return _globals(machine, frame)
    machine.tick()
    return DictValue(dict(frame.names))


#: Calls without arguments that ask the frame they are made in.
_NAMES_OF: dict[str, Code] = {"super": _super, "globals": _globals, "locals": _locals, "vars": _locals}


def _call_with_spread(node: ir.Call, path: Path) -> Code:
    """A call with ``*`` or ``**`` among its arguments."""
    callee, site = make(node.func, path), Location(path, node.span)
    positional = [
        (make(arg.value, path), True) if isinstance(arg, ir.Starred) else (make(arg, path), False) for arg in node.args
    ]
    named = [(word.name, make(word.value, path)) for word in node.keywords]
    owner = _owner_name(node)

    def run(machine: Machine, frame: Frame) -> Value:
        machine.tick()
        function = callee(machine, frame)
        args: list[Value] = []
        keywords: dict[str, Value] = {}
        for arg, spread in positional:
            inner = arg(machine, frame)
            known = sequences.elements(machine, inner) if spread else [inner]
            if known is None:
                args.append(inner if isinstance(inner, Unknown) else Unknown("*args"))
                keywords["*"] = args[-1]
            else:
                args.extend(known)
        for name, value in named:
            given = value(machine, frame)
            if name is not None:
                keywords[name] = given
                continue
            if isinstance(given, Instance) and given.contents is not None:
                given = given.contents
            if isinstance(given, DictValue):
                keywords.update({key: item for key, item in given.entries.items() if isinstance(key, str)})
                if given.open:
                    keywords["**"] = given
            else:
                keywords["**"] = given
        if owner and isinstance(function, Method) and isinstance(function.receiver, ListValue):
            _name_elements(owner, args)
        machine.written = node
        return calls.call(machine, function, tuple(args), keywords, site)

    return run


def _owner_name(node: ir.Call) -> str:
    """The last name before the method that is called; empty where there is none."""
    owner = node.func.value if isinstance(node.func, ir.Attribute) else None
    return owner.id if isinstance(owner, ir.Name) else owner.attr if isinstance(owner, ir.Attribute) else ""


def _name_elements(owner: str, args: list[Value]) -> None:
    """Arrays that go into a list without a name are called by the list's."""
    for arg in args:
        if isinstance(arg, ArrayValue) and not arg.storage.name:
            arg.storage.name = f"{owner}[...]"


# --- operators ---


def _binary(node: ir.Binary, path: Path) -> Code:
    operator, site = node.operator, Location(path, node.span)
    first, second = make(node.left, path), make(node.right, path)
    scales = operator in ("*", "/")

    def run(machine: Machine, frame: Frame) -> Value:
        left = first(machine, frame)
        right = second(machine, frame)
        result = operators.binary(machine, operator, left, right)
        for value in (left, right):
            if value.__class__ is Unknown and "gradient" in value.children:
                hostdata.note_use(machine, value, site)
        if scales and result.__class__ is Unknown:
            hostdata.note_multiple(machine, operator, left, right, site)
        return result

    return run


def _unary(node: ir.Unary, path: Path) -> Code:
    operator, operand = node.operator, make(node.operand, path)
    if operator != "not":
        return lambda machine, frame: operators.unary(operator, operand(machine, frame))

    def run(machine: Machine, frame: Frame) -> Value:
        value = operand(machine, frame)
        known = operators.known_truth(value)
        if known is not None:
            return not known
        return derived("not", value) if isinstance(value, Unknown) else Unknown("not")

    return run


def _compare(node: ir.Compare, path: Path) -> Code:
    first = make(node.left, path)
    rest = [(operator, make(part, path)) for operator, part in zip(node.operators, node.comparators, strict=True)]
    if len(rest) == 1:
        ((only, second),) = rest
        return lambda machine, frame: operators.compare(machine, only, first(machine, frame), second(machine, frame))

    def run(machine: Machine, frame: Frame) -> Value:
        left = first(machine, frame)
        result: Value = True
        for operator, comparator in rest:
            right = comparator(machine, frame)
            result = operators.compare(machine, operator, left, right)
            if operators.known_truth(result) is not True:
                return result
            left = right
        return result

    return run


def _boolean(node: ir.Boolean, path: Path) -> Code:
    *others, last = [(make(value, path), Location(path, value.span)) for value in node.values]
    goes_on = node.operator == "and"

    def run(machine: Machine, frame: Frame) -> Value:
        # `x or default` and `flag and ...`: the first operand decides.
        for operand, site in others:
            value = operand(machine, frame)
            known = operators.known_truth(value)
            if known is None:
                known = truth(machine, value, site)
            if known != goes_on:
                return value
        return last[0](machine, frame)

    return run


def _conditional(node: ir.Conditional, path: Path) -> Code:
    test, site = make(node.test, path), Location(path, node.test.span)
    body, orelse = make(node.body, path), make(node.orelse, path)

    def run(machine: Machine, frame: Frame) -> Value:
        value = test(machine, frame)
        chosen = operators.known_truth(value)
        if chosen is None:
            chosen = truth(machine, value, site)
        return body(machine, frame) if chosen else orelse(machine, frame)

    return run


# --- displays ---


def _elements(nodes: tuple[ir.Expr, ...], path: Path) -> Callable[[Machine, Frame], tuple[list[Value], bool]]:
    """What gives the elements of a display, and whether there may be more."""
    parts = [
        (make(node.value, path), True) if isinstance(node, ir.Starred) else (make(node, path), False) for node in nodes
    ]
    if not any(spread for _, spread in parts):
        plain = [part for part, _ in parts]
        return lambda machine, frame: ([part(machine, frame) for part in plain], False)

    def run(machine: Machine, frame: Frame) -> tuple[list[Value], bool]:
        found: list[Value] = []
        is_open = False
        for part, spread in parts:
            value = part(machine, frame)
            inner = sequences.elements(machine, value) if spread else [value]
            if inner is None:
                is_open = True
            else:
                found.extend(inner)
        return found, is_open

    return run


def _tuple(node: ir.Tuple, path: Path) -> Code:
    elements = _elements(node.elements, path)

    def run(machine: Machine, frame: Frame) -> Value:
        found, is_open = elements(machine, frame)
        return Unknown("tuple") if is_open else tuple(found)

    return run


def _list(node: ir.List | ir.Set, path: Path) -> Code:
    elements = _elements(node.elements, path)
    return lambda machine, frame: ListValue(*elements(machine, frame))


def _dict(node: ir.Dict, path: Path) -> Code:
    entries = [
        (None if key is None else make(key, path), _entry(key, value, path))
        for key, value in zip(node.keys, node.values, strict=True)
    ]

    def run(machine: Machine, frame: Frame) -> Value:
        result = DictValue()
        for key_code, value_code in entries:
            value = value_code(machine, frame)
            if key_code is None:
                if isinstance(value, Instance) and value.contents is not None:
                    value = value.contents
                if isinstance(value, DictValue):
                    result.entries.update(value.entries)
                    result.open = result.open or value.open
                else:
                    result.open = True
                continue
            key = key_code(machine, frame)
            if is_key(key) or isinstance(key, Unknown):
                result.entries[key] = value
            result.open = result.open or not is_key(key)  # which entry an unknown key is, nobody knows
        return result

    return run


def _entry(key: ir.Expr | None, value: ir.Expr, path: Path) -> Code:
    """The value of an entry of a dict that is written out: a setting may be a count."""
    inner = make(value, path)
    name, number = (part.value if isinstance(part, ir.Constant) else None for part in (key, value))
    if not isinstance(name, str) or not isinstance(number, int) or isinstance(number, bool):
        return inner
    return lambda machine, frame: shrink.count(machine, frame.module, name, number)


def _starred(node: ir.Starred, path: Path) -> Code:
    return make(node.value, path)


def _comprehension(node: ir.Comprehension, path: Path) -> Code:
    from warplint.tapes import comprehensions  # which is made of expressions itself

    return comprehensions.make(node, path)


def _walrus(node: ir.Walrus, path: Path) -> Code:
    inner, name = make(node.value, path), node.target.id

    def run(machine: Machine, frame: Frame) -> Value:
        value = inner(machine, frame)
        owner = frame
        while owner.kind == "comprehension" and owner.parent is not None:
            owner = owner.parent
        machine.bind(name, value, owner)
        return value

    return run


def _lambda(node: ir.Lambda, path: Path) -> Code:
    given = [(part.name, make(part.default, path)) for part in node.parameters if part.default is not None]
    return lambda machine, frame: LambdaValue(node, frame, {name: value(machine, frame) for name, value in given})


def _handed_on(machine: Machine, owner: Frame, item: Value) -> bool:
    """What an inner generator yields is yielded by the outer one."""
    assert owner.on_yield is not None
    owner.on_yield(item)
    return True


def _opaque(node: ir.Opaque, path: Path) -> Code:
    parts, kind = [make(value, path) for value in node.values], node.kind
    yields = kind in ("yield", "yieldfrom")

    def run(machine: Machine, frame: Frame) -> Value:
        values = [part(machine, frame) for part in parts]
        if not yields:
            return values[0] if kind == "await" and values else Unknown(kind)
        owner: Frame | None = frame
        while owner is not None and owner.on_yield is None:
            owner = owner.parent
        if owner is not None and owner.on_yield is not None:
            given = values[0] if values else None
            if kind == "yieldfrom" and given.__class__ is GeneratorValue and given.left is None:
                generators.loop(machine, given, partial(_handed_on, machine, owner))
                return None
            for item in sequences.rounds(machine, given)[0] if kind == "yieldfrom" else (given,):
                owner.on_yield(item)
        return None

    return run


_MAKERS.register(
    {
        ir.Name: _name,
        ir.Constant: _constant,
        ir.Attribute: _attribute,
        ir.Subscript: _subscript,
        ir.Slice: _slice,
        ir.Call: _call,
        ir.Binary: _binary,
        ir.Unary: _unary,
        ir.Compare: _compare,
        ir.Boolean: _boolean,
        ir.Conditional: _conditional,
        ir.Tuple: _tuple,
        ir.List: _list,
        ir.Set: _list,
        ir.Dict: _dict,
        ir.Starred: _starred,
        ir.Comprehension: _comprehension,
        ir.Lambda: _lambda,
        ir.Walrus: _walrus,
        ir.Format: texts.make,
        ir.Opaque: _opaque,
    }
)
