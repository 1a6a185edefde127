"""One JSON object a line: findings, then errors, then the summary, told apart by ``kind``."""

from __future__ import annotations

import json
from collections.abc import Iterator

from warplint.report.as_json import error, finding, plain
from warplint.report.model import Report


def render(report: Report) -> Iterator[str]:
    """The lines."""
    documents: list[dict[str, object]] = [{"kind": "finding", **finding(found)} for found in report.findings]
    documents += [{"kind": "error", **error(problem)} for problem in report.problems]
    told = {"warp_version": report.warp_version, "warp_version_source": report.warp_version_source}
    documents.append({"kind": "summary", "version": report.version, **told, **report.counts()})
    for document in documents:
        yield json.dumps(plain(document), allow_nan=False)
