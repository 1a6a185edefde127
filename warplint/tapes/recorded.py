"""What is on each tape when its backward runs."""

from __future__ import annotations

from warplint.records import dataclass
from warplint.tapes.trace import (
    BackwardRun,
    Copied,
    CustomAdjoint,
    Escaped,
    GradientRead,
    GradientSeeded,
    Launched,
    Record,
    Replayed,
    Trace,
)
from warplint.tapes.values import ArrayValue, Storage

#: A recorded operation that can carry a gradient, and its place in the trace.
Operation = tuple[int, Launched | Copied]


@dataclass(frozen=True, slots=True)
class Sweep:
    """One reverse sweep: where it is in the trace, what its tape holds, and the arrays that it starts from.

    ``seeds`` are arrays whose gradient was set by hand since the last sweep, or passed as ``grads``. ``custom``: the
    tape also holds adjoints that the program wrote itself.
    """

    position: int
    backward: BackwardRun
    operations: tuple[Operation, ...]
    seeds: tuple[ArrayValue, ...]
    custom: bool

    @property
    def goals(self) -> set[Storage]:
        """The memory that the sweep starts from."""
        found = {seed.storage for seed in self.seeds}
        if self.backward.loss is not None:
            found.add(self.backward.loss.storage)
        return found


def sweeps(trace: Trace) -> list[Sweep]:
    """All reverse sweeps of a trace, in order."""
    tapes: dict[int, list[Operation]] = {}
    custom: set[int] = set()
    seeded: list[ArrayValue] = []
    found: list[Sweep] = []
    for position, record in enumerate(trace.records):
        if isinstance(record, (Launched, Copied)):
            if record.recorded and record.context.tape is not None:
                tapes.setdefault(record.context.tape, []).append((position, record))
        elif isinstance(record, CustomAdjoint):
            custom.add(record.tape)
        elif isinstance(record, GradientSeeded):
            seeded.append(record.array)
        elif isinstance(record, BackwardRun):
            seeds = (*record.seeds, *seeded)
            found.append(Sweep(position, record, tuple(tapes.get(record.tape, ())), seeds, record.tape in custom))
            seeded = []
    return found


def edges(record: Launched | Copied) -> tuple[tuple[ArrayValue, ArrayValue], ...]:
    """Pairs of arrays such that the second's gradient goes to the first's."""
    if isinstance(record, Launched):
        return record.flows
    return ((record.source, record.target),)


def carried(record: Launched | Copied) -> tuple[tuple[ArrayValue, ArrayValue], ...]:
    """The edges along which the reverse sweep goes: none through a kernel that is compiled without an adjoint."""
    if isinstance(record, Launched) and record.summary is not None and record.summary.backward is False:
        return ()
    return edges(record)


def overwritten(record: Launched | Copied) -> set[Storage]:
    """The memory whose old contents do not matter after an operation."""
    if isinstance(record, Copied):
        return {record.target.storage} if record.whole and not record.target.view else set()
    return {
        access.array.storage
        for access in record.accesses
        if access.writes and access.covers and not access.reads and not access.accumulates and not access.array.view
    }


def written(record: Launched | Copied) -> set[Storage]:
    """The memory that an operation changes."""
    if isinstance(record, Copied):
        return {record.target.storage}
    return {access.array.storage for access in record.accesses if access.writes or access.accumulates}


def touched(sweep: Sweep) -> set[Storage]:
    """The memory that the operations of a tape use."""
    found: set[Storage] = set()
    for _, record in sweep.operations:
        if isinstance(record, Copied):
            found |= {record.source.storage, record.target.storage}
        else:
            found |= {access.array.storage for access in record.accesses}
    return found


def replaced_gradient(record: Record, storage: Storage) -> Storage | None:
    """The memory whose gradient takes the place of that of ``storage``: ``wp.copy`` and ``assign`` between two arrays
    with gradients copy those as well (the end of ``copy`` in Warp's ``context.py``)."""
    if not isinstance(record, Copied) or record.by or not record.whole or record.target.storage is not storage:
        return None
    both = record.target.requires_grad is True and record.source.requires_grad is True
    return record.source.storage if both and record.source.storage is not storage else None


def unclear(record: Record, storage: Storage) -> bool:
    """Whether something happens to the gradient of an array, or may happen, that is not followed."""
    if isinstance(record, Replayed):
        return True
    if isinstance(record, Launched):
        return record.adjoint
    if not isinstance(record, (GradientSeeded, GradientRead, Escaped)) or record.array.storage is not storage:
        return False
    return not isinstance(record, GradientRead) or record.how in ("escape", "sum")
