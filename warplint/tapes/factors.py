"""What the text of a kernel says beyond its effects: factors from structs, numbers that it computes with, arrays that
are read in any case."""

from __future__ import annotations

import re
from collections.abc import Iterator

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


def _reads_at_once(node: ir.FunctionDef) -> frozenset[tuple[str, ...]]:
    """The arrays (parameters, or fields of parameters) whose elements every thread reads, whatever any array holds."""
    parameters = {parameter.name for parameter in node.parameters}
    found: set[tuple[str, ...]] = set()
    for statement in node.body:
        if isinstance(statement, (ir.If, ir.For, ir.While)):
            if any(isinstance(part, (ir.Return, ir.Break, ir.Continue)) for part in ir.walk(statement)):
                break
            continue
        if isinstance(statement, ir.Return):
            break
        targets: set[int] = set()
        if isinstance(statement, ir.Assign):
            targets = {id(target) for target in statement.targets}
        maybe = {
            id(inner)
            for part in ir.walk(statement)
            if isinstance(part, (ir.Conditional, ir.Boolean))
            for inner in ir.walk(part)
        }
        for part in ir.walk(statement):
            if isinstance(part, ir.Subscript) and id(part) not in targets | maybe:
                name = ir.dotted(part.value)
                path = tuple(name.split(".")) if name else ()
                if path and path[0] in parameters:
                    found.add(path)
            elif isinstance(part, ir.Call) and part.args and id(part) not in maybe:
                called = (ir.dotted(part.func) or "").rpartition(".")[2]
                name = ir.dotted(part.args[0]) if called.startswith("atomic_") else None
                if name and name.split(".")[0] in parameters:
                    found.add(tuple(name.split(".")))
    return frozenset(found)


#: What ``_reads_at_once`` says of a kernel, found out once.
reads_at_once = Memo(_reads_at_once)


#: Calls whose result does not change with a small change of an argument, or is no part of what a kernel computes.
_FLAT = frozenset(
    (*("int", "int32", "int64", "floor", "ceil", "round", "rint", "trunc", "sign"), *("print", "printf", "range"))
)
_FLAT_TESTS = frozenset(("where", "select"))
_REAL = re.compile(r"^(\w+\.)?(float(16|32|64)?)$")


def _smooth(node: ir.Node) -> Iterator[ir.Name]:
    """The names in ``node`` that stand where a small change of their value may change what is computed."""
    if isinstance(node, ir.Name):
        yield node
    left_out: tuple[ir.Node | None, ...] = ()
    if isinstance(node, ir.Compare):
        return
    if isinstance(node, (ir.If, ir.While, ir.Conditional)):
        left_out = (node.test,)
    elif isinstance(node, ir.For):
        left_out = (node.target, node.iterable)
    elif isinstance(node, ir.Subscript):
        left_out = (node.index,)
    elif isinstance(node, ir.Assign):
        left_out = tuple(target for target in node.targets if isinstance(target, ir.Name))
    elif isinstance(node, ir.Call):
        called = (ir.dotted(node.func) or "").rpartition(".")[2]
        if called in _FLAT:
            return
        left_out = (node.func, *(node.args[:1] if called in _FLAT_TESTS else ()))
    for child in ir.children(node):
        if not any(child is one for one in left_out):
            yield from _smooth(child)


def _numbers(node: ir.FunctionDef) -> frozenset[str]:
    """The scalar parameters with fractions that the kernel computes with, and does not only compare or index by."""
    real = {
        parameter.name
        for parameter in node.parameters
        if parameter.annotation is not None and _REAL.match(ir.dotted(parameter.annotation) or "")
    }
    if not real:
        return frozenset()
    return frozenset(name.id for statement in node.body for name in _smooth(statement) if name.id in real)


#: What ``_numbers`` says of a kernel, found out once.
numbers = Memo(_numbers)


def _place(index: ir.Expr) -> tuple[object, ...] | None:
    """An index of names and numbers, such that equal ones are the same element."""
    if isinstance(index, ir.Name):
        return (index.id,)
    if isinstance(index, ir.Constant):
        return (index.value,)
    if isinstance(index, ir.Tuple):
        parts = [_place(item) for item in index.elements]
        return None if None in parts else tuple(part for place in parts if place for part in place)
    return None


def _stored_again(node: ir.FunctionDef) -> frozenset[tuple[str, str]]:
    """Pairs of an array parameter, an element of which is stored to by every thread and again after that, and of one
    that the first store computes with."""
    parameters = {parameter.name for parameter in node.parameters}
    bound: dict[str, int] = {}
    for part in ir.walk(node):
        targets = part.targets if isinstance(part, ir.Assign) else (part.target,) if isinstance(part, ir.For) else ()
        for target in (*targets, *((part.target,) if isinstance(part, ir.AugAssign) else ())):
            if isinstance(target, ir.Name):
                bound[target.id] = bound.get(target.id, 0) + 1

    def store(part: ir.Node) -> tuple[str, tuple[object, ...]] | None:
        if not isinstance(part, ir.Assign) or len(part.targets) != 1:
            return None
        target = part.targets[0]
        if not isinstance(target, ir.Subscript) or not isinstance(target.value, ir.Name):
            return None
        place = _place(target.index)
        if place is None or target.value.id not in parameters or any(bound.get(str(name), 0) > 1 for name in place):
            return None
        return target.value.id, place

    loads: dict[str, set[str]] = {}

    def read(expr: ir.Expr) -> set[str]:
        names = {part.id for part in ir.walk(expr) if isinstance(part, ir.Name)}
        return (names & parameters).union(*(loads.get(name, set()) for name in names))

    found: set[tuple[str, str]] = set()
    for number, statement in enumerate(node.body):
        if isinstance(statement, ir.Assign) and isinstance(statement.targets[0], ir.Name):
            loads[statement.targets[0].id] = read(statement.value)
        first = store(statement)
        if first is None:
            continue
        assert isinstance(statement, ir.Assign)
        again = [part for later in node.body[number + 1 :] for part in ir.walk(later) if store(part) == first]
        if any(isinstance(part, ir.Assign) and first[0] not in read(part.value) for part in again):
            found |= {(first[0], name) for name in read(statement.value) - {first[0]}}
    return frozenset(found)


#: What ``_stored_again`` says of a kernel, found out once.
stored_again = Memo(_stored_again)
