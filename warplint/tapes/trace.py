"""The trace: what host code did with arrays, in the order it happened.

A trace is richer than a program (``warplint.ir.programs``): its records hold the abstract arrays themselves, the calls
and loops around each place, and what each launch does to each array. ``warplint.tapes.programs`` cuts programs from it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field
from typing import Literal, NamedTuple, Union

from warplint.ir.effects import EffectSummary
from warplint.ir.programs import DefinitionRef
from warplint.ir.spans import Location
from warplint.records import dataclass
from warplint.tapes.values import ArrayValue, Storage, Unknown, Value


class Context(NamedTuple):
    """Where a record was made.

    ``stack``: the call sites around it, outermost first. ``loops``: pairs of (loop, round) around it, outermost
    first; a loop that is entered again has a new number. ``tape``: the tape that was open, or None.
    """

    site: Location
    stack: tuple[Location, ...]
    loops: tuple[tuple[int, int], ...]
    definition: str
    tape: int | None


class Access(NamedTuple):
    """What a launch does to one array (see ``warplint.ir.effects.Effect``)."""

    array: ArrayValue
    path: tuple[str, ...]
    reads: bool
    writes: bool
    accumulates: bool
    needed: bool
    covers: bool
    differentiable: bool
    reread: bool = False


@dataclass(frozen=True, slots=True)
class Allocated:
    context: Context
    array: ArrayValue


@dataclass(frozen=True, slots=True)
class Launched:
    """``arguments`` in the order of the kernel's parameters. ``recorded``: on the open tape.

    ``flows``: pairs of arrays such that the second's contents depend differentiably on the first's. ``snapshot``: the
    values of struct arguments at the time of the launch, by the identity of the instance. ``factors``: numbers in
    structs (parameter and field) that the kernel multiplies elements by. ``at_once``: the arrays that every thread
    reads, whatever they hold; looked for where the launch is given memory that may be uninitialised. ``numbers``: the
    scalar parameters that the kernel computes with; looked for where the launch is given what arrays hold. ``again``:
    pairs of a parameter that the kernel stores to twice and of one that the first store computes with; looked for where
    an array keeps its gradient when it is stored to. ``by``: the function that made the launch on the device, and told
    no tape of it.
    """

    context: Context
    kernel: DefinitionRef
    summary: EffectSummary | None
    dim: tuple[int | Unknown, ...] | None
    arguments: tuple[object, ...]
    accesses: tuple[Access, ...]
    flows: tuple[tuple[ArrayValue, ArrayValue], ...]
    recorded: bool
    adjoint: bool = False
    factors: frozenset[tuple[str, str]] = frozenset()
    at_once: frozenset[tuple[str, ...]] = frozenset()
    numbers: frozenset[str] = frozenset()
    again: frozenset[tuple[str, str]] = frozenset()
    by: str = ""


@dataclass(frozen=True, slots=True)
class Copied:
    """Elements of ``source`` go to ``target``; ``whole``: all of target is overwritten.

    ``by``: the function of Warp that computes target from source in some other way, and records nothing.
    """

    context: Context
    target: ArrayValue
    source: ArrayValue
    recorded: bool
    whole: bool
    by: str = ""


@dataclass(frozen=True, slots=True)
class Filled:
    """All elements of ``array`` are set from the host; ``sources``: arrays whose contents the host data came from."""

    context: Context
    array: ArrayValue
    value: Value
    sources: frozenset[Storage]


@dataclass(frozen=True, slots=True)
class ViewChanged:
    """The numpy array that ``array.numpy()`` gave was changed in place: on the CPU it is the memory of ``array``."""

    context: Context
    array: ArrayValue


@dataclass(frozen=True, slots=True)
class TapeBegan:
    context: Context
    tape: int


@dataclass(frozen=True, slots=True)
class TapeEnded:
    context: Context
    tape: int


@dataclass(frozen=True, slots=True)
class CustomAdjoint:
    """``tape.record_func``: the program has code of its own for a part of the reverse sweep."""

    context: Context
    tape: int


@dataclass(frozen=True, slots=True)
class BackwardRun:
    """``flags``: ``requires_grad`` of every array at this moment. ``seeded``: something else than the loss was seeded.

    ``given`` are the gradients that belong to ``seeds``. ``known`` is False when an argument could not be followed.
    """

    context: Context
    tape: int
    loss: ArrayValue | None
    seeds: tuple[ArrayValue, ...]
    known: bool
    flags: dict[int, bool | None]
    given: tuple[Value, ...] = ()


@dataclass(frozen=True, slots=True)
class GradientZeroed:
    """``tape`` None: of ``array`` alone."""

    context: Context
    tape: int | None
    array: ArrayValue | None


@dataclass(frozen=True, slots=True)
class GradientSeeded:
    """The gradient of ``array`` was set by hand, to ``value``; ``sources``: arrays whose contents that came from."""

    context: Context
    array: ArrayValue
    value: Value = None
    sources: frozenset[Storage] = frozenset()


How = Literal["host", "optimizer", "launch", "copy", "escape", "sum"]


@dataclass(frozen=True, slots=True)
class GradientRead:
    """``array.grad`` was looked at by host code or handed to something outside the trace.

    ``how``: ``host`` (copied to the host), ``optimizer``, ``launch`` (a kernel reads it), ``copy``, ``escape``, or
    ``sum`` (added to what is kept somewhere else).
    """

    context: Context
    array: ArrayValue
    how: How


@dataclass(frozen=True, slots=True)
class GradientUsed:
    """Host code uses what it read of the gradient of ``array`` when the trace had ``read`` records.

    ``shared``: it was not copied since, so that on the CPU it is what the gradient is now. ``result``: it is what the
    run gives back or prints.
    """

    context: Context
    array: ArrayValue
    read: int
    shared: bool
    result: bool


@dataclass(frozen=True, slots=True)
class Reported:
    """What was read of the arrays with these ``storages``, and not summed up on the host, is the result of a run.

    ``kind``: what it is of the contents of the one array that it was computed from: their ``sum``, or a ``curved``
    function, which is not in proportion to them; empty where it is something else.
    """

    context: Context
    storages: frozenset[Storage]
    kind: Literal["sum", "curved", ""] = ""


@dataclass(frozen=True, slots=True)
class Scaled:
    """Host code took a mean of the contents of ``storage``, or a multiple of one number that it computed from them.

    ``factor``: what the sum of the contents is multiplied by, once ``means`` have been taken; None where that is not
    known.
    """

    context: Context
    storage: Storage
    how: Literal["mean", "scaled"]
    factor: float | None = None
    means: int = 0


@dataclass(frozen=True, slots=True)
class ParameterUpdated:
    """An optimizer changed the contents of ``array``."""

    context: Context
    array: ArrayValue


@dataclass(frozen=True, slots=True)
class Escaped:
    """``array`` was handed to code that the analysis does not know."""

    context: Context
    array: ArrayValue
    callee: str


@dataclass(frozen=True, slots=True)
class Flagged:
    """``requires_grad`` of ``array`` was set after the array was made."""

    context: Context
    array: ArrayValue


@dataclass(frozen=True, slots=True)
class Bound:
    """A field of the struct instance with this identity got a value, an array with ``requires_grad`` ``flag``."""

    context: Context
    struct: int
    field: str
    value: Value
    flag: bool | None = None


@dataclass(frozen=True, slots=True)
class Aliased:
    """When ``tape`` began, one object had two names; that came about at ``context``. ``storages``: its memory.

    ``across``: the names are in different objects, which may be meant to share it.
    """

    context: Context
    tape: int
    storages: frozenset[Storage]
    across: bool = False


@dataclass(frozen=True, slots=True)
class Checked:
    """A gradient checker of Warp ran: over a tape, or over one kernel, which may take a struct that holds arrays."""

    context: Context
    checker: str
    tape: int | None
    kernel: str
    struct: bool


@dataclass(frozen=True, slots=True)
class TrackerSet:
    """``wp.config.verify_autograd_array_access`` was turned on."""

    context: Context


@dataclass(frozen=True, slots=True)
class Replayed:
    """A captured graph ran: everything that was captured may have happened once more.

    Launches that are known to have happened so stand before it (``Launched.by``).
    """

    context: Context


Record = Union[
    Allocated,
    Launched,
    Copied,
    Filled,
    ViewChanged,
    TapeBegan,
    TapeEnded,
    CustomAdjoint,
    BackwardRun,
    GradientZeroed,
    GradientSeeded,
    GradientRead,
    GradientUsed,
    Reported,
    Scaled,
    ParameterUpdated,
    Escaped,
    Flagged,
    Bound,
    Aliased,
    Checked,
    TrackerSet,
    Replayed,
]


@dataclass(slots=True)
class Trace:
    """The records of one run from one entry point."""

    entry: str
    records: list[Record] = field(default_factory=list)
    arrays: list[ArrayValue] = field(default_factory=list)
    #: False when the step budget ran out before the entry point's end.
    finished: bool = True
    #: Whether counts of steps were made smaller, so that the run comes to its end.
    shrunk: bool = False
    #: The steps that the run took, with those of the longer run that it stands for.
    steps: int = 0

    def __iter__(self) -> Iterator[Record]:
        return iter(self.records)
