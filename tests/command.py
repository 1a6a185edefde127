"""Runs of the real command."""

from __future__ import annotations

import gc
import io
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
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


#: The commands that run nothing.
SMALL = ("completion", "config", "explain", "help", "new-rule", "rules")


def run_cheaply(
    *arguments: object, cwd: Path, stdin: str | bytes = "", **variables: str
) -> subprocess.CompletedProcess[str]:
    """What ``run_warplint`` does, but in this process where nothing is run or shared out: that is ten times cheaper.

    ``test_check.py`` holds the two to the same output.
    """
    words = tuple(map(str, arguments))
    if not ("--no-probe" in words or words[:1] in [(name,) for name in SMALL]) or {"--jobs", "--watch"} & {*words}:
        return run_warplint(*arguments, cwd=cwd, stdin=stdin, **variables)
    from warplint.cli import main

    given = io.BytesIO(stdin.encode() if isinstance(stdin, str) else stdin)
    with _as_if_alone(cwd, variables, io.TextIOWrapper(given, "utf-8")) as (out, err):
        try:
            status: object = main(words)
        except SystemExit as ending:
            status = ending.code
    stdout, stderr = (stream.buffer.getvalue().decode() for stream in (out, err))  # type: ignore[attr-defined]
    assert "Traceback" not in stderr or "--verbose" in words, stderr
    assert isinstance(status, int) or status is None
    return subprocess.CompletedProcess(["warplint", *words], status or 0, stdout, stderr)


@contextmanager
def _as_if_alone(
    folder: Path, variables: Mapping[str, str], stdin: io.TextIOWrapper
) -> Iterator[tuple[io.TextIOWrapper, io.TextIOWrapper]]:
    """Another current folder, environment and standard streams; all are as before in the end."""
    before, thresholds = os.getcwd(), gc.get_threshold()
    streams, environ = (sys.stdin, sys.stdout, sys.stderr), dict(os.environ)
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in range(2))
    os.chdir(folder)
    os.environ.update(variables)
    sys.stdin, sys.stdout, sys.stderr = stdin, out, err
    try:
        yield out, err
    finally:
        sys.stdin, sys.stdout, sys.stderr = streams
        os.environ.clear()
        os.environ.update(environ)
        os.chdir(before)
        gc.set_threshold(*thresholds)
