"""Functions of Warp that compute arrays from arrays on no tape: reductions, scans, sorting, sparse products."""

from __future__ import annotations

from typing import TYPE_CHECKING

from warplint.ir.spans import Location
from warplint.tapes.values import ArrayValue, TensorValue, Unknown, Value

if TYPE_CHECKING:
    from warplint.tapes.machine import Machine

#: By full name: the parameters in order, those that are read, and the one that is written. Nothing is recorded where
#: that one is not given: then the result is a number, or an array that the function makes.
UTILITIES: dict[str, tuple[tuple[str, ...], tuple[str, ...], str]] = {
    "warp.utils.array_sum": (("values", "out"), ("values",), "out"),
    "warp.utils.array_inner": (("a", "b", "out"), ("a", "b"), "out"),
    "warp.utils.array_scan": (("in_array", "out_array"), ("in_array",), "out_array"),
    "warp.utils.array_cast": (("in_array", "out_array"), ("in_array",), "out_array"),
    "warp.utils.radix_sort_pairs": (("keys", "values"), ("keys",), "keys"),
    "warp.sparse.bsr_mv": (("A", "x", "y"), ("x",), "y"),
}


def call(machine: Machine, name: str, args: tuple[Value, ...], keywords: dict[str, Value], site: Location) -> Value:
    """Call one of ``UTILITIES``."""
    parameters, reads, writes = UTILITIES[name]
    given = dict(zip(parameters, args, strict=False)) | keywords
    target = _array(machine, given.get(writes), site)
    sources = [array for array in (_array(machine, given.get(read), site) for read in reads) if array is not None]
    if target is None:
        return Unknown(name, sources=frozenset(source.storage for source in sources))
    machine.recorder.computed(target, sources, name.rpartition(".")[2], site)
    return target


def _array(machine: Machine, value: Value, site: Location) -> ArrayValue | None:
    if isinstance(value, TensorValue):
        return value.array
    if isinstance(value, Unknown):
        return machine.recorder.materialize(value, site)
    return value if isinstance(value, ArrayValue) else None
