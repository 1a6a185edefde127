"""The hooks, run by the real pre-commit on a repository with a bad file and a good one."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from programs import CLEAN, IN_PLACE


def run(*command: str, cwd: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    # Git sets variables in hooks of its own, which would lead it back to the checkout.
    environment = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}
    return subprocess.run(
        command, cwd=cwd, capture_output=True, text=True, env={**environment, **variables}, timeout=500, check=False
    )


def commit(folder: Path) -> str:
    """Make ``folder`` a repository with everything in it committed; returns the commit."""
    run("git", "init", "-q", ".", cwd=folder)
    run("git", "add", "-A", cwd=folder)
    identity = ("-c", "user.name=Test", "-c", "user.email=test@example.org")
    done = run("git", *identity, "commit", "-q", "--no-verify", "-m", "all", cwd=folder)
    assert done.returncode == 0, done.stderr
    return run("git", "rev-parse", "HEAD", cwd=folder).stdout.strip()


@pytest.mark.parametrize(("hook", "verdict"), [("warplint", "unprobed"), ("warplint-probe", "confirmed")])
def test_the_hooks(tmp_path: Path, checkout: Path, dependencies: Path, hook: str, verdict: str) -> None:
    revision = commit(checkout)
    project = tmp_path / "project"
    project.mkdir()
    (project / ".pre-commit-config.yaml").write_text(
        f"repos:\n  - repo: {checkout}\n    rev: {revision}\n    hooks:\n"
        f"      - id: {hook}\n        args: [--output-format, concise]\n"
    )
    (project / "light.py").write_text(IN_PLACE)
    (project / "clean.py").write_text(CLEAN)
    (project / "notes.txt").write_text("no Python\n")
    (project / "excluded.py").write_text(IN_PLACE)
    (project / "warplint.toml").write_text('exclude = ["excluded.py"]\n')
    commit(project)

    def pre_commit(*arguments: str) -> subprocess.CompletedProcess[str]:
        return run(
            sys.executable, "-m", "pre_commit", "run", *arguments, cwd=project,
            PRE_COMMIT_HOME=str(tmp_path / "home"),
            # pre-commit installs warplint with pip. It finds all that warplint needs here, and downloads nothing.
            PYTHONPATH=str(dependencies), PIP_NO_BUILD_ISOLATION="0", PIP_NO_INDEX="1",
        )  # fmt: skip

    done = pre_commit("--all-files")
    output = done.stdout + done.stderr
    assert done.returncode == 1, output
    assert f"light.py:7:5: WP101 [{verdict}, library] " in output
    assert "Found 1 finding" in output and "2 files" in output
    assert "exit code: 1" in output

    clean = pre_commit("--files", "clean.py", "notes.txt")
    assert clean.returncode == 0, clean.stdout + clean.stderr
    assert "Passed" in clean.stdout
