"""From what the analyses found in a trace to facts: classification, labels, places."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from warplint.ir.facts import Fact
from warplint.ir.spans import Span
from warplint.kernels.classes import Classes
from warplint.kernels.components import Components, Overwrite
from warplint.kernels.losses import written
from warplint.kernels.lost import LostValues
from warplint.kernels.making import Maker
from warplint.kernels.trace import Insert, Trace


class Facts(Maker):
    """Makes the facts of one trace."""

    def all(self) -> Iterator[Fact]:
        """All facts of the definition."""
        augmented = {fact.location.span: fact for fact in self._augmented()}
        stores: set[Span] = set()
        if self._overwrites_handled is False:
            for overwrite in _first_of_each(self._trace, Components(self._trace, self._active).find()):
                fact = self._overwrite(overwrite)
                stores.add(fact.location.span)
                yield fact
        lost = list(LostValues(self._knowledge, self._trace, self._active, self._overwrites_handled).find())
        for defect in Classes(self._trace).defects(lost):
            if defect.kind == "component-stored-after-read" and defect.span in stores:
                continue  # a wrong store already
            labels = [self._label(span, text) for span, text in defect.labels]
            if defect.kind == "array-overwritten" and defect.span in augmented:
                # one change repairs both: to write the new value elsewhere
                fact = augmented[defect.span]
                further = [label for label in labels if label.location.span != defect.span]
                augmented[defect.span] = replace(fact, labels=(*fact.labels, *further))
                continue
            yield self._fact(defect.kind, defect.span, defect.attributes, labels)
        yield from augmented.values()

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
