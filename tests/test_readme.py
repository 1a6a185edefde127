"""What README.md says is so."""

from __future__ import annotations

import json
import os
import re
import shlex
from pathlib import Path

from command import run_cheaply
from own_rule import OWN_RULE
from programs import CARRIED

from warplint.settings.keys import KEYS

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
    assert named <= {*options, "--measure"}  # which is one of tools/docs.py
    assert len(named) >= 6


def test_the_settings_it_shows_are_accepted(tmp_path: Path) -> None:
    (table,) = re.findall(r"```toml\n\[tool\.warplint\]\n(.*?)```", TEXT, re.DOTALL)
    for folder in ("our-rules", "src"):
        (tmp_path / "project" / folder).mkdir(parents=True)
    (tmp_path / "project/our-rules/ACME001.yaml").write_text(OWN_RULE)
    (tmp_path / "shared.toml").write_text("")
    (tmp_path / "project/pyproject.toml").write_text(f"[tool.warplint]\n{table}")
    done = run_cheaply("config", "--output-format", "json", cwd=tmp_path / "project")
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    assert {line.split(" =")[0] for line in table.splitlines()} == set(KEYS)


def test_the_suppressions_it_shows_suppress(tmp_path: Path) -> None:
    (comments,) = re.findall(r"```python\n(factor = .*?)```", TEXT, re.DOTALL)
    on_a_line, *regions = [line for line in comments.splitlines() if line]
    flagged = "        factor = factor * (1.0 + rate[year])"
    assert flagged in CARRIED
    ignored = f"{flagged}  #{on_a_line.partition('#')[2]}"
    (tmp_path / "line.py").write_text(CARRIED.replace(flagged, ignored))
    (tmp_path / "file.py").write_text(f"{CARRIED}\n{regions[2]}\n")
    (tmp_path / "region.py").write_text(f"{regions[0]}\n{CARRIED}{regions[1]}\n")
    done = run_cheaply("--no-probe", ".", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "No findings; 3 suppressed; 3 files\n"), done.stdout


def test_the_commands_it_shows_are_understood(tmp_path: Path) -> None:
    from warplint.arguments import PARSERS, asked, options

    (block,) = re.findall(r"```sh\n(warplint src/.*?)```", TEXT, re.DOTALL)
    commands = [shlex.split(line, comments=True)[1:] for line in block.splitlines()]
    assert len(commands) >= 15
    before = os.getcwd()
    os.chdir(tmp_path)  # one of them makes a folder
    try:
        for arguments in commands:
            if arguments[0] in PARSERS and arguments[0] != "check":
                asked(arguments[0], arguments[1:])
            else:
                options(arguments)
    finally:
        os.chdir(before)


def test_what_it_says_about_devices_and_versions_is_so() -> None:
    measured = json.loads((ROOT / "docs/measured.json").read_text(encoding="utf-8"))
    assert f"on the {measured['device'].upper()} device, with Warp {measured['warp']}." in TEXT
    ecosystem = (ROOT / "docs/ecosystem.md").read_text(encoding="utf-8")
    assert re.search(rf"Warp {re.escape(measured['warp'])}, .*CPU device", ecosystem)


def test_links_lead_somewhere() -> None:
    targets = [target for target in re.findall(r"\]\(([^)]+)\)", TEXT) if "://" not in target]
    assert targets
    for target in targets:
        assert (ROOT / target).exists(), target
