"""What one input set shows beside the comparison of gradients with differences.

``silent``: inputs that move the result while the tape's derivative is exactly zero. ``repeated``: arrays that hold
something else after ``backward()`` than before.
"""

from __future__ import annotations

import numpy as np
import warp as wp

from warplint.probe.worker.experiment import Buffer, Compared, Comparison, Experiment
from warplint.probe.worker.inputs import Leaf, views
from warplint.probe.worker.isolate import Stage
from warplint.probe.worker.numerics import Estimate

#: How far inputs are moved to see whether anything depends on them: far beyond the next step of a rounded number.
MOVES = (0.73, -0.73, 1.9, -1.9)

#: How many components of one array are moved.
_COMPONENTS = 12


def silent(experiment: Experiment, stage: Stage) -> Comparison:
    """Components that move the result: ``wrong`` where the tape says that they do not."""
    base = experiment.choose_outputs()
    if not experiment.outputs:
        return Comparison(problem="the launch changes no float array")
    if not np.isfinite(base).all():
        return Comparison(problem="the forward result is not finite at the inputs tried")
    stage.set("backward")
    gradient = experiment.gradient()
    stage.set("differences")
    result = Comparison()
    for number, leaf in enumerate(experiment.leaves):
        if leaf.read:
            for name, initial in views(experiment.buffers[id(leaf.array)].initial):
                if experiment.is_fixed(leaf, name):
                    continue
                for index in _some(experiment, leaf, initial):
                    found = _silent(experiment, leaf, name, index, initial, gradient[number, name], base)
                    if found is not None:
                        result.compared.append(found)
    return result


def _some(experiment: Experiment, leaf: Leaf, initial: np.ndarray) -> list[tuple[int, ...]]:
    """A few components of elements that small launches reach, at random."""
    near = [index for index in np.ndindex(*initial.shape) if max(index[: leaf.array.ndim], default=0) < 5]
    experiment.rng.shuffle(near)
    return near[:_COMPONENTS]


def _silent(
    experiment: Experiment,
    leaf: Leaf,
    name: str,
    index: tuple[int, ...],
    initial: np.ndarray,
    gradient: np.ndarray,
    base: np.ndarray,
) -> Compared | None:
    own = experiment.own(leaf, name)
    counted = experiment.weights != 0.0
    passive, at = 0.0, 0
    if own is not None:
        at = own.start + int(np.ravel_multi_index(index, gradient.shape))
        passive = float(experiment.weights[at])
    x = float(initial[index])
    tape = float(gradient[index])
    for move in MOVES:
        moved = experiment.evaluate(leaf, name, index, x + move)
        if own is not None:
            # contents that only follow say nothing of the kernel
            counted[at] = not np.isclose(moved[at], x + move, rtol=1e-6, atol=0.0)
        change = float(np.dot(experiment.weights[counted], (moved - base)[counted]))
        if np.isfinite(change) and change != 0.0:
            # an input that stays in its array has the weight that it has there
            flat = tape == 0.0 or (own is not None and bool(np.isclose(tape, passive, rtol=1e-6, atol=0.0)))
            estimate = Estimate(change, 0.0, abs(move), 0.0)
            label = f"{leaf.label}{list(index)}{name}"
            # each component of vectors counts for itself
            component = index[leaf.array.ndim :]
            moved_input = f"{leaf.label}{list(component) if component else ''}{name}"
            return Compared(label, moved_input, 0.0 if flat else tape, estimate, "wrong" if flat else "right")
    return None


def repeated(experiment: Experiment, stage: Stage) -> Comparison:
    """Arrays, by name: ``wrong`` where ``backward()`` changes their contents."""
    experiment.restore()
    arguments = experiment.arguments
    tape = wp.Tape()
    with tape:
        wp.launch(experiment.kernel, dim=arguments.dim, inputs=arguments.values, device=experiment.device)
    held = [(array, np.array(array.numpy(), copy=True)) for array in arguments.arrays]
    for leaf in experiment.leaves:
        Buffer(leaf.array.grad).write(np.ones_like(experiment.buffers[id(leaf.array)].initial))
    stage.set("backward")
    tape.backward()
    if experiment.device != "cpu":
        wp.synchronize_device(experiment.device)
    result = Comparison()
    labels = {id(leaf.array): leaf.label for leaf in experiment.leaves}
    for array, before in held:
        label = labels.get(id(array), "an array of integers")
        after = np.asarray(array.numpy())
        pairs = zip(views(before), views(after), strict=True) if before.dtype.names else [(("", before), ("", after))]
        for (name, one), (_, other) in pairs:
            if one.size:
                differs = np.flatnonzero(one.ravel() != other.ravel())
                at = int(differs[0]) if differs.size else 0
                was = Estimate(float(one.ravel()[at]), 0.0, 0.0, 0.0)
                verdict = "wrong" if differs.size else "right"
                result.compared.append(Compared(f"{label}{name}", label, float(other.ravel()[at]), was, verdict))
    return result
