"""Completion scripts, run by the shells that are here."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from command import Command

from warplint.arguments import COMMANDS, check_parser
from warplint.settings.options import OUTPUT_FORMATS

bash = pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")


@pytest.fixture
def completed(tmp_path: Path, warplint: Command):  # type: ignore[no-untyped-def]
    """What bash offers for the last of some words."""
    (tmp_path / "warplint.bash").write_text(warplint("completion", "bash").stdout)

    def run(*words: str) -> list[str]:
        listed = " ".join(f"'{word}'" for word in words)
        script = (
            f"source ./warplint.bash; COMP_WORDS=({listed}); COMP_CWORD={len(words) - 1}; _warplint; "
            "printf '%s\\n' \"${COMPREPLY[@]}\""
        )
        done = subprocess.run(["bash", "-c", script], cwd=tmp_path, capture_output=True, text=True, check=True)
        assert done.stderr == ""
        return done.stdout.split()

    return run


@bash
class TestBash:
    def test_options(self, completed) -> None:  # type: ignore[no-untyped-def]
        everything = {option for action in check_parser()._actions for option in action.option_strings}
        assert set(completed("warplint", "-")) == everything
        assert completed("warplint", "src", "--stat") == ["--statistics"]

    def test_values(self, completed) -> None:  # type: ignore[no-untyped-def]
        assert set(completed("warplint", "--output-format", "")) == set(OUTPUT_FORMATS)
        assert completed("warplint", "check", "--fail-on", "ne") == ["never"]
        assert set(completed("warplint", "--reach", "")) == {"taped", "library", "untaped"}

    def test_commands_and_their_options(self, completed) -> None:  # type: ignore[no-untyped-def]
        assert set(COMMANDS) <= set(completed("warplint", ""))
        assert completed("warplint", "explain", "--sy") == ["--symptom"]
        assert completed("warplint", "explain", "--symptom", "n") == ["nan"]

    def test_files(self, tmp_path: Path, completed) -> None:  # type: ignore[no-untyped-def]
        (tmp_path / "light.py").touch()
        assert completed("warplint", "--no-probe", "li") == ["light.py"]


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells(tmp_path: Path, warplint: Command, shell: str) -> None:
    done = warplint("completion", shell)
    assert done.returncode == 0
    for word in ("output-format", "sarif", "symptom"):
        assert word in done.stdout
    if shutil.which(shell) is not None:
        subprocess.run([shell, "-n", "-c", done.stdout], cwd=tmp_path, check=True)


def test_an_unknown_shell(warplint: Command) -> None:
    assert warplint("completion", "cmd").returncode == 2
