"""What real editors say that they can do, with pytest-lsp, which holds the server to it."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pytest

pytest.importorskip("pytest_lsp")

import pytest_lsp
from command import environment
from lsprotocol import types
from programs import IN_PLACE

#: One of each family: pushed and pulled diagnostics, UTF-16 and UTF-8 columns, with and without versions of edits.
EDITORS = ("visual_studio_code", "neovim@v0.7.0", "neovim@v0.11.0", "emacs")


def capabilities(editor: str) -> types.ClientCapabilities:
    found: types.ClientCapabilities = pytest_lsp.client_capabilities(editor)
    return found


@pytest.mark.parametrize("editor", EDITORS)
def test_a_short_session(editor: str, tmp_path: Path) -> None:
    path = tmp_path / "light.py"
    path.write_text(IN_PLACE)
    asyncio.run(asyncio.wait_for(session(capabilities(editor), tmp_path, path), 300))


async def session(able: types.ClientCapabilities, root: Path, path: Path) -> None:
    command = [sys.executable, "-m", "warplint", "server"]
    client = await pytest_lsp.ClientServerConfig(server_command=command, server_env=dict(environment())).start()
    client.set_configuration({"probe": "off"}, section="warplint")
    started = await client.initialize_session(
        types.InitializeParams(
            capabilities=able,
            root_uri=root.as_uri(),
            workspace_folders=[types.WorkspaceFolder(root.as_uri(), "light")],
            initialization_options={"probe": "off"},
        )
    )
    uri, version = path.as_uri(), 1
    text = types.TextDocumentIdentifier(uri)

    async def found() -> list[tuple[object, int]]:
        if started.capabilities.diagnostic_provider is not None:
            report = await client.text_document_diagnostic_async(types.DocumentDiagnosticParams(text))
            return [(one.code, one.range.start.line) for one in report.items]
        return [(one.code, one.range.start.line) for one in client.diagnostics.get(uri, ())]

    async def comes(wanted: list[tuple[object, int]]) -> None:
        while await found() != wanted:
            assert client.error is None
            await asyncio.sleep(0.05)

    def changed(new: str) -> None:
        nonlocal version
        version += 1
        client.text_document_did_change(
            types.DidChangeTextDocumentParams(
                types.VersionedTextDocumentIdentifier(version, uri),
                [types.TextDocumentContentChangeWholeDocument(new)],
            )
        )

    document = types.TextDocumentItem(uri, "python", version, IN_PLACE)
    client.text_document_did_open(types.DidOpenTextDocumentParams(document))
    await comes([("WP101", 6)])
    changed("# above\n" + IN_PLACE)
    await comes([("WP101", 7)])
    changed(IN_PLACE.replace("*=", "="))
    await comes([])
    changed(IN_PLACE)
    await comes([("WP101", 6)])

    here = types.Position(6, 6)
    hover = await client.text_document_hover_async(types.HoverParams(text, here))
    assert hover is not None and "WP101" in hover.contents.value
    actions = await client.text_document_code_action_async(
        types.CodeActionParams(text, types.Range(here, here), types.CodeActionContext([]))
    )
    (suppress,) = [one for one in actions if one.title.startswith("Suppress")]
    if suppress.edit is None:
        suppress = await client.code_action_resolve_async(suppress)
    edits = suppress.edit.document_changes or suppress.edit.changes
    versions = able.workspace is not None and able.workspace.workspace_edit is not None
    if versions and able.workspace.workspace_edit.document_changes:  # type: ignore[union-attr]
        assert edits[0].text_document.version == version
    assert edits

    await client.shutdown_session()
    await client.stop()
    assert client.error is None
