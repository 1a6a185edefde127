"""Evaluation of expressions."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from warplint.ir import syntax as ir
from warplint.ir.spans import Location
from warplint.source.project import canonical
from warplint.tapes import calls, hostdata, members, operators, sequences, texts
from warplint.tapes.questions import derived
from warplint.tapes.values import (
    ArrayValue,
    DictValue,
    ExternalValue,
    Instance,
    LambdaValue,
    ListValue,
    Method,
    ModuleValue,
    Unknown,
    Value,
    is_key,
)

if TYPE_CHECKING:
    from warplint.tapes.machine import Frame, Machine

_BUILTINS = frozenset(dir(__builtins__) if not isinstance(__builtins__, dict) else __builtins__)
#: Comprehensions and loops over known things stop being run round for round after this many.
MAX_ROUNDS = 600


def is_builtin(name: str) -> bool:
    """Whether Python itself knows the name."""
    return name in _BUILTINS


def external(name: str) -> Value:
    """The value of an external name: a constant where it is one."""
    return operators.CONSTANTS.get(name, ExternalValue(canonical(name)))


def evaluate(machine: Machine, node: ir.Expr, frame: Frame) -> Value:
    """The value of an expression in ``frame``."""
    return EVALUATE[node.__class__](machine, node, frame)


def _name(machine: Machine, node: ir.Name, frame: Frame) -> Value:
    name = node.id
    outer: Frame | None = frame
    while outer is not None:
        names = outer.names
        if name in names:
            return names[name]
        outer = outer.parent
    return machine.global_name(frame.module, name)


def _constant(machine: Machine, node: ir.Constant, frame: Frame) -> Value:
    value: Any = node.value
    return value if value is not ... else None


def _attribute(machine: Machine, node: ir.Attribute, frame: Frame) -> Value:
    # The usual owners come first, and without a location: this is where most of a run's time goes.
    owner = EVALUATE[node.value.__class__](machine, node.value, frame)
    if owner.__class__ is Instance:
        attributes = owner.attributes
        if node.attr in attributes:
            return attributes[node.attr]
    elif owner.__class__ is ExternalValue:
        return external(f"{owner.name}.{node.attr}")
    elif owner.__class__ is ModuleValue:
        return machine.global_name(owner.module, node.attr)
    elif owner.__class__ is ListValue or owner.__class__ is DictValue:
        return Method(owner, node.attr)
    return members.get_attribute(machine, owner, node.attr, Location(frame.module.path, node.span))


def _subscript(machine: Machine, node: ir.Subscript, frame: Frame) -> Value:
    owner = EVALUATE[node.value.__class__](machine, node.value, frame)
    index = EVALUATE[node.index.__class__](machine, node.index, frame)
    return sequences.get_item(machine, owner, index, machine.location(node, frame))


def _slice(machine: Machine, node: ir.Slice, frame: Frame) -> Value:
    parts = [None if part is None else evaluate(machine, part, frame) for part in (node.lower, node.upper, node.step)]
    return slice(*parts)


def _call(machine: Machine, node: ir.Call, frame: Frame) -> Value:
    machine.budget -= 1
    if machine.budget < 0:
        machine.tick(0)
    site = Location(frame.module.path, node.span)
    if node.func.__class__ is ir.Name and node.func.id == "super" and not node.args:
        return members.make_super(frame)
    function = EVALUATE[node.func.__class__](machine, node.func, frame)
    args: list[Value] = []
    keywords: dict[str, Value] = {}
    for arg in node.args:
        if arg.__class__ is ir.Starred:
            inner = evaluate(machine, arg.value, frame)
            known = sequences.elements(machine, inner)
            if known is None:
                args.append(inner if isinstance(inner, Unknown) else Unknown("*args"))
                keywords["*"] = args[-1]
            else:
                args.extend(known)
        else:
            args.append(EVALUATE[arg.__class__](machine, arg, frame))
    for keyword in node.keywords:
        value = evaluate(machine, keyword.value, frame)
        if keyword.name is not None:
            keywords[keyword.name] = value
        elif isinstance(value, DictValue):
            keywords.update({key: item for key, item in value.entries.items() if isinstance(key, str)})
            if value.open:
                keywords["**"] = value
        else:
            keywords["**"] = value
    if function.__class__ is Method and function.receiver.__class__ is ListValue:
        _name_elements(node, args)
    machine.written = node
    return calls.call(machine, function, tuple(args), keywords, site)


def _name_elements(node: ir.Call, args: list[Value]) -> None:
    """Arrays that go into a list without a name are called by the list's."""
    if isinstance(node.func, ir.Attribute) and isinstance(node.func.value, (ir.Name, ir.Attribute)):
        owner = node.func.value
        for arg in args:
            if isinstance(arg, ArrayValue) and not arg.storage.name:
                arg.storage.name = f"{owner.id if isinstance(owner, ir.Name) else owner.attr}[...]"


def _binary(machine: Machine, node: ir.Binary, frame: Frame) -> Value:
    left = EVALUATE[node.left.__class__](machine, node.left, frame)
    right = EVALUATE[node.right.__class__](machine, node.right, frame)
    result = operators.binary(machine, node.operator, left, right)
    for value in (left, right):
        if value.__class__ is Unknown and "gradient" in value.children:
            hostdata.note_use(machine, value, machine.location(node, frame))
    if result.__class__ is Unknown and node.operator in ("*", "/"):
        hostdata.note_multiple(machine, left, right, machine.location(node, frame))
    return result


def _unary(machine: Machine, node: ir.Unary, frame: Frame) -> Value:
    value = EVALUATE[node.operand.__class__](machine, node.operand, frame)
    if node.operator == "not":
        known = operators.known_truth(value)
        if known is not None:
            return not known
        return derived("not", value) if isinstance(value, Unknown) else Unknown("not")
    return operators.unary(node.operator, value)


def _compare(machine: Machine, node: ir.Compare, frame: Frame) -> Value:
    left = EVALUATE[node.left.__class__](machine, node.left, frame)
    result: Value = True
    for operator, comparator in zip(node.operators, node.comparators, strict=True):
        right = EVALUATE[comparator.__class__](machine, comparator, frame)
        result = operators.compare(machine, operator, left, right)
        if operators.known_truth(result) is not True:
            return result
        left = right
    return result


def _boolean(machine: Machine, node: ir.Boolean, frame: Frame) -> Value:
    value: Value = None
    for operand in node.values:
        value = evaluate(machine, operand, frame)
        if operand is node.values[-1]:
            return value
        # `x or default` and `flag and ...`: the first operand decides.
        known = operators.known_truth(value)
        if known is None:
            known = truth(machine, value, machine.location(operand, frame))
        if known != (node.operator == "and"):
            return value
    return value


def _conditional(machine: Machine, node: ir.Conditional, frame: Frame) -> Value:
    test = evaluate(machine, node.test, frame)
    chosen = operators.known_truth(test)
    if chosen is None:
        chosen = truth(machine, test, machine.location(node.test, frame))
    return evaluate(machine, node.body if chosen else node.orelse, frame)


def truth(machine: Machine, value: Value, site: Location, default: bool = True, matters: bool = True) -> bool:
    """Whether a value is true in this run; asks where that cannot be known."""
    known = operators.known_truth(value)
    if known is not None:
        return known
    if isinstance(value, Unknown):
        return machine.questions.truth(value, site, operators.usual(value, default), matters)
    return True


def _elements(machine: Machine, nodes: tuple[ir.Expr, ...], frame: Frame) -> tuple[list[Value], bool]:
    found: list[Value] = []
    is_open = False
    for node in nodes:
        if isinstance(node, ir.Starred):
            inner = sequences.elements(machine, evaluate(machine, node.value, frame))
            if inner is None:
                is_open = True
            else:
                found.extend(inner)
        else:
            found.append(evaluate(machine, node, frame))
    return found, is_open


def _tuple(machine: Machine, node: ir.Tuple, frame: Frame) -> Value:
    found, is_open = _elements(machine, node.elements, frame)
    return Unknown("tuple") if is_open else tuple(found)


def _list(machine: Machine, node: ir.List | ir.Set, frame: Frame) -> Value:
    return ListValue(*_elements(machine, node.elements, frame))


def _dict(machine: Machine, node: ir.Dict, frame: Frame) -> Value:
    result = DictValue()
    for key_node, value_node in zip(node.keys, node.values, strict=True):
        value = evaluate(machine, value_node, frame)
        if key_node is None:
            if isinstance(value, DictValue):
                result.entries.update(value.entries)
                result.open = result.open or value.open
            else:
                result.open = True
            continue
        key = evaluate(machine, key_node, frame)
        if is_key(key) or isinstance(key, Unknown):
            result.entries[key] = value
        result.open = result.open or not is_key(key)  # which entry an unknown key is, nobody knows
    return result


def _starred(machine: Machine, node: ir.Starred, frame: Frame) -> Value:
    return evaluate(machine, node.value, frame)


def _lambda(machine: Machine, node: ir.Lambda, frame: Frame) -> Value:
    return LambdaValue(node, frame)


def _comprehension(machine: Machine, node: ir.Comprehension, frame: Frame) -> Value:
    from warplint.tapes.machine import Frame as NewFrame

    inner = NewFrame(frame.module, frame.scope, {}, frame, "comprehension", frame.cls, frame.receiver)
    result: ListValue | DictValue = DictValue() if node.kind == "dict" else ListValue([])

    def rounds(position: int) -> None:
        if position == len(node.generators):
            value = evaluate(machine, node.element, inner)
            if isinstance(result, ListValue):
                result.items.append(value)
                return
            assert node.key is not None
            key = evaluate(machine, node.key, inner)
            if is_key(key):
                result.entries[key] = value
            else:
                result.open = True
            return
        generator = node.generators[position]
        items, _ = sequences.rounds(machine, evaluate(machine, generator.iterable, inner))
        machine.recorder.begin_loop()
        for number, item in enumerate(items):
            if number >= MAX_ROUNDS:
                result.open = True
                machine.cut = True
                break
            machine.tick()
            machine.recorder.round(number)
            sequences.assign(machine, generator.target, item, inner)
            if all(
                truth(machine, evaluate(machine, condition, inner), machine.location(condition, frame))
                for condition in generator.conditions
            ):
                rounds(position + 1)
        machine.recorder.end_loop()

    rounds(0)
    return result


def _walrus(machine: Machine, node: ir.Walrus, frame: Frame) -> Value:
    value = evaluate(machine, node.value, frame)
    owner = frame
    while owner.kind == "comprehension" and owner.parent is not None:
        owner = owner.parent
    machine.bind(node.target.id, value, owner)
    return value


def _opaque(machine: Machine, node: ir.Opaque, frame: Frame) -> Value:
    values = [evaluate(machine, value, frame) for value in node.values]
    if node.kind in ("yield", "yieldfrom"):
        owner: Frame | None = frame
        while owner is not None and owner.on_yield is None:
            owner = owner.parent
        if owner is not None and owner.on_yield is not None:
            given = values[0] if values else None
            for item in sequences.rounds(machine, given)[0] if node.kind == "yieldfrom" else (given,):
                owner.on_yield(item)
        return None
    return values[0] if node.kind == "await" and values else Unknown(node.kind)


#: How to evaluate a node, by its class.
EVALUATE: dict[type, Callable[[Any, Any, Any], Value]] = {
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
    ir.Lambda: _lambda,
    ir.Comprehension: _comprehension,
    ir.Walrus: _walrus,
    ir.Format: texts.evaluate,
    ir.Opaque: _opaque,
}
