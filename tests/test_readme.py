"""What README.md says is so."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from command import environment

ROOT = Path(__file__).parent.parent
TEXT = (ROOT / "README.md").read_text(encoding="utf-8")


def test_outputs_are_what_the_program_prints() -> None:
    done = subprocess.run(
        [sys.executable, "tools/readme.py", "--check"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        env=environment(),
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "error[WP104]" in TEXT and "error[WP301]" in TEXT and TEXT.count("= confirmed on cpu") == 2


def test_ci_runs_the_test_command_and_nothing_else() -> None:
    (command,) = re.findall(r"^python3 -m venv .* -m pytest .*$", TEXT, re.MULTILINE)
    lines = (ROOT / ".ci/run").read_text(encoding="utf-8").splitlines()
    steps = [line for line in lines if line and not line.startswith("#")]
    assert steps == ["set -eu", 'cd "$(dirname "$0")/.."', command]


def test_every_option_it_names_exists() -> None:
    from warplint.arguments import check_parser, explain_parser

    actions = [*check_parser()._actions, *explain_parser()._actions]
    options = {option for action in actions for option in action.option_strings}
    named = set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", TEXT))
    assert named <= options
    assert len(named) >= 6


def test_every_key_of_the_settings_it_names_exists() -> None:
    from warplint.settings.keys import KEYS

    (table,) = re.findall(r"```toml\n\[tool\.warplint\]\n(.*?)```", TEXT, re.DOTALL)
    assert {line.split(" =")[0] for line in table.splitlines()} <= set(KEYS)


def test_links_lead_somewhere() -> None:
    targets = [target for target in re.findall(r"\]\(([^)]+)\)", TEXT) if "://" not in target]
    assert targets
    for target in targets:
        assert (ROOT / target).exists(), target
