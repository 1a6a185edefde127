"""Which messages the server answers, and with what."""

from __future__ import annotations

import contextlib
import os
from typing import Any

from lsprotocol import types

from warplint.ir.facts import Finding
from warplint.server import messages, telling
from warplint.server.checking import Checked
from warplint.server.serving import EXPLAIN, PROBE, REPRODUCE, Document, Server


def connect(server: Server) -> None:
    """Register everything that ``server`` answers."""
    _texts(server)
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
            server.probe(document, unasked=True)

    @feature(types.TEXT_DOCUMENT_DID_CLOSE)
    def closed(params: types.DidCloseTextDocumentParams) -> None:
        server.closed(params.text_document.uri)


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
            patterns = ("**/*.py", "**/pyproject.toml", "**/warplint.toml")
            watchers = [types.FileSystemWatcher(pattern) for pattern in patterns]
            options = types.DidChangeWatchedFilesRegistrationOptions(watchers)
            method = types.WORKSPACE_DID_CHANGE_WATCHED_FILES
            server.language.client_register_capability(
                types.RegistrationParams([types.Registration("warplint-files", method, options)])
            )
        await server.ask_for_wishes()

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
    def shut(params: None) -> None:
        server.shut()


def _pull(server: Server) -> None:
    feature = server.language.feature

    @feature(
        types.TEXT_DOCUMENT_DIAGNOSTIC,
        types.DiagnosticOptions(inter_file_dependencies=True, workspace_diagnostics=True, identifier="warplint"),
    )
    async def diagnostic(params: types.DocumentDiagnosticParams) -> types.DocumentDiagnosticReport:
        answer = await server.answer(params.text_document.uri)
        if answer is None:
            return types.RelatedFullDocumentDiagnosticReport([])
        document, checked = answer
        number = f"{document.uri}#{document.answers}"
        if params.previous_result_id == number:
            return types.RelatedUnchangedDocumentDiagnosticReport(result_id=number)
        return types.RelatedFullDocumentDiagnosticReport(server.diagnostics(document), result_id=number)

    @feature(types.WORKSPACE_DIAGNOSTIC)
    async def everything(params: types.WorkspaceDiagnosticParams) -> types.WorkspaceDiagnosticReport:
        """Those of the open files."""
        known = {previous.uri: previous.value for previous in params.previous_result_ids}
        reports: list[types.WorkspaceFullDocumentDiagnosticReport | types.WorkspaceUnchangedDocumentDiagnosticReport]
        reports = []
        for uri in list(server.documents):
            answer = await server.answer(uri)
            if answer is None:
                continue
            document, checked = answer
            number = f"{uri}#{document.answers}"
            if known.get(uri) == number:
                reports.append(types.WorkspaceUnchangedDocumentDiagnosticReport(uri, number, version=document.version))
            else:
                items = server.diagnostics(document)
                reports.append(
                    types.WorkspaceFullDocumentDiagnosticReport(uri, items, version=document.version, result_id=number)
                )
        return types.WorkspaceDiagnosticReport(reports)


def _commands(server: Server) -> None:
    command = server.language.command

    @command(PROBE)
    async def probe(uri: str, name: str | None = None) -> None:
        document = server.documents.get(uri)
        if document is not None:
            await server.probe(document)
            if name is not None:
                await server.probe(document, [name])

    @command(EXPLAIN)
    async def explain(uri: str, rule: str) -> None:
        document = server.documents.get(uri)
        if document is not None:
            rules = await server.calculated(server.checker(document.path).rules, document.path)
            for one in rules:
                if one.id == rule:
                    await server.show(server.page(one))

    @command(REPRODUCE)
    async def reproduce(uri: str, rule: str, line: int) -> None:
        document = server.documents.get(uri)
        if document is not None:
            await server.reproduce(document, rule, line)


def _questions(server: Server) -> None:
    feature = server.language.feature

    @feature(types.TEXT_DOCUMENT_HOVER)
    async def hover(params: types.HoverParams) -> types.Hover | None:
        answer = await server.answer(params.text_document.uri)
        if answer is None:
            return None
        _, checked = answer
        lines = checked.text.split("\n")
        line, column = params.position.line + 1, messages.column(lines, params.position, server.encoding)
        told = [
            telling.of_finding(finding, checked.rules.get(finding.rule))
            for finding, _ in server.findings(checked)
            if _holds(finding, checked, line, column)
        ]
        rules = await server.calculated(server.checker(checked.path).rules, checked.path)
        comment = telling.of_comment(checked, rules, line, column)
        found = await server.calculated(telling.definition_at, checked, line, column)
        proved = server.adjoint(checked, found.qualname) if found is not None else None
        name = await server.calculated(telling.of_name, checked, line, column, proved)
        told += [text for text in (comment, name) if text is not None]
        if not told:
            return None
        return types.Hover(types.MarkupContent(types.MarkupKind.Markdown, "\n\n---\n\n".join(told)))

    @feature(
        types.TEXT_DOCUMENT_CODE_ACTION,
        types.CodeActionOptions(code_action_kinds=[types.CodeActionKind.QuickFix, types.CodeActionKind.Empty]),
    )
    async def actions(params: types.CodeActionParams) -> list[types.CodeAction]:
        answer = await server.answer(params.text_document.uri)
        if answer is None:
            return []
        document, checked = answer
        first, last = params.range.start.line + 1, params.range.end.line + 1
        found: list[types.CodeAction] = []
        for finding, _ in server.findings(checked):
            span = finding.location.span
            if finding.location.path == checked.path and span.line <= last and span.end_line >= first:
                found += _actions(server, document, checked, finding)
        for name, line, _ in checked.kernels:
            region = checked.module.region_at(line) if checked.module is not None else None
            if region is not None and region.line <= last and region.end_line >= first:
                title = f"Probe the kernel `{name}`"
                found.append(_action(title, PROBE, [document.uri, name]))
        only = params.context.only
        if only is not None:
            found = [one for one in found if any(str(one.kind or "").startswith(str(kind)) for kind in only)]
        return found

    @feature(types.TEXT_DOCUMENT_CODE_LENS)
    async def lenses(params: types.CodeLensParams) -> list[types.CodeLens]:
        answer = await server.answer(params.text_document.uri)
        if answer is None:
            return []
        document, checked = answer
        found = []
        for name, line, _ in checked.kernels:
            title = f"adjoint: {server.adjoint(checked, name)}"
            where = types.Range(types.Position(line - 1, 0), types.Position(line - 1, 0))
            found.append(types.CodeLens(where, types.Command(title, PROBE, arguments=[document.uri, name])))
        return found


def _holds(finding: Finding, checked: Checked, line: int, column: int) -> bool:
    span = finding.location.span
    here = finding.location.path == checked.path
    return here and (span.line, span.column) <= (line, column) <= (span.end_line, span.end_column)


def _actions(server: Server, document: Document, checked: Checked, finding: Finding) -> list[types.CodeAction]:
    rule, diagnostics = finding.rule, [server.diagnostic(finding, checked)]
    found: list[types.CodeAction] = list(_fixes(finding))
    # A comment about a comment would be one more to maintain.
    edit = server.suppression(document, checked, finding) if not rule.startswith("WP0") else None
    if edit is not None:
        title = f"Suppress {rule} here, with a reason"
        found.append(types.CodeAction(title, types.CodeActionKind.QuickFix, diagnostics, edit=edit))
    found.append(_action(f"Explain {rule} ({finding.name})", EXPLAIN, [document.uri, rule], diagnostics))
    if checked.rules[rule].probe.kind != "none":
        arguments = [document.uri, rule, finding.location.span.line]
        found.append(_action(f"Write a script that shows {rule}", REPRODUCE, arguments, diagnostics))
    return found


def _fixes(finding: Finding) -> list[types.CodeAction]:
    """The fixes of a finding. Findings have none so far."""
    return []


def _action(
    title: str, command: str, arguments: list[Any], diagnostics: list[types.Diagnostic] | None = None
) -> types.CodeAction:
    kind = types.CodeActionKind.QuickFix if diagnostics else types.CodeActionKind.Empty
    return types.CodeAction(title, kind, diagnostics, command=types.Command(title, command, arguments=arguments))
