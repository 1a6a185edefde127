"""The recipe for dynamic loops whose number of iterations is fixed: Warp unrolls them if it sees the number."""

from __future__ import annotations

from collections.abc import Iterator

from warplint.fixing.places import Place, Plan
from warplint.ir import syntax as ir
from warplint.ir.fixes import Edit
from warplint.kernels.constants import Constants
from warplint.source.bindings import bound_names

#: What Warp unrolls, unless it is told otherwise (``warp.config.max_unroll``).
_UNROLLED = 16
#: The version of Warp that has ``wp.static``.
_STATIC = (1, 5)


def unroll(place: Place) -> Iterator[Plan]:
    """``range(wp.static(N - 1))`` for ``range(N - 1)``, and ``range(4)`` for ``wp.range(4)``."""
    function = place.function()
    if function is None:
        return
    told: list[ir.For] = []
    others: list[ir.For] = []
    for label in place.finding.fact.labels:
        span = label.location.span
        if label.location.path != place.module.path or not function.span.covers(span):
            continue
        loops = [node for node in place.around(span) if isinstance(node, ir.For) and function.span.covers(node.span)]
        told += [loop for loop in loops if loop.span[:2] == span[:2] and loop not in told]
        others += [loop for loop in loops if loop not in others]
    seen: list[Edit] = []
    for loops in (told, [*told, *others]):
        edits = [edit for loop in dict.fromkeys(loops) for edit in _counted(place, function, loop)]
        if edits and edits != seen:
            yield Plan("Let Warp see how often the loop runs, so that it is unrolled", tuple(edits))
        seen = edits


def _counted(place: Place, function: ir.FunctionDef, loop: ir.For) -> list[Edit]:
    """Edits after which Warp knows the bounds of a loop; none where it does, or where it would not unroll the loop."""
    call = loop.iterable
    name = place.external(call.func) if isinstance(call, ir.Call) else None
    if not isinstance(call, ir.Call) or name not in ("range", "warp.range") or call.keywords or not call.args:
        return []
    constants, own = Constants(place.module.project), set(bound_names(function))
    bounds = []
    for argument in call.args:
        if any(isinstance(node, ir.Name) and node.id in own for node in ir.walk(argument)):
            return []
        value = constants.evaluate(place.module, argument, place.scope())
        if not isinstance(value, int) or isinstance(value, bool):
            return []
        bounds.append(value)
    if len(bounds) > 3 or 0 in bounds[2:] or not 0 < len(range(*bounds)) <= _UNROLLED:
        return []
    if any(isinstance(node, ir.Break) for statement in loop.body for node in ir.walk(statement)):
        return []
    edits = [place.edit(call.func.span, "range")] if name == "warp.range" else []
    computed = [argument for argument in call.args if not _is_seen(argument)]
    warp = next(place.names_of_warp(), None)
    version = place.module.project.warp_version
    if computed and (warp is None or warp in own or (version is not None and version(place.module.path) < _STATIC)):
        return []
    for argument in computed:
        edits.append(place.edit(argument.span, f"{warp}.static({place.text(argument.span)})"))
    return edits if all("#" not in place.text(edit.location.span) for edit in edits) else []


def _is_seen(expr: ir.Expr) -> bool:
    """Whether Warp takes the value of an argument of ``range`` for a constant: a literal, or a name from outside."""
    if isinstance(expr, ir.Unary) and expr.operator in ("-", "+"):
        return _is_seen(expr.operand)
    return isinstance(expr, (ir.Constant, ir.Name, ir.Attribute))
