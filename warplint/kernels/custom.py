"""Hand-written adjoints: ``func_grad`` and ``func_replay`` declarations against the funcs that they serve."""

from __future__ import annotations

from collections.abc import Iterator

from warplint.ir import syntax as ir
from warplint.ir.spans import Span
from warplint.kernels.callers import Callers
from warplint.kernels.execute import execute
from warplint.kernels.knowledge import Knowledge
from warplint.kernels.options import decorated_definitions
from warplint.kernels.trace import Trace
from warplint.kernels.types import Type
from warplint.records import dataclass
from warplint.source.project import Definition

#: Annotations of parameters that are functions.
_FUNCTIONS = ("warp.Function", "typing.Callable", "collections.abc.Callable")

_ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth")


@dataclass(frozen=True, slots=True)
class Declaration:
    """A ``func_grad`` or ``func_replay`` and the overloads of the func that it serves."""

    definition: Definition
    role: str
    forwards: tuple[Definition, ...]

    @property
    def forward(self) -> Definition:
        """The func, the last overload where there are several."""
        return self.forwards[-1]

    @property
    def names(self) -> list[str]:
        """What the declaration itself calls the parameters of the func: they belong together by their order."""
        own = getattr(self.forward.node, "parameters", ())
        return [parameter.name for parameter in getattr(self.definition.node, "parameters", ())][: len(own)]


@dataclass(frozen=True, slots=True)
class Assigned:
    """``wp.adjoint[x] = ...``. ``shared``: a caller uses the argument elsewhere too; None where no caller is known.

    ``callers`` are the kernels in which that is so.
    """

    span: Span
    parameter: str
    shared: bool | None
    callers: tuple[Definition, ...]


def declaration(knowledge: Knowledge, definition: Definition, role: str) -> Declaration | None:
    """The declaration that ``definition`` is, None where the func that it serves is not found."""
    for decorator in definition.node.decorators:
        if not isinstance(decorator, ir.Call) or not decorator.args:
            continue
        project, module, scope = knowledge.project, definition.module, definition.scope
        if project.external(module, decorator.func, scope) != f"warp.{role}":
            continue
        target = project.resolve(module, decorator.args[0], scope)
        if isinstance(target, Definition) and knowledge.decorations.role(target) == "func":
            overloads = tuple(
                other
                for other in decorated_definitions(target.module)
                if other.qualname == target.qualname and knowledge.decorations.role(other) == "func"
            )
            return Declaration(definition, role, overloads or (target,))
    return None


# --- signatures ---


def mismatch(knowledge: Knowledge, declared: Declaration) -> str | None:
    """Why Warp refuses the declaration, None if it takes it or that is not known."""
    reasons = [_mismatch(knowledge, declared, forward) for forward in declared.forwards]
    return None if any(reason is None for reason in reasons) else reasons[-1]


def _mismatch(knowledge: Knowledge, declared: Declaration, forward: Definition) -> str | None:
    expected = _types(knowledge, forward)
    name = forward.node.name
    if any(_generic(type_) for _, type_ in expected):
        return f"serves `{name}`, which is generic"
    if declared.role == "func_grad" and _takes_function(knowledge, forward):
        return f"serves `{name}`, which takes a function"
    given = _types(knowledge, declared.definition)
    if any(_generic(type_) for _, type_ in given):
        return "has a generic parameter"
    own = len(expected)
    if declared.role == "func_grad":
        results = _results(knowledge, forward)
        if results is None:
            return None
        expected += [("", type_) for type_ in results]
        if len(given) != len(expected):
            adjoints = f"{len(results)} adjoint{'s' if len(results) != 1 else ''} of its results"
            return f"takes {len(given)} arguments where the {own} of `{name}` and {adjoints} are expected"
    elif len(given) != len(expected):
        return f"takes {len(given)} arguments where `{name}` takes {own}"
    for position, ((parameter, one), (_, other)) in enumerate(zip(given, expected, strict=True)):
        if _differ(one, other):
            whose = f"parameter of `{name}`" if position < own else f"result of `{name}`"
            at = position if position < own else position - own
            ordinal = _ORDINALS[at] if at < len(_ORDINALS) else f"{at + 1}th"
            return f"has a parameter `{parameter}` of another type than the {ordinal} {whose}"
    return None


def _takes_function(knowledge: Knowledge, definition: Definition) -> bool:
    for parameter in getattr(definition.node, "parameters", ()):
        annotation = parameter.annotation
        if isinstance(annotation, ir.Subscript):
            annotation = annotation.value
        if annotation is None:
            continue
        if knowledge.project.external(definition.module, annotation, definition.scope) in _FUNCTIONS:
            return True
    return False


def _types(knowledge: Knowledge, definition: Definition) -> list[tuple[str, Type]]:
    assert isinstance(definition.node, ir.FunctionDef)
    return [
        (parameter.name, knowledge.types.annotation(definition.module, parameter.annotation, definition.scope))
        for parameter in definition.node.parameters
    ]


def _results(knowledge: Knowledge, forward: Definition) -> list[Type] | None:
    """The types of what a func returns, None where that is not known."""
    trace = execute(knowledge, forward, knowledge.factories.closures(forward)[0])
    if trace is None or not trace.complete:
        return None
    for index in trace.returns:
        return [trace.operations[operand].type for operand in trace.operations[index].operands]
    return []


def _generic(type_: Type) -> bool:
    return type_.kind == "generic" or (type_.element is not None and _generic(type_.element))


def _differ(one: Type, other: Type) -> bool:
    """Whether two types are certainly not the same."""
    if not {"unknown", "generic", "handle"}.isdisjoint((one.kind, other.kind)):
        return False
    if one.kind != other.kind:
        return {one.kind, other.kind} != {"int", "bool"}
    if one.kind == "array":
        if one.ndim is not None and other.ndim is not None and one.ndim != other.ndim:
            return True
        return one.element is not None and other.element is not None and _differ(one.element, other.element)
    if one.is_composite and one.shape and other.shape:
        return one.shape != other.shape
    return False


# --- what a func_grad does to adjoints ---


def assigned(knowledge: Knowledge, callers: Callers, declared: Declaration) -> Iterator[Assigned]:
    """The adjoints that a ``func_grad`` sets instead of adding to."""
    names = declared.names
    uses: dict[str, tuple[bool | None, tuple[Definition, ...]]] = {}
    for statement in declared.definition.node.body:
        for node in ir.walk(statement):
            if not isinstance(node, ir.Assign):
                continue
            for target in node.targets:
                parameter = adjoint_of(knowledge, declared.definition, target)
                if parameter is None or parameter not in names:
                    continue
                if parameter not in uses:
                    uses[parameter] = _shared(knowledge, callers, declared.forward, names.index(parameter))
                yield Assigned(node.span, parameter, *uses[parameter])


def adjoint_of(knowledge: Knowledge, definition: Definition, node: ir.Expr) -> str | None:
    """The name in ``wp.adjoint[name]``, also where an element of that is meant."""
    while isinstance(node, ir.Subscript):
        named = isinstance(node.value, ir.Attribute) and isinstance(node.index, ir.Name)
        if named and knowledge.project.external(definition.module, node.value, definition.scope) == "warp.adjoint":
            assert isinstance(node.index, ir.Name)
            return node.index.id
        node = node.value
    return None


def _shared(
    knowledge: Knowledge, callers: Callers, forward: Definition, position: int
) -> tuple[bool | None, tuple[Definition, ...]]:
    """Whether some caller uses what it passes at ``position`` elsewhere too, and the kernels that do."""
    found: list[Definition] = []
    shared: bool | None = None
    for caller in callers.direct(forward):
        trace = execute(knowledge, caller, knowledge.factories.closures(caller)[0])
        if trace is None:
            continue
        for operation in trace.operations:
            if operation.name != "call" or operation.detail != forward or position >= len(operation.operands):
                continue
            if not _used_elsewhere(trace, operation.operands[position], operation.index):
                shared = shared or False
                continue
            shared = True
            if knowledge.decorations.role(caller) == "kernel":
                found.append(caller)
    return shared, tuple(dict.fromkeys(found))


def _used_elsewhere(trace: Trace, value: int, call: int) -> bool:
    names = {value}
    while trace.operations[value].name == "copy":
        value = trace.operations[value].operands[0]
        names.add(value)
    loops = len(list(trace.loops(trace.operations[call].frame)))
    if loops > len(list(trace.loops(trace.operations[value].frame))):
        return True
    uses = 0
    for operation in trace.operations:
        if operation.name == "copy" and operation.operands[0] in names:
            names.add(operation.index)
        else:
            uses += sum(operand in names for operand in operation.operands)
    return uses > 1


def missing(knowledge: Knowledge, callers: Callers, declared: Declaration) -> tuple[str, ...]:
    """The differentiable inputs that a ``func_grad`` never adds to, by its own names; none where it stops all."""
    mentioned = {
        name
        for statement in declared.definition.node.body
        for node in ir.walk(statement)
        if isinstance(node, ir.Subscript)
        for name in [adjoint_of(knowledge, declared.definition, node)]
        if name is not None
    }
    summary = knowledge.summarise(declared.forward)
    if not mentioned or summary is None or not summary.complete:
        return ()
    wanted = callers.sources(declared.forward)
    return tuple(
        declared.names[position]
        for position in summary.differentiated
        if (wanted is None or position in wanted) and declared.names[position] not in mentioned
    )
