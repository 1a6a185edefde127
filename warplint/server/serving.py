"""The server: what an editor says, what it is answered, and when."""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from lsprotocol import types
from pygls.lsp.server import LanguageServer
from pygls.protocol import LanguageServerProtocol, lsp_method
from pygls.uris import from_fs_path, to_fs_path

from warplint import __version__
from warplint.catalogue.rule import Rule
from warplint.ignoring import with_comments
from warplint.ir.facts import Evidence, Finding, Problem
from warplint.ir.spans import Span
from warplint.processes import relax_collector
from warplint.report.lsp import Encoding
from warplint.report.texts import markdown_page
from warplint.server import messages
from warplint.server.checking import Asked, Checked, Checker
from warplint.server.incremental import Superseded
from warplint.server.proving import Order, evidence_of, ordered
from warplint.server.wishes import asked_for

Result = TypeVar("Result")

PROBE, EXPLAIN, REPRODUCE = "warplint.probe", "warplint.explain", "warplint.reproduce"

#: What stands in a comment until somebody says better.
REASON = "TODO: say why"

# Pieces of evidence that are remembered, for all files together.
_REMEMBERED = 5000

# How long an editor may take to show a progress bar, in seconds.
_PATIENCE = 2.0


@dataclass(slots=True)
class Document:
    """One open text, and the newest answer."""

    uri: str
    path: Path
    version: int | None
    text: str
    checked: Checked | None = None
    #: Whether ``checked`` is about ``text``.
    current: bool = False
    #: Counts the reasons for an answer: changes of the text, and of what it rests on.
    asked: int = 0
    #: Other files that hold findings of this one.
    elsewhere: set[Path] = field(default_factory=set)
    task: asyncio.Task[None] | None = None
    probe: asyncio.Task[None] | None = None
    settled: asyncio.Event = field(default_factory=asyncio.Event)
    #: The version that was answered last.
    told: int | None = None
    #: Counts the answers.
    answers: int = 0


class Protocol(LanguageServerProtocol):
    """pygls's, but for its own copy of the texts: it takes a form feed for the end of a line, and it changes positions
    that lie beyond."""

    @lsp_method(types.TEXT_DOCUMENT_DID_CHANGE)
    def lsp_text_document__did_change(
        self, params: types.DidChangeTextDocumentParams
    ) -> Iterator[tuple[Any, tuple[types.DidChangeTextDocumentParams], None]]:
        """Hand the changes on."""
        yield self.fm.features[types.TEXT_DOCUMENT_DID_CHANGE], (params,), None


class Server:
    """The state behind the protocol. Everything but the analysis itself runs in the loop's thread."""

    def __init__(self) -> None:
        self.language = LanguageServer("warplint", __version__, protocol_cls=Protocol)
        self.documents: dict[str, Document] = {}
        self.evidence: dict[object, Evidence] = {}
        self._wishes: Mapping[str, Any] = {}
        self._checkers: dict[Path, Checker] = {}
        self._worker = ThreadPoolExecutor(1, "analysis")
        self._probing = asyncio.Lock()
        self._tasks: set[asyncio.Task[Any]] = set()
        self._pages: dict[str, str] = {}
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._told: set[str] = set()
        self.pulls = False

    # --- texts ---

    @property
    def encoding(self) -> Encoding:
        """The units of columns that were agreed on."""
        agreed = self.language.workspace.position_encoding
        return "utf-8" if agreed == "utf-8" else "utf-32" if agreed == "utf-32" else "utf-16"

    @property
    def asked(self) -> Asked:
        """The editor's settings."""
        return asked_for(self._wishes)

    def opened(self, uri: str, version: int | None, text: str) -> None:
        """A text was opened, or changed."""
        name = to_fs_path(uri) if uri.startswith("file:") else None
        if name is None or not name.endswith(".py"):
            return
        document = self.documents.get(uri)
        if document is None:
            document = self.documents[uri] = Document(uri, Path(os.path.abspath(name)), version, text)
        document.version, document.text = version, text
        self.again(document)
        self._others_again(document.path)

    def closed(self, uri: str) -> None:
        """A text was closed: what was said about it goes."""
        document = self.documents.pop(uri, None)
        if document is None:
            return
        for task in (document.task, document.probe):
            if task is not None:
                task.cancel()
        document.settled.set()
        self.checker(document.path).forget(document.path)
        if not self.pulls:
            self.language.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, []))
        document.checked = None
        self._elsewhere(document)
        self._others_again(document.path)

    def again(self, document: Document) -> None:
        """The newest answer about a text is out of date."""
        document.asked += 1
        document.current = False
        document.settled.clear()
        if document.task is None or document.task.done():
            document.task = self._start(self._check(document))

    def all_again(self) -> None:
        """Everything may have changed."""
        for document in self.documents.values():
            self.again(document)

    def checker(self, path: Path) -> Checker:
        """What answers for a file: one for each folder of the workspace."""
        folders = [to_fs_path(uri) for uri in self.language.workspace.folders]
        if self.language.workspace.root_path:
            folders.append(self.language.workspace.root_path)
        above = [Path(name) for name in folders if name is not None and path.is_relative_to(name)]
        root = max(above, key=lambda folder: len(folder.parts)) if above else path.parent
        if root not in self._checkers:
            self._checkers[root] = Checker(root, self.asked)
        return self._checkers[root]

    async def _check(self, document: Document) -> None:
        while not document.current and self.documents.get(document.uri) is document:
            text, asked = document.text, document.asked
            checker = self.checker(document.path)
            contents = {
                other.path: other.text.encode("utf-8", "surrogatepass")
                for other in self.documents.values()
                if other is not document
            }

            def superseded(asked: int = asked) -> None:
                if document.asked != asked:
                    raise Superseded

            try:
                checked = await self.calculated(checker.check, document.path, text, contents, superseded)
            except Superseded:
                continue
            except Exception as error:  # a mistake of ours costs this answer only
                checker.forget(document.path)
                what = f"internal error: {type(error).__name__}: {error}; please report it, the file is not linted"
                checked = Checked(document.path, text, problems=(Problem(str(document.path), what),))
            if document.asked != asked:
                continue
            document.checked, document.current = checked, True
            document.answers += 1
            self._complain(checker)
            document.settled.set()
            self.publish(document)
            if self.pulls and document.told == document.version:
                self.language.workspace_diagnostic_refresh(None)  # the text is the same, the answer may not be
            document.told = document.version
            self._elsewhere(document)

    def _others_again(self, path: Path) -> None:
        """The answers about texts that use the file at ``path`` are out of date."""
        for other in self.documents.values():
            if other.path != path and self.checker(other.path).uses(other.path, path):
                self.again(other)

    def _elsewhere(self, document: Document) -> None:
        """What is found from one text may stand in another file: publish what has changed there."""
        own = document.checked.findings if document.checked is not None else ()
        paths = {finding.location.path for finding in own} - {document.path}
        before, document.elsewhere = document.elsewhere, paths
        for path in paths | before:
            opened = next((other for other in self.documents.values() if other.path == path), None)
            if opened is not None:
                self.refresh(opened)
            elif not self.pulls:
                told = self._diagnostics_in(path)
                self.language.text_document_publish_diagnostics(types.PublishDiagnosticsParams(path.as_uri(), told))

    async def calculated(self, function: Callable[..., Result], *arguments: Any) -> Result:
        """Run something long beside the loop; one at a time, since projects are shared."""
        return await asyncio.get_running_loop().run_in_executor(self._worker, partial(function, *arguments))

    async def answer(self, uri: str) -> tuple[Document, Checked] | None:
        """The answer about the newest version of a text, once it is there."""
        document = self.documents.get(uri)
        while document is not None and not document.current:
            await document.settled.wait()
            document = self.documents.get(uri)
        return (document, document.checked) if document is not None and document.checked is not None else None

    # --- diagnostics ---

    def findings(self, checked: Checked) -> list[tuple[Finding, object]]:
        """The findings that are shown, with what is known of them, and their identities."""
        found = []
        for finding, identity in zip(checked.findings, checked.identities, strict=True):
            seen = self.evidence.get(identity)
            if seen is not None:
                finding = replace(finding, evidence=seen)
                if seen.verdict == "refuted" and not self.asked.show_refuted:
                    continue
            if finding.only_confirmed and not finding.stands:
                continue
            found.append((finding, identity))
        return found

    def diagnostics(self, document: Document) -> list[types.Diagnostic]:
        """Everything that is to be shown of a text."""
        checked = document.checked
        found = []
        if checked is not None:
            found = [messages.of_problem(problem, checked, self.encoding) for problem in checked.problems[:1]]
        return [*found, *self._diagnostics_in(document.path)]

    def _diagnostics_in(self, path: Path) -> list[types.Diagnostic]:
        """The findings in a file, from all texts that are open."""
        found: dict[tuple[str, Span], types.Diagnostic] = {}
        # A text's own answer counts first.
        for document in sorted(self.documents.values(), key=lambda document: document.path != path):
            checked = document.checked
            if checked is None or not document.current:
                continue
            for finding, _ in self.findings(checked):
                if finding.location.path == path and (finding.rule, finding.location.span) not in found:
                    found[finding.rule, finding.location.span] = self.diagnostic(finding, checked)
        return list(found.values())

    def diagnostic(self, finding: Finding, checked: Checked) -> types.Diagnostic:
        """One finding as it is shown."""
        rule = checked.rules.get(finding.rule)
        page = self.page(rule) if rule is not None else None
        return messages.of_finding(finding, checked, self.encoding, page)

    def publish(self, document: Document) -> None:
        """Tell the editor, unless it asks itself."""
        if document.checked is None or not document.current or self.pulls:
            return
        told = self.diagnostics(document)
        self.language.text_document_publish_diagnostics(
            types.PublishDiagnosticsParams(document.uri, told, document.version)
        )

    def refresh(self, document: Document) -> None:
        """There is news about a text that did not change."""
        document.answers += 1
        self.publish(document)
        workspace = self.language.client_capabilities.workspace
        if self.pulls:
            self.language.workspace_diagnostic_refresh(None)
        if workspace is not None and workspace.code_lens is not None and workspace.code_lens.refresh_support:
            self.language.workspace_code_lens_refresh(None)

    def page(self, rule: Rule) -> str:
        """The URI of a rule's page, which is written when it is first asked for."""
        if rule.id not in self._pages:
            if self._folder is None:
                self._folder = tempfile.TemporaryDirectory(prefix="warplint-")
            path = Path(self._folder.name) / f"{rule.id}.md"
            path.write_text(markdown_page(rule), encoding="utf-8")
            self._pages[rule.id] = path.as_uri()
        return self._pages[rule.id]

    def _complain(self, checker: Checker) -> None:
        """Say once what is wrong with the configuration."""
        for problem in checker.problems:
            place = problem.path + (f":{problem.line}" if problem.line is not None else "")
            message = f"{place}: {problem.message}"
            if message not in self._told:
                self._told.add(message)
                self.language.window_show_message(types.ShowMessageParams(types.MessageType.Warning, message))

    # --- the probe ---

    def probe(
        self, document: Document, names: Iterable[str] = (), emit: str | None = None, unasked: bool = False
    ) -> asyncio.Task[None]:
        """Probe a text as it is now, in the background: its findings, or kernels by name.

        ``unasked``: nobody gave a command, so that the configuration may forbid it.
        """
        if document.probe is not None:
            document.probe.cancel()
        document.probe = self._start(self._probe(document, tuple(names), emit, unasked))
        return document.probe

    async def _probe(self, document: Document, names: tuple[str, ...], emit: str | None, unasked: bool) -> None:
        answer = await self.answer(document.uri)
        if answer is None or unasked and not answer[1].probing:
            return
        checked, checker, asked = answer[1], self.checker(document.path), self.asked
        waiting = [
            identity
            for finding, identity in zip(checked.findings, checked.identities, strict=True)
            if checked.rules[finding.rule].probe.kind != "none" and identity not in self.evidence
        ]
        if not names and not waiting and emit is None:
            return
        order = Order(
            root=str(checker.root),
            path=str(checked.path),
            text=checked.text,
            device=checker.device(checked.path),
            config=asked.config,
            select=asked.selectors.select,
            extend_select=asked.selectors.extend_select,
            ignore=asked.selectors.ignore,
            kernels=names,
            min_severity=asked.min_severity,
            emit=emit,
        )
        async with self._probing:
            said = await self._with_progress(f"warplint: probing {checked.path.name}", partial(ordered, order))
        if said is None:
            self._log(f"the probe of {checked.path} ended without an answer")
            return
        if "problem" in said:
            self.language.window_show_message(types.ShowMessageParams(types.MessageType.Warning, said["problem"]))
        if names:
            identities = {name: ("adjoint", identity) for name, _, identity in checked.kernels}
            for name, one in said["kernels"].items():
                if name in identities:
                    self._learn(identities[name], evidence_of(one))
        elif not self._match(checked, said["findings"]):
            # Our answer was not that of a fresh run: forget what it rested on.
            self._log(f"the findings in {checked.path} are taken afresh")
            checker.forget(checked.path)
            self.again(document)
        if self.documents.get(document.uri) is document:
            self.refresh(document)

    def _match(self, checked: Checked, said: Iterable[Mapping[str, Any]]) -> bool:
        """Take over the evidence for findings. Returns whether there are the same ones."""
        seen = {(one["rule"], one["path"], tuple(one["span"])): evidence_of(one["evidence"]) for one in said}
        places = [(one.rule, str(one.location.path), tuple(one.location.span)) for one in checked.findings]
        expected = set()
        for place, finding, identity in zip(places, checked.findings, checked.identities, strict=True):
            if finding.only_confirmed and place not in seen:  # such findings are told only where they stand
                self._learn(identity, Evidence("inconclusive", "it was not confirmed"))
                continue
            expected.add(place)
            if place in seen and checked.rules[finding.rule].probe.kind != "none":
                self._learn(identity, seen[place])
        return expected == seen.keys()

    def _learn(self, identity: object, seen: Evidence) -> None:
        if identity is None:
            return
        self.evidence[identity] = seen
        while len(self.evidence) > _REMEMBERED:
            del self.evidence[next(iter(self.evidence))]

    async def _with_progress(
        self, title: str, work: Callable[[Callable[[str], None]], Any]
    ) -> Mapping[str, Any] | None:
        window = self.language.client_capabilities.window
        progress = self.language.work_done_progress
        token = f"warplint-{os.urandom(8).hex()}"
        shown = window is not None and bool(window.work_done_progress)
        if shown:
            try:
                await asyncio.wait_for(progress.create_async(token), _PATIENCE)
            except Exception:  # an editor that does not answer, or refuses: the work is done all the same
                shown = False
        if shown:
            progress.begin(token, types.WorkDoneProgressBegin(title, cancellable=False))

        def step(text: str) -> None:
            if shown:
                progress.report(token, types.WorkDoneProgressReport(message=text))

        try:
            found: Mapping[str, Any] | None = await work(step)
            return found
        finally:
            if shown:
                progress.end(token, types.WorkDoneProgressEnd())

    def adjoint(self, checked: Checked, name: str) -> str:
        """What is known of the adjoint of a kernel."""
        verdicts = {
            finding.evidence.verdict for finding, _ in self.findings(checked) if finding.fact.definition == name
        }
        identity = next((identity for kernel, _, identity in checked.kernels if kernel == name), None)
        alone = self.evidence.get(("adjoint", identity))
        if "confirmed" in verdicts or alone is not None and alone.verdict == "confirmed":
            return "wrong"
        if alone is None or "unprobed" in verdicts:
            return "not probed"
        return "proved" if alone.verdict == "refuted" else "not decided"

    # --- settings ---

    def wish(self, wishes: object) -> None:
        """The editor's settings, as they come."""
        if isinstance(wishes, Mapping) and isinstance(wishes.get("warplint"), Mapping):
            wishes = wishes["warplint"]
        if not isinstance(wishes, Mapping) or wishes == self._wishes:
            return
        self._wishes = wishes
        self._checkers.clear()
        self.all_again()

    async def ask_for_wishes(self) -> None:
        """Ask the editor for its settings, where it can be asked."""
        workspace = self.language.client_capabilities.workspace
        if workspace is None or not workspace.configuration:
            return
        items = [types.ConfigurationItem(section="warplint")]
        found = await self.language.workspace_configuration_async(types.ConfigurationParams(items))
        if found and found[0]:
            self.wish(found[0])

    def files_changed(self) -> None:
        """Files of the workspace changed on disk."""
        for checker in self._checkers.values():
            checker.look_again()
        self.all_again()

    # --- the rest ---

    def suppression(self, document: Document, checked: Checked, finding: Finding) -> types.WorkspaceEdit | None:
        """The edit that writes a comment for a finding."""
        before = checked.text.split("\n")
        after = with_comments(checked.text, [finding], REASON).split("\n")
        edits: list[types.TextEdit | types.AnnotatedTextEdit | types.SnippetTextEdit] = []
        for number, (old, new) in enumerate(zip(before, after, strict=True)):
            if old != new:
                # A carriage return at the end of the line is none of the editor's characters.
                old, new = old.rstrip("\r"), new.rstrip("\r").replace("\r", "")
                end = messages.units(old, len(old), self.encoding)
                where = types.Range(types.Position(number, 0), types.Position(number, end))
                edits.append(types.TextEdit(where, new))
        if not edits:
            return None
        workspace = self.language.client_capabilities.workspace
        versioned = workspace is not None and workspace.workspace_edit is not None
        if versioned and workspace.workspace_edit.document_changes:  # type: ignore[union-attr]
            identifier = types.OptionalVersionedTextDocumentIdentifier(document.uri, document.version)
            return types.WorkspaceEdit(document_changes=[types.TextDocumentEdit(identifier, edits)])
        return types.WorkspaceEdit(changes={document.uri: edits})  # type: ignore[dict-item]

    async def show(self, uri: str) -> None:
        """Have the editor open something."""
        window = self.language.client_capabilities.window
        if window is not None and window.show_document is not None and window.show_document.support:
            await self.language.window_show_document_async(types.ShowDocumentParams(uri, take_focus=True))
        else:
            name = to_fs_path(uri) or uri
            self.language.window_show_message(types.ShowMessageParams(types.MessageType.Info, name))

    async def reproduce(self, document: Document, rule: str, line: int) -> None:
        """Write a script that shows a finding, and open it."""
        if self._folder is None:
            self._folder = tempfile.TemporaryDirectory(prefix="warplint-")
        await self.probe(document, emit=self._folder.name)
        answer = await self.answer(document.uri)
        for finding, _ in self.findings(answer[1]) if answer is not None else ():
            script = finding.evidence.reproduce
            if finding.rule == rule and finding.location.span.line == line and script is not None:
                await self.show(str(from_fs_path(script)))
                return
        message = f"there is no script for {rule} on line {line}: its probe decided nothing"
        self.language.window_show_message(types.ShowMessageParams(types.MessageType.Info, message))

    def _start(self, work: Any) -> asyncio.Task[Any]:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        return task

    def _ended(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and task.exception() is not None:
            self._log(f"internal error: {task.exception()!r}; please report it")

    def _log(self, message: str) -> None:
        self.language.window_log_message(types.LogMessageParams(types.MessageType.Warning, message))

    def warm(self) -> None:
        """Load what the first answer needs, before it is asked for."""
        self._worker.submit(_warm)

    def shut(self) -> None:
        """End what runs."""
        for document in self.documents.values():
            document.asked += 1  # ends what is being analysed
        for task in list(self._tasks):
            task.cancel()
        self._worker.shutdown(wait=False, cancel_futures=True)
        if self._folder is not None:
            self._folder.cleanup()


def _warm() -> None:
    code = (
        "import warp as wp\n\n\n@wp.kernel\ndef k(x: wp.array(dtype=float)):\n    x[wp.tid()] *= x[0]\n\n\n"
        "with wp.Tape() as tape:\n    wp.launch(k, dim=1, inputs=[wp.zeros(1)])\n"
    )
    path = Path(tempfile.gettempdir()) / "warplint-warm" / "warm.py"
    Checker(path.parent, Asked()).check(path, code, {})


def main() -> int:
    """Serve on standard input and output until the editor says that it is enough."""
    from warplint.server.features import connect

    relax_collector()
    server = Server()
    connect(server)
    server.language.start_io()
    return 0
