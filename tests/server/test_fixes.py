"""Fixes and suppressions as code actions, against the real server process."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pygls")

from client import PUSHED, Client
from programs import IN_PLACE

#: WP108 on lines 8 and 16. The right form is the index: that is what the manual and the rule's page say.
MOVED = """\
import warp as wp


@wp.kernel
def lift(place: wp.array(dtype=wp.vec3), rise: wp.array(dtype=float), out: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    p = place[i]
    p.z += rise[i]
    out[i] = p


@wp.kernel
def push(place: wp.array(dtype=wp.vec3), by: wp.array(dtype=float), out: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    p = place[i]
    p.x += by[i]  # stays
    out[i] = p
"""
RESOLVING: dict[str, Any] = {
    **PUSHED,
    "textDocument": {
        **PUSHED["textDocument"],
        "codeAction": {"dataSupport": True, "resolveSupport": {"properties": ["edit"]}},
    },
}


def test_fixes_are_safe_once_they_are_proved(tmp_path: Path) -> None:
    path = tmp_path / "moved.py"
    path.write_text(MOVED)
    with Client(tmp_path, WARP_CACHE_PATH=str(tmp_path / "warp-cache")) as editor:
        uri = editor.open(path)
        assert editor.codes(uri) == [("WP108", 8), ("WP108", 16)]

        # nothing is proved yet: there is a fix, which says so and is not preferred, and none for the whole file
        actions = editor.actions(uri, 8)
        (title,) = [title for title in actions if title.startswith("Unsafe: ")]
        assert "not proved" in title
        assert actions[title]["kind"] == "quickfix" and not actions[title].get("isPreferred")
        assert editor.actions(uri, 8, ["source.fixAll"]) == {}

        # saving probes, and tries the fixes
        editor.save(uri, path)
        editor.wait(lambda: sum(bool(one["data"]["fix"]) for one in editor.pushed[uri][1]) == 2, "the fixes", 400)
        assert {one["data"]["fix"]["applicability"] for one in editor.pushed[uri][1]} == {"safe"}

        # lines move, and the fixes with them
        editor.replace(uri, "import warp as wp\n", "import warp as wp\n\n# above\n")
        assert editor.codes(uri) == [("WP108", 10), ("WP108", 18)]
        quick = [one for one in editor.actions(uri, 10, ["quickfix"]).values() if one.get("isPreferred")]
        (edit,) = quick[0]["edit"]["documentChanges"]
        assert len(quick) == 1 and edit["textDocument"] == {"uri": uri, "version": editor.versions[uri]}
        everything = editor.actions(uri, 1, ["source.fixAll.warplint"])
        assert [one["kind"] for one in everything.values()] == ["source.fixAll.warplint"]
        assert editor.actions(uri, 10, ["refactor"]) == {}

        # what changes has no proved fix any more
        editor.replace(uri, "p.z += rise[i]", "p.z += rise[i] * rise[i]")
        assert not any(one.get("isPreferred") for one in editor.actions(uri, 10).values())
        editor.replace(uri, "p.z += rise[i] * rise[i]", "p.z += rise[i]")

        (action,) = editor.actions(uri, 1, ["source.fixAll"]).values()
        editor.apply(action["edit"])
        assert editor.codes(uri) == []
        mended = MOVED.replace("p.z", "p[2]").replace("p.x", "p[0]")
        assert editor.texts[uri] == mended.replace("import warp as wp\n", "import warp as wp\n\n# above\n")


def test_edits_that_are_asked_for_later(tmp_path: Path) -> None:
    path = tmp_path / "light.py"
    path.write_text(IN_PLACE)
    with Client(tmp_path, RESOLVING, {"probe": "off"}) as editor:
        assert editor.server["codeActionProvider"]["resolveProvider"] is True
        uri = editor.open(path)
        action = editor.actions(uri, 7)["Suppress WP101 here, with a reason"]
        assert "edit" not in action
        stale = dict(action)
        editor.apply(editor.request("codeAction/resolve", action)["edit"])
        assert editor.codes(uri) == []
        # for a text that there is no more, there is no edit
        assert "edit" not in editor.request("codeAction/resolve", stale)


def test_an_editor_without_versions(tmp_path: Path) -> None:
    path = tmp_path / "light.py"
    path.write_text(IN_PLACE)
    with Client(tmp_path, {"textDocument": {"publishDiagnostics": {}}}, {"probe": "off"}) as editor:
        uri = editor.open(path)
        editor.diagnostics(uri)
        edit = editor.actions(uri, 7)["Suppress WP101 here, with a reason"]["edit"]
        assert list(edit) == ["changes"] and list(edit["changes"]) == [uri]
