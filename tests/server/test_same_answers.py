"""The server says what the command line says."""

from __future__ import annotations

import json
import os
import random
from pathlib import Path

import pytest

pytest.importorskip("pygls")

from client import Client
from edits import edited

from warplint.pipeline import run
from warplint.report import lsp
from warplint.settings.options import Options

ROOT = Path(__file__).parent.parent.parent
FILES = sorted([*(ROOT / "tests/fixtures").rglob("*.py"), *(ROOT / "examples").rglob("*.py")])
#: Every so many files is looked at, so that this takes seconds.
EVERY = 1


def test_all_fixtures(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    files = FILES[::EVERY]
    wanted = {}
    for path in files:
        report = run(Options(paths=(str(path),), probe=False, min_severity="info", jobs=1)).report
        # What is found from one file may stand in another.
        wanted[path] = {one["uri"]: one["diagnostics"] for one in map(json.loads, lsp.render(report))}
    told_of = [one["code"] for found in wanted.values() for some in found.values() for one in some]
    assert len(told_of) > 50
    # those about kernels, about tapes, and about what is between them
    assert {"WP1", "WP2", "WP3", "WP4", "WP5", "WP6"} <= {code[:3] for code in told_of}
    with Client(ROOT, settings={"minSeverity": "info", "probe": "off"}) as editor:
        for path in files:
            uri = editor.open(path)
            editor.diagnostics(uri)
            for place, diagnostics in wanted[path].items():
                # The page of the rule is the server's own, and what was not probed is told otherwise.
                expected = [told(one) for one in diagnostics]
                editor.wait(lambda: said(editor, place) == expected, f"{place} from {path}", 10)  # noqa: B023
            editor.close(uri)
            editor.wait(lambda: all(not said(editor, place) for place in wanted[path]), f"{path} to go")  # noqa: B023


def test_many_edits_without_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a person types comes faster than answers; the last one is that of a fresh run."""
    monkeypatch.chdir(ROOT)
    path = ROOT / "tests/fixtures/programs/cloth_adam.py"
    chance = random.Random(5)
    with Client(ROOT, settings={"probe": "off"}) as editor:
        uri = editor.open(path)
        good = editor.texts[uri]
        for number in range(400):
            new = edited(editor.texts[uri], chance)
            if number % 40 == 0:
                new = good
            change(editor, uri, new)
            if number % 40 == 39:
                options = Options(paths=("-",), stdin_filename=str(path), probe=False, jobs=1)
                report = run(options, new.encode()).report
                found = editor.diagnostics(uri)
                unread = [one for one in found if one["code"] == "unread"]
                assert len(unread) == min(1, len(report.problems))
                wanted = [(one.rule, one.location.span.line) for one in report.findings]
                assert [one for one in editor.codes(uri) if one[0] != "unread"] == wanted
        assert "Traceback" not in "".join(editor.errors)


def change(editor: Client, uri: str, new: str) -> None:
    """Go to ``new`` by one change of the part that differs."""
    old = editor.texts[uri]
    same = len(os.path.commonprefix([old, new]))
    tail = len(os.path.commonprefix([old[same:][::-1], new[same:][::-1]]))
    editor.replace_at(uri, same, old[same : len(old) - tail], new[same : len(new) - tail])


def said(editor: Client, uri: str) -> list[tuple[object, ...]]:
    """What the server said last of a file."""
    return [told(one) for one in editor.pushed.get(uri, (None, []))[1]]


def told(diagnostic: dict[str, object]) -> tuple[object, ...]:
    data = diagnostic["data"]
    assert isinstance(data, dict)
    related = [one for one in diagnostic["relatedInformation"] if one["message"]]  # type: ignore[attr-defined]
    message = str(diagnostic["message"]).split("\n")[0]
    parts = (diagnostic["code"], diagnostic["range"], diagnostic["severity"], message, related)
    return (*parts, data["name"], data["confidence"], data["reach"])
