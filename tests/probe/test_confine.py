"""Programs of others reach no network and start no processes."""

from __future__ import annotations

import errno
import os
import platform
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from warplint.probe.worker import isolate
from warplint.probe.worker.isolate import Stage

pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux") or platform.machine() not in ("x86_64", "aarch64"),
    reason="the filter is one of Linux, on these machines",
)


def _error(work: Callable[[], object]) -> int:
    """The number of the error that ``work`` ends with, 0 where it ends well."""
    try:
        work()
    except OSError as error:
        return error.errno or -1
    return 0


def _fork() -> None:
    if os.fork() == 0:
        os._exit(0)


def _thread() -> None:
    thread = threading.Thread(target=int)
    thread.start()
    thread.join()


def _asked(leader: bool, scratch: Path) -> dict[str, int]:
    def work(stage: Stage) -> dict[str, int]:
        families = {"inet": socket.AF_INET, "inet6": socket.AF_INET6, "unix": socket.AF_UNIX}
        found = {name: _error(lambda family=family: socket.socket(family).close()) for name, family in families.items()}
        program = [sys.executable, "-c", ""]
        found |= {"fork": _error(_fork), "spawn": _error(lambda: subprocess.run(program)), "thread": _error(_thread)}
        if leader:
            inner = isolate.run(lambda _: _error(_fork), scratch, 10.0)
            found["fork of a child"] = inner.result
        return found

    child = isolate.Child(work, scratch, 20.0, 1000, leader=leader)
    while not child.poll(0.05):
        pass
    result = child.finish().result
    assert isinstance(result, dict)
    return result


def test_a_program_reaches_no_network_and_starts_no_process(tmp_path: Path) -> None:
    assert _asked(False, tmp_path) == {
        "inet": errno.EACCES,
        "inet6": errno.EACCES,
        "unix": 0,
        "fork": errno.EAGAIN,
        "spawn": errno.EAGAIN,
        "thread": 0,
    }


def test_what_leads_others_may_start_them(tmp_path: Path) -> None:
    found = _asked(True, tmp_path)
    assert (found["inet"], found["fork"], found["fork of a child"]) == (errno.EACCES, 0, errno.EAGAIN)
