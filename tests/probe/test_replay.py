"""Verdicts are repeated on a GPU where there is one, and stand only if both devices agree."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.probe.conftest import CORPUS, finding, marked
from tests.probe.test_tapes import Maker
from warplint.frontend.fast import read
from warplint.ir.facts import Evidence, Finding
from warplint.probe import ProbeOptions
from warplint.probe.jobs import Job, make_job
from warplint.probe.pool import Pool
from warplint.probe.running import gpu_to_use, repeat
from warplint.source.project import Project

_NAMES = ("element_times", "loop_product", "while_index", "vector_argument", "where_root")


def _jobs(folder: Path, options: ProbeOptions) -> list[Job]:
    cases = [case for name, case in marked(CORPUS / "wrong.py") if name in _NAMES]
    make = Maker(folder)
    cases.append(finding(make.path, make.steps(True), "horizon"))
    return [make_job([case], case.check, Project(read), options) for case in cases]


def test_a_repetition_keeps_what_it_sees_again_and_drops_the_rest(tmp_path: Path, kernel_cache: Path) -> None:
    # on the CPU device, which stands in for another one
    options = ProbeOptions(device="cpu", cache_dir=kernel_cache)
    jobs = _jobs(tmp_path, options)
    with Pool(options) as pool:
        verdicts = [list(answer.get("verdicts") or [answer]) for answer in pool.run(jobs)]
    assert [found[0]["verdict"] for found in verdicts] == ["confirmed"] * len(jobs)
    device, repeated = repeat(jobs, verdicts, options, "cpu")
    assert device == "cpu"
    assert [(found[0]["verdict"], found[0]["detail"]) for found in repeated if found[0]["verdict"] != "confirmed"] == []
    swapped = [[{**found[0], "verdict": "refuted"}] for found in verdicts]
    _, denied = repeat(jobs, swapped, options, "cpu")
    assert [found[0]["verdict"] for found in denied] == ["inconclusive"] * len(jobs)


def test_only_a_gpu_needs_a_repetition() -> None:
    assert gpu_to_use("cpu") is None
    assert gpu_to_use("cuda:1") == "cuda:1"


def test_a_device_that_is_not_there_is_said_to_be_missing(run: Callable[..., list[Evidence]]) -> None:
    case = next(case for name, case in marked(CORPUS / "wrong.py") if name == "element_times")
    (evidence,) = run([case], device="cuda:99")
    assert evidence.verdict == "inconclusive"
    assert "cuda:99" in evidence.detail


@pytest.mark.skipif(gpu_to_use("auto") is None, reason="no driver for a GPU is installed")
def test_verdicts_on_a_gpu(run: Callable[..., list[Evidence]]) -> None:
    cases: list[Finding] = []
    expected = []
    for name, verdict in (("wrong", "confirmed"), ("right", "refuted")):
        for _, case in marked(CORPUS / f"{name}.py"):
            cases.append(case)
            expected.append(verdict)
    evidence = run(cases, device="auto")
    if evidence[0].device == "cpu":
        pytest.skip("Warp finds no GPU")
    # no verdict may turn into its opposite; a few may stay open
    opposite = {"confirmed": "refuted", "refuted": "confirmed"}
    seen = list(zip(expected, (one.verdict for one in evidence), strict=True))
    assert [pair for pair in seen if pair[1] == opposite[pair[0]]] == []
    assert sum(wanted == found for wanted, found in seen) >= 0.9 * len(seen)
