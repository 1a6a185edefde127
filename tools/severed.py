"""Which arguments of Warp's built-ins get no gradient although the result depends on them, found by running them.

It tells those whose true derivative is zero (*flat*: a rounded number) from those whose adjoint is missing.

    python tools/severed.py

Every overload that maps numbers, vectors, matrices, quaternions and transforms to such is called from a kernel of its
own on the CPU device, and the tape's gradient of a random projection of its result is compared with central
differences at a few points. ``tools/builtins.py`` stores the outcome in the table; here it is printed.
"""

from __future__ import annotations

import contextlib
import sys
import types
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import warp as wp
from warp._src import context

POINTS = 8
#: At so many of them the result has to depend on the argument.
CLEAR = 2
STEP = 2.0e-3
#: Differences smaller than this are taken for rounding.
FLAT = 2.0e-2
#: How far the differences of two step sizes may be apart; farther apart there is a jump between them.
SMOOTH = 0.2

_SIZED = {"vec_t": wp.vec3, "mat_t": wp.mat33, "quat_t": wp.quat, "transform_t": wp.transform}


@dataclass(frozen=True, slots=True)
class Severed:
    """An argument of a built-in without a gradient, and the largest difference quotient; zero if it is flat."""

    name: str
    kinds: tuple[Any, ...]
    position: int
    difference: float


def concrete(kind: Any) -> Any:
    """A float32 or int32 type for a parameter of an overload, None for what is no plain value."""
    generic = getattr(kind, "_wp_generic_type_str_", None)
    if generic is not None:
        if generic in ("quat_t", "transform_t"):
            return _SIZED[generic]
        scalar = getattr(kind, "_wp_scalar_type_", wp.float32)
        if scalar in (wp.float32, float) or not isinstance(scalar, type) or "Float" in str(scalar):
            shape = getattr(kind, "_shape_", ())
            if all(isinstance(size, int) and size > 0 for size in shape) and shape:
                return wp.types.vector(shape[0], float) if len(shape) == 1 else wp.types.matrix(shape, float)
            return _SIZED.get(generic)
        return None
    if kind in (float, wp.float32):
        return wp.float32
    if kind in (int, wp.int32):
        return wp.int32
    if kind is wp.uint32:
        return wp.uint32
    if str(kind) in ("Float", "Scalar") or getattr(kind, "__name__", "") in ("Float", "Scalar"):
        return wp.float32
    return None


def signatures() -> Iterator[tuple[str, list[Any]]]:
    """The built-ins to call, with the types of their arguments."""
    seen = set()
    for name, function in sorted(context.builtin_functions.items()):
        for overload in getattr(function, "overloads", ()):
            if overload.hidden and not name.startswith(("mod", "div", "mul")):
                continue
            kinds = [concrete(kind) for kind in overload.input_types.values()]
            if not kinds or any(kind is None for kind in kinds) or wp.int32 == kinds[0] and len(kinds) == 1:
                continue
            if any(parameter.startswith("*") for parameter in overload.input_types):
                continue
            key = (name, tuple(kinds))
            if key not in seen and any(_floats(kind) for kind in kinds):
                seen.add(key)
                yield name, kinds


def _floats(kind: Any) -> bool:
    return getattr(kind, "_wp_scalar_type_", kind) in (float, wp.float32)


def kernel(name: str, kinds: list[Any], folder: Path, number: int) -> tuple[Any, list[Any]] | None:
    """A kernel that calls the built-in once, and the types of its results; None where Warp refuses the call."""
    names = [f"a{position}" for position in range(len(kinds))]
    scope: dict[str, Any] = {"wp": wp, **{f"T{position}": kind for position, kind in enumerate(kinds)}}
    typed = ", ".join(f"{argument}: T{position}" for position, argument in enumerate(names))
    text = f"@wp.func\ndef called({typed}):\n    return wp.{name}({', '.join(names)})\n"
    module = module_of(text, scope, folder, f"called_{number}")
    if module is None:
        return None
    try:
        function = next(iter(module.called.user_overloads.values()))
        function.build(None, function.module.options)
        results = [variable.type for variable in function.adj.return_var or ()]
    except Exception:  # the code generator raises anything
        return None
    if not results or not all(_floats(kind) for kind in results):
        return None
    scope["called"] = module.called
    arrays = [f"a{position}: wp.array(dtype=T{position})" for position in range(len(kinds))]
    loads = ", ".join(f"a{position}[0]" for position in range(len(kinds)))
    targets = ", ".join(f"r{position}" for position in range(len(results)))
    lines = [f"    {targets} = called({loads})"]
    for position, kind in enumerate(results):
        scope[f"R{position}"] = kind
        arrays.append(f"out{position}: wp.array(dtype=R{position})")
        lines.append(f"    out{position}[0] = r{position}")
    text = f"@wp.kernel(module='unique')\ndef run({', '.join(arrays)}):\n" + "\n".join(lines) + "\n"
    module = module_of(text, scope, folder, f"run_{number}")
    return None if module is None else (module.run, results)


def module_of(text: str, scope: dict[str, Any], folder: Path, name: str) -> types.ModuleType | None:
    path = folder / f"{name}.py"
    path.write_text(text)
    module = types.ModuleType(name)
    module.__file__ = str(path)
    module.__dict__.update(scope)
    sys.modules[name] = module
    try:
        exec(compile(text, str(path), "exec"), module.__dict__)
    except Exception:  # Warp refuses the definition
        return None
    return module


def measure(run: Any, kinds: list[Any], results: list[Any], seed: int) -> tuple[float, list[tuple[float, float]]]:
    """The projected result at one point, and for each argument the largest tape derivative and difference quotient.

    The quotient is NaN at a jump.
    """
    random = np.random.default_rng(seed)
    points = []
    for kind in kinds:
        size = getattr(kind, "_length_", 1)
        if not _floats(kind):
            points.append(np.array([1 + seed % 2]))
        else:
            # every other point is negative, and they grow: a rounded number has to change
            point = random.uniform(0.25, 0.85, size) * (1 + seed // 2) * (1 if seed % 2 == 0 else -1)
            points.append(point / np.linalg.norm(point) if kind is wp.quat else point)
    weights = [random.uniform(0.5, 1.5, getattr(kind, "_length_", 1)) for kind in results]

    def arrays(values: list[Any], gradient: bool) -> tuple[list[Any], list[Any]]:
        given = []
        for value, kind in zip(values, kinds, strict=True):
            shape = getattr(kind, "_shape_", ())
            data = np.asarray(value).reshape(1, *shape) if shape else np.asarray(value)
            given.append(wp.array(data, dtype=kind, requires_grad=gradient and _floats(kind), device="cpu"))
        outs = [wp.zeros(1, dtype=kind, requires_grad=gradient, device="cpu") for kind in results]
        return given, outs

    def value(values: list[Any]) -> float:
        given, outs = arrays(values, False)
        wp.launch(run, dim=1, inputs=[*given, *outs], device="cpu")
        return sum(
            float(np.dot(out.numpy().ravel().astype(np.float64), w)) for out, w in zip(outs, weights, strict=True)
        )

    given, outs = arrays(points, True)
    tape = wp.Tape()
    with tape:
        wp.launch(run, dim=1, inputs=[*given, *outs], device="cpu")
    seeds = {
        out: wp.array(weight.reshape(out.numpy().shape), dtype=out.dtype, device="cpu")
        for out, weight in zip(outs, weights, strict=True)
    }
    tape.backward(grads=seeds)
    found = []
    for position, kind in enumerate(kinds):
        if not _floats(kind):
            found.append((0.0, 0.0))
            continue
        slopes = []
        for component in range(points[position].size):
            quotients = []
            for step in (STEP, 0.5 * STEP):
                sides = []
                for moved_by in (step, -step):
                    moved = [point.copy() for point in points]
                    moved[position][component] += moved_by
                    sides.append(value(moved))
                quotients.append((sides[0] - sides[1]) / (2 * step))
            smooth = abs(quotients[0] - quotients[1]) <= SMOOTH * max(map(abs, quotients))
            slopes.append(quotients[1] if smooth else np.nan)
        gradient = given[position].grad.numpy()
        found.append((float(np.max(np.abs(gradient))), float(np.max(np.abs(slopes)))))
    return value(points), found


def severed() -> Iterator[Severed]:
    """The arguments without a gradient, of all built-ins that can be called by themselves."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        for number, (called, kinds) in enumerate(signatures()):
            made = kernel(called, kinds, folder, number)
            if made is None:
                continue
            with contextlib.suppress(Exception), np.errstate(all="ignore"):  # a built-in that needs more than numbers
                points = [measure(made[0], kinds, made[1], seed) for seed in range(POINTS)]
                changes = len({result for result, _ in points if np.isfinite(result)}) > 1
                for position in range(len(kinds)):
                    tapes, differences = zip(*(found[position] for _, found in points), strict=True)
                    known = [size for size in differences if np.isfinite(size)]
                    clear = [size for size in known if size > FLAT]
                    if any(tape != 0.0 for tape in tapes) or not _floats(kinds[position]):
                        continue
                    if len(clear) >= CLEAR:
                        yield Severed(called, tuple(kinds), position, max(clear))
                    elif changes and known and len(kinds) == 1 and max(known) == 0.0:
                        yield Severed(called, tuple(kinds), position, 0.0)


if __name__ == "__main__":
    wp.config.quiet = True
    for one in severed():
        written = ", ".join(kind.__name__ for kind in one.kinds)
        print(f"{one.name}({written}), argument {one.position}: differences up to {one.difference:.4g}", flush=True)
