"""The probe of a tape program: the gradient that its user gets, against finite differences of the whole program."""

from __future__ import annotations

import functools
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import warp as wp

from warplint.probe.worker import clock, isolate
from warplint.probe.worker.account import inconclusive
from warplint.probe.worker.handles import Unsupported
from warplint.probe.worker.inputs import views
from warplint.probe.worker.loading import DoesNotCompile, compile_kernel, load_script
from warplint.probe.worker.numerics import differentiate, judge
from warplint.probe.worker.tape_program import SIZES, Program, Trace

_SETS = 5
_DISAGREEING = 2
_AGREEING = 3
# Sets of inputs where integers are guesses: one more may be needed for each of them to matter.
_SETS_GUESSED = 12
#: Added to the seed of a set of inputs: the seed of other contents for one of its arrays.
_OTHER_CONTENTS = 7_000


class TapeJob:
    """One job: ``plan`` as ``warplint.probe.tape_jobs`` writes it."""

    def __init__(self, job: dict[str, Any], scratch: Path, device: str, seconds: float) -> None:
        self.script: str = job["script"]
        self.plan: dict[str, Any] = job["plan"]
        self.check: str = self.plan["check"]
        self.scratch = scratch
        self.device = device
        self.deadline = clock.now() + seconds
        self.reasons: Counter[str] = Counter()
        #: The launches that the finding is about, where that is what it is about.
        self.left_out = frozenset(self.plan["flagged"]) if self.check == "recording" else frozenset()
        self.records = bool(self.left_out & _recorded(self.plan["operations"]))

    def run(self) -> dict[str, Any]:
        """The verdict as JSON."""
        try:
            self.load()
            return self._decide()
        except (Unsupported, DoesNotCompile) as error:
            return inconclusive(str(error))

    def load(self, release: bool = False) -> None:
        """Compiles the program's kernels, ``release``: without Warp's checks of indices. Raises DoesNotCompile."""
        wp.config.mode = "release" if release else "debug"
        for kernel in self.kernels("_release" if release else ""):
            compile_kernel(kernel, self.device)

    def kernels(self, suffix: str = "") -> Iterator[Any]:
        """The kernels of the program whose types are known, not compiled. Raises DoesNotCompile."""
        self.module = load_script(self.script, self.scratch, suffix)
        for name in dict.fromkeys(op["kernel"] for op in self.plan["operations"] if op["op"] == "launch"):
            kernel = getattr(self.module, name)
            if not kernel.is_generic:
                yield kernel

    def _decide(self) -> dict[str, Any]:
        wrong: list[dict[str, Any]] = []
        right: list[dict[str, Any]] = []
        idle: list[dict[str, Any]] = []
        ways = list(SIZES)
        seed = 0
        attempts = 0
        checked = True
        guesses = _Guesses()
        while seed < _SETS or (seed < _SETS_GUESSED and not wrong and guesses.open):
            if attempts >= 2 * max(_SETS, seed + 1):
                break
            attempts += 1
            left = self.deadline - clock.now()
            if left < 0.5:
                self.reasons["it does not finish within the time limit"] += 1
                break
            number, sizes = seed, ways[0]
            work = functools.partial(self.one, number, sizes)
            outcome = isolate.run(work, self.scratch, max(5.0, left / 2.0))
            if checked and outcome.stage == "backward" and "Assertion failed" in outcome.stderr:
                # Indices that the forward sweep was checked with fail in the reverse sweep: reading `a.shape` empties
                # the shape of the adjoint array there (Warp 1.19), which nothing but the check looks at.
                checked = False
                self.load(release=True)
                continue
            if outcome.ended != "returned":
                self._failed(outcome)
                if len(ways) > 1 and "Assertion failed" in outcome.stderr:
                    ways.pop(0)  # sizes that belong together were not recognised
                    continue
                seed += 1
                continue
            seed += 1
            found = outcome.result | {"set": [number, sizes]}
            if found["problem"]:
                self.reasons[found["problem"]] += 1
            elif found["verdict"] == "wrong":
                wrong.append(found)
            elif found["verdict"] == "right":
                right.append(found)
                guesses.add(found.pop("guessed", {}))
            elif found["verdict"] == "idle":
                idle.append(found)
            else:
                self.reasons["finite differences are too rough here to decide"] += 1
            if len(wrong) >= _DISAGREEING:
                return self._confirmed(wrong, len(wrong) + len(right))
        if len(right) >= _AGREEING and not wrong and not idle:
            if guesses.open:
                return inconclusive(
                    f"the gradient is right, but {guesses.open} is not known, and no guess made it matter"
                )
            return self._refuted(right)
        if len(idle) >= _AGREEING and not wrong:
            return self._idle(idle)
        if wrong:
            return inconclusive("the gradient and finite differences disagree at some inputs, but not reliably")
        reason = self.reasons.most_common(1)[0][0] if self.reasons else "no input set could be used"
        return inconclusive(reason)

    def _failed(self, outcome: isolate.Outcome) -> None:
        if outcome.ended == "timeout":
            reason = "it does not finish within the time limit"
        elif outcome.ended == "stuck":
            reason = isolate.STUCK
        elif outcome.ended == "memory":
            reason = "it needs more memory than the limit allows"
        elif re.search(r"At '[^']*array\w*\.h", outcome.stderr):
            reason = "it reads or writes outside an array with the sizes chosen"
        elif outcome.ended.startswith("signal"):
            reason = f"it crashes ({outcome.ended.partition(' ')[2]})"
        elif "Unsupported:" in outcome.stderr:
            raise Unsupported(outcome.stderr.rpartition("Unsupported:")[2].strip())
        else:
            lines = [line for line in outcome.stderr.splitlines() if line.strip()]
            reason = f"Warp refuses the program: {lines[-1][:200] if lines else outcome.ended}"
        self.reasons[reason] += 1

    # --- one set of inputs, in the child ---

    def one(self, seed: int, sizes: int, stage: isolate.Stage) -> dict[str, Any]:
        stage.set("program")
        program = Program(self.plan, self.module, self.device, seed, sizes)
        forward = program.run(False, without=self.left_out)
        if not np.isfinite(forward.terms).all():
            return {"problem": "the objective is not finite"}
        if self.check == "contents":
            return self._contents(program, forward, sizes)
        windows = self._windows(program, forward) if self.check == "horizon" else []
        base = self._objective(forward, windows)
        stage.set("backward")
        traced = program.run(True)
        repaired = None
        if self.check == "chain":
            repaired = program.run(True, flagged=frozenset(self.plan["flagged"]))
        elif self.check == "recording":
            repaired = program.run(True, without=self.left_out)
        stage.set("differences")
        best: dict[str, Any] | None = None
        for number in self.plan["inputs"]:
            for direction in range(2):
                found = self._direction(program, number, direction, windows, base, traced, repaired)
                if found is not None and (best is None or _rank(found) > _rank(best)):
                    best = found | {"along": [number, direction], "windows": windows}
        if best is None:
            return {"problem": "the objective does not depend on the inputs"}
        return best | {"guessed": program.guessed()}

    def _contents(self, program: Program, forward: Trace, sizes: int) -> dict[str, Any]:
        """Whether the result is another one with other contents in the memory that nothing wrote to."""
        (number,) = self.plan["inputs"]
        if number not in program._initial:
            return {"problem": "the program does not allocate the array"}
        other = Program(self.plan, self.module, self.device, program.seed + _OTHER_CONTENTS, sizes)
        other.run(False)
        moved = program.run(False, moved={number: other._initial[number]})
        first, second = float(np.sum(forward.terms)), float(np.sum(moved.terms))
        size = max(float(np.max(np.abs(forward.terms))), 1.0e-6)
        differ = not np.allclose(forward.terms, moved.terms, rtol=0.0, atol=1.0e-3 * size, equal_nan=False)
        return {
            "problem": "",
            "input": self._name(number),
            "verdict": "wrong" if differ else "right",
            "tape": first,
            "finite_difference": second,
        }

    def _name(self, number: int) -> str:
        name = next(op["name"] for op in self.plan["operations"] if op["op"] == "allocate" and op["array"] == number)
        return name or f"array {number}"

    def _windows(self, program: Program, forward: Trace) -> list[bool]:
        """For each window, whether its loss adds to what was there: then only the difference is its own."""
        nudged = program.run(False, nudge=True)
        pairs = zip(forward.losses, nudged.losses, strict=False)
        return [abs((new[1] - old[1]) - (new[0] - old[0])) < 0.5 and new[0] != old[0] for old, new in pairs]

    def _objective(self, trace: Trace, windows: list[bool]) -> np.ndarray:
        """The terms of what is differentiated: the last loss, or the sum of what each window adds."""
        if self.check != "horizon" or self.plan["objective"] is not None:
            scale: float = self.plan["factor"] / trace.terms.size ** self.plan["means"]
            return trace.terms if scale == 1.0 else trace.terms * scale
        pairs = zip(trace.losses, windows, strict=False)
        return np.array([end - start if adds else end for (start, end), adds in pairs])

    def _direction(
        self,
        program: Program,
        number: int,
        direction: int,
        windows: list[bool],
        base: np.ndarray,
        traced: Trace,
        repaired: Trace | None,
    ) -> dict[str, Any] | None:
        """The derivative in one random direction of one input; None where the objective does not move."""
        start = program._initial.get(number)
        if start is None:
            return None
        step = drawn_direction(start, number, direction)

        def evaluate(distance: float) -> np.ndarray:
            moved = np.array(start, copy=True)
            for (_, target), (_, along) in zip(views(moved), views(step), strict=False):
                target += (distance * along).astype(target.dtype)
            return self._objective(program.run(False, moved={number: moved}, without=self.left_out), windows)

        estimate = differentiate(evaluate, base, np.ones(base.shape), 0.0)
        tape = _along(traced.gradients.get(number), step)
        if not np.isfinite(estimate.value):
            return None
        if tape == 0.0 and abs(estimate.value) <= 4.0 * estimate.error:
            return None
        verdict = judge(tape, estimate, max(abs(tape), abs(estimate.value)))
        found: dict[str, Any] = {
            "problem": "",
            "input": self._name(number),
            "tape": tape,
            "finite_difference": estimate.value,
            "estimated_error": estimate.error,
            "steps": list(estimate.steps),
            "differences": list(estimate.central),
            "verdict": verdict,
        }
        if repaired is not None:
            flagged = _along(repaired.gradients.get(number), step)
            found["repaired"] = flagged
            if verdict == "wrong" and not abs(flagged - estimate.value) < 0.5 * abs(tape - estimate.value):
                found["verdict"] = "undecided"
                found["problem"] = "the gradient is wrong, but the flag alone does not repair it"
                if self.check == "recording":
                    found["problem"] = "the gradient is wrong without the flagged launch as well"
            elif self.records and verdict == "right" and np.isclose(tape, flagged, rtol=1.0e-4):
                found["verdict"] = "idle"
        return found

    # --- verdicts ---

    def _confirmed(self, wrong: list[dict[str, Any]], inputs: int) -> dict[str, Any]:
        worst = wrong[0]
        tape, truth = worst["tape"], worst["finite_difference"]
        where = f"along a random direction of `{worst['input']}`"
        detail = f"{where} the gradient is {tape:.6g}, finite differences give {truth:.6g}"
        if self.check == "contents":
            detail = f"the result is {tape:.6g} or {truth:.6g}, depending on what `{worst['input']}` happens to hold"
        elif self.check == "recording":
            detail += f"; without this launch on the tape it is {worst['repaired']:.6g}"
        elif self.plan["factor"] != 1.0 or self.plan["means"]:
            detail += " for what the program reports"
        elif self.check == "chain":
            detail += f"; with requires_grad=True it is {worst['repaired']:.6g}"
        elif self.check == "horizon":
            detail += " over the whole horizon"
        return {
            "verdict": "confirmed",
            "detail": detail,
            "numbers": _numbers(worst) | {"inputs": inputs},
            "sets": _sets(wrong),
        }

    def _idle(self, found: list[dict[str, Any]]) -> dict[str, Any]:
        """The flagged launch has no part in the gradient, as was said of it."""
        one = found[0]
        where = f"along a random direction of `{one['input']}`"
        detail = f"{where} the gradient is {one['tape']:.6g} with this launch on the tape, and the same without it"
        return {
            "verdict": "confirmed",
            "detail": detail + "; its adjoint is run for nothing",
            "numbers": _numbers(one) | {"inputs": len(found)},
            "sets": _sets(found),
        }

    def _refuted(self, right: list[dict[str, Any]]) -> dict[str, Any]:
        detail = f"the gradient and finite differences of the whole program agree at {len(right)} sets of inputs"
        if self.check == "contents":
            detail = f"the result is the same whatever `{right[0]['input']}` holds, at {len(right)} sets of inputs"
        return {
            "verdict": "refuted",
            "detail": detail,
            "numbers": _numbers(right[0]) | {"inputs": len(right)},
            "sets": _sets(right),
        }


class _Guesses:
    """What integers and truth values that nobody knows were, where the gradient was right.

    With a number of rounds of one, a factor of nought or one, a branch that is never taken, nothing is lost that
    matters: each number has to have been at least two somewhere, and each truth value both.
    """

    def __init__(self) -> None:
        self._seen: dict[str, set[int]] = {}

    def add(self, guessed: dict[str, int]) -> None:
        """Takes in one set of inputs."""
        for name, value in guessed.items():
            self._seen.setdefault(name, set()).add(value)

    @property
    def open(self) -> str:
        """What has not mattered yet, empty where all did."""
        for name, values in self._seen.items():
            boolean = any(isinstance(value, bool) for value in values)
            if len(values) < 2 or not (boolean or max(abs(value) for value in values) > 1):
                return f"`{name}`"
        return ""


def _recorded(operations: list[dict[str, Any]]) -> frozenset[int]:
    """The numbers of the launches that are made while a tape is open."""
    found: set[int] = set()
    tapes, launched = 0, -1
    for operation in operations:
        tapes += {"begin": 1, "end": -1}.get(operation["op"], 0)
        if operation["op"] == "launch":
            launched += 1
            if tapes and operation.get("recorded", True):
                found.add(launched)
    return frozenset(found)


def drawn_direction(start: np.ndarray, number: int, direction: int) -> np.ndarray:
    """A random direction for the contents ``start`` of the array ``number``."""
    rng = np.random.default_rng(100 * number + direction)
    step = np.zeros_like(start)
    for _, data in views(step):
        data[...] = rng.uniform(0.5, 1.5, data.shape) * rng.choice([-1.0, 1.0], data.shape)
    return step


def _numbers(found: dict[str, Any]) -> dict[str, Any]:
    names = ("tape", "finite_difference", "estimated_error", "input", "steps", "differences", "repaired")
    return {name: found[name] for name in names if name in found}


def _sets(found: list[dict[str, Any]]) -> list[Any]:
    """The seeds of the deciding input sets, for another device to repeat."""
    return [one["set"] for one in found[:_AGREEING]]


def _rank(found: dict[str, Any]) -> tuple[int, float]:
    order = {"wrong": 2, "undecided": 0, "right": 1, "idle": 1}
    return order[found["verdict"]], abs(found["tape"] - found["finite_difference"])


def _along(gradient: np.ndarray | None, step: np.ndarray) -> float:
    if gradient is None:
        return 0.0
    total = 0.0
    for (_, data), (_, along) in zip(views(gradient), views(step), strict=False):
        total += float(np.sum(np.asarray(data, dtype=np.float64) * along))
    return total
