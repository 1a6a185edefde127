"""Measures kernels: the tape's gradient on random arguments against central differences, without warplint."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

#: The elements of arrays, the value of integers, and the step of the differences.
SIZE, COUNT, STEP = 8, 3, 1e-2


@dataclass(frozen=True, slots=True)
class Compared:
    """A kernel and, for each derivative that was compared, how far the tape was off: absolutely where the derivative
    is small, else relatively."""

    kernel: str
    errors: tuple[float, ...]


def compared_kernels(path: Path) -> list[Compared]:
    """The kernels of a module that have an adjoint, each run with one thread on the CPU on random arguments."""
    import warp as wp

    return compared(value for value in vars(_load(path)).values() if isinstance(value, wp.Kernel))


def compared(kernels: Iterable[Any]) -> list[Compared]:
    """Those of some kernels that have an adjoint and parameters that can be drawn, as above."""
    import warp as wp

    # Structs and the like are left out: their members would have to be drawn one by one.
    plain = (wp.int32, wp.float32)
    return [
        Compared(kernel.key, tuple(_errors(kernel)))
        for kernel in kernels
        if {**kernel.module.options, **kernel.options}["enable_backward"]
        and all(isinstance(parameter.type, wp.array) or parameter.type in plain for parameter in kernel.adj.args)
    ]


def _load(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


def _values(kernel: Any, random: np.random.Generator) -> list[Any]:
    """An argument for each parameter: arrays of SIZE elements between 0.4 and 1.6, counts of COUNT."""
    import warp as wp

    found: list[Any] = []
    for parameter in kernel.adj.args:
        if isinstance(parameter.type, wp.array):
            length = getattr(parameter.type.dtype, "_length_", 1)
            found.append(random.uniform(0.4, 1.6, (SIZE, length) if length > 1 else (SIZE,)))
        else:
            found.append(COUNT if parameter.type is wp.int32 else 0.7)
    return found


def _launch(kernel: Any, arguments: list[Any], gradients: bool) -> tuple[list[Any], Any]:
    """One thread of ``kernel``, recorded; the arrays it ran on and the tape."""
    import warp as wp

    arrays = [
        wp.array(value, dtype=parameter.type.dtype, requires_grad=gradients, device="cpu")
        if isinstance(value, np.ndarray)
        else value
        for value, parameter in zip(arguments, kernel.adj.args, strict=True)
    ]
    tape = wp.Tape()
    with tape:
        wp.launch(kernel, dim=1, inputs=arrays, device="cpu")
    return arrays, tape


def _total(arrays: list[Any], weights: list[Any]) -> float:
    """A number that depends on every element: the arrays' elements, weighted."""
    return sum(
        float((array.numpy().astype(np.float64) * weight).sum())
        for array, weight in zip(arrays, weights, strict=True)
        if weight is not None
    )


def _errors(kernel: Any) -> Iterable[float]:
    import warp as wp

    random = np.random.default_rng(7)
    arguments = _values(kernel, random)
    weights = [random.uniform(0.5, 1.5, value.shape) if isinstance(value, np.ndarray) else None for value in arguments]
    arrays, tape = _launch(kernel, arguments, gradients=True)
    seeds: Mapping[Any, Any] = {
        array: wp.array(weight, dtype=array.dtype, device="cpu")
        for array, weight in zip(arrays, weights, strict=True)
        if weight is not None
    }
    tape.backward(grads=seeds)
    for number, value in enumerate(arguments):
        # What the kernel writes has no gradient with respect to what was there before.
        if weights[number] is None or not np.allclose(arrays[number].numpy(), value):
            continue
        gradient = arrays[number].grad.numpy()
        for index in np.ndindex(*value.shape):
            sides = []
            for step in (STEP, -STEP):
                moved = list(arguments)
                moved[number] = value.copy()
                moved[number][index] += step
                sides.append(_total(_launch(kernel, moved, gradients=False)[0], weights))
            # The seed of an input is its own weight, and stays in its gradient.
            difference = (sides[0] - sides[1]) / (2 * STEP)
            yield abs(float(gradient[index]) - difference) / max(1.0, abs(difference))
