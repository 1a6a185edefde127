"""Names and expressions of a slice: what they mean where they stood, and what to write for them in the script."""

from __future__ import annotations

import abc
import builtins
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from warplint.ir import syntax as ir
from warplint.ir.programs import DefinitionRef
from warplint.probe import factories
from warplint.probe.allowed import IMPORTABLE, may_call, may_read
from warplint.probe.imports import Imports
from warplint.probe.rewrite import WARP, Edit, cut
from warplint.source.bindings import target_names
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


class Refused(Exception):
    """The slice would have to execute something that it may not; the message says what, as a clause."""


@dataclass(frozen=True, slots=True)
class _Text:
    """A closure variable that the script already has under this text."""

    text: str


#: Decorators of plain classes and of factories that may be ignored: what they do is not needed.
IGNORED = (
    "staticmethod",
    "enum.unique",
    "enum.verify",
    "dataclasses.dataclass",
    "functools.cache",
    "functools.lru_cache",
)
#: Names of numbers that say how many there are.
COUNTS = re.compile(r"(?:^|_)(?:n|num|count|size|dim|max|len)")
#: How deep factories may call factories.
_DEEPEST = 6


@dataclass
class Item:
    """One definition or constant of the script."""

    name: str
    text: str = ""
    twin: str = ""
    done: bool = False


@dataclass(frozen=True)
class Place:
    """Where an expression stands: its module, the scope around it, and values known for the scope's variables."""

    module: Module
    scope: Scope
    closure: Mapping[str, object] = field(default_factory=dict)


class Names(abc.ABC):
    """Rewrites names and expressions for the script, and adds to it what they need."""

    def __init__(self, project: Project, imports: Imports | None = None) -> None:
        self._project = project
        # what may be imported from the project and elsewhere; None: nothing
        self._imports = imports
        self._items: dict[object, Item] = {}
        self._order: list[Item] = []
        self._taken: set[str] = {WARP}
        self._depth = 0

    @abc.abstractmethod
    def add(self, ref: DefinitionRef) -> str:
        """Puts a definition into the script; returns its name there. Raises Refused."""

    @abc.abstractmethod
    def _definition(self, definition: Definition, closure: Mapping[str, object]) -> str: ...

    @abc.abstractmethod
    def _enum(self, node: ir.ClassDef, place: Place, name: str, counting: bool = False) -> str: ...

    @abc.abstractmethod
    def _kind(self, definition: Definition) -> str: ...

    # --- expressions that Python runs ---

    def _rewritten(self, expr: ir.Expr, place: Place) -> str:
        edits: list[Edit] = []
        self._constant(expr, place, edits)
        return joined(cut(place.module.lines, expr.span, edits))

    def _annotation(self, expr: ir.Expr, place: Place, edits: list[Edit]) -> None:
        if isinstance(expr, ir.Constant) and isinstance(expr.value, str):
            parsed = self._project.reader_for(place.module.path, place.module.regions[0])(expr.value, expr.span.line)
            if (
                len(parsed) == 1
                and isinstance(parsed[0], ir.ExprStmt)
                and isinstance(parsed[0].value, (ir.Name, ir.Attribute))
            ):
                edits.append(Edit(expr.span, self._reference(parsed[0].value, place, set()) or expr.value))
                return
            raise Refused("an annotation is a string")
        self._constant(expr, place, edits)

    def _constant(
        self, expr: ir.Expr, place: Place, edits: list[Edit], local: set[str] | frozenset[str] = frozenset()
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
                allowed = isinstance(resolved, External) and may_call(resolved.name)
                if allowed or self._imports is not None:
                    self._executed_name(expr.func, place, edits, local)
                    self._passed(expr, place, edits, local)
                    return
            elif isinstance(expr.func, ir.Call) and self._is_warp_type(expr.func, place):
                # a vector or matrix type that is made where it is used
                self._constant(expr.func, place, edits, local)
                self._passed(expr, place, edits, local)
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
            (
                ir.Unary,
                ir.Binary,
                ir.Compare,
                ir.Boolean,
                ir.Conditional,
                ir.Tuple,
                ir.List,
                ir.Dict,
                ir.Set,
                ir.Subscript,
                ir.Slice,
            ),
        ):
            for part in ir.children(expr):
                self._constant(part, place, edits, local)  # type: ignore[arg-type]
            return
        raise Refused(
            f"a constant is made by {_article(type(expr).__name__.lower())} expression, which would have to be run"
        )

    def _passed(
        self, call: ir.Call, place: Place, edits: list[Edit], local: set[str] | frozenset[str] = frozenset()
    ) -> None:
        """Checks the arguments of a call."""
        for argument in call.args:
            self._constant(argument, place, edits, local)
        for keyword in call.keywords:
            self._constant(keyword.value, place, edits, local)

    def _is_warp_type(self, call: ir.Call, place: Place) -> bool:
        name = self._project.external(place.module, call.func, place.scope)
        return name is not None and name.startswith("warp.") and may_call(name)

    def _executed_name(
        self, expr: ir.Name | ir.Attribute, place: Place, edits: list[Edit], local: set[str] | frozenset[str]
    ) -> None:
        chain = _chain(expr)
        if chain is not None and chain[0].id in local:
            return
        resolved = self._project.resolve(place.module, expr, place.scope)
        if isinstance(resolved, External) and not may_read(resolved.name) and self._imports is None:
            raise Refused(f"`{resolved.name}` would have to be run")
        replacement = self._reference(expr, place, local)
        if replacement is not None:
            edits.append(Edit(expr.span, replacement))

    # --- bodies, which Warp compiles ---

    def _body(self, node: ir.Node, place: Place, local: set[str], edits: list[Edit]) -> None:
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

    def _executed_name_of(self, expr: ir.Expr, place: Place, local: set[str], edits: list[Edit]) -> None:
        if isinstance(expr, (ir.Name, ir.Attribute)):
            self._executed_name(expr, place, edits, local)

    # --- names ---

    def _reference(self, expr: ir.Name | ir.Attribute, place: Place, local: set[str] | frozenset[str]) -> str | None:
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

    def _written(self, resolved: Resolved, prefix: ir.Expr, place: Place) -> str:
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
            made = self._made(resolved.expr, Place(resolved.module, resolved.scope, place.closure))
            if made is not None:
                return made
        if isinstance(resolved, Value):
            return self._value(resolved, dotted.rpartition(".")[2], place)
        if isinstance(resolved, ParameterRef):
            return self._chosen(resolved, place)
        found = factories.unpacked(prefix, place.scope) if isinstance(prefix, ir.Name) else None
        if found is not None:
            value, element, scope = found
            made = self._made(value, Place(place.module, scope, place.closure), element)
            if made is not None:
                return made
        raise Refused(f"it cannot be told what `{dotted}` is")

    def _external(self, name: str, written: str) -> str:
        """Makes something from outside the project available under the name ``written``, if that is free."""
        top = name.partition(".")[0]
        if "." not in name and top not in IMPORTABLE:
            if may_read(name) or name in ("print", "type", "isinstance", "hasattr", "NotImplemented"):
                return name
            if self._imports is None:
                raise Refused(f"`{name}` is imported from outside the project")
            if hasattr(builtins, name):
                return name
        elif top not in IMPORTABLE and self._imports is None:
            raise Refused(f"`{name}` is imported from outside the project")
        key = ("external", name)
        item = self._items.get(key)
        if item is None:
            item = self._items[key] = Item(self._fresh(written))
            item.text = _import(name, item.name)
            self._order.append(item)
        return item.name

    def _value(self, value: Value, name: str, place: Place) -> str:
        key = (value.module.path, "value", value.expr.span)
        item = self._items.get(key)
        if item is None:
            item = self._items[key] = Item(self._fresh(name))
            inner = Place(value.module, value.scope, place.closure)
            edits: list[Edit] = []
            imports = self._imports
            # What its module holds is imported from there, not computed once more.
            imported = imports.value(value, item.name) if imports is not None else None
            self._imports = imports if imported is None else None
            try:
                self._constant(value.expr, inner, edits)
                item.text = f"{item.name} = {joined(cut(value.module.lines, value.expr.span, edits))}"
            except Refused:
                if imported is None or imports is None:
                    del self._items[key]
                    raise
                imports.need(value.module)
                item.text = imported
            finally:
                self._imports = imports
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
            item = self._items[key] = Item(self._fresh(name))
            item.text = f"{item.name} = {value!r}"
            self._order.append(item)
        return item.name

    def _made(self, expr: ir.Expr, place: Place, element: int | None = None) -> str | None:
        """The name of the definition that a call of a factory returns; None if ``expr`` is no such call.

        ``element`` says which one where it returns several.
        """
        attribute = None
        if isinstance(expr, ir.Subscript) and isinstance(expr.index, ir.Constant) and isinstance(expr.index.value, int):
            element, expr = expr.index.value, expr.value
        if isinstance(expr, ir.Attribute) and isinstance(expr.value, ir.Call):
            attribute, expr = expr.attr, expr.value
        if not isinstance(expr, ir.Call) or not isinstance(expr.func, (ir.Name, ir.Attribute)):
            return None
        factory = self._project.resolve(place.module, expr.func, place.scope)
        if not isinstance(factory, Definition) or not isinstance(factory.node, ir.FunctionDef):
            return None
        inner = factories.returned(factory, attribute, element)
        bound = factories.bind(expr, factory.node)
        if inner is None or bound is None or self._depth > _DEEPEST:
            return None
        self._depth += 1
        try:
            return self._definition(inner, self._arguments(bound, place))
        finally:
            self._depth -= 1

    def _arguments(self, bound: Mapping[str, ir.Expr], place: Place) -> dict[str, object]:
        """Closure variables for the parameters of a factory, from the expressions passed."""
        found: dict[str, object] = {}
        for name, expr in bound.items():
            made = self._made(expr, place)
            found[name] = _Text(made if made is not None else f"({self._rewritten(expr, place)})")
        return found

    def _from_call_site(self, reference: ParameterRef, place: Place) -> str | None:
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
                given = self._arguments(
                    {reference.parameter.name: bound[reference.parameter.name]}, Place(module, outer)
                )
            except Refused:
                continue
            finally:
                self._depth -= 1
            return self._known(reference.parameter.name, given[reference.parameter.name])
        return None

    def _settings(self, parameter: ir.Parameter, place: Place) -> str | None:
        """A class of the project that the parameter is annotated with, if all that is needed of it are constants.

        What is passed is an instance, with other values than the defaults: nothing is counted as none.
        """
        if not isinstance(parameter.annotation, (ir.Name, ir.Attribute)):
            return None
        found = self._project.resolve(place.module, parameter.annotation, place.scope)
        if not isinstance(found, Definition) or not isinstance(found.node, ir.ClassDef):
            return None
        if self._kind(found):
            return self._definition(found, {})
        key = ("settings", found.module.path, found.qualname)
        item = self._items.get(key)
        if item is None:
            item = self._items[key] = Item(self._fresh(found.node.name))
            item.text = self._enum(found.node, Place(found.module, found.scope), item.name, counting=True)
            self._order.append(item)
        return item.name

    def _chosen(self, reference: ParameterRef, place: Place) -> str:
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
            if short == "int" or annotation is None and COUNTS.search(parameter.name):
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
        item = self._items[key] = Item(self._fresh(parameter.name))
        item.text = f"{item.name} = {text}"
        self._order.append(item)
        return item.name

    def _alias(self, name: str) -> str:
        """Another name for ``name``, for functions in which a local hides it."""
        key = ("alias", name)
        item = self._items.get(key)
        if item is None:
            item = self._items[key] = Item(self._fresh(f"{name}_outer"))
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


def joined(text: str) -> str:
    """An expression that may span lines, safe to put after ``name = ``."""
    return f"({text})" if "\n" in text else text


def _article(word: str) -> str:
    return f"an {word}" if word[0] in "aeiou" else f"a {word}"
