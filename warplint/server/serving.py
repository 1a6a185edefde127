"""The server: what an editor says, what it is answered, and when."""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from lsprotocol import types
from pygls.uris import to_fs_path

from warplint.ir.facts import Finding, Problem
from warplint.ir.spans import Span
from warplint.processes import relax_collector
from warplint.report.lsp import Encoding
from warplint.server import messages
from warplint.server.cells import Cell, Pad
from warplint.server.checking import Asked, Checked, Checker
from warplint.server.documents import Document
from warplint.server.incremental import Superseded
from warplint.server.pages import Pages
from warplint.server.probing import Prober
from warplint.server.protocol import language_server
from warplint.server.survey import Survey
from warplint.server.wishes import asked_for
from warplint.tapes.memo import keep_at_most

Result = TypeVar("Result")

# Pieces of syntax that something is remembered of, for each question that the tape analysis asks.
_KNOWN_NODES = 500


class Server:
    """The state behind the protocol. Everything but the analysis itself runs in the loop's thread."""

    def __init__(self) -> None:
        self.language = language_server()
        #: By URI; notebooks by their own.
        self.documents: dict[str, Document] = {}
        self.prober = Prober(self)
        self.survey = Survey(self)
        #: The editor's settings.
        self.asked = Asked()
        self._notebook_of: dict[str, str] = {}
        self._wishes: Mapping[str, Any] = {}
        self._checkers: dict[Path, Checker] = {}
        self._worker = ThreadPoolExecutor(1, "analysis")
        self._tasks: set[asyncio.Task[Any]] = set()
        self.pages = Pages()
        self._told: set[str] = set()
        self.pulls = False
        #: Whether the editor may be told something.
        self.started = False

    # --- texts ---

    @property
    def encoding(self) -> Encoding:
        """The units of columns that were agreed on."""
        agreed = self.language.workspace.position_encoding
        return "utf-8" if agreed == "utf-8" else "utf-32" if agreed == "utf-32" else "utf-16"

    def document(self, uri: str) -> Document | None:
        """What a URI is about: that of a text, a notebook or a cell."""
        return self.documents.get(self._notebook_of.get(uri, uri))

    def open_at(self, path: Path) -> Document | None:
        """What is open of a file."""
        return next((document for document in self.documents.values() if document.path == path), None)

    def opened(self, uri: str, version: int | None, text: str) -> None:
        """A text was opened, or changed."""
        path = self._path(uri, ".py")
        if path is None:
            return
        document = self.documents.get(uri)
        if document is None:
            document = self.documents[uri] = Document(uri, path, version, text)
        document.version, document.text = version, text
        self.again(document)
        self._others_again(document.path)

    def opened_cells(self, uri: str, version: int | None, cells: list[Cell]) -> None:
        """A notebook was opened."""
        path = self._path(uri, ".ipynb")
        if path is not None:
            document = self.documents[uri] = Document(uri, path, version, "", Pad(path, cells))
            self.cells_changed(document, version)

    def cells_changed(self, document: Document, version: int | None) -> None:
        """The cells of a notebook changed."""
        pad = document.pad
        assert pad is not None
        uris = {cell.uri for cell in pad.cells}
        for uri in [uri for uri, owner in self._notebook_of.items() if owner == document.uri and uri not in uris]:
            del self._notebook_of[uri]
            self._publish_nothing(uri)
        self._notebook_of |= dict.fromkeys(uris, document.uri)
        document.cells = pad.cells_now()
        document.version, document.text = version, document.cells.book.text
        self.again(document)

    @staticmethod
    def _path(uri: str, ending: str) -> Path | None:
        name = to_fs_path(uri) if uri.startswith("file:") else None
        return Path(os.path.abspath(name)) if name is not None and name.endswith(ending) else None

    def closed(self, uri: str) -> None:
        """A text was closed: what was found from it goes."""
        document = self.documents.pop(uri, None)
        if document is None:
            return
        for task in (document.task, document.probe):
            if task is not None:
                task.cancel()
        document.settled.set()
        self.checker(document.path).forget(document.path)
        for own in document.uris:
            self._notebook_of.pop(own, None)
            if document.pad is not None:
                self._publish_nothing(own)
        document.checked = None
        if document.pad is None:
            document.elsewhere.add(document.path)  # what others found there, and what is on disk
        self._elsewhere(document)
        self._others_again(document.path)
        self.survey.again()

    def _publish_nothing(self, uri: str) -> None:
        if not self.pulls:
            self.language.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, []))

    def again(self, document: Document) -> None:
        """The newest answer about a text is out of date."""
        document.asked += 1
        document.current = False
        document.settled.clear()
        if document.task is None or document.task.done():
            document.task = self.start(self._check(document))

    def all_again(self) -> None:
        """Everything may have changed."""
        for document in self.documents.values():
            self.again(document)

    def roots(self) -> list[Path]:
        """The folders of the workspace."""
        folders = [to_fs_path(uri) for uri in self.language.workspace.folders]
        folders.append(self.language.workspace.root_path)
        return [Path(name) for name in dict.fromkeys(folders) if name]

    def checker(self, path: Path) -> Checker:
        """What answers for a file: one for each folder of the workspace."""
        above = [folder for folder in self.roots() if path.is_relative_to(folder)]
        root = max(above, key=lambda folder: len(folder.parts)) if above else path.parent
        if root not in self._checkers:
            self._checkers[root] = Checker(root, self.asked)
        return self._checkers[root]

    async def _check(self, document: Document) -> None:
        while not document.current and self.documents.get(document.uri) is document:
            text, cells, asked = document.text, document.cells, document.asked
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
            document.checked, document.current = replace(checked, cells=cells), True
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
        for path in sorted(paths | before):
            opened = self.open_at(path)
            if opened is not None:
                self.refresh(opened)
            else:
                self.publish_unopened(path)

    def publish_unopened(self, path: Path) -> None:
        """Tell the editor what is found in a file that is not open, unless it asks itself."""
        if not self.pulls:
            told = [diagnostic for _, diagnostic in self.in_file(path)]
            self.language.text_document_publish_diagnostics(types.PublishDiagnosticsParams(path.as_uri(), told))

    async def calculated(self, function: Callable[..., Result], *arguments: Any) -> Result:
        """Run something long beside the loop; one at a time, since projects are shared."""
        return await asyncio.get_running_loop().run_in_executor(self._worker, partial(function, *arguments))

    async def answer(self, uri: str) -> tuple[Document, Checked] | None:
        """The answer about the newest version of a text, once it is there."""
        document = self.document(uri)
        while document is not None and not document.current:
            await document.settled.wait()
            document = self.document(uri)
        return (document, document.checked) if document is not None and document.checked is not None else None

    # --- diagnostics ---

    def diagnostics(self, document: Document) -> dict[str, list[types.Diagnostic]]:
        """Everything that is to be shown of a text, or of the cells of a notebook, by URI."""
        found: dict[str, list[types.Diagnostic]] = {uri: [] for uri in document.uris}
        checked = document.checked
        for problem in checked.problems[:1] if checked is not None else ():
            cell, diagnostic = messages.of_problem(problem, checked, self.encoding)  # type: ignore[arg-type]
            found.setdefault(cell or document.uri, []).append(diagnostic)
        for cell, diagnostic in self.in_file(document.path):
            found.setdefault(cell or document.uri, []).append(diagnostic)
        return found

    def in_file(self, path: Path) -> list[tuple[str | None, types.Diagnostic]]:
        """The findings in a file, from all texts that are open, and which cells they are in; where it is not open, also
        those that it has on disk."""
        found: dict[tuple[str, Span], tuple[str | None, types.Diagnostic]] = {}
        opened = self.open_at(path)
        # A text's own answer counts first.
        for document in sorted(self.documents.values(), key=lambda document: document is not opened):
            checked = document.checked
            if checked is None or not document.current:
                continue
            for finding, _ in self.prober.findings(checked):
                span = finding.location.span
                if finding.location.path == path and (finding.rule, span) not in found:
                    cell, _, _ = checked.part(span.line) if document is opened else (None, path, 0)
                    found[finding.rule, span] = (cell, self.diagnostic(finding, checked))
        told = list(found.values())
        if opened is None:
            known = {(one.code, one.range.start.line, one.range.start.character) for _, one in told}
            for one in self.survey.in_file(path):
                if (one.code, one.range.start.line, one.range.start.character) not in known:
                    told.append((None, one))
        return told

    def diagnostic(self, finding: Finding, checked: Checked) -> types.Diagnostic:
        """One finding as it is shown."""
        rule = checked.rules.get(finding.rule)
        page = self.pages.of(rule) if rule is not None else None
        return messages.of_finding(finding, checked, self.encoding, page)

    def publish(self, document: Document) -> None:
        """Tell the editor, unless it asks itself."""
        if document.checked is None or not document.current or self.pulls:
            return
        for uri, told in self.diagnostics(document).items():
            self.language.text_document_publish_diagnostics(
                types.PublishDiagnosticsParams(uri, told, document.version_of(uri))
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

    def _complain(self, checker: Checker) -> None:
        """Say once what is wrong with the configuration."""
        for problem in checker.problems:
            place = problem.path + (f":{problem.line}" if problem.line is not None else "")
            message = f"{place}: {problem.message}"
            if message not in self._told:
                self._told.add(message)
                self.language.window_show_message(types.ShowMessageParams(types.MessageType.Warning, message))

    # --- settings ---

    def wish(self, wishes: object) -> None:
        """The editor's settings, as they come."""
        if isinstance(wishes, Mapping) and isinstance(wishes.get("warplint"), Mapping):
            wishes = wishes["warplint"]
        if not isinstance(wishes, Mapping) or wishes == self._wishes:
            return
        self._wishes, self.asked = wishes, asked_for(wishes)
        self._checkers.clear()
        self.all_again()
        self.survey.again()

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
        self.survey.again()

    # --- the rest ---

    def start(self, work: Any) -> asyncio.Task[Any]:
        """Do something beside everything else."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        return task

    def _ended(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and task.exception() is not None:
            self.log(f"internal error: {task.exception()!r}; please report it")

    def log(self, message: str) -> None:
        """A line for whoever looks why something is as it is."""
        self.language.window_log_message(types.LogMessageParams(types.MessageType.Warning, message))

    def warm(self) -> None:
        """Load what the first answer needs, before it is asked for."""
        self._worker.submit(_warm)

    async def shut(self) -> None:
        """End what runs."""
        for document in self.documents.values():
            document.asked += 1  # ends what is being analysed
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._worker.shutdown(wait=False, cancel_futures=True)
        self.pages.remove()


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

    relax_collector(200_000)  # a server makes new trees again and again
    keep_at_most(_KNOWN_NODES)
    server = Server()
    connect(server)
    server.language.start_io()
    return 0
