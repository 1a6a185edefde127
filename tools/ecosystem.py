"""Lint real packages that ship Warp code and label the result: how many hits, and what the probe said of each.

    python tools/ecosystem.py [PACKAGE ...] [--no-probe] [--markdown FILE] [--findings FILE] [--folder DIR]

Fetches the pinned versions as wheels with pip, unpacks them (nothing is installed or imported), runs the installed
``warplint`` on each and prints, per package: files, kernels and funcs, seconds; and per rule: hits, confirmed, refuted,
inconclusive, with the reasons for the last. ``--findings`` writes every finding as one line, to be read by a person.
"""

from __future__ import annotations

import argparse
import collections
import datetime
import importlib.metadata
import json
import re
import subprocess
import sys
import time
import zipfile
from pathlib import Path
from typing import Any

#: Package, version, and the folder in the wheel that is linted.
PACKAGES = {
    "warp-lang": ("1.19.0", "warp/examples"),
    "newton": ("1.8.0", "newton"),
    "mujoco-warp": ("4.0.0", "mujoco_warp"),
    "nvalchemi-toolkit-ops": ("0.5.0", "nvalchemiops"),
    "rewarped": ("1.3.3", "rewarped"),
    "skrl": ("2.1.1", "skrl"),
    "warpsphcore": ("0.6.0", "warpSPHCore"),
    "gswarp": ("1.1.0", "gswarp"),
    "liblaf-apple": ("0.7.0", "liblaf/apple"),
}

_KERNEL = re.compile(rb"^[ \t]*@(?:\w+\.)?(?:kernel|func)\b", re.MULTILINE)


def fetch(package: str, folder: Path) -> Path:
    """The folder of ``package``'s pinned sources under ``folder``, fetched and unpacked if it is not there yet."""
    version, inside = PACKAGES[package]
    target = folder / f"{package}-{version}"
    if not target.exists():
        wheels = folder / "wheels"
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:"]
        command.append("--ignore-requires-python")  # it is read, not run
        subprocess.run([*command, "--dest", str(wheels), f"{package}=={version}"], check=True)
        name = package.replace("-", "_")
        (wheel,) = wheels.glob(f"{name}-{version}-*.whl")
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(target)
    return target / inside


def lint(path: Path, probe: bool) -> tuple[dict[str, Any], float]:
    """The JSON report on ``path`` and the seconds it took.

    Raises RuntimeError if warplint did not produce a report.
    """
    command = [sys.executable, "-m", "warplint", "check", str(path), "--output-format", "json", "--show-refuted"]
    if not probe:
        command.append("--no-probe")
    start = time.perf_counter()
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    seconds = time.perf_counter() - start
    if run.returncode not in (0, 1, 2) or not run.stdout:
        raise RuntimeError(f"warplint exited with {run.returncode} on {path}:\n{run.stderr}")
    return json.loads(run.stdout), seconds


def tally(findings: list[dict[str, Any]]) -> dict[str, collections.Counter[str]]:
    """Per rule, how many findings have each verdict."""
    counts: dict[str, collections.Counter[str]] = {}
    for finding in findings:
        counts.setdefault(finding["rule"], collections.Counter())[finding["evidence"]["verdict"]] += 1
    return dict(sorted(counts.items()))


def main() -> int:
    """Run the tool; 0 if every package was linted without an internal error."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("packages", nargs="*", default=list(PACKAGES), metavar="PACKAGE", help=", ".join(PACKAGES))
    parser.add_argument("--no-probe", action="store_true", help="static findings only")
    parser.add_argument("--markdown", type=Path, help="write the tables to this file")
    parser.add_argument("--findings", type=Path, help="write every finding to this file, a line each")
    parser.add_argument("--folder", type=Path, default=Path("build/ecosystem"), help="where packages are unpacked")
    options = parser.parse_args()
    for package in options.packages:
        if package not in PACKAGES:
            parser.error(f"no pinned package is called {package!r}; there are {', '.join(PACKAGES)}")

    rows = [
        "| package | version | files | kernels and funcs | seconds | findings | errors |",
        "|---|---|---|---|---|---|---|",
    ]
    details = [
        "| package | rule | hits | confirmed | refuted | inconclusive | unprobed |",
        "|---|---|---|---|---|---|---|",
    ]
    reasons: collections.Counter[str] = collections.Counter()
    lines: list[str] = []
    total: collections.Counter[str] = collections.Counter()
    failed = False
    for package in options.packages:
        path = fetch(package, options.folder)
        report, seconds = lint(path, probe=not options.no_probe)
        files = list(path.rglob("*.py"))
        kernels = sum(len(_KERNEL.findall(file.read_bytes())) for file in files)
        findings, errors = report["findings"], report["errors"]
        failed = failed or bool(errors)
        shown = sum(finding["evidence"]["verdict"] != "refuted" for finding in findings)
        version = PACKAGES[package][0]
        rows.append(f"| {package} | {version} | {len(files)} | {kernels} | {seconds:.1f} | {shown} | {len(errors)} |")
        for rule, counts in tally(findings).items():
            total.update(counts)
            verdicts = " | ".join(str(counts[v]) for v in ("confirmed", "refuted", "inconclusive", "unprobed"))
            details.append(f"| {package} | {rule} | {counts.total()} | {verdicts} |")
        for finding in findings:
            evidence = finding["evidence"]
            if evidence["verdict"] == "inconclusive":
                reasons[re.sub(r"'[^']*'|\d+(\.\d+)?", "…", evidence["detail"])] += 1
            place = f"{Path(finding['path']).as_posix()}:{finding['line']}"
            lines.append(
                f"{place}: {finding['rule']} [{evidence['verdict']}] {finding['message']} ({evidence['detail']})"
            )
        lines.extend(f"{error['path']}: ERROR {error['message']}" for error in errors)
        print(f"{package}: {len(findings)} hits, {len(errors)} errors, {seconds:.1f} s", file=sys.stderr, flush=True)

    decided = total["confirmed"] + total["refuted"]
    hits = total.total()
    report_lines = [
        f"warplint {importlib.metadata.version('warplint')}, Warp {importlib.metadata.version('warp-lang')}, "
        f"{datetime.date.today().isoformat()}, CPU device.",
        "",
        *rows,
        "",
        *details,
        "",
        f"Decided: {decided} of {hits} hits" + (f" ({decided / hits:.0%})." if hits else "."),
    ]
    if reasons:
        report_lines += ["", "Why the rest is inconclusive:", ""]
        report_lines += [f"- {count} × {reason}" for reason, count in reasons.most_common()]
    print("\n".join(report_lines))
    if options.markdown:
        options.markdown.write_text("\n".join(report_lines) + "\n")
    if options.findings:
        options.findings.write_text("\n".join(lines) + "\n")
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
