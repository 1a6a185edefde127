"""Array elements that are written after they were read: Warp reads arrays as they are at the end.

Two accesses meet in one element if their indices are equal values, or differ by constants where a loop or the grid of
threads runs over all of them. Whatever else there is (indices read from arrays, strides) is taken to be apart.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from warplint.kernels.invariance import Invariance
from warplint.kernels.knowledge import Knowledge
from warplint.kernels.layout import integer
from warplint.kernels.layout import member as member_of
from warplint.kernels.losses import EFFECTS
from warplint.kernels.trace import Operation, Trace, Write
from warplint.records import dataclass
from warplint.source.project import Definition

#: Threads and iterations further apart than this are no neighbours: launches may well have fewer.
_NEIGHBOURS = 2
#: An array by the operation that it comes from, and the fields passed on the way from that.
Array = tuple[int, tuple[str, ...]]

_ARITHMETIC = frozenset({"constant", "parameter", "tid", "induction", "add", "sub", "mul", "neg", "copy", "field"})


@dataclass(frozen=True, slots=True)
class Access:
    """An operation that reads or writes an element. ``bases`` and ``offsets`` make up its indices; variables of loops
    over the same range are one base in ``ranges``. ``needed``: not a call whose adjoint does without the value."""

    operation: int
    indices: tuple[int, ...]
    bases: tuple[int, ...]
    offsets: tuple[int, ...]
    ranges: tuple[object, ...]
    needed: bool = True


class Elements:
    """Finds the overwritten elements of one trace."""

    def __init__(self, knowledge: Knowledge, trace: Trace, invariance: Invariance) -> None:
        self._knowledge = knowledge
        self._trace = trace
        self._invariance = invariance
        #: The overwritten ones whose own adjoints read the value.
        self.needed: set[int] = set()
        self._overwriters: dict[int, list[int]] = {}

    def overwritten(self) -> dict[int, tuple[int, Array]]:
        """For each load (or call that reads an element): what overwrites the element first later, and the array."""
        found: dict[int, tuple[int, Array]] = {}
        stores = list(self._accesses(loads=False))
        if not stores:
            return found
        arrays = {array for array, _ in stores}
        loads: dict[tuple[Array, tuple[object, ...]], list[Access]] = {}
        for array, load in self._accesses(loads=True):
            if array in arrays:
                loads.setdefault((array, load.ranges), []).append(load)
        for array, store in stores:
            for load in self._candidates(loads, array, store):
                if load.operation not in found and self._overwrites(load, store):
                    found[load.operation] = (store.operation, array)
                    if load.needed:
                        self.needed.add(load.operation)
        return found

    def stored_twice(self) -> Iterator[tuple[Operation, Operation]]:
        """Stores into one element, the second of which only runs after the first."""
        operations = self._trace.operations
        before: dict[object, list[Operation]] = {}
        for array, access in self._accesses(loads=False):
            store = operations[access.operation]
            if store.name == "store":
                known = before.setdefault((array, access.bases, access.offsets), [])
                yield from ((first, store) for first in known if self._trace.inside(store.frame, first.frame))
                known.append(store)

    def overwriters(self, load: int) -> list[int]:
        """All operations that overwrite the element of an overwritten load later, in order."""
        if load not in self._overwriters:
            loads = [(array, access) for array, access in self._accesses(loads=True) if access.operation == load]
            self._overwriters[load] = [
                store.operation
                for array, store in self._accesses(loads=False)
                for other, access in loads
                if other == array
                and access in self._candidates({(array, access.ranges): [access]}, array, store)
                and self._overwrites(access, store)
            ]
        return self._overwriters[load]

    def _candidates(
        self, loads: dict[tuple[Array, tuple[object, ...]], list[Access]], array: Array, store: Access
    ) -> Iterator[Access]:
        yield from loads.get((array, store.ranges), ())
        if len(store.ranges) == 1:
            yield from loads.get((array, ()), ())  # calls that read all elements
        for (other, ranges), group in loads.items():
            if other != array or len(ranges) != len(store.ranges):
                continue
            apart = [at for at, (one, two) in enumerate(zip(ranges, store.ranges, strict=True)) if one != two]
            if len(apart) == 1:
                yield from (load for load in group if self._passes(load, store, apart[0]))

    def _passes(self, load: Access, store: Access, position: int) -> bool:
        """Whether one of two accesses is at a constant index, which the other one passes in a loop."""
        if any(
            one != other
            for at, (one, other) in enumerate(zip(load.offsets, store.offsets, strict=True))
            if at != position
        ):
            return False
        for looped, fixed in ((store, load), (load, store)):
            start = self.start(looped.bases[position])
            if start is not None and fixed.bases[position] == -1:
                return fixed.offsets[position] >= start + looped.offsets[position]
        return False

    def start(self, base: int) -> int | None:
        """The constant from which an index counts up by one: the variable of a ``for``, or one kept by hand."""
        source = self._trace.operations[base]
        if base < 0 or not isinstance(source.detail, int):
            return None
        if source.name == "loop" and len(source.operands) > 1:
            if source.type.kind != "int" or self._place(source.operands[1]) != (source.number, 1):
                return None
            first, start = self._place(source.operands[0])
            return start if first == -1 else None
        if source.name != "induction" or self._step(source) != 1:
            return None
        if len(source.operands) < 2:
            return 0
        start_value = self._trace.operations[source.operands[0]].detail
        return start_value if type(start_value) is int else None

    def shared(self, loop: int) -> Iterator[tuple[int, int]]:
        """Loads and stores in a loop that meet in one element in different iterations."""
        operations = self._trace.operations
        stores = [
            (array, store)
            for array, store in self._accesses(loads=False)
            if self._trace.inside(operations[store.operation].frame, loop)
        ]
        if not stores:
            return
        for array, load in self._accesses(loads=True):
            if not self._trace.inside(operations[load.operation].frame, loop):
                continue
            for other, store in stores:
                if array != other or load.bases != store.bases:
                    continue
                if self._recurs(load, store, loop):
                    yield load.operation, store.operation

    def _recurs(self, load: Access, store: Access, loop: int) -> bool:
        """Whether an element that is loaded is stored in another iteration, given equal bases."""
        apart = [base for base, one, other in zip(load.bases, load.offsets, store.offsets, strict=True) if one != other]
        if not apart:
            return all(self._invariance.holds(index, loop) for index in load.indices)
        return len(apart) == 1 and apart[0] >= 0 and not self._invariance.holds(apart[0], loop)

    # --- accesses ---

    def access(self, operation: Operation) -> tuple[Array, Access]:
        """The array and the element of a ``load``, or of an operation that changes an element."""
        operands = operation.operands
        return self._access(operation, operands[0], operands[1:] if operation.name == "load" else operands[1:-1])

    def _accesses(self, loads: bool) -> Iterator[tuple[Array, Access]]:
        for operation in self._trace.operations:
            if operation.name == "call":
                yield from self._called(operation, loads)
            elif operation.name == "load" if loads else operation.name in EFFECTS:
                yield self.access(operation)

    def _called(self, operation: Operation, loads: bool) -> Iterator[tuple[Array, Access]]:
        assert isinstance(operation.detail, Definition)
        summary = self._knowledge.summarise(operation.detail)
        if summary is None or (loads and summary.finds and operation.type.kind == "int"):
            return
        operands = operation.operands
        for element in summary.read_elements if loads else summary.written_elements:
            positions = element.indices or ()
            if max((element.array, *positions)) < len(operands):
                indices = tuple(operands[position] for position in positions)
                array, access = self._access(operation, operands[element.array], indices, element.fields)
                yield array, replace(access, needed=element in summary.needed_elements)

    def _access(
        self, operation: Operation, array: int, indices: tuple[int, ...], fields: tuple[str, ...] = ()
    ) -> tuple[Array, Access]:
        operations = self._trace.operations
        root, path = self._trace.root(array)
        while operations[array].name in ("view", "copy"):
            if operations[array].name == "view":
                indices = operations[array].operands[1:] + indices
            array = operations[array].operands[0]
        places = [self._place(index) for index in indices]
        return (root, (*path, *fields)), Access(
            operation.index,
            indices,
            tuple(base for base, _ in places),
            tuple(offset for _, offset in places),
            tuple(self._range(base) for base, _ in places),
        )

    def _range(self, base: int) -> object:
        """A base; for the variable of a ``for`` over a range instead the values that it takes."""
        source = self._trace.operations[base]
        if base < 0 or source.name != "induction" or not isinstance(source.detail, int):
            return base
        if self._trace.frames[source.detail].kind != "for":
            return base
        return tuple(self._trace.operations[operand].number for operand in source.operands)

    def _place(self, index: int) -> tuple[int, int]:
        return integer(self._trace, index)

    # --- meetings ---

    def _overwrites(self, load: Access, store: Access) -> bool:
        operations = self._trace.operations
        reader, writer = operations[load.operation], operations[store.operation]
        if self._trace.exclusive(reader.frame, writer.frame) or self._other_member(reader, writer):
            return False
        if not load.bases:
            common = set(self._trace.loops(reader.frame)) & set(self._trace.loops(writer.frame))
            return load.operation < store.operation or bool(common)
        if load.bases != store.bases:
            # another loop over the same range, or one over a range that holds a constant
            common = set(self._trace.loops(reader.frame)) & set(self._trace.loops(writer.frame))
            same = load.ranges != store.ranges or load.offsets == store.offsets
            return same and (load.operation < store.operation or bool(common))
        if load.offsets == store.offsets:
            return load.operation < store.operation or self._repeated(load, reader, writer)
        return self._neighbours(load, store, reader, writer)

    def _other_member(self, reader: Operation, writer: Operation) -> bool:
        """Whether a store changes members of a struct that nobody takes from what was loaded.

        It is a member that is stored, or the struct that was loaded, with other members than before.
        """
        if reader.name != "load" or not isinstance(writer.detail, Write):
            return False
        member = writer.detail.member
        if member is not None:
            changed: set[str] | None = {member}
        else:
            changed = None if writer.detail.partial else self._changed(reader, writer)
        return changed is not None and self._takes_none(reader.index, changed, writer, set())

    def _changed(self, reader: Operation, writer: Operation) -> set[str] | None:
        """The members that a struct was given since ``reader`` loaded it and before ``writer`` stores it back."""
        if writer.name != "store":
            return None
        changed: set[str] = set()
        stack = [writer.operands[-1]]
        seen: set[int] = set()
        while stack:
            operation = self._trace.operations[stack.pop()]
            if operation.index in seen or operation.number == reader.number:
                continue
            seen.add(operation.index)
            if operation.name == "setfield":
                changed.add(str(operation.detail))
                stack.append(operation.operands[0])
            elif operation.name == "copy":
                stack.append(operation.operands[0])
            elif operation.name == "phi":
                stack.extend(operation.operands[1:])
            else:
                return None
        return changed

    def _takes_none(self, struct: int, members: set[str], writer: Operation, family: set[int]) -> bool:
        """Whether no operation takes one of the members as it was loaded, or does anything else with the struct.

        ``family`` gets the structs that were made from the one that was loaded.
        """
        family.add(struct)
        for other in self._trace.operations:
            if struct not in other.operands or other.index == writer.index or other.index in family:
                continue
            if other.name == "field":
                if other.detail in members and member_of(self._trace, other) in family:
                    return False
            elif (
                other.name not in ("setfield", "copy", "phi")
                or (other.name == "setfield" and struct in other.operands[1:])
                or not self._takes_none(other.index, members, writer, family)
            ):
                return False
        return True

    def _repeated(self, load: Access, reader: Operation, writer: Operation) -> bool:
        """Whether an earlier store hits the element again in a later iteration.

        The indices do not change in the loop.
        """
        common = set(self._trace.loops(reader.frame)) & set(self._trace.loops(writer.frame))
        return any(all(self._invariance.holds(at, loop) for at in load.indices) for loop in common)

    def _neighbours(self, load: Access, store: Access, reader: Operation, writer: Operation) -> bool:
        """Whether another thread, or a later iteration, writes the element."""
        apart = [
            (base, one - other)
            for base, one, other in zip(load.bases, load.offsets, store.offsets, strict=True)
            if one != other
        ]
        if len(apart) != 1 or abs(apart[0][1]) > _NEIGHBOURS or apart[0][0] < 0:
            return False
        base, distance = apart[0]
        source = self._trace.operations[base]
        loop: int | None = None
        if source.name == "induction" and isinstance(source.detail, int):
            loop = source.detail
            step = self._step(source)
            if step == 0 or distance % step or distance // step < 0:
                return False
            if not (self._trace.inside(reader.frame, loop) and self._trace.inside(writer.frame, loop)):
                return False
        elif source.name != "tid" and not (source.name == "induction" and isinstance(source.detail, tuple)):
            return False
        return self._everywhere(reader.frame, loop) and self._everywhere(writer.frame, loop)

    def _step(self, induction: Operation) -> int:
        """The constant step of a ``for`` over a range, 0 where it is not known."""
        assert isinstance(induction.detail, int)
        if self._trace.frames[induction.detail].kind != "for":
            return 0
        if len(induction.operands) < 3:
            return 1
        step = self._trace.operations[induction.operands[2]].detail
        return step if type(step) is int else 0

    def _everywhere(self, frame: int, loop: int | None) -> bool:
        """Whether a frame runs for a thread (an iteration of ``loop``) and its neighbours alike.

        Conditions that only cut off the ends of a range are fine.
        """
        for around in self._trace.around(frame):
            if around.index == loop:
                return True
            if around.condition is not None and not self._cuts_ends(around.condition, around.arm):
                return False
        return True

    def _cuts_ends(self, condition: int, arm: bool) -> bool:
        operation = self._trace.operations[condition]
        if operation.name == "logic":
            turned = arm != (operation.detail == "not")
            return all(self._cuts_ends(operand, turned) for operand in operation.operands)
        if operation.name != "compare" or operation.detail == ("==" if arm else "!="):
            return False
        return all(self._plain(operand) for operand in operation.operands)

    def _plain(self, index: int) -> bool:
        operation = self._trace.operations[index]
        if operation.name not in _ARITHMETIC and (operation.name != "unknown" or operation.operands):
            return False
        return all(self._plain(operand) for operand in operation.operands)
