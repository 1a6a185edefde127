"""Runs random kernels: tape against central differences, in one process and one module."""

from __future__ import annotations

import importlib.util
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tests.differential.generate import source
from warplint import kernels
from warplint.frontend import fast
from warplint.source.project import Module, Project

SIZE = 4
COUNT = 3


@dataclass(frozen=True)
class Outcome:
    """One kernel: its source, whether Warp's gradient is wrong (None: not decided), and the facts found."""

    name: str
    text: str
    wrong: bool | None
    facts: tuple[str, ...]


def outcomes(seed: int, count: int) -> list[Outcome]:
    """Generates, analyses and runs ``count`` kernels."""
    import warp as wp

    text = source(seed, count)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"random_kernels_{seed}.py"
        path.write_text(text, encoding="utf-8")
        found: dict[str, list[str]] = {}
        project = Project(fast.read)
        module = project.load(path)
        assert isinstance(module, Module)
        for fact in kernels.analyse(project, module):
            found.setdefault(fact.definition, []).append(f"{fact.kind}:{fact.location.span.line}")
        spec = importlib.util.spec_from_file_location(path.stem, path)
        assert spec is not None and spec.loader is not None
        loaded = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(loaded)
        parts = text.split("@wp.kernel\n")[1:]
        results = []
        for index in range(count):
            name = f"k{index}"
            kernel = getattr(loaded, name)
            results.append(Outcome(name, parts[index], _wrong(wp, kernel), tuple(found.get(name, ()))))
        return results


def _wrong(wp: object, kernel: object) -> bool | None:
    """Whether the tape's gradient disagrees with finite differences at one of five inputs."""
    undecided = True
    for seed in range(1, 6):
        generator = np.random.default_rng(seed)
        inputs = [generator.uniform(0.2, 1.2, SIZE) for _ in range(3)]
        weights = generator.uniform(0.5, 1.5, 8)
        tape, value = _gradient(wp, kernel, inputs, weights)
        coarse = _differences(wp, kernel, inputs, weights, 1.0e-4)
        fine = _differences(wp, kernel, inputs, weights, 1.0e-6)
        if not (np.isfinite(value) and np.all(np.isfinite(fine))) or np.abs(fine).max() > 1.0e6:
            continue
        if np.abs(coarse - fine).max() > 1.0e-3 * (1.0 + np.abs(fine).max()):
            continue  # a kink between the points
        undecided = False
        if np.abs(tape - fine).max() > 1.0e-4 * (1.0 + np.abs(fine).max()):
            return True
    return None if undecided else False


def _launch(wp, kernel, arrays, output):  # type: ignore[no-untyped-def]
    wp.launch(kernel, dim=1, inputs=[*arrays, COUNT, output], device="cpu")


def _gradient(wp, kernel, inputs, weights):  # type: ignore[no-untyped-def]
    arrays = [wp.array(value, dtype=wp.float64, requires_grad=True, device="cpu") for value in inputs]
    output = wp.zeros(8, dtype=wp.float64, requires_grad=True, device="cpu")
    with wp.Tape() as tape:
        _launch(wp, kernel, arrays, output)
    total = float(output.numpy() @ weights + arrays[2].numpy().sum() * 0.3)
    # what the kernel leaves in c is an output too
    seeds = {output: wp.array(weights, dtype=wp.float64, device="cpu")}
    arrays[2].grad.fill_(0.3)
    tape.backward(grads=seeds)
    return np.concatenate([value.grad.numpy() for value in arrays]), total


def _differences(wp, kernel, inputs, weights, step):  # type: ignore[no-untyped-def]
    def objective(values):  # type: ignore[no-untyped-def]
        arrays = [wp.array(value, dtype=wp.float64, device="cpu") for value in values]
        output = wp.zeros(8, dtype=wp.float64, device="cpu")
        _launch(wp, kernel, arrays, output)
        return float(output.numpy() @ weights + arrays[2].numpy().sum() * 0.3)

    gradient = []
    for position in range(3):
        for element in range(SIZE):
            shifted = []
            for sign in (1.0, -1.0):
                values = [value.copy() for value in inputs]
                values[position][element] += sign * step
                shifted.append(objective(values))
            gradient.append((shifted[0] - shifted[1]) / (2.0 * step))
    return np.array(gradient)
