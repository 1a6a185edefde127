"""A func as its callers see it: what it does to its arguments, and what its adjoint reads."""

from __future__ import annotations

from collections.abc import Mapping

from warplint.ir.effects import Effect, Path, Rows
from warplint.kernels.trace import Trace
from warplint.kernels.types import Type
from warplint.records import dataclass

#: Stands for a func's result where a path is asked for.
RESULT: Path = ("<result>",)


@dataclass(frozen=True, slots=True)
class Element:
    """An element of an array parameter (or of an array in it) whose indices are parameters: their positions.

    None: all elements from the first on, over which a loop runs.
    """

    array: int
    fields: tuple[str, ...]
    indices: tuple[int, ...] | None


@dataclass(frozen=True, slots=True)
class Summary:
    """A func as its callers see it.

    ``differentiated``: positions of the parameters that get a gradient. ``needs``: for each of them, the positions of
    the parameters whose values its adjoint reads. ``stored``: the positions whose gradient comes from arrays that the
    func writes. ``writes``: whether it changes arrays. ``repeats``: the arrays that it changes once more if it runs
    once more, because it adds to their elements or computes these from themselves, and does not set them as well.
    ``written_elements``, ``read_elements`` and ``needed_elements``: as far as they are known, the elements that it
    writes, that it reads, and whose values its adjoint reads. ``wanted``: the same as ``needs`` by paths. ``finds``:
    whether it looks for a value that it stores itself, so that it finds what it stored once it runs again.
    """

    returned: Type
    differentiated: tuple[int, ...]
    needs: Mapping[int, tuple[int, ...]]
    stored: tuple[int, ...]
    writes: bool
    repeats: frozenset[Path]
    effects: tuple[Effect, ...]
    flows: frozenset[tuple[Path, Path]]
    complete: bool
    trace: Trace | None = None
    written_elements: tuple[Element, ...] = ()
    read_elements: tuple[Element, ...] = ()
    needed_elements: frozenset[Element] = frozenset()
    wanted: frozenset[tuple[Path, Path]] = frozenset()
    finds: bool = False
    rows: tuple[Rows, ...] = ()
