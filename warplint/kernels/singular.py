"""``wp.where`` computes and differentiates both operands: one that is not finite where it is not selected makes the gradient NaN."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from warplint.ir.spans import Location
from warplint.kernels.activity import Activity
from warplint.kernels.knowledge import Knowledge
from warplint.kernels.trace import Trace


@dataclass(frozen=True, slots=True)
class Unselected:
    """A ``where`` whose operand has a non-finite adjoint where it is not selected."""

    where: int
    condition: int
    operand: str
    operation: str
    description: str
    place: Location


def unselected(knowledge: Knowledge, trace: Trace, active: Activity) -> Iterator[Unselected]:
    """The findings of one trace."""
    return iter(())
