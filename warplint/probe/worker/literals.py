"""Values of a probe as Python text, for scripts that stand alone."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from typing import Any

import numpy as np
import warp as wp

from warplint.probe.worker.compat import array_class, types
from warplint.probe.worker.handles import Unsupported

_NAMES = {id(getattr(wp, name)): name for name in dir(wp) if isinstance(getattr(wp, name), type)}


def type_text(kind: Any) -> str:
    """A Warp type as it is written, where Warp is ``wp``."""
    if kind in (float, int, bool):
        return str(kind.__name__)
    if types.is_array(kind):
        name = "indexedarray" if array_class(kind, wp.indexedarray) else "array"
        return f"wp.{name}(dtype={type_text(kind.dtype)}, ndim={kind.ndim})"
    if hasattr(kind, "vars") and hasattr(kind, "cls"):
        return str(kind.cls.__name__)
    if id(kind) in _NAMES:
        return f"wp.{_NAMES[id(kind)]}"
    scalar = getattr(kind, "_wp_scalar_type_", None)
    if scalar is None:
        raise Unsupported(f"a value of type {getattr(kind, '__name__', kind)} cannot be written down")
    shape = tuple(kind._shape_)
    if len(shape) == 1:
        return f"wp.types.vector(length={shape[0]}, dtype={type_text(scalar)})"
    return f"wp.types.matrix(shape={shape}, dtype={type_text(scalar)})"


def data_text(data: np.ndarray) -> str:
    """Host data without fields as an expression, where numpy is ``np``."""
    flat = data.ravel()
    kind = f"np.{data.dtype.name}" if data.dtype != np.bool_ else "bool"
    if flat.size and np.array_equal(flat, np.full_like(flat, flat[0])):
        return f"np.full({data.shape}, {number_text(flat[0])}, dtype={kind})"
    numbers = textwrap.fill(", ".join(number_text(one) for one in flat), 110)
    values = f"[\n{textwrap.indent(numbers, '    ')}\n]" if "\n" in numbers else f"[{numbers}]"
    reshaped = f".reshape({data.shape})" if data.ndim != 1 else ""
    return f"np.array({values}, dtype={kind}){reshaped}"


def number_text(value: Any) -> str:
    """One number as an expression; the shortest text that means it."""
    if isinstance(value, (bool, np.bool_)):
        return str(bool(value))
    if isinstance(value, (int, np.integer)):
        return str(int(value))
    text = str(value)
    return f'float("{text}")' if text.strip("-") in ("nan", "inf") else text


def host_lines(name: str, data: np.ndarray, dtype: Any, rename: Callable[[int], str | None]) -> list[str]:
    """Statements that bind ``name`` to host data; ``rename`` gives the text for the id of an object."""
    if not data.dtype.names:
        if data.dtype == np.uint64 and data.size:
            known = rename(int(data.ravel()[0]))
            if known is not None:
                return [f"{name} = np.full({data.shape}, {known}, dtype=np.uint64)"]
        return [f"{name} = {data_text(data)}"]
    lines = [f"{name} = np.zeros({data.shape}, dtype={type_text(dtype)}.numpy_dtype())"]

    def fill(target: str, part: np.ndarray) -> None:
        for field in part.dtype.names or ():
            inner = part[field]
            if inner.dtype.names:
                fill(f"{target}[{field!r}]", inner)
                continue
            known = rename(int(inner.ravel()[0])) if inner.dtype == np.uint64 and inner.size else None
            lines.append(f"{target}[{field!r}] = {known or data_text(np.asarray(inner))}")

    fill(name, data)
    return lines
