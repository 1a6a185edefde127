"""What a body shows of its generic parameters: where a built-in takes composites alone, it is given no array.

Warp compiles a body with the types that it is called with, so that what it does to a parameter in every case says what
that can be.
"""

from __future__ import annotations

from collections.abc import Iterator

from warplint.ir import syntax as ir
from warplint.kernels import builtins
from warplint.kernels.types import Type
from warplint.source.project import Definition, Project


def shown(project: Project, definition: Definition) -> dict[str, Type]:
    """What can be said of parameters, by their names, if they are generic."""
    node, module = definition.node, definition.module
    assert isinstance(node, ir.FunctionDef)
    names = {parameter.name for parameter in node.parameters}
    found: dict[str, Type] = {}
    for call in _calls(node.body):
        name = project.external(module, call.func, definition.scope) or ""
        short = name.removeprefix("warp.")
        if name != f"warp.{short}" or module.bindings(short):  # a user's func of that name may take anything
            continue
        for position, argument in enumerate(call.args):
            if isinstance(argument, ir.Name) and argument.id in names:
                taken = builtins.taken(short, position, len(call.args) + len(call.keywords))
                if taken is not None and (argument.id not in found or taken.is_composite):
                    found[argument.id] = taken
    return found


def _calls(body: tuple[ir.Stmt, ...]) -> Iterator[ir.Call]:
    """The calls that are compiled in every case: those in branches are not where the compiler decides the condition."""
    for statement in body:
        if isinstance(statement, ir.If):
            parts: tuple[ir.Node, ...] = (statement.test,)
        elif isinstance(statement, ir.For):
            parts = (statement.iterable,)
            yield from _calls(statement.body)
        elif isinstance(statement, ir.While):
            parts = (statement.test,)
            yield from _calls(statement.body)
        else:
            parts = (statement,)
        for part in parts:
            nodes = list(ir.walk(part))
            if not any(
                isinstance(node, (ir.Conditional, ir.FunctionDef, ir.ClassDef, ir.With, ir.Try)) for node in nodes
            ):
                yield from (node for node in nodes if isinstance(node, ir.Call))
