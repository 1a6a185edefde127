"""Repeating the deciding input sets of a verdict on another device.

The CPU device decides first: there every access is checked and every launch is isolated. What it decided is then
repeated on the GPU, in this process, with the same inputs; a verdict stands only where both devices agree.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import warp as wp

from warplint.probe.worker.account import Account, inconclusive, may_race
from warplint.probe.worker.inputs import Profile
from warplint.probe.worker.isolate import Stage
from warplint.probe.worker.kernel_job import KernelJob
from warplint.probe.worker.loading import admit
from warplint.probe.worker.packed import learn
from warplint.probe.worker.tape_job import TapeJob
from warplint.probe.worker.usage import Usage

# Unused memory around every array, so that a reverse sweep that leaves its array does not ruin the process.
_GUARD = 64


def replay(job: dict[str, Any], device: str, scratch: Path, seconds: float) -> dict[str, Any]:
    """The verdicts of ``job["verdicts"]`` after the repetition, as JSON."""
    wp.config.mode = "release"
    admit(job["plan"])
    repeat = _tape if job["plan"]["kind"] == "tape" else _kernel
    verdicts = []
    deadline = time.monotonic() + seconds
    for verdict in job["verdicts"]:
        if time.monotonic() > deadline:
            verdicts.append(inconclusive(f"repeating it on {device} does not finish within the time limit"))
            continue
        try:
            verdicts.append(repeat(job, verdict, device, scratch))
        except Exception as error:
            verdicts.append(
                inconclusive(f"it cannot be repeated on {device}: {type(error).__name__}: {str(error)[:200]}")
            )
    return {"verdicts": verdicts}


def _kernel(job: dict[str, Any], verdict: dict[str, Any], device: str, scratch: Path) -> dict[str, Any]:
    if not verdict.get("profiles"):
        return verdict
    worker = KernelJob({**job, "twin": None}, scratch, device, 1e9)
    choice = worker.choices(verdict["target"])[verdict["choice"]]
    kernel, _ = worker.compiled(verdict["target"], choice, release=True)
    usage = Usage(kernel)
    learn(usage, scratch)
    stage = Stage(scratch / "stage-replay")
    mark = {"number": 0, "counted": False, "in_loop": False, "blocks": [], "around": [], "way": []}
    account = Account(worker.check, may_race(usage), mark)
    for values in verdict["profiles"]:
        profile = Profile(**{**values, "guard": _GUARD})
        account.add(profile, worker.one(kernel, None, (usage, None), profile, stage, []), 1)
    wrong = len(account.wrong) + len(account.singular)
    # other inputs than the one without a derivative may well have theirs
    right = 0 if worker.check == "zero-adjoint" and wrong else len(account.right)
    return _settle(verdict, wrong, right, device)


def _tape(job: dict[str, Any], verdict: dict[str, Any], device: str, scratch: Path) -> dict[str, Any]:
    if not verdict.get("sets"):
        return verdict
    worker = TapeJob(job, scratch, device, 1e9)
    worker.load(release=True)
    stage = Stage(scratch / "stage-replay")
    found = [worker.one(seed, sizes, stage).get("verdict", "") for seed, sizes in verdict["sets"]]
    return _settle(verdict, found.count("wrong") + found.count("idle"), found.count("right"), device)


def _settle(verdict: dict[str, Any], wrong: int, right: int, device: str) -> dict[str, Any]:
    """The verdict if the other device saw the same at most of the inputs."""
    for_it, against = (wrong, right) if verdict["verdict"] == "confirmed" else (right, wrong)
    if for_it > 0 and against == 0:
        return verdict
    return inconclusive(f"the CPU device and {device} do not show the same at the same inputs")
