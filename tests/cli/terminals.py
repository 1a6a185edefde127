"""Runs on a pseudo-terminal."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from command import environment

_MEANING = ("NO_COLOR", "FORCE_COLOR", "FORCE_HYPERLINK", "TERM_PROGRAM", "VTE_VERSION", "WT_SESSION")


def on_a_terminal(*arguments: str, cwd: Path, script: str | None = None, **variables: str) -> tuple[int, str]:
    """``warplint`` (or a ``script`` that calls it) with standard output and error on a terminal; status and output."""
    import pty

    parent, child = pty.openpty()
    inherited = {key: value for key, value in environment().items() if key not in _MEANING}
    start = ["-m", "warplint"] if script is None else ["-c", script]
    with subprocess.Popen(
        [sys.executable, *start, *arguments],
        cwd=cwd,
        stdout=child,
        stderr=child,
        env={**inherited, "TERM": "xterm", **variables},
    ) as process:
        os.close(child)
        output = b""
        while True:
            try:
                piece = os.read(parent, 65536)
            except OSError:  # Linux's way to say that the other end is closed
                break
            if not piece:
                break
            output += piece
        os.close(parent)
    return process.returncode, output.decode().replace("\r\n", "\n")
