"""Computing again what host code computed from the contents of arrays."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from warplint.probe.worker.handles import Unsupported

_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "**": operator.pow,
    "unary -": operator.neg,
    "[]": operator.getitem,
    "list": lambda *parts: list(parts),
    "float": float,
    "min": lambda *parts: np.min(parts[0]) if len(parts) == 1 else min(parts),
    "max": lambda *parts: np.max(parts[0]) if len(parts) == 1 else max(parts),
    "astype": np.asarray,
    "item": lambda data: np.asarray(data).item(),
    "tolist": np.asarray,
    "flatten": np.ravel,
    "linalg.norm": np.linalg.norm,
}
_NUMPY = frozenset(
    {
        *("sum", "mean", "sqrt", "square", "exp", "log", "tanh", "sin", "cos", "dot", "convolve", "minimum", "maximum"),
        *("clip", "array", "asarray", "copy", "ravel", "float32", "float64", "abs", "absolute", "var", "std", "prod"),
        *("log1p", "expm1", "log2", "log10", "tan", "arctan", "hypot", "add", "subtract", "multiply", "divide"),
        *("median", "inner", "vdot"),
    }
)
#: Arguments that say how something is done, not to what.
_ALONE = frozenset({"astype", "item", "tolist", "flatten", "ravel"})


def compute(part: Any, contents: Callable[[dict[str, Any]], np.ndarray]) -> Any:
    """The value of a part of a host expression, as ``warplint.probe.tape_jobs`` writes it.

    ``contents`` gives what an array holds. Raises Unsupported for a function that is not among those above.
    """
    if isinstance(part, dict):
        return contents(part)
    if not isinstance(part, list):
        return part
    name, *parts = part
    function = _FUNCTIONS.get(name) or (getattr(np, name) if name in _NUMPY else None)
    if function is None:
        raise Unsupported(f"host code calls `{name}`")
    values = [compute(inner, contents) for inner in (parts[:1] if name in _ALONE else parts)]
    return function(*values)
