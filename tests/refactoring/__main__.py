"""Refactor programs with known findings, and count which findings survive.

    python -m tests.refactoring [--composed N] [--seed N] [--only TEXT] [--program TEXT] [--folder DIR ...] [--show] [--keep DIR]

Single refactorings are applied to every program that they apply to, and ``--composed N`` times two or three of them.
Repaired twins are made from ``labels.yaml``; nothing may be found in them.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from multiprocessing import get_context
from pathlib import Path

HERE = Path(__file__).parent.parent
sys.path.insert(0, str(HERE))

from program_labels import PROGRAMS, read_labels, repaired_copy  # noqa: E402

from .survival import REFACTORINGS, Case, Outcome, baseline, composed, findings, judge, read, refactored  # noqa: E402

_CASES: list[Case] = []


def _all_cases(folders: list[Path], into: Path, stride: int, text: str) -> list[Case]:
    cases = []
    for folder in folders:
        chosen = [case for case in read(folder) if text in case.name][::stride]
        cases += baseline(chosen, into / folder.name)
    for label in [label for label in read_labels() if text in label.name][::stride]:
        if label.repair:
            twin = repaired_copy(label, into / "twins" / label.name)
            for case in read(twin):
                texts = {path: text.replace("# expect:", "# was:") for path, text in case.program.items()}
                cases.append(Case(f"{case.name}-repaired", texts))
    return cases


def _one(job: tuple[str, str | None]) -> tuple[str, Outcome]:
    name, keep = job
    outcome = Outcome()
    with tempfile.TemporaryDirectory() as folder:
        root = Path(keep) / name if keep else Path(folder)
        for case in _CASES:
            try:
                made = refactored(case, [name], 0)
            except Exception as error:
                outcome.lost.append(f"{name} {case.name}: {error!r}"[:300])
                continue
            if made is not None:
                found = findings([(case.name, made.program)], root)[case.name]
                judge(case, made, found, f"{name} {case.name}", outcome)
    return name, outcome


def _several(job: tuple[int, int, str | None]) -> tuple[str, Outcome]:
    seed, count, keep = job
    outcome = Outcome()
    with tempfile.TemporaryDirectory() as folder:
        root = Path(keep) / f"composed{seed}" if keep else Path(folder)
        for number, (case, names, made) in enumerate(composed(_CASES, seed, count)):
            found = findings([(f"{number}-{case.name}", made.program)], root)[f"{number}-{case.name}"]
            judge(case, made, found, f"{'+'.join(names)} {number}-{case.name}", outcome)
    return "composed", outcome


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--composed", type=int, default=0, metavar="N")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", help="refactorings with this text in their name; `-` for none")
    parser.add_argument("--stride", type=int, default=1, help="every so many of the programs")
    parser.add_argument("--program", default="", help="programs with this text in their name")
    parser.add_argument("--folder", type=Path, action="append", default=[], help="more programs with marks")
    parser.add_argument("--show", action="store_true", help="what was lost and made up, one a line")
    parser.add_argument("--keep", help="a folder for the refactored programs")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        _CASES.extend(_all_cases([PROGRAMS, *options.folder], Path(folder), options.stride, options.program))
    names = [name for name in sorted(REFACTORINGS) if options.only in name and options.only != "-"]
    print(f"{len(_CASES)} programs, {sum(len(c.expected) for c in _CASES)} findings, {len(names)} refactorings")
    total = Outcome()
    with get_context("fork").Pool(options.jobs, maxtasksperchild=8) as pool:
        parts = [pool.imap(_one, [(name, options.keep) for name in names])]
        if options.composed:
            chunks = [(options.seed * 1000 + k, min(50, options.composed - 50 * k), options.keep)
                      for k in range(-(-options.composed // 50))]  # fmt: skip
            parts.append(pool.imap(_several, chunks))
        for name, outcome in (result for part in parts for result in part):
            print(f"{name:40} {outcome.programs:4} programs  {outcome.kept:4} / {outcome.expected:4} kept  "
                  f"{len(outcome.false):3} false", flush=True)  # fmt: skip
            if options.show:
                for kind, lines in (("lost", outcome.lost), ("false", outcome.false)):
                    print("\n".join(f"    {kind} {line}" for line in lines), end="\n" if lines else "")
            total.programs += outcome.programs
            total.expected += outcome.expected
            total.kept += outcome.kept
            total.false += outcome.false
    rate = 100.0 * total.kept / max(1, total.expected)
    print(f"{'all':40} {total.programs:4} programs  {total.kept:4} / {total.expected:4} kept ({rate:.1f} %)  "
          f"{len(total.false):3} false")  # fmt: skip


if __name__ == "__main__":
    main()
