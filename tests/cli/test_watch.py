"""``--watch``: a run for every change, until an interrupt."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from command import Command, environment
from programs import CLEAN, IN_PLACE

pytestmark = pytest.mark.skipif(os.name != "posix", reason="ends by a signal")


@pytest.fixture
def watching(project: Path) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-m", "warplint", "--no-probe", "--watch", "--output-format", "concise", "."]
    with subprocess.Popen(
        command, cwd=project, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment(), text=True
    ) as process:
        watchdog = threading.Timer(100.0, process.kill)
        watchdog.start()
        try:
            yield process
        finally:
            watchdog.cancel()
            process.kill()


def put(path: Path, text: str) -> None:
    """Write a file in one step, so that it is one change."""
    new = path.with_name("new.txt")
    new.write_text(text)
    new.replace(path)


def summary(process: subprocess.Popen[str]) -> str:
    """The last line of the next run."""
    assert process.stdout is not None
    for line in process.stdout:
        if line.startswith(("Found", "No findings")):
            return line.rstrip()
    raise AssertionError("it ended")


def test_every_change_is_a_run(project: Path, watching: subprocess.Popen[str]) -> None:
    assert summary(watching) == "Found 2 findings (2 unprobed); 3 files"
    put(project / "light.py", CLEAN)
    assert summary(watching) == "Found 1 finding (1 unprobed); 3 files"
    put(project / "new.py", IN_PLACE)
    assert summary(watching) == "Found 2 findings (2 unprobed); 4 files"
    put(project / "sub/warplint.toml", 'ignore = ["WP104"]\n')
    assert summary(watching) == "Found 1 finding (1 unprobed); 4 files"
    (project / "new.py").unlink()
    assert summary(watching) == "No findings; 3 files"
    watching.send_signal(signal.SIGINT)
    _, err = watching.communicate(timeout=120)
    assert watching.returncode in (130, -signal.SIGINT)
    assert err.count("warplint: waiting for changes; Ctrl-C ends it\n") in (4, 5)  # the last may be cut short
    assert err.endswith("warplint: interrupted\n")


@pytest.mark.parametrize("arguments", [["-"], ["--add-ignore", "x", "."], ["--baseline", "b", "--write-baseline", "."]])
def test_wrong_calls(warplint: Command, arguments: list[str]) -> None:
    done = warplint("--watch", *arguments)
    assert (done.returncode, "--watch goes with neither" in done.stderr) == (2, True)
