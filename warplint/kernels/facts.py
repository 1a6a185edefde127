"""From what the analyses found in a trace to facts: classification, labels, places."""

from __future__ import annotations

from collections.abc import Iterator

from warplint.ir.facts import Fact
from warplint.ir.spans import Span
from warplint.kernels.components import Components, Overwrite
from warplint.kernels.lost import Lost, LostValues, written
from warplint.kernels.making import Maker
from warplint.kernels.trace import Insert, Operation, Trace
from warplint.source.project import Definition

#: How an operation is spelled in messages.
_SPELLED = {
    "add": "+",
    "sub": "-",
    "mul": "*",
    "div": "/",
    "mod": "%",
    "pow": "**",
    "neg": "-",
    "phi": "if",
    "compare": "comparison",
    "store": "=",
    "insert": "=",
    "insert_add": "+=",
    "extract": "[]",
    "load": "[]",
    "view": "[]",
    "loop": "loop",
}


def _spelled(operation: Operation) -> str:
    if operation.name == "call" and isinstance(operation.detail, Definition):
        return operation.detail.node.name
    write = written(operation)
    return write.operator if write is not None else _SPELLED.get(operation.name, operation.name)


#: The kinds of facts that lost values make, by kind of loss and what they are read as.
_KINDS = {
    ("carried", "index"): "carried-index",
    ("result", ""): "loop-result-used",
    ("overwritten", ""): "array-overwritten",
    ("scratch", ""): "kernel-scratch-array",
}


class Facts(Maker):
    """Makes the facts of one trace."""

    def all(self) -> Iterator[Fact]:
        """All facts of the definition."""
        yield from self._augmented()
        if self._overwrites_handled is False:
            for overwrite in _first_of_each(self._trace, Components(self._trace, self._active).find()):
                yield self._overwrite(overwrite)
        lost = list(LostValues(self._knowledge, self._trace, self._active).find())
        yield from self._carried(lost)
        yield from self._others(lost)

    # --- array elements updated in place ---

    def _augmented(self) -> Iterator[Fact]:
        operations = self._trace.operations
        seen: set[Span] = set()
        for operation in operations:
            write = written(operation)
            if operation.name != "store" or write is None or write.old is None or write.statement in seen:
                continue
            if write.operator not in ("*=", "/=", "%=", "**=") or write.partial:
                continue
            array = operations[operation.operands[0]]
            element = array.type.element
            if element is None or not self._knowledge.types.differentiable(element):
                continue
            if array.name == "field" and not array.variable:
                continue  # ``s.a[i] *= x``: Warp has no overload for it and refuses
            if operations[self._trace.root(array.index)[0]].detail == "scratch":
                continue
            assert write.value is not None
            active = write.operator == "**=" or bool(self._active.varied[write.value])
            if not active:
                continue
            seen.add(write.statement)
            value = operations[write.value]
            labels = [
                self._label(write.statement, "read here, and overwritten by the same statement"),
                self._label(value.span, "its adjoint needs the element's value from before"),
            ]
            attributes: dict[str, object] = {
                "target": write.target,
                "operator": write.operator,
                "value": self._text(value.span),
                "element": element.kind,
                "active": True,
            }
            yield self._fact("array-augmented-assignment", write.statement, attributes, labels)

    # --- components ---

    def _overwrite(self, overwrite: Overwrite) -> Fact:
        store = self._trace.operations[overwrite.store]
        previous = self._trace.operations[overwrite.previous]
        insert = store.detail
        assert isinstance(insert, Insert)
        span = insert.statement
        labels = [self._label(span, "overwritten here: the old value's gradient is not cleared")]
        if previous.span != span:
            labels.insert(0, self._label(previous.span, f"`{insert.variable}` holds a differentiable value from here"))
        attributes: dict[str, object] = {
            "target": insert.target,
            "operator": insert.operator,
            "variable": insert.variable,
            "composite": store.type.kind,
            "attribute": insert.attribute,
            "accumulates": insert.operator in ("+=", "-="),
        }
        kind = "component-overwrite"
        if insert.attribute and insert.operator in ("+=", "-="):
            kind = "attribute-component-accumulate"
        return self._fact(kind, span, attributes, labels)

    # --- values carried by loops ---

    def _carried(self, lost: list[Lost]) -> Iterator[Fact]:
        operations = self._trace.operations
        groups: dict[tuple[Span, str | None], list[Lost]] = {}
        for item in lost:
            if item.loss.kind != "carried" or item.via == "index":
                continue
            head = operations[item.loss.origin]
            assert isinstance(head.detail, int)
            if not self._trace.inside(operations[item.reader].frame, head.detail):
                continue
            groups.setdefault((self._trace.frames[head.detail].span, head.variable), []).append(item)
        places: set[Span] = set()
        for (loop, variable), items in groups.items():
            items.sort(key=lambda item: (item.via == "order", item.reader))
            first = items[0]
            span = first.place
            if span in places:
                continue
            places.add(span)
            head = operations[first.loss.origin]
            labels = [self._label(loop, "a dynamic loop: what its locals hold is not recorded")]
            if first.via == "order":
                reason = (
                    "its gradient changes here in every iteration, and the iterations are reversed in forward order"
                )
            elif first.via == "condition":
                reason = "read here: the reverse sweep decides this anew with another value"
            else:
                reason = "read here: the adjoint needs this value"
            labels.append(self._label(span, reason))
            update = self._update(head)
            if update is not None and update != span:
                labels.append(self._label(update, f"`{variable}` is overwritten here"))
            for item in items[1:]:
                other = item.place
                if all(label.location.span != other for label in labels):
                    labels.append(self._label(other, "read here as well"))
            reader = operations[first.reader]
            attributes: dict[str, object] = {
                "variable": variable or "",
                "operation": _spelled(reader),
                "needs": first.via,
                "loop": self._trace.frames[head.detail].kind if isinstance(head.detail, int) else "",
                "active": True,
            }
            yield self._fact("loop-carried-value", span, attributes, labels[:6])

    def _update(self, head: Operation) -> Span | None:
        operations = self._trace.operations
        if len(head.operands) < 2:
            return None
        index = head.operands[1]
        while operations[index].name == "phi":
            _, then, orelse = operations[index].operands
            index = then if then != head.index else orelse
        return operations[index].span if index != head.index else None

    # --- the other losses ---

    def _others(self, lost: list[Lost]) -> Iterator[Fact]:
        """Lost values of the kinds that no loop carries: one fact for each reader."""
        operations = self._trace.operations
        seen: set[tuple[str, Span]] = set()
        for item in lost:
            origin = operations[item.loss.origin]
            kind = _KINDS.get((item.loss.kind, item.via), _KINDS.get((item.loss.kind, ""), ""))
            if item.loss.kind == "mutated":
                kind = "loop-result-used" if origin.name == "loop" else "component-stored-after-read"
            if kind == "" or (kind, item.place) in seen:
                continue
            overwriter = operations[item.loss.overwriter] if item.loss.overwriter is not None else None
            write = written(overwriter) if overwriter is not None else None
            if write is not None and write.old is not None and write.old == item.loss.origin:
                continue  # one statement reads and overwrites: in-place array math
            seen.add((kind, item.place))
            labels = [self._label(item.place, "its adjoint needs a value that is gone")]
            if origin.span != item.place:
                labels.append(self._label(origin.span, "the value comes from here"))
            if overwriter is not None:
                labels.append(self._label(overwriter.span, "overwritten here"))
            attributes: dict[str, object] = {
                "variable": origin.variable or "",
                "target": write.target if write is not None else "",
                "operation": _spelled(operations[item.reader]),
                "needs": item.via,
                "active": True,
            }
            yield self._fact(kind, item.place, attributes, labels)


def _first_of_each(trace: Trace, found: Iterator[Overwrite]) -> Iterator[Overwrite]:
    """The first offending store for each variable and component (static loops repeat stores)."""
    seen: set[object] = set()
    places: set[Span] = set()
    for overwrite in found:
        insert = trace.operations[overwrite.store].detail
        assert isinstance(insert, Insert)
        key = (insert.variable, insert.component)
        if key in seen or insert.statement in places:
            continue
        seen.add(key)
        places.add(insert.statement)
        yield overwrite
