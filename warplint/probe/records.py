"""Records: classes of a project whose objects hold named values and do nothing else."""

from __future__ import annotations

from warplint.ir import syntax as ir
from warplint.source.project import Definition, Project

# What a class may be made by: neither runs anything of the class when an object is made.
_BASES = ("typing.NamedTuple", "typing_extensions.NamedTuple")
_DECORATOR = "dataclasses.dataclass"


def record_fields(project: Project, definition: Definition) -> dict[str, ir.Expr | None] | None:
    """The fields of a named tuple or data class in order, with their defaults; None for any other class.

    A data class that does something when it is made (``__post_init__``, ``__new__``, a base class, fields that are
    made by calls) is none.
    """
    node = definition.node
    if not isinstance(node, ir.ClassDef) or node.keywords:
        return None

    def external(expr: ir.Expr) -> str | None:
        return project.external(definition.module, expr, definition.scope)

    if node.bases:
        if node.decorators or len(node.bases) != 1 or external(node.bases[0]) not in _BASES:
            return None
    elif len(node.decorators) == 1:
        made = node.decorators[0]
        if external(made.func if isinstance(made, ir.Call) else made) != _DECORATOR:
            return None
    else:
        return None
    fields: dict[str, ir.Expr | None] = {}
    for statement in node.body:
        if isinstance(statement, ir.AnnAssign) and isinstance(statement.target, ir.Name):
            name = statement.target.id
            if name.startswith("_") or isinstance(statement.value, ir.Call):
                return None
            fields[name] = statement.value
        elif isinstance(statement, ir.FunctionDef):
            if statement.name in ("__post_init__", "__new__", "__init__", "__setattr__", "__getattribute__"):
                return None
        elif not isinstance(statement, (ir.Pass, ir.ExprStmt)) or (
            isinstance(statement, ir.ExprStmt) and not isinstance(statement.value, ir.Constant)
        ):
            return None
    return fields or None
