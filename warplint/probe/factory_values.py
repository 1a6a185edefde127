"""What functions that make kernels are called with, and what they return: closure variables of a slice."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import replace

from warplint.ir import syntax as ir
from warplint.ir.programs import DefinitionRef
from warplint.probe import factories, wishes
from warplint.probe.allowed import ENUMS
from warplint.probe.folding import Unfolded, fold
from warplint.probe.rewrite import WARP
from warplint.probe.script import COUNTS, DEEPEST, Item, Place, Refused, Script, Text
from warplint.source.bindings import bound_names
from warplint.source.project import UNKNOWN, Definition, ParameterRef, Scope

#: Annotations of integers.
_INTEGERS = ("int", "int32", "uint32", "int64", "uint64")
#: The largest number that is taken over from a call of a factory: more of anything takes too long.
_LARGEST = 64


class FactoryValues(Script):
    """Values for the parameters of factories, and definitions for what factories make."""

    def _made(
        self, expr: ir.Expr, place: Place, element: int | None = None, attribute: str | None = None
    ) -> str | None:
        """The name of the definition that a call of a factory returns; None if ``expr`` is no such call.

        ``element`` says which one where it returns several; ``attribute`` asks for something that was set on it.
        """
        if isinstance(expr, ir.Subscript) and isinstance(expr.index, ir.Constant) and isinstance(expr.index.value, int):
            element, expr = expr.index.value, expr.value
        if isinstance(expr, ir.Attribute) and isinstance(expr.value, ir.Call) and attribute is None:
            attribute, expr = expr.attr, expr.value
        if not isinstance(expr, ir.Call) or not isinstance(expr.func, (ir.Name, ir.Attribute)):
            return None
        factory = self._project.resolve(place.module, expr.func, place.scope)
        if not isinstance(factory, Definition) or not isinstance(factory.node, ir.FunctionDef):
            return None
        returned = factories.returned(factory, element)
        bound = factories.bind(expr, factory.node)
        if returned is None or bound is None or self._depth > DEEPEST:
            return None
        self._depth += 1
        try:
            inside = Place(factory.module, factory.inner_scope, self._arguments(bound, place))
            wanted: ir.Expr | None = returned
            if attribute is not None:
                wanted = factories.attached(factory, returned.id, attribute)
                if wanted is None:
                    return self._local(returned, inside, attribute)
            return self._local(wanted, inside)
        finally:
            self._depth -= 1

    def _local(self, expr: ir.Expr | None, place: Place, attribute: str | None = None) -> str | None:
        """What a name in a factory (or ``attribute`` of it) stands for: a definition, or what another factory makes."""
        if not isinstance(expr, ir.Name):
            return None
        found = self._bound(expr.id, place)
        if found is None:
            named = self._project.resolve(place.module, expr, place.scope)
            if attribute is None and isinstance(named, Definition) and self._kind(named):
                return self._definition(named, place.closure)
            return None
        bound, element, scope = found
        if isinstance(bound, ir.FunctionDef):
            holder = Definition(place.module, scope[-1], scope[:-1])
            if attribute is None:
                return self._definition(Definition(place.module, bound, scope), place.closure)
            return self._local(factories.attached(holder, expr.id, attribute), replace(place, scope=scope))
        return self._made(bound, replace(place, scope=scope), element, attribute)

    def _bound(self, name: str, place: Place) -> tuple[ir.FunctionDef | ir.Expr, int | None, Scope] | None:
        """What binds ``name`` in the innermost function around ``place`` that binds it, and the scope of that."""
        for depth in range(len(place.scope), 0, -1):
            holder, scope = place.scope[depth - 1], place.scope[:depth]
            if not isinstance(holder, ir.FunctionDef) or not bound_names(holder).get(name):
                continue
            found = factories.bound_in(holder, name, functools.partial(self._decided, replace(place, scope=scope)))
            return (*found, scope) if found is not None else None
        return None

    def _decided(self, place: Place, test: ir.Expr) -> bool | None:
        """Whether a condition in a factory holds: parameters are what was passed, or their defaults."""
        try:
            return bool(self._folded(test, place))
        except Unfolded:
            return self._is_there(test, place)

    def _is_there(self, test: ir.Expr, place: Place) -> bool | None:
        """Whether a comparison of a closure variable with None holds, where the variable is something in any case."""
        if not isinstance(test, ir.Compare) or not isinstance(test.left, ir.Name) or len(test.operators) != 1:
            return None
        other = test.comparators[0]
        value = place.closure.get(test.left.id)
        if not (isinstance(other, ir.Constant) and other.value is None):
            return None
        if not isinstance(value, DefinitionRef) and not (isinstance(value, Text) and value.present):
            return None
        return {"is": False, "==": False, "is not": True, "!=": True}.get(test.operators[0])

    def _folded(self, expr: ir.Expr, place: Place) -> object:
        """What ``expr`` is, as far as that is known without the script. Raises Unfolded."""
        known = {
            name: value.meaning if isinstance(value, Text) else value
            for name, value in place.closure.items()
            if not isinstance(value, Text) or value.meaning is not UNKNOWN
        }
        unknown = {name for name in place.closure if name not in known}
        defaults: dict[str, object] = {}
        found = fold(self._project, expr, place.module, place.scope, known, unknown, defaults)
        for name, value in defaults.items():
            self._by_default(name, value)
        return found

    def _by_default(self, name: str, value: object) -> None:
        """Notes that a parameter of a factory is taken to be its default: one of several ways to make things."""
        if isinstance(value, (str, bool)):
            self._assumed[name] = repr(value)
            self._guessed.add(name)

    def _arguments(self, bound: Mapping[str, ir.Expr], place: Place) -> dict[str, object]:
        """Closure variables for the parameters of a factory, from the expressions passed."""
        found: dict[str, object] = {}
        for name, expr in bound.items():
            made = self._made(expr, place)
            if made is None and isinstance(expr, ir.Name):
                made = self._local(expr, place)
            try:
                meaning = self._folded(expr, place)
            except Unfolded:
                meaning = UNKNOWN
            text = made if made is not None else f"({self._rewritten(expr, place)})"
            found[name] = Text(text, meaning, made is not None or isinstance(expr, (ir.Tuple, ir.List, ir.Dict)))
        return found

    def _from_call_site(self, reference: ParameterRef, place: Place, numbers: bool = False) -> str | None:
        """A factory's parameter as the first understandable call of the factory in the project passes it.

        ``numbers``: the largest number that a call passes, of those that are known and not too large.
        """
        if numbers:
            return self._number_passed(reference, place)
        scope = place.scope[: place.scope.index(reference.function)] if reference.function in place.scope else ()
        factory = Definition(place.module, reference.function, scope)
        if self._depth > DEEPEST:
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

    def _number_passed(self, reference: ParameterRef, place: Place) -> str | None:
        scope = place.scope[: place.scope.index(reference.function)] if reference.function in place.scope else ()
        found: list[int] = []
        for module, outer, call in factories.call_sites(
            self._project, Definition(place.module, reference.function, scope)
        ):
            bound = factories.bind(call, reference.function) or {}
            expr = bound.get(reference.parameter.name)
            if expr is None:
                continue
            try:
                value = self._folded(expr, Place(module, outer))
            except Unfolded:
                continue
            if isinstance(value, int) and not isinstance(value, bool) and 0 < value <= _LARGEST:
                found.append(value)
        return repr(max(found)) if found else None

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
        if any(self._project.external(found.module, base, found.scope) in ENUMS for base in found.node.bases):
            # where names list what is computed, the longest one computes most
            members = [
                target.id
                for statement in found.node.body
                if isinstance(statement, ir.Assign)
                for target in statement.targets
                if isinstance(target, ir.Name)
            ]
            return f"{self._definition(found, {})}.{max(members, key=len)}" if members else None
        key = ("settings", found.module.path, found.qualname)
        item = self._items.get(key)
        if item is None:
            item = Item(self._fresh(found.node.name))
            item.text = self._enum(found.node, Place(found.module, found.scope), item.name, counting=True)
            self._items[key] = item
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
        wish = self._wishes.get((reference.function.span, parameter.name))
        if wish is not None:
            text = repr(wish)
            self._assumed[parameter.name] = text
        elif isinstance(parameter.default, ir.Constant) and parameter.default.value is not None:
            text = repr(parameter.default.value)
            self._by_default(parameter.name, parameter.default.value)
        else:
            annotation = ir.dotted(parameter.annotation) if parameter.annotation is not None else None
            short = (annotation or "").rpartition(".")[2]
            bounds = (reference.function.span, parameter.name) in self._bounding
            counts = short in _INTEGERS or (annotation is None and (bounds or COUNTS.search(parameter.name)))
            text = self._from_call_site(reference, place, numbers=True) if counts or annotation is None else None
            if text is None and (counts or short == "bool"):
                text = "True" if short == "bool" else str(wishes.UNROLLED if bounds else 3)
                self._assumed[parameter.name] = text
                self._guessed.add(parameter.name)
            elif text is None and short == "float":
                text = "0.7"
            elif text is None and ("dtype" in parameter.name or short == "type"):
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
