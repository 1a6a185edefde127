"""Which messages the server answers, and with what."""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path

from lsprotocol import types
from pygls.uris import to_fs_path

from warplint.ir.facts import Finding
from warplint.server import actions, messages, telling
from warplint.server.actions import EXPLAIN, PROBE, REPRODUCE
from warplint.server.cells import Cell
from warplint.server.checking import Checked
from warplint.server.documents import Document
from warplint.server.serving import Server
from warplint.settings.declared import ASKING, LOCKS


def connect(server: Server) -> None:
    """Register everything that ``server`` answers."""
    _texts(server)
    _notebooks(server)
    _settings(server)
    _commands(server)
    _questions(server)


def _texts(server: Server) -> None:
    feature = server.language.feature

    @feature(types.TEXT_DOCUMENT_DID_OPEN)
    def opened(params: types.DidOpenTextDocumentParams) -> None:
        document = params.text_document
        server.opened(document.uri, document.version, document.text)

    @feature(types.TEXT_DOCUMENT_DID_CHANGE)
    def changed(params: types.DidChangeTextDocumentParams) -> None:
        document = server.documents.get(params.text_document.uri)
        if document is not None:
            text = document.text
            for change in params.content_changes:
                text = messages.changed(text, change, server.encoding)
            server.opened(document.uri, params.text_document.version, text)

    @feature(types.TEXT_DOCUMENT_DID_SAVE)
    def saved(params: types.DidSaveTextDocumentParams) -> None:
        document = server.documents.get(params.text_document.uri)
        if document is None:
            server.files_changed()  # perhaps the configuration
            return
        if server.asked.probe == "save":
            server.prober.probe(document, unasked=True)
        server.survey.again()

    @feature(types.TEXT_DOCUMENT_DID_CLOSE)
    def closed(params: types.DidCloseTextDocumentParams) -> None:
        server.closed(params.text_document.uri)


def _notebooks(server: Server) -> None:
    feature = server.language.feature

    @feature(types.NOTEBOOK_DOCUMENT_DID_OPEN)
    def opened(params: types.DidOpenNotebookDocumentParams) -> None:
        book = params.notebook_document
        server.opened_cells(book.uri, book.version, _cells(book.cells, params.cell_text_documents))

    @feature(types.NOTEBOOK_DOCUMENT_DID_CHANGE)
    def changed(params: types.DidChangeNotebookDocumentParams) -> None:
        document = server.documents.get(params.notebook_document.uri)
        if document is None or document.pad is None:
            return
        pad, cells = document.pad, params.change.cells
        structure = cells.structure if cells is not None else None
        if structure is not None:
            array = structure.array
            pad.replace(array.start, array.delete_count, _cells(array.cells or (), structure.did_open or ()))
        for one in (cells.data or ()) if cells is not None else ():
            found = pad.cell(one.document)
            if found is not None:
                found.code = one.kind == types.NotebookCellKind.Code
        for content in (cells.text_content or ()) if cells is not None else ():
            found = pad.cell(content.document.uri)
            if found is not None:
                for change in content.changes:
                    found.text = messages.changed(found.text, change, server.encoding)
                found.version = content.document.version
        server.cells_changed(document, params.notebook_document.version)

    @feature(types.NOTEBOOK_DOCUMENT_DID_SAVE)
    def saved(params: types.DidSaveNotebookDocumentParams) -> None:
        document = server.documents.get(params.notebook_document.uri)
        if document is not None and server.asked.probe == "save":
            server.prober.probe(document, unasked=True)

    @feature(types.NOTEBOOK_DOCUMENT_DID_CLOSE)
    def closed(params: types.DidCloseNotebookDocumentParams) -> None:
        server.closed(params.notebook_document.uri)


def _cells(cells: Iterable[types.NotebookCell], texts: Iterable[types.TextDocumentItem]) -> list[Cell]:
    """Cells with the texts that came along; one without is known already."""
    found = {text.uri: text for text in texts}
    made = []
    for cell in cells:
        code, text = cell.kind == types.NotebookCellKind.Code, found.get(cell.document)
        if text is None:
            made.append(Cell(cell.document, code))
        else:
            python = text.language_id in ("python", "ipython")
            made.append(Cell(cell.document, code and python, text.version, text.text))
    return made


def _settings(server: Server) -> None:
    feature = server.language.feature

    @feature(types.INITIALIZE)
    def initialize(params: types.InitializeParams) -> None:
        text = params.capabilities.text_document
        workspace = params.capabilities.workspace
        refreshes = (
            workspace is not None and workspace.diagnostics is not None and workspace.diagnostics.refresh_support
        )
        # An editor that only pulls would never hear what the probe found.
        server.pulls = text is not None and text.diagnostic is not None and bool(refreshes)
        if server.pulls:
            _pull(server)
        root = server.language.workspace.root_path
        if root:
            with contextlib.suppress(OSError):
                os.chdir(root)  # paths are shown, and imports are looked for, as on a command line there
        server.wish(params.initialization_options)

    @feature(types.INITIALIZED)
    async def initialized(params: types.InitializedParams) -> None:
        server.warm()
        workspace = server.language.client_capabilities.workspace
        watched = workspace.did_change_watched_files if workspace is not None else None
        if watched is not None and watched.dynamic_registration:
            patterns = ("**/*.py", "**/warplint.toml", *(f"**/{name}" for name in (*LOCKS, *ASKING)))
            watchers = [types.FileSystemWatcher(pattern) for pattern in patterns]
            options = types.DidChangeWatchedFilesRegistrationOptions(watchers)
            method = types.WORKSPACE_DID_CHANGE_WATCHED_FILES
            server.language.client_register_capability(
                types.RegistrationParams([types.Registration("warplint-files", method, options)])
            )
        server.started = True
        await server.ask_for_wishes()
        server.survey.again()

    @feature(types.WORKSPACE_DID_CHANGE_CONFIGURATION)
    async def configured(params: types.DidChangeConfigurationParams) -> None:
        if params.settings:
            server.wish(params.settings)
        else:
            await server.ask_for_wishes()

    @feature(types.WORKSPACE_DID_CHANGE_WATCHED_FILES)
    def files(params: types.DidChangeWatchedFilesParams) -> None:
        server.files_changed()

    @feature(types.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS)
    def folders(params: types.DidChangeWorkspaceFoldersParams) -> None:
        server.files_changed()

    @feature(types.SHUTDOWN)
    async def shut(params: None) -> None:
        await server.shut()


def _pull(server: Server) -> None:
    feature = server.language.feature

    @feature(
        types.TEXT_DOCUMENT_DIAGNOSTIC,
        types.DiagnosticOptions(inter_file_dependencies=True, workspace_diagnostics=True, identifier="warplint"),
    )
    async def diagnostic(params: types.DocumentDiagnosticParams) -> types.DocumentDiagnosticReport:
        uri = params.text_document.uri
        answer = await server.answer(uri)
        if answer is None:
            return types.RelatedFullDocumentDiagnosticReport(_unopened(server, uri))
        document, _ = answer
        number = f"{uri}#{document.answers}"
        if params.previous_result_id == number:
            return types.RelatedUnchangedDocumentDiagnosticReport(result_id=number)
        return types.RelatedFullDocumentDiagnosticReport(server.diagnostics(document).get(uri, []), result_id=number)

    @feature(types.WORKSPACE_DIAGNOSTIC)
    async def everything(params: types.WorkspaceDiagnosticParams) -> types.WorkspaceDiagnosticReport:
        """Those of the open files, and of the others where that is wanted."""
        known = {previous.uri: previous.value for previous in params.previous_result_ids}
        reports: list[types.WorkspaceFullDocumentDiagnosticReport | types.WorkspaceUnchangedDocumentDiagnosticReport]
        reports = []

        def report(uri: str, version: int | None, number: str, items: Callable[[], list[types.Diagnostic]]) -> None:
            if known.get(uri) == number:
                reports.append(types.WorkspaceUnchangedDocumentDiagnosticReport(uri, number, version=version))
            else:
                reports.append(
                    types.WorkspaceFullDocumentDiagnosticReport(uri, items(), version=version, result_id=number)
                )

        for name in list(server.documents):
            answer = await server.answer(name)
            if answer is not None:
                document, told = answer[0], server.diagnostics(answer[0])
                for uri, some in told.items():
                    report(uri, document.version_of(uri), f"{uri}#{document.answers}", partial(list, some))
        said = {one.uri for one in reports}
        for path in server.survey.files():
            if server.open_at(path) is None:
                uri, some = path.as_uri(), _unopened(server, path.as_uri())
                report(uri, None, f"{uri}#{_digest(some)}", partial(list, some))
                said.add(uri)
        # What was told of others does not hold any more.
        for uri, number in known.items():
            if uri not in said and number != f"{uri}#none":
                report(uri, None, f"{uri}#none", list)
        return types.WorkspaceDiagnosticReport(reports)


def _unopened(server: Server, uri: str) -> list[types.Diagnostic]:
    name = to_fs_path(uri) if uri.startswith("file:") else None
    return [one for _, one in server.in_file(Path(name))] if name is not None else []


def _digest(found: list[types.Diagnostic]) -> str:
    return hashlib.sha256(repr(found).encode("utf-8", "replace")).hexdigest()[:16]


def _commands(server: Server) -> None:
    command = server.language.command

    @command(PROBE)
    async def probe(uri: str, name: str | None = None) -> None:
        document = server.document(uri)
        if document is not None:
            await server.prober.probe(document)
            if name is not None:
                await server.prober.probe(document, [name])

    @command(EXPLAIN)
    async def explain(uri: str, rule: str) -> None:
        document = server.document(uri)
        if document is not None:
            rules = await server.calculated(server.checker(document.path).rules, document.path)
            for one in rules:
                if one.id == rule:
                    await _show(server, server.pages.of(one))

    @command(REPRODUCE)
    async def reproduce(uri: str, rule: str, line: int) -> None:
        document = server.document(uri)
        if document is not None:
            await _reproduce(server, document, rule, line)


async def _show(server: Server, uri: str) -> None:
    """Have the editor open something."""
    window = server.language.client_capabilities.window
    if window is not None and window.show_document is not None and window.show_document.support:
        await server.language.window_show_document_async(types.ShowDocumentParams(uri, take_focus=True))
    else:
        name = to_fs_path(uri) or uri
        server.language.window_show_message(types.ShowMessageParams(types.MessageType.Info, name))


async def _reproduce(server: Server, document: Document, rule: str, line: int) -> None:
    """Write a script that shows a finding, and open it."""
    await server.prober.probe(document, emit=str(server.pages.folder))
    answer = await server.answer(document.uri)
    for finding, _ in server.prober.findings(answer[1]) if answer is not None else ():
        script = finding.evidence.reproduce
        if finding.rule == rule and finding.location.span.line == line and script is not None:
            await _show(server, Path(script).as_uri())
            return
    message = f"there is no script for {rule} on line {line}: its probe decided nothing"
    server.language.window_show_message(types.ShowMessageParams(types.MessageType.Info, message))


def _questions(server: Server) -> None:
    feature = server.language.feature

    @feature(types.TEXT_DOCUMENT_HOVER)
    async def hover(params: types.HoverParams) -> types.Hover | None:
        uri = params.text_document.uri
        answer = await server.answer(uri)
        line = answer[1].line(uri, params.position.line + 1) if answer is not None else None
        if answer is None or line is None:
            return None
        _, checked = answer
        lines = checked.text.split("\n")
        place = types.Position(line - 1, params.position.character)
        column = messages.column(lines, place, server.encoding)
        told = [
            telling.of_finding(finding, checked.rules.get(finding.rule))
            for finding, _ in server.prober.findings(checked)
            if _holds(finding, checked, line, column)
        ]
        rules = await server.calculated(server.checker(checked.path).rules, checked.path)
        comment = telling.of_comment(checked, rules, line, column)
        found = await server.calculated(telling.definition_at, checked, line, column)
        proved = server.prober.adjoint(checked, found.qualname) if found is not None else None
        name = await server.calculated(telling.of_name, checked, line, column, proved)
        told += [text for text in (comment, name) if text is not None]
        if not told:
            return None
        return types.Hover(types.MarkupContent(types.MarkupKind.Markdown, "\n\n---\n\n".join(told)))

    @feature(
        types.TEXT_DOCUMENT_CODE_ACTION,
        types.CodeActionOptions(code_action_kinds=actions.KINDS, resolve_provider=True),
    )
    async def offered(params: types.CodeActionParams) -> list[types.CodeAction]:
        answer = await server.answer(params.text_document.uri)
        return await actions.offered(server, *answer, params) if answer is not None else []

    @feature(types.CODE_ACTION_RESOLVE)
    async def resolved(params: types.CodeAction) -> types.CodeAction:
        return await actions.resolved(server, params)

    @feature(types.TEXT_DOCUMENT_CODE_LENS)
    async def lenses(params: types.CodeLensParams) -> list[types.CodeLens]:
        answer = await server.answer(params.text_document.uri)
        if answer is None:
            return []
        document, checked = answer
        found = []
        for name, line, _ in checked.kernels:
            cell, _, line = checked.part(line)
            if cell is not None and cell != params.text_document.uri:
                continue
            title = f"adjoint: {server.prober.adjoint(checked, name)}"
            where = types.Range(types.Position(line - 1, 0), types.Position(line - 1, 0))
            found.append(types.CodeLens(where, types.Command(title, PROBE, arguments=[document.uri, name])))
        return found


def _holds(finding: Finding, checked: Checked, line: int, column: int) -> bool:
    span = finding.location.span
    here = finding.location.path == checked.path
    return here and (span.line, span.column) <= (line, column) <= (span.end_line, span.end_column)
