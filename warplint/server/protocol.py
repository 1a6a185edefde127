"""The protocol as pygls has it, but for the texts themselves."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from lsprotocol import types
from pygls.lsp.server import LanguageServer
from pygls.protocol import LanguageServerProtocol, lsp_method

from warplint import __version__

#: Sent for notebooks whose kernel is Python.
_NOTEBOOKS = types.NotebookDocumentSyncOptions(
    notebook_selector=[
        types.NotebookDocumentFilterWithNotebook(
            notebook=types.NotebookDocumentFilterNotebookType(notebook_type="jupyter-notebook"),
            cells=[types.NotebookCellLanguage(language="python")],
        )
    ],
    save=True,
)


class Protocol(LanguageServerProtocol):
    """pygls's, but for its own copy of the texts: it takes a form feed for the end of a line, and it changes positions
    that lie beyond."""

    @lsp_method(types.TEXT_DOCUMENT_DID_CHANGE)
    def lsp_text_document__did_change(
        self, params: types.DidChangeTextDocumentParams
    ) -> Iterator[tuple[Any, tuple[types.DidChangeTextDocumentParams], None]]:
        """Hand the changes on."""
        yield self.fm.features[types.TEXT_DOCUMENT_DID_CHANGE], (params,), None

    @lsp_method(types.NOTEBOOK_DOCUMENT_DID_CHANGE)
    def lsp_notebook_document__did_change(
        self, params: types.DidChangeNotebookDocumentParams
    ) -> Iterator[tuple[Any, tuple[types.DidChangeNotebookDocumentParams], None]]:
        """Hand the changes on."""
        yield self.fm.features[types.NOTEBOOK_DOCUMENT_DID_CHANGE], (params,), None


def language_server() -> LanguageServer:
    """A server that answers nothing yet."""
    return LanguageServer("warplint", __version__, notebook_document_sync=_NOTEBOOKS, protocol_cls=Protocol)
