"""Answers of earlier runs are used again, as long as nothing that they rest on has changed."""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import warplint.probe
from tests.command import run_warplint
from tests.probe.conftest import finding
from warplint.frontend.fast import read
from warplint.ir.facts import Evidence, Finding
from warplint.ir.programs import DefinitionRef, KernelProgram
from warplint.probe import ProbeOptions, probe, running, stored
from warplint.probe.jobs import Job
from warplint.probe.pool import WorkerUnusable
from warplint.probe.stored import Answer, Store, open_store
from warplint.probe.worker.isolate import STUCK
from warplint.source.project import Project

Run = Callable[..., list[Evidence]]

_TEXT = """
import warp as wp


@wp.kernel
def wrong(x: wp.array(dtype=float)):
    i = wp.tid()
    x[i] = x[i] * x[i]


@wp.kernel
def right(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] = x[i] * x[i]


@wp.kernel
def undecided(x: wp.array(dtype=float)):
    i = wp.tid()
    x[i + 100000] *= x[i]
"""

_JOB = Job("script", None, "{}")
_ANSWER = Answer(({"verdict": "confirmed", "detail": "wrong", "numbers": {"tape": 1.5}},), "cpu", "1.19.0")


def _findings(folder: Path, text: str = _TEXT) -> list[Finding]:
    path = folder / "kernels.py"
    path.write_text(text)
    return [finding(path, KernelProgram(DefinitionRef(path, name), ())) for name in ("wrong", "right", "undecided")]


def _no_worker(*_: object) -> object:
    raise WorkerUnusable("a worker was asked for")


def test_a_second_run_starts_no_worker(
    tmp_path: Path, run: Run, kernel_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = run(_findings(tmp_path))
    assert [one.verdict for one in first] == ["confirmed", "refuted", "inconclusive"]
    monkeypatch.setattr(running, "Pool", _no_worker)
    begun = time.perf_counter()
    again = run(_findings(tmp_path))
    assert time.perf_counter() - begun < 1.0
    assert again == first

    # where the answers may not be used, and where the kernels are others, a worker is needed
    assert {one.detail for one in run(_findings(tmp_path), cache=False)} == {"a worker was asked for"}
    other = _TEXT.replace("x[i] = x[i] * x[i]", "x[i] = x[i]")
    changed = run(_findings(tmp_path, other))
    assert [one.detail == "a worker was asked for" for one in changed] == [True, False, False]


def test_progress_counts_what_is_known(tmp_path: Path, run: Run, kernel_cache: Path) -> None:
    findings = _findings(tmp_path)
    run(findings)
    told: list[tuple[int, int]] = []
    options = ProbeOptions(device="cpu", cache_dir=kernel_cache)
    probe(findings, Project(read), options, lambda done, total: told.append((done, total)))
    assert told == []


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: text[: len(text) // 2],
        lambda text: text.replace("wrong", "right"),
        lambda text: text.replace("1.5", "2.5"),
        lambda text: "[]",
        lambda text: "[" * 100_000,
        lambda text: "",
    ],
)
def test_damaged_entries_are_as_good_as_none(damage: Callable[[str], str], tmp_path: Path) -> None:
    store = Store(tmp_path, "context")
    store.put(_JOB, _ANSWER)
    assert store.get(_JOB) == _ANSWER
    (entry,) = tmp_path.glob("*/*.json")
    entry.write_text(damage(entry.read_text()))
    assert store.get(_JOB) is None


def test_answers_belong_to_one_context(tmp_path: Path) -> None:
    Store(tmp_path, "Warp 1.19").put(_JOB, _ANSWER)
    assert Store(tmp_path, "Warp 1.20").get(_JOB) is None
    assert Store(tmp_path, "Warp 1.19").get(Job("script", None, '{"check": "other"}')) is None


def test_the_third_answer_is_asked_for_again_after_a_day(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = Store(tmp_path, "context")
    answer = Answer(({"verdict": "inconclusive", "detail": "no time", "numbers": {}},), "cpu", "1.19.0")
    store.put(_JOB, answer)
    assert store.get(_JOB) == answer
    now = time.time()
    monkeypatch.setattr(stored.time, "time", lambda: now + 25 * 3600.0)
    assert store.get(_JOB) is None


@pytest.mark.parametrize(
    ("detail", "kept"), [(STUCK, False), ("it does not finish within the time limit of 60 seconds", True)]
)
def test_what_a_busy_machine_ended_is_tried_again(tmp_path: Path, detail: str, kept: bool) -> None:
    store = Store(tmp_path, "context")
    store.put(_JOB, Answer(({"verdict": "inconclusive", "detail": detail, "numbers": {}},), "cpu", "1.19.0"))
    assert (store.get(_JOB) is not None) == kept
    assert store.get(_JOB, resume=True) is not None


def test_the_store_stays_small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stored, "_MOST_FILES", 8)
    store = Store(tmp_path, "context")
    jobs = [Job(f"script {number}", None, "{}") for number in range(12)]
    for job in jobs:
        store.put(job, _ANSWER)
        time.sleep(0.01)
    assert store.get(jobs[0]) == _ANSWER  # now it is the one that was used last
    store.trim()
    left = [number for number, job in enumerate(jobs) if store.get(job) is not None]
    assert left == [0, 7, 8, 9, 10, 11]


def _write(folder: Path, text: str) -> None:
    store = Store(folder, "context")
    for _ in range(200):
        store.put(_JOB, Answer(({"verdict": "confirmed", "detail": text * 500, "numbers": {}},), "cpu", None))


def test_several_runs_may_write_at_once(tmp_path: Path) -> None:
    writers = [multiprocessing.get_context("spawn").Process(target=_write, args=(tmp_path, text)) for text in "ab"]
    for writer in writers:
        writer.start()
    store, seen = Store(tmp_path, "context"), set()
    while any(writer.is_alive() for writer in writers):
        answer = store.get(_JOB)
        seen.add(answer.verdicts[0]["detail"][:1] if answer is not None else "")
    assert [writer.exitcode for writer in writers] == [0, 0]
    assert store.get(_JOB) is not None
    assert seen <= {"", "a", "b"}
    assert not list(tmp_path.glob("*/.new-*"))


def test_a_folder_that_cannot_be_written_to_is_no_error(tmp_path: Path) -> None:
    place = tmp_path / "file"
    place.write_text("not a folder")
    store = open_store(ProbeOptions(cache_dir=place), None)
    assert store is not None
    store.put(_JOB, _ANSWER)
    store.trim()
    assert store.get(_JOB) is None


@pytest.mark.parametrize("change", ["nothing", "the file", "what it imports", "what it might import", "the question"])
def test_programs_are_cut_again_where_something_has_changed(
    change: str, tmp_path: Path, kernel_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, other = tmp_path / "kernels.py", tmp_path / "numbers_of_it.py"
    other.write_text("HALF = 0.5\n")
    head = "import warp as wp\nfrom numbers_of_it import HALF\nfrom not_there import NOTHING\n\n\n"
    body = (
        "@wp.kernel\ndef scaled(x: wp.array(dtype=float)):\n    i = wp.tid()\n    x[i] = HALF * NOTHING * x[i] * x[i]\n"
    )
    path.write_text(head + body)
    options = ProbeOptions(device="cpu", cache_dir=tmp_path / "cache")
    cut: list[int] = []
    prepared = warplint.probe.prepare

    def noting(*arguments: Any) -> Any:
        cut.append(len(arguments[0]))
        return prepared(*arguments)

    monkeypatch.setattr(warplint.probe, "prepare", noting)

    def look(name: str) -> list[str]:
        project = Project(read, (tmp_path,))
        one = finding(path, KernelProgram(DefinitionRef(path, name), ()))
        return [found.verdict for found in probe([one], project, options, kept=True)]

    assert look("scaled") == ["confirmed"]
    if change == "the file":
        path.write_text(head + body + "\n")
    elif change == "what it imports":
        other.write_text("HALF = 0.25\n")
    elif change == "what it might import":
        (tmp_path / "not_there.py").write_text("NOTHING = 1.0\n")
    asked = "scaled" if change != "the question" else "not_there"
    assert look(asked) == (["confirmed"] if asked == "scaled" else ["inconclusive"])
    assert len(cut) == (1 if change == "nothing" else 2)


def test_another_process_finds_the_programs_of_the_last_one(tmp_path: Path, kernel_cache: Path) -> None:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "kernels.py").write_text(_TEXT)
    seen = []
    for seed in ("1", "2"):
        done = run_warplint("check", "--device", "cpu", "--cache-dir", tmp_path, ".", cwd=folder, PYTHONHASHSEED=seed)
        assert "confirmed" in done.stdout, done.stdout + done.stderr
        seen.append({path.name for path in (tmp_path / "cuts").iterdir()})
    assert len(seen[0]) == 1
    assert seen[1] == seen[0]
