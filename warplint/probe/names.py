"""Names and expressions of a slice: what they mean where they stood, and what to write for them in the script."""

from __future__ import annotations

import builtins
import re
from collections.abc import Iterable
from dataclasses import replace

from warplint.ir import syntax as ir
from warplint.probe import wishes
from warplint.probe.allowed import IMPORTABLE, may_call, may_name, may_read, widened
from warplint.probe.factory_values import FactoryValues
from warplint.probe.folding import Thing, Unfolded
from warplint.probe.records import record_fields
from warplint.probe.rewrite import Edit, cut
from warplint.probe.script import DEEPEST, Item, Place, Refused
from warplint.source.bindings import target_names
from warplint.source.project import (
    Definition,
    External,
    ModuleRef,
    ParameterRef,
    Resolved,
    Value,
    canonical,
)

#: Decorators of plain classes and of factories that may be ignored: what they do is not needed.
IGNORED = (
    "staticmethod",
    "enum.unique",
    "enum.verify",
    "dataclasses.dataclass",
    "functools.cache",
    "functools.lru_cache",
)
#: What Warp runs the argument of while it compiles.
_EVALUATING = ("warp.static",)


#: Constants that are numbers, by what they are called; and those of them that are small or large.
_NUMBER = re.compile(r"_?[A-Z][A-Z0-9_]*")
_SMALL, _LARGE = re.compile("MIN|EPS|TOL"), re.compile("MAX|INF")


class Names(FactoryValues):
    """Rewrites names and expressions for the script, and adds to it what they need."""

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
            chain = _chain(expr.func) if isinstance(expr.func, (ir.Name, ir.Attribute)) else None
            if chain is not None and chain[0].id in local:
                raise Refused(f"`{chain[0].id}`, a variable, would have to be called")
            if isinstance(expr.func, (ir.Name, ir.Attribute)):
                resolved = self._project.resolve(place.module, expr.func, place.scope)
                allowed = isinstance(resolved, External) and may_call(resolved.name)
                if allowed or self._names_warp_type(resolved) or self._imports is not None:
                    self._executed_name(expr.func, place, edits, local, called=True)
                    self._passed(expr, place, edits, local)
                    return
            elif isinstance(expr.func, ir.Call) and self._is_warp_type(expr.func, place):
                # a vector or matrix type that is made where it is used
                self._constant(expr.func, place, edits, local)
                self._passed(expr, place, edits, local)
                return
            if self._recorded(expr, place, edits, local):
                return
            written = ir.dotted(expr.func) or "..."
            try:
                value = self._folded(expr, place)
            except Unfolded:
                raise Refused(f"the call `{written}(...)` would have to be run") from None
            if isinstance(value, (tuple, Thing)):
                raise Refused(f"the call `{written}(...)` would have to be run")
            edits.append(Edit(expr.span, repr(value)))
            return
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

    def _recorded(self, call: ir.Call, place: Place, edits: list[Edit], local: set[str] | frozenset[str]) -> bool:
        """Whether ``call`` makes a record: an object of a class of the project that has nothing but named fields."""
        if not isinstance(call.func, (ir.Name, ir.Attribute)):
            return False
        found = self._project.resolve(place.module, call.func, place.scope)
        if not isinstance(found, Definition) or not isinstance(found.node, ir.ClassDef):
            return False
        fields = record_fields(self._project, found)
        if fields is None:
            return False
        key = ("record", found.module.path, found.qualname)
        item = self._items.get(key)
        if item is None:
            item = Item(self._fresh(found.node.name))
            inner = Place(found.module, found.scope)
            lines = [f"class {item.name}({self._external('typing.NamedTuple', 'NamedTuple')}):"]
            for name, default in fields.items():
                text = f" = {self._rewritten(default, inner)}" if default is not None else ""
                lines.append(f"    {name}: object{text}")
            item.text = "\n".join(lines)
            self._items[key] = item
            self._order.append(item)
        edits.append(Edit(call.func.span, item.name))
        self._passed(call, place, edits, local)
        return True

    def _passed(
        self, call: ir.Call, place: Place, edits: list[Edit], local: set[str] | frozenset[str] = frozenset()
    ) -> None:
        """Checks the arguments of a call."""
        for argument in call.args:
            self._constant(argument.value if isinstance(argument, ir.Starred) else argument, place, edits, local)
        for keyword in call.keywords:
            self._constant(keyword.value, place, edits, local)

    def _is_warp_type(self, call: ir.Call, place: Place) -> bool:
        name = self._project.external(place.module, call.func, place.scope)
        return name is not None and name.startswith("warp.") and may_call(name)

    def _names_warp_type(self, resolved: Resolved) -> bool:
        """Whether a name stands for a vector or matrix type: it is bound to a call that makes one, and to nothing
        else."""
        return (
            isinstance(resolved, Value)
            and isinstance(resolved.expr, ir.Call)
            and self._is_warp_type(resolved.expr, Place(resolved.module, resolved.scope))
        )

    def _executed_name(
        self,
        expr: ir.Name | ir.Attribute,
        place: Place,
        edits: list[Edit],
        local: set[str] | frozenset[str],
        called: bool = False,
    ) -> None:
        chain = _chain(expr)
        if chain is not None and chain[0].id in local:
            return
        resolved = self._project.resolve(place.module, expr, place.scope)
        if isinstance(resolved, External) and canonical(resolved.name) in _EVALUATING and not called:
            raise Refused(f"`{resolved.name}` is passed on, and may be called with anything")
        if isinstance(resolved, External) and not may_read(resolved.name) and self._imports is None:
            raise Refused(f"`{resolved.name}` would have to be run")
        replacement = self._reference(expr, place, local)
        if replacement is not None:
            edits.append(Edit(expr.span, replacement))

    # --- bodies, which Warp compiles ---

    def _body(self, node: ir.Node, place: Place, local: set[str], edits: list[Edit]) -> None:
        if isinstance(node, ir.Attribute) and node.attr.startswith("__"):
            raise Refused(f"`{node.attr}` would have to be read")
        if isinstance(node, (ir.Name, ir.Attribute)):
            self._named_in_body(node, place, local)
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
            for argument in (*node.args, *(keyword.value for keyword in node.keywords)):
                self._constant(argument, place, edits, local)
            return
        for child in ir.children(node):
            if isinstance(child, ir.Keyword):
                self._body(child.value, place, local, edits)
            else:
                self._body(child, place, local, edits)

    def _named_in_body(self, expr: ir.Name | ir.Attribute, place: Place, local: set[str]) -> None:
        """Refuses what Warp would do more with than compile it, whatever it is called here."""
        chain = _chain(expr)
        if chain is None or chain[0].id in local or self._imports is not None:
            return
        resolved = self._project.resolve(place.module, expr, place.scope)
        if isinstance(resolved, Value) and isinstance(resolved.expr, (ir.Name, ir.Attribute)):
            resolved = self._project.resolve(resolved.module, resolved.expr, resolved.scope)
        if not isinstance(resolved, External):
            return
        name = canonical(resolved.name)
        if name in _EVALUATING:
            raise Refused(f"`{ir.dotted(expr)}` is another name for `{name}`, whose argument would have to be run")
        if name.startswith(("warp.", "numpy.", "math.", "typing.", "enum.")) and not may_name(name):
            raise Refused(f"`{resolved.name}` would have to be run")

    def _executed_name_of(self, expr: ir.Expr, place: Place, local: set[str], edits: list[Edit]) -> None:
        if isinstance(expr, (ir.Name, ir.Attribute)):
            self._executed_name(expr, place, edits, local, called=True)

    def _bounds_of(self, names: Iterable[ir.Name], place: Place, local: set[str]) -> None:
        """Notes the parameters of factories that bound loops around a flagged place.

        A loop that Warp unrolls has no defect of a dynamic one, so that few rounds would show nothing.
        """
        for name in names:
            found = self._project.resolve(place.module, name, place.scope) if name.id not in local else None
            if isinstance(found, ParameterRef):
                self._bounding.add((found.function.span, found.parameter.name))

    def _wish_for(self, conditions: Iterable[tuple[ir.Expr, bool]], place: Place, local: set[str]) -> None:
        """Notes which values of a factory's parameters lead to a flagged place, where that is decided by such.

        What was noted first stands: one kernel may have flagged places on both sides.
        """
        for condition, holds in conditions:
            for name, value in wishes.wanted(condition, holds):
                if not isinstance(name, ir.Name) or name.id in local:
                    continue
                found = self._project.resolve(place.module, name, place.scope)
                if isinstance(found, ParameterRef):
                    self._wishes.setdefault((found.function.span, found.parameter.name), value)
                elif isinstance(found, Value) and value in (True, False) and self._depth <= DEEPEST:
                    self._depth += 1
                    self._wish_for([(found.expr, bool(value))], Place(found.module, found.scope, place.closure), set())
                    self._depth -= 1

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
            wide = self._wide(".".join([resolved.name, *(attribute.attr for attribute in attributes)]))
            written = wide or self._external(resolved.name, root.id)
            used = len(attributes) if wide else 0
        else:
            prefix: ir.Expr = root
            used = 0
            if attributes and not isinstance(resolved, (Definition, ModuleRef)):
                made = self._local(root, place, attributes[0].attr)
                if made is not None:
                    return made + "".join(f".{attribute.attr}" for attribute in attributes[1:])
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
            return self._wide(resolved.name) or self._external(resolved.name, dotted.rpartition(".")[2])
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
        found = self._bound(prefix.id, place) if isinstance(prefix, ir.Name) else None
        if found is not None and isinstance(prefix, ir.Name):
            local = self._local(prefix, place)
            if local is not None:
                return local
            value, element, scope = found
            if isinstance(value, (ir.Subscript, ir.Name)):
                text = self._rewritten(value, replace(place, scope=scope))
                return text if element is None else self._element(prefix.id, text, element)
        raise Refused(f"it cannot be told what `{dotted}` is")

    def element_type(self, name: str) -> str:
        """What Warp's type ``name`` (``vec3f``) is in the script."""
        return self._wide(f"warp.{name}") or name

    def _wide(self, name: str) -> str | None:
        """What stands for a type of half precision, where something does."""
        wide = widened(canonical(name)) if self._widens else None
        if wide is None:
            return None
        self._assumed[name.rpartition(".")[2]] = wide
        return self._external(f"warp.{wide}", wide)

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
        number = ""
        if top not in IMPORTABLE and self._imports is None:
            number = _some_number(written)
            if not number or "." not in name:
                raise Refused(f"`{name}` is imported from outside the project")
            self._assumed[written] = number
            self._guessed.add(written)
        key = ("external", name)
        item = self._items.get(key)
        if item is None:
            item = self._items[key] = Item(self._fresh(written))
            item.text = f"{item.name} = {number}" if number else _import(name, item.name)
            self._order.append(item)
        return item.name

    def _value(self, value: Value, name: str, place: Place) -> str:
        closure = tuple(sorted((key, repr(one)) for key, one in place.closure.items())) if value.scope else ()
        key = (value.module.path, "value", value.expr.span, closure)
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
                if value.scope and isinstance(value.expr, (ir.Compare, ir.Boolean, ir.Conditional)):
                    # what is only asked about need not be in the script
                    edits.append(Edit(value.expr.span, repr(self._folded(value.expr, inner))))
                else:
                    raise Unfolded
            except Unfolded:
                try:
                    self._constant(value.expr, inner, edits)
                except Refused:
                    if imported is None or imports is None:
                        del self._items[key]
                        raise
                    imports.need(value.module)
                    item.text = imported
            finally:
                self._imports = imports
            item.text = item.text or f"{item.name} = {joined(cut(value.module.lines, value.expr.span, edits))}"
            self._order.append(item)
        return item.name

    def _is_outside(self, expr: ir.Expr, place: Place) -> bool:
        """Whether ``expr`` names something of a package that is neither the project nor Warp nor what computes."""
        if not isinstance(expr, ir.Attribute):
            return False
        name = self._project.external(place.module, expr, place.scope) or ""
        return "." in name and name.partition(".")[0] not in IMPORTABLE


def _chain(expr: ir.Expr) -> tuple[ir.Name, list[ir.Attribute]] | None:
    attributes: list[ir.Attribute] = []
    while isinstance(expr, ir.Attribute):
        attributes.append(expr)
        expr = expr.value
    return (expr, attributes[::-1]) if isinstance(expr, ir.Name) else None


def _some_number(name: str) -> str:
    """What stands for a constant that is imported from elsewhere; empty where it need not be a number."""
    if not _NUMBER.fullmatch(name):
        return ""
    return "1.0e-6" if _SMALL.search(name) else "1.0e6" if _LARGE.search(name) else "0.7"


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
