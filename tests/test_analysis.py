"""A mistake of ours costs one file, in this process and in others."""

from __future__ import annotations

import multiprocessing
import os
import signal
from pathlib import Path

import pytest

from warplint import analysis
from warplint.source.project import Project


class BrokenProject:
    """A project on which the analysis of some files fails."""

    def load(self, path: Path, data: bytes | None = None) -> object:
        raise RuntimeError("the unexpected,\non two lines")


def test_an_internal_error_is_one_line_with_its_traceback_beside() -> None:
    result = analysis.analyse_file(BrokenProject(), (), Path("/a.py"))  # type: ignore[arg-type]
    assert result.facts == ()
    assert result.problem is not None and result.traceback is not None
    assert result.problem.message == (
        "internal error: RuntimeError: the unexpected, on two lines; "
        "please report it with what `--verbose` shows, the file was not linted"
    )
    assert "Traceback" in result.traceback and "test_analysis.py" in result.traceback


@pytest.mark.skipif(multiprocessing.get_start_method() != "fork", reason="the stand-in must reach the workers")
def test_a_process_that_dies_costs_the_file_that_killed_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = [tmp_path / f"{number:03}.py" for number in range(80)]
    deadly = files[37]

    def analyse_file(
        project: Project, roots: tuple[Path, ...], path: Path, data: bytes | None = None
    ) -> analysis.FileAnalysis:
        if path == deadly:
            os.kill(os.getpid(), signal.SIGKILL)
        return analysis.FileAnalysis(path)

    monkeypatch.setattr(analysis, "analyse_file", analyse_file)
    results = analysis.analyse_files(files, analysis.new_project(()), (), {}, jobs=2)
    assert [result.path for result in results] == files
    failed = [result for result in results if result.problem is not None]
    assert [result.path for result in failed] == [deadly]
    assert failed[0].problem is not None and "the process that analysed the file died" in failed[0].problem.message
