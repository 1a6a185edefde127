"""Everything that is compiled with an adjoint: what an audit looks at."""

from __future__ import annotations

from collections.abc import Iterator

from warplint.ir import syntax as ir
from warplint.ir.audits import Subject
from warplint.ir.programs import DefinitionRef
from warplint.ir.spans import Location
from warplint.kernels import Analysis, analysis
from warplint.kernels.options import decorated
from warplint.source.project import Definition, Module, Project


def subjects(project: Project, module: Module) -> Iterator[Subject | None]:
    """The kernels and funcs of ``module`` in the order of the file; None for each that is compiled forward only.

    A func belongs to them if some visible kernel differentiates it, or none is visible at all, not even by name. What
    nobody knows (an option that is decided at run time) counts as an adjoint. Overloads are one subject: the last
    kernel of a name, the first func.
    """
    found = analysis(project)
    by_name: dict[str, list[tuple[Definition, str]]] = {}
    for definition in module.functions(decorated(module)):
        role = found.knowledge.decorations.role(definition)
        if role == "kernel" or role == "func":
            by_name.setdefault(definition.qualname, []).append((definition, role))
    for several in by_name.values():
        definition, kind = several[0] if several[-1][1] == "func" else several[-1]
        if _has_body(definition):
            yield _kernel(found, definition) if kind == "kernel" else _func(found, definition)


def _has_body(definition: Definition) -> bool:
    """Whether it does anything: what only declares an overload has ``...`` for a body."""
    return any(
        not isinstance(statement, ir.Pass)
        and not (isinstance(statement, ir.ExprStmt) and isinstance(statement.value, ir.Constant))
        for statement in definition.node.body
    )


def _kernel(found: Analysis, definition: Definition) -> Subject | None:
    if found.knowledge.decorations.options(definition).backward is False:
        return None
    return Subject("kernel", *_placed(found, definition))


def _func(found: Analysis, definition: Definition) -> Subject | None:
    decorations = found.knowledge.decorations
    kernels = found.callers.kernels(definition)
    asking = [
        kernel
        for kernel in found.callers.kernels(definition, through_adjoints=True)
        if decorations.options(kernel).backward is not False
    ]
    if not asking and (kernels or decorations.options(definition).backward is False):
        return None
    if not kernels and found.users.forward_only(definition):
        return None
    custom = decorations.custom_adjoint(definition) is not None
    return Subject("func", *_placed(found, definition), tuple(_ref(found, kernel) for kernel in asking), custom)


def _placed(found: Analysis, definition: Definition) -> tuple[DefinitionRef, Location, Location]:
    node, path = definition.node, definition.module.path
    return _ref(found, definition), Location(path, node.name_span), Location(path, node.span)


def _ref(found: Analysis, definition: Definition) -> DefinitionRef:
    closure = found.knowledge.factories.closures(definition)[0]
    return DefinitionRef(definition.module.path, definition.qualname, dict(closure))
