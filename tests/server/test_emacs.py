"""Emacs, without a screen, with the set-up for flymake that docs/editors.md has."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from command import environment
from programs import IN_PLACE

EMACS = shutil.which("emacs")
pytestmark = pytest.mark.skipif(EMACS is None, reason="Emacs is not installed (`emacs` on the path)")

EDITORS = Path(__file__).parent.parent.parent / "docs/editors.md"

#: Opens a file, waits for findings, and says where they are.
SCRIPT = r"""
(find-file "light.py")
(python-mode)
(flymake-start)
(let ((turns 0))
  (while (and (< turns 1000) (null (flymake-diagnostics)))
    (accept-process-output nil 0.1)
    (setq turns (1+ turns))))
(dolist (one (flymake-diagnostics))
  (let ((beg (flymake-diagnostic-beg one)) (end (flymake-diagnostic-end one)))
    (princ (format "found: %d %s %s %s\n" (line-number-at-pos beg) (flymake-diagnostic-type one)
                   (buffer-substring-no-properties beg end) (flymake-diagnostic-text one)))))
"""


def test_flymake(tmp_path: Path) -> None:
    (tmp_path / "light.py").write_text(IN_PLACE)
    blocks = re.findall(r"```elisp\n(.*?)```", EDITORS.read_text(encoding="utf-8"), re.DOTALL)
    (setup,) = [block for block in blocks if "flymake" in block]
    command = " ".join(json.dumps(word) for word in (sys.executable, "-m", "warplint"))
    assert setup.count('(list "warplint"') == 1
    (tmp_path / "init.el").write_text(setup.replace('(list "warplint"', f"(list {command}"))
    (tmp_path / "drive.el").write_text(SCRIPT)
    assert EMACS is not None
    done = subprocess.run(
        [EMACS, "-Q", "--batch", "-l", "init.el", "-l", "drive.el"],
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    found = [line for line in done.stdout.splitlines() if line.startswith("found: ")]
    assert len(found) == 1, done.stdout + done.stderr
    assert found[0].startswith("found: 7 :warning light[i] *= passed[i] WP101 `light[i] *= passed[i]` overwrites")
