"""The server says what the command line says."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from client import Client

from warplint.pipeline import run
from warplint.report import lsp
from warplint.settings.options import Options

ROOT = Path(__file__).parent.parent.parent
FILES = sorted([*(ROOT / "tests/fixtures").rglob("*.py"), *(ROOT / "examples").rglob("*.py")])
#: Every so many files is looked at, so that this takes seconds.
EVERY = 3


def test_all_fixtures(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    files = FILES[::EVERY]
    wanted = {}
    for path in files:
        report = run(Options(paths=(str(path),), probe=False, min_severity="info", jobs=1)).report
        (line,) = lsp.render(report)
        wanted[path] = json.loads(line)["diagnostics"]
    assert sum(map(len, wanted.values())) > 50
    with Client(ROOT, settings={"minSeverity": "info", "probe": "off"}) as editor:
        for path in files:
            uri = editor.open(path)
            found = editor.diagnostics(uri)
            # The page of the rule is the server's own, and what was not probed is told otherwise.
            assert [told(one) for one in found] == [told(one) for one in wanted[path]], path
            editor.close(uri)


def told(diagnostic: dict[str, object]) -> tuple[object, ...]:
    data = diagnostic["data"]
    assert isinstance(data, dict)
    related = [one for one in diagnostic["relatedInformation"] if one["message"]]  # type: ignore[attr-defined]
    message = str(diagnostic["message"]).split("\n")[0]
    parts = (diagnostic["code"], diagnostic["range"], diagnostic["severity"], message, related)
    return (*parts, data["name"], data["confidence"], data["reach"])
