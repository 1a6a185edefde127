"""Overwritten elements that no adjoint misses: on the path where the store ran, nothing reads them, or nothing changes.

The reverse sweep takes the same path as the forward sweep. Where an element is stored on one path and what was computed
from it is used on another one only, no gradient comes to the adjoint that would read the new value. And where a branch
stores an element that decided it, the branch may be decided the same way again.
"""

from __future__ import annotations

from warplint.kernels.activity import ARRAY_SINKS, Activity
from warplint.kernels.elements import Elements
from warplint.kernels.losses import EFFECTS
from warplint.kernels.trace import Operation, Trace
from warplint.kernels.unread import Path, Unread

#: What a gradient comes in by.
_SINKS = frozenset({*EFFECTS, *ARRAY_SINKS, "call", "return"})
#: What a comparison of a number with itself gives.
_SAME = {"==": True, "<=": True, ">=": True, "!=": False, "<": False, ">": False}


class Paths:
    """Answers questions about the paths through one trace."""

    def __init__(self, trace: Trace, active: Activity, elements: Elements) -> None:
        self._trace = trace
        self._active = active
        self._unread = Unread(trace, elements)
        self._users: dict[int, list[Operation]] | None = None
        self._known: dict[tuple[int, int], bool] = {}

    def meets(self, reader: int, writer: int) -> bool:
        """Whether a gradient can come to the adjoint of ``reader`` on a path through the operation ``writer``."""
        frame = self._trace.operations[writer].frame
        key = (reader, frame)
        if key not in self._known:
            path = Path(self._conditions(frame), self._unread.ranges(frame))
            self._known[key] = self._meets(reader, path)
        return self._known[key]

    def _conditions(self, frame: int) -> dict[int, bool]:
        """How the branches around a frame were decided, as far as they are decided once."""
        return {
            around.condition: around.arm
            for around in self._trace.around(frame)
            if around.condition is not None
            and next(self._trace.loops(self._trace.operations[around.condition].frame), None) is None
        }

    def _meets(self, reader: int, path: Path) -> bool:
        operations = self._trace.operations
        if operations[reader].name in _SINKS:
            return True
        seen = {reader}
        stack = [reader]
        while stack:
            value = stack.pop()
            for user in self._readers(value):
                if user.index in seen or self._apart(user, value, path.conditions):
                    continue
                if user.name in EFFECTS and value not in user.operands[:-1] and self._unread.on(path, user):
                    continue
                if user.name in _SINKS:
                    return True
                if self._active.useful[user.index]:
                    seen.add(user.index)
                    stack.append(user.index)
        return False

    def _readers(self, value: int) -> list[Operation]:
        if self._users is None:
            self._users = {}
            for operation in self._trace.operations:
                for operand in set(operation.operands):
                    self._users.setdefault(operand, []).append(operation)
        return self._users.get(value, [])

    def _apart(self, user: Operation, value: int, conditions: dict[int, bool]) -> bool:
        """Whether the path is one on which ``user`` does not run, or chooses another value."""
        for around in self._trace.around(user.frame):
            if around.condition in conditions and conditions[around.condition] != around.arm:
                return True
        if user.name == "phi" and user.operands[0] in conditions:
            return user.operands[1 if conditions[user.operands[0]] else 2] != value
        return False

    def selects_again(self, reader: int, load: int, writers: list[int]) -> bool:
        """Whether an element becomes the least or greatest of itself and others, and ``reader`` is part of that.

        With the result in place of the element, the same operand is selected: Warp gives a tie to the second one, so
        the element has to be the first.
        """
        operations = self._trace.operations
        for at in writers:
            writer = operations[at]
            value = operations[writer.operands[-1]]
            met = False
            while value.name in ("min", "max", "copy"):
                met |= value.index == reader
                value = operations[value.operands[0]]
            if writer.name != "store" or getattr(writer.detail, "partial", False) or not met or value.index != load:
                return False
        return bool(writers)

    def decided_again(self, comparison: Operation, load: int, writers: list[int]) -> bool:
        """Whether a comparison of an element says the same once ``writers``, all that overwrite it, have run."""
        if comparison.name != "compare" or comparison.detail not in _SAME or load not in comparison.operands:
            return False
        left, right = comparison.operands
        other = self._trace.operations[right if load == left else left]
        for at in writers:
            writer = self._trace.operations[at]
            arms = [around.arm for around in self._trace.around(writer.frame) if around.condition == comparison.index]
            if writer.name != "store" or not arms or getattr(writer.detail, "partial", False):
                return False
            value = self._trace.operations[writer.operands[-1]]
            if value.number != other.number or _SAME[str(comparison.detail)] != arms[0]:
                return False
        return True
