"""Runs the small programs of these tests under Warp: how far the gradient that one prints is off."""

from __future__ import annotations

import importlib.util
import itertools
import sys
from pathlib import Path

import numpy as np

#: How `judged.KERNELS` makes the input, where it is differentiated, and the step of the differences.
INPUT = "x = wp.array(np.ones(n), dtype=float, requires_grad=True)"
POINT, STEP = (0.6, 0.9, 1.3), 1.0e-2
#: A larger error is a wrong gradient, a smaller one rounding.
WRONG = 5.0e-2

#: So many programs are one module to Warp. Each launch of a new kernel looks at all kernels that its module ever had,
#: while a module of another name is compiled anew.
_TOGETHER = 12
_measured = itertools.count()


def gradient_is_wrong(path: Path) -> bool:
    """Whether the gradient of ``x`` that the program prints last is wrong.

    It is that of the first number that the program prints, or of the sum of ``loss`` at its end if it prints none.

    Raises AssertionError if the loss does not depend on ``x``, as then nothing could be seen.
    """
    text = path.read_text(encoding="utf-8")
    assert text.count(INPUT) == 1
    name = f"measured_program_{next(_measured) // _TOGETHER}"
    _, printed = _run(name, path, text, POINT)
    gradients = [value for value in printed if value.shape == (len(POINT),)]
    differences = []
    for index in range(len(POINT)):
        above, below = list(POINT), list(POINT)
        above[index] += STEP
        below[index] -= STEP
        differences.append(
            (_run(name, path, text, tuple(above))[0] - _run(name, path, text, tuple(below))[0]) / (2.0 * STEP)
        )
    scale = max(abs(slope) for slope in differences)
    assert scale > 1.0e-3, "the loss does not depend on the input"
    return bool(np.max(np.abs(gradients[-1] - np.array(differences))) > WRONG * scale)


def _run(name: str, path: Path, text: str, start: tuple[float, ...]) -> tuple[float, list[np.ndarray]]:
    """The loss of the program as a module of that name, started at ``start``, and the arrays that it prints."""
    import warp as wp

    wp.config.quiet = True
    moved = path.with_name(f"{name}.py")
    moved.write_text(text.replace(INPUT, INPUT.replace("np.ones(n)", f"np.array({start!r})")), encoding="utf-8")
    printed: list[np.ndarray] = []
    numbers: list[float] = []
    spec = importlib.util.spec_from_file_location(name, moved)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)

    def keep(*values: object) -> None:
        printed.extend(np.array(value, copy=True) for value in values if isinstance(value, np.ndarray))
        numbers.extend(float(value) for value in values if isinstance(value, (float, np.floating)))

    vars(module)["print"] = keep
    sys.modules[spec.name] = module
    try:
        with wp.ScopedDevice("cpu"):
            spec.loader.exec_module(module)
        return numbers[0] if numbers else float(np.sum(module.loss.numpy())), printed
    finally:
        del sys.modules[spec.name]
