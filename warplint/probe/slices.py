"""Slices: the definitions that a program needs, cut out of the source across modules, as one stand-alone script.

Nothing but the slice is ever executed, and the parts of it that Python runs (decorators, annotations, defaults,
constants, ``wp.static``) consist of literals, arithmetic and calls that are known to compute only.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from pathlib import Path

from warplint.ir import syntax as ir
from warplint.ir.programs import DefinitionRef
from warplint.ir.spans import Location, Span
from warplint.probe import stand_ins, wishes
from warplint.probe.allowed import ENUMS, OPTIONS, PLAIN_BASES
from warplint.probe.imports import Imports
from warplint.probe.names import IGNORED, Names, joined
from warplint.probe.rewrite import WARP, Edit, Mark, cut, dedent, reach_edits
from warplint.probe.script import COUNTS, Item, Place, Refused
from warplint.records import dataclass
from warplint.source.bindings import bound_names
from warplint.source.project import Definition, External, Module, Project, Scope, Value

__all__ = ["Refused", "Slice", "Slicer"]

_WARP_DEFINITIONS = (
    "warp.kernel",
    "warp.func",
    "warp.struct",
    "warp.func_native",
    "warp.func_grad",
    "warp.func_replay",
)
_KERNEL_OPTIONS = ("enable_backward", "grid_stride", "launch_bounds")
#: What a decorator's `enable_backward` came to, among the values of a closure.
_BACKWARD = "<backward>"
#: How many classes may stand above a struct.
_LONGEST_LINE = 8
_CUSTOM = re.compile(r"func_grad|func_replay")
_CONFIG = ("enable_backward", "max_unroll", "enable_vector_component_overwrites")


class Native(Refused):
    """The slice would hold native code."""


@dataclass(frozen=True, slots=True)
class Slice:
    """``text`` is the script, ``twin`` the same with marks at flagged places (None if there are none)."""

    text: str
    twin: str | None
    #: What each mark that the twin prints stands for.
    marks: Mapping[int, Mark]
    #: Folders of modules that the script imports from the project.
    folders: tuple[str, ...] = ()
    #: Values of parameters of factories that nothing in the source says, by name.
    assumed: Mapping[str, str] = field(default_factory=dict)
    #: Those of them that the flagged places do not ask for: other values would do as well.
    guessed: tuple[str, ...] = ()
    #: Native snippets that are not in the script, and what is there instead.
    stand_ins: Mapping[str, str] = field(default_factory=dict)


class Slicer(Names):
    """Collects definitions into one script."""

    def __init__(
        self,
        project: Project,
        allow_native: bool = False,
        flagged: Sequence[Iterable[Location]] = (),
        allow_import: bool = False,
    ) -> None:
        super().__init__(project, Imports() if allow_import else None)
        self._allow_native = allow_native
        # the places of mark 0, of mark 1, ...
        self._flagged = [tuple(places) for places in flagged]
        self._options: list[str] = []
        # what the module of the source sets for its own kernels, which those with a Warp module of their own are not
        self._own_options: list[str] = []
        # a kernel of the script has a Warp module of its own
        self._elsewhere = False
        # what calls make kernels of, by the identity of the nodes, with what they say of the adjoint
        self._made_kernels: dict[int, bool | None] = {}
        self._marks: dict[int, Mark] = {}
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
        return Slice(text, twin, dict(self._marks), folders, dict(self._assumed), guessed, dict(self._stand_ins))

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
            closure[_BACKWARD] = ref.backward
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

    def _kind_of(self, definition: Definition) -> str:
        """Which Warp decorator makes the definition; empty where that is not told."""
        for decorator in definition.node.decorators:
            name = self._decorator(decorator, definition.module, definition.scope)
            if name in _WARP_DEFINITIONS:
                return name
        return ""

    def _decorator(self, decorator: ir.Expr, module: Module, scope: Scope, depth: int = 0) -> str | None:
        """What a decorator is, seen through a name for it and through a choice between two ways to call one."""
        function = decorator.func if isinstance(decorator, ir.Call) else decorator
        name = self._project.external(module, function, scope)
        if name is not None or depth > _LONGEST_LINE:
            return name
        if isinstance(function, ir.Conditional):
            kinds = {self._decorator(one, module, scope, depth + 1) for one in (function.body, function.orelse)}
            return kinds.pop() if len(kinds) == 1 else None
        found = self._project.resolve(module, function, scope) if isinstance(function, ir.Name) else None
        if isinstance(found, Value) and function is decorator:
            return self._decorator(found.expr, found.module, found.scope, depth + 1)
        return None

    def _kind(self, definition: Definition) -> str:
        """Which Warp decorator makes the definition; empty for a class without one. Raises Refused for others."""
        node = definition.node
        found = ""
        for decorator in node.decorators:
            function = decorator.func if isinstance(decorator, ir.Call) else decorator
            name = self._decorator(decorator, definition.module, definition.scope)
            if name in _WARP_DEFINITIONS:
                found = name
            elif name in IGNORED:
                continue
            else:
                written = ir.dotted(function) or "..."
                raise Refused(f"`{node.name}` has the decorator `@{written}`, which would have to be run")
        if found == "warp.func_native" and not self._allow_native:
            raise Native(f"`{node.name}` is a native snippet")
        if not found and id(node) in self._made_kernels:
            return "warp.kernel"
        if not found and isinstance(node, ir.FunctionDef):
            raise Refused(f"`{node.name}` is a plain Python function, which would have to be run")
        return found

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
        indent = node.span.column - 1
        return f"{decorators}{dedent(text, indent)}", f"{decorators}{dedent(twin, indent)}"

    def _flagged_in(self, module: Module, node: ir.FunctionDef) -> Iterator[tuple[int, Span]]:
        for number, places in enumerate(self._flagged):
            for location in places:
                if location.path == module.path and node.span.covers(location.span):
                    yield number, location.span

    def _decorators(self, node: ir.FunctionDef, place: Place) -> str:
        """The Warp decorator, with those of its arguments that change what is compiled."""
        lines: list[str] = []
        if id(node) in self._made_kernels:
            backward = self._made_kernels[id(node)]
            lines.append(f"@{WARP}.kernel" + ("" if backward is None else f"(enable_backward={backward})"))
        for decorator in node.decorators:
            call = decorator if isinstance(decorator, ir.Call) else None
            name = self._decorator(decorator, place.module, place.scope)
            if name not in _WARP_DEFINITIONS:
                continue
            arguments: list[str] = []
            if call is not None and name in ("warp.func_grad", "warp.func_replay", "warp.func_native"):
                for argument in call.args:
                    arguments.append(self._rewritten(argument, place))
                for keyword in call.keywords:
                    if keyword.name is not None:
                        arguments.append(f"{keyword.name}={self._rewritten(keyword.value, place)}")
            elif call is not None and name == "warp.kernel":
                for keyword in call.keywords:
                    if keyword.name not in _KERNEL_OPTIONS:
                        continue
                    if keyword.name == "enable_backward" and _BACKWARD in place.closure:
                        arguments.append(f"enable_backward={place.closure[_BACKWARD]!r}")
                        continue
                    try:
                        arguments.append(f"{keyword.name}={self._rewritten(keyword.value, place)}")
                    except Refused:
                        if keyword.name == "enable_backward":
                            continue  # decided at run time: the default is what a tape needs
            lines.append(f"@{WARP}.{name.partition('.')[2]}" + (f"({', '.join(arguments)})" if arguments else ""))
        return "".join(f"{line}\n" for line in lines)

    def _struct(self, node: ir.ClassDef, place: Place, name: str) -> str:
        if node.keywords or not all(self._plain(base, place) for base in node.bases):
            raise Refused(f"the struct `{node.name}` has a base class that may do something when it is made")
        inner = Place(place.module, (*place.scope, node), place.closure)
        lines = [f"@{WARP}.struct", f"class {name}:"]
        for statement in node.body:
            if isinstance(statement, ir.AnnAssign) and isinstance(statement.target, ir.Name):
                edits: list[Edit] = []
                self._annotation(statement.annotation, inner, edits)
                kind = cut(place.module.lines, statement.annotation.span, edits)
                lines.append(f"    {statement.target.id}: {joined(kind)}")
        if len(lines) == 2:
            lines.append("    pass")
        return "\n".join(lines)

    def _plain(self, base: ir.Expr, place: Place, depth: int = 0) -> bool:
        """Whether a base class of a struct can be left out: a Warp struct has the fields of its own body only
        (``get_annotations`` in ``warp/_src/codegen.py``), and the base adds nothing when a class is derived from it."""
        found = self._project.resolve(place.module, base, place.scope)
        if isinstance(found, External):
            return found.name in PLAIN_BASES
        if not isinstance(found, Definition) or not isinstance(found.node, ir.ClassDef) or depth > _LONGEST_LINE:
            return False
        node = found.node
        outer = Place(found.module, found.scope)
        return (
            not node.decorators
            and not node.keywords
            and not any(isinstance(s, ir.FunctionDef) and s.name == "__init_subclass__" for s in node.body)
            and all(self._plain(further, outer, depth + 1) for further in node.bases)
        )

    def _enum(self, node: ir.ClassDef, place: Place, name: str, counting: bool = False) -> str:
        """A class that only holds constants: enumerations and configuration.

        ``counting`` makes numbers that count things positive.
        """
        bases = []
        for base in node.bases:
            external = self._project.external(place.module, base, place.scope)
            called = self._project.external(place.module, base.func, place.scope) if isinstance(base, ir.Call) else None
            if external not in ENUMS and external != "int" and not (called or "").startswith("warp."):
                raise Refused(f"the class `{node.name}` has a base that would have to be run")
            bases.append(self._rewritten(base, place))
        if node.keywords:
            raise Refused(f"the class `{node.name}` has class arguments")
        inner = Place(place.module, (*place.scope, node), place.closure)
        names = {
            target.id
            for s in node.body
            if isinstance(s, ir.Assign)
            for target in s.targets
            if isinstance(target, ir.Name)
        }
        lines = [f"class {name}({', '.join(bases)}):"]
        for statement in node.body:
            value = statement.value if isinstance(statement, (ir.Assign, ir.AnnAssign)) else None
            targets = statement.targets if isinstance(statement, ir.Assign) else ()
            if isinstance(statement, ir.AnnAssign):
                targets = (statement.target,)
            if value is None or len(targets) != 1 or not isinstance(targets[0], ir.Name):
                continue
            if counting and isinstance(value, ir.Constant) and value.value == 0 and COUNTS.search(targets[0].id):
                lines.append(f"    {targets[0].id} = 3")
                continue
            edits: list[Edit] = []
            try:
                self._constant(value, inner, edits, local=names)
            except Refused:
                if bases:
                    return self._numbered(node, place, lines[0])
                continue  # a member that the kernel may not even use; if it does, Warp says so
            lines.append(f"    {targets[0].id} = {joined(cut(place.module.lines, value.span, edits))}")
        if len(lines) == 1:
            lines.append("    pass")
        return "\n".join(lines)

    def _numbered(self, node: ir.ClassDef, place: Place, head: str) -> str:
        """An enumeration of numbers from a package outside of the project: other numbers do as well.

        Raises Refused for one that is made of anything else.
        """
        values = [
            (statement.targets[0].id, statement.value)
            for statement in node.body
            if isinstance(statement, ir.Assign) and isinstance(statement.targets[0], ir.Name)
        ]
        kinds = {self._project.external(place.module, base, place.scope) for base in node.bases}
        own = {value.value for _, value in values if isinstance(value, ir.Constant) and type(value.value) is int}
        outside = [name for name, value in values if self._is_outside(value, place)]
        others = [k for k, (_, value) in enumerate(values) if not isinstance(value, ir.Constant)]
        if len(others) > len(outside) or not kinds <= {"enum.IntEnum", "enum.IntFlag"}:
            raise Refused(f"the class `{node.name}` has members that would have to be run")
        self._assumed[node.name] = "numbers in order"
        self._guessed.add(node.name)
        flags = "enum.IntFlag" in kinds
        free = (number for k in itertools.count() if (number := 1 << k if flags else k) not in own)
        numbers = {name: next(free) for name in outside}
        known = {name: value.value for name, value in values if isinstance(value, ir.Constant)}
        return "\n".join([head, *(f"    {name} = {(known | numbers)[name]!r}" for name, _ in values)])


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
