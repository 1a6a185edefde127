"""The recipe for elements that a kernel overwrites after it has read them: what is new goes to an array of its own."""

from __future__ import annotations

from collections.abc import Iterator

from warplint.fixing.places import CLOSED, Place, Plan
from warplint.ir import syntax as ir
from warplint.ir.fixes import Edit
from warplint.ir.spans import Location, Span, displayed
from warplint.records import dataclass
from warplint.source.project import Definition, Module

#: More places than this are not listed.
_MOST = 8


@dataclass(frozen=True, slots=True)
class _Store:
    """``array[index] operator= value``; ``operator`` is empty for a plain store."""

    statement: ir.Assign | ir.AugAssign
    target: ir.Subscript
    array: ir.Name


def separate(place: Place) -> Iterator[Plan]:
    """``out[i] = a[i] * b[i]`` for ``a[i] *= b[i]``, with ``out`` a new parameter; the launches are left to people."""
    kernel = place.function()
    store = _store(place, kernel) if kernel is not None else None
    if kernel is None or store is None or not _is_kernel(place, kernel):
        return
    name = store.array.id
    parameter = next((one for one in kernel.parameters if one.name == name), None)
    last = kernel.parameters[-1] if kernel.parameters else None
    new = f"{name}_out"
    used = {node.id for node in ir.walk(kernel) if isinstance(node, ir.Name)}
    if parameter is None or parameter.annotation is None or last is None or last.annotation is None:
        return
    if new in used or any(one.name == new or one.default is not None for one in kernel.parameters):
        return
    if not _only_read_before(kernel, store) or not _by_thread(place, kernel, store.target.index):
        return
    edits = _written(place, store, new)
    if edits is None:
        return
    declared = _declared(place, kernel, f"{new}: {place.text(parameter.annotation.span)}")
    title = f"Write to a new array `{new}` instead of `{name}`"
    yield Plan(title, (declared, *edits), _left(place, kernel, new, name))


def _declared(place: Place, kernel: ir.FunctionDef, text: str) -> Edit:
    """A new last parameter, on a line of its own if the others are."""
    last, lines = kernel.parameters[-1], place.module.lines
    assert last.annotation is not None
    end, indent = last.annotation.span[2:], lines[last.span.line - 1][: last.span.column - 1]
    if indent.strip():
        return place.edit(Span(*end, *end), f", {text}")
    rest = lines[end[0] - 1][end[1] - 1 :].partition("#")[0].strip()
    if rest == ",":
        end = (end[0], len(lines[end[0] - 1]) + 1)
        return place.edit(Span(*end, *end), f"\n{indent}{text},")
    several = len(kernel.parameters) > 1 and last.span.line == kernel.parameters[-2].span.line
    return place.edit(Span(*end, *end), f", {text}" if several else f",\n{indent}{text}")


def _is_kernel(place: Place, function: ir.FunctionDef) -> bool:
    decorators = [one.func if isinstance(one, ir.Call) else one for one in function.decorators]
    return len(decorators) == 1 and place.external(decorators[0]) == "warp.kernel"


def _store(place: Place, kernel: ir.FunctionDef) -> _Store | None:
    """The store, where it is one of the statements that every thread runs."""
    told = [label.location.span for label in place.finding.fact.labels] + [place.span]
    written = place.attribute("target").partition("[")[0].strip()
    found = []
    for statement in kernel.body:
        if isinstance(statement, ir.Assign) and len(statement.targets) == 1:
            target = statement.targets[0]
        elif isinstance(statement, ir.AugAssign):
            target = statement.target
        else:
            continue
        if not isinstance(target, ir.Subscript) or not isinstance(target.value, ir.Name):
            continue
        if target.value.id == written and statement.span in told:
            found.append(_Store(statement, target, target.value))
    return found[0] if len(found) == 1 else None


def _only_read_before(kernel: ir.FunctionDef, store: _Store) -> bool:
    """Whether all that the kernel does with the array is to read elements, and not after the store."""
    if any(isinstance(node, (ir.Return, ir.Break, ir.Continue)) for one in kernel.body for node in ir.walk(one)):
        return False  # what some threads do not store would not be in the new array
    names = {id(node) for one in kernel.body for node in ir.walk(one) if _is(node, store.array.id)}
    read: set[int] = set()
    for statement in kernel.body:
        if statement.span > store.statement.span:
            break
        for node in ir.walk(statement):
            if isinstance(node, ir.Subscript) or (isinstance(node, ir.Attribute) and node.attr == "shape"):
                read.add(id(node.value))
        for node in ir.walk(statement):
            targets = node.targets if isinstance(node, ir.Assign) else ()
            targets = (node.target,) if isinstance(node, (ir.AugAssign, ir.AnnAssign, ir.For)) else targets
            for target in targets:
                if target is not store.target:
                    read -= {id(inner) for inner in ir.walk(target)}
    return names <= read


def _is(node: ir.Node, name: str) -> bool:
    return isinstance(node, ir.Name) and node.id == name


def _by_thread(place: Place, kernel: ir.FunctionDef, index: ir.Expr) -> bool:
    """Whether each thread stores the element with its own number."""
    indices = index.elements if isinstance(index, ir.Tuple) else (index,)
    names = [node.id for node in indices if isinstance(node, ir.Name)]
    for statement in kernel.body:
        if isinstance(statement, ir.Assign) and isinstance(statement.value, ir.Call) and len(statement.targets) == 1:
            target = statement.targets[0]
            parts = target.elements if isinstance(target, ir.Tuple) else (target,)
            own = [node.id for node in parts if isinstance(node, ir.Name)]
            if place.external(statement.value.func) == "warp.tid" and own == names and len(names) == len(indices):
                bound = [
                    node
                    for node in ir.walk(kernel)
                    if isinstance(node, (ir.Assign, ir.AugAssign, ir.For, ir.AnnAssign))
                    for target in (node.targets if isinstance(node, ir.Assign) else (node.target,))
                    if any(isinstance(inner, ir.Name) and inner.id in own for inner in _bound(target))
                ]
                return len(bound) == 1
    return False


def _bound(target: ir.Expr) -> Iterator[ir.Expr]:
    if isinstance(target, (ir.Tuple, ir.List)):
        for element in target.elements:
            yield from _bound(element)
    else:
        yield target


def _written(place: Place, store: _Store, new: str) -> list[Edit] | None:
    statement, target = store.statement, store.target
    named = place.edit(store.array.span, new)
    if isinstance(statement, ir.Assign):
        return [named]
    value = statement.value
    start, end = target.span, value.span
    between = Span(start.end_line, start.end_column, end.line, end.column)
    if place.text(between).strip() != f"{statement.operator}=":
        return None
    before = f" = {place.text(target.span)} {statement.operator} "
    edits = [named, place.edit(between, before if isinstance(value, CLOSED) else f"{before}(")]
    if not isinstance(value, CLOSED):
        edits.append(place.edit(Span(*end[2:], *end[2:]), ")"))
    return edits


def _left(place: Place, kernel: ir.FunctionDef, new: str, old: str) -> str:
    """What a person has to do besides: the places where the kernel is launched."""
    found = list(_launches(place, kernel))
    listed = ", ".join(f"{displayed(one.path)}:{one.span.line}" for one in found[:_MOST])
    more = f" and {len(found) - _MOST} more" if len(found) > _MOST else ""
    task = f"pass an array for `{new}` and read it in place of `{old}` from then on"
    if not found:
        return f"no launch of `{kernel.name}` was found in these files; where it is launched, {task}"
    return f"where `{kernel.name}` is launched, {task}; launches in these files: {listed}{more}"


def _launches(place: Place, kernel: ir.FunctionDef) -> Iterator[Location]:
    project = place.module.project
    for path in sorted({place.module.path, *place.files}):
        module = project.module(path)  # a run that remembers the findings of a file has not read it
        if module is None or kernel.name not in module.text:
            continue
        for statement in module.statements():
            yield from _in(module, statement, (), kernel)


def _in(
    module: Module, node: ir.Node, scope: tuple[ir.FunctionDef | ir.ClassDef, ...], kernel: ir.FunctionDef
) -> Iterator[Location]:
    if isinstance(node, ir.Call) and (node.args or node.keyword("kernel")):
        name = module.project.external(module, node.func, scope)
        if name in ("warp.launch", "warp.launch_tiled"):
            launched = node.args[0] if node.args else node.keyword("kernel")
            assert launched is not None
            found = module.project.resolve(module, launched, scope)
            if isinstance(found, Definition) and found.node is kernel:
                yield Location(module.path, node.span)
    if isinstance(node, (ir.FunctionDef, ir.ClassDef)):
        scope = (*scope, node)
    for child in ir.children(node):
        yield from _in(module, child, scope, kernel)
