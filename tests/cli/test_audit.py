"""``warplint audit``: everything with an adjoint is checked, and an audit that was interrupted goes on."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from command import environment, run_warplint

import warplint

LAND = """
import warp as wp

snippet = "return x;"


@wp.func
def growth(size: float, light: float):
    if light > 0.5:
        return size * light * light
    return size * 0.5 * light


@wp.func
def decay(size: float):
    return size * size * size


@wp.func_grad(decay)
def adj_decay(size: float, adj_ret: float):
    wp.adjoint[size] += wp.clamp(2.0 * size * size * adj_ret, -1000.0, 1000.0)


@wp.func
def shrunk(size: float):
    return size * size


@wp.func_grad(shrunk)
def adj_shrunk(size: float, adj_ret: float):
    wp.adjoint[size] += size * adj_ret


@wp.func_native(snippet=snippet)
def measured(x: float) -> float: ...


@wp.kernel
def right(light: wp.array(dtype=float), size: wp.array(dtype=float)):
    i = wp.tid()
    if i < 2:
        size[i] = growth(light[i], light[i + 2])
    else:
        size[i] = 2.0 * light[i]


@wp.kernel
def found(light: wp.array(dtype=float), passed: wp.array(dtype=float)):
    i = wp.tid()
    light[i] *= passed[i]


@wp.kernel
def not_found(size: wp.array(dtype=float), left: wp.array(dtype=float)):
    i = wp.tid()
    left[i] = decay(size[i])


@wp.kernel
def native(size: wp.array(dtype=float), left: wp.array(dtype=float)):
    i = wp.tid()
    left[i] = measured(size[i])


@wp.kernel(enable_backward=False)
def counted(size: wp.array(dtype=float), left: wp.array(dtype=float)):
    i = wp.tid()
    left[i] = size[i]
"""

FORWARD = """
import warp as wp

wp.set_module_options({"enable_backward": False})


@wp.func
def double(x: float):
    return 2.0 * x


@wp.kernel
def doubled(x: wp.array(dtype=float)):
    i = wp.tid()
    x[i] = double(x[i])
"""

CLEAN = """
import warp as wp


@wp.kernel
def doubled(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = 2.0 * x[i]


@wp.kernel
def squared(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = x[i] * x[i]


@wp.kernel
def added(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = x[i] + 1.0
"""

Audited = tuple[Path, "subprocess.CompletedProcess[str]", Mapping[str, Any]]


@pytest.fixture(scope="module")
def audited(tmp_path_factory: pytest.TempPathFactory) -> Audited:
    """An audit of a small project: its folder, the run, and what it printed."""
    folder = tmp_path_factory.mktemp("audited")
    (folder / "src").mkdir()
    (folder / "src/land.py").write_text(LAND)
    (folder / "src/forward.py").write_text(FORWARD)
    done = _audit(folder, "src", "--output-format", "json")
    return folder, done, json.loads(done.stdout)


def _audit(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return run_warplint("audit", "--device", "cpu", "--cache-dir", "kept", *arguments, cwd=folder)


def _entry(document: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    (entry,) = [entry for entry in document["entries"] if entry["name"] == name]
    return entry  # type: ignore[no-any-return]


def test_every_definition_with_an_adjoint_is_judged(audited: Audited) -> None:
    _, done, document = audited
    assert (done.returncode, done.stderr) == (1, "")
    judgements = {entry["name"]: entry["judgement"] for entry in document["entries"]}
    assert judgements == {
        "growth": "ok",
        "decay": "wrong",
        "shrunk": "wrong",
        "right": "ok",
        "found": "wrong",
        "not_found": "wrong",
        "native": "undecided",
    }
    assert document["files"] == [
        {"path": "src/forward.py", "ok": 0, "wrong": 0, "undecided": 0, "forward_only": 2},
        {"path": "src/land.py", "ok": 2, "wrong": 4, "undecided": 1, "forward_only": 1},
    ]
    summary = document["summary"]
    assert summary["audited"] == 7 and summary["forward_only"] == 3 and summary["stored"] == 0


def test_it_says_what_no_rule_found(audited: Audited) -> None:
    _, _, document = audited
    assert [one["rule"] for one in _entry(document, "found")["findings"]] == ["WP101"]
    assert _entry(document, "found")["unreached"] == []
    # A custom gradient that is limited on purpose is nothing that a rule minds.
    assert _entry(document, "decay")["findings"] == _entry(document, "not_found")["findings"] == []
    assert [one["rule"] for one in _entry(document, "shrunk")["findings"]] == ["WP602"]
    assert document["summary"]["wrong_not_flagged"] == 2
    wrong = _entry(document, "not_found")
    # The hand-written adjoint of size ** 3 is 2 / 3 of what it should be.
    assert wrong["numbers"]["tape"] == pytest.approx(wrong["numbers"]["finite_difference"] * 2 / 3, rel=1e-3)


def test_a_func_is_seen_through_a_kernel_that_calls_it(audited: Audited) -> None:
    _, _, document = audited
    assert _entry(document, "growth")["through"] == "right"
    assert _entry(document, "decay")["through"] is None  # what is wrong in a kernel need not be this func's fault
    assert _entry(document, "decay")["custom_adjoint"] is True


def test_what_is_undecided_has_a_reason(audited: Audited) -> None:
    _, _, document = audited
    assert "native snippet" in _entry(document, "native")["detail"]


def test_the_output_has_its_schema(audited: Audited) -> None:
    _, _, document = audited
    schema = json.loads((Path(warplint.__file__).parent / "schemas/audit.schema.json").read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(document, schema)


def test_a_finished_audit_is_told_from_what_is_stored(audited: Audited) -> None:
    folder, _, before = audited
    done = _audit(folder, "src", "--resume")
    lines = done.stdout.splitlines()
    assert done.returncode == 1
    wrong = [line for line in lines if line.startswith("  src/land.py:")]
    assert len(wrong) == 4 and wrong[-1].endswith("kernel `found` [WP101]")
    assert lines[0] == "Wrong, and no rule found it (2)"
    # The native function was not run, so that there is no answer to store.
    assert "6 answered by an earlier run" in lines[-1]
    assert lines[-1].startswith("4 kernels and 3 funcs with an adjoint: 2 ok, 4 wrong, 1 undecided (86 % decided)")
    again = json.loads(_audit(folder, "src", "--resume", "--output-format", "json").stdout)
    assert [{**entry, "stored": False} for entry in again["entries"]] == before["entries"]


def test_an_interrupted_audit_goes_on(tmp_path: Path) -> None:
    (tmp_path / "clean.py").write_text(CLEAN)
    command = [sys.executable, "-m", "warplint", "audit", "--device", "cpu", "--cache-dir", "kept", "--jobs", "1", "."]
    process = subprocess.Popen(
        command, cwd=tmp_path, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        deadline = time.monotonic() + 100.0
        while not list(tmp_path.glob("kept/verdicts/*/*.json")):
            assert process.poll() is None and time.monotonic() < deadline
            time.sleep(0.02)
        os.kill(process.pid, signal.SIGINT)
        out, err = process.communicate(timeout=120.0)
    finally:
        process.kill()
        process.wait()
    assert process.returncode == 130 and out == ""
    assert err.splitlines() == ["warplint: the audit goes on from here with --resume", "warplint: interrupted"]
    kept = len(list(tmp_path.glob("kept/verdicts/*/*.json")))
    assert kept in (1, 2)
    done = _audit(tmp_path, ".", "--resume", "--output-format", "json")
    document = json.loads(done.stdout)
    assert done.returncode == 0
    assert [entry["judgement"] for entry in document["entries"]] == ["ok", "ok", "ok"]
    assert document["summary"]["stored"] == kept


def test_nothing_to_audit(tmp_path: Path) -> None:
    (tmp_path / "forward.py").write_text(FORWARD)
    done = _audit(tmp_path, ".")
    assert done.returncode == 0
    assert done.stdout.splitlines()[-1] == "Nothing is compiled with an adjoint; 2 forward only; 1 file"


def test_what_cannot_be_done(tmp_path: Path) -> None:
    missing = _audit(tmp_path, "nowhere.py")
    assert missing.returncode == 2 and "nowhere.py" in missing.stderr
    (tmp_path / "broken.py").write_text("import warp as wp\n\n\n@wp.kernel\ndef broken(:\n    pass\n")
    broken = _audit(tmp_path, "broken.py")
    assert broken.returncode == 2 and "broken.py:5" in broken.stderr
    assert run_warplint("audit", cwd=tmp_path).returncode == 2


def test_what_only_warp_knows_to_run_forward_is_counted_as_such(tmp_path: Path) -> None:
    text = FORWARD.replace('"enable_backward": False', '"enable_backward": False, **others()')
    (tmp_path / "late.py").write_text(
        text.replace("double(x[i])", "2.0 * x[i]").replace("double(x: float)", "_(x: float)")
    )
    done = _audit(tmp_path, "late.py", "--output-format", "json")
    document = json.loads(done.stdout)
    assert "doubled" not in [entry["name"] for entry in document["entries"]]
    assert document["summary"]["forward_only"] == 1


SCATTER = """
import warp as wp


@wp.kernel
def scattered(count: wp.array(dtype=int), ids: wp.array2d(dtype=int), force: wp.array2d(dtype=float), wanted: int,
              kind: wp.array2d(dtype=int), out: wp.array2d(dtype=float)):
    world, row = wp.tid()
    if row >= count[world]:
        return
    if kind[world, row] != wanted:
        return
    out[world, ids[world, row]] = force[world, row]
"""


def test_threads_that_meet_only_where_nobody_lets_them(tmp_path: Path) -> None:
    (tmp_path / "scatter.py").write_text(SCATTER)
    done = _audit(tmp_path, "scatter.py", "--output-format", "json")
    assert _entry(json.loads(done.stdout), "scattered")["judgement"] == "ok"
