"""The numbers in struct arguments that a kernel multiplies array elements by."""

from __future__ import annotations

from warplint.ir import syntax as ir
from warplint.tapes.memo import Memo

#: A parameter and the name of a field.
Field = tuple[str, str]


def _factors(node: ir.FunctionDef) -> frozenset[Field]:
    """The fields, by parameter, that stand on one side of a product or quotient with an element on the other."""
    parameters = {parameter.name for parameter in node.parameters}
    fields: dict[str, set[Field]] = {}
    loads: set[str] = set()
    found: set[Field] = set()

    def fields_in(expr: ir.Expr) -> set[Field]:
        inside: set[Field] = set()
        for part in ir.walk(expr):
            if isinstance(part, ir.Attribute) and isinstance(part.value, ir.Name) and part.value.id in parameters:
                inside.add((part.value.id, part.attr))
            elif isinstance(part, ir.Name):
                inside |= fields.get(part.id, set())
        return inside

    def has_load(expr: ir.Expr) -> bool:
        return any(
            isinstance(part, ir.Subscript) or (isinstance(part, ir.Name) and part.id in loads) for part in ir.walk(expr)
        )

    for statement in node.body:
        for part in ir.walk(statement):
            if isinstance(part, ir.Binary) and part.operator in ("*", "/"):
                for one, other in ((part.left, part.right), (part.right, part.left)):
                    if has_load(other):
                        found |= fields_in(one)
        for part in ir.walk(statement):
            if isinstance(part, ir.Assign):
                for target in part.targets:
                    if isinstance(target, ir.Name):
                        fields[target.id] = fields_in(part.value)
                        if has_load(part.value):
                            loads.add(target.id)
    return frozenset(found)


#: What ``_factors`` says of a kernel, found out once.
factors = Memo(_factors)
