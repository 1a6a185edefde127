"""The page about editors says what is in the code."""

from __future__ import annotations

from pathlib import Path

import pytest

from warplint.server.wishes import WISHES, Wish

PAGE = (Path(__file__).parent.parent.parent / "docs/editors.md").read_text(encoding="utf-8")
EDITORS = (
    "Neovim",
    "Helix",
    "Emacs, eglot",
    "Zed",
    "Sublime Text",
    "VS Code",
    "JetBrains",
    "Editors that run a command",
)


@pytest.mark.parametrize("wish", WISHES, ids=lambda wish: wish.key)
def test_settings(wish: Wish) -> None:
    kinds = {list: "a list of rules", str: "a text", bool: "`true` or `false`"}
    some = wish.values
    values = ", ".join(f"`{value}`" for value in some) if isinstance(some, tuple) else kinds[some]
    default = "what the project says" if wish.default is None else f"`{str(wish.default).lower()}`"
    assert f"| `{wish.key}` | {values} | {default} | {wish.means} |\n" in PAGE


def test_no_other_settings() -> None:
    table = PAGE[PAGE.index("## Settings") : PAGE.index("The commands")]
    assert table.count("\n| `") == len(WISHES)


def test_commands_and_kinds() -> None:
    pytest.importorskip("lsprotocol")
    from warplint.server.actions import EXPLAIN, FIX_ALL, PROBE, REPRODUCE

    for name in (EXPLAIN, PROBE, REPRODUCE):
        assert f"| `{name}` | " in PAGE
    assert f"`{FIX_ALL}`" in PAGE


@pytest.mark.parametrize("editor", EDITORS)
def test_every_editor_has_its_section(editor: str) -> None:
    assert f"\n## {editor}\n" in PAGE
