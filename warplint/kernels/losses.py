"""The data of lost values."""

from __future__ import annotations

from typing import Literal

from warplint.ir.spans import Span
from warplint.kernels.trace import Operation, Write
from warplint.records import dataclass

LossKind = Literal["carried", "result", "mutated", "overwritten", "scratch", "member", "reordered", "cut"]

#: What a lost value is read as: a number, an index, the condition of a branch, the end of a loop; or not at all, where
#: an adjoint is lost because iterations are reversed in another order (which spoils an update, or what reads the value
#: in turn) or not at all.
Via = Literal["value", "index", "condition", "bound", "order", "turn", "exit"]

#: Operations that change array elements.
EFFECTS = frozenset({"store", "accumulate", "atomic"})


@dataclass(frozen=True, slots=True)
class Loss:
    """A value that is gone: the operation that held it; for an array element also what overwrote it, and the array, as
    the operation that it comes from and the fields passed on the way."""

    kind: LossKind
    origin: int
    overwriter: int | None = None
    array: tuple[int, tuple[str, ...]] | None = None


@dataclass(frozen=True, slots=True)
class Lost:
    """``reader``'s adjoint reads ``value``, which a loss has changed."""

    loss: Loss
    reader: int
    value: int
    via: Via
    place: Span


def written(operation: Operation) -> Write | None:
    """The write that a store, accumulation or atomic makes."""
    return operation.detail if isinstance(operation.detail, Write) else None
