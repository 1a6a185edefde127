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
from warplint.kernels.trace import SCRATCH, Insert
from warplint.kernels.versioned import Old, Versioned


class Facts(Maker):
    """Makes the facts of one trace."""

    def all(self) -> Iterator[Fact]:
        """All facts of the definition."""
        augmented = {fact.location.span: fact for fact in self._augmented()}
        overwritten: set[tuple[object, Span]] = set()
        if self._overwrites_handled is False:
            for overwrites in self._by_value(Components(self._trace, self._active).find()):
                yield self._overwrite(overwrites)
                overwritten.update((self._insert(item).variable, self._insert(item).statement) for item in overwrites)
        stores = {span for _, span in overwritten}
        needed: set[Span] = set()
        lost = list(LostValues(self._knowledge, self._trace, self._active, self._overwrites_handled).find())
        for defect in Classes(self._trace).defects(lost):
            if defect.kind == "component-stored-after-read" and defect.span in stores:
                continue  # a wrong store already
            if defect.kind == "loop-carried-value" and any(
                variable == defect.attributes["variable"] and span.covers(defect.span) for variable, span in overwritten
            ):
                continue  # of a variable whose components should not be stored like this at all
            labels = [self._label(span, text) for span, text in defect.labels]
            if defect.kind == "array-overwritten":
                needed.add(defect.span)
            if defect.kind == "array-overwritten" and defect.span in augmented:
                # one change repairs both: to write the new value elsewhere
                fact = augmented[defect.span]
                further = [label for label in labels if label.location.span != defect.span]
                augmented[defect.span] = replace(fact, labels=(*fact.labels, *further))
                continue
            yield self._fact(defect.kind, defect.span, defect.attributes, labels)
        yield from augmented.values()
        for old in Versioned(self._knowledge, self._trace, self._active).find():
            if old.span not in needed:  # what repairs a lost value repairs this
                yield self._versioned(old)

    def _versioned(self, old: Old) -> Fact:
        attributes: dict[str, object] = {"target": old.target or self._text(old.span), "operator": old.operator}
        labels = [self._label(old.span, "this Warp differentiates it otherwise than newer ones")]
        labels += [self._label(span, text) for span, text in old.other]
        return self._fact(old.kind, old.span, attributes, labels)

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
            if operations[self._trace.root(array.index)[0]].detail == SCRATCH:
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

    def _insert(self, overwrite: Overwrite) -> Insert:
        insert = self._trace.operations[overwrite.store].detail
        assert isinstance(insert, Insert)
        return insert

    def _by_value(self, found: Iterator[Overwrite]) -> list[list[Overwrite]]:
        """The offending stores, one for each statement, by the value that they store over.

        All go if the composite is built anew.
        """
        groups: dict[object, list[Overwrite]] = {}
        members: dict[Span, object] = {}
        for overwrite in found:
            insert = self._insert(overwrite)
            if insert.statement in members:
                continue
            place = self._trace.operations[overwrite.previous].span
            key = members.get(place, (insert.variable, place))
            if self._fact_kind(insert) != "component-overwrite":
                key = (insert.variable, insert.statement)  # another defect
            members[insert.statement] = key
            groups.setdefault(key, []).append(overwrite)
        return list(groups.values())

    def _fact_kind(self, insert: Insert) -> str:
        accumulates = insert.attribute and insert.operator in ("+=", "-=")
        return "attribute-component-accumulate" if accumulates else "component-overwrite"

    def _overwrite(self, overwrites: list[Overwrite]) -> Fact:
        first = overwrites[0]
        store = self._trace.operations[first.store]
        previous = self._trace.operations[first.previous]
        insert = self._insert(first)
        span = insert.statement
        labels = [self._label(span, "overwritten here: the old value's gradient is not cleared")]
        if previous.span != span:
            labels.insert(0, self._label(previous.span, f"`{insert.variable}` holds a differentiable value from here"))
        for other in overwrites[1:8]:
            labels.append(self._label(self._insert(other).statement, "and here"))
        attributes: dict[str, object] = {
            "target": insert.target,
            "operator": insert.operator,
            "variable": insert.variable,
            "composite": store.type.kind,
            "attribute": insert.attribute,
            "accumulates": insert.operator in ("+=", "-="),
            "size": store.type.shape[0] if len(store.type.shape) == 1 else 0,
        }
        return self._fact(self._fact_kind(insert), span, attributes, labels)
