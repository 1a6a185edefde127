"""The scratch folder is gone after a run, however the run ended, and no other run loses its own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from command import environment
from programs import IN_PLACE

from tests.probe.conftest import finding
from warplint.ir.facts import Evidence
from warplint.ir.programs import DefinitionRef, KernelProgram
from warplint.probe.scratch import Scratch, sweep
from warplint.source.files import default_cache

pytestmark = pytest.mark.skipif(os.name != "posix", reason="folders of killed runs are found by POSIX file locks")


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder for temporary files of this test, here and in processes that it starts."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    monkeypatch.setenv("TMPDIR", str(folder))
    return folder


def test_it_is_removed(temporary: Path) -> None:
    scratch = Scratch()
    (scratch.path / "job").mkdir()
    scratch.remove()
    assert list(temporary.iterdir()) == []


def test_a_killed_owner_loses_it_to_the_next_run_and_a_living_one_does_not(temporary: Path) -> None:
    script = "from warplint.probe.scratch import Scratch; print(Scratch().path, flush=True); input()"
    with subprocess.Popen(
        [sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment(), text=True
    ) as owner:
        assert owner.stdout is not None
        theirs = Path(owner.stdout.readline().strip())
        assert theirs.parent == temporary
        own = Scratch()
        sweep()
        assert own.path.is_dir() and theirs.is_dir()
        owner.kill()
    sweep()
    assert own.path.is_dir() and not theirs.exists()
    own.remove()


def test_what_another_program_made_stays(temporary: Path) -> None:
    (temporary / "warplint-notes").mkdir()
    (temporary / "warplint-list").touch()
    elsewhere = temporary / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "owner").touch()
    (temporary / "warplint-link").symlink_to(elsewhere)
    sweep()
    assert sorted(path.name for path in temporary.iterdir()) == [
        "elsewhere",
        "warplint-link",
        "warplint-list",
        "warplint-notes",
    ]
    assert (elsewhere / "owner").exists()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_signal_ends_a_probing_run_without_leaving_anything(
    temporary: Path, tmp_path: Path, number: signal.Signals
) -> None:
    (tmp_path / "light.py").write_text(IN_PLACE)
    command = [sys.executable, "-m", "warplint", "--device", "cpu", "--no-cache", "light.py"]  # no answer is known
    with subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment(), text=True
    ) as linter:
        deadline = time.monotonic() + 60.0
        while not list(temporary.glob("warplint-*/owner")) and time.monotonic() < deadline and linter.poll() is None:
            time.sleep(0.02)
        assert list(temporary.glob("warplint-*/owner"))
        linter.send_signal(number)
        out, err = linter.communicate(timeout=120)
    assert (linter.returncode, out) == (128 + number, "")
    assert err == ("warplint: interrupted\n" if number == signal.SIGINT else "")
    assert list(temporary.iterdir()) == []


_SWALLOWING = """
import os, signal, sys, time
from warplint import cli

def check(given):
    try:
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(60.0)
    except BaseException:
        pass
    time.sleep(600.0)

cli._check = check
sys.exit(cli.main(["light.py"]))
"""


def test_a_signal_that_something_swallows_ends_the_run_all_the_same() -> None:
    ended = subprocess.run([sys.executable, "-c", _SWALLOWING], env=environment(), timeout=120)
    assert ended.returncode == 128 + signal.SIGTERM


Run = Callable[..., list[Evidence]]

_FINE = """
import warp as wp


@wp.kernel
def fine(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] = x[i] * x[i]
"""


def _case(folder: Path) -> object:
    path = folder / "host.py"
    path.write_text(_FINE)
    return finding(path, KernelProgram(DefinitionRef(path, "fine"), ()))


def test_a_cache_folder_that_cannot_be_written_to_is_done_without(tmp_path: Path, run: Run) -> None:
    (tmp_path / "file").touch()
    (evidence,) = run([_case(tmp_path)], cache_dir=tmp_path / "file/cache")
    assert evidence.verdict == "refuted", evidence.detail


def test_without_a_place_for_temporary_files_every_verdict_says_so(
    tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "nowhere"))
    (evidence,) = run([_case(tmp_path)])
    assert (evidence.verdict, evidence.detail.partition(":")[0]) == (
        "inconclusive",
        "there is no place for temporary files",
    )


def test_without_warp_every_verdict_says_how_to_get_it(
    tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("warplint.probe.pool.importlib.util.find_spec", lambda name: None)
    (evidence,) = run([_case(tmp_path)])
    assert (evidence.verdict, evidence.device) == ("inconclusive", None)
    assert evidence.detail == "Warp is not installed beside warplint; install it with `pip install warp-lang`"


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the XDG specification is Linux's")
def test_a_relative_cache_home_does_not_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "caches"))
    assert default_cache() == tmp_path / "caches/warplint"
    monkeypatch.setenv("XDG_CACHE_HOME", "caches")
    assert default_cache() == tmp_path / ".cache/warplint"
