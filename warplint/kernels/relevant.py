"""Which regions of a module can hold a kernel or func that is compiled with an adjoint: told mostly from the text.

In large code bases most kernels are compiled forward only, by an option of their module. Those need not be read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from warplint.ir import syntax as ir
from warplint.kernels.options import Decorations, decorated_regions, is_decorated
from warplint.source.project import Definition, Module, Project
from warplint.source.regions import Region

# What the compiler may refuse, or treat otherwise than Python, in code that runs forward only: told from words, since
# most of that code need not be read.
_CONTRACT = re.compile(
    r"\bvolume_sample|:=|%|\bround\s*\(|\b(?:lambda|try|raise|with|match|del|global|nonlocal|yield|await)\b"
    r"|\[[^\]\n]*\bfor\b"
)
# A decorator that says something of the adjoint, and not just that there is none.
_EXPLICIT = re.compile(r"enable_backward[\"']?\s*[=:]\s*(?!False\b)")


_GRAD = re.compile(r"grad\s*\(")


class Relevant:
    """Answers the question for the modules of one project."""

    def __init__(self, project: Project, decorations: Decorations) -> None:
        self._project = project
        self._decorations = decorations

    def regions(self, module: Module) -> Iterator[Region]:
        """The regions that can hold a definition which some kernel compiles with an adjoint, or which the compiler may
        refuse, in order."""
        found = decorated_regions(module)
        if self._decorations.backward_by_default(module) is not False:
            yield from found
            return
        for region in found:
            told = any(pattern.search(module.text, region.start, region.end) for pattern in (_EXPLICIT, _CONTRACT))
            if told or any(region.line <= line <= region.end_line for line in self._asked_for(module)):
                yield region

    def is_asked_for(self, func: Definition) -> bool:
        """Whether a kernel whose own decorator switches its adjoint on calls ``func``, directly or through others."""
        return func.node.span.line in self._asked_for(func.module)

    def _derived(self) -> Iterator[Definition]:
        """The funcs that some ``wp.grad(func)`` differentiates, whatever the options are."""
        for module in self._project.modules():
            if "grad" not in module.text:
                continue
            for region in module.regions_matching(_GRAD, whole=True):
                if not is_decorated(module, region):
                    continue
                for definition in module.within(region):
                    for part in definition.node.body:
                        for node in ir.walk(part):
                            func = self._derivative_of(definition, node)
                            if func is not None:
                                yield func

    def _derivative_of(self, definition: Definition, node: ir.Node) -> Definition | None:
        if not isinstance(node, ir.Call) or len(node.args) != 1:
            return None
        if self._project.external(definition.module, node.func, definition.scope) != "warp.grad":
            return None
        found = self._project.resolve(definition.module, node.args[0], definition.scope)
        return found if isinstance(found, Definition) and self._decorations.role(found) == "func" else None

    def is_derived(self, func: Definition) -> bool:
        """Whether some ``wp.grad`` differentiates ``func`` itself."""
        return id(func.node) in self._all_derived()

    def _all_derived(self) -> dict[int, Definition]:
        known = self._project.kept.get((Relevant, "derived"))
        if not isinstance(known, dict):
            known = self._project.kept[(Relevant, "derived")] = {id(one.node): one for one in self._derived()}
        return known

    def _asked_for(self, module: Module) -> frozenset[int]:
        known = self._project.kept.get(Relevant)
        if not isinstance(known, dict):
            known = self._project.kept[Relevant] = self._closure()
        found: frozenset[int] = known.get(module.path, frozenset())
        return found

    def _closure(self) -> dict[object, frozenset[int]]:
        """The lines of the funcs that are asked for, by the path of their module."""
        queue = [
            definition
            for module in self._project.modules()
            if "enable_backward" in module.text
            for region in decorated_regions(module)
            if _EXPLICIT.search(module.text, region.start, region.end)
            for definition in module.within(region)
            if self._decorations.role(definition) == "kernel" and self._decorations.explicit(definition)
        ]
        found: dict[object, set[int]] = {}
        for func in self._all_derived().values():
            found.setdefault(func.module.path, set()).add(func.node.span.line)
            queue.append(func)
        while queue:
            caller = queue.pop()
            for callee in _callees(self._project, caller):
                lines = found.setdefault(callee.module.path, set())
                if callee.node.span.line not in lines and self._decorations.role(callee) == "func":
                    lines.add(callee.node.span.line)
                    queue.append(callee)
        return {path: frozenset(lines) for path, lines in found.items()}


def _callees(project: Project, caller: Definition) -> Iterator[Definition]:
    for statement in caller.node.body:
        for node in ir.walk(statement):
            if isinstance(node, ir.Call):
                callee = project.resolve(caller.module, node.func, caller.inner_scope)
                if isinstance(callee, Definition):
                    yield callee
