"""Factories: functions that define a kernel or func and return it. They are read, never called."""

from __future__ import annotations

import re
from collections.abc import Iterator

from warplint.ir import syntax as ir
from warplint.source.bindings import bound_names
from warplint.source.project import Definition, Module, Project, Scope

#: How many call sites of a factory are looked at.
_SITES = 8


def returned(factory: Definition, attribute: str | None = None, element: int | None = None) -> Definition | None:
    """The definition that a factory returns (or sets as ``attribute`` of that); None if that is not plain.

    ``element`` is its number where the factory returns several.
    """
    node = factory.node
    if not isinstance(node, ir.FunctionDef) or not node.body:
        return None
    last = node.body[-1]
    if not isinstance(last, ir.Return):
        return None
    if sum(isinstance(inner, ir.Return) for inner in _own(node.body)) != 1:
        return None
    value = last.value
    if element is not None:
        several = isinstance(value, ir.Tuple) and -len(value.elements) <= element < len(value.elements)
        value = value.elements[element] if several and isinstance(value, ir.Tuple) else None
    if not isinstance(value, ir.Name):
        return None
    name = value.id
    if attribute is not None:
        values = [
            statement.value
            for statement in node.body
            if isinstance(statement, ir.Assign)
            and any(
                isinstance(target, ir.Attribute)
                and target.attr == attribute
                and isinstance(target.value, ir.Name)
                and target.value.id == name
                for target in statement.targets
            )
        ]
        if len(values) != 1 or not isinstance(values[0], ir.Name):
            return None
        name = values[0].id
    binders = bound_names(node).get(name, ())
    if len(binders) != 1 or not isinstance(binders[0], ir.FunctionDef):
        return None
    return Definition(factory.module, binders[0], factory.inner_scope)


def unpacked(name: ir.Name, scope: Scope) -> tuple[ir.Expr, int, Scope] | None:
    """Where ``name`` is bound by ``..., name, ... = value`` and nowhere else: the value, the place in it, its scope."""
    for depth in range(len(scope), 0, -1):
        holder = scope[depth - 1]
        binders = bound_names(holder).get(name.id, ()) if isinstance(holder, ir.FunctionDef) else ()
        if not binders:
            continue
        binder = binders[0]
        if len(binders) > 1 or not isinstance(binder, ir.Assign) or len(binder.targets) != 1:
            return None
        target = binder.targets[0]
        if not isinstance(target, ir.Tuple) or not all(isinstance(one, ir.Name) for one in target.elements):
            return None
        places = [
            number for number, one in enumerate(target.elements) if isinstance(one, ir.Name) and one.id == name.id
        ]
        return (binder.value, places[0], scope[:depth]) if len(places) == 1 else None
    return None


def _own(body: tuple[ir.Stmt, ...]) -> Iterator[ir.Node]:
    """The statements of a function, without those of the definitions in it."""
    for statement in body:
        if isinstance(statement, (ir.FunctionDef, ir.ClassDef)):
            continue
        yield statement
        for child in ir.children(statement):
            if isinstance(child, (ir.If, ir.For, ir.While, ir.With, ir.Try, ir.Return, ir.Match)):
                yield from _own((child,))


def bind(call: ir.Call, factory: ir.FunctionDef) -> dict[str, ir.Expr] | None:
    """The expressions that a call passes for the factory's parameters; None where ``*`` or ``**`` hides that."""
    if any(isinstance(argument, ir.Starred) for argument in call.args):
        return None
    positional = [parameter.name for parameter in factory.parameters if parameter.kind == "positional"]
    if len(call.args) > len(positional):
        return None
    found = dict(zip(positional, call.args, strict=False))
    for keyword in call.keywords:
        if keyword.name is None:
            return None
        found[keyword.name] = keyword.value
    return found


def call_sites(project: Project, factory: Definition) -> Iterator[tuple[Module, Scope, ir.Call]]:
    """Calls of the factory in the modules read so far, a few at most, its own module first."""
    name = factory.node.name
    pattern = re.compile(rf"\b{re.escape(name)}\s*\(")
    found = 0
    for module in (factory.module, *(other for other in project.modules() if other is not factory.module)):
        for region in module.regions:
            if not pattern.search(module.text, region.start, region.end):
                continue
            for scope, call in _calls(module.read(region), ()):
                if (ir.dotted(call.func) or "").rpartition(".")[2] != name:
                    continue
                target = project.resolve(module, call.func, scope)
                if isinstance(target, Definition) and target.node is factory.node:
                    yield module, scope, call
                    found += 1
                    if found >= _SITES:
                        return


def _calls(body: tuple[ir.Node, ...], scope: Scope) -> Iterator[tuple[Scope, ir.Call]]:
    for node in body:
        if isinstance(node, ir.Call):
            yield scope, node
        inner = (*scope, node) if isinstance(node, (ir.FunctionDef, ir.ClassDef)) else scope
        yield from _calls(tuple(ir.children(node)), inner)
