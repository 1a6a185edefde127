"""Slices: the definitions that a program needs, cut out of the source across modules, as one stand-alone script.

Nothing but the slice is ever executed, and the parts of it that Python runs on import (decorators, annotations, defaults,
constants, ``wp.static``) consist of literals, arithmetic and calls that are known to compute only.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from warplint.ir import syntax as ir
from warplint.ir.programs import DefinitionRef
from warplint.ir.spans import Location, Span
from warplint.probe import factories
from warplint.probe.allowed import ENUMS, IMPORTABLE, may_call, may_read
from warplint.probe.rewrite import WARP, Edit, cut, dedent, reach_edits
from warplint.source.bindings import bound_names, target_names
from warplint.source.project import (
    Definition,
    External,
    Module,
    ModuleRef,
    ParameterRef,
    Project,
    Resolved,
    Scope,
    Value,
)

_WARP_DEFINITIONS = ("warp.kernel", "warp.func", "warp.struct", "warp.func_native", "warp.func_grad", "warp.func_replay")
_KERNEL_OPTIONS = ("enable_backward", "grid_stride", "launch_bounds")
_CUSTOM = re.compile(r"func_grad|func_replay")
_CONFIG = ("enable_backward", "max_unroll", "enable_vector_component_overwrites")


class Refused(Exception):
    """The slice would have to execute something that it may not; the message says what, as a clause."""


@dataclass(frozen=True, slots=True)
class _Text:
    """A closure variable that the script already has under this text."""

    text: str


#: Decorators of plain classes and of factories that may be ignored: what they do is not needed.
_IGNORED = ("staticmethod", "enum.unique", "enum.verify", "dataclasses.dataclass", "functools.cache", "functools.lru_cache")
#: How deep factories may call factories.
_DEEPEST = 6


@dataclass
class _Item:
    """One definition or constant of the script."""

    name: str
    text: str = ""
    twin: str = ""
    done: bool = False


@dataclass(frozen=True, slots=True)
class Slice:
    """``text`` is the script, ``twin`` the same with marks at flagged places (None if there are none)."""

    text: str
    twin: str | None
    #: For each mark that the twin prints, whether it stands in a loop.
    marks: Mapping[int, bool]


@dataclass(frozen=True)
class _Place:
    """Where an expression stands: its module, the scope around it, and values known for the scope's variables."""

    module: Module
    scope: Scope
    closure: Mapping[str, object] = field(default_factory=dict)


class Slicer:
    """Collects definitions into one script."""

    def __init__(
        self,
        project: Project,
        allow_native: bool = False,
        flagged: Sequence[Iterable[Location]] = (),
    ) -> None:
        self._project = project
        self._allow_native = allow_native
        # the places of mark 0, of mark 1, ...
        self._flagged = [tuple(places) for places in flagged]
        self._items: dict[object, _Item] = {}
        self._order: list[_Item] = []
        self._taken: set[str] = {WARP}
        self._options: list[str] = []
        self._marks: dict[int, bool] = {}
        self._depth = 0

    # --- the result ---

    def finish(self) -> Slice:
        """The script so far."""
        head = [f"import warp as {WARP}"]
        parts = [*head, *self._options, *(item.text for item in self._order)]
        twins = [*head, *self._options, *(item.twin or item.text for item in self._order)]
        text = "\n\n".join(parts) + "\n"
        return Slice(text, "\n\n".join(twins) + "\n" if self._marks else None, dict(self._marks))

    # --- definitions ---

    def add(self, ref: DefinitionRef) -> str:
        """Puts the definition and all that it needs into the script; returns its name there. Raises Refused."""
        module = self._project.module(ref.path)
        if module is None:
            raise Refused(f"`{ref.path.name}` cannot be read")
        definitions = list(_find(module, ref.qualname))
        if not definitions:
            raise Refused(f"`{ref.qualname}` is not found in `{ref.path.name}`")
        return self._definition(definitions[-1], dict(ref.closure))

    def options(self, path: Path) -> None:
        """Carries over what the module at ``path`` sets for all its kernels."""
        module = self._project.module(path)
        if module is None:
            return
        for region in module.regions:
            text = module.region_text(region)
            if "set_module_options" not in text and "config" not in text:
                continue
            for statement in module.read(region):
                self._option(statement, module)

    def _option(self, statement: ir.Stmt, module: Module) -> None:
        if isinstance(statement, ir.ExprStmt) and isinstance(statement.value, ir.Call):
            call = statement.value
            if self._project.external(module, call.func) == "warp.set_module_options" and call.args:
                options = call.args[0]
                if isinstance(options, ir.Dict):
                    for key, value in zip(options.keys, options.values):
                        if isinstance(key, ir.Constant) and isinstance(value, ir.Constant):
                            self._options.append(f"{WARP}.set_module_options({{{key.value!r}: {value.value!r}}})")
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
        item = self._items[key] = _Item(self._fresh(node.name))
        kind = self._kind(definition)
        if isinstance(node, ir.ClassDef):
            place = _Place(definition.module, definition.scope, closure)
            item.text = self._struct(node, place, item.name) if kind == "warp.struct" else self._enum(node, place, item.name)
            self._order.append(item)
            return item.name
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
        return item.name

    def _kind(self, definition: Definition) -> str:
        """Which Warp decorator makes the definition; empty for a class without one. Raises Refused for others."""
        node = definition.node
        found = ""
        for decorator in node.decorators:
            function = decorator.func if isinstance(decorator, ir.Call) else decorator
            name = self._project.external(definition.module, function, definition.scope)
            if name in _WARP_DEFINITIONS:
                found = name
            elif name in _IGNORED:
                continue
            else:
                written = ir.dotted(function) or "..."
                raise Refused(f"`{node.name}` has the decorator `@{written}`, which would have to be run")
        if found == "warp.func_native" and not self._allow_native:
            raise Refused(f"`{node.name}` is a native snippet")
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
                        item = self._items[key] = _Item(self._fresh(other.node.name))
                        item.text, item.twin = self._function(other, item.name, closure)
                        self._order.append(item)

    def _function(self, definition: Definition, name: str, closure: Mapping[str, object]) -> tuple[str, str]:
        """Source text of a kernel or func under its new name, and of its counting twin."""
        node = definition.node
        assert isinstance(node, ir.FunctionDef)
        module = definition.module
        outside = _Place(module, definition.scope, closure)
        inside = _Place(module, definition.inner_scope, closure)
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
        for statement in node.body:
            self._body(statement, inside, local, edits)
        decorators = self._decorators(node, outside)
        text = cut(module.lines, node.span, edits)
        marks, looped = reach_edits(node, module.lines, self._flagged_in(module, node))
        twin = cut(module.lines, node.span, [*edits, *marks])
        for number, in_loop in looped.items():
            self._marks[number] = self._marks.get(number, False) or in_loop
        indent = node.span.column - 1
        return f"{decorators}{dedent(text, indent)}", f"{decorators}{dedent(twin, indent)}"

    def _flagged_in(self, module: Module, node: ir.FunctionDef) -> Iterator[tuple[int, Span]]:
        for number, places in enumerate(self._flagged):
            for location in places:
                if location.path == module.path and node.span.covers(location.span):
                    yield number, location.span

    def _decorators(self, node: ir.FunctionDef, place: _Place) -> str:
        """The Warp decorator, with those of its arguments that change what is compiled."""
        lines: list[str] = []
        for decorator in node.decorators:
            call = decorator if isinstance(decorator, ir.Call) else None
            name = self._project.external(place.module, call.func if call else decorator, place.scope)
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
                    try:
                        arguments.append(f"{keyword.name}={self._rewritten(keyword.value, place)}")
                    except Refused:
                        if keyword.name == "enable_backward":
                            continue  # decided at run time: the default is what a tape needs
            lines.append(f"@{WARP}.{name.partition('.')[2]}" + (f"({', '.join(arguments)})" if arguments else ""))
        return "".join(f"{line}\n" for line in lines)

    def _struct(self, node: ir.ClassDef, place: _Place, name: str) -> str:
        if node.bases:
            raise Refused(f"the struct `{node.name}` has a base class")
        inner = _Place(place.module, (*place.scope, node), place.closure)
        lines = [f"@{WARP}.struct", f"class {name}:"]
        for statement in node.body:
            if isinstance(statement, ir.AnnAssign) and isinstance(statement.target, ir.Name):
                edits: list[Edit] = []
                self._annotation(statement.annotation, inner, edits)
                kind = cut(place.module.lines, statement.annotation.span, edits)
                lines.append(f"    {statement.target.id}: {_joined(kind)}")
        if len(lines) == 2:
            lines.append("    pass")
        return "\n".join(lines)

    def _enum(self, node: ir.ClassDef, place: _Place, name: str) -> str:
        """A class that only holds constants: enumerations and configuration."""
        bases = []
        for base in node.bases:
            external = self._project.external(place.module, base, place.scope)
            called = self._project.external(place.module, base.func, place.scope) if isinstance(base, ir.Call) else None
            if external not in ENUMS and external != "int" and not (called or "").startswith("warp."):
                raise Refused(f"the class `{node.name}` has a base that would have to be run")
            bases.append(self._rewritten(base, place))
        if node.keywords:
            raise Refused(f"the class `{node.name}` has class arguments")
        inner = _Place(place.module, (*place.scope, node), place.closure)
        names = {target.id for s in node.body if isinstance(s, ir.Assign) for target in s.targets if isinstance(target, ir.Name)}
        lines = [f"class {name}({', '.join(bases)}):"]
        for statement in node.body:
            value = statement.value if isinstance(statement, (ir.Assign, ir.AnnAssign)) else None
            targets = statement.targets if isinstance(statement, ir.Assign) else ()
            if isinstance(statement, ir.AnnAssign):
                targets = (statement.target,)
            if value is None or len(targets) != 1 or not isinstance(targets[0], ir.Name):
                continue
            edits: list[Edit] = []
            try:
                self._constant(value, inner, edits, local=names)
            except Refused:
                if bases:
                    raise
                continue  # a member that the kernel may not even use; if it does, Warp says so
            lines.append(f"    {targets[0].id} = {_joined(cut(place.module.lines, value.span, edits))}")
        if len(lines) == 1:
            lines.append("    pass")
        return "\n".join(lines)

    # --- expressions that Python runs ---

    def _rewritten(self, expr: ir.Expr, place: _Place) -> str:
        edits: list[Edit] = []
        self._constant(expr, place, edits)
        return _joined(cut(place.module.lines, expr.span, edits))

    def _annotation(self, expr: ir.Expr, place: _Place, edits: list[Edit]) -> None:
        if isinstance(expr, ir.Constant) and isinstance(expr.value, str):
            parsed = self._project.reader_for(place.module.path, place.module.regions[0])(expr.value, expr.span.line)
            if len(parsed) == 1 and isinstance(parsed[0], ir.ExprStmt) and isinstance(parsed[0].value, (ir.Name, ir.Attribute)):
                edits.append(Edit(expr.span, self._reference(parsed[0].value, place, set()) or expr.value))
                return
            raise Refused("an annotation is a string")
        self._constant(expr, place, edits)

    def _constant(
        self, expr: ir.Expr, place: _Place, edits: list[Edit], local: set[str] | frozenset[str] = frozenset()
    ) -> None:
        """Checks that ``expr`` only computes, and collects the edits that make its names resolve in the script."""
        if isinstance(expr, ir.Constant):
            return
        if isinstance(expr, ir.Attribute) and expr.attr.startswith("_"):
            raise Refused(f"`{expr.attr}` would have to be read")
        if isinstance(expr, ir.Attribute) and _chain(expr) is None:
            self._constant(expr.value, place, edits, local)
            return
        if isinstance(expr, (ir.Name, ir.Attribute)):
            self._executed_name(expr, place, edits, local)
            return
        if isinstance(expr, ir.Call):
            if isinstance(expr.func, (ir.Name, ir.Attribute)):
                resolved = self._project.resolve(place.module, expr.func, place.scope)
                if isinstance(resolved, External) and may_call(resolved.name):
                    self._executed_name(expr.func, place, edits, local)
                    for argument in expr.args:
                        self._constant(argument, place, edits, local)
                    for keyword in expr.keywords:
                        self._constant(keyword.value, place, edits, local)
                    return
            written = ir.dotted(expr.func) or "..."
            raise Refused(f"the call `{written}(...)` would have to be run")
        if isinstance(expr, ir.Comprehension):
            names = {name for generator in expr.generators for name in target_names(generator.target)}
            for child in (expr.key, expr.element, *(g.iterable for g in expr.generators)):
                if child is not None:
                    self._constant(child, place, edits, {*local, *names})
            for generator in expr.generators:
                for condition in generator.conditions:
                    self._constant(condition, place, edits, {*local, *names})
            return
        if isinstance(
            expr,
            (ir.Unary, ir.Binary, ir.Compare, ir.Boolean, ir.Conditional, ir.Tuple, ir.List, ir.Dict, ir.Set, ir.Subscript, ir.Slice),
        ):
            for child in ir.children(expr):
                self._constant(child, place, edits, local)  # type: ignore[arg-type]
            return
        raise Refused(f"a constant is made by {_article(type(expr).__name__.lower())} expression, which would have to be run")

    def _executed_name(
        self, expr: ir.Name | ir.Attribute, place: _Place, edits: list[Edit], local: set[str] | frozenset[str]
    ) -> None:
        chain = _chain(expr)
        if chain is not None and chain[0].id in local:
            return
        resolved = self._project.resolve(place.module, expr, place.scope)
        if isinstance(resolved, External) and not may_read(resolved.name):
            raise Refused(f"`{resolved.name}` would have to be run")
        replacement = self._reference(expr, place, local)
        if replacement is not None:
            edits.append(Edit(expr.span, replacement))

    # --- bodies, which Warp compiles ---

    def _body(self, node: ir.Node, place: _Place, local: set[str], edits: list[Edit]) -> None:
        if isinstance(node, (ir.Name, ir.Attribute)):
            replacement = self._reference(node, place, local)
            if replacement is not None:
                edits.append(Edit(node.span, replacement))
            if isinstance(node, ir.Attribute) and ir.dotted(node) is None:
                self._body(node.value, place, local, edits)
            return
        if isinstance(node, ir.Format):
            raise Refused("the kernel holds an f-string")
        if isinstance(node, (ir.FunctionDef, ir.ClassDef, ir.Lambda)):
            raise Refused("the kernel holds another definition")
        if isinstance(node, ir.AnnAssign):
            self._annotation(node.annotation, place, edits)
            self._body(node.target, place, local, edits)
            if node.value is not None:
                self._body(node.value, place, local, edits)
            return
        if isinstance(node, ir.Call) and self._project.external(place.module, node.func, place.scope) == "warp.static":
            # Warp evaluates the argument as Python
            made = self._made(node.args[0], place) if len(node.args) == 1 else None
            if made is not None:
                edits.append(Edit(node.span, made))
                return
            self._executed_name_of(node.func, place, local, edits)
            for argument in node.args:
                self._constant(argument, place, edits, local)
            return
        for child in ir.children(node):
            if isinstance(child, ir.Keyword):
                self._body(child.value, place, local, edits)
            else:
                self._body(child, place, local, edits)

    def _executed_name_of(self, expr: ir.Expr, place: _Place, local: set[str], edits: list[Edit]) -> None:
        if isinstance(expr, (ir.Name, ir.Attribute)):
            self._executed_name(expr, place, edits, local)

    # --- names ---

    def _reference(self, expr: ir.Name | ir.Attribute, place: _Place, local: set[str] | frozenset[str]) -> str | None:
        """What to write instead of ``expr``; None to leave it. What it needs is added to the script."""
        chain = _chain(expr)
        if chain is None or chain[0].id in local:
            return None
        root, attributes = chain
        resolved = self._project.resolve(place.module, root, place.scope)
        if isinstance(resolved, External):
            # The rest of the chain means outside what it meant where it stood.
            written = self._external(resolved.name, root.id)
            used = 0
        else:
            prefix: ir.Expr = root
            used = 0
            while used < len(attributes):
                longer = ir.Attribute(attributes[used].span, prefix, attributes[used].attr)
                following = self._project.resolve(place.module, longer, place.scope)
                nested = isinstance(resolved, Definition) and isinstance(following, Definition)
                if not nested and not isinstance(resolved, ModuleRef):
                    break
                prefix, resolved = longer, following
                used += 1
            written = self._written(resolved, prefix, place)
        rest = "".join(f".{attribute.attr}" for attribute in attributes[used:])
        if used == 0 and written == root.id:
            return None
        if written in local:
            written = self._alias(written)
        return written + rest

    def _written(self, resolved: Resolved, prefix: ir.Expr, place: _Place) -> str:
        dotted = ir.dotted(prefix) or "..."
        if isinstance(resolved, External):
            return self._external(resolved.name, dotted.rpartition(".")[2])
        if isinstance(resolved, Definition):
            if isinstance(resolved.node, ir.FunctionDef) or self._kind(resolved):
                return self._definition(resolved, place.closure)
            return self._definition(resolved, {})
        if isinstance(resolved, (Value, ParameterRef)) and isinstance(prefix, ir.Name) and prefix.id in place.closure:
            return self._known(prefix.id, place.closure[prefix.id])
        if isinstance(resolved, Value):
            made = self._made(resolved.expr, _Place(resolved.module, resolved.scope, place.closure))
            if made is not None:
                return made
        if isinstance(resolved, Value):
            return self._value(resolved, dotted.rpartition(".")[2], place)
        if isinstance(resolved, ParameterRef):
            return self._chosen(resolved, place)
        raise Refused(f"it cannot be told what `{dotted}` is")

    def _external(self, name: str, written: str) -> str:
        """Makes something from outside the project available under the name ``written``, if that is free."""
        top = name.partition(".")[0]
        if "." not in name and top not in IMPORTABLE:
            if may_read(name) or name in ("print", "type", "isinstance", "hasattr", "NotImplemented"):
                return name
            raise Refused(f"`{name}` is imported from outside the project")
        if top not in IMPORTABLE:
            raise Refused(f"`{name}` is imported from outside the project")
        key = ("external", name)
        item = self._items.get(key)
        if item is None:
            item = self._items[key] = _Item(self._fresh(written))
            item.text = _import(name, item.name)
            self._order.append(item)
        return item.name

    def _value(self, value: Value, name: str, place: _Place) -> str:
        key = (value.module.path, "value", value.expr.span)
        item = self._items.get(key)
        if item is None:
            item = self._items[key] = _Item(self._fresh(name))
            inner = _Place(value.module, value.scope, place.closure)
            edits: list[Edit] = []
            try:
                self._constant(value.expr, inner, edits)
            except Refused:
                del self._items[key]
                raise
            item.text = f"{item.name} = {_joined(cut(value.module.lines, value.expr.span, edits))}"
            self._order.append(item)
        return item.name

    def _known(self, name: str, value: object) -> str:
        """A closure variable whose value the analysis knows."""
        if isinstance(value, _Text):
            return value.text
        if isinstance(value, DefinitionRef):
            return self.add(value)
        if not isinstance(value, (int, float, bool, str, tuple)):
            raise Refused(f"the value of the closure variable `{name}` is not known")
        key = ("closure", name, repr(value))
        item = self._items.get(key)
        if item is None:
            item = self._items[key] = _Item(self._fresh(name))
            item.text = f"{item.name} = {value!r}"
            self._order.append(item)
        return item.name

    def _made(self, expr: ir.Expr, place: _Place) -> str | None:
        """The name of the definition that a call of a factory returns; None if ``expr`` is no such call."""
        attribute = None
        if isinstance(expr, ir.Attribute) and isinstance(expr.value, ir.Call):
            attribute, expr = expr.attr, expr.value
        if not isinstance(expr, ir.Call) or not isinstance(expr.func, (ir.Name, ir.Attribute)):
            return None
        factory = self._project.resolve(place.module, expr.func, place.scope)
        if not isinstance(factory, Definition) or not isinstance(factory.node, ir.FunctionDef):
            return None
        inner = factories.returned(factory, attribute)
        bound = factories.bind(expr, factory.node)
        if inner is None or bound is None or self._depth > _DEEPEST:
            return None
        self._depth += 1
        try:
            return self._definition(inner, self._arguments(bound, place))
        finally:
            self._depth -= 1

    def _arguments(self, bound: Mapping[str, ir.Expr], place: _Place) -> dict[str, object]:
        """Closure variables for the parameters of a factory, from the expressions passed."""
        found: dict[str, object] = {}
        for name, expr in bound.items():
            made = self._made(expr, place)
            found[name] = _Text(made if made is not None else f"({self._rewritten(expr, place)})")
        return found

    def _from_call_site(self, reference: ParameterRef, place: _Place) -> str | None:
        """A factory's parameter as the first understandable call of the factory in the project passes it."""
        scope = place.scope[: place.scope.index(reference.function)] if reference.function in place.scope else ()
        factory = Definition(place.module, reference.function, scope)
        if self._depth > _DEEPEST:
            return None
        for module, outer, call in factories.call_sites(self._project, factory):
            bound = factories.bind(call, reference.function)
            if bound is None or reference.parameter.name not in bound:
                continue
            self._depth += 1
            try:
                given = self._arguments({reference.parameter.name: bound[reference.parameter.name]}, _Place(module, outer))
            except Refused:
                continue
            finally:
                self._depth -= 1
            return self._known(reference.parameter.name, given[reference.parameter.name])
        return None

    def _settings(self, parameter: ir.Parameter, place: _Place) -> str | None:
        """A class of the project that the parameter is annotated with, if all that is needed of it are constants."""
        if not isinstance(parameter.annotation, (ir.Name, ir.Attribute)):
            return None
        found = self._project.resolve(place.module, parameter.annotation, place.scope)
        if not isinstance(found, Definition) or not isinstance(found.node, ir.ClassDef):
            return None
        return self._definition(found, {})

    def _chosen(self, reference: ParameterRef, place: _Place) -> str:
        """A parameter of a factory whose argument is not known: its default, or something that fits its annotation."""
        parameter = reference.parameter
        key = ("parameter", reference.function.span, place.module.path, parameter.name)
        item = self._items.get(key)
        if item is not None:
            return item.name
        text: str | None = None
        if isinstance(parameter.default, ir.Constant) and parameter.default.value is not None:
            text = repr(parameter.default.value)
        else:
            annotation = ir.dotted(parameter.annotation) if parameter.annotation is not None else None
            short = (annotation or "").rpartition(".")[2]
            if short == "int" or annotation is None and re.search(r"(?:^|_)(?:n|num|count|size|dim|max|len)", parameter.name):
                text = "3"
            elif short == "bool":
                text = "True"
            elif short == "float":
                text = "0.7"
            elif "dtype" in parameter.name or short == "type":
                text = f"{WARP}.float32"
        if text is None:
            text = self._settings(parameter, place) or self._from_call_site(reference, place)
        if text is None and isinstance(parameter.default, ir.Constant):
            text = "None"
        if text is None:
            raise Refused(f"the value of the factory's parameter `{parameter.name}` is not known")
        item = self._items[key] = _Item(self._fresh(parameter.name))
        item.text = f"{item.name} = {text}"
        self._order.append(item)
        return item.name

    def _alias(self, name: str) -> str:
        """Another name for ``name``, for functions in which a local hides it."""
        key = ("alias", name)
        item = self._items.get(key)
        if item is None:
            item = self._items[key] = _Item(self._fresh(f"{name}_outer"))
            item.text = f"{item.name} = {name}"
            self._order.append(item)
        return item.name

    def _fresh(self, name: str) -> str:
        candidate, number = name, 2
        while candidate in self._taken:
            candidate, number = f"{name}_{number}", number + 1
        self._taken.add(candidate)
        return candidate


def _chain(expr: ir.Expr) -> tuple[ir.Name, list[ir.Attribute]] | None:
    attributes: list[ir.Attribute] = []
    while isinstance(expr, ir.Attribute):
        attributes.append(expr)
        expr = expr.value
    return (expr, attributes[::-1]) if isinstance(expr, ir.Name) else None


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


def _import(name: str, alias: str) -> str:
    """A statement that binds ``alias`` to the external ``name``: a module, or something in one."""
    top, _, rest = name.partition(".")
    if not rest:
        return f"import {top} as {alias}" if alias != top else f"import {top}"
    if top in ("typing", "typing_extensions", "enum", "math", "numpy"):
        return f"import {top}\n{alias} = {name}"
    # part of Warp: an inner module, or a name in one
    owner, _, last = name.rpartition(".")
    return f"from {owner} import {last} as {alias}" if last != alias else f"from {owner} import {last}"


def _joined(text: str) -> str:
    """An expression that may span lines, safe to put after ``name = ``."""
    return f"({text})" if "\n" in text else text


def _article(word: str) -> str:
    return f"an {word}" if word[0] in "aeiou" else f"a {word}"
