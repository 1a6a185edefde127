"""Who calls a func, and with which values: looked up only for funcs in which something was found."""

from __future__ import annotations

from collections.abc import Iterator

from warplint.ir import syntax as ir
from warplint.kernels import activity
from warplint.kernels.constants import mentions
from warplint.kernels.execute import execute
from warplint.kernels.knowledge import Knowledge
from warplint.kernels.options import decorated
from warplint.source.project import Definition


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
        project = self._knowledge.project
        for module, region, _ in mentions(project, target.node.name):
            if region.kind in ("import", "assign") or not decorated(module).search(
                module.text, region.start, region.end
            ):
                continue
            for candidate in module.within(region):
                if self._knowledge.decorations.role(candidate) not in ("kernel", "func"):
                    continue
                if candidate.node is not target.node and self._calls(candidate, target):
                    yield candidate

    def _calls(self, candidate: Definition, target: Definition) -> bool:
        for statement in candidate.node.body:
            for node in ir.walk(statement):
                if isinstance(node, ir.Call):
                    last = node.func.attr if isinstance(node.func, ir.Attribute) else getattr(node.func, "id", "")
                    if last != target.node.name:
                        continue
                    found = self._knowledge.project.resolve(candidate.module, node.func, candidate.scope)
                    if isinstance(found, Definition) and found.node is target.node:
                        return True
        return False

    def kernels(self, definition: Definition) -> tuple[Definition, ...]:
        """The kernels that reach ``definition`` through calls, nearest first."""
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
                else:
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
