"""Which kernels may use a func that reaches them through factories: by name only, so that none is left out.

A factory makes a func, hands it to another factory, keeps it as an attribute of another function. Who calls it then is
not seen (``callers.py``). Where the func's name, or that of the factory around it, leads only to kernels that are
compiled without an adjoint, nobody differentiates it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from warplint.ir import syntax as ir
from warplint.kernels.options import Decorations
from warplint.source.bindings import target_names
from warplint.source.modules import Module
from warplint.source.project import Definition, External, Project
from warplint.source.regions import Region

#: More names than this are not followed.
_MOST = 60


class Users:
    """Answers the question for the funcs of one project."""

    def __init__(self, project: Project, decorations: Decorations) -> None:
        self._project = project
        self._decorations = decorations
        self._known: dict[tuple[object, str], bool] = {}
        #: How often the question was asked: its answer rests on whatever has the func's name in it.
        self.asked = 0

    def forward_only(self, definition: Definition) -> bool:
        """Whether some kernels may use a func, and all of them are compiled without an adjoint."""
        self.asked += 1
        key = (definition.module.path, _name(definition))
        if key not in self._known:
            self._known[key] = self._forward_only(definition)
        return self._known[key]

    def _forward_only(self, definition: Definition) -> bool:
        names = [_name(definition)]
        seen: set[tuple[object, int]] = {(definition.module.path, id(definition.node))}
        found = False
        own = definition.module.region_at(definition.node.span.line) if definition.scope else None
        beside = list(self._decorated(definition.module, own)) if own is not None else []
        for name in names:  # grows
            users = self._using(name, names)
            if users is None or len(names) > _MOST:
                return False
            users, beside = [*beside, *users], []
            for user in users:
                key = (user.module.path, id(user.node))
                if key in seen:
                    continue
                seen.add(key)
                if self._decorations.role(user) == "kernel":
                    if self._decorations.options(user).backward is not False:
                        return False
                    found = True
                elif _name(user) not in names:
                    names.append(_name(user))
        return found

    def _using(self, name: str, names: list[str]) -> list[Definition] | None:
        """The kernels and funcs near which a name is used, None if it may go anywhere; ``names`` gets further ones."""
        word = re.compile(rf"{re.escape(name)}\b")
        found: list[Definition] = []
        for module in self._project.modules():
            if name not in module.text:
                continue
            for region in module.regions_matching(word, whole=True):
                if region.kind == "import":
                    text = module.text[region.start : region.end]
                    names += [alias for alias in re.findall(rf"\b{name}\s+as\s+(\w+)", text) if alias not in names]
                    continue
                lines = _lines(module, region, word)
                nodes = list(_nodes_at(module, region, lines))
                if not any(_is(node, name) for node in nodes):
                    continue
                near = list(self._near(module, region, lines))
                found += near
                if region.kind == "assign":
                    names += [bound for bound in _bound(module, region) if bound not in names]
                for callee in self._given_to(module, nodes, name):
                    if callee is None and not near:
                        return None
                    if callee is not None:
                        found += callee
        return found

    def _decorated(self, module: Module, region: Region) -> Iterator[Definition]:
        for definition in module.within(region):
            if self._decorations.role(definition) in ("kernel", "func"):
                yield definition

    def _near(self, module: Module, region: Region, lines: list[int]) -> Iterator[Definition]:
        """The kernels and funcs of a region; of a class, only those in methods with one of some lines.

        All, if a line is in no method: what stands in a class itself is for all of them.
        """
        methods = [
            part.span
            for node in (module.read(region) if region.kind == "class" else ())
            if isinstance(node, ir.ClassDef)
            for part in node.body
            if isinstance(part, ir.FunctionDef)
        ]
        meant = [span for span in methods if any(span.line <= line <= span.end_line for line in lines)]
        covered = all(any(span.line <= line <= span.end_line for span in meant) for line in lines)
        for definition in self._decorated(module, region):
            line = definition.node.span.line
            if not methods or not covered or any(span.line <= line <= span.end_line for span in meant):
                yield definition

    def _given_to(self, module: Module, nodes: list[ir.Node], name: str) -> Iterator[list[Definition] | None]:
        """For each call that is handed the name: the kernels and funcs that the called factory makes; None: unknown."""
        for node in nodes:
            if not isinstance(node, ir.Call):
                continue
            given = [*node.args, *(keyword.value for keyword in node.keywords)]
            if not any(_is(part, name) for argument in given for part in ir.walk(argument)):
                continue
            callee = self._project.resolve(module, node.func)
            if isinstance(callee, Definition):
                own = callee.module.region_at(callee.node.span.line)
                yield list(self._decorated(callee.module, own)) if own is not None else None
            elif not isinstance(callee, External):
                yield None


def _name(definition: Definition) -> str:
    """The name by which others get at a definition: that of the factory around it."""
    outer = definition.scope[0] if definition.scope else definition.node
    return outer.name if isinstance(outer, ir.FunctionDef) else definition.node.name


def _is(node: ir.Node, name: str) -> bool:
    return (isinstance(node, ir.Name) and node.id == name) or (isinstance(node, ir.Attribute) and node.attr == name)


def _lines(module: Module, region: Region, word: re.Pattern[str]) -> list[int]:
    """The lines of a region where a word stands."""
    places = [match.start() for match in word.finditer(module.text, region.start, region.end)]
    return sorted({region.line + module.text.count("\n", region.start, place) for place in places})


def _nodes_at(module: Module, region: Region, lines: list[int]) -> Iterator[ir.Node]:
    """The nodes of a region that reach over one of some lines, parents first."""
    stack: list[ir.Node] = list(reversed(module.read(region)))
    while stack:
        node = stack.pop()
        # The span of a definition leaves out its decorators.
        if isinstance(node, (ir.FunctionDef, ir.ClassDef)) or any(
            node.span.line <= line <= node.span.end_line for line in lines
        ):
            yield node
            stack += reversed(list(ir.children(node)))


def _bound(module: Module, region: Region) -> list[str]:
    """The names that the assignments of a region bind."""
    return [
        name
        for statement in module.read(region)
        if isinstance(statement, ir.Assign)
        for target in statement.targets
        for name in target_names(target)
    ]
