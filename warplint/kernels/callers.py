"""Who calls a func, and with which values: looked up only for funcs in which something was found."""

from __future__ import annotations

from collections.abc import Iterator

from warplint.ir import syntax as ir
from warplint.kernels import activity
from warplint.kernels.constants import Closure, mentions
from warplint.kernels.execute import execute
from warplint.kernels.instances import is_open, narrowed
from warplint.kernels.instances import key as type_key
from warplint.kernels.knowledge import Knowledge
from warplint.kernels.numeric import Place
from warplint.kernels.options import is_decorated
from warplint.kernels.trace import Operation, Trace
from warplint.kernels.types import Type
from warplint.source.bindings import Binder, bound_names, target_names
from warplint.source.project import Definition

#: More calls of a func than this are not looked at one by one.
_PLACES = 24
#: A func is not looked at for more combinations of types than these, nor through more callers one after another.
_INSTANCES = 4
_DEPTH = 3

#: What leaves a value free to be any number where its operands are: a caller that passes such a value says nothing
#: about the func's parameter.
_FREE = frozenset({"load", "parameter", "add", "sub", "mul", "neg", "pos", "copy", "construct", "extract", "field"})


def _bound(scope: ir.FunctionDef | ir.ClassDef, name: str) -> tuple[Binder, ...]:
    return bound_names(scope).get(name, ()) if isinstance(scope, ir.FunctionDef) else ()


class Callers:
    """Answers questions about the visible callers of funcs."""

    def __init__(self, knowledge: Knowledge) -> None:
        self._knowledge = knowledge
        self._direct: dict[tuple[object, str], tuple[Definition, ...]] = {}
        self._sources: dict[tuple[object, str], frozenset[int] | None] = {}

    def direct(self, definition: Definition) -> tuple[Definition, ...]:
        """The kernels and funcs whose bodies call ``definition``."""
        key = (definition.module.path, definition.qualname)
        known = self._direct.get(key)
        if known is None:
            known = self._direct[key] = tuple(self._find(definition))
        return known

    def _find(self, target: Definition) -> Iterator[Definition]:
        seen: set[int] = {id(target.node)}
        for name in (target.node.name, *self._aliases(target)):
            for candidate, lines in self._decorated(name):
                if id(candidate.node) not in seen and self._calls(candidate, name, target, lines):
                    seen.add(id(candidate.node))
                    yield candidate

    def _decorated(self, name: str) -> Iterator[tuple[Definition, list[int]]]:
        """The kernels and funcs in regions that call something of that name, and the lines where those do."""
        for module, region, lines in mentions(self._knowledge.project, name):
            if is_decorated(module, region):
                for candidate in module.within(region):
                    if self._knowledge.decorations.role(candidate) in ("kernel", "func"):
                        yield candidate, lines

    def _aliases(self, target: Definition) -> tuple[str, ...]:
        """The names that a func made by a factory gets where the factory is called (``shade = make_shade(...)``)."""
        factory = target.scope[-1] if target.scope else None
        if not isinstance(factory, ir.FunctionDef):
            return ()
        found: set[str] = set()
        for module, region, lines in mentions(self._knowledge.project, factory.name):
            for statement in module.read(region):
                for node in ir.walk(statement):
                    if isinstance(node, ir.Assign) and any(
                        node.span.line <= line <= node.span.end_line for line in lines
                    ):
                        found.update(name for bound in node.targets for name in target_names(bound))
        return tuple(sorted(found - {target.node.name}))

    def _calls(self, candidate: Definition, name: str, target: Definition, lines: list[int]) -> bool:
        """Whether a definition calls ``target`` by ``name``, which stands before a bracket in these ``lines`` alone."""
        for statement in candidate.node.body:
            # The span of a definition leaves out its decorators.
            place = statement.span
            inner = isinstance(statement, (ir.FunctionDef, ir.ClassDef))
            if not inner and not any(place.line <= line <= place.end_line for line in lines):
                continue
            for node in ir.walk(statement):
                if isinstance(node, ir.Call):
                    last = node.func.attr if isinstance(node.func, ir.Attribute) else getattr(node.func, "id", "")
                    if last == name and self._means(candidate, node.func, target):
                        return True
        return False

    def _means(self, candidate: Definition, callee: ir.Expr, target: Definition) -> bool:
        project = self._knowledge.project
        found = project.resolve(candidate.module, callee, candidate.scope)
        if isinstance(found, Definition):
            return found.node is target.node
        factory = target.scope[-1] if target.scope else None
        if not isinstance(factory, ir.FunctionDef) or not isinstance(callee, ir.Name):
            return False
        # What a factory returned, in one branch or another; it may return several functions, of which this is one.
        module, scope = candidate.module, candidate.scope
        bound = [(binder, scope[:depth]) for depth, outer in enumerate(scope, 1) for binder in _bound(outer, callee.id)]
        bound += [(binder, ()) for binder in module.bindings(callee.id)]
        for binder, place in bound:
            if isinstance(binder, ir.Assign) and isinstance(binder.value, ir.Call):
                made = project.resolve(module, binder.value.func, place)
                if isinstance(made, Definition) and made.node is factory:
                    return True
        return False

    def kernels(self, definition: Definition, through_adjoints: bool = False) -> tuple[Definition, ...]:
        """The kernels that reach ``definition`` through calls, nearest first.

        ``through_adjoints``: only those whose adjoint runs that of ``definition``, which it does not where a func
        between them has a ``func_grad`` in place of its own adjoint.
        """
        seen = {id(definition.node)}
        found: list[Definition] = []
        queue = [definition]
        while queue and len(seen) < 200:
            current = queue.pop(0)
            for caller in self.direct(current):
                if id(caller.node) in seen:
                    continue
                seen.add(id(caller.node))
                if self._knowledge.decorations.role(caller) == "kernel":
                    found.append(caller)
                elif not through_adjoints or self._knowledge.decorations.custom_adjoint(caller) is None:
                    queue.append(caller)
        return tuple(found)

    def sources(self, definition: Definition) -> frozenset[int] | None:
        """The positions of a func's parameters that some visible, differentiated caller gives a varied value.

        None where no caller is visible: any parameter may then be one.
        """
        key = (definition.module.path, definition.qualname)
        if key in self._sources:
            return self._sources[key]
        self._sources[key] = None
        callers = self.direct(definition)
        if not callers:
            return None
        found: set[int] = set()
        knowledge = self._knowledge
        for caller in callers:
            options = knowledge.decorations.options(caller)
            kernel = knowledge.decorations.role(caller) == "kernel"
            if kernel and options.backward is False:
                continue
            trace = execute(knowledge, caller, knowledge.factories.closures(caller)[0])
            if trace is None:
                self._sources.pop(key)
                return None
            positions: frozenset[int] | None = frozenset() if kernel else self.sources(caller)
            inputs = None if positions is None else {trace.parameters[position][2] for position in positions}
            active = activity.analyse(knowledge, trace, inputs, activity.without_gradient(knowledge, trace))
            for operation in trace.operations:
                if operation.name == "call" and operation.detail == definition:
                    found |= {at for at, operand in enumerate(operation.operands) if active.varied[operand]}
        self._sources[key] = frozenset(found)
        return self._sources[key]

    def instances(self, definition: Definition, closure: Closure, depth: int = 0) -> tuple[Trace, ...]:
        """The body of a func with the types that its visible, differentiated callers give its generic parameters, once
        for each combination of them.

        By itself where it has none, where no caller is visible, or where there are too many combinations; and for a
        kernel. Nothing where a body is not analysed.
        """
        knowledge = self._knowledge
        alone = execute(knowledge, definition, closure)
        if alone is None:
            return ()
        given: dict[object, tuple[Type, ...]] = {}
        if depth < _DEPTH and self._is_generic(definition):
            for caller in self.direct(definition):
                kernel = knowledge.decorations.role(caller) == "kernel"
                if (kernel and knowledge.decorations.options(caller).backward is False) or (
                    knowledge.decorations.custom_adjoint(caller)
                ):
                    continue
                for outer in self.instances(caller, knowledge.factories.closures(caller)[0], depth + 1):
                    for operation in outer.operations:
                        if operation.name == "call" and operation.detail == definition:
                            types = tuple(outer.operations[operand].type for operand in operation.operands)
                            narrow = tuple(
                                narrowed(declared, type_)
                                for (_, declared, _), type_ in zip(alone.parameters, types, strict=False)
                            )
                            given[tuple(map(type_key, narrow))] = narrow
        if not given or len(given) > _INSTANCES:
            return (alone,)
        found = [execute(knowledge, definition, closure, types) for types in given.values()]
        return tuple(trace for trace in found if trace is not None)

    def _is_generic(self, definition: Definition) -> bool:
        """Whether a func has generic parameters, and no overloads, of which nobody knows here which one is called."""
        node, module = definition.node, definition.module
        if not isinstance(node, ir.FunctionDef) or self._knowledge.decorations.role(definition) != "func":
            return False
        bound = bound_names(definition.scope[-1]).get(node.name, ()) if definition.scope else module.bindings(node.name)
        return len(bound) == 1 and any(
            is_open(self._knowledge.types.annotation(module, parameter.annotation, definition.scope))
            for parameter in node.parameters
        )

    def places(self, trace: Trace, depth: int = 0) -> tuple[Place, ...]:
        """The body of a func as its callers run it, once for each call that is differentiated.

        By itself, with any values for its parameters, where a caller is not known or there are too many.
        """
        alone = (Place(trace),)
        callers = self.direct(trace.definition)
        if not callers or depth > 3:
            return alone
        found: list[Place] = []
        for caller in callers:
            decorations = self._knowledge.decorations
            kernel = decorations.role(caller) == "kernel"
            if (kernel and decorations.options(caller).backward is False) or decorations.custom_adjoint(caller):
                continue
            outer = execute(self._knowledge, caller, self._knowledge.factories.closures(caller)[0])
            if outer is None:
                return alone
            for around in (Place(outer),) if kernel else self.places(outer, depth + 1):
                for operation in outer.operations:
                    if operation.name == "call" and operation.detail == trace.definition:
                        arguments = _arguments(trace, around, operation)
                        found.append(Place(trace, arguments, (around, operation.index)))
            if len(found) > _PLACES:
                return alone
        return tuple(found)


def _arguments(trace: Trace, around: Place, call: Operation) -> dict[str, tuple[Place, int]]:
    """The values that a call gives to parameters, as far as they say anything about them: constants, and all where
    some are bounded or the call is guarded."""
    names = [name for name, _, _ in trace.parameters]
    passed = {name: (around, operand) for name, operand in zip(names, call.operands, strict=False)}
    fixed = {name: value for name, value in passed.items() if around.trace.operations[value[1]].name == "constant"}
    told = _guarded(around, call.index) or any(not _free(*value) for name, value in passed.items() if name not in fixed)
    return passed if told else fixed


def _free(place: Place, index: int) -> bool:
    """Whether a value can be any number, as far as can be seen: arithmetic on what the kernel is given."""
    stack = [(place, index)]
    given = False
    steps = 0
    while stack and steps < 60:
        steps += 1
        here, at = stack.pop()
        operation = here.trace.operations[at]
        if operation.name == "parameter" and str(operation.detail) in here.arguments:
            stack.append(here.arguments[str(operation.detail)])
            continue
        if operation.name in ("load", "parameter"):
            given = True
            continue
        if operation.name == "constant":
            continue
        if operation.name not in _FREE or (operation.name == "mul" and len(set(operation.operands)) == 1):
            return False
        stack.extend((here, operand) for operand in operation.operands)
    return given


def _guarded(place: Place, index: int) -> bool:
    """Whether a branch stands around an operation, or around a call that leads to it."""
    while True:
        frame = place.trace.operations[index].frame
        if any(around.condition is not None for around in place.trace.around(frame)):
            return True
        if place.caller is None:
            return False
        place, index = place.caller
