"""``--fix`` and ``--diff``: what they write, what they leave alone, and the exit status."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from command import Command
from programs import IN_PLACE

LIFT = """\
import warp as wp


@wp.kernel
def lift(place: wp.array(dtype=wp.vec3), rise: wp.array(dtype=float), out: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    p = place[i]
    p.z += rise[i]  # up
    out[i] = p
"""
MENDED = LIFT.replace("p.z", "p[2]")

DIFF = """\
--- a.py
+++ a.py
@@ -5,5 +5,5 @@
 def lift(place: wp.array(dtype=wp.vec3), rise: wp.array(dtype=float), out: wp.array(dtype=wp.vec3)):
     i = wp.tid()
     p = place[i]
-    p.z += rise[i]  # up
+    p[2] += rise[i]  # up
     out[i] = p
"""


class TestWithProbe:
    def test_fix(self, tmp_path: Path, warplint: Command) -> None:
        (tmp_path / "a.py").write_text(LIFT)
        done = warplint("--fix", "--device", "cpu", ".")
        assert (tmp_path / "a.py").read_text() == MENDED
        assert done.returncode == 0
        assert "fixed a.py:8: WP108 attribute-component-accumulate: Write the component with an index" in done.stderr
        assert warplint("--fix", "--device", "cpu", "--no-probe", "--unsafe-fixes", ".").returncode == 0

    def test_diff_changes_nothing(self, tmp_path: Path, warplint: Command) -> None:
        (tmp_path / "a.py").write_text(LIFT)
        done = warplint("--diff", "--device", "cpu", ".")
        assert (done.stdout, done.returncode) == (DIFF, 1)
        assert (tmp_path / "a.py").read_text() == LIFT
        assert subprocess.run(["patch", "-s"], cwd=tmp_path, input=done.stdout.encode(), check=False).returncode == 0
        assert (tmp_path / "a.py").read_text() == MENDED

    def test_what_has_no_fix_remains(self, tmp_path: Path, warplint: Command) -> None:
        (tmp_path / "a.py").write_text(LIFT + IN_PLACE.removeprefix("import warp as wp\n"))
        done = warplint("--fix", "--device", "cpu", "--output-format", "concise", ".")
        assert done.returncode == 1
        assert "WP101" in done.stdout
        assert "WP108" not in done.stdout
        assert (tmp_path / "a.py").read_text().startswith(MENDED)


class TestUnproved:
    @pytest.fixture
    def lint(self, warplint: Command) -> Command:
        def run(*arguments: object, **more: object) -> subprocess.CompletedProcess[str]:
            return warplint("--no-probe", "--output-format", "concise", *arguments, **more)

        return run

    def test_is_left_alone(self, tmp_path: Path, lint: Command) -> None:
        (tmp_path / "a.py").write_text(LIFT)
        done = lint("--fix", ".")
        assert (done.returncode, (tmp_path / "a.py").read_text()) == (1, LIFT)
        diff = lint("--diff", ".")
        assert (diff.stdout, diff.returncode) == ("", 0)

    def test_is_done_on_request(self, tmp_path: Path, lint: Command) -> None:
        (tmp_path / "a.py").write_text(LIFT)
        done = lint("--fix", "--unsafe-fixes", ".")
        assert (done.returncode, (tmp_path / "a.py").read_text()) == (0, MENDED)
        assert "(not proved: the gradient was not seen wrong before)" in done.stderr

    def test_standard_input_has_a_diff(self, lint: Command) -> None:
        done = lint("--diff", "--unsafe-fixes", "--stdin-filename", "a.py", "-", stdin=LIFT)
        assert (done.stdout, done.returncode) == (DIFF, 1)

    @pytest.mark.parametrize(
        ("prefix", "encoding", "newline"),
        [("", "utf-8-sig", "\r\n"), ("# coding: latin-1\n# caf\xe9\n", "latin-1", "\n"), ("", "utf-8", "\r")],
    )
    def test_encoding_newlines_and_permissions_stay(
        self, tmp_path: Path, lint: Command, prefix: str, encoding: str, newline: str
    ) -> None:
        path = tmp_path / "a.py"
        path.write_bytes((prefix + LIFT).replace("\n", newline).encode(encoding))
        path.chmod(0o640)
        assert lint("--fix", "--unsafe-fixes", ".").returncode == 0
        assert path.read_bytes() == (prefix + MENDED).replace("\n", newline).encode(encoding)
        assert path.stat().st_mode & 0o777 == 0o640
        assert [other.name for other in tmp_path.iterdir()] == ["a.py"]

    def test_a_link_stays_a_link(self, tmp_path: Path, lint: Command) -> None:
        (tmp_path / "real").mkdir()
        (tmp_path / "real/a.txt").write_text(LIFT)
        (tmp_path / "a.py").symlink_to(tmp_path / "real/a.txt")
        assert lint("--fix", "--unsafe-fixes", "a.py").returncode == 0
        assert (tmp_path / "a.py").is_symlink()
        assert (tmp_path / "real/a.txt").read_text() == MENDED

    @pytest.mark.parametrize(
        "arguments",
        [
            ["--unsafe-fixes", "."],
            ["--fix", "-"],
            ["--fix", "--diff", "."],
            ["--fix", "--add-ignore", "why", "."],
            ["--fix", "--watch", "."],
        ],
    )
    def test_wrong_calls(self, tmp_path: Path, lint: Command, arguments: list[str]) -> None:
        (tmp_path / "a.py").write_text(LIFT)
        assert lint(*arguments, stdin=LIFT).returncode == 2
        assert (tmp_path / "a.py").read_text() == LIFT


def test_a_mistake_of_ours_in_a_fix_costs_no_finding(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from warplint import fixing, pipeline
    from warplint.settings.options import Options

    def fail(*arguments: object) -> object:
        raise RuntimeError("unexpected")

    monkeypatch.setattr(fixing, "offered", fail)
    (tmp_path / "light.py").write_text(IN_PLACE)
    outcome = pipeline.run(Options(paths=(str(tmp_path),), probe=False, output_format="json"))
    assert [finding.rule for finding in outcome.report.findings] == ["WP101"]
    (problem,) = outcome.report.problems
    assert problem.message.startswith("internal error while looking for fixes: RuntimeError")
    assert "unexpected" in "".join(outcome.tracebacks.values())
