"""Times warplint beside ruff, flake8 and pylint on the same files, in one run, and prints ratios.

    python tools/bench.py [--repeat N] [--tools FOLDER] [--pylint-files N] PATH...

``--tools`` is the folder of the commands ``ruff``, ``flake8`` and ``pylint`` (by default that of the running Python); a
tool that is not there is left out, and said to be. All run with their defaults, each with a
cache of its own that is emptied before a cold run. The best of ``--repeat`` runs counts. Pylint takes minutes for what
others read in a second, so that it gets the first ``--pylint-files`` files only, and its time is scaled by lines.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

ONE_LINE = "import warp as wp\n"


@dataclass(frozen=True)
class Timed:
    """The best of several runs: seconds of the clock, and of processors."""

    seconds: float
    processor: float


def timed(command: Sequence[str], repeat: int, before: Callable[[], object] = lambda: None) -> Timed:
    """Run a command ``repeat`` times, each after ``before``. Raises RuntimeError where it could not do its work."""
    best: list[Timed] = []
    for _ in range(repeat):
        before()
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        start = time.perf_counter()
        done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False)
        seconds = time.perf_counter() - start
        if done.returncode not in (0, 1) and "pylint" not in command[0]:  # whose exit status is a set of bits
            raise RuntimeError(f"{' '.join(command[:3])} exited with {done.returncode}: {done.stderr.decode()[-500:]}")
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        used = after.ru_utime + after.ru_stime - usage.ru_utime - usage.ru_stime
        best.append(Timed(seconds, used))
    return min(best, key=lambda one: one.seconds)


def peak(command: Sequence[str]) -> float:
    """The most memory that one process of a run takes, in megabytes."""
    code = (
        "import resource, subprocess, sys; subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, check=False); "
        "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
    )
    done = subprocess.run([sys.executable, "-c", code, *command], capture_output=True, text=True, check=True)
    return int(done.stdout) / (1024.0 * (1024.0 if sys.platform == "darwin" else 1.0))


def count_lines(paths: Sequence[Path]) -> int:
    """Lines of files."""
    return sum(path.read_bytes().count(b"\n") for path in paths)


def python_files(paths: Sequence[str]) -> list[Path]:
    """The Python files under ``paths``. Raises FileNotFoundError for a path that is not there."""
    found: list[Path] = []
    for path in map(Path, paths):
        if not path.exists():
            raise FileNotFoundError(f"{path} is not there")
        found += [path] if path.is_file() else sorted(path.rglob("*.py"))
    return found


def main() -> int:
    """Run the tool."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("paths", nargs="+", metavar="PATH")
    parser.add_argument("--repeat", type=int, default=5, metavar="N")
    parser.add_argument("--tools", default=str(Path(sys.executable).parent), metavar="FOLDER")
    parser.add_argument("--pylint-files", type=int, default=40, metavar="N")
    arguments = parser.parse_args()
    files = python_files(arguments.paths)
    lines = count_lines(files)
    print(f"{len(files):,} files, {lines:,} lines, best of {arguments.repeat}, {os.cpu_count()} processors\n")
    with tempfile.TemporaryDirectory(prefix="bench-") as scratch:
        _compare(arguments, files, lines, Path(scratch))
    return 0


def _compare(arguments: argparse.Namespace, files: Sequence[Path], lines: int, scratch: Path) -> None:
    kept = scratch / "warplint"

    def forget(folder: Path) -> Callable[[], None]:
        return lambda: shutil.rmtree(folder, ignore_errors=True)

    ours = [sys.executable, "-m", "warplint", "check", "--no-probe", "--exit-zero", "-q", "--cache-dir", str(kept)]
    cold = timed([*ours, *arguments.paths], arguments.repeat, forget(kept))
    warm = timed([*ours, *arguments.paths], arguments.repeat)
    line = scratch / "line.py"
    line.write_text(ONE_LINE, encoding="utf-8")
    short = timed([*ours, str(line)], arguments.repeat)
    forget(kept)()
    memory = peak([*ours, *arguments.paths])
    rows = [("warplint, cold", cold, 1.0), ("warplint, warm", warm, 1.0)]

    ruff_kept = scratch / "ruff"
    ruff = [str(Path(arguments.tools) / "ruff"), "check", "--isolated", "--exit-zero", "-q"]
    ruff += ["--cache-dir", str(ruff_kept), *arguments.paths]
    if Path(ruff[0]).exists():
        rows.append(("ruff, cold", timed(ruff, arguments.repeat, forget(ruff_kept)), 1.0))
        rows.append(("ruff, warm", timed(ruff, arguments.repeat), 1.0))
    flake8 = [str(Path(arguments.tools) / "flake8"), "--isolated", "--exit-zero", *arguments.paths]
    if Path(flake8[0]).exists():
        rows.append(("flake8", timed(flake8, 1), 1.0))
    few = [path for path in files if path.stat().st_size > 0][: arguments.pylint_files]
    pylint = [str(Path(arguments.tools) / "pylint"), "--rcfile=/dev/null", "--exit-zero", "-j", "0", *map(str, few)]
    if Path(pylint[0]).exists():
        rows.append((f"pylint, {len(few)} files", timed(pylint, 1), count_lines(few) / lines))

    print("| | seconds | processor seconds | lines a second |\n|---|---|---|---|")
    for name, time_taken, share in rows:
        speed = lines * share / time_taken.seconds
        print(f"| {name} | {time_taken.seconds:.2f} | {time_taken.processor:.2f} | {speed:,.0f} |")
    speeds = {name: lines * share / taken.seconds for name, taken, share in rows}
    print()
    for theirs, mine, limit in (("ruff, cold", "warplint, cold", 6.0), ("ruff, warm", "warplint, warm", 4.0)):
        if theirs in speeds:
            print(f"{mine} takes {speeds[theirs] / speeds[mine]:.1f} times {theirs} (aim: at most {limit:g})")
    for name, speed in speeds.items():
        if name.startswith(("flake8", "pylint")):
            aim = 10 if name.startswith("flake8") else 100
            ratio = speeds["warplint, cold"] / speed
            print(f"warplint, cold, is {ratio:.1f} times as fast as {name}, per line (aim: at least {aim})")
    for name in ("ruff", "flake8", "pylint"):
        if not (Path(arguments.tools) / name).exists():
            print(f"{name} is not in {arguments.tools}")
    print(f"a file of one line: {short.seconds:.2f} s (aim: at most 0.12 s)")
    print(f"the largest process takes {memory:.0f} MB (aim: under 400 MB)")


if __name__ == "__main__":
    sys.exit(main())
