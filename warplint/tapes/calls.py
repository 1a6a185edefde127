"""Calls: functions, methods, classes, kernels' definitions, and what is unknown."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from warplint.ir import syntax as ir
from warplint.ir.spans import Location
from warplint.source.project import Definition, Module
from warplint.tapes import (
    arrays,
    classes,
    containers,
    contexts,
    functional,
    hostdata,
    launches,
    members,
    model,
    optimizers,
    shrink,
    tapes,
)
from warplint.tapes.escaping import escape
from warplint.tapes.frames import Frame, Return
from warplint.tapes.memo import Memo, ModuleMemo
from warplint.tapes.values import (
    ArrayValue,
    BoundMethod,
    Builtin,
    ClassValue,
    CommandValue,
    ContextValue,
    DictValue,
    ExternalValue,
    FunctionValue,
    GeneratorContext,
    GeneratorValue,
    Instance,
    KernelValue,
    LambdaValue,
    Method,
    OptimizerValue,
    Partial,
    TapeValue,
    TensorValue,
    Unknown,
    Value,
    is_key,
)

if TYPE_CHECKING:
    from warplint.tapes.machine import Machine

#: What of the project can be a decorator.
_DECORATORS = (FunctionValue, BoundMethod, LambdaValue, Partial, ClassValue, Instance)
_KERNEL_DECORATORS = frozenset({"warp.kernel", "warp.overload"})
_REMEMBERING = frozenset({"functools.lru_cache", "functools.cache"})
_DISPATCHING = frozenset({"functools.singledispatch"})


def call(
    machine: Machine, function: Value, args: tuple[Value, ...], keywords: dict[str, Value], site: Location
) -> Value:
    """The result of calling a value."""
    if function.__class__ is ExternalValue:
        return model.call_external(machine, function.name, args, keywords, site)
    if isinstance(function, FunctionValue):
        return call_function(machine, function, args, keywords, site)
    if isinstance(function, BoundMethod):
        return call_function(machine, function.function, (function.receiver, *args), keywords, site, bound=True)
    if isinstance(function, Method):
        return _call_method(machine, function, args, keywords, site)
    if isinstance(function, ClassValue):
        return classes.call(machine, function, args, keywords, site)
    if isinstance(function, LambdaValue):
        return _call_lambda(machine, function, args, keywords)
    if isinstance(function, Partial):
        return machine.call(function.function, (*function.args, *args), {**function.keywords, **keywords}, site)
    if isinstance(function, Builtin):
        result: Value = function.call(machine, args, keywords, site)
        return result
    if isinstance(function, Instance):
        for name in ("__call__", "forward"):
            found = members.class_member(machine, function.cls, name)
            if found is not None and isinstance(found[1], FunctionValue):
                return call_function(machine, found[1], (function, *args), keywords, site, bound=True)
    if isinstance(function, Unknown):
        return _call_unknown(machine, function, args, keywords, site)
    escape(machine, args, keywords, "a call", site)
    return Unknown("call")


# --- definitions ---


def define(machine: Machine, definition: Definition, closure: Frame | None) -> Value:
    """What a ``def`` or ``class`` statement binds its name to."""
    node = definition.node
    frame = closure if closure is not None else machine.globals(definition.module)
    if isinstance(node, ir.ClassDef):
        return classes.define(machine, definition, node, frame, closure)
    value: Value = FunctionValue(definition, closure)
    for decorator in reversed(node.decorators):
        inner = decorator.func if isinstance(decorator, ir.Call) else decorator
        applied = machine.evaluate(inner, frame)
        if isinstance(applied, ExternalValue):
            if applied.name in _KERNEL_DECORATORS:
                value = KernelValue(definition, closure, _backward(machine, decorator, frame))
            elif applied.name in _REMEMBERING and isinstance(value, FunctionValue):
                value = model.remembered(value)
            elif applied.name in _DISPATCHING and isinstance(value, FunctionValue):
                value.variants = []
            # Other decorators from outside are taken to leave the function as it is (caches, torch.no_grad, tests).
        elif isinstance(applied, Method) and isinstance(applied.receiver, FunctionValue):
            # `@function.register(type)`
            machine.call(machine.evaluate(decorator, frame), (value,), {}, machine.location(decorator, frame))
        elif isinstance(applied, Builtin) and applied.name == "kernel":
            value = machine.call(applied, (value,), {}, machine.location(decorator, frame))
        elif isinstance(applied, _DECORATORS):
            made = decorated(machine, applied, decorator, value, frame)
            value = value if made is None or isinstance(made, Unknown) else made
    return value


def _backward(machine: Machine, decorator: ir.Expr, frame: Frame) -> bool | None:
    """The value of ``enable_backward`` where it is computed, by the argument of a factory for one."""
    given = decorator.keyword("enable_backward") if isinstance(decorator, ir.Call) else None
    if given is None or isinstance(given, ir.Constant):
        return None
    value = machine.evaluate(given, frame)
    return value if isinstance(value, bool) else None


def decorated(machine: Machine, applied: Value, decorator: ir.Expr, value: Value, frame: Frame) -> Value:
    """What a decorator of the project makes of a function, kernel or class."""
    function = applied.function if isinstance(applied, (BoundMethod, Partial)) else applied
    if isinstance(function, FunctionValue) and (
        is_generator(function.definition.node) or not machine.may_enter(function.definition)
    ):
        return value
    site = machine.location(decorator, frame)
    if isinstance(decorator, ir.Call):
        return machine.call(machine.evaluate(decorator, frame), (value,), {}, site)
    return machine.call(applied, (value,), {}, site)


def _yields(function: ir.FunctionDef | ir.ClassDef) -> bool:
    return isinstance(function, ir.FunctionDef) and any(
        isinstance(node, ir.Opaque) and node.kind.startswith("yield")
        for statement in function.body
        for node in _own_nodes(statement)
    )


#: Whether a function yields.
is_generator = Memo(_yields)


def _lines_with_yield(module: Module) -> list[int]:
    return [number for number, line in enumerate(module.text.split("\n"), 1) if "yield" in line]


#: The lines of a module that speak of yielding: functions without any are not looked through.
_yields_at = ModuleMemo(_lines_with_yield)


def _may_yield(definition: Definition) -> bool:
    lines = _yields_at(definition.module)
    if not lines:
        return False
    span = definition.node.span
    position = bisect_left(lines, span.line)
    return position < len(lines) and lines[position] <= span.end_line


def _own_nodes(node: ir.Node) -> Iterator[ir.Node]:
    """``node`` and what is inside it, nested definitions left out."""
    if isinstance(node, (ir.FunctionDef, ir.ClassDef, ir.Lambda)):
        return
    yield node
    for child in ir.children(node):
        yield from _own_nodes(child)


# --- project functions ---


def call_function(
    machine: Machine,
    function: FunctionValue,
    args: tuple[Value, ...],
    keywords: dict[str, Value],
    site: Location,
    *,
    bound: bool = False,
) -> Value:
    """Run the body of a project function."""
    definition = function.definition
    node = definition.node
    assert isinstance(node, ir.FunctionDef)
    machine.tick()
    if not machine.may_enter(definition):
        escape(machine, args, keywords, node.name, site)
        return Unknown(node.name)
    if function.variants is not None:
        if not function.variants and not definition.scope:
            _define_variants(machine, definition)
        chosen = _variant(function, args)
        if chosen is None:
            escape(machine, args, keywords, node.name, site)
            return Unknown(node.name)
        if chosen is not function:
            return call_function(machine, chosen, args, keywords, site, bound=bound)
    if function.results is not None:
        key = (args, tuple(sorted(keywords.items(), key=lambda item: item[0])))
        if all(map(is_key, (*args, *keywords.values()))):
            if key not in function.results:
                function.results[key] = call_function(
                    machine, replace(function, results=None), args, keywords, site, bound=bound
                )
            return function.results[key]
    frame = bind(machine, function, args, keywords)
    if definition.scope and isinstance(definition.scope[-1], ir.ClassDef) and args and bound:
        frame.receiver = args[0]
        frame.cls = _class_of(machine, args[0], definition)
    if _may_yield(definition) and is_generator(node):
        if any(name.endswith("contextmanager") for name in members.decorators(machine, function)):
            return GeneratorContext(definition, frame, site)
        return GeneratorValue(definition, frame, site)
    signal = machine.run(definition, site, frame)
    if isinstance(signal, Return):
        if signal.value.__class__ is Unknown or signal.value.__class__ is tuple:
            hostdata.note_use(machine, signal.value, site)
        return signal.value
    return Unknown(node.name) if frame.raised else None


def _define_variants(machine: Machine, definition: Definition) -> None:
    """Module-level functions are defined when somebody asks for them, and nobody asks for those with `register`."""
    pattern = re.compile(rf"@\s*{re.escape(definition.node.name)}\.register\b")
    for other in definition.module.functions(pattern):
        if not other.scope and other.node.decorators:
            machine.definition_value(other, None)


def _variant(function: FunctionValue, args: tuple[Value, ...]) -> FunctionValue | None:
    """The function that is registered for the type of the first argument; None where the type is not known."""
    from warplint.tapes.builtins import is_instance

    first = args[0] if args else Unknown("argument")
    answers = [(is_instance(first, kind), variant) for kind, variant in function.variants or ()]
    if isinstance(first, Unknown) or any(answer is None for answer, _ in answers):
        return None
    return next((variant for answer, variant in reversed(answers) if answer), function)


def register(machine: Machine, function: FunctionValue, args: tuple[Value, ...]) -> Value:
    """``function.register(type)(variant)``, also as ``register(type, variant)`` and of a variant whose first parameter
    says its type."""
    kind = args[0] if args else Unknown("type")
    if len(args) > 1:
        variant = args[1]
    elif isinstance(kind, FunctionValue):
        variant, node = kind, kind.definition.node
        assert isinstance(node, ir.FunctionDef)
        written = node.parameters[0].annotation if node.parameters else None
        frame = kind.closure or machine.globals(kind.definition.module)
        kind = Unknown("type") if written is None else machine.evaluate(written, frame)
    else:
        return Builtin("register", lambda machine, given, words, site: register(machine, function, (kind, *given)))
    if isinstance(variant, FunctionValue) and function.variants is not None:
        function.variants.append((kind, variant))
    return variant


def _class_of(machine: Machine, receiver: Value, definition: Definition) -> ClassValue | None:
    cls = receiver.cls if isinstance(receiver, Instance) else receiver
    if not isinstance(cls, ClassValue):
        return None
    for ancestor in (*cls.lineage(), *(() if cls.meta is None or cls is not receiver else cls.meta.lineage())):
        if ancestor.definition.node is definition.scope[-1]:
            return ancestor
    return None


def bind(machine: Machine, function: FunctionValue, args: tuple[Value, ...], keywords: dict[str, Value]) -> Frame:
    """A frame for a call, its parameters bound."""
    definition = function.definition
    node = definition.node
    assert isinstance(node, ir.FunctionDef)
    names: dict[str, Value] = {}
    frame = Frame(definition.module, definition.inner_scope, names, function.closure)
    given = dict(keywords) if keywords else {}
    spread = given.pop("*", None) if given else None
    more = given.pop("**", None) if given else None
    taken = 0
    for parameter in node.parameters:
        name, kind = parameter.name, parameter.kind
        if kind == "positional" and taken < len(args):
            value = args[taken]
            if value.__class__ is int:
                value = shrink.passed(machine, definition.module, name, value, (taken, len(args)))
            names[name] = named(value, name)
            taken += 1
        elif kind == "*":
            names[name] = Unknown(name) if spread is not None else args[taken:]
            taken = len(args)
        elif kind == "**":
            names[name] = DictValue(given.copy(), open=more is not None)
        elif name in given:
            value = given.pop(name)
            if value.__class__ is int:
                value = shrink.passed(machine, definition.module, name, value)
            names[name] = named(value, name)
        elif parameter.default is not None and more is None:
            names[name] = _default(machine, function, parameter)
        else:
            names[name] = Unknown(name)
    return frame


def named(value: Value, name: str) -> Value:
    """An array that has no name yet is called by the first one that it gets."""
    if isinstance(value, ArrayValue) and not value.storage.name:
        value.storage.name = name
    return value


def _default(machine: Machine, function: FunctionValue, parameter: ir.Parameter) -> Value:
    # Defaults are made once: a mutable one is shared by all calls.
    if function.defaults is None:
        function.defaults = {}
    if parameter.name not in function.defaults:
        assert parameter.default is not None
        frame = function.closure or machine.globals(function.definition.module)
        value = machine.evaluate(parameter.default, frame)
        if value.__class__ is int and isinstance(parameter.default, ir.Constant):
            value = shrink.count(machine, function.definition.module, parameter.name, value)
        function.defaults[parameter.name] = value
    return function.defaults[parameter.name]


def _call_lambda(machine: Machine, function: LambdaValue, args: tuple[Value, ...], keywords: dict[str, Value]) -> Value:
    machine.tick()
    outer = function.frame
    frame = Frame(outer.module, outer.scope, {}, outer, "function", outer.cls, outer.receiver)
    positional = list(args)
    for parameter in function.node.parameters:
        if parameter.kind == "*":
            frame.names[parameter.name] = tuple(positional)
            positional = []
        elif parameter.kind == "**":
            frame.names[parameter.name] = DictValue(dict(keywords))
        elif positional:
            frame.names[parameter.name] = positional.pop(0)
        elif parameter.name in keywords:
            frame.names[parameter.name] = keywords[parameter.name]
        elif parameter.default is not None:
            frame.names[parameter.name] = function.defaults[parameter.name]
        else:
            frame.names[parameter.name] = Unknown(parameter.name)
    return machine.evaluate(function.node.body, frame)


# --- methods of known values ---


def _call_method(
    machine: Machine, method: Method, args: tuple[Value, ...], keywords: dict[str, Value], site: Location
) -> Value:
    receiver = method.receiver
    if isinstance(receiver, ArrayValue):
        return arrays.call_method(machine, receiver, method.name, args, keywords, site)
    if isinstance(receiver, TensorValue):
        return arrays.call_tensor_method(machine, receiver, method.name, args, keywords, site)
    if isinstance(receiver, TapeValue):
        return tapes.call_method(machine, receiver, method.name, args, keywords, site)
    if isinstance(receiver, OptimizerValue):
        return optimizers.call_method(machine, receiver, method.name, args, keywords, site)
    if isinstance(receiver, ContextValue):
        return contexts.call_stack_method(machine, receiver, method.name, args, keywords, site)
    if isinstance(receiver, FunctionValue):
        return register(machine, receiver, args)
    if isinstance(receiver, Instance):
        return (
            functional.replaced(machine, (receiver, *args), keywords, site)
            if method.name == "_replace"
            else (functional.as_dict(machine, (receiver,), {}, site))
        )
    if isinstance(receiver, ClassValue) and method.name == "apply":
        return tapes.apply_torch_function(machine, receiver, args, site)
    if isinstance(receiver, CommandValue):
        return launches.call_command(machine, receiver, method.name, args, keywords, site)
    return containers.call_method(machine, receiver, method.name, args, keywords, site)


def _call_unknown(
    machine: Machine, function: Unknown, args: tuple[Value, ...], keywords: dict[str, Value], site: Location
) -> Value:
    origin = function.origin
    if origin is not None and isinstance(origin[0], tuple) and origin[0][0] == "attr":
        owner, name = origin[1], origin[0][1]
        if isinstance(owner, Unknown) and isinstance(name, str):
            handled, result = model.call_unknown_method(machine, owner, name, args, keywords, site)
            if handled:
                return result
    escape(machine, args, keywords, function.hint or "an unknown function", site)
    return Unknown(function.hint)
