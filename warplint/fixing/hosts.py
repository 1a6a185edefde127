"""Recipes for host code: allocations, launches and what stands around tapes."""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Iterable, Iterator
from typing import TypeGuard

from warplint.fixing.places import Place, Plan
from warplint.ir import syntax as ir
from warplint.ir.fixes import Edit
from warplint.ir.spans import Location, Span
from warplint.source.project import Definition

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


def requires_grad(place: Place) -> Iterator[Plan]:
    """``requires_grad=True`` in an allocation."""
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


def zero_after_use(place: Place) -> Iterator[Plan]:
    """``tape.zero()`` after the statement that uses the gradient."""
    sweep = place.node(place.span, ir.Call)
    if not isinstance(sweep, ir.Call) or not isinstance(sweep.func, ir.Attribute):
        return
    tape = ir.dotted(sweep.func.value)
    function = place.function()
    if function is None:
        return
    here = [label.location for label in place.finding.fact.labels[1:] if label.location.path == place.module.path]
    uses = [location for location in here if function.span.covers(location.span)]  # others say who calls the function
    if tape is None or len(uses) != 1 or sweep.func.attr != "backward":
        return
    block = place.block(sweep.span)
    using = [statement for statement in block if statement.span.covers(uses[0].span)]
    if len(using) != 1 or not _used_up(place, using[0]):
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


def _used_up(place: Place, statement: ir.Stmt) -> bool:
    """Whether a gradient is of no more use after a statement: on the CPU, what ``numpy()`` gives is a view of it."""
    if isinstance(statement, ir.ExprStmt) and isinstance(statement.value, ir.Call):
        func = statement.value.func
        if place.external(func) in ("warp.launch", "warp.copy") or (
            isinstance(func, ir.Attribute) and func.attr == "step"
        ):
            return True
    if not isinstance(statement, (ir.ExprStmt, ir.Assign, ir.AnnAssign, ir.AugAssign, ir.Return)):
        return False
    text = re.sub(r"\.grad\.numpy\(\)\.copy\(\)", "", place.text(statement.span))
    operands = [side for node in ir.walk(statement) if _computes(node) for side in (node.left, node.right)]
    return text.count(".grad") == sum(_is_view(side) for side in operands)


def _computes(node: ir.Node) -> TypeGuard[ir.Binary]:
    """Whether numpy makes a new array of what stands on both sides."""
    return isinstance(node, ir.Binary) and node.operator in ("+", "-", "*", "/", "**")


def _is_view(expr: ir.Expr) -> bool:
    """Whether this is ``x.grad.numpy()``."""
    if not isinstance(expr, ir.Call) or expr.args or expr.keywords or not isinstance(expr.func, ir.Attribute):
        return False
    owner = expr.func.value
    return expr.func.attr == "numpy" and isinstance(owner, ir.Attribute) and owner.attr == "grad"


def read_then_zero(place: Place) -> Iterator[Plan]:
    """The gradient is read, or copied, before the statement that zeroes it."""
    block = place.block(place.span)
    at = next((number for number, one in enumerate(block) if one.span.covers(place.span)), 0)
    zeroing, reading = block[at - 1] if at else None, block[at]
    zeroed = any(zeroing is not None and label.location.span == zeroing.span for label in place.finding.fact.labels)
    if zeroing is None or not zeroed or not isinstance(zeroing, ir.ExprStmt):
        return
    before, after = zeroing.span, reading.span
    between = Span(before.end_line, before.end_column, after.line, after.column)
    line = place.module.lines[before.line - 1]
    indent, rest = line[: before.column - 1], place.module.lines[after.end_line - 1][after.end_column - 1 :].strip()
    if place.text(between).strip() or before.column != after.column or indent.strip() or rest:
        return
    first, zero, copied = Span(*before[:2], *after[:2]), f"\n{indent}{place.text(before)}", ""
    if isinstance(reading, ir.Return):
        function = place.function()
        if reading.value is None or function is None or re.search(r"\bgradient\b", place.text(function.span)):
            return
        value = place.text(reading.value.span)
        if not re.fullmatch(r"[\w.]+\.grad\.numpy\(\)(\.copy\(\))?", value) or reading.value.span[2:] != after[2:]:
            return
        copied = "" if value.endswith(".copy()") else ".copy()"
        first = Span(*before[:2], *reading.value.span[:2])
        zero += f"\n{indent}return gradient"
    elif not _used_up(place, reading):
        return
    name = "gradient = " if isinstance(reading, ir.Return) else ""
    end = Span(*after[2:], *after[2:])
    title = f"Use the gradient of `{place.attribute('parameter')}` before it is zeroed"
    yield Plan(title, (place.edit(first, name), place.edit(end, f"{copied}{zero}")))


def close_the_tape(place: Place) -> Iterator[Plan]:
    """The last statement of a tape's block goes out of it."""
    tape = next((node for node in reversed(list(place.around(place.span))) if isinstance(node, ir.With)), None)
    if tape is None or len(tape.body) < 2 or tape.body[-1].span != place.span:
        return
    last = tape.body[-1]
    edits = _indented(place, [last], tape.span) if isinstance(last, ir.ExprStmt) else None
    if edits is not None:
        yield Plan(f"Launch `{place.attribute('kernel')}` when the tape is closed", tuple(edits))


def loss_inside_tape(place: Place) -> Iterator[Plan]:
    """The launches between a tape's block and the one that computes the loss go into the block."""
    sweep = place.node(place.span, ir.Call)
    if not isinstance(sweep, ir.Call) or not isinstance(sweep.func, ir.Attribute):
        return
    name, block = ir.dotted(sweep.func.value), place.block(place.span)
    computed = [label.location.span for label in place.finding.fact.labels[1:]]
    last = next((at for at, one in enumerate(block) if one.span in computed), 0)
    first = last
    while first > 0 and not isinstance(block[first - 1], ir.With):
        first -= 1
    tape = block[first - 1] if first > 0 else None
    if name is None or not isinstance(tape, ir.With) or tape.body[0].span.line == tape.span.line:
        return
    names = {ir.dotted(part) for item in tape.items for part in (item.context, item.target) if part is not None}
    moved = block[first : last + 1]
    if name in names and all(_launches(place, statement) for statement in moved):
        edits = _indented(place, moved, tape.body[0].span)
        if edits is not None:
            yield Plan(f"Compute `{place.attribute('loss')}` in the block of the tape", tuple(edits))


def _launches(place: Place, statement: ir.Stmt) -> bool:
    """Whether a statement is one launch or copy, which a tape records."""
    call = statement.value if isinstance(statement, ir.ExprStmt) else None
    return isinstance(call, ir.Call) and place.external(call.func) in ("warp.launch", "warp.copy", "warp.launch_tiled")


def _indented(place: Place, statements: Iterable[ir.Stmt], like: Span) -> list[Edit] | None:
    """Edits that give whole statements the indentation of the place ``like``; None where they are not on lines of their
    own."""
    lines = place.module.lines
    wanted = lines[like.line - 1][: like.column - 1]
    edits = []
    for statement in statements:
        span = statement.span
        now, rest = lines[span.line - 1][: span.column - 1], lines[span.end_line - 1][span.end_column - 1 :].strip()
        if wanted.strip() or now.strip() or (rest and not rest.startswith("#")) or not _plain(place.text(span)):
            return None
        if not wanted.startswith(now) and not now.startswith(wanted):
            return None
        common = min(len(wanted), len(now))
        for number in range(span.line, span.end_line + 1):
            if lines[number - 1].startswith(now) and lines[number - 1].strip():
                edits.append(place.edit(Span(number, common + 1, number, len(now) + 1), wanted[common:]))
    return edits


def _plain(text: str) -> bool:
    """Whether no string of several lines would change with the indentation."""
    try:
        tokens = list(tokenize.generate_tokens(io.StringIO(text).readline))
    except (tokenize.TokenError, SyntaxError):
        return False
    return all(token.start[0] == token.end[0] or token.type in (tokenize.NEWLINE, tokenize.NL) for token in tokens)


def launch_once(place: Place) -> Iterator[Plan]:
    """The second of two launches in one block goes."""
    block = place.block(place.span)
    at = next((number for number, one in enumerate(block) if one.span.covers(place.span)), 0)
    first = [
        one
        for one in block[:at]
        for label in place.finding.fact.labels
        if label.location.path == place.module.path and one.span.covers(label.location.span)
    ]
    if not first or not all(_launches(place, one) for one in (first[0], block[at])):
        return
    span, lines = block[at].span, place.module.lines
    whole = Span(span.line, 1, span.end_line + 1, 1)
    if span.end_line < len(lines) and place.text(whole).strip() == place.text(span) and "#" not in place.text(span):
        title = f"Launch `{place.attribute('kernel')}` once"
        yield Plan(title, (place.edit(whole, ""),))


def record_the_launch(place: Place) -> Iterator[Plan]:
    """``record_tape=True`` for ``record_tape=False``."""
    call = place.node(place.span, ir.Call)
    given = call.keyword("record_tape") if isinstance(call, ir.Call) else None
    if isinstance(given, ir.Constant) and given.value is False:
        title = f"Record the launch of `{place.attribute('kernel')}`"
        yield Plan(title, (place.edit(given.span, "True"),))


def enable_backward(place: Place) -> Iterator[Plan]:
    """``enable_backward=True`` for ``enable_backward=False`` at the kernel's decorator."""
    call = place.node(place.span, ir.Call)
    if not isinstance(call, ir.Call) or not call.args:
        return
    kernel = place.module.project.resolve(place.module, call.args[0], place.scope())
    if not isinstance(kernel, Definition):
        return
    for decorator in kernel.node.decorators:
        given = decorator.keyword("enable_backward") if isinstance(decorator, ir.Call) else None
        if isinstance(given, ir.Constant) and given.value is False:
            title = f"Compile `{place.attribute('kernel')}` with an adjoint"
            yield Plan(title, (Edit(Location(kernel.module.path, given.span), "True"),))
