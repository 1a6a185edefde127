"""Crude effect summaries for tests of tape analysis: every array that a kernel stores to depends on every array
that it loads from floating-point elements. Functions that a kernel calls are not followed."""

from __future__ import annotations

from warplint.ir import syntax as ir
from warplint.ir.effects import Effect, EffectSummary, Path
from warplint.source.project import Definition, Project


class Stub:
    """An ``effects`` function over one project."""

    def __init__(self, project: Project) -> None:
        self.project = project
        self._known: dict[int, EffectSummary] = {}

    def __call__(self, kernel: Definition) -> EffectSummary | None:
        key = id(kernel.node)
        if key not in self._known:
            assert isinstance(kernel.node, ir.FunctionDef)
            self._known[key] = _summary(kernel.node)
        return self._known[key]


def _path(expr: ir.Expr, parameters: set[str], aliases: dict[str, Path]) -> Path | None:
    """The parameter (or field of one) that ``expr`` names or indexes."""
    if isinstance(expr, ir.Name):
        return (expr.id,) if expr.id in parameters else aliases.get(expr.id)
    if isinstance(expr, ir.Attribute):
        inner = _path(expr.value, parameters, aliases)
        return (*inner, expr.attr) if inner else None
    if isinstance(expr, ir.Subscript):
        return _path(expr.value, parameters, aliases)
    return None


def _whole(parameter: ir.Parameter) -> bool:
    names = (
        {node.id for node in ir.walk(parameter.annotation) if isinstance(node, ir.Name)}
        if parameter.annotation
        else set()
    )
    attrs = (
        {node.attr for node in ir.walk(parameter.annotation) if isinstance(node, ir.Attribute)}
        if parameter.annotation
        else set()
    )
    return bool((names | attrs) & {"int", "int32", "int64", "uint32", "bool", "vec2i", "vec3i"})


def _summary(node: ir.FunctionDef) -> EffectSummary:
    parameters = {parameter.name for parameter in node.parameters}
    whole = {parameter.name for parameter in node.parameters if _whole(parameter)}
    reads: set[Path] = set()
    writes: set[Path] = set()
    accumulates: set[Path] = set()
    stores: set[int] = set()
    for inner in (part for statement in node.body for part in ir.walk(statement)):
        if isinstance(inner, ir.Assign):
            for target in inner.targets:
                if isinstance(target, (ir.Subscript, ir.Attribute)) and (path := _path(target, parameters, {})):
                    writes.add(path)
                    stores.update(id(part) for part in ir.walk(target) if not isinstance(part, ir.Call))
        elif isinstance(inner, ir.AugAssign) and isinstance(inner.target, ir.Subscript):
            if path := _path(inner.target, parameters, {}):
                accumulates.add(path)
                stores.add(id(inner.target))
        elif isinstance(inner, ir.Call):
            name = ir.dotted(inner.func) or ""
            if name.rpartition(".")[2].startswith("atomic_") and (path := _path(inner.args[0], parameters, {})):
                accumulates.add(path)
            elif name.endswith(("tile_store",)) and (path := _path(inner.args[0], parameters, {})):
                writes.add(path)
            elif name.endswith("tile_load") and (path := _path(inner.args[0], parameters, {})):
                reads.add(path)
        elif isinstance(inner, ir.Subscript) and id(inner) not in stores and (path := _path(inner, parameters, {})):
            reads.add(path)
    effects = tuple(
        Effect(
            path,
            reads=path in reads,
            writes=path in writes,
            accumulates=path in accumulates,
            needed=path in reads,
            covers=path in writes and path not in reads and path not in accumulates,
            differentiable=path[0] not in whole,
        )
        for path in sorted(reads | writes | accumulates)
    )
    flows = frozenset(
        (source, target)
        for source in reads
        for target in writes | accumulates
        if source[0] not in whole and target[0] not in whole
    )
    return EffectSummary(
        tuple(parameter.name for parameter in node.parameters), effects, flows, backward=True, complete=True
    )
