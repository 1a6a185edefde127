"""Modules of several programs are compiled together: in few runs of the compiler, and to the same verdicts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.probe.conftest import CORPUS, finding, marked
from warplint.frontend.fast import read
from warplint.ir.facts import Finding
from warplint.ir.programs import DefinitionRef, KernelProgram
from warplint.ir.spans import Location, Span
from warplint.probe import ProbeOptions
from warplint.probe.jobs import Building, Job, built_together
from warplint.probe.pool import Pool
from warplint.probe.running import prepare
from warplint.source.project import Project

# Two functions of one name that are not the same, a struct of one name, and a kernel that is in both files.
STEEP = """
import warp as wp


@wp.struct
class State:
    x: wp.array(dtype=float)


@wp.func
def bent(x: float):
    return x * x * x


@wp.kernel
def same(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = wp.sin(x[i])


@wp.kernel
def moved(state: State, y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = bent(state.x[i])


@wp.kernel
def scaled(x: wp.array(dtype=float)):
    i = wp.tid()
    x[i] = bent(x[i])
"""
#: Kernels of this module have no adjoint.
FORWARD = "import warp as wp\n\nwp.config.enable_backward = False\n"
SHALLOW = STEEP.replace("x * x * x", "wp.log(x)").replace("    x: wp.array", "    n: int\n    x: wp.array")


def kernels(path: Path, *names: str) -> list[Finding]:
    """Findings about whole kernels."""
    found = []
    for name in names:
        line = path.read_text().split("\n").index(next(x for x in path.read_text().split("\n") if f"def {name}(" in x))
        place = Location(path, Span(line + 3, 5, line + 3, 9))
        found.append(finding(path, KernelProgram(DefinitionRef(path, name), (place,)), span=place.span))
    return found


def decided(
    findings: list[Finding], cache: Path, monkeypatch: pytest.MonkeyPatch, together: bool = True
) -> tuple[list[str], list[dict[str, int]], int]:
    """The verdicts, what came of compiling together, and how often a job ran the compiler itself."""
    if not together:
        monkeypatch.setattr("warplint.probe.pool.built_together", lambda jobs, parallel: [])
    options = ProbeOptions(device="cpu", cache_dir=cache, parallel=2)
    jobs, refused = prepare(findings, Project(read), options)
    assert not refused
    with Pool(options) as pool:
        answers = pool.run([job for job, _ in jobs])
        built = [dict(one["spent"]) | {key: one[key] for key in ("found", "built")} for one in pool.built]
    verdicts = [""] * len(findings)
    for (_, numbers), answer in zip(jobs, answers, strict=True):
        for number, one in zip(numbers, answer["verdicts"], strict=True):
            verdicts[number] = one["verdict"]
    return verdicts, built, sum(answer["spent"]["compilations"] for answer in answers)


def test_few_runs_of_the_compiler_and_the_same_verdicts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = [finding for _, finding in marked(CORPUS / "wrong.py")][:8]
    right = [finding for _, finding in marked(CORPUS / "right.py")][:8]
    together, built, own = decided([*wrong, *right], tmp_path / "together", monkeypatch)
    assert [(one["compilations"], one["found"] - one["built"]) for one in built] == [(1, 0), (1, 0)]
    assert (sum(one["built"] for one in built) >= 24, own) == (True, 0)
    apart, none, own = decided([*wrong, *right], tmp_path / "apart", monkeypatch, together=False)
    assert (none, own >= 24) == ([], True)
    assert together == apart
    assert together[:8] == ["confirmed"] * 8 and "confirmed" not in together[8:]


def test_names_that_several_programs_share(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = []
    for name, text in (("steep", STEEP), ("shallow", SHALLOW)):
        (tmp_path / f"{name}.py").write_text(text)
        found += kernels(tmp_path / f"{name}.py", "same", "moved", "scaled")
    verdicts, built, own = decided(found, tmp_path / "cache", monkeypatch)
    assert verdicts == ["refuted", "refuted", "confirmed"] * 2
    assert (sum(one["found"] - one["built"] for one in built), own) == (0, 0)


def test_what_the_compiler_refuses_holds_up_no_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "steep.py").write_text(STEEP)
    # a word of C++ that is a name in Python
    (tmp_path / "refused.py").write_text(STEEP.replace("y: wp", "delete: wp").replace("y[i]", "delete[i]"))
    found = [
        *kernels(tmp_path / "refused.py", "same"),
        *kernels(tmp_path / "steep.py", "same", "moved", "scaled"),
    ]
    verdicts, built, _ = decided(found, tmp_path / "cache", monkeypatch)
    assert verdicts == ["inconclusive", "refuted", "refuted", "confirmed"]
    # the kernel and the twin of the one that is refused
    assert sum(one["found"] - one["built"] for one in built) == 2


def test_what_one_program_sets_is_not_set_for_the_next(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "forward.py").write_text(STEEP.replace("import warp as wp", FORWARD))
    (tmp_path / "steep.py").write_text(STEEP)
    found = [
        *kernels(tmp_path / "forward.py", "scaled", "moved"),
        *kernels(tmp_path / "steep.py", "same", "scaled", "moved"),
    ]
    verdicts, _, own = decided(found, tmp_path / "cache", monkeypatch)
    assert verdicts == ["inconclusive", "inconclusive", "refuted", "confirmed", "refuted"]
    assert own == 0


def test_what_is_compiled_is_not_compiled_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "steep.py").write_text(STEEP)
    found = kernels(tmp_path / "steep.py", "same", "moved", "scaled")
    found += [finding for _, finding in marked(CORPUS / "right.py")][:2]
    first, *_ = decided(found, tmp_path / "cache", monkeypatch)
    second, built, own = decided(found, tmp_path / "cache", monkeypatch)
    assert first == second
    assert [one["found"] for one in built] == [0, 0]
    assert own == 0


def job(lines: int, check: str = "gradient", script: str = "", imports: bool = False) -> Job:
    return Job(script + "\n" * lines, None, json.dumps({"check": check}), imports)


def test_who_shares() -> None:
    assert job(1).shares
    assert not job(1, imports=True).shares  # code of the project runs there
    assert not job(1, script="@wp.func_native('')").shares  # it may hold any C++
    assert not any(job(1, check=check).shares for check in ("compile", "answer", "order"))


def test_groups_are_of_about_one_size() -> None:
    assert built_together([job(10)] * 3, 2) == []
    groups = built_together([job(lines) for lines in (900, 10, 20, 30, 880, 10)], 2)
    assert [set(group) & {0, 4} for group in groups] == [{0}, {4}]
    assert sorted(number for group in groups for number in group) == list(range(6))
    many = built_together([job(1000)] * 30, 2)
    assert all(len(group) == 3 for group in many) and len(many) == 10


def test_the_order_is_a_message() -> None:
    message = Building((job(1), job(2))).message(7)
    assert message["id"] == 7 and [one["script"] for one in message["build"]] == ["\n", "\n\n"]  # type: ignore[attr-defined]
