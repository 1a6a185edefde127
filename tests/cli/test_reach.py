"""Who is hurt by a finding stands in every format, and the severity follows it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from command import Command
from programs import REACHED

from warplint.settings.options import OUTPUT_FORMATS

Told = dict[int, tuple[str, str]]
#: By line: the severity and the reach. The rule's own severity is error.
EXPECTED: Told = {8: ("error", "taped"), 14: ("info", "untaped"), 20: ("warning", "library")}


def _matches(pattern: str, text: str, words: dict[str, str] | None = None) -> Told:
    """What a pattern with the groups ``line``, ``severity`` and ``reach`` finds; ``taped`` where none is named."""
    found = {}
    for match in re.finditer(pattern, text, re.DOTALL):
        severity = match["severity"]
        found[int(match["line"])] = ((words or {}).get(severity, severity), match["reach"] or "taped")
    return found


def _full(text: str) -> Told:
    blocks = re.split(r"\n(?=\w+\[WP)", text)
    words = {"no tape in the linted code launches it": "library", "outside tapes only": "untaped"}
    found = {}
    for block in blocks:
        head = re.search(r"(\w+)\[WP101\].*?:(\d+):\d+", block, re.DOTALL)
        assert head is not None
        reach = next((reach for said, reach in words.items() if said in block), "taped")
        found[int(head[2])] = (head[1], reach)
    return found


def _concise(text: str) -> Told:
    # One line for a finding has no room for its severity.
    found = re.findall(r":(\d+):\d+: WP101 \[\w+(?:, (\w+))?\]", text)
    return {int(line): (EXPECTED[int(line)][0], reach or "taped") for line, reach in found}


def _json(text: str) -> Told:
    return {found["line"]: (found["severity"], found["reach"]) for found in json.loads(text)["findings"]}


def _jsonl(text: str) -> Told:
    rows = [row for row in map(json.loads, text.splitlines()) if row["kind"] == "finding"]
    return {row["line"]: (row["severity"], row["reach"]) for row in rows}


def _sarif(text: str) -> Told:
    words = {"note": "info"}
    found = {}
    for result in json.loads(text)["runs"][0]["results"]:
        line = result["locations"][0]["physicalLocation"]["region"]["startLine"]
        found[line] = (words.get(result["level"], result["level"]), result["properties"]["reach"])
    return found


def _github(text: str) -> Told:
    pattern = r"::(?P<severity>\w+) title=[^\n]*?,line=(?P<line>\d+),[^\n]*?reach: (?P<reach>\w+)"
    return _matches(pattern, text, {"notice": "info"})


def _gitlab(text: str) -> Told:
    words = {"major": "error", "minor": "warning"}
    return {
        entry["location"]["lines"]["begin"]: (
            words.get(entry["severity"], entry["severity"]),
            entry["description"].rpartition("reach: ")[2].rstrip(")"),
        )
        for entry in json.loads(text)
    }


def _junit(text: str) -> Told:
    return _matches(r'line="(?P<line>\d+)">\s*<failure type="(?P<severity>\w+)".*?reach: (?P<reach>\w+)', text)


def _lsp(text: str) -> Told:
    words = {1: "error", 2: "warning", 3: "info"}
    rows = [row for line in text.splitlines() for row in json.loads(line)["diagnostics"]]
    return {row["range"]["start"]["line"] + 1: (words[row["severity"]], row["data"]["reach"]) for row in rows}


def _markdown(text: str) -> Told:
    severities = dict(re.findall(r"^\| \S+:(\d+) \| [^|]+ \| (\w+) \|", text, re.MULTILINE))
    reaches = re.findall(r"^## [^\n]*:(\d+)$.*?reach: (\w+)", text, re.MULTILINE | re.DOTALL)
    return {int(line): (severities[line], reach) for line, reach in reaches}


def _html(text: str) -> Told:
    return _matches(
        r'class="tag (?P<severity>\w+)">[^\n]*WP101[^\n]*\.py:(?P<line>\d+):\d+, high confidence, (?P<reach>\w+)<', text
    )


READERS: dict[str, Callable[[str], Told]] = {
    "full": _full,
    "concise": _concise,
    "json": _json,
    "jsonl": _jsonl,
    "sarif": _sarif,
    "github": _github,
    "gitlab": _gitlab,
    "junit": _junit,
    "lsp": _lsp,
    "markdown": _markdown,
    "html": _html,
}


@pytest.mark.parametrize("asked", [None, "taped", "library,untaped"])
def test_every_format_tells_reach_and_the_severity_that_follows_it(
    tmp_path: Path, lint: Command, asked: str | None
) -> None:
    assert set(READERS) == set(OUTPUT_FORMATS)
    (tmp_path / "reached.py").write_text(REACHED)
    outputs = [part for name in READERS for part in ("--output", f"{name}=out.{name}")]
    reach = [] if asked is None else ["--reach", asked]
    lint("--select", "WP101", "--min-severity", "info", *reach, *outputs, "reached.py")
    wanted = EXPECTED if asked is None else {at: it for at, it in EXPECTED.items() if it[1] in asked.split(",")}
    for name, reader in READERS.items():
        assert reader((tmp_path / f"out.{name}").read_text(encoding="utf-8")) == wanted, name
