"""Runs of the real command."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

Command = Callable[..., "subprocess.CompletedProcess[str]"]


def environment() -> Mapping[str, str]:
    """The environment in which a child process finds what this one finds."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}


def run_warplint(
    *arguments: object, cwd: Path, stdin: str | bytes = "", **variables: str
) -> subprocess.CompletedProcess[str]:
    """``python -m warplint`` in a folder, as a user would run it. No traceback, whatever happens."""
    done = subprocess.run(
        [sys.executable, "-m", "warplint", *map(str, arguments)],
        cwd=cwd,
        input=stdin.encode() if isinstance(stdin, str) else stdin,
        capture_output=True,
        env={**environment(), **variables},
        timeout=120,
        check=False,
    )
    stdout, stderr = done.stdout.decode(), done.stderr.decode()
    assert "Traceback" not in stderr or "--verbose" in arguments, stderr
    return subprocess.CompletedProcess(done.args, done.returncode, stdout, stderr)
