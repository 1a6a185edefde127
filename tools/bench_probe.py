"""What the probe of a project costs: from nothing, and where all answers are stored.

    python tools/bench_probe.py FOLDER --select WP101,WP102

Each run is a process of its own, as a user's are. Prints for each the findings and how many were decided, seconds (of
the clock and of the processor, in all and in the probe alone), the modules that were built or loaded, the runs of the
C++ compiler for them, and the seconds of the processor that this took. Choose rules so that about fifty findings are
left: the target is for those.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from warplint.pipeline import run
from warplint.probe import pool
from warplint.settings.options import Options, Selectors


def main() -> int:
    """Measures, and prints a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--select", default="", help="rules, with commas")
    parser.add_argument("--jobs", type=int, default=0)
    parser.add_argument("--run", nargs=2, metavar=("NAME", "CACHE"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.run is None:
        heads = (
            "",
            "findings",
            "decided",
            "seconds",
            "CPU s",
            "probe CPU s",
            "modules",
            "compilations",
            "building CPU s",
        )
        print(("{:<8}" + "{:>14}" * 8).format(*heads), flush=True)
        with tempfile.TemporaryDirectory() as place:
            for name in ("cold", "stored"):
                subprocess.run([sys.executable, *sys.argv, "--run", name, place], check=True)
        return 0
    spent: list[dict[str, Any]] = []
    kept = pool.Pool.run

    def noting(self: pool.Pool, jobs: Any, progress: Any = None, arrived: Any = None) -> list[dict[str, Any]]:
        answers = kept(self, jobs, progress, arrived)
        spent.extend(answer["spent"] for answer in (*answers, *self.built) if "spent" in answer)
        return answers

    pool.Pool.run = noting  # type: ignore[method-assign]
    name, place = arguments.run
    print(_row(name, arguments, Path(place), spent), flush=True)
    return 0


def _row(name: str, arguments: argparse.Namespace, cache: Path, spent: list[dict[str, Any]]) -> str:
    """One run, as a line of the table."""
    selectors = Selectors(select=tuple(filter(None, arguments.select.split(","))) or None)
    options = Options(
        paths=(str(arguments.folder),),
        selectors=selectors,
        probe=True,
        cache_dir=str(cache),
        jobs=arguments.jobs or None,
        device="cpu",
        min_severity="info",
        show_refuted=True,
    )
    begun, before = time.monotonic(), _used()
    outcome = run(options)
    seconds, used = time.monotonic() - begun, _used() - before
    verdicts = [one.evidence.verdict for one in outcome.report.findings]
    decided = sum(verdict in ("confirmed", "refuted") for verdict in verdicts)
    total, building = (sum(one[key] for one in spent) for key in ("total", "compiling"))
    modules, runs = (sum(int(one[key]) for one in spent) for key in ("modules", "compilations"))
    numbers = (len(verdicts), decided, seconds, used, total, modules, runs, building)
    texts = [f"{number:.1f}" if isinstance(number, float) else str(number) for number in numbers]
    return ("{:<8}" + "{:>14}" * 8).format(name, *texts)


def _used() -> float:
    """Seconds of the processor, of this process and of those that it waited for."""
    parts = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(part.ru_utime + part.ru_stime for part in parts)


if __name__ == "__main__":
    sys.exit(main())
