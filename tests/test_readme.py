"""What README.md says is so."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parent.parent
TEXT = (ROOT / "README.md").read_text(encoding="utf-8")


def test_it_shows_a_proved_finding_of_a_kernel_and_one_of_a_tape() -> None:
    # That they are what the program prints is tested with the outputs of all pages.
    assert "error[WP104]" in TEXT and "error[WP301]" in TEXT and TEXT.count("= confirmed on cpu") == 2


def test_ci_runs_the_test_command_and_nothing_else() -> None:
    (command,) = re.findall(r"^python3 -m venv .* -m pytest .*$", TEXT, re.MULTILINE)
    lines = (ROOT / ".ci/run").read_text(encoding="utf-8").splitlines()
    steps = [line for line in lines if line and not line.startswith("#")]
    assert steps == ["set -eu", 'cd "$(dirname "$0")/.."', command]


def test_every_option_it_names_exists() -> None:
    from warplint.arguments import PARSERS

    actions = [action for make in PARSERS.values() for action in make()._actions]
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
