"""Programs: what a probe runs, and what a tape trace is.

A program is the cut-down story of a finding: allocate arrays, launch the project's real kernels,
copy, fill, open and close tapes, run ``backward``, read gradients. A tape analysis produces a whole
program from the host code; a kernel finding is a program with one launch, whose arguments the probe
chooses from the kernel's signature.

Programs hold references to definitions, never code objects: the probe cuts the definitions out of the
source text (see ``warplint.probe``). Everything is plain data and can be pickled.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from pathlib import Path
from typing import Literal, Union

from warplint.ir.spans import Location
from warplint.records import dataclass


@dataclass(frozen=True, slots=True)
class DefinitionRef:
    """A kernel, func or struct: the file it is in and its qualified name (``outer.inner`` if nested).

    ``closure`` gives the values of the enclosing function's variables that the definition uses, where
    the analysis knows them. ``made``: it is a plain function, of which a call makes a kernel; ``backward`` is what that
    call, or the value of its decorator's argument, says about its adjoint, None where it says nothing.
    """

    path: Path
    qualname: str
    closure: Mapping[str, object] = field(default_factory=dict)
    made: bool = False
    backward: bool | None = None


@dataclass(frozen=True, slots=True)
class Unknown:
    """A value that the analysis could not determine; the probe chooses one (``hint``: what is known of it)."""

    hint: str = ""


@dataclass(frozen=True, slots=True)
class ArrayRef:
    """An array of the program, by the number that its ``Allocate`` has; ``view`` is an index expression or empty.

    ``-1 - number`` is the gradient of the array with that number.
    """

    array: int
    view: str = ""


@dataclass(frozen=True, slots=True)
class StructValue:
    """An instance of a ``wp.struct`` with the values of its fields."""

    struct: DefinitionRef
    fields: Mapping[str, Argument]
    # Two arguments with one identity are one object: Warp passes structs by value at launch time.
    identity: int = 0


@dataclass(frozen=True, slots=True)
class HostValue:
    """What host code computes: ``function`` (an operator, ``[]``, ``list``, or the name of a function of numpy) of
    numbers and of what arrays hold where the value is used."""

    function: str
    parts: tuple[HostPart, ...]


HostPart = Union[int, float, ArrayRef, HostValue]
Scalar = Union[int, float, bool, str, None, tuple[object, ...]]
Argument = Union[Scalar, ArrayRef, StructValue, DefinitionRef, Unknown, HostValue]


@dataclass(frozen=True, slots=True)
class Allocate:
    """``array`` comes into being; ``source`` is ``zeros``, ``empty``, ``ones``, ``full``, ``array``, ``clone``, ...

    ``dtype`` is the name of a Warp type (``float32``, ``vec3f``), a ``DefinitionRef`` to a struct, or None.
    ``shape`` entries that the analysis does not know are ``Unknown``. ``requires_grad`` None is unknown.
    ``like`` is the array that ``*_like``, ``clone`` and ``empty_like`` take after.
    ``values`` are the contents where the analysis knows them, flat. ``retains`` is ``retain_grad``.
    """

    array: int
    site: Location
    source: str
    dtype: str | DefinitionRef | None
    shape: tuple[int | Unknown, ...] | None
    requires_grad: bool | None
    name: str = ""
    like: int | None = None
    values: tuple[float, ...] | None = None
    retains: bool = False


@dataclass(frozen=True, slots=True)
class Launch:
    """``wp.launch(kernel, dim, inputs, outputs)``: arguments in the order of the kernel's parameters.

    Without ``recorded`` the tape that is open does not see it (``record_tape=False``, a prepared command).
    """

    site: Location
    kernel: DefinitionRef
    dim: tuple[int | Unknown, ...] | None
    arguments: tuple[Argument, ...]
    recorded: bool = True


@dataclass(frozen=True, slots=True)
class Copy:
    """``wp.copy(target, source)`` or ``target.assign(source)`` from another array.

    Without ``recorded`` the contents go over the host, and the tape that is open does not see it.
    """

    site: Location
    target: ArrayRef
    source: ArrayRef
    recorded: bool = True


@dataclass(frozen=True, slots=True)
class Compute:
    """A function of ``warp.utils`` that computes ``target`` from ``sources``, on no tape: ``array_sum``,
    ``array_inner`` or ``array_scan``."""

    site: Location
    function: str
    target: ArrayRef
    sources: tuple[ArrayRef, ...]


@dataclass(frozen=True, slots=True)
class Fill:
    """``array.zero_()``, ``array.fill_(value)``, or ``array.assign`` of host data (``value`` is then Unknown)."""

    site: Location
    array: ArrayRef
    value: Argument


@dataclass(frozen=True, slots=True)
class TapeBegin:
    site: Location
    tape: int


@dataclass(frozen=True, slots=True)
class TapeEnd:
    site: Location
    tape: int


@dataclass(frozen=True, slots=True)
class Backward:
    """``tape.backward(loss)``; ``seeds`` are arrays whose gradient was set by hand or passed as ``grads``.

    ``given`` are the gradients of the seeds, None for ones; ``held``: the gradients are what the arrays have already.
    """

    site: Location
    tape: int
    loss: ArrayRef | None
    seeds: tuple[ArrayRef, ...] = ()
    given: tuple[ArrayRef | None, ...] = ()
    held: bool = False


@dataclass(frozen=True, slots=True)
class ZeroGradients:
    """``tape.zero()`` (``tape``) or ``array.grad.zero_()`` (``array``)."""

    site: Location
    tape: int | None = None
    array: ArrayRef | None = None


@dataclass(frozen=True, slots=True)
class ReadGradient:
    """``array.grad`` is read by the host: copied out, or handed to an optimizer."""

    site: Location
    array: ArrayRef


Operation = Union[Allocate, Launch, Copy, Compute, Fill, TapeBegin, TapeEnd, Backward, ZeroGradients, ReadGradient]

#: What a probe compares. ``gradient``: the tape's gradient against finite differences of the objective.
#: ``horizon``: the gradient summed over per-window tapes against finite differences of the whole horizon.
#: ``chain``: the gradient with the program as it is and with ``flagged`` allocations given ``requires_grad=True``.
#: ``recording``: the gradient with the program as it is and without the ``flagged`` launches. ``contents``: whether the
#: result depends on what the ``inputs`` hold, which nothing wrote.
#: ``finite-adjoint``: whether the gradient is finite where the result is. ``zero-adjoint``: an input moves the result,
#: and the tape says that it does not. ``replay``: whether ``backward()`` changes what arrays hold. ``compile``: whether
#: Warp refuses the definitions. ``answer``: what one small launch says to the program's question. ``order``: whether
#: the result depends on the order in which the threads run.
Check = Literal[
    "gradient",
    "finite-adjoint",
    "zero-adjoint",
    "replay",
    "horizon",
    "chain",
    "recording",
    "contents",
    "compile",
    "answer",
    "order",
]


@dataclass(frozen=True, slots=True)
class KernelProgram:
    """One launch of ``kernel`` with arguments that the probe chooses.

    When the flagged code is in a func, ``kernel`` may be the func itself: the probe then writes a kernel around it,
    or launches one of ``callers`` (kernels that call it), nearest first.
    ``flagged`` are the places whose execution makes a comparison count. ``question`` is what the check ``answer``
    answers, as JSON text: ``ask`` (see ``warplint.probe.worker.questions``), and what that is about.
    """

    kernel: DefinitionRef
    flagged: tuple[Location, ...]
    callers: tuple[DefinitionRef, ...] = ()
    question: str = ""


@dataclass(frozen=True, slots=True)
class TapeProgram:
    """The operations of a host program, in the order they run.

    ``inputs`` are the arrays to differentiate with respect to, ``objective`` the array whose sum is differentiated
    (the last loss when None), ``flagged`` what the finding is about: the numbers of allocations, or of launches in
    their order (check ``recording``). ``factor`` is what host code multiplies that sum by, after it has taken ``means``
    of it.
    """

    operations: tuple[Operation, ...]
    inputs: tuple[int, ...]
    objective: ArrayRef | None = None
    flagged: tuple[int, ...] = ()
    factor: float = 1.0
    means: int = 0


Program = Union[KernelProgram, TapeProgram]
