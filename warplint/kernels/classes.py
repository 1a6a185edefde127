"""From lost values to facts: which class each belongs to, what counts as one defect, and what is said about it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from warplint.ir.spans import Span
from warplint.kernels.losses import Lost, written
from warplint.kernels.statements import Statements
from warplint.kernels.trace import Frame, Insert, Jump, Operation, Trace
from warplint.kernels.words import plain, use
from warplint.records import dataclass

#: Kinds of facts whose place is where the value is overwritten; all others stand where it is needed.
_AT_OVERWRITING = frozenset({"array-overwritten", "tile-overwritten", "component-stored-after-read"})
#: Of one variable and loop, only the first of these is reported: the same values are gone.
_SAME_CAUSE = ("carried-index", "loop-carried-value", "loop-result-used")

_NEEDED = {
    "value": "read here: the adjoint needs this value",
    "index": "read here: the adjoint goes to another element",
    "condition": "read here: the reverse sweep decides this anew with another value",
    "bound": "read here: the reverse sweep runs another number of iterations",
    "order": "updated here: the iterations are reversed in forward order, and their adjoints come in the wrong order",
    "turn": "read here: the iterations are reversed in forward order, and their adjoints come in the wrong order",
}


@dataclass(frozen=True, slots=True)
class Defect:
    """A class of lost values that one change of the source repairs."""

    kind: str
    span: Span
    labels: tuple[tuple[Span, str], ...]
    attributes: dict[str, object]
    #: Where a value was read, if the defect stands elsewhere, of which array it is, and which loop lost it.
    read: Span | None = None
    array: object = None
    loop: Span | None = None


class Classes:
    """Classifies the lost values of one trace."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._statements = Statements(trace.definition)

    def defects(self, lost: list[Lost]) -> Iterator[Defect]:
        """One defect for each thing to change, in the order in which they were found."""
        found: dict[tuple[str, object], Defect] = {}
        for defect in self._causes(lost):
            key = self._key(defect)
            first = found.get(key)
            if first is not None and defect.kind == "array-overwritten" and defect.span < first.span:
                first, defect = defect, first
            found[key] = defect if first is None else _joined(first, defect)
        for key, defect in found.items():
            # what its order spoils is one defect with what the same statement reads
            same = found.get((defect.kind, self._statements.at(defect.span)))
            if key[0] != "order" or same is None:
                yield defect

    def _key(self, defect: Defect) -> tuple[str, object]:
        """The same for defects that one change repairs: of what one statement reads, or what one loop leaves."""
        if defect.attributes.get("needs") == "order":
            return "order", defect.labels[0][0]  # of one loop
        if defect.kind == "array-overwritten":
            # what is read at once is kept at once, however many stores there are
            return defect.kind, (defect.array, self._statements.at(defect.read or defect.span))
        if defect.kind in ("early-exit", "loop-result-used") and defect.loop is not None:
            return defect.kind, defect.loop
        if defect.kind in _SAME_CAUSE:
            return defect.kind, self._statements.at(defect.span)
        return defect.kind, defect.span

    def _causes(self, lost: list[Lost]) -> Iterator[Defect]:
        """One defect for each value that is lost."""
        groups: dict[tuple[str, object], list[Lost]] = {}
        for item in lost:
            kind = self._kind(item)
            if kind is not None:
                groups.setdefault((kind, self._cause(kind, item)), []).append(item)
        carried = {
            (item.reader, self._trace.operations[item.loss.origin].variable)
            for (kind, _), items in groups.items()
            for item in items
            if kind == "loop-carried-value"
        }
        for (kind, cause), items in groups.items():
            if kind in _SAME_CAUSE:
                before = _SAME_CAUSE[: _SAME_CAUSE.index(kind)]
                if any((other, cause) in groups for other in before):
                    continue
            if kind == "component-stored-after-read":
                # what a loop stores into the vector that it carries is gone because the loop carries it
                items = [item for item in items if (item.reader, self._stored_in(item)) not in carried]
            items = [self._at_update(item) if item.via == "order" else item for item in items]
            items.sort(key=lambda item: (item.via in ("order", "turn"), item.reader))
            if items:
                yield self._defect(kind, items)

    def _stored_in(self, item: Lost) -> str | None:
        """The variable whose component a store changes."""
        insert = self._trace.operations[item.loss.origin].detail
        return insert.variable if isinstance(insert, Insert) else None

    # --- classes ---

    def _kind(self, item: Lost) -> str | None:
        loss = item.loss.kind
        if loss == "reordered":
            return "loop-carried-value"
        origin = self._trace.operations[item.loss.origin]
        if loss == "carried":
            if not self._trace.inside(self._trace.operations[item.reader].frame, self._loop(origin).index):
                return None
            return "carried-index" if origin.type.kind == "int" else "loop-carried-value"
        if loss == "mutated":
            if origin.name == "loop":
                return "loop-result-used"
            return "tile-overwritten" if origin.type.kind == "tile" else "component-stored-after-read"
        if loss == "overwritten":
            return None if self._one_statement(item) else "array-overwritten"
        return {
            "result": "loop-result-used",
            "scratch": "kernel-scratch-array",
            "member": "struct-component-store",
            "cut": "early-exit",
        }[loss]

    def _one_statement(self, item: Lost) -> bool:
        """Whether an augmented assignment reads and overwrites the element: in-place array math."""
        assert item.loss.overwriter is not None
        write = written(self._trace.operations[item.loss.overwriter])
        if write is None or write.old is None:
            return False
        operations = self._trace.operations
        return operations[write.old].number == operations[item.loss.origin].number and write.statement.covers(
            item.place
        )

    def _cause(self, kind: str, item: Lost) -> object:
        """What lost values of one defect have in common."""
        operations = self._trace.operations
        if item.loss.kind == "reordered":
            return self._trace.frames[item.loss.origin].span, self._trace.root(operations[item.reader].operands[0])
        origin = operations[item.loss.origin]
        if kind in _SAME_CAUSE:
            return self._loop(origin).span, origin.variable
        if kind == "array-overwritten":
            assert item.loss.overwriter is not None
            return operations[item.loss.overwriter].span
        if kind == "kernel-scratch-array":
            return self._trace.root(origin.operands[0])
        return origin.span

    def _loop(self, operation: Operation) -> Frame:
        assert isinstance(operation.detail, int)
        return self._trace.frames[operation.detail]

    # --- words ---

    def _defect(self, kind: str, items: list[Lost]) -> Defect:
        operations = self._trace.operations
        first = items[0]
        if first.loss.kind == "reordered":
            return self._reordered(first)
        origin = operations[first.loss.origin]
        reader = operations[first.reader]
        attributes: dict[str, object] = {
            "variable": origin.variable or "",
            "operation": plain(reader),
            "use": use(kind, first.via, reader),
            "needs": first.via,
            "active": True,
        }
        labels: list[tuple[Span, str]]
        if kind in _SAME_CAUSE:
            attributes["loop"] = self._loop(origin).kind
            labels = self._looped(kind, items)
        elif kind == "early-exit":
            return self._exit(first)
        else:
            labels = self._overwriting(kind, first, attributes)
        for item in items[1:]:
            if all(span.line != item.place.line for span, _ in labels):
                labels.append((item.place, "read here as well"))
        loop = self._loop(origin).span if kind in _SAME_CAUSE else None
        place = _primary(kind, labels, first)
        return Defect(kind, place, tuple(labels[:6]), attributes, first.place, first.loss.array, loop)

    def _looped(self, kind: str, items: list[Lost]) -> list[tuple[Span, str]]:
        first = items[0]
        origin = self._trace.operations[first.loss.origin]
        loop = self._loop(origin).span
        labels: list[tuple[Span, str]] = []
        if first.place != loop:
            labels.append((loop, "a dynamic loop: what its locals hold is not recorded"))
        reason = _NEEDED.get(first.via, _NEEDED["value"])
        if kind == "loop-result-used" and first.loss.kind == "mutated":
            reason = "read here: the adjoint finds what the loop made of it"
        labels.append((first.place, reason))
        head = origin if origin.name == "loop" else self._trace.operations[origin.operands[0]]
        update = self._update(head) if head.name == "loop" else head.span
        if update is not None and update != first.place:
            labels.append((update, f"`{origin.variable}` is overwritten here" if head.name == "loop" else "set here"))
        return labels

    def _overwriting(self, kind: str, first: Lost, attributes: dict[str, object]) -> list[tuple[Span, str]]:
        operations = self._trace.operations
        origin = operations[first.loss.origin]
        if kind == "kernel-scratch-array":
            root = operations[self._trace.root(origin.operands[0])[0]]
            attributes["variable"] = root.variable or ""
            labels = [(first.place, "the adjoint needs the element's value, which is not there in the reverse sweep")]
            return labels + ([(root.span, "made here")] if root.span != first.place else [])
        insert = origin.detail
        if isinstance(insert, Insert) and insert.in_struct:
            attributes["target"], attributes["variable"] = insert.target, insert.variable
            attributes["dropped"] = "gradient" if first.reader == origin.index else "value"
            labels = [
                (insert.statement, "stored here: the reverse sweep neither repeats this nor goes back through it")
            ]
            return labels + [(first.place, "the adjoint needs the value here")] * (first.place != insert.statement)
        if isinstance(insert, Insert):
            attributes["target"], attributes["variable"] = insert.target, insert.variable
            return [
                (first.place, "read here: the adjoint needs the value from before the store"),
                (insert.statement, "overwritten here"),
            ]
        if first.loss.overwriter is None:
            attributes["variable"] = origin.variable or operations[origin.operands[0]].variable or ""
            return [(first.place, "read here: the adjoint needs this value"), (origin.span, "overwritten here")]
        overwriter = operations[first.loss.overwriter]
        write = written(overwriter)
        attributes["target"] = write.target if write is not None else self._named(first, overwriter)
        attributes["overwrites"] = write.operator if write is not None else plain(overwriter)
        statement = write.statement if write is not None else overwriter.span
        needed = _NEEDED[first.via]
        if statement.covers(first.place):
            return [(first.place, needed)] * (first.place != statement) + [(statement, "overwritten here")]
        labels = [(first.place, needed), (statement, "overwritten here")]
        if origin.span != first.place and not first.place.covers(origin.span):
            labels.insert(0, (origin.span, "the element's value comes from here"))
        return labels

    def _named(self, item: Lost, overwriter: Operation) -> str:
        """The name of an array whose element a call overwrites."""
        root, fields = item.loss.array or self._trace.root(overwriter.operands[0])
        operation = self._trace.operations[root]
        name = operation.variable or (str(operation.detail) if operation.name == "parameter" else "an array")
        return ".".join((name, *fields))

    def _reordered(self, item: Lost) -> Defect:
        assert item.loss.overwriter is not None
        operations = self._trace.operations
        loop = self._trace.frames[item.loss.origin]
        store = operations[item.loss.overwriter]
        write = written(store)
        labels = [
            (loop.span, "a loop whose iterations are reversed in forward order"),
            (item.place, "read here"),
            (write.statement if write is not None else store.span, "stored here in another iteration"),
        ]
        attributes: dict[str, object] = {
            "variable": write.target if write is not None else "",
            "operation": plain(operations[item.reader]),
            "use": "stored in another iteration than it is read in: their adjoints come in the wrong order",
            "needs": item.via,
            "loop": loop.kind,
            "active": True,
        }
        return Defect("loop-carried-value", item.place, tuple(labels), attributes)

    def _exit(self, item: Lost) -> Defect:
        operations = self._trace.operations
        jump = operations[item.loss.origin].detail
        assert isinstance(jump, Jump)
        loop = self._trace.frames[jump.loop]
        victim = operations[item.reader]
        labels = [
            (loop.span, "a dynamic loop: the reverse sweep runs its body again, up to the exit"),
            (item.place, "left here" if jump.kind != "continue" else "cut short here"),
        ]
        if victim.span != item.place:
            labels.append((victim.span, "the adjoint of this is lost, or runs for iterations that never were"))
        attributes: dict[str, object] = {"exit": jump.kind, "loop": loop.kind, "active": True}
        return Defect("early-exit", item.place, tuple(labels), attributes, loop=loop.span)

    def _at_update(self, item: Lost) -> Lost:
        """What the order of iterations spoils, at the statement that updates the carried value."""
        origin = self._trace.operations[item.loss.origin]
        if item.loss.kind != "carried":
            return item
        return replace(item, place=self._update(origin, item.place) or item.place)

    def _update(self, head: Operation, near: Span | None = None) -> Span | None:
        """The statement that sets what a loop carries: that around ``near``, else the last one."""
        setting = self._statements.setting(head.variable or "", head.span)
        around = [span for span in setting if near is not None and span.covers(near)]
        found = around or setting
        return found[-1] if found else None


def _joined(first: Defect, other: Defect) -> Defect:
    """One defect with what another says of the same statement."""
    lines = {span.line for span, _ in first.labels}
    further = tuple(label for label in other.labels if label[0].line not in lines)
    return replace(first, labels=(first.labels + further)[:6])


def _primary(kind: str, labels: list[tuple[Span, str]], first: Lost) -> Span:
    if kind == "struct-component-store":
        return labels[0][0]
    if kind in _AT_OVERWRITING:
        return next(span for span, text in labels if text == "overwritten here")
    return first.place
