"""What the two analyses tell each other: what a kernel does to its arguments, and how host code uses a kernel.

Kernel analysis computes effect summaries; tape analysis reads them and never looks into a kernel. Tape analysis sees
how kernels are launched; kernel analysis reads that and never looks at host code.
"""

from __future__ import annotations

import pathlib
from collections.abc import Iterable, Mapping

from warplint.records import dataclass

#: An argument, or a field inside a struct argument: ``("x",)``, ``("state", "q")``.
Path = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Effect:
    """What is done to one array that is reached through ``path``.

    ``reads``, ``writes`` (plain stores) and ``accumulates`` (``+=``, ``-=``, atomic add and subtract) say what happens
    to its elements. ``needed``: the adjoint of some operation reads an element's value (a non-linear read), so that
    overwriting the array later loses a value. ``covers``: a plain store happens on every path before any read of the
    element, so the old contents do not matter. ``differentiable``: its elements are floating-point (or vectors,
    matrices, structs of such). ``placed``: the parameters (and arrays behind them) that the indices of its stores and
    accumulations are computed from; empty where only the thread decides which elements are written. ``reread``: an
    element that was stored here is read again, so that its gradient is needed within the launch.
    """

    path: Path
    reads: bool
    writes: bool
    accumulates: bool
    needed: bool
    covers: bool
    differentiable: bool
    placed: frozenset[Path] = frozenset()
    reread: bool = False


@dataclass(frozen=True, slots=True)
class Row:
    """The row of an array whose number is an integer parameter with ``offset`` added.

    ``parameter`` is empty where ``offset`` alone is the number.
    """

    parameter: str
    offset: int


@dataclass(frozen=True, slots=True)
class Rows:
    """All rows of the array at ``path`` whose values an adjoint reads, and all that are written.

    ``single``: the array has one dimension, so that its rows are its elements.
    """

    path: Path
    needed: frozenset[Row]
    written: frozenset[Row]
    single: bool = False


@dataclass(frozen=True, slots=True)
class EffectSummary:
    """All effects of one kernel or func.

    ``parameters`` are the names of all parameters in order. ``flows`` holds (source, target) pairs of paths: the
    derivative of what is stored into target's elements with respect to source's elements can be non-zero and is carried
    by Warp's adjoint.
    ``needs`` holds (source, wanted) pairs of paths: the derivative with respect to source's elements is computed from
    the values that wanted's elements have when the reverse sweep comes by.
    ``rows`` are there for arrays all of whose rows arguments or numbers name. ``own`` are the arrays in which threads
    store to the row with their own number.
    ``backward`` is False where the kernel is compiled without an adjoint, None where that is not known; ``level`` says
    what switches it: ``kernel``, ``module``, ``config`` or ``default``.
    ``complete`` is False when something in the body could not be followed; absences then prove nothing.
    """

    parameters: tuple[str, ...]
    effects: tuple[Effect, ...]
    flows: frozenset[tuple[Path, Path]]
    backward: bool | None
    complete: bool
    needs: frozenset[tuple[Path, Path]] = frozenset()
    rows: tuple[Rows, ...] = ()
    level: str = "default"
    own: frozenset[Path] = frozenset()

    def effect(self, path: Path) -> Effect | None:
        """The effect on the array at ``path``, None if nothing was seen to touch it."""
        for effect in self.effects:
            if effect.path == path:
                return effect
        return None


@dataclass(frozen=True, slots=True)
class KernelUse:
    """How the analysed host code uses one kernel.

    ``taped``: some launch is recorded, or one runs the adjoint itself (``adjoint=True``). ``constant``: the arrays that
    none of the recorded launches passes with a gradient, and that nothing shows to be meant to have one; empty where
    no launch is recorded. ``absent``: the parameters for which all recorded launches pass ``None``.
    """

    taped: bool
    constant: frozenset[Path] = frozenset()
    absent: frozenset[str] = frozenset()

    def also(self, other: KernelUse) -> KernelUse:
        """Both uses together."""
        if self.taped and other.taped:
            return KernelUse(True, self.constant & other.constant, self.absent & other.absent)
        return self if self.taped else other


#: How host code uses kernels, by their path and qualified name.
Uses = Mapping[tuple[pathlib.Path, str], KernelUse]


def merged(uses: Iterable[Uses]) -> dict[tuple[pathlib.Path, str], KernelUse]:
    """All uses together."""
    found: dict[tuple[pathlib.Path, str], KernelUse] = {}
    for some in uses:
        for kernel, use in some.items():
            found[kernel] = found[kernel].also(use) if kernel in found else use
    return found
