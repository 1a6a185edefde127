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

#: Arrays are longer than what is differentiated: adjoints of wrong indices must not go outside.
LENGTH = 10

#: Where kernels are tried: how often, the range of the inputs, and how many iterations dynamic loops make. Wide ranges
#: turn every branch both ways; few iterations and many hide different coincidences.
TRIED = (
    (4, 0.2, 1.2, 3),
    (3, 0.2, 1.2, 1),
    (8, -1.3, 1.3, 3),
    (4, 0.1, 2.0, 2),
    (8, -0.4, 0.9, 4),
    (4, 0.5, 3.0, 3),
    (4, -3.0, 3.0, 3),
)

#: Where every kernel that looks right is tried once more, whatever was found in it: a decision that goes wrong may go
#: wrong seldom.
TRIED_AGAIN = ((30, -1.3, 1.3, 3), (30, 0.0, 2.0, 3), (30, -3.0, 3.0, 4))

#: The weights of what the kernel leaves in ``c``.
LEFT = np.array([0.3, -0.4, 0.25, 0.55, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0])

#: The kinds of facts that say "this adjoint is wrong". Others (of callers, casts, zero gradients) leave it right.
WRONG = frozenset(
    {
        "array-augmented-assignment",
        "array-overwritten",
        "attribute-component-accumulate",
        "carried-index",
        "component-overwrite",
        "component-stored-after-read",
        "early-exit",
        "kernel-scratch-array",
        "loop-carried-value",
        "loop-result-used",
        "struct-component-store",
        "tile-overwritten",
        "unselected-branch",
    }
)


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
            if fact.kind not in WRONG:
                continue
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
            facts = tuple(found.get(name, ()))
            wrong = _wrong(wp, kernel, TRIED)
            if wrong is False:
                wrong = _wrong(wp, kernel, TRIED_AGAIN) is True
            results.append(Outcome(name, parts[index], wrong, facts))
        return results


def _wrong(wp: object, kernel: object, tried: tuple[tuple[int, float, float, int], ...]) -> bool | None:
    """Whether the tape's gradient disagrees with finite differences at one of the inputs."""
    undecided = True
    seed = 0
    for times, low, high, count in tried:
        for _ in range(times):
            seed += 1
            generator = np.random.default_rng(seed)
            inputs = [generator.uniform(low, high, LENGTH) for _ in range(3)]
            weights = generator.uniform(0.5, 1.5, 8) * generator.choice([-1.0, 1.0], 8)
            tape, value = _gradient(wp, kernel, inputs, weights, count)
            coarse = _differences(wp, kernel, inputs, weights, count, 1.0e-4)
            fine = _differences(wp, kernel, inputs, weights, count, 1.0e-6)
            if not (abs(value) < 1.0e6 and np.all(np.isfinite(fine)) and np.all(np.isfinite(tape))):
                continue  # too large for differences
            if np.abs(fine).max() > 1.0e6:
                continue
            if np.abs(coarse - fine).max() > 1.0e-3 * (1.0 + np.abs(fine).max()):
                continue  # a kink between the points
            undecided = False
            if np.abs(tape - fine).max() > 1.0e-4 * (1.0 + np.abs(fine).max()):
                return True
    return None if undecided else False


def _launch(wp, kernel, arrays, count, output):  # type: ignore[no-untyped-def]
    wp.launch(kernel, dim=1, inputs=[*arrays, count, output], device="cpu")


def _gradient(wp, kernel, inputs, weights, count):  # type: ignore[no-untyped-def]
    arrays = [wp.array(value, dtype=wp.float64, requires_grad=True, device="cpu") for value in inputs]
    output = wp.zeros(8, dtype=wp.float64, requires_grad=True, device="cpu")
    with wp.Tape() as tape:
        _launch(wp, kernel, arrays, count, output)
    total = float(output.numpy() @ weights + arrays[2].numpy() @ LEFT)
    # what the kernel leaves in c is an output too
    seeds = {output: wp.array(weights, dtype=wp.float64, device="cpu")}
    arrays[2].grad.assign(LEFT)
    tape.backward(grads=seeds)
    return np.concatenate([value.grad.numpy()[:SIZE] for value in arrays]), total


def _differences(wp, kernel, inputs, weights, count, step):  # type: ignore[no-untyped-def]
    arrays = [wp.array(value, dtype=wp.float64, device="cpu") for value in inputs]
    output = wp.zeros(8, dtype=wp.float64, device="cpu")

    def objective(values):  # type: ignore[no-untyped-def]
        for array, value in zip(arrays, values, strict=True):
            array.numpy()[:] = value  # a view on the CPU device
        output.numpy()[:] = 0.0
        _launch(wp, kernel, arrays, count, output)
        return float(output.numpy() @ weights + arrays[2].numpy() @ LEFT)

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
