"""Keeps the outputs shown in README.md to what the program prints.

``python tools/readme.py`` writes them anew, ``python tools/readme.py --check`` says whether they are stale. A block
of output follows a comment ``<!-- output: COMMAND -->``.
"""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
README = ROOT / "README.md"
BLOCK = re.compile(r"(<!-- output: (?P<command>[^>]*) -->\n```text\n)(?P<output>.*?)(```\n)", re.DOTALL)


def run(command: str) -> str:
    """What ``warplint ...`` prints on standard output, run in the root of the repository on the CPU."""
    program, *arguments = shlex.split(command)
    assert program == "warplint", command
    call = [sys.executable, "-m", "warplint", "--device", "cpu", *arguments]
    done = subprocess.run(call, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode == 2:
        raise SystemExit(f"{command}: {done.stderr}")
    return done.stdout


def renewed(text: str) -> str:
    """``text`` with the output of every block renewed."""
    return BLOCK.sub(lambda block: block[1] + run(block["command"]) + block[4], text)


def normalized(text: str) -> str:
    """``text`` without what differs between machines: measured numbers, Warp's version, and where lines are wrapped."""
    text = re.sub(r"Warp \d+(\.\d+)*", "Warp N", text)
    text = re.sub(r"-?\d+(\.\d+)?e[+-]?\d+|-?\d+\.\d+", "N", text)
    return " ".join(text.split())


def main() -> int:
    """Renew or check the file."""
    text = README.read_text(encoding="utf-8")
    new = renewed(text)
    if "--check" not in sys.argv[1:]:
        README.write_text(new, encoding="utf-8")
        return 0
    if normalized(new) != normalized(text):
        print("README.md shows what warplint does not print any more; run python tools/readme.py")
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
