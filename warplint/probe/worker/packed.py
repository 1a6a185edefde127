"""Ids of objects that kernels keep in floats: which numbers hold a given id.

Structs that have no room for a ``uint64`` carry it as a vector of floats, each with a few of its bits. What a func
makes of single bits tells where each bit of the id goes.
"""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import warp as wp

from warplint.probe.worker.handles import Unsupported
from warplint.probe.worker.usage import Usage

# Whole numbers with so many bits are floats without rounding.
_BITS = 24
_KERNEL = """
@warp.kernel
def unpacked_(packed: PACKED, found: FOUND):
    found[warp.tid()] = probed_(packed[warp.tid()])
"""

# By the name of a func: what it makes of zeros, and of each bit of each component.
_TABLES: dict[str, tuple[int, np.ndarray] | None] = {}


def learn(usage: Usage, scratch: Path) -> None:
    """Finds out how the ids are packed that a kernel with this usage unpacks."""
    for path, use in usage.uses.items():
        if use.packed is not None and use.handle is not None and use.packed.key not in _TABLES:
            _TABLES[use.packed.key] = _table(use.packed, usage.type_of(path), scratch)


def pack(function: Any, identity: int, size: int) -> np.ndarray:
    """The ``size`` floats of which ``function`` makes the id. Raises Unsupported where that is not known."""
    table = _TABLES.get(function.key)
    if table is None:
        raise Unsupported(f"it is not clear how an id is packed for `{function.key}`")
    zero, bits = table
    wanted = identity ^ zero
    found = np.zeros(size)
    for component, bit in np.ndindex(*bits.shape):
        if int(bits[component, bit]) & wanted:
            found[component] += 2.0**bit
            wanted &= ~int(bits[component, bit])
    if wanted:
        raise Unsupported(f"`{function.key}` has no room for an id")
    return found


def _table(function: Any, kind: Any, scratch: Path) -> tuple[int, np.ndarray] | None:
    size = int(kind._shape_[0])
    rows = np.zeros((1 + size * _BITS, size), dtype=np.float32)
    for component, bit in np.ndindex(size, _BITS):
        rows[1 + component * _BITS + bit, component] = 2.0**bit
    try:
        values = [int(value) for value in _unpacked(function, kind, rows, scratch)]
    except Exception:
        return None  # it takes more than its argument, or computes what cannot be computed here
    bits = np.array([value ^ values[0] for value in values[1:]], dtype=np.uint64).reshape(size, _BITS)
    single = [int(bit) for bit in bits.ravel() if bit]
    if any(bit & (bit - 1) for bit in single) or len(set(single)) < len(single):
        return None  # other bits would change with it
    return values[0], bits


def _unpacked(function: Any, kind: Any, rows: np.ndarray, scratch: Path) -> np.ndarray:
    """What ``function`` makes of each row."""
    path = scratch / f"unpacked_{function.key}.py"
    path.write_text(_KERNEL, encoding="utf-8")
    module = ModuleType(path.stem)
    module.__file__ = str(path)
    names = {"warp": wp, "probed_": function, "PACKED": wp.array(dtype=kind), "FOUND": wp.array(dtype=wp.uint64)}
    module.__dict__.update(names)
    sys.modules[path.stem] = module
    exec(compile(_KERNEL, str(path), "exec"), module.__dict__)
    kernel = module.__dict__["unpacked_"]
    kernel.module.options["enable_backward"] = False
    found = wp.zeros(len(rows), dtype=wp.uint64, device="cpu")
    packed = wp.array(rows, dtype=kind, device="cpu")
    wp.launch(kernel, len(rows), inputs=[packed, found], device="cpu")
    return np.asarray(found.numpy())
