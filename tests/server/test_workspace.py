"""Diagnostics of files that are not open."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("pygls")

from client import PULLED, Client
from programs import CARRIED, CLEAN, IN_PLACE

WORKSPACE = {"probe": "off", "diagnostics": "workspace"}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "pyproject.toml").write_text('[tool.warplint]\nexclude = ["left"]\n')
    (tmp_path / "light.py").write_text(IN_PLACE)
    (tmp_path / "growth.py").write_text(CARRIED)
    (tmp_path / "clean.py").write_text(CLEAN)
    (tmp_path / "left").mkdir()
    (tmp_path / "left" / "light.py").write_text(IN_PLACE)
    return tmp_path


def test_pushed(project: Path) -> None:
    light, growth = project / "light.py", (project / "growth.py").as_uri()

    def told(uri: str) -> list[tuple[str, int]]:
        found = editor.pushed.get(uri, (None, []))[1]
        return [(one["code"], one["range"]["start"]["line"] + 1) for one in found]

    with Client(project, settings=WORKSPACE) as editor:
        editor.wait(lambda: told(growth) == [("WP104", 8)] and told(light.as_uri()) == [("WP101", 7)], "both files")
        assert editor.pushed.keys() == {growth, light.as_uri()}
        assert "WP104.md" in editor.pushed[growth][1][0]["codeDescription"]["href"]

        # an open text speaks for itself, and on closing the file does again
        uri = editor.open(light, CLEAN)
        assert editor.codes(uri) == []
        editor.close(uri)
        editor.wait(lambda: told(uri) == [("WP101", 7)], "what is on disk to come back")

        # what is saved counts
        uri = editor.open(light)
        editor.replace(uri, "light[i] *= passed[i]", "light[i] = passed[i]")
        editor.save(uri, light)
        editor.close(uri)
        editor.wait(lambda: told(uri) == [], "what was saved to count")

        # the settings change
        editor.notify("workspace/didChangeConfiguration", {"settings": {"warplint": {"probe": "off"}}})
        editor.wait(lambda: told(growth) == [], "the files that are not open to be left out")


def test_pulled(project: Path) -> None:
    growth, light = (project / "growth.py").as_uri(), (project / "light.py").as_uri()
    with Client(project, PULLED, WORKSPACE) as editor:
        refreshed = "workspace/diagnostic/refresh"
        editor.wait(lambda: any(one["method"] == refreshed for one in editor.asked), "a call to ask again")
        items = editor.request("workspace/diagnostic", {"previousResultIds": []})["items"]
        assert {one["uri"]: [found["code"] for found in one["items"]] for one in items} == {
            growth: ["WP104"],
            light: ["WP101"],
        }
        (found,) = editor.request("textDocument/diagnostic", {"textDocument": {"uri": growth}})["items"]
        assert found["code"] == "WP104"
        editor.open(project / "light.py", CLEAN)
        known = [{"uri": one["uri"], "value": one["resultId"]} for one in items]
        items = editor.request("workspace/diagnostic", {"previousResultIds": known})["items"]
        assert {one["uri"]: (one["kind"], one.get("items")) for one in items} == {
            growth: ("unchanged", None),
            light: ("full", []),
        }
        assert editor.pushed == {}
