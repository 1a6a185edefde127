"""Slices: the definitions that a program needs, cut out of the source across modules, as one stand-alone script.

Nothing but the slice is ever executed, and the parts of it that Python runs (decorators, annotations, defaults,
constants, ``wp.static``) consist of literals, arithmetic and calls that are known to compute only.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from pathlib import Path

from warplint.ir import syntax as ir
from warplint.ir.programs import DefinitionRef
from warplint.ir.spans import Location, Span
from warplint.probe import stand_ins, wishes
from warplint.probe.allowed import OPTIONS
from warplint.probe.classes import Classes
from warplint.probe.decorators import BACKWARD
from warplint.probe.flowing import sources
from warplint.probe.imports import Imports
from warplint.probe.rewrite import WARP, Edit, Mark, cut, dedent, reach_edits
from warplint.probe.script import Item, Native, Place, Refused
from warplint.records import dataclass
from warplint.source.bindings import bound_names
from warplint.source.project import Definition, Module, Project, Scope

__all__ = ["Refused", "Slice", "Slicer"]

_CUSTOM = re.compile(r"func_grad|func_replay")
_CONFIG = ("enable_backward", "max_unroll", "enable_vector_component_overwrites")


@dataclass(frozen=True, slots=True)
class Slice:
    """``text`` is the script, ``twin`` the same with marks at flagged places (None if there are none)."""

    text: str
    twin: str | None
    #: What each mark that the twin prints stands for.
    marks: Mapping[int, Mark]
    #: The definition of the script that holds each flagged place, and those of its parameters that may flow there.
    feeding: Mapping[int, tuple[str, tuple[str, ...]]]
    #: Folders of modules that the script imports from the project.
    folders: tuple[str, ...] = ()
    #: Values of parameters of factories that nothing in the source says, by name.
    assumed: Mapping[str, str] = field(default_factory=dict)
    #: Those of them that the flagged places do not ask for: other values would do as well.
    guessed: tuple[str, ...] = ()
    #: Native snippets that are not in the script, and what is there instead.
    stand_ins: Mapping[str, str] = field(default_factory=dict)


class Slicer(Classes):
    """Collects definitions into one script."""

    def __init__(
        self,
        project: Project,
        allow_native: bool = False,
        flagged: Sequence[Iterable[Location]] = (),
        allow_import: bool = False,
        widens: bool = False,
    ) -> None:
        super().__init__(project, Imports() if allow_import else None, widens)
        self._allow_native = allow_native
        self._made_kernels = {}
        # the places of mark 0, of mark 1, ...
        self._flagged = [tuple(places) for places in flagged]
        self._options: list[str] = []
        # what the module of the source sets for its own kernels, which those with a Warp module of their own are not
        self._own_options: list[str] = []
        # a kernel of the script has a Warp module of its own
        self._elsewhere = False
        self._marks: dict[int, Mark] = {}
        self._feeding: dict[int, tuple[str, tuple[str, ...]]] = {}
        # the files of flagged places, by number
        self._files: dict[Path, int] = {}
        # what functions of the script read and write of parameters that may be anything
        self._accessed: set[frozenset[str]] = set()

    # --- the result ---

    def finish(self) -> Slice:
        """The script so far."""
        self._candidates()
        head = [f"import warp as {WARP}"]
        options = self._options if self._elsewhere else [*self._options, *self._own_options]
        parts = [*head, *options, *(item.text for item in self._order)]
        twins = [*head, *options, *(item.twin or item.text for item in self._order)]
        text = "\n\n".join(parts) + "\n"
        folders = self._imports.folders if self._imports is not None else ()
        twin = "\n\n".join(twins) + "\n" if self._marks else None
        guessed = tuple(sorted(self._guessed))
        marks, feeding = dict(self._marks), dict(self._feeding)
        return Slice(text, twin, marks, feeding, folders, dict(self._assumed), guessed, dict(self._stand_ins))

    # --- definitions ---

    def add(self, ref: DefinitionRef) -> str:
        """Puts the definition and all that it needs into the script; returns its name there. Raises Refused."""
        module = self._project.module(ref.path)
        if module is None:
            raise Refused(f"`{ref.path.name}` cannot be read")
        definitions = list(_find(module, ref.qualname))
        if not definitions:
            raise Refused(f"`{ref.qualname}` is not found in `{ref.path.name}`")
        for decorator in definitions[-1].node.decorators:
            own = decorator.keyword("module") if isinstance(decorator, ir.Call) else None
            if own is not None and not (isinstance(own, ir.Constant) and own.value is None):
                self._elsewhere = True
        if ref.made:
            self._made_kernels[id(definitions[-1].node)] = ref.backward
        closure = dict(ref.closure)
        if ref.backward is not None:
            closure[BACKWARD] = ref.backward
        return self._definition(definitions[-1], closure)

    def options(self, path: Path, differentiated: bool = False) -> None:
        """Carries over what the module at ``path`` sets for all its kernels.

        ``differentiated``: but for an adjoint that is switched off there and on where it is used.
        """
        module = self._project.module(path)
        if module is None:
            return
        for region in module.regions:
            text = module.region_text(region)
            if "set_module_options" not in text and "config" not in text:
                continue
            for statement in module.read(region):
                self._option(statement, module)
        if differentiated:
            self._own_options.append(f"{WARP}.set_module_options({{'enable_backward': True}})")

    def _option(self, statement: ir.Stmt, module: Module) -> None:
        if isinstance(statement, ir.ExprStmt) and isinstance(statement.value, ir.Call):
            call = statement.value
            own = call.keyword("module") is None and len(call.args) == 1
            if self._project.external(module, call.func) == "warp.set_module_options" and own:
                options = call.args[0]
                if isinstance(options, ir.Dict):
                    for key, value in zip(options.keys, options.values, strict=False):
                        if isinstance(key, ir.Constant) and key.value in OPTIONS and isinstance(value, ir.Constant):
                            text = f"{WARP}.set_module_options({{{key.value!r}: {value.value!r}}})"
                            self._own_options.append(text)
        elif isinstance(statement, ir.Assign) and isinstance(statement.value, ir.Constant):
            name = self._project.external(module, statement.targets[0])
            if name is not None and name.startswith("warp.config.") and name.rpartition(".")[2] in _CONFIG:
                self._options.append(f"{WARP}.config.{name.rpartition('.')[2]} = {statement.value.value!r}")

    def _definition(self, definition: Definition, closure: Mapping[str, object]) -> str:
        node = definition.node
        nested = any(isinstance(outer, ir.FunctionDef) for outer in definition.scope)
        known = tuple(sorted((name, repr(value)) for name, value in closure.items())) if nested else ()
        key = (definition.module.path, definition.qualname, known)
        item = self._items.get(key)
        if item is not None:
            return item.name
        item = self._items[key] = Item(self._fresh(node.name))
        try:
            self._defined(definition, closure, item)
        except Native:
            item.text = self._stand_in(definition, closure, item.name)
            if not item.text:
                self._items.pop(key, None)
                raise
            self._order.append(item)
        except Refused:
            imports = self._imports
            imported = imports.definition(definition, item.name) if imports is not None else None
            if imported is None:
                # who asked may do without it: nobody else must take it to be there
                self._items.pop(key, None)
                raise
            item.text, item.twin = imported, ""
            self._order.append(item)
        return item.name

    def _defined(self, definition: Definition, closure: Mapping[str, object], item: Item) -> None:
        """Writes the definition and what it needs."""
        node = definition.node
        kind = self._kind(definition)
        if isinstance(node, ir.ClassDef):
            place = Place(definition.module, definition.scope, closure)
            item.text = (
                self._struct(node, place, item.name) if kind == "warp.struct" else self._enum(node, place, item.name)
            )
            self._order.append(item)
            return
        overloads = [
            other
            for other in _find(definition.module, definition.qualname)
            if isinstance(other.node, ir.FunctionDef) and self._kind(other) == kind
        ]
        if kind == "warp.kernel":
            overloads = overloads[-1:]
        parts: list[str] = []
        twins: list[str] = []
        for overload in overloads:
            text, twin = self._function(overload, item.name, closure)
            parts.append(text)
            twins.append(twin)
        item.text, item.twin = "\n\n".join(parts), "\n\n".join(twins)
        self._order.append(item)
        if kind == "warp.func":
            self._custom_adjoints(definition, closure)

    def _stand_in(self, definition: Definition, closure: Mapping[str, object], name: str) -> str:
        """A func in place of a native snippet, empty where there can be none: it is itself in question, say."""
        node = definition.node
        word = re.compile(rf"\b{re.escape(node.name)}\b")
        if not isinstance(node, ir.FunctionDef) or self._kind_of(definition) != "warp.func_native":
            return ""
        for places in self._flagged:
            for location in places:
                module = self._project.module(location.path)
                if module is None or word.search(cut(module.lines, location.span, ())):
                    return ""
        place = Place(definition.module, definition.scope, closure)
        kinds = {one.name: self._rewritten(one.annotation, place) for one in node.parameters if one.annotation}
        returns = self._rewritten(node.returns, place) if node.returns is not None else None
        if len(kinds) < len(node.parameters):
            return ""
        text = stand_ins.stand_in(node, name, kinds, returns) or ""
        if text:
            self._stand_ins[node.name] = text.rpartition("return ")[2]
        return text

    def _candidates(self) -> None:
        """Adds structs that have what functions read and write of parameters that may be anything."""
        for accessed in sorted(self._accessed, key=sorted):
            best: tuple[int, Definition] | None = None
            for definition in self._structs(accessed):
                fields = {
                    statement.target.id
                    for statement in definition.node.body
                    if isinstance(statement, ir.AnnAssign) and isinstance(statement.target, ir.Name)
                }
                score = sum(other <= fields for other in self._accessed)
                if accessed <= fields and (best is None or score > best[0]):
                    best = score, definition
            if best is not None:
                try:
                    self._definition(best[1], {})
                except Refused:
                    continue

    def _structs(self, fields: frozenset[str]) -> Iterator[Definition]:
        """Structs of the project whose text has all of ``fields``."""
        modules = dict.fromkeys(place[0] for place in self._items if isinstance(place, tuple))
        first = [module for path in modules if isinstance(path, Path) and (module := self._project.module(path))]
        for module in dict.fromkeys((*first, *self._project.modules())):
            if not all(name in module.text for name in fields) or "struct" not in module.text:
                continue
            for region in module.regions:
                text = module.region_text(region) if region.kind == "class" else ""
                if text and "struct" in text and all(f"{name}:" in text for name in fields):
                    for node in module.read(region):
                        if isinstance(node, ir.ClassDef) and self._kind_of(Definition(module, node, ())):
                            yield Definition(module, node, ())

    def _custom_adjoints(self, definition: Definition, closure: Mapping[str, object]) -> None:
        """Adds the ``func_grad`` and ``func_replay`` functions of a func."""
        for other in definition.module.functions(_CUSTOM):
            for decorator in other.node.decorators:
                if not isinstance(decorator, ir.Call) or not decorator.args:
                    continue
                name = self._project.external(other.module, decorator.func, other.scope)
                if name not in ("warp.func_grad", "warp.func_replay"):
                    continue
                target = self._project.resolve(other.module, decorator.args[0], other.scope)
                if isinstance(target, Definition) and target.qualname == definition.qualname:
                    key = (other.module.path, other.qualname, other.node.span)
                    if key not in self._items:
                        item = self._items[key] = Item(self._fresh(other.node.name))
                        item.text, item.twin = self._function(other, item.name, closure)
                        self._order.append(item)

    def _function(self, definition: Definition, name: str, closure: Mapping[str, object]) -> tuple[str, str]:
        """Source text of a kernel or func under its new name, and of its counting twin."""
        node = definition.node
        assert isinstance(node, ir.FunctionDef)
        module = definition.module
        outside = Place(module, definition.scope, closure)
        inside = Place(module, definition.inner_scope, closure)
        edits: list[Edit] = []
        if name != node.name:
            edits.append(Edit(node.name_span, name))
        for parameter in node.parameters:
            if parameter.annotation is not None:
                self._annotation(parameter.annotation, outside, edits)
            if parameter.default is not None:
                self._constant(parameter.default, outside, edits)
        if node.returns is not None:
            self._annotation(node.returns, outside, edits)
        local = set(bound_names(node))
        self._accessed.update(stand_ins.attributes(node))
        for _, span in self._flagged_in(module, node):
            self._wish_for(wishes.around(node.body, span), inside, local)
            self._bounds_of(wishes.bounds(node.body, span), inside, local)
        for statement in node.body:
            self._body(statement, inside, local, edits)
        decorators = self._decorators(node, outside)
        text = cut(module.lines, node.span, edits)
        flagged = list(self._flagged_in(module, node))
        file = self._files.setdefault(module.path, len(self._files)) if flagged else 0
        marks, found = reach_edits(node, module.lines, flagged, file)
        twin = cut(module.lines, node.span, [*edits, *marks])
        self._marks.update(found)
        for number in {number for number, _ in flagged}:
            places = [span for other, span in flagged if other == number]
            self._feeding[number] = (name, sources(node, places))
        indent = node.span.column - 1
        return f"{decorators}{dedent(text, indent)}", f"{decorators}{dedent(twin, indent)}"

    def _flagged_in(self, module: Module, node: ir.FunctionDef) -> Iterator[tuple[int, Span]]:
        for number, places in enumerate(self._flagged):
            for location in places:
                if location.path == module.path and node.span.covers(location.span):
                    yield number, location.span


def _find(module: Module, qualname: str) -> Iterator[Definition]:
    """The definitions with a qualified name, in the order of the file."""
    parts = qualname.split(".")
    pattern = re.compile(rf"\b{re.escape(parts[-1])}\b")
    for region in module.regions:
        if region.kind in ("import", "assign") or not pattern.search(module.text, region.start, region.end):
            continue
        yield from _find_in(module, module.read(region), parts, ())


def _find_in(module: Module, body: tuple[ir.Stmt, ...], parts: list[str], scope: Scope) -> Iterator[Definition]:
    for statement in body:
        if isinstance(statement, (ir.FunctionDef, ir.ClassDef)):
            if statement.name == parts[0]:
                if len(parts) == 1:
                    yield Definition(module, statement, scope)
                else:
                    yield from _find_in(module, statement.body, parts[1:], (*scope, statement))
        else:
            for child in ir.children(statement):
                if isinstance(child, ir.Node) and hasattr(statement, "body"):
                    yield from _find_in(module, (child,), parts, scope)  # type: ignore[arg-type]
