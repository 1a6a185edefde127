"""Run the kernels of `fixtures/kernels` on drawn inputs and compare their tape gradients with central differences.

Conventions of the fixtures: float arrays whose name begins with `out` start at zero and are results only; every other
float array is an input *and* a result, and reaches the kernel through a clone recorded on the tape, so that an in-place
update can be differentiated. Kernels that call `wp.tid()` run three threads, others one.
"""

from __future__ import annotations

import importlib.util
import re
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import warp as wp

KERNELS = Path(__file__).parent / "fixtures" / "kernels"
MARK = re.compile(r"# (todo-expect|expect|wrong|ok): (WP\d{3}(?:, WP\d{3})*)")
"""`todo-expect` marks a wrong adjoint that no rule is asked to find yet, `wrong` one that is found elsewhere: in a
custom gradient, where a kernel uses it."""
NO_GRADIENT = frozenset({"WP306", "WP606"})
"""Rules whose findings say nothing of whether a gradient is right; they are checked in ways of their own."""
MOVES = (0.31, -0.27, 0.9)
"""How far inputs are moved to see whether a result depends on them."""
AGREE = 1.0e-2
DISAGREE = 5.0e-2
POINTS = 3
THREADS = 3
STEP = 4.0e-3
COUNT = 4
"""The value of integer parameters, hence the trip count of dynamic loops."""


@dataclass(frozen=True, slots=True)
class KernelLabel:
    """One kernel with the rules that its lines, and those of the funcs it calls, are marked with."""

    kernel: wp.Kernel
    expected: frozenset[str]
    allowed: frozenset[str]
    backward: bool


@dataclass(frozen=True, slots=True)
class Leaf:
    """A differentiated input: its values as one flat float32 vector."""

    values: np.ndarray
    dtype: Any
    shape: tuple[int, ...]


@contextmanager
def loaded(path: Path) -> Iterator[ModuleType]:
    """The fixture module at `path`; Warp's configuration is put back afterwards."""
    wp.init()
    flags = ("enable_backward", "enable_vector_component_overwrites", "max_unroll")
    # Older versions do not have them all.
    before = {flag: getattr(wp.config, flag) for flag in flags if hasattr(wp.config, flag)}
    name = f"fixture_kernels_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
        yield module
    finally:
        del sys.modules[name]
        for flag, value in before.items():
            setattr(wp.config, flag, value)


def labels(module: ModuleType) -> list[KernelLabel]:
    """Every kernel of a fixture module with its marks."""
    funcs = {key: value.adj.source for key, value in vars(module).items() if isinstance(value, wp.Function)}
    found = []
    for value in vars(module).values():
        if not isinstance(value, wp.Kernel) or value.is_generic:  # the overloads of a generic one are run
            continue
        source, seen = value.adj.source, set()
        while called := {f for f in funcs if f not in seen and re.search(rf"\b{f}\(", source)}:
            seen |= called
            source += "".join(funcs[f] for f in called)
        marks = [(kind, rule) for kind, rules in MARK.findall(source) for rule in rules.split(", ")]
        options = {**value.module.options, **value.options}
        found.append(
            KernelLabel(
                value,
                frozenset(rule for kind, rule in marks if kind != "ok"),
                frozenset(rule for kind, rule in marks if kind == "ok"),
                bool(options["enable_backward"]),
            )
        )
    return found


def _draw(rng: np.random.Generator, size: int, singular: bool) -> np.ndarray:
    if singular:  # negative, small, exactly zero, and large enough to overflow an exponential
        values = rng.choice([-0.7, -0.3, 0.4, 0.8, 100.0], size) + rng.uniform(-0.05, 0.05, size)
        values[rng.uniform(size=size) < 0.3] = 0.0
        return values.astype(np.float32)
    return rng.uniform(0.3, 1.3, size).astype(np.float32)


def _size(dtype: Any) -> int:
    """Components of a scalar, vector, matrix or quaternion type, and of a struct of such with float components."""
    if hasattr(dtype, "vars"):
        assert all(_scalar(field.type) in (float, wp.float32) for field in dtype.vars.values()), "floats only"
        return sum(_size(field.type) for field in dtype.vars.values())
    return int(getattr(dtype, "_length_", 1))


def _made(values: np.ndarray, dtype: Any, shape: tuple[int, ...], grad: bool = False) -> wp.array:
    """An array of flat numbers."""
    flat = values.astype(np.float32)
    if hasattr(dtype, "vars"):
        elements = flat.view(np.dtype(dtype.numpy_dtype())).reshape(shape)
    else:
        elements = flat.reshape(*shape, *getattr(dtype, "_shape_", ()))
    return wp.array(elements, dtype=dtype, requires_grad=grad)


def _numbers(array: wp.array) -> np.ndarray:
    """The numbers in an array, flat."""
    values = array.numpy()
    return values.view(np.float32).ravel() if values.dtype.fields is not None else values.ravel()


def _cloned(array: wp.array) -> wp.array:
    """A clone, on the tape if there is one. Warp warns of structs: that gradients of other uses may get lost."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return wp.clone(array)


def _scalar(dtype: Any) -> Any:
    return getattr(dtype, "_wp_scalar_type_", dtype)


class Run:
    """One kernel at one drawn point.

    Args:
        label: the kernel.
        seed: draws the point.
        singular: draw from values where square roots, logarithms, quotients and exponentials break.
    """

    def __init__(self, label: KernelLabel, seed: int, singular: bool) -> None:
        self.kernel = label.kernel
        self.rng = np.random.default_rng(seed)
        self.singular = singular
        self.leaves: list[Leaf] = []
        self.plan: list[Any] = [self._argument(arg.label, arg.type) for arg in self.kernel.adj.args]
        self.dim = THREADS if "tid()" in self.kernel.adj.source else 1
        self.block = 1 if "tile_" in self.kernel.adj.source else 256  # one thread makes a whole tile
        self.weights: dict[int, np.ndarray] = {}
        #: which result holds the final contents of each leaf
        self.outcome: dict[int, int] = {}

    def _argument(self, name: str, kind: Any) -> Any:
        """A value, or ("leaf", index), ("out", dtype, shape), ("int", array), ("struct", kind, {field: recipe})."""
        if hasattr(kind, "ndim"):  # an array, or the annotation `wp.array[float]`
            dtype = kind.dtype
            shape = (4,) * kind.ndim if kind.ndim > 1 else (20,) if _size(dtype) == 1 else (4,)
            if _scalar(dtype) in (int, wp.int32):
                size = int(np.prod(shape)) * _size(dtype)
                return ("int", wp.array(self.rng.permutation(size).reshape(*shape, -1).squeeze(), dtype=dtype))
            if name.startswith("out"):
                return ("out", dtype, shape)
            size = int(np.prod(shape)) * _size(dtype)
            self.leaves.append(Leaf(_draw(self.rng, size, self.singular), dtype, shape))
            return ("leaf", len(self.leaves) - 1)
        if hasattr(kind, "vars"):
            return ("struct", kind, {f: self._argument(f, v.type) for f, v in kind.vars.items()})
        if kind in (int, wp.int32):
            return COUNT
        if kind in (float, wp.float32):
            return 0.0 if self.singular else 0.7
        return kind(*[0.5 + 0.1 * k for k in range(_size(kind))])

    def _launch(self, points: list[np.ndarray], tape: wp.Tape | None) -> tuple[list[wp.array], list[wp.array]]:
        grad = tape is not None
        sources = [_made(p, leaf.dtype, leaf.shape, grad) for p, leaf in zip(points, self.leaves, strict=True)]
        results: list[wp.array] = []

        def build(recipe: Any) -> Any:
            if not isinstance(recipe, tuple) or not isinstance(recipe[0], str):
                return recipe
            if recipe[0] == "int":
                return wp.clone(recipe[1])
            if recipe[0] == "struct":
                value = recipe[1]()
                for field, inner in recipe[2].items():
                    setattr(value, field, build(inner))
                return value
            if recipe[0] == "out":
                results.append(wp.zeros(recipe[2], dtype=recipe[1], requires_grad=grad))
            else:
                self.outcome[recipe[1]] = len(results)
                results.append(_cloned(sources[recipe[1]]))
            return results[-1]

        if tape is None:
            wp.launch(self.kernel, dim=self.dim, block_dim=self.block, inputs=[build(r) for r in self.plan])
        else:
            with tape:
                wp.launch(self.kernel, dim=self.dim, block_dim=self.block, inputs=[build(r) for r in self.plan])
        return sources, results

    def _weight(self, index: int, size: int) -> np.ndarray:
        if index not in self.weights:
            self.weights[index] = self.rng.uniform(0.5, 1.5, size).astype(np.float32)
        return self.weights[index]

    def taped(self) -> np.ndarray:
        """The tape's gradient of a fixed random projection of all results, over all inputs."""
        tape = wp.Tape()
        sources, results = self._launch([leaf.values for leaf in self.leaves], tape)
        seeds = {}
        for k, r in enumerate(results):
            seeds[r] = _made(self._weight(k, _numbers(r).size), r.dtype, r.shape)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # see _cloned
            tape.backward(grads=seeds)
        return np.concatenate([_numbers(s.grad).astype(np.float64) for s in sources])

    def value(self, points: list[np.ndarray]) -> float:
        """The projection, summed in double precision."""
        _, results = self._launch(points, None)
        total = 0.0
        for k, r in enumerate(results):
            flat = _numbers(r).astype(np.float64)
            total += float(np.dot(flat, self._weight(k, flat.size).astype(np.float64)))
        return total

    def silent(self) -> list[bool]:
        """For each input array that moves the results: whether its gradient is exactly zero."""
        taped = np.split(self.taped(), np.cumsum([leaf.values.size for leaf in self.leaves])[:-1])
        base = self.value([leaf.values for leaf in self.leaves])
        found = []
        for k, gradient in enumerate(taped):
            points = [leaf.values for leaf in self.leaves]
            moved = [self.value([p + np.float32(h) if j == k else p for j, p in enumerate(points)]) for h in MOVES]
            if any(value != base for value in moved):
                found.append(not np.any(self._without_own(k, gradient)))
        return found

    def _without_own(self, leaf: int, gradient: np.ndarray) -> np.ndarray:
        """The gradient without the part of an input's own final contents, which are a result as well."""
        at = self.outcome[leaf]
        return gradient - self.weights[at].astype(np.float64)

    def repeated(self) -> bool:
        """Whether `backward()` changes what some array holds."""
        tape = wp.Tape()
        _, results = self._launch([leaf.values for leaf in self.leaves], tape)
        before = [r.numpy().copy() for r in results]
        tape.backward(grads={r: wp.ones_like(r) for r in results})
        return any(not np.array_equal(r.numpy(), b) for r, b in zip(results, before, strict=True))

    def differences(self) -> np.ndarray:
        """Richardson-extrapolated central differences; NaN where the input is exactly zero (a kink may be there)."""
        slopes = []
        for k, leaf in enumerate(self.leaves):
            for c in range(leaf.values.size):
                if leaf.values[c] == 0.0:
                    slopes.append(np.nan)
                    continue
                pair = []
                for h in (STEP, STEP / 2):
                    moved = [[x.values.copy() for x in self.leaves] for _ in range(2)]
                    moved[0][k][c] += np.float32(h)
                    moved[1][k][c] -= np.float32(h)
                    span = float(moved[0][k][c]) - float(moved[1][k][c])
                    pair.append((self.value(moved[0]) - self.value(moved[1])) / span)
                slopes.append((4.0 * pair[1] - pair[0]) / 3.0)
        return np.array(slopes)


def error(label: KernelLabel, seed: int, singular: bool) -> float:
    """Largest disagreement of tape and differences at one drawn point; infinite if the tape's is not finite."""
    with np.errstate(all="ignore"):
        run = Run(label, seed, singular)
        taped, slopes = run.taped(), run.differences()
        if not np.all(np.isfinite(taped)):
            return float("inf")
        known = np.isfinite(slopes)
        if not known.any():
            raise ValueError(f"{label.kernel.key}: no difference quotient is finite; the fixture shows nothing")
        scale = np.maximum(np.abs(slopes), 1.0) if singular else max(float(np.max(np.abs(slopes[known]))), 1.0e-3)
        return float(np.max((np.abs(taped - slopes) / scale)[known]))


def errors(label: KernelLabel, singular: bool) -> list[float]:
    """`error` at every drawn point; at no more of them than show that a marked kernel is wrong."""
    found: list[float] = []
    for seed in range(POINTS):
        found.append(error(label, seed, singular))
        if label.expected and found[-1] > DISAGREE:
            break
    return found


def silent(label: KernelLabel) -> bool:
    """Whether some input moves the results at every drawn point, and never has a gradient."""
    seen = [Run(label, seed, False).silent() for seed in range(POINTS)]
    return any(all(column) for column in zip(*seen, strict=True))


def repeated(label: KernelLabel) -> bool:
    """Whether `backward()` changes what some array holds, at any drawn point."""
    return any(Run(label, seed, False).repeated() for seed in range(POINTS))
