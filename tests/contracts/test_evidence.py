"""What the probe says of contracts: launches confirm them, and refute what looks like them."""

from __future__ import annotations

import json

import pytest
import warp as wp

from tests.probe.conftest import finding
from warplint.frontend.fast import read
from warplint.ir.facts import Evidence
from warplint.ir.programs import DefinitionRef, KernelProgram
from warplint.probe import ProbeOptions, probe
from warplint.probe.worker.order import rewritten
from warplint.source.project import Project

wp.config.quiet = True

SOURCE = """
import warp as wp

@wp.kernel
def scale(x: wp.array(dtype=float), factor: float):
    i = wp.tid()
    x[i] = factor * x[i]

@wp.kernel
def smooth(x: wp.array(dtype=float)):
    i = wp.tid()
    x[i] = x[i] + x[i + 1]

@wp.kernel
def collect(x: wp.array(dtype=float), cell: wp.array(dtype=int), y: wp.array(dtype=float)):
    i = wp.tid()
    x[cell[i]] = x[cell[i]] + y[i]

@wp.kernel
def grid(x: wp.array2d(dtype=float)):
    i, j = wp.tid()
    x[i, j] = x[i, j] + x[i + 1, j]
"""

ARRAY, DOUBLE = {"dtype": "float32", "rank": 1}, {"dtype": "float64", "rank": 1}


def launch(*arguments: object) -> dict[str, object]:
    return {"ask": "launch", "kernel": "scale", "dim": [4], "arguments": list(arguments)}


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory):  # type: ignore[no-untyped-def]
    folder = tmp_path_factory.mktemp("asked")
    path = folder / "asked.py"
    path.write_text(SOURCE)
    project = Project(read)
    project.load(path)
    options = ProbeOptions(device="cpu", cache_dir=folder / "cache")

    def ask(kernel: str, question: dict[str, object] | None) -> Evidence:
        text = "" if question is None else json.dumps(question)
        program = KernelProgram(DefinitionRef(path, kernel), (), question=text)
        check = "order" if question is None else "answer"
        (evidence,) = probe([finding(path, program, check)], project, options)  # type: ignore[arg-type]
        return evidence

    return ask


@pytest.mark.parametrize(
    ("question", "verdict", "said"),
    [
        ({"ask": "operator", "operator": "%", "type": "int32"}, "confirmed", "-1 in a kernel and 2 in Python"),
        ({"ask": "operator", "operator": "//", "type": "int32"}, "refuted", "-3 in a kernel and in Python"),
        ({"ask": "operator", "operator": "//", "type": "float32"}, "refuted", "-3.0 in a kernel and in Python"),
        ({"ask": "operator", "operator": "round", "type": "float32"}, "confirmed", "3.0 in a kernel and 2 in Python"),
        ({"ask": "dimensions", "dim": [4, 2], "indices": 1}, "confirmed", "8 threads, and the index runs up to 3"),
        (launch(ARRAY, {"value": 2.0}), "refuted", "the launch runs"),
        (launch(DOUBLE, {"value": 2.0}), "confirmed", "expects an array with dtype"),
        (launch(ARRAY), "confirmed", "passed 1 arguments but kernel requires 2"),
        ({"ask": "options", "options": "enable_backward=False"}, "refuted", "takes the options"),
    ],
)
def test_questions(asked, question: dict[str, object], verdict: str, said: str) -> None:  # type: ignore[no-untyped-def]
    evidence = asked("scale", question)
    assert evidence.verdict == verdict, evidence.detail
    assert said in evidence.detail


@pytest.mark.parametrize(
    ("kernel", "verdict"),
    [("scale", "refuted"), ("smooth", "confirmed"), ("collect", "confirmed"), ("grid", "confirmed")],
)
def test_order(asked, kernel: str, verdict: str) -> None:  # type: ignore[no-untyped-def]
    evidence = asked(kernel, None)
    assert evidence.verdict == verdict, evidence.detail


def test_indices_are_replaced() -> None:
    text = "@wp.func\ndef own():\n    return wp.tid()\n\n"
    text += "@wp.kernel\ndef k(x: int):\n    i, j = wp.tid()\n    y[wp.tid()] = i\n"
    assert rewritten(text, "5 - INDEX") == (
        "@wp.func\ndef own():\n    return 5 - wp.tid()\n\n"
        "@wp.kernel\ndef k(x: int):\n    i_given, j_given = wp.tid()\n    i = 5 - i_given\n    j = 5 - j_given\n"
        "    y[5 - wp.tid()] = i"
    )
