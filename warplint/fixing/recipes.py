"""The recipes that rules name: from a finding to the edits that would mend it.

Every recipe works on the exact places of the syntax tree, so that layout and comments stay, and gives up where it
cannot be sure that the values stay what they are. Whether the gradient becomes right is not decided here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping

from warplint.fixing import hosts
from warplint.fixing.components import in_constructor, with_index
from warplint.fixing.loops import unroll
from warplint.fixing.outputs import separate
from warplint.fixing.places import Place, Plan
from warplint.fixing.rebinding import rebind
from warplint.ir import syntax as ir
from warplint.ir.spans import Span

#: The parameters of ``wp.where``.
_CHOICE = ("cond", "value_if_true", "value_if_false")


def plans(place: Place, recipe: str) -> list[Plan]:
    """What a recipe would change, the best first; nothing if it has no sure way, or needs a person."""
    make = _RECIPES.get(recipe)
    return list(make(place)) if make is not None else []


def _accumulate(place: Place) -> Iterator[Plan]:
    statement = place.node(place.span, ir.Assign)
    if not isinstance(statement, ir.Assign) or len(statement.targets) != 1:
        return
    start, end = statement.targets[0].span, statement.value.span
    between = Span(start.end_line, start.end_column, end.line, end.column)
    found = re.fullmatch(r"([ \t]*)=[ \t(]*", place.text(between))
    if found is not None:
        at = (between.line, between.column + len(found[1]))
        title = f"Add to the adjoint of `{place.attribute('parameter')}` with `+=`"
        yield Plan(title, (place.edit(Span(*at, *at), "+"),))


def _guarded_root(place: Place) -> Iterator[Plan]:
    root = place.node(place.span, ir.Call)
    if not isinstance(root, ir.Call) or place.external(root.func) != "warp.sqrt" or len(root.args) != 1:
        return
    if not isinstance(root.func, ir.Attribute) or root.keywords:
        return  # what takes its place may not be imported
    warp, inner = place.text(root.func.value.span), root.args[0]
    vector: str | None = None
    if isinstance(inner, ir.Call) and not inner.keywords:
        name, parts = place.external(inner.func), inner.args
        if (name == "warp.dot" and _alike(place, parts)) or (name == "warp.length_sq" and len(parts) == 1):
            vector = place.text(parts[0].span)
    else:
        squared = _squared(place, inner)
        if len(squared) == 1:
            text = f"{warp}.abs({squared[0]})"
            yield Plan(f"Write `{text}`, which is the same", (place.edit(root.span, text),))
        elif 2 <= len(squared) <= 4:
            vector = f"{warp}.vec{len(squared)}({', '.join(squared)})"
    if vector is not None:
        text = f"{warp}.length({vector})"
        yield Plan(f"Write `{text}`, whose adjoint is guarded", (place.edit(root.span, text),))


def _alike(place: Place, parts: tuple[ir.Expr, ...]) -> bool:
    """Whether two operands are the same value: the same text, without calls."""
    called = any(isinstance(node, ir.Call) for part in parts for node in ir.walk(part))
    return len(parts) == 2 and not called and place.text(parts[0].span) == place.text(parts[1].span)


def _squared(place: Place, expr: ir.Expr) -> list[str]:
    """What is squared in a sum of squares, as text; empty for anything else."""
    if isinstance(expr, ir.Binary) and expr.operator == "+":
        left, right = _squared(place, expr.left), _squared(place, expr.right)
        return [*left, *right] if left and right else []
    if isinstance(expr, ir.Binary) and expr.operator == "*" and _alike(place, (expr.left, expr.right)):
        return [place.text(expr.left.span)]
    return []


def _conditional(place: Place) -> Iterator[Plan]:
    call = place.node(place.span, ir.Call)
    if not isinstance(call, ir.Call) or place.external(call.func) != "warp.where":
        return
    parts = dict(zip(_CHOICE, call.args, strict=False)) | {str(item.name): item.value for item in call.keywords}
    loose = (ir.Conditional, ir.Lambda, ir.Walrus, ir.Starred, ir.Tuple)
    if tuple(parts) != _CHOICE or len(call.args) + len(call.keywords) != len(_CHOICE) or "#" in place.text(call.span):
        return
    if any(isinstance(part, loose) for part in parts.values()):
        return
    # What was computed before, in a statement of its own, is differentiated all the same.
    sides = [node for name in _CHOICE[1:] for node in ir.walk(parts[name])]
    if not any(isinstance(node, ir.Call) or _divides(node) for node in sides):
        return
    condition, chosen, other = (place.text(part.span) for part in parts.values())
    text = f"{chosen} if {condition} else {other}"
    whole = any(
        isinstance(node, (ir.Assign, ir.Return)) and node.value is not None and node.value.span == call.span
        for node in place.around(call.span)
    )
    if not whole or "\n" in text:
        text = f"({text})"
    yield Plan("Choose with a conditional expression, which runs one side only", (place.edit(call.span, text),))


def _divides(node: ir.Node) -> bool:
    return isinstance(node, ir.Binary) and node.operator in ("/", "**", "%", "//")


_RECIPES: Mapping[str, Callable[[Place], Iterator[Plan]]] = {
    "add-requires-grad": hosts.requires_grad,
    "index-form": with_index,
    "accumulate-adjoint": _accumulate,
    "zero-after-use": hosts.zero_after_use,
    "close-the-tape": hosts.close_the_tape,
    "enable-backward": hosts.enable_backward,
    "loss-inside-tape": hosts.loss_inside_tape,
    "read-then-zero": hosts.read_then_zero,
    "launch-once": hosts.launch_once,
    "record-the-launch": hosts.record_the_launch,
    "guard-root": _guarded_root,
    "guard-operand": _conditional,
    "rebuild-composite": in_constructor,
    "rebind-instead-of-copy": rebind,
    "separate-output-array": separate,
    "store-per-iteration": unroll,
    "sum-in-func": unroll,
    "index-from-loop-variable": unroll,
}
