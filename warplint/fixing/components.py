"""Recipes for stores into components of local vectors and quaternions."""

from __future__ import annotations

from collections.abc import Iterator

from warplint.fixing.places import CLOSED, Place, Plan
from warplint.ir import syntax as ir
from warplint.ir.spans import Span
from warplint.records import dataclass

_LETTERS = "xyzw"


def with_index(place: Place) -> Iterator[Plan]:
    """``v[2] += s`` for ``v.z += s``."""
    statement = place.node(place.span, ir.AugAssign)
    target = statement.target if isinstance(statement, ir.AugAssign) else None
    if not isinstance(target, ir.Attribute) or len(target.attr) != 1 or target.attr not in _LETTERS:
        return
    owner = target.value.span
    text = f"[{_LETTERS.index(target.attr)}]"
    span = Span(owner.end_line, owner.end_column, target.span.end_line, target.span.end_column)
    if place.text(span) == f".{target.attr}":
        written = f"{place.text(owner)}{text}"
        yield Plan(f"Write the component with an index: `{written}`", (place.edit(span, text),))


@dataclass(frozen=True, slots=True)
class _Store:
    """``variable[component] operator= value``; ``operator`` is empty for a plain store."""

    statement: ir.Assign | ir.AugAssign
    component: int
    operator: str


def in_constructor(place: Place) -> Iterator[Plan]:
    """``v = wp.vec3(v[0], s, v[2])`` for ``v[1] = s``; stores that follow one another go into one constructor."""
    variable, size = place.attribute("variable"), place.finding.fact.attributes["size"]
    kind = place.attribute("composite")
    if kind not in ("vec", "quat") or not isinstance(size, int) or not 2 <= size <= 4:
        return
    spans = dict.fromkeys(label.location.span for label in place.finding.fact.labels)
    stores = [store for span in spans if (store := _store(place, span, variable, size)) is not None]
    if not any(store.statement.span == place.span for store in stores):
        return
    runs: list[list[_Store]] = []
    for store in sorted(stores, key=lambda store: store.statement.span):
        if runs and _gathers(place, runs[-1], store, variable):
            runs[-1].append(store)
        else:
            runs.append([store])
    warp = next(place.names_of_warp(), None)
    constructors = [f"type({variable})"]
    if warp is not None:
        constructors.insert(0, f"{warp}.{kind}{size if kind == 'vec' else ''}")
    for constructor in constructors:
        edits = []
        for run in runs:
            values = {store.component: _value(place, store, variable) for store in run}
            parts = ", ".join(values.get(number, f"{variable}[{number}]") for number in range(size))
            span = run[0].statement.span.to(run[-1].statement.span)
            edits.append(place.edit(span, f"{variable} = {constructor}({parts})"))
        yield Plan(f"Build `{variable}` anew instead of storing into its components", tuple(edits))


def _store(place: Place, span: Span, variable: str, size: int) -> _Store | None:
    statement = place.node(span, ir.Assign) or place.node(span, ir.AugAssign)
    if isinstance(statement, ir.Assign) and len(statement.targets) == 1:
        target, operator = statement.targets[0], ""
    elif isinstance(statement, ir.AugAssign):
        target, operator = statement.target, statement.operator
    else:
        return None
    if not isinstance(target, (ir.Attribute, ir.Subscript)) or not isinstance(target.value, ir.Name):
        return None
    component = -1
    if isinstance(target, ir.Attribute) and len(target.attr) == 1:
        component = _LETTERS.find(target.attr)
    elif isinstance(target, ir.Subscript) and isinstance(target.index, ir.Constant):
        number = target.index.value
        component = number if isinstance(number, int) and not isinstance(number, bool) else -1
    if target.value.id != variable or not 0 <= component < size or "#" in place.text(span):
        return None
    return _Store(statement, component, operator)


def _value(place: Place, store: _Store, variable: str) -> str:
    value = store.statement.value
    text = place.text(value.span)
    if not store.operator:
        return text
    text = text if isinstance(value, CLOSED) else f"({text})"
    return f"{variable}[{store.component}] {store.operator} {text}"


def _gathers(place: Place, run: list[_Store], store: _Store, variable: str) -> bool:
    """Whether ``store`` follows the run directly, and neither stores nor reads what the run has stored."""
    before, after = run[-1].statement.span, store.statement.span
    between = Span(before.end_line, before.end_column, after.line, after.column)
    if place.text(between).strip() or before.column != after.column:
        return False
    written = {one.component for one in run}
    if store.component in written:
        return False
    reads = [node for node in ir.walk(store.statement.value) if isinstance(node, ir.Name) and node.id == variable]
    components = [_component(node, variable) for node in ir.walk(store.statement.value)]
    known = [component for component in components if component is not None]
    return len(known) == len(reads) and not written & set(known)


def _component(node: ir.Node, variable: str) -> int | None:
    """The component of ``variable`` that a node reads."""
    if not isinstance(node, (ir.Attribute, ir.Subscript)):
        return None
    if not isinstance(node.value, ir.Name) or node.value.id != variable:
        return None
    if isinstance(node, ir.Attribute):
        found = _LETTERS.find(node.attr) if len(node.attr) == 1 else -1
        return found if found >= 0 else None
    number = node.index.value if isinstance(node.index, ir.Constant) else None
    return number if isinstance(number, int) and number >= 0 else None
