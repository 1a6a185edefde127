"""How many of the tape findings the probe confirms, on the fixture programs and on the examples of the rules.

    python tools/confirmed.py [--details] [FOLDER ...]

A tape finding is one that comes with a trace of host code. Every program is linted with the probe on; what is printed
per verdict is a number, and in the end the share that is confirmed. ``--details`` tells those that are not, and why.
"""

from __future__ import annotations

import argparse
import collections
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from measure import write_examples

from warplint.catalogue.loading import load_catalogue
from warplint.catalogue.rule import Rule

ROOT = Path(__file__).resolve().parent.parent
PROGRAMS = ROOT / "tests" / "fixtures" / "programs"

#: Rules whose findings are about host code: by the hundred, and one by one where a hundred is shared.
_TAPE_RULES = frozenset(
    [f"WP{number}" for number in (*range(201, 208), 301, 302, 307, 308, 309, 311, *range(401, 413), 704, 710)]
)


def lint(path: Path) -> list[dict[str, Any]]:
    """The findings of tape rules in ``path``, with what the probe says of them.

    Raises RuntimeError if warplint did not produce a report.
    """
    rules = ",".join(sorted(_TAPE_RULES))
    command = [sys.executable, "-m", "warplint", "check", str(path), "--select", rules, "--show-refuted"]
    run = subprocess.run([*command, "--output-format", "json"], capture_output=True, text=True, check=False)
    if run.returncode not in (0, 1) or not run.stdout:
        raise RuntimeError(f"warplint exited with {run.returncode} on {path}:\n{run.stderr}")
    found: list[dict[str, Any]] = json.loads(run.stdout)["findings"]
    return found


def examples(rules: list[Rule], folder: Path) -> Path:
    """The wrong examples of the tape rules, as files of their own."""
    write_examples([rule for rule in rules if rule.id in _TAPE_RULES], folder)
    for good in folder.glob("*_good.py"):
        good.unlink()
    return folder


def main() -> int:
    """Run the tool; 0 if at least four of five are confirmed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="*", type=Path, metavar="FOLDER", help="instead of the fixtures and examples")
    parser.add_argument("--details", action="store_true", help="what was not confirmed, and why")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folders = arguments.folders or [PROGRAMS, examples(load_catalogue()[0].rules, Path(scratch))]
        findings = [finding for folder in folders for finding in lint(folder)]
    verdicts = collections.Counter(finding["evidence"]["verdict"] for finding in findings)
    if arguments.details:
        for finding in findings:
            evidence = finding["evidence"]
            if evidence["verdict"] != "confirmed":
                place = f"{Path(finding['path']).name}:{finding['line']}"
                print(f"{place}: {finding['rule']} {evidence['verdict']}: {evidence.get('detail', '')}")
    for verdict, count in sorted(verdicts.items()):
        print(f"{verdict}: {count}")
    if not findings:
        print("no tape findings")
        return 1
    share = verdicts["confirmed"] / len(findings)
    print(f"confirmed: {verdicts['confirmed']} of {len(findings)} tape findings ({share:.0%})")
    return 0 if share >= 0.8 else 1


if __name__ == "__main__":
    raise SystemExit(main())
