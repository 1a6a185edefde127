"""Random edits against ``warplint server``: no crash, and what it says in the end is what fresh runs say.

    python -m tools.soak_lsp [--edits 10000] [--every 100] [--seed 1]

The edits go to a program and the module that it imports from, without waiting for answers; after every so many the
server's diagnostics are compared with those of fresh runs. Ends with the first difference.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests"), str(ROOT / "tests" / "server"), str(ROOT / "tools")]

from bench_lsp import memory_mb  # noqa: E402
from soak import Soak, files  # noqa: E402


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--edits", type=int, default=10_000)
    parser.add_argument("--every", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    started, used = time.monotonic(), os.times()
    with tempfile.TemporaryDirectory() as folder:
        soak = Soak(Path(folder).resolve(), files(), given.seed)
        with soak.editor as editor:
            compared = 0
            for number in range(1, given.edits + 1):
                soak.step()
                if number % given.every == 0 or number == given.edits:
                    soak.compare()
                    compared += 1
                    print(f"\r{number} edits, the same answer {compared} times", end="", file=sys.stderr, flush=True)
            print(file=sys.stderr)
            kinds = ", ".join(f"{count} {kind}" for kind, count in soak.done.most_common())
            print(
                f"{given.edits} edits with seed {given.seed}: no crash, and {compared} times the answer of fresh runs"
            )
            print(f"of these: {kinds}")
            print(f"memory at the end: {memory_mb(editor.process.pid):.0f} MB")
    spent = os.times()
    print(
        f"{time.monotonic() - started:.0f} s; the server took {spent.children_user - used.children_user:.0f} s of CPU"
    )


if __name__ == "__main__":
    main()
