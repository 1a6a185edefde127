"""Writes the trace: numbers arrays, tapes and loops, and knows where the run is."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Literal

from warplint.ir.programs import DefinitionRef
from warplint.ir.spans import Location
from warplint.tapes.aliases import Aliases, Container
from warplint.tapes.trace import (
    Aliased,
    Allocated,
    BackwardRun,
    Bound,
    Checked,
    Context,
    Copied,
    CustomAdjoint,
    Escaped,
    Filled,
    Flagged,
    GradientRead,
    GradientSeeded,
    GradientUsed,
    GradientZeroed,
    How,
    Launched,
    ParameterUpdated,
    Record,
    Replayed,
    Reported,
    Scaled,
    TapeBegan,
    TapeEnded,
    Trace,
    TrackerSet,
    ViewChanged,
)
from warplint.tapes.values import ArrayValue, Instance, ListValue, Storage, TapeValue, Unknown, Value


def _adds_up(record: Launched, gradient: ArrayValue) -> bool:
    """Whether a launch adds a gradient to an array that has it added to again by the next such launch."""
    targets = {target.storage for source, target in record.flows if source.storage is gradient.storage}
    return any(
        access.array.storage in targets
        and access.array.storage.owner is None
        and access.array.storage is not gradient.storage.owner  # a step of the parameter itself
        and (access.accumulates or (access.reads and access.writes))
        for access in record.accesses
    )


class Recorder:
    """The trace of one run and the stack of calls, loops and tapes around the present place."""

    def __init__(self) -> None:
        self.trace = Trace("")
        # Places that stand for calls which nobody wrote: where a run starts.
        self._starts: list[Location] = []
        self.tapes: list[int] = []
        self._stack: list[tuple[str, Location]] = []
        # For each call on the stack, the places where it and those around it are written.
        self._calls: list[tuple[Location, ...]] = [()]
        self._loops: list[tuple[int, int]] = []
        self._next_loop = 0
        self._next_tape = 0
        # Where captures that are going on began; what graphs hold, as pieces of the trace.
        self._capturing: list[int] = []
        self._captured: dict[int, tuple[Unknown, int, int]] = {}
        self._aliases = Aliases()
        self._materialized: dict[int, tuple[Unknown, ArrayValue]] = {}

    # --- place ---

    def starts(self, site: Location) -> None:
        """A run starts here: what is called at ``site`` is called by nobody."""
        self._starts.append(site)

    def enter(self, definition: str, site: Location) -> None:
        self._stack.append((definition, site))
        around = self._calls[-1]
        self._calls.append(around if self._is_start(site) else (*around, site))

    def leave(self) -> tuple[str, Location]:
        self._calls.pop()
        return self._stack.pop()

    def _is_start(self, site: Location) -> bool:
        # Spans first: they differ nearly always, and paths take long to compare.
        return any(start.span == site.span and start.path == site.path for start in self._starts)

    def begin_loop(self) -> int:
        """A new loop; its rounds are told by ``round``."""
        self._next_loop += 1
        self._loops.append((self._next_loop, 0))
        return self._next_loop

    def round(self, number: int) -> None:
        self._loops[-1] = (self._loops[-1][0], number)

    def end_loop(self) -> None:
        self._loops.pop()

    @property
    def depth(self) -> tuple[int, int]:
        """How many loops and tapes are open; ``restore`` goes back there after an exception."""
        return len(self._loops), len(self.tapes)

    def restore(self, depth: tuple[int, int]) -> None:
        del self._loops[depth[0] :]
        del self.tapes[depth[1] :]

    def context(self, site: Location) -> Context:
        return Context(
            site,
            self._calls[-1],
            tuple(self._loops),
            self._stack[-1][0] if self._stack else "",
            self.tapes[-1] if self.tapes else None,
        )

    def _add(self, record: Record) -> None:
        self.trace.records.append(record)

    # --- arrays ---

    def new_array(
        self,
        site: Location,
        source: str,
        dtype: str | DefinitionRef | None,
        shape: tuple[int | Unknown, ...] | None,
        requires_grad: bool | None,
        *,
        kind: str = "allocation",
        name: str = "",
        like: ArrayValue | None = None,
        values: tuple[float, ...] | None = None,
        flag: Unknown | None = None,
    ) -> ArrayValue:
        """An array with memory of its own."""
        context = self.context(site)
        storage = Storage(
            len(self.trace.arrays),
            site,
            kind,
            source,
            name,
            context.stack,
            context.definition,
            like=like.storage.number if like is not None else None,
            values=values,
        )
        array = ArrayValue(storage, dtype, shape, requires_grad, flag=flag)
        self.trace.arrays.append(array)
        self._add(Allocated(context, array))
        return array

    def view(self, base: ArrayValue, view: str, shape: tuple[int | Unknown, ...] | None) -> ArrayValue:
        """An array that shares the memory of ``base``, and its gradient as it is now."""
        array = ArrayValue(base.storage, base.dtype, shape, base.requires_grad, base.view + view, base, flag=base.flag)
        self.trace.arrays.append(array)
        return array

    def materialize(self, unknown: Unknown, site: Location) -> ArrayValue:
        """The array that an unknown value must be, since it is used as one."""
        found = self._materialized.get(id(unknown))
        if found is not None:
            return found[1]
        array = self.new_array(site, "parameter", None, None, None, kind="parameter", name=unknown.hint)
        self._materialized[id(unknown)] = (unknown, array)
        return array

    def materialized(self, unknown: Unknown) -> ArrayValue | None:
        """The array that an unknown value already turned out to be."""
        found = self._materialized.get(id(unknown))
        return None if found is None else found[1]

    def gradient(self, array: ArrayValue) -> ArrayValue:
        """``array.grad`` for an array that has (or may have) one."""
        if array.grad is None:
            storage = array.storage
            if storage.gradient is None:
                storage.gradient = Storage(
                    -storage.number - 1, storage.site, "gradient", "grad", f"{storage.name}.grad", owner=storage
                )
            array.grad = ArrayValue(storage.gradient, array.dtype, array.shape, False, array.view, array)
        return array.grad

    # --- events ---

    def launched(self, record: Launched) -> None:
        self._add(record)
        if record.adjoint:
            return
        for access in record.accesses:
            if access.array.storage.owner is None or access.array.base is None:
                continue
            writes = access.writes or access.accumulates
            how: How = "sum" if not writes and _adds_up(record, access.array) else "launch"
            self._gradient_access(access.array, writes, record.context, how)

    @property
    def moment(self) -> int:
        """The place in the trace that the next record gets."""
        return len(self.trace.records)

    def copied(self, target: ArrayValue, source: ArrayValue, site: Location, whole: bool, recorded: bool) -> None:
        context = self.context(site)
        self._add(Copied(context, target, source, recorded and context.tape is not None, whole))
        if source.storage.owner is not None:
            self._gradient_access(source, False, context, "copy")
        if target.storage.owner is not None:
            self._gradient_access(target, True, context, "copy", source)

    def computed(self, target: ArrayValue, sources: list[ArrayValue], by: str, site: Location) -> None:
        """``target`` is computed from ``sources`` by a function of Warp that no tape records."""
        for number, source in enumerate(sources):
            whole = number == 0 and target.storage is not source.storage
            self._add(Copied(self.context(site), target, source, False, whole, by))

    def _gradient_access(
        self, array: ArrayValue, writes: bool, context: Context, how: How, origin: ArrayValue | None = None
    ) -> None:
        if array.storage.owner is None or array.base is None:
            return
        if writes:
            sources = frozenset() if origin is None else frozenset({origin.storage})
            self._add(GradientSeeded(context, array.base, origin, sources))
        else:
            self._add(GradientRead(context, array.base, how))

    def filled(self, array: ArrayValue, value: Value, sources: frozenset[Storage], site: Location) -> None:
        """Host data, or a number, over all of an array; over a gradient it is a zeroing or a seed."""
        context = self.context(site)
        if array.storage.owner is not None and array.base is not None:
            part = "[" in array.view
            if part and value == 0:
                self._add(GradientRead(context, array.base, "escape"))  # the rest of it stays
            elif part:
                self._add(GradientSeeded(context, self.view(array.base, array.view, array.shape), value, sources))
            elif value == 0 and not isinstance(value, Unknown):
                self._add(GradientZeroed(context, None, array.base))
            else:
                self._add(GradientSeeded(context, array.base, value, sources))
            return
        self._add(Filled(context, array, value, sources))

    def view_changed(self, array: ArrayValue, site: Location) -> None:
        """The host changes in place what ``array.numpy()`` gave."""
        self._add(ViewChanged(self.context(site), array))

    def flagged(self, array: ArrayValue, site: Location) -> None:
        """``array.requires_grad`` is set after the array was made."""
        self._add(Flagged(self.context(site), array))

    def bound(self, struct: Instance, name: str, value: Value, site: Location) -> None:
        """A field of a struct gets another value."""
        flag = value.requires_grad if isinstance(value, ArrayValue) else None
        self._add(Bound(self.context(site), id(struct), name, value, flag))

    def stored(self, container: Container, key: object, before: Value, value: Value, site: Location) -> None:
        """``container`` gets ``value`` under ``key``, where ``before`` was: it may have another name."""
        self._aliases.note(self.context(site), container, key, before, value)

    def relisted(self, value: ListValue, site: Location) -> None:
        """A list takes the place of another one: it may hold one object twice."""
        self._aliases.note_list(self.context(site), value.items)

    def seeded(self, array: ArrayValue, value: Value, site: Location) -> None:
        """``array.grad = value``."""
        memory = {value.storage} if isinstance(value, ArrayValue) else ()
        self._add(GradientSeeded(self.context(site), array, value, frozenset(memory)))

    def scaled(
        self,
        sources: frozenset[Storage],
        how: Literal["mean", "scaled"],
        site: Location,
        multiple: tuple[float, int] | None = None,
    ) -> None:
        """Host code takes a mean, or a multiple of a number, of what arrays hold: of ``multiple`` see ``Scaled``."""
        factor, means = multiple if multiple is not None else (None, 0)
        for storage in sorted(sources, key=lambda storage: storage.number):
            self._add(Scaled(self.context(site), storage, how, factor, means))

    def read_gradient(self, array: ArrayValue, how: How, site: Location) -> None:
        """Host code looks at the gradient array ``array``."""
        if array.base is None or array.storage.owner is None:
            return
        context = self.context(site)
        self._add(GradientRead(context, array.base, how))

    def summed(self, sources: frozenset[Storage], site: Location) -> None:
        """Host code adds data to what it keeps: gradients that the data came from add up there."""
        for array in self.trace.arrays:
            if array.base is None and array.storage.gradient in sources:
                self._add(GradientRead(self.context(site), array, "sum"))

    def used_gradient(self, array: ArrayValue, read: int, shared: bool, result: bool, site: Location) -> None:
        """Host code uses what it read of a gradient."""
        self._add(GradientUsed(self.context(site), array, read, shared, result))

    def reported(self, storages: frozenset[Storage], site: Location, kind: Literal["sum", "curved", ""] = "") -> None:
        """What arrays held is the result of the run (see ``warplint.tapes.trace.Reported``)."""
        self._add(Reported(self.context(site), storages, kind))

    def updated(self, array: ArrayValue, site: Location) -> None:
        self._add(ParameterUpdated(self.context(site), array))

    def escaped(self, array: ArrayValue, callee: str, site: Location) -> None:
        if array.storage.owner is not None:
            self.read_gradient(array, "escape", site)
        else:
            self._add(Escaped(self.context(site), array, callee))

    def checked(self, checker: str, tape: int | None, kernel: str, struct: bool, site: Location) -> None:
        self._add(Checked(self.context(site), checker, tape, kernel, struct))

    def tracker_set(self, site: Location) -> None:
        self._add(TrackerSet(self.context(site)))

    def capture_begins(self) -> None:
        """What is launched from here on is captured as a graph."""
        self._capturing.append(self.moment)

    def capture_ends(self, graph: Value) -> None:
        """``graph`` is what was launched since the last capture began."""
        began = self._capturing.pop() if self._capturing else self.moment
        if isinstance(graph, Unknown):
            self._captured[id(graph)] = (graph, began, self.moment)

    def replayed(self, graph: Value, site: Location) -> None:
        """A captured graph runs: its launches happen once more, and no tape that is open notices."""
        context = self.context(site)
        _, began, ended = self._captured.get(id(graph), (None, 0, 0))
        for record in self.trace.records[began:ended] if context.tape is not None else ():
            # What the open tape recorded while it was captured has its adjoint there.
            if isinstance(record, Launched) and not record.adjoint and record.context.tape != context.tape:
                self._add(replace(record, context=context, recorded=False, by="capture_launch"))
        self._add(Replayed(context))

    # --- tapes ---

    def new_tape(self) -> TapeValue:
        self._next_tape += 1
        return TapeValue(self._next_tape)

    def begin_tape(self, tape: TapeValue, site: Location, instances: Iterable[Instance] = ()) -> None:
        """``tape`` is opened; ``instances`` are the objects that there are."""
        for shared in self._aliases.standing(instances):
            self._add(Aliased(shared.context, tape.number, shared.storages, shared.across))
        self._add(TapeBegan(self.context(site), tape.number))
        self.tapes.append(tape.number)

    def end_tape(self, tape: TapeValue, site: Location) -> None:
        if tape.number in self.tapes:
            self.tapes.remove(tape.number)
        self._add(TapeEnded(self.context(site), tape.number))

    def reset_tape(self, tape: TapeValue) -> None:
        """What was recorded is forgotten: from here on the object is another tape."""
        tape.number = self.new_tape().number

    def custom_adjoint(self, tape: int, site: Location) -> None:
        self._add(CustomAdjoint(self.context(site), tape))

    def backward(
        self, tape: TapeValue, loss: ArrayValue | None, seeds: dict[ArrayValue, Value], known: bool, site: Location
    ) -> None:
        for given in seeds.values():
            if isinstance(given, ArrayValue):
                self.read_gradient(given, "copy", site)  # of another array, if it is a gradient
        flags = {id(array): array.requires_grad for array in self.trace.arrays}
        self._add(BackwardRun(self.context(site), tape.number, loss, tuple(seeds), known, flags, tuple(seeds.values())))

    def zero_tape(self, tape: TapeValue, site: Location) -> None:
        self._add(GradientZeroed(self.context(site), tape.number, None))
