"""The recipes that rules name: from a finding to the edits that would mend it.

Every recipe works on the exact places of the syntax tree, so that layout and comments stay, and gives up where it
cannot be sure that the values stay what they are. Whether the gradient becomes right is not decided here.
"""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Callable, Iterator, Mapping

from warplint.fixing.components import in_constructor, with_index
from warplint.fixing.places import Place, Plan
from warplint.ir import syntax as ir
from warplint.ir.spans import Span

#: How many positional arguments leave ``requires_grad`` to be given by its name.
_POSITIONAL = {
    "zeros": 3,
    "empty": 3,
    "ones": 3,
    "full": 4,
    "array": 3,
    "from_numpy": 3,
    "zeros_like": 2,
    "empty_like": 2,
    "ones_like": 2,
    "full_like": 3,
    "clone": 2,
}

#: The parameters of ``wp.where``.
_CHOICE = ("cond", "value_if_true", "value_if_false")


def plans(place: Place, recipe: str) -> list[Plan]:
    """What a recipe would change, the best first; nothing if it has no sure way, or needs a person."""
    make = _RECIPES.get(recipe)
    return list(make(place)) if make is not None else []


def _requires_grad(place: Place) -> Iterator[Plan]:
    call = place.node(place.span, ir.Call)
    if not isinstance(call, ir.Call):
        return
    name = (place.external(call.func) or "").removeprefix("warp.")
    opaque = any(keyword.name is None for keyword in call.keywords) or any(
        isinstance(argument, ir.Starred) for argument in call.args
    )
    if opaque or len(call.args) > _POSITIONAL.get(name, -1):
        return
    given = call.keyword("requires_grad")
    title = f"Allocate `{place.attribute('array')}` with `requires_grad=True`"
    if given is None:
        insertion = _after_arguments(place, call.span)
        if insertion is not None:
            at, separator = insertion
            yield Plan(title, (place.edit(at, f"{separator}requires_grad=True"),))
    elif isinstance(given, ir.Constant) and given.value is False:
        yield Plan(title, (place.edit(given.span, "True"),))


def _after_arguments(place: Place, call: Span) -> tuple[Span, str] | None:
    """Where another argument of a call goes, and what has to stand before it."""
    try:
        tokens = list(tokenize.generate_tokens(io.StringIO(place.text(call)).readline))
    except (tokenize.TokenError, SyntaxError):
        return None
    skipped = (tokenize.NL, tokenize.COMMENT, tokenize.NEWLINE, tokenize.ENDMARKER)
    written = [token for token in tokens if token.type not in skipped]
    if len(written) < 3 or written[-1].string != ")":
        return None
    last = written[-2]
    if last.string == ",":
        last = written[-3]
    (line, column), separator = last.end, "" if last is written[-2] and last.string == "(" else ", "
    if line == 1:
        column += call.column - 1
    at = (call.line + line - 1, column + 1)
    return Span(*at, *at), separator


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


def _zero_after_use(place: Place) -> Iterator[Plan]:
    sweep = place.node(place.span, ir.Call)
    if not isinstance(sweep, ir.Call) or not isinstance(sweep.func, ir.Attribute):
        return
    tape = ir.dotted(sweep.func.value)
    function = place.function()
    uses = [label.location for label in place.finding.fact.labels[1:] if label.location.path == place.module.path]
    if tape is None or function is None or len(uses) != 1 or sweep.func.attr != "backward":
        return
    block = place.block(sweep.span)
    using = [statement for statement in block if statement.span.covers(uses[0].span)]
    if len(using) != 1 or not isinstance(using[0], (ir.ExprStmt, ir.Assign, ir.AnnAssign, ir.AugAssign)):
        return
    use = using[0].span
    line = place.module.lines[use.end_line - 1]
    own = place.module.lines[use.line - 1][: use.column - 1]
    after = line[use.end_column - 1 :].strip()
    if own.strip() or (after and not after.startswith("#")) or _looked_at_elsewhere(place, function, use):
        return
    at = (use.end_line, len(line) + 1)
    title = f"Zero the gradients with `{tape}.zero()` when they have been used"
    yield Plan(title, (place.edit(Span(*at, *at), f"\n{own}{tape}.zero()"),))


def _looked_at_elsewhere(place: Place, function: ir.FunctionDef, use: Span) -> bool:
    """Whether a gradient may be wanted by more than the statement at ``use``: it must not be zeroed then."""
    loops = (
        node for node in place.around(use) if isinstance(node, (ir.For, ir.While)) and function.span.covers(node.span)
    )
    first = next(loops, function).span
    inside = Span(first.line, first.column, use.line, use.column)
    after = Span(use.end_line, use.end_column, function.span.end_line, function.span.end_column)
    if re.search(r"\bgrad", place.text(inside) + place.text(after)):
        return True
    name = re.escape(place.attribute("parameter").rpartition(".")[2])
    everywhere = len(re.findall(rf"\b{name}\.grad\b", place.module.text))
    return everywhere > len(re.findall(rf"\b{name}\.grad\b", place.text(use)))


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


def _close_the_tape(place: Place) -> Iterator[Plan]:
    with_ = next((node for node in reversed(list(place.around(place.span))) if isinstance(node, ir.With)), None)
    if with_ is None or len(with_.body) < 2 or not with_.body[-1].span.covers(place.span):
        return
    statement = with_.body[-1].span
    if not isinstance(with_.body[-1], ir.ExprStmt) or statement != place.span:
        return
    lines = place.module.lines
    outer, inner = (lines[span.line - 1][: span.column - 1] for span in (with_.span, statement))
    if outer.strip() or inner.strip() or not inner.startswith(outer) or not _plain(place.text(statement)):
        return
    edits = []
    for number in range(statement.line, statement.end_line + 1):
        if lines[number - 1].startswith(inner):
            edits.append(place.edit(Span(number, len(outer) + 1, number, len(inner) + 1), ""))
    yield Plan(f"Launch `{place.attribute('kernel')}` when the tape is closed", tuple(edits))


def _plain(text: str) -> bool:
    """Whether no string of several lines would change with the indentation."""
    try:
        tokens = list(tokenize.generate_tokens(io.StringIO(text).readline))
    except (tokenize.TokenError, SyntaxError):
        return False
    return all(token.start[0] == token.end[0] or token.type in (tokenize.NEWLINE, tokenize.NL) for token in tokens)


_RECIPES: Mapping[str, Callable[[Place], Iterator[Plan]]] = {
    "add-requires-grad": _requires_grad,
    "index-form": with_index,
    "accumulate-adjoint": _accumulate,
    "zero-after-use": _zero_after_use,
    "close-the-tape": _close_the_tape,
    "guard-root": _guarded_root,
    "guard-operand": _conditional,
    "rebuild-composite": in_constructor,
}
