"""Numbers that host code computes from what arrays on the tape hold, and hands to a launch on it."""

from __future__ import annotations

from collections.abc import Iterator

from warplint.records import dataclass
from warplint.tapes.dtypes import is_whole
from warplint.tapes.recorded import Sweep
from warplint.tapes.trace import Context, Launched
from warplint.tapes.values import ArrayValue, Storage, Unknown

#: Operators and functions of host code through which a gradient would go on.
_SMOOTH = frozenset(("+", "-", "*", "/", "**", "unary -", "unary +", "float", "item", "min", "max", "abs"))
_SMOOTH_RESULTS = frozenset(
    (
        *("item", "list", "tolist", "copy", "astype", "reshape", "flatten", "ravel", "squeeze", "array", "asarray"),
        *("sum", "mean", "average", "dot", "linalg.norm", "sqrt", "square", "exp", "log", "tanh", "sin", "cos"),
        *("float32", "float64", "minimum", "maximum", "clip", "abs", "absolute", "min", "max", "median"),
        *("var", "std", "prod", "cumsum", "log1p", "expm1", "log2", "log10", "tan", "arctan", "arctan2", "hypot"),
        *("add", "subtract", "multiply", "divide", "true_divide", "power", "negative", "reciprocal", "cbrt"),
        *("inner", "vdot", "matmul", "outer", "cross", "trace", "linalg.det", "linalg.inv", "linalg.solve"),
    )
)


@dataclass(frozen=True, slots=True)
class HostNumber:
    """``launch`` gets, for ``parameter``, a number that was computed from what ``array`` held at ``position``."""

    launch: Launched
    parameter: str
    array: ArrayValue
    position: int
    context: Context


def handed_over(sweep: Sweep, useful: dict[int, frozenset[Storage]]) -> Iterator[HostNumber]:
    """The numbers, read while the tape was open, that recorded launches on the way to the loss compute with.

    ``useful`` is the memory that the loss depends on after each operation. A launch that writes anything else too may
    need the number for that alone.
    """
    for at, record in sweep.operations:
        if not isinstance(record, Launched) or not record.numbers or record.summary is None:
            continue
        changed = [access.array for access in record.accesses if access.writes or access.accumulates]
        on_the_way = [array.storage in useful.get(at, ()) for array in changed if not is_whole(array.dtype)]
        if not on_the_way or not all(on_the_way) or record.summary.backward is False:
            continue
        for name, value in zip(record.summary.parameters, record.arguments, strict=False):
            if name not in record.numbers or not isinstance(value, Unknown):
                continue
            for array, position, context in _reads(value):
                if context.tape == sweep.backward.tape and array.storage.owner is None:
                    yield HostNumber(record, name, array, position, context)


def _reads(value: Unknown, depth: int = 12) -> Iterator[tuple[ArrayValue, int, Context]]:
    """The arrays that a number was computed from in a differentiable way, and where the host read each."""
    read, array = value.children.get("read"), value.children.get("contents")
    if isinstance(array, ArrayValue) and isinstance(read, tuple):
        yield (array, *read)
    elif value.origin is not None and depth:
        head = value.origin[0]
        name = head[0] if isinstance(head, tuple) else head
        if isinstance(name, str) and name.startswith("math."):
            smooth = name.removeprefix("math.") in _SMOOTH_RESULTS
        else:
            smooth = head[1] in _SMOOTH_RESULTS if isinstance(head, tuple) and name == "result" else name in _SMOOTH
        for part in value.origin[1:] if smooth else ():
            if isinstance(part, Unknown):
                yield from _reads(part, depth - 1)
