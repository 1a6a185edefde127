"""One launch with one set of arguments: its outputs, the tape's gradient, and finite differences."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import warp as wp

from warplint.probe.worker.inputs import Arguments, Leaf, is_half, views
from warplint.probe.worker.isolate import Stage, ending_after
from warplint.probe.worker.numerics import Estimate, differentiate, judge

# How many components of one array are screened for influence, and how many of those are compared.
_SCREENED = 200
_COMPARED = 16
# Where nothing tells them apart, components are screened whose indices are all smaller than this.
_NEAR = 5
# The reverse sweep may take so many seconds of the processor, and so many times what the launch took: a loop that runs
# for ever there takes more. Its cost is a small multiple of the launch's (Griewank & Walther, chapter 4).
_REVERSE = 3.0
_TIMES_FORWARD = 300.0
CHANGES_NOTHING = "the launch changes no float array"
READS_NOTHING = "the launch reads no float array"
_HALF = "finite differences are too rough for numbers of half precision"


class Buffer:
    """The contents of an array, restored and read many times. On the CPU device host views are used."""

    def __init__(self, array: Any) -> None:
        self.array = array
        self._view = array.numpy() if array.device.is_cpu else None
        self.initial: np.ndarray = np.array(array.numpy(), copy=True)

    def restore(self) -> None:
        """Puts the initial contents back."""
        self.write(self.initial)

    def write(self, data: np.ndarray) -> None:
        if self._view is not None:
            self._view[...] = data
        else:
            self.array.assign(data)

    def read(self) -> np.ndarray:
        """The contents now; not to be kept."""
        return self._view if self._view is not None else np.asarray(self.array.numpy())


@dataclass
class Compared:
    """One component: the tape's derivative of the objective against finite differences."""

    label: str
    leaf: str
    tape: float
    estimate: Estimate
    verdict: str

    def as_json(self) -> dict[str, Any]:
        return {
            "label": self.label,
            "input": self.leaf,
            "tape": self.tape,
            "finite_difference": self.estimate.value,
            "estimated_error": self.estimate.error,
            "steps": list(self.estimate.steps),
            "differences": list(self.estimate.central),
            "verdict": self.verdict,
        }


@dataclass
class Comparison:
    """What one input set showed."""

    compared: list[Compared] = field(default_factory=list)
    problem: str = ""

    def count(self, verdict: str) -> int:
        return sum(one.verdict == verdict for one in self.compared)


def nothing_to_differentiate(arguments: Arguments) -> str:
    """Why a launch with such arguments has no gradient, whatever it does; empty where it may have one."""
    if _halves(arguments):
        return ""
    if not arguments.leaves:
        return CHANGES_NOTHING
    return "" if any(leaf.read for leaf in arguments.leaves) else READS_NOTHING


def _halves(arguments: Arguments) -> bool:
    """Whether some arrays are of half precision: they have gradients, which are compared with nothing."""
    return any(is_half(array.dtype) for array in arguments.arrays)


class Experiment:
    """A kernel with its arguments; every evaluation starts from the same contents.

    The objective is a fixed random projection of the final contents of all float arrays that the launch changes.
    """

    def __init__(self, kernel: Any, arguments: Arguments, device: str, seed: int) -> None:
        self.kernel = kernel
        self.arguments = arguments
        self.device = device
        self.rng = np.random.default_rng(seed)
        self.buffers = {id(array): Buffer(array) for array in arguments.arrays}
        self.leaves = arguments.leaves
        self._command: Any = None
        # buffers that a launch may change, known after the first; the others need no restoring
        self._dirty = list(self.buffers.values())
        self._views: dict[tuple[int, str], np.ndarray] = {}
        self.outputs: list[tuple[Leaf, str]] = []
        self.weights = np.zeros(0)

    # --- forward ---

    def launch(self) -> None:
        """Restores all arrays and launches the kernel, off any tape."""
        self.restore()
        self.relaunch()

    def restore(self) -> None:
        """Puts the initial contents back into everything that a launch may change."""
        for buffer in self._dirty:
            buffer.restore()

    def relaunch(self) -> None:
        if self._command is None:
            self._command = wp.launch(
                self.kernel,
                dim=self.arguments.dim,
                inputs=self.arguments.values,
                device=self.device,
                record_cmd=True,
                record_tape=False,
            )
        self._command.launch()
        if self.device != "cpu":
            wp.synchronize_device(self.device)

    def choose_outputs(self) -> np.ndarray:
        """Runs once, finds what changed, draws the projection; returns the outputs."""
        self.launch()
        parts: list[np.ndarray] = []
        written = {id(leaf.array) for leaf in self.leaves if leaf.written} | self.arguments.written
        self._dirty = [
            buffer
            for key, buffer in self.buffers.items()
            if key in written or buffer.read().tobytes() != buffer.initial.tobytes()
        ]
        for leaf in self.leaves:
            buffer = self.buffers[id(leaf.array)]
            after = dict(views(buffer.read()))
            for name, before in views(buffer.initial):
                self._views[id(leaf.array), name] = after[name]
                if leaf.written or not np.array_equal(before, after[name], equal_nan=True):
                    self.outputs.append((leaf, name))
                    parts.append(self.rng.uniform(0.5, 1.5, before.size) * self.rng.choice([-1.0, 1.0], before.size))
        self.weights = np.concatenate(parts) if parts else np.zeros(0)
        return self.result()

    def result(self) -> np.ndarray:
        """The objective's terms before projection, as float64."""
        found = []
        for leaf, name in self.outputs:
            found.append(self._view(leaf, name).astype(np.float64).ravel())
        return found[0] if len(found) == 1 else np.concatenate(found) if found else np.zeros(0)

    def _view(self, leaf: Leaf, name: str) -> np.ndarray:
        """The contents of a leaf now (of one of its fields). On the CPU device the host's view never changes."""
        if self.device == "cpu":
            return self._views[id(leaf.array), name]
        return dict(views(self.buffers[id(leaf.array)].read()))[name]

    def evaluate(self, leaf: Leaf, name: str, index: tuple[int, ...], value: float) -> np.ndarray:
        """The outputs with one input component set to ``value``."""
        self.restore()
        buffer = self.buffers[id(leaf.array)]
        if self.device == "cpu":
            target = self._view(leaf, name)
            kept = target[index]
            target[index] = value
            self.relaunch()
            result = self.result()
            target[index] = kept
            return result
        data = np.array(buffer.initial, copy=True)
        dict(views(data))[name][index] = value
        buffer.write(data)
        self.relaunch()
        result = self.result()
        buffer.restore()
        return result

    # --- reverse ---

    def gradient(self) -> dict[tuple[int, str], np.ndarray]:
        """The tape's gradient of the projected objective, by leaf number and field."""
        self.restore()
        for leaf in self.leaves:
            leaf.array.grad.zero_()
        tape = wp.Tape()
        with tape:
            wp.launch(self.kernel, dim=self.arguments.dim, inputs=self.arguments.values, device=self.device)
        seeds = {id(leaf.array): np.zeros_like(self.buffers[id(leaf.array)].initial) for leaf, _ in self.outputs}
        offset = 0
        for leaf, name in self.outputs:
            target = dict(views(seeds[id(leaf.array)]))[name]
            target[...] = self.weights[offset : offset + target.size].reshape(target.shape)
            offset += target.size
        for leaf in self.leaves:
            if id(leaf.array) in seeds:
                Buffer(leaf.array.grad).write(seeds[id(leaf.array)])
        tape.backward()
        if self.device != "cpu":
            wp.synchronize_device(self.device)
        found: dict[tuple[int, str], np.ndarray] = {}
        for number, leaf in enumerate(self.leaves):
            for name, data in views(np.array(leaf.array.grad.numpy(), copy=True)):
                found[number, name] = data
        return found

    # --- comparison ---

    def compare(self, stage: Stage, directed: bool = False) -> Comparison:
        """The tape against finite differences, for the components that matter.

        ``directed`` asks only for components whose tape gradient is not finite, and bears outputs that are not.
        """
        base = self.choose_outputs()
        if not self.outputs:
            return Comparison(problem=_HALF if _halves(self.arguments) else CHANGES_NOTHING)
        if not any(leaf.read for leaf in self.leaves):
            return Comparison(problem=_HALF if _halves(self.arguments) else READS_NOTHING)
        finite = np.isfinite(base)
        if not finite.all():
            if not directed or not finite.any():
                return Comparison(problem="the forward result is not finite at the inputs tried")
            self.weights[~finite] = 0.0
        begun = time.process_time()
        self.launch()
        forward = time.process_time() - begun
        # on a GPU the order of atomic additions is not fixed
        loose = 0.0 if self.device == "cpu" else 1e-4
        if not np.allclose(self.result(), base, rtol=loose, atol=0.1 * loose, equal_nan=True):
            return Comparison(problem="two launches with the same inputs differ")
        stage.set("backward")
        with ending_after(max(_REVERSE, _TIMES_FORWARD * forward)) if self.device == "cpu" else nullcontext():
            gradient = self.gradient()
        stage.set("differences")
        if directed and all(np.isfinite(data).all() for data in gradient.values()):
            return Comparison()
        result = Comparison()
        for number, leaf in enumerate(self.leaves):
            if leaf.read:
                for name, initial in views(self.buffers[id(leaf.array)].initial):
                    if self.is_fixed(leaf, name):
                        continue
                    if directed and np.isfinite(gradient[number, name]).all():
                        continue
                    result.compared += self._leaf(leaf, name, initial, gradient[number, name], base)
        return result

    def is_fixed(self, leaf: Leaf, name: str) -> bool:
        """Whether a leaf (one of its fields) holds no numbers, but ids as floats."""
        return (*leaf.path, "[]", *name.split(".")[1:]) in self.arguments.fixed

    def _leaf(
        self, leaf: Leaf, name: str, initial: np.ndarray, gradient: np.ndarray, base: np.ndarray
    ) -> list[Compared]:
        chosen = self._influential(leaf, name, initial, gradient, base)
        single = initial.dtype == np.float32
        estimates = []
        for index in chosen:
            along = functools.partial(self.evaluate, leaf, name, index)
            estimate = differentiate(along, base, self.weights, float(initial[index]), single)
            if not np.isfinite(gradient[index]) and self._flat(along, base, float(initial[index])):
                estimate = Estimate(0.0, 0.0, 0.0, 0.0)
            estimates.append(estimate)
        sizes = [abs(estimate.value) for estimate in estimates if np.isfinite(estimate.value)]
        sizes += [abs(float(gradient[index])) for index in chosen if np.isfinite(gradient[index])]
        scale = max(sizes, default=0.0)
        return [
            Compared(
                f"{leaf.label}{list(index)}{name}",
                leaf.label,
                float(gradient[index]),
                estimate,
                judge(float(gradient[index]), estimate, scale),
            )
            for index, estimate in zip(chosen, estimates, strict=False)
        ]

    def _flat(self, along: Callable[[float], np.ndarray], base: np.ndarray, x: float) -> bool:
        """Whether the outputs do not change at all close to ``x``: then the derivative there is zero."""
        step = 1e-12 if x == 0.0 else 1e-6 * abs(x)
        counted = self.weights != 0.0
        return all(np.array_equal(along(x + side)[counted], base[counted]) for side in (step, -step))

    def _influential(
        self, leaf: Leaf, name: str, initial: np.ndarray, gradient: np.ndarray, base: np.ndarray
    ) -> list[tuple[int, ...]]:
        """Components that the launch does something with, or that the tape thinks so: at most a few, at random.

        A component that only stays in its array (the gradient is its own weight, and its own output follows it)
        says nothing about the kernel and is left out.
        """
        rank = leaf.array.ndim
        own = self.own(leaf, name)
        passive = np.zeros(initial.shape) if own is None else self.weights[own].reshape(initial.shape)
        touched = np.zeros(initial.shape, dtype=bool) if own is None else self._touched(leaf, name, initial, own)
        # in a random order; arrays may be large
        order = np.arange(initial.size)
        self.rng.shuffle(order)
        where = np.stack(np.unravel_index(order, initial.shape), axis=1)
        spoken = ~np.isclose(gradient, passive, rtol=1e-6, atol=0.0).ravel()[order]
        heard = touched.ravel()[order] & ~spoken
        close = ~spoken & ~heard & (where[:, :rank].max(axis=1, initial=0) < _NEAR)

        def chosen(mask: np.ndarray) -> list[tuple[int, ...]]:
            return [tuple(map(int, index)) for index in where[mask]]

        loud, silent, near = chosen(spoken), chosen(heard), chosen(close)
        others = self.weights != 0.0
        for index in near[:_SCREENED]:
            counted = others
            if own is not None:
                counted = others.copy()
                counted[own.start + int(np.ravel_multi_index(index, initial.shape))] = False
            x = float(initial[index])
            moved = self.evaluate(leaf, name, index, x + 0.03 * max(abs(x), 0.5))
            if not np.array_equal(moved[counted], base[counted], equal_nan=True):
                silent.append(index)
        loud.sort(key=lambda index: bool(np.isfinite(gradient[index])))  # what is not finite comes first
        half = _COMPARED // 2
        return silent[: max(half, _COMPARED - len(loud))] + loud[: max(half, _COMPARED - len(silent))]

    def own(self, leaf: Leaf, name: str) -> slice | None:
        """Where the outputs hold this leaf's own contents, None if it is no output."""
        offset = 0
        for other, field_name in self.outputs:
            size = dict(views(self.buffers[id(other.array)].initial))[field_name].size
            if other is leaf and field_name == name:
                return slice(offset, offset + size)
            offset += size
        return None

    def _touched(self, leaf: Leaf, name: str, initial: np.ndarray, own: slice) -> np.ndarray:
        """The components whose final contents do not simply follow their initial contents."""
        self.restore()
        buffer = self.buffers[id(leaf.array)]
        data = np.array(buffer.initial, copy=True)
        target = dict(views(data))[name]
        target *= self.rng.choice([0.99, 1.01], initial.shape).astype(initial.dtype)
        target += initial.dtype.type(0.003)
        start = np.array(target, dtype=np.float64, copy=True).ravel()
        buffer.write(data)
        self.relaunch()
        found = np.asarray(self.result()[own] != start).reshape(initial.shape)
        buffer.restore()
        return found
