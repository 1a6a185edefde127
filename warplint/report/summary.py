"""The last line for people."""

from __future__ import annotations

from warplint.report.model import Report
from warplint.report.style import PLAIN, Style

#: What says which Warp it is where nobody needs to be told: the one that runs the probe is the one in use.
BESIDE = "installed beside warplint"


def summary(report: Report, style: Style = PLAIN) -> str:
    """``Found 3 findings (2 confirmed, 1 inconclusive); 1 refuted and hidden; 12 files``."""
    counts = report.counts()
    files = count(counts["files"], "file")
    if counts["findings"]:
        verdicts = [f"{counts[v]} {v}" for v in ("confirmed", "inconclusive", "unprobed") if counts[v]]
        parts = [style.strong(f"Found {count(counts['findings'], 'finding')}") + f" ({', '.join(verdicts)})"]
    elif report.problems and not report.files:
        parts = ["Nothing was linted"]
    else:
        parts = ["No findings"]
    if report.refuted:
        parts.append(f"{len(report.refuted)} refuted and hidden")
    elif counts["refuted"]:
        parts.append(f"{counts['refuted']} refuted")
    if report.unlisted:
        parts.append(f"{report.unlisted} less severe and not listed")
    if report.suppressed:
        parts.append(f"{report.suppressed} suppressed")
    if report.baselined:
        parts.append(f"{report.baselined} in the baseline")
    parts.append(files)
    if counts["errors"]:
        parts.append(count(counts["errors"], "error"))
    return "; ".join(parts)


def linted_for(report: Report) -> str:
    """``for Warp 1.16 (`warp-version` in warplint.toml says so)``: which Warp the code is for, and what says so."""
    return f"for Warp {report.warp_version}" + (
        f" ({report.warp_version_source})" if report.warp_version_source else ""
    )


def count(number: int, noun: str) -> str:
    """``1 file``, ``2 files``."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
