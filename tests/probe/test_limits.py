"""Kernels that crash, hang or eat memory are inconclusive with that reason, and no process is left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.probe.conftest import finding
from warplint.ir.facts import Evidence
from warplint.ir.programs import DefinitionRef, KernelProgram
from warplint.probe.pool import _paths

Run = Callable[..., list[Evidence]]

_TEXT = """
import warp as wp


@wp.kernel
def hangs(x: wp.array(dtype=float)):
    i = wp.tid()
    while x[0] < 1.0e30:
        x[i] = 0.5
    x[i] *= x[i]


@wp.func
def deep(x: float, n: int) -> float:
    return deep(x, n - 1) * x


@wp.kernel
def does_not_compile(x: wp.array(dtype=float)):
    i = wp.tid()
    x[i] = deep(x[i], 3)


@wp.kernel
def outside(x: wp.array(dtype=float)):
    i = wp.tid()
    x[i + 100000] *= x[i]


@wp.kernel
def divides_by_zero(x: wp.array(dtype=float), n: wp.array(dtype=int)):
    i = wp.tid()
    x[i] *= x[i] * float(7 / (n[i] - n[i]))


@wp.kernel
def eats_memory(x: wp.array(dtype=float)):
    i = wp.tid()
    table = wp.zeros(shape=(60000, 30000), dtype=float)
    x[i] = x[i] * x[i] + table[i, i]


@wp.kernel
def fine(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] = x[i] * x[i]
"""


def _processes(marker: str) -> list[int]:
    """The processes whose environment holds ``marker``."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                if marker.encode() in (entry / "environ").read_bytes():
                    found.append(int(entry.name))
            except OSError:
                continue
    return found


def test_each_failure_has_its_reason(tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "host.py"
    path.write_text(_TEXT)
    marker = f"warplint-test-{os.getpid()}"
    monkeypatch.setenv("LC_ALL", marker)
    names = ["hangs", "does_not_compile", "outside", "divides_by_zero", "eats_memory", "fine"]
    cases = [finding(path, KernelProgram(DefinitionRef(path, name), ())) for name in names]
    started = time.monotonic()
    evidence = dict(zip(names, run(cases, timeout_s=8.0, memory_mb=512), strict=False))
    assert time.monotonic() - started < 90.0
    assert {name: one.verdict for name, one in evidence.items() if name != "fine"} == dict.fromkeys(
        names[:-1], "inconclusive"
    )
    assert "does not finish" in evidence["hangs"].detail
    assert "compile" in evidence["does_not_compile"].detail or "refuses" in evidence["does_not_compile"].detail
    assert "outside an array" in evidence["outside"].detail
    assert "crashes (SIGFPE)" in evidence["divides_by_zero"].detail
    assert evidence["fine"].verdict == "refuted"
    if sys.platform.startswith("linux"):
        assert [pid for pid in _processes(marker) if pid != os.getpid()] == []


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks for processes in /proc")
def test_a_killed_linter_leaves_no_worker(tmp_path: Path, kernel_cache: Path) -> None:
    path = tmp_path / "host.py"
    path.write_text(_TEXT)
    script = f"""
from pathlib import Path
from tests.probe.conftest import finding
from warplint.frontend.fast import read
from warplint.ir.programs import DefinitionRef, KernelProgram
from warplint.probe import ProbeOptions, probe
from warplint.source.project import Project
path = Path({str(path)!r})
case = finding(path, KernelProgram(DefinitionRef(path, "hangs"), ()))
probe([case], Project(read), ProbeOptions(device="cpu", cache_dir=Path({str(kernel_cache)!r})))
"""
    marker = f"warplint-killed-{os.getpid()}"
    environment = {**os.environ, "LC_ALL": marker, "PYTHONPATH": os.pathsep.join(sys.path)}
    linter = subprocess.Popen([sys.executable, "-c", script], env=environment, cwd=Path(__file__).parents[2])
    # the linter, its worker, the job and the input set that hangs
    deadline = time.monotonic() + 60.0
    while len(_processes(marker)) < 4 and time.monotonic() < deadline:
        time.sleep(0.2)
    assert len(_processes(marker)) >= 4
    linter.send_signal(signal.SIGKILL)
    linter.wait()
    deadline = time.monotonic() + 5.0
    while _processes(marker) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert _processes(marker) == []


def test_without_warp_every_verdict_says_so(tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "host.py"
    path.write_text(_TEXT)
    boot = "import sys; sys.modules['warp'] = None; sys.path.extend({paths!r}); "
    boot += "from warplint.probe.worker.__main__ import main; main()"
    monkeypatch.setattr("warplint.probe.pool._BOOT", boot)
    (evidence,) = run([finding(path, KernelProgram(DefinitionRef(path, "fine"), ()))])
    assert evidence.verdict == "inconclusive"
    assert evidence.detail.startswith("Warp cannot be used here: ")


def test_warp_is_found_where_the_user_says_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = tmp_path / "packages"
    (place / "warp").mkdir(parents=True)
    (place / "warp" / "__init__.py").write_text("")
    monkeypatch.delitem(sys.modules, "warp", raising=False)
    monkeypatch.syspath_prepend(place)
    assert str(place) not in _paths(own=True)  # a folder of that name may be anybody's
    monkeypatch.setenv("PYTHONPATH", str(place))
    assert str(place) not in _paths(own=True)
    (place / "warp_lang-1.19.0.dist-info").mkdir()
    assert str(place) in _paths(own=True)
    monkeypatch.chdir(place)
    assert str(place) not in _paths(own=True)  # nor is a linted project such a place
