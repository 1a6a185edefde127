"""What can be done about a finding, or about a kernel: code actions and the edits that they make."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from lsprotocol import types

from warplint.fixing.writing import choose, fitting
from warplint.ignoring import with_comments
from warplint.ir.facts import Finding
from warplint.ir.fixes import Edit
from warplint.ir.spans import Location, Span
from warplint.server import messages
from warplint.server.checking import Checked
from warplint.server.documents import Document

if TYPE_CHECKING:
    from warplint.server.serving import Server

PROBE, EXPLAIN, REPRODUCE = "warplint.probe", "warplint.explain", "warplint.reproduce"
FIX_ALL = "source.fixAll.warplint"

KINDS: list[types.CodeActionKind | str] = [types.CodeActionKind.QuickFix, FIX_ALL, types.CodeActionKind.Empty]

#: What stands in a comment until somebody says better.
REASON = "TODO: say why"


async def offered(
    server: Server, document: Document, checked: Checked, params: types.CodeActionParams
) -> list[types.CodeAction]:
    """Everything that can be done about a range of a text."""
    uri, only = params.text_document.uri, params.context.only
    first, last = (checked.line(uri, place.line + 1) for place in (params.range.start, params.range.end))
    if first is None or last is None:
        return []
    wanted = [finding for finding, _ in server.prober.findings(checked) if finding.location.path == checked.path]
    here = [
        finding for finding in wanted if finding.location.span.line <= last and finding.location.span.end_line >= first
    ]
    found: list[types.CodeAction] = []
    if _asks_for(only, types.CodeActionKind.QuickFix):
        here = await server.prober.with_fixes(checked, here)
        for finding in here:
            found += await _about(server, document, checked, finding)
    if _asks_for(only, FIX_ALL):
        found += _fix_all(server, document, checked, wanted)
    for name, line, _ in checked.kernels:
        region = checked.module.region_at(line) if checked.module is not None else None
        if region is not None and region.line <= last and region.end_line >= first and only is None:
            found.append(_command(f"Probe the kernel `{name}`", PROBE, [document.uri, name]))
    return found


async def resolved(server: Server, action: types.CodeAction) -> types.CodeAction:
    """``action`` with its edit, if its text is still the one that it was offered for."""
    said: Any = action.data
    answer = await server.answer(said["uri"]) if isinstance(said, dict) and "uri" in said else None
    if answer is None or answer[0].version != said["version"]:
        return action
    document, checked = answer
    for finding, _ in server.prober.findings(checked):
        if finding.rule == said["rule"] and list(finding.location.span) == said["span"]:
            action.edit = await _suppression(server, document, checked, finding)
    return action


def _asks_for(only: Sequence[types.CodeActionKind | str] | None, kind: types.CodeActionKind | str) -> bool:
    """Whether actions of a kind are wanted, by their own name or by that of a kind above."""
    name = str(getattr(kind, "value", kind))
    wanted = [str(getattr(one, "value", one)) for one in only] if only is not None else [""]
    return any(one == "" or name == one or name.startswith(f"{one}.") for one in wanted)


async def _about(server: Server, document: Document, checked: Checked, finding: Finding) -> list[types.CodeAction]:
    rule, diagnostics = finding.rule, [server.diagnostic(finding, checked)]
    found: list[types.CodeAction] = []
    if finding.fix is not None:
        safe = finding.fix.applicability == "safe"
        edit = _edit(server, document, checked, finding.fix.edits)
        if edit is not None:
            title = finding.fix.message if safe else f"Unsafe: {finding.fix.message}"
            kind = types.CodeActionKind.QuickFix
            found.append(types.CodeAction(title, kind, diagnostics, is_preferred=safe, edit=edit))
    # A comment about a comment would be one more to maintain.
    if not rule.startswith("WP0"):
        suppress = types.CodeAction(f"Suppress {rule} here, with a reason", types.CodeActionKind.QuickFix, diagnostics)
        if _resolves(server):
            place = {"uri": document.uri, "version": document.version}
            suppress.data = {**place, "rule": rule, "span": list(finding.location.span)}
            found.append(suppress)
        else:
            suppress.edit = await _suppression(server, document, checked, finding)
            found += [suppress] if suppress.edit is not None else []
    found.append(_command(f"Explain {rule} ({finding.name})", EXPLAIN, [document.uri, rule], diagnostics))
    if checked.rules[rule].probe.kind != "none":
        arguments = [document.uri, rule, finding.location.span.line]
        found.append(_command(f"Write a script that shows {rule}", REPRODUCE, arguments, diagnostics))
    return found


def _fix_all(
    server: Server, document: Document, checked: Checked, findings: Iterable[Finding]
) -> list[types.CodeAction]:
    """One action for all fixes that a probe saw mend something."""
    chosen = choose(findings, unsafe=False)
    edits = chosen.edits.get(checked.path, [])
    if not edits or fitting(checked.path, checked.text, edits) is None:
        return []
    edit = _edit(server, document, checked, edits)
    return [types.CodeAction("Fix all that warplint has proved", FIX_ALL, edit=edit)] if edit is not None else []


def _command(
    title: str, command: str, arguments: list[Any], diagnostics: list[types.Diagnostic] | None = None
) -> types.CodeAction:
    kind = types.CodeActionKind.QuickFix if diagnostics else types.CodeActionKind.Empty
    return types.CodeAction(title, kind, diagnostics, command=types.Command(title, command, arguments=arguments))


def _resolves(server: Server) -> bool:
    """Whether the editor asks for edits once they are chosen."""
    text = server.language.client_capabilities.text_document
    action = text.code_action if text is not None else None
    later = action.resolve_support if action is not None else None
    return later is not None and "edit" in later.properties and bool(action and action.data_support)


async def _suppression(
    server: Server, document: Document, checked: Checked, finding: Finding
) -> types.WorkspaceEdit | None:
    """The edit that writes a comment for a finding."""
    before = checked.text.split("\n")
    after = (await server.calculated(with_comments, checked.text, [finding], REASON)).split("\n")
    changed = [number for number, (old, new) in enumerate(zip(before, after, strict=True), 1) if old != new]
    edits = []
    for number in changed:
        _, path, line = checked.part(number)
        if checked.lines(path)[line - 1] != before[number - 1]:
            return None  # what Python sees of this line is not what stands there
        edits.append(Edit(_line(checked, number, before[number - 1]), after[number - 1]))
    return _edit(server, document, checked, edits)


def _line(checked: Checked, number: int, text: str) -> Location:
    return Location(checked.path, Span(number, 1, number, len(text) + 1))


def _edit(server: Server, document: Document, checked: Checked, edits: Iterable[Edit]) -> types.WorkspaceEdit | None:
    """``edits`` of a text, or of the cells of a notebook, for the editor; None where there are none."""
    found: dict[str, list[types.TextEdit | types.AnnotatedTextEdit | types.SnippetTextEdit]] = {}
    newline = "\r\n" if "\r\n" in document.text else "\n"
    for edit in edits:
        span = edit.location.span
        uri, path, line = checked.part(span.line)
        place = Location(path, Span(line, span.column, line + span.end_line - span.line, span.end_column))
        where = messages.range_of(place, checked, server.encoding)
        found.setdefault(uri or document.uri, []).append(types.TextEdit(where, edit.text.replace("\n", newline)))
    if not found:
        return None
    workspace = server.language.client_capabilities.workspace
    known = workspace.workspace_edit if workspace is not None else None
    if known is None or not known.document_changes:
        return types.WorkspaceEdit(changes=found)  # type: ignore[arg-type]
    return types.WorkspaceEdit(
        document_changes=[
            types.TextDocumentEdit(types.OptionalVersionedTextDocumentIdentifier(uri, document.version_of(uri)), some)
            for uri, some in found.items()
        ]
    )
