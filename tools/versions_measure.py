"""Measures kernels and programs with the Warp that is beside it, whichever that is: gradients against differences.

Runs in the environments that ``tools/versions.py`` makes. Reads one task, a JSON object, a line from standard input and
writes one JSON object a line for each kernel or program in it, as soon as it is known, so that nothing but what was
being measured is lost with a crash. Nothing here rests on the code of warplint that is under test.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import label_kernels as lk
import numpy as np
import warp as wp
from measure_kernels import compared
from measure_tapes import errors as sweeps
from measure_tapes import watched
from versions_sources import digest, kernel_names, only
from versions_together import MISSING, Program, forked, load, shares, together

#: From which difference on a gradient counts as wrong, and up to which as right (as in ``tests/label_kernels.py``).
DISAGREE, AGREE = lk.DISAGREE, lk.AGREE
#: Along so many directions gradients are compared.
DIRECTIONS = 3
#: The time that one kernel may take.
_SECONDS = 40


class _Late(Exception):
    """A kernel takes too long."""


def main() -> None:
    """Answers tasks until the input ends."""
    wp.config.quiet = True
    if hasattr(wp.config, "log_level"):
        wp.config.log_level = 40
    answers = os.fdopen(os.dup(1), "w", buffering=1, encoding="utf-8")
    os.dup2(2, 1)  # what kernels print must not look like answers
    signal.signal(signal.SIGALRM, _late)
    wp.init()
    wp.set_device("cpu")
    for line in sys.stdin:
        task = json.loads(line)
        readers = {"kernels": kernels, "examples": examples, "contracts": contracts}
        for row in readers[task["kind"]](task):
            print(json.dumps({"task": task["number"], **row}), file=answers)
        print(json.dumps({"task": task["number"], "done": True}), file=answers)


def _late(number: int, frame: object) -> None:
    raise _Late


@contextlib.contextmanager
def limited(seconds: int) -> Iterator[None]:
    """Raises ``_Late`` where the body takes longer, as soon as Python gets to run."""
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)


@contextlib.contextmanager
def configured() -> Iterator[None]:
    """Puts back what programs set for the whole process."""
    before = {name: value for name, value in vars(wp.config).items() if isinstance(value, (bool, int))}
    try:
        yield
    finally:
        vars(wp.config).update(before)


def failure(error: BaseException) -> dict[str, str]:
    """``missing`` where this Warp does not know something, ``refused`` where it does not want it; with its words."""
    if isinstance(error, _Late):
        return {"outcome": "late", "detail": ""}
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    text = next((line for line in lines if not line.startswith("Error while parsing")), type(error).__name__)
    outcome = "missing" if MISSING.search(str(error)) else "refused"
    return {"outcome": outcome, "detail": text[:200]}


# --- fixtures: files of kernels with marks ---


def kernels(task: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Every kernel of a file but those in ``skip``; together where Warp takes them, else in ever smaller parts."""
    path = Path(task["path"])
    text = path.read_text(encoding="utf-8")
    unknown = [name for name in re.findall(r"^wp\.config\.(\w+) =", text, re.M) if not hasattr(wp.config, name)]
    names = [name for name in kernel_names(text) if name not in task["skip"]]
    if unknown:
        for name in names:
            yield {"kernel": name, "outcome": "missing", "detail": f"wp.config.{unknown[0]}"}
        return
    with tempfile.TemporaryDirectory() as folder:
        waiting, asked = [names], False
        while waiting:
            part = waiting.pop()
            if not part:
                continue
            smaller = Path(folder) / f"{path.stem}_{digest(part)}.py"
            smaller.write_text(only(text, part), encoding="utf-8")
            try:
                yield from _part(smaller, part, singular=path.stem.startswith("WP5"))
            except Exception as error:
                if len(part) == 1:
                    yield {"kernel": part[0], **failure(error)}
                    continue
                if not asked:
                    asked = True  # the code generator takes no time, and knows most of what is refused
                    alone = together({name: only(text, [name]) for name in part}, Path(folder), compiled=False)
                    refused = {name: one.error for name, one in alone.items() if one.error is not None}
                    for name, reason in refused.items():
                        yield {"kernel": name, **failure(reason)}
                    if refused:
                        waiting.append([name for name in part if name not in refused])
                        continue
                middle = len(part) // 2
                waiting += [part[middle:], part[:middle]]


def _part(path: Path, names: list[str], singular: bool) -> Iterator[dict[str, Any]]:
    """The kernels of one file that is compiled as a whole. Raises what Warp raises where it is not."""
    with lk.loaded(path) as module:
        labels = [label for label in lk.labels(module) if label.kernel.key in names]
        if labels:
            load(labels[0].kernel.module)
        for label in labels:
            row: dict[str, Any] = {"kernel": label.kernel.key, "expected": sorted(label.expected)}
            row["allowed"] = sorted(label.allowed)
            yield row | {"begun": True}
            try:
                with limited(_SECONDS):
                    row |= measured(label, singular)
            except Exception as error:
                row |= failure(error)
            yield row


def measured(label: lk.KernelLabel, singular: bool) -> dict[str, Any]:
    """What the tape's gradient of one kernel is: wrong, right or neither, and the largest error."""
    if not label.backward:
        return {"outcome": "forward", "detail": ""}
    marks = label.expected | label.allowed
    checks = (("WP306", lk.silent), ("WP606", lk.repeated))
    special = {rule: "wrong" if check(label) else "right" for rule, check in checks if rule in marks}
    errors = [lk.error(label, seed, True) if singular else along(label, seed) for seed in range(lk.POINTS)]
    worst = min(errors) if "WP306" in marks else max(errors)  # a difference across a jump says nothing
    return {"outcome": verdict(worst), "detail": f"{worst:.2g}", "special": special}


def along(label: lk.KernelLabel, seed: int) -> float:
    """As ``lk.error`` at a regular point, along a few random directions at once instead of along every input.

    Relative to the largest derivative, not to the sum: one wrong derivative among many right ones must show.
    """
    run = lk.Run(label, seed, False)
    taped = run.taped()
    if not np.all(np.isfinite(taped)):
        return float("inf")
    base = np.concatenate([leaf.values for leaf in run.leaves]).astype(np.float64)
    cuts = np.cumsum([leaf.values.size for leaf in run.leaves])[:-1]
    random = np.random.default_rng(1000 + seed)
    worst = 0.0
    for _ in range(DIRECTIONS):
        direction = random.choice([-1.0, 1.0], base.size) * random.uniform(0.5, 1.0, base.size)
        slopes = []
        for step in (lk.STEP, lk.STEP / 2):
            up, down = ((base + sign * step * direction).astype(np.float32) for sign in (1.0, -1.0))
            slopes.append((run.value(np.split(up, cuts)) - run.value(np.split(down, cuts))) / (2.0 * step))
        slope = (4.0 * slopes[1] - slopes[0]) / 3.0
        if not np.isfinite(slope):
            continue
        scale = max(float(np.max(np.abs(taped))), abs(slope) / base.size, 1.0e-3)
        worst = max(worst, abs(float(taped @ direction) - slope) / scale)
    return worst


def verdict(worst: float) -> str:
    """Whether gradients with this error are wrong."""
    return "wrong" if not worst <= DISAGREE else "right" if worst < AGREE else "unclear"


# --- examples of rule files ---


def examples(task: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Every program of a task: its kernels by themselves, or its sweeps where it has a tape."""
    texts: dict[str, str] = task["programs"]
    hosts = {name: watched(text) for name, text in texts.items() if "wp.Tape(" in text}
    texts = {name: found[0] if (found := hosts.get(name)) else text for name, text in texts.items()}
    with tempfile.TemporaryDirectory() as folder:
        parts = [{name: text for name, text in texts.items() if shares(text)}]
        parts += [{name: text} for name, text in texts.items() if not shares(text)]
        for number, part in enumerate(parts):
            own = Path(folder) / str(number)
            own.mkdir()
            with configured():
                for name, program in together(part, own).items():
                    yield {"program": name, **_example(program, name in hosts, hosts.get(name))}


def _example(program: Program, taped: bool, host: tuple[str, str] | None) -> dict[str, str]:
    if program.error is not None:
        return failure(program.error) | {"detail": program.refused}

    def measure() -> dict[str, str]:
        try:
            if not taped:
                worst = [error for one in compared(program.kernels()) for error in one.errors]
            else:
                worst = [] if host is None else list(sweeps(program.scope, program.names[host[1]]))
        except Exception as error:
            return failure(error)
        if not worst:
            return {"outcome": "unmeasured", "detail": ""}
        most = max(worst, key=lambda error: float("inf") if error != error else error)
        return {"outcome": verdict(most), "detail": f"{most:.2g}"}

    found: dict[str, str] | None = forked(measure, _SECONDS)
    return found or {"outcome": "crash", "detail": ""}


# --- small kernels, each written for one contract ---


def contracts(task: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Whether Warp's code generator takes each kernel of a file: ``accepted`` or ``refused``."""
    text = Path(task["path"]).read_text(encoding="utf-8")
    names = [name for name in kernel_names(text) if name not in task["skip"]]
    with tempfile.TemporaryDirectory() as folder:
        for name, program in together(
            {name: only(text, [name]) for name in names}, Path(folder), compiled=False
        ).items():
            row = {"outcome": "accepted", "detail": ""}
            if program.error is not None:
                row = {"outcome": "refused", "detail": program.refused}
            yield {"kernel": name, **row}


if __name__ == "__main__":
    main()
