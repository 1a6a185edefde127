"""The probe of one kernel or func: draw inputs, launch under a tape, compare with finite differences, decide."""

from __future__ import annotations

import os
import re
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import warp as wp

from warplint.probe.worker import isolate
from warplint.probe.worker.compat import flush_c
from warplint.probe.worker.experiment import Experiment
from warplint.probe.worker.handles import Unsupported
from warplint.probe.worker.inputs import Choice, Draw, Profile, choices
from warplint.probe.worker.loading import (
    DoesNotCompile,
    backward_disabled,
    compile_kernel,
    load_script,
    overload,
    wrap,
)
from warplint.probe.worker.usage import Usage

# Input sets that have to agree before a finding is refuted, and that have to disagree before it is confirmed.
_AGREEING = 6
_DISAGREEING = 2
_SINGULAR = 4
_DIRECTED = 24
_ATTEMPTS = 48


class KernelJob:
    """One job: ``plan`` as ``warplint.probe.plans`` writes it, run within ``seconds``."""

    def __init__(self, job: dict[str, Any], scratch: Path, device: str, seconds: float) -> None:
        self.script: str = job["script"]
        self.twin: str | None = job.get("twin")
        self.plan: dict[str, Any] = job["plan"]
        self.scratch = scratch
        self.device = device
        self.deadline = time.monotonic() + seconds
        self.check: str = self.plan["check"]
        self.reasons: Counter[str] = Counter()
        self.wrong: list[dict[str, Any]] = []
        self.right: list[dict[str, Any]] = []
        self.singular: list[dict[str, Any]] = []
        self.exercised = 0
        self.overruns = 0

    # --- the whole ---

    def run(self) -> dict[str, Any]:
        """The verdict as JSON: verdict, detail, numbers."""
        try:
            found: dict[str, Any] | None = None
            for target in self.plan["targets"]:
                found = self._target(target)
                if found["verdict"] != "inconclusive":
                    return found
            assert found is not None
            return found
        except (Unsupported, DoesNotCompile) as error:
            return inconclusive(str(error))

    def _target(self, target: dict[str, Any]) -> dict[str, Any]:
        self.wrong, self.right, self.singular, self.exercised, self.overruns = [], [], [], 0, 0
        self.reasons.clear()
        last: DoesNotCompile | None = None
        for choice in self._choices(target):
            try:
                kernel, twin = self._compiled(target, choice)
            except DoesNotCompile as error:
                last = error
                continue
            if backward_disabled(kernel):
                return inconclusive("the kernel is compiled without backward, so there is no adjoint to check")
            return self._probe(target, choice, kernel, twin)
        assert last is not None
        raise last

    def _choices(self, target: dict[str, Any]) -> list[Choice]:
        """What ``Any`` may stand for; one entry where nothing is generic."""
        module = self._module(self.script)
        item = getattr(module, target["name"])
        args = item.adj.args if isinstance(item, wp.Kernel) else ()
        generic = getattr(item, "is_generic", False) or not args and _is_generic_func(item)
        return choices() if generic else choices()[:1]

    def _compiled(self, target: dict[str, Any], choice: Any, release: bool = False) -> tuple[Any, Any]:
        """The kernel and its counting twin, compiled."""
        wp.config.mode = "release" if release else "debug"
        suffix = "_release" if release else ""
        kernel = self._kernel(self._module(self.script, suffix), target, choice, suffix)
        compile_kernel(kernel, self.device)
        twin = None
        if self.twin is not None and not release:
            module = self._module(self.twin, "_twin")
            twin = self._kernel(module, target, choice, "_twin")
            compile_kernel(twin, "cpu")
        return kernel, twin

    def _module(self, text: str, suffix: str = "") -> ModuleType:
        return load_script(text, self.scratch, suffix)

    def _kernel(self, module: ModuleType, target: dict[str, Any], choice: Any, suffix: str) -> Any:
        item = getattr(module, target["name"])
        if not isinstance(item, wp.Kernel):
            return wrap(item, choice, self.scratch, suffix)
        return overload(item, choice) if item.is_generic else item

    # --- input sets ---

    def _probe(self, target: dict[str, Any], choice: Any, kernel: Any, twin: Any) -> dict[str, Any]:
        usage = Usage(kernel)
        self.usage = usage
        ladder = _Ladder(directed=self.check == "finite-adjoint")
        release: tuple[Any, Usage] | None = None
        for profile in ladder:
            left = self.deadline - time.monotonic()
            if left < 0.2 or self.overruns >= 2:
                self.reasons["it does not finish within the time limit"] += 1
                break
            outcome = self._attempt(kernel, twin, usage, profile, left)
            if outcome.ended == "signal SIGILL" and outcome.stage == "backward":
                # The reverse sweep reads or writes outside an array that the forward sweep stays in.
                if release is None:
                    loaded, _ = self._compiled(target, choice, release=True)
                    release = (loaded, Usage(loaded))
                guarded = replace(profile, guard=64)
                outcome = self._attempt(release[0], twin, release[1], guarded, left)
                self.out_of_bounds = True
            verdict = self._account(profile, outcome, ladder)
            if verdict is not None:
                return verdict
        return self._undecided()

    def _attempt(self, kernel: Any, twin: Any, usage: Usage, profile: Profile, left: float) -> isolate.Outcome:
        def work(stage: isolate.Stage) -> Any:
            return self._one(kernel, twin, usage, profile, stage)

        return isolate.run(work, self.scratch, min(left, max(5.0, left / 4.0)))

    def _one(self, kernel: Any, twin: Any, usage: Usage, profile: Profile, stage: isolate.Stage) -> dict[str, Any]:
        """In the child: one input set."""
        stage.set("inputs")
        hits = None
        if twin is not None:
            twin_usage = Usage(twin)
            draw = Draw(twin_usage, profile, "cpu")
            arguments = draw.arguments({argument.label: argument.type for argument in twin.adj.args})
            stage.set("forward")
            hits = _count(twin, arguments, self.scratch)
            threads = profile.threads**twin_usage.rank
            if hits == 0 or (self.plan.get("in_loop") and hits < 2 * threads and hits < 4):
                return {"hits": hits, "exercised": False}
        draw = Draw(usage, profile, self.device)
        arguments = draw.arguments({argument.label: argument.type for argument in kernel.adj.args})
        experiment = Experiment(kernel, arguments, self.device, profile.seed)
        stage.set("forward")
        experiment.launch()
        comparison = experiment.compare(stage, directed=profile.directed)
        return {
            "hits": hits,
            "exercised": True,
            "problem": comparison.problem,
            "compared": [one.as_json() for one in comparison.compared],
        }

    # --- decision ---

    def _account(self, profile: Profile, outcome: isolate.Outcome, ladder: _Ladder) -> dict[str, Any] | None:
        """Takes one outcome in; a verdict once there is enough."""
        if outcome.ended != "returned":
            self._failed(outcome, ladder)
            return None
        found = outcome.result
        if not found["exercised"]:
            self.reasons["no input drawn runs the flagged line"] += 1
            return None
        self.exercised += 1
        if found["problem"]:
            self.reasons[found["problem"]] += 1
            return None
        compared = found["compared"]
        wrong = [one for one in compared if one["verdict"] == "wrong"]
        right = [one for one in compared if one["verdict"] == "right"]
        if self.check == "finite-adjoint":
            wrong = [one for one in wrong if not _finite(one["tape"])]
            if wrong:
                self.wrong.append({"profile": profile, "wrong": wrong})
                return self._confirmed()
            if not any(not _finite(one["tape"]) for one in compared):
                self.right.append({"profile": profile, "compared": compared})
                if len(self.right) >= _DIRECTED:
                    return self._refuted()
            else:
                self.reasons["the gradient is not finite, and neither are finite differences"] += 1
            return None
        if wrong and not any(_finite(one["tape"]) for one in wrong):
            # Not finite at ordinary inputs. At some of them an intermediate value may be outside its domain, which
            # is no defect: it has to happen at all of them.
            self.singular.append({"profile": profile, "wrong": wrong})
            if len(self.singular) >= _SINGULAR and not self.right and {g["profile"].signs for g in self.singular} - {True}:
                self.wrong = self.singular
                return self._confirmed()
            return None
        if wrong:
            self.wrong.append({"profile": profile, "wrong": wrong, "hits": found["hits"]})
            if self._enough():
                return self._confirmed()
            if all(one["profile"].threads > 1 for one in self.wrong) and self._may_race():
                # A race between threads is no wrong adjoint: what one thread alone shows decides.
                ladder.single = True
            else:
                ladder.again(profile)
            return None
        moving = [one for one in right if one["tape"] != 0.0 or one["finite_difference"] != 0.0]
        if not moving:
            self.reasons["no output depends smoothly on a float input at the inputs drawn"] += 1
            return None
        if len(right) < 0.7 * len(compared):
            self.reasons["finite differences are too rough here to decide"] += 1
            return None
        self.right.append({"profile": profile, "compared": right})
        alone = sum(one["profile"].threads == 1 for one in self.right)
        settled = not self.wrong or (ladder.single and alone >= _AGREEING)
        if len(self.right) >= _AGREEING and settled and len(self.singular) < 2:
            return self._refuted()
        return None

    def _enough(self) -> bool:
        if len(self.wrong) < _DISAGREEING:
            return False
        single = [one for one in self.wrong if one["profile"].threads == 1]
        return len(single) >= _DISAGREEING or (len(self.wrong) >= 4 and (bool(single) or not self._may_race()))

    def _may_race(self) -> bool:
        """Whether two threads may touch one element without an atomic operation."""
        for path, use in self.usage.uses.items():
            if use.stores and use.loads:
                return True
            if use.stores and any(source[-1] == "[]" for source in use.store_sources):
                return True
            del path
        return False

    def _failed(self, outcome: isolate.Outcome, ladder: _Ladder) -> None:
        if outcome.ended == "timeout":
            self.overruns += 1
            self.reasons["it does not finish within the time limit"] += 1
        elif outcome.ended == "memory":
            self.reasons["it needs more memory than the limit allows"] += 1
            self.overruns += 1
        elif "Assertion failed" in outcome.stderr:
            if re.search(r"At '[^']*(array|indexedarray|fabric)\w*\.h", outcome.stderr):
                self.reasons["it reads or writes outside an array at the inputs drawn"] += 1
                ladder.roomier()
            else:
                self.reasons["an assertion in the kernel, or in Warp, fails at the inputs drawn"] += 1
        elif outcome.ended.startswith("signal"):
            self.reasons[f"it crashes ({outcome.ended.partition(' ')[2]})"] += 1
            ladder.roomier()
        elif "Unsupported:" in outcome.stderr:
            raise Unsupported(outcome.stderr.rpartition("Unsupported:")[2].strip())
        elif "MemoryError" in outcome.stderr or "allocate" in outcome.stderr:
            self.reasons["it needs more memory than the limit allows"] += 1
            self.overruns += 1
        else:
            lines = [line for line in outcome.stderr.splitlines() if line.strip()]
            self.reasons[f"the launch fails: {lines[-1][:200] if lines else outcome.ended}"] += 1

    def _confirmed(self) -> dict[str, Any]:
        worst = max((one for group in self.wrong for one in group["wrong"]), key=_gap)
        tape, difference = worst["tape"], worst["finite_difference"]
        point = f"d/d {worst['label']}"
        if not _finite(tape):
            detail = f"{point} is {tape} on the tape where the result is finite and finite differences give {_say(difference)}"
        else:
            detail = f"{point} is {_say(tape)} on the tape, {_say(difference)} by finite differences"
        return {
            "verdict": "confirmed",
            "detail": detail,
            "numbers": self._numbers(worst) | {"inputs": len(self.wrong) + len(self.right), "wrong": len(self.wrong)},
        }

    def _refuted(self) -> dict[str, Any]:
        compared = [one for group in self.right for one in group["compared"]]
        numbers: dict[str, Any] = {"inputs": len(self.right)}
        if self.check == "finite-adjoint":
            detail = f"the gradient stays finite at {len(self.right)} sets of inputs with zeros, ties and large numbers"
        else:
            detail = f"tape and finite differences agree at {len(self.right)} sets of inputs that run the flagged line"
            best = max(compared, key=lambda one: abs(one["tape"]))
            numbers |= self._numbers(best)
        return {"verdict": "refuted", "detail": detail, "numbers": numbers}

    def _numbers(self, one: dict[str, Any]) -> dict[str, Any]:
        return {
            "tape": one["tape"],
            "finite_difference": one["finite_difference"],
            "estimated_error": one["estimated_error"],
            "input": one["input"],
        }

    def _undecided(self) -> dict[str, Any]:
        if self.wrong:
            if all(group["profile"].threads > 1 for group in self.wrong) and self._may_race():
                return inconclusive(
                    "tape and finite differences disagree only when several threads run; they may race for one element"
                )
            return inconclusive("tape and finite differences disagree at some inputs, but not reliably")
        if self.right:
            return inconclusive(f"tape and finite differences agree at the only {len(self.right)} sets that could be used")
        reason = self.reasons.most_common(1)[0][0] if self.reasons else "no input set could be used"
        return inconclusive(reason)


class _Ladder:
    """The input sets to try, in order; it adapts to what failed."""

    def __init__(self, directed: bool) -> None:
        self.directed = directed
        self.single = False
        self._room = 0
        self._again: list[Profile] = []

    def __iter__(self) -> Iterator[Profile]:
        for seed in range(_ATTEMPTS):
            while self._again:
                yield self._again.pop()
            yield Profile(
                seed=seed,
                threads=1 if self.single else (1, 3, 1, 4, 2)[seed % 5],
                extent=(12, 24, 48, 96)[min(self._room // 2, 3)],
                limit=(4, 3, 2, 1)[min(self._room // 3, 3)],
                count=(3, 4, 2, 5)[seed % 4],
                signs=seed % 2 == 1,
                directed=self.directed,
            )

    def again(self, profile: Profile) -> None:
        """Asks for the same integers and structure with other floats."""
        if profile.structure is None and not self.directed:
            for step in (1, 2):
                self._again.append(replace(profile, seed=profile.seed + 1000 * step, structure=profile.seed))

    def roomier(self) -> None:
        """Asks for larger arrays and smaller indices."""
        self._room += 1


def inconclusive(reason: str) -> dict[str, Any]:
    """The third answer, with its reason."""
    return {"verdict": "inconclusive", "detail": reason, "numbers": {}}


def _count(kernel: Any, arguments: Any, scratch: Path) -> int:
    """How often the counting twin reaches the flagged places."""
    path = scratch / f"count-{os.getpid()}"
    flush_c()
    saved = os.dup(1)
    target = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600)
    os.dup2(target, 1)
    try:
        wp.launch(kernel, dim=arguments.dim, inputs=arguments.values, device="cpu", record_tape=False)
        flush_c()
    finally:
        os.dup2(saved, 1)
        os.close(saved)
        os.close(target)
    text = path.read_bytes()
    path.unlink()
    return text.count(b"~reached~")


def _is_generic_func(item: Any) -> bool:
    return bool(getattr(item, "user_templates", None))


def _finite(value: float) -> bool:
    return value == value and abs(value) != float("inf")


def _gap(one: dict[str, Any]) -> float:
    if not _finite(one["tape"]):
        return float("inf")
    return abs(one["tape"] - one["finite_difference"]) / max(abs(one["tape"]), abs(one["finite_difference"]), 1e-12)


def _say(value: float) -> str:
    return f"{value:.6g}"
