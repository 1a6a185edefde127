"""Short forms for tests of the command."""

from __future__ import annotations

import subprocess


def hits(done: subprocess.CompletedProcess[str]) -> list[str]:
    """``path:line code`` of the findings in concise output."""
    lines = [line for line in done.stdout.splitlines() if "] " in line]
    return [f"{line.split(':')[0]}:{line.split(':')[1]} {line.split(' ')[1]}" for line in lines]


LIGHT, PLAN = "light.py:7 WP101", "sub/plan.py:8 WP104"
