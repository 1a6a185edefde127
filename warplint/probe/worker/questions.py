"""Questions that one small launch answers, and no gradient does: what a kernel makes of numbers, volumes, launches.

Each answer quotes what happened, beside what Python says or what was asked for.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import warp as wp

from warplint.probe.worker.account import inconclusive
from warplint.probe.worker.loading import DoesNotCompile, first_line, load_script

#: Loads the script of the job.
Load = Callable[[], ModuleType]
Json = dict[str, Any]

_OPERATOR = """
import warp as wp


@wp.kernel
def asked(a: TYPE, b: TYPE, out: wp.array(dtype=TYPE)):
    out[0] = EXPRESSION
"""
_PAIRS = {"int32": (-7, 3), "float32": (-7.0, 3.0)}
_PYTHON: dict[str, Callable[[Any, Any], Any]] = {
    "%": lambda a, b: a % b,
    "//": lambda a, b: a // b,
    "round": lambda a, b: round(a),
}

_UNBOUND = """
import warp as wp


@wp.kernel
def asked(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    if x[i] > 0.0:
        v = 2.0 * x[i]
    out[i] = v
"""

_VOLUME = """
import warp as wp


@wp.kernel
def fill(volume: wp.uint64):
    i, j, k = wp.tid()
    wp.volume_store(volume, i, j, k, 10 * i)


@wp.kernel
def whole(volume: wp.uint64, at: wp.array(dtype=wp.vec3), out: wp.array(dtype=int)):
    i = wp.tid()
    out[i] = wp.volume_sample(volume, at[i], wp.Volume.LINEAR, dtype=int)


@wp.kernel
def nearest(volume: wp.uint64, at: wp.array(dtype=wp.vec3), out: wp.array(dtype=float), slope: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    s = wp.vec3()
    out[i] = wp.volume_sample_grad(volume, at[i], wp.Volume.CLOSEST, s, dtype=float)
    slope[i] = s


@wp.kernel
def world(volume: wp.uint64, at: wp.array(dtype=wp.vec3), out: wp.array(dtype=float), slope: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    s = wp.vec3()
    q = wp.volume_world_to_index(volume, at[i])
    out[i] = wp.volume_sample_grad(volume, q, wp.Volume.LINEAR, s, dtype=float)
    slope[i] = s
"""

_DECORATED = """
import warp as wp


@wp.kernel(OPTIONS)
def asked(x: float):
    pass
"""

_INDICES = """
import warp as wp


@wp.kernel
def asked(most: wp.array(dtype=int), count: wp.array(dtype=int)):
    NAMES = wp.tid()
    wp.atomic_add(count, 0, 1)
"""


def answer(question: str, load: Load, scratch: Path) -> Json:
    """The verdict on a question (JSON text: ``ask``, and what it is about)."""
    asked: Json = json.loads(question)
    return _ANSWERS[asked["ask"]](asked, load, scratch)


def _confirmed(detail: str) -> Json:
    return {"verdict": "confirmed", "detail": detail, "numbers": {}}


def _refuted(detail: str) -> Json:
    return {"verdict": "refuted", "detail": detail, "numbers": {}}


def _made(text: str, scratch: Path, name: str = "asked") -> Any:
    return getattr(load_script(text, scratch), name)


def _operator(asked: Json, load: Load, scratch: Path) -> Json:
    symbol, dtype = str(asked["operator"]), str(asked["type"])
    a, b = (2.5, 0.0) if symbol == "round" else _PAIRS[dtype]
    expression = "round(a)" if symbol == "round" else f"a {symbol} b"
    kernel = _made(_OPERATOR.replace("TYPE", f"wp.{dtype}").replace("EXPRESSION", expression), scratch)
    out = wp.zeros(1, dtype=getattr(wp, dtype), device="cpu")
    wp.launch(kernel, dim=1, inputs=[a, b], outputs=[out], device="cpu")
    here, there = out.numpy()[0].item(), _PYTHON[symbol](a, b)
    written = f"`round({a})`" if symbol == "round" else f"`{a} {symbol} {b}`"
    if here == there:
        return _refuted(f"{written} is {here} in a kernel and in Python")
    return _confirmed(f"{written} is {here} in a kernel and {there} in Python")


def _unbound(asked: Json, load: Load, scratch: Path) -> Json:
    out = wp.full(2, 7.0, dtype=float, device="cpu")
    x = wp.array([1.0, -1.0], dtype=float, device="cpu")
    wp.launch(_made(_UNBOUND, scratch), dim=2, inputs=[x], outputs=[out], device="cpu")
    held = out.numpy()[1].item()
    return _confirmed(f"where the branch is not taken, a kernel goes on with {held:g}; Python raises UnboundLocalError")


def _whole_volume(asked: Json, load: Load, scratch: Path) -> Json:
    module = load_script(_VOLUME, scratch)
    volume = wp.Volume.allocate([0, 0, 0], [7, 7, 7], 1.0, bg_value=0, device="cpu")
    wp.launch(module.fill, dim=(8, 8, 8), inputs=[volume.id], device="cpu")
    out = wp.zeros(1, dtype=int, device="cpu")
    at = wp.array([[2.5, 1.0, 1.0]], dtype=wp.vec3, device="cpu")
    wp.launch(module.whole, dim=1, inputs=[volume.id, at], outputs=[out], device="cpu")
    found = out.numpy()[0].item()
    said = f"a volume of integers that holds 20 and 30 gives {found} half way between, sampled with `LINEAR`"
    return _refuted(said) if found in (20, 25, 30) else _confirmed(said)


def _slopes(kernel: Any, module: ModuleType, at: list[float]) -> tuple[np.ndarray, np.ndarray]:
    """Values and gradients of a volume of voxels half a unit wide that grows by one with each voxel along x."""
    values = np.arange(8.0, dtype=np.float32)[:, None, None] * np.ones((8, 8, 8), dtype=np.float32)
    volume = wp.Volume.load_from_numpy(values, voxel_size=0.5, bg_value=0.0, device="cpu")
    points = wp.array([[x, 1.0, 1.0] for x in at], dtype=wp.vec3, device="cpu")
    out = wp.zeros(len(at), dtype=float, device="cpu")
    slope = wp.zeros(len(at), dtype=wp.vec3, device="cpu")
    wp.launch(kernel, dim=len(at), inputs=[volume.id, points], outputs=[out, slope], device="cpu")
    return out.numpy(), slope.numpy()


def _closest(asked: Json, load: Load, scratch: Path) -> Json:
    module = load_script(_VOLUME, scratch)
    values, slope = _slopes(module.nearest, module, [2.0, 3.0])
    said = f"from {values[0]:g} to {values[1]:g} one voxel on, and the gradient along it is {slope[0][0]:g}"
    return _confirmed(said) if slope[0][0] == 0.0 else _refuted(said)


def _index_space(asked: Json, load: Load, scratch: Path) -> Json:
    module = load_script(_VOLUME, scratch)
    values, slope = _slopes(module.world, module, [1.1, 1.2])
    true = (values[1] - values[0]) / 0.1
    said = (
        f"with voxels of 0.5 the value grows by {true:.3g} per unit of length, and the gradient says {slope[0][0]:.3g}"
    )
    return _confirmed(said) if not math.isclose(true, slope[0][0], rel_tol=1e-3) else _refuted(said)


def _dimensions(asked: Json, load: Load, scratch: Path) -> Json:
    dim, names = [int(n) for n in asked["dim"]], [f"i{n}" for n in range(int(asked["indices"]))]
    lines = "".join(f"    wp.atomic_max(most, {n}, {name})\n" for n, name in enumerate(names))
    kernel = _made(_INDICES.replace("NAMES", ", ".join(names)) + lines, scratch)
    most, count = wp.zeros(len(names), dtype=int, device="cpu"), wp.zeros(1, dtype=int, device="cpu")
    wp.launch(kernel, dim=dim, inputs=[most, count], device="cpu")
    seen = ", ".join(str(number) for number in most.numpy())
    asked_for = ", ".join(str(extent) for extent in dim)
    what = "the index runs" if len(names) == 1 else "the indices run"
    return _confirmed(f"a launch over ({asked_for}) runs {count.numpy()[0]} threads, and {what} up to {seen}")


def _launch(asked: Json, load: Load, scratch: Path) -> Json:
    module = load()
    values = [_argument(one, module) for one in asked["arguments"]]
    try:
        wp.launch(getattr(module, asked["kernel"]), dim=asked["dim"] or 1, inputs=values, device="cpu")
    except Exception as error:
        return _confirmed(f"Warp refuses the launch: {first_line(error)}")
    return _refuted("the launch runs")


def _argument(one: Json, module: ModuleType) -> Any:
    if "value" in one:
        return one["value"]
    dtype = getattr(wp, one["dtype"], None) or getattr(module, one["dtype"])
    return wp.zeros((4,) * int(one["rank"]), dtype=dtype, device="cpu")


def _options(asked: Json, load: Load, scratch: Path) -> Json:
    try:
        _made(_DECORATED.replace("OPTIONS", asked["options"]), scratch)
    except DoesNotCompile as error:
        return _confirmed(str(error))
    return _refuted("Warp takes the options")


def _jacobian(asked: Json, load: Load, scratch: Path) -> Json:
    import warp.autograd

    module = load()
    try:
        getattr(warp.autograd, asked["checker"])(
            getattr(module, asked["kernel"]), dim=1, inputs=[], outputs=[wp.zeros(1, dtype=float, device="cpu")]
        )
    except ValueError as error:
        return _confirmed(f"`{asked['checker']}` raises ValueError: {first_line(error)}")
    except Exception as error:
        return inconclusive(f"`{asked['checker']}` fails: {first_line(error)}")
    return _refuted(f"`{asked['checker']}` runs")


_ANSWERS: dict[str, Callable[[Json, Load, Path], Json]] = {
    "operator": _operator,
    "unbound": _unbound,
    "whole-volume": _whole_volume,
    "closest-gradient": _closest,
    "index-space": _index_space,
    "dimensions": _dimensions,
    "launch": _launch,
    "jacobian": _jacobian,
    "options": _options,
}
