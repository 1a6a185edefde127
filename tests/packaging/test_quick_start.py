"""The command with which README.md lets people begin, run in a copy of the source."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent


def test_one_command_installs_and_lints_the_example(checkout: Path, dependencies: Path) -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    (command,) = re.findall(r"^python3 -m venv .* examples/growth\.py$", text, re.MULTILINE)
    shutil.copytree(ROOT / "examples", checkout / "examples")
    # pip finds all that warplint needs here, and downloads nothing.
    offline = {"PYTHONPATH": str(dependencies), "PIP_NO_BUILD_ISOLATION": "0", "PIP_NO_INDEX": "1"}
    done = subprocess.run(
        command, shell=True, cwd=checkout, env={**os.environ, **offline}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1, done.stdout + done.stderr
    shown = re.findall(r"<!-- output: warplint examples/growth\.py -->\n```text\n(.*?)```", text, re.DOTALL)[0]
    for line in ("error[WP104] ", "error[WP301] ", "Found 2 findings (2 confirmed); 1 file"):
        assert line in shown and line in done.stdout
