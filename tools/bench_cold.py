"""How long a cold static run takes, against LibCST parsing the same files and doing nothing else.

    python tools/bench_cold.py [--repeat N] [--skip-libcst] FOLDER...

Both are measured in processes of their own, so that neither profits from what the other loaded; the best of N counts.
Beside the time on the clock stands that of the processors, all processes together: on a machine with other work, only
that one means something, and only as a ratio.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

#: Seconds on the clock, and of processors.
Seconds = tuple[float, float]

# Also a process of its own: it prints the seconds spent in the parser, without start-up and reading.
_PARSE_ALL = """
import sys, time
import libcst
texts = [open(path, "rb").read() for path in sys.stdin.read().split("\\0")]
failed = 0
start, used = time.perf_counter(), time.process_time()
for text in texts:
    try:
        libcst.parse_module(text)
    except Exception:
        failed += 1
print(time.perf_counter() - start, time.process_time() - used, failed)
"""


def main() -> int:
    """Measures, and prints a table of four lines."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--repeat", type=int, default=1, metavar="N", help="measure N times and keep the best")
    parser.add_argument("--skip-libcst", action="store_true", help="time the static run only")
    arguments = parser.parse_args()

    missing = [str(folder) for folder in arguments.folders if not folder.exists()]
    if missing:
        parser.error(f"no such folder: {', '.join(missing)}")
    files = sorted({path for folder in arguments.folders for path in python_files(folder)})
    if not files:
        parser.error("no Python files in these folders")
    lines = sum(path.read_bytes().count(b"\n") for path in files)
    print(f"files        {len(files):>10,}")
    print(f"lines        {lines:>10,}")

    static, static_used = best([static_run(arguments.folders) for _ in range(arguments.repeat)])
    print(f"static run   {static:>10.2f} s  {lines / static:>12,.0f} lines/s  {static_used:>8.2f} s of processors")
    if not arguments.skip_libcst:
        results = [parse_all(files) for _ in range(arguments.repeat)]
        parsing, parsing_used = best([seconds for seconds, _ in results])
        print(
            f"libcst parse {parsing:>10.2f} s  {lines / parsing:>12,.0f} lines/s  {parsing_used:>8.2f} s of processors"
            f"  ({results[0][1]} files rejected)"
        )
        print(f"ratio        {static / parsing:>10.2f}    {'of processors':>21}  {static_used / parsing_used:>8.2f}")
    return 0


def best(measured: Sequence[Seconds]) -> Seconds:
    """The shortest time of each kind."""
    return min(seconds for seconds, _ in measured), min(used for _, used in measured)


def python_files(folder: Path) -> list[Path]:
    """The Python files in a folder, or the file itself."""
    return [folder] if folder.is_file() else [path for path in folder.rglob("*.py") if path.is_file()]


def static_run(folders: list[Path]) -> Seconds:
    """The time from start to exit of ``warplint check --no-probe``. Exits if that could not do its work."""
    command = [sys.executable, "-m", "warplint", "check", "--no-probe", "--no-cache", *map(str, folders)]
    start, used = time.perf_counter(), used_by_children()
    process = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False)
    seconds = time.perf_counter() - start, used_by_children() - used
    # 2 also stands for single files that could not be read, of which large trees nearly always have some.
    if process.returncode not in (0, 1, 2) or "Traceback" in process.stderr:
        sys.exit(f"the static run failed with status {process.returncode}:\n{process.stderr}")
    return seconds


def used_by_children() -> float:
    """Seconds that processors spent on all processes that this one started and that have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def parse_all(files: list[Path]) -> tuple[Seconds, int]:
    """The time that LibCST takes to parse the files, and how many it rejected."""
    process = subprocess.run(
        [sys.executable, "-c", _PARSE_ALL], input="\0".join(map(str, files)), capture_output=True, text=True, check=True
    )
    seconds, used, failed = process.stdout.split()
    return (float(seconds), float(used)), int(failed)


if __name__ == "__main__":
    sys.exit(main())
