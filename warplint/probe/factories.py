"""Factories: functions that define a kernel or func and return it. They are read, never called."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import cast

from warplint.ir import syntax as ir
from warplint.source.bindings import bound_names
from warplint.source.project import Definition, Module, Project, Scope

#: How many call sites of a factory are looked at.
_SITES = 8


#: Says whether a condition inside a factory holds, None where that is not known.
Decide = Callable[[ir.Expr], bool | None]


def returned(factory: Definition, element: int | None = None) -> ir.Name | None:
    """The name that a factory returns, if it returns at its end only; ``element`` is its number where it returns
    several."""
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
    return value if isinstance(value, ir.Name) else None


def attached(factory: Definition, name: str, attribute: str) -> ir.Expr | None:
    """What a factory sets as ``attribute`` of the thing called ``name`` in it, if that is done once."""
    values = [
        statement.value
        for statement in factory.node.body
        if isinstance(statement, ir.Assign)
        and any(
            isinstance(target, ir.Attribute)
            and target.attr == attribute
            and isinstance(target.value, ir.Name)
            and target.value.id == name
            for target in statement.targets
        )
    ]
    return values[0] if len(values) == 1 else None


def bound_in(holder: ir.FunctionDef, name: str, decide: Decide) -> tuple[ir.FunctionDef | ir.Expr, int | None] | None:
    """What ``name`` is in a function where it is bound once, on the way that ``decide`` picks: a definition, or the
    value of an assignment and the name's place in that (None: the whole).

    None where that is not so.
    """
    binders = bound_names(holder).get(name, ())
    if len(binders) > 1:
        chosen = {id(statement) for statement in _way(holder.body, decide)}
        binders = tuple(binder for binder in binders if id(binder) in chosen)
    if len(binders) != 1:
        return None
    binder = binders[0]
    if isinstance(binder, ir.FunctionDef):
        return binder, None
    if not isinstance(binder, ir.Assign) or len(binder.targets) != 1:
        return None
    target = binder.targets[0]
    if isinstance(target, ir.Name):
        return binder.value, None
    if not isinstance(target, ir.Tuple) or not all(isinstance(one, ir.Name) for one in target.elements):
        return None
    places = [number for number, one in enumerate(target.elements) if isinstance(one, ir.Name) and one.id == name]
    return (binder.value, places[0]) if len(places) == 1 else None


def _way(body: tuple[ir.Stmt, ...], decide: Decide) -> Iterator[ir.Stmt]:
    """The statements that run, as far as conditions are decided."""
    for statement in body:
        if isinstance(statement, ir.If):
            holds = decide(statement.test)
            if holds is not False:
                yield from _way(statement.body, decide)
            if holds is not True:
                yield from _way(statement.orelse, decide)
        else:
            yield statement


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


def call_sites(project: Project, factory: Definition) -> Sequence[tuple[Module, Scope, ir.Call]]:
    """Calls of the factory in the modules read so far, a few at most, its own module first."""
    key = ("call sites", factory.module.path, factory.qualname, factory.node.span)
    known = project.kept.get(key)
    if known is None:
        known = project.kept[key] = tuple(islice(_call_sites(project, factory), _SITES))
    return cast(tuple[tuple[Module, Scope, ir.Call], ...], known)


def _call_sites(project: Project, factory: Definition) -> Iterator[tuple[Module, Scope, ir.Call]]:
    name = factory.node.name
    pattern = re.compile(rf"\b{re.escape(name)}\s*\(")
    for module in (factory.module, *(other for other in project.modules() if other is not factory.module)):
        if name not in module.text:
            continue
        for region in module.regions:
            if not pattern.search(module.text, region.start, region.end):
                continue
            for scope, call in _calls(module.read(region), ()):
                if (ir.dotted(call.func) or "").rpartition(".")[2] != name:
                    continue
                target = project.resolve(module, call.func, scope)
                if isinstance(target, Definition) and target.node is factory.node:
                    yield module, scope, call


def _calls(body: tuple[ir.Node, ...], scope: Scope) -> Iterator[tuple[Scope, ir.Call]]:
    for node in body:
        if isinstance(node, ir.Call):
            yield scope, node
        inner = (*scope, node) if isinstance(node, (ir.FunctionDef, ir.ClassDef)) else scope
        yield from _calls(tuple(ir.children(node)), inner)
