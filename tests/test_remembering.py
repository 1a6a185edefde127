"""A run over unchanged files tells what the run before told, without analysing; whatever changes is seen."""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable
from pathlib import Path

import pytest
from programs import CARRIED, IN_PLACE

from warplint import analysis, pipeline
from warplint.ir.facts import Finding
from warplint.settings.options import Options, Selectors

FUNC = """
import warp as wp


@wp.func
def scaled(x: float, by: float):
    return x * by
"""
CALLER = """
import warp as wp
from helper import scaled


@wp.kernel
def grow(x: wp.array(dtype=float), n: int):
    i = wp.tid()
    s = float(1.0)
    for k in range(n):
        s = scaled(s, x[k])
    x[i] = s
"""


class Runs:
    """Runs of the linter in one folder, and how often files were analysed for them."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder = folder
        self.analysed = 0
        real = analysis.analyse_files

        def counted(*arguments: object, **keywords: object) -> object:
            self.analysed += 1
            return real(*arguments, **keywords)  # type: ignore[arg-type]

        monkeypatch.setattr(analysis, "analyse_files", counted)

    def __call__(self, *paths: str, **settings: object) -> list[tuple[str, str, int]]:
        """Name of the file, rule and line of each finding."""
        options = Options(
            tuple(str(self.folder / path) for path in paths or (".",)),
            probe=False,
            cache_dir=str(self.folder.parent / "kept"),
            **settings,  # type: ignore[arg-type]
        )
        self.outcome = pipeline.run(options)
        return [_place(finding) for finding in self.outcome.report.findings]


def _place(finding: Finding) -> tuple[str, str, int]:
    return finding.location.path.name, finding.rule, finding.location.span.line


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Runs:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "a.py").write_text(IN_PLACE)
    monkeypatch.chdir(folder)
    return Runs(folder, monkeypatch)


def test_nothing_is_analysed_twice(runs: Runs) -> None:
    first = runs()
    report = runs.outcome.report
    assert first != []
    assert runs() == first
    assert runs.outcome.report.findings == report.findings
    assert list(runs.outcome.report.lines(runs.folder / "a.py")) == IN_PLACE.split("\n")
    assert runs.analysed == 1


def _same_size(folder: Path) -> None:
    path = folder / "a.py"
    state = path.stat()
    path.write_text(IN_PLACE.replace("*=", "+="))
    os.utime(path, ns=(state.st_atime_ns, state.st_mtime_ns))


@pytest.mark.parametrize(
    "change",
    [
        _same_size,
        lambda folder: (folder / "b.py").write_text(CARRIED),
        lambda folder: (folder / "a.py").unlink(),
        lambda folder: (folder / "warplint.toml").write_text('ignore = ["WP101"]\n'),
    ],
    ids=["contents of the same size and time", "new file", "file gone", "configuration"],
)
def test_changes_are_seen(runs: Runs, change: Callable[[Path], object]) -> None:
    before = runs()
    change(runs.folder)
    assert runs() != before
    assert runs.analysed == 2


def test_so_is_another_selection(runs: Runs) -> None:
    assert runs() != []
    assert runs(selectors=Selectors(ignore=("WP1",))) == []
    assert runs.analysed == 2


@pytest.mark.parametrize("jobs", [1, 2])
def test_so_is_a_change_of_what_is_imported(runs: Runs, monkeypatch: pytest.MonkeyPatch, jobs: int) -> None:
    monkeypatch.setattr(analysis, "PARALLEL_FROM", 2)
    (runs.folder / "helper.py").write_text(FUNC)
    (runs.folder / "caller.py").write_text(CALLER)
    before = runs("a.py", "caller.py", jobs=jobs)
    (runs.folder / "helper.py").write_text(FUNC.replace("x * by", "x + by"))
    after = runs("a.py", "caller.py", jobs=jobs)
    assert [place for place in before if place[0] == "caller.py"] != []
    assert [place for place in after if place[0] == "caller.py"] == []
    assert runs.analysed == 2


def test_so_is_a_module_that_was_missing(runs: Runs) -> None:
    (runs.folder / "caller.py").write_text(CALLER)
    assert runs("caller.py") == []
    (runs.folder / "helper.py").write_text(FUNC)
    assert runs("caller.py") != []


def test_comments_count_as_before(runs: Runs) -> None:
    text = IN_PLACE.replace("*= passed[i]", "*= passed[i]  # warplint: ignore[WP101] as it should be")
    assert text != IN_PLACE
    (runs.folder / "a.py").write_text(text)
    for _ in range(2):
        assert runs() == []
        assert runs.outcome.report.suppressed == 1
    assert runs(ignores=False) != []
    assert runs.analysed == 1


def test_what_cannot_be_read_is_tried_again(runs: Runs) -> None:
    (runs.folder / "broken.py").write_text("def (:\n")
    runs()
    runs()
    assert len(runs.outcome.report.problems) == 1
    assert runs.analysed == 2


def test_nothing_is_kept_where_nothing_is_to_be_kept(runs: Runs) -> None:
    runs(cache=False)
    runs(cache=False)
    assert runs.analysed == 2


class _Trap:
    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.mkdir, ("sprung",)


def test_what_is_kept_cannot_run(runs: Runs) -> None:
    first = runs()
    (kept,) = (runs.folder.parent / "kept" / "facts").glob("*.facts")
    good = kept.read_bytes()
    for damaged in (pickle.dumps(_Trap()), pickle.dumps([1]), good[: len(good) // 2], b""):
        kept.write_bytes(damaged)
        assert runs() == first
    assert not (runs.folder / "sprung").exists()
    assert runs.analysed == 5
    pickle.loads(pickle.dumps(_Trap()))  # the trap would have worked
    assert (runs.folder / "sprung").exists()
