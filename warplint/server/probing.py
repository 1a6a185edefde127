"""What probes found: evidence for findings, fixes that were tried, and what is known of adjoints."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from lsprotocol import types

from warplint.fixing import offered
from warplint.ir.facts import Evidence, Finding
from warplint.ir.fixes import Fix
from warplint.ir.spans import Location, Span
from warplint.records import dataclass
from warplint.server.checking import Checked
from warplint.server.documents import Document
from warplint.server.orders import Order, carried_out, evidence_of, fix_of
from warplint.server.progress import with_progress

if TYPE_CHECKING:
    from warplint.server.serving import Server

# Pieces of evidence, and fixes, that are remembered, for all files together.
_REMEMBERED = 5000

# Why a fix is not proved that nobody has tried yet.
_LATER = "a probe of the file tries it"


@dataclass(frozen=True, slots=True)
class _Tried:
    """A fix that was tried, the text in which that was, and the lines of the finding and of its region there."""

    fix: Fix
    text: str
    line: int
    region: tuple[int, int]

    def now(self, checked: Checked, line: int) -> Fix | None:
        """The fix where its finding stands on ``line``; None where that cannot be told."""
        if checked.text == self.text:
            return self.fix
        first, last = self.region
        spans = [edit.location.span for edit in self.fix.edits]
        if not all(first <= span.line and span.end_line <= last for span in spans):
            return None
        by = line - self.line
        edits = tuple(replace(edit, location=_lower(edit.location, by)) for edit in self.fix.edits)
        return replace(self.fix, edits=edits)


def _lower(location: Location, by: int) -> Location:
    line, column, end_line, end_column = location.span
    return Location(location.path, Span(line + by, column, end_line + by, end_column))


class Prober:
    """Has texts probed one at a time, and remembers what came of it for as long as what it rests on stays the same."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._evidence: dict[object, Evidence] = {}
        self._fixes: dict[object, _Tried] = {}
        self._lock = asyncio.Lock()

    def findings(self, checked: Checked) -> list[tuple[Finding, object]]:
        """The findings that are shown, with what is known of them, and their identities."""
        show_refuted = self._server.asked.show_refuted
        found = []
        for finding, identity in zip(checked.findings, checked.identities, strict=True):
            seen = self._evidence.get(identity)
            if seen is not None:
                if seen.verdict == "refuted" and not show_refuted:
                    continue
                tried = self._fixes.get(identity)
                fix = tried.now(checked, finding.location.span.line) if tried is not None else None
                finding = replace(finding, evidence=seen, fix=fix)
            if finding.only_confirmed and not finding.stands:
                continue
            found.append((finding, identity))
        return found

    async def with_fixes(self, checked: Checked, findings: Iterable[Finding]) -> list[Finding]:
        """``findings`` with what would mend them, as far as it is known: tried or not."""
        findings = list(findings)
        if checked.project is None or checked.cells is not None:  # as on the command line: none in notebooks
            return findings
        untried = [number for number, finding in enumerate(findings) if finding.fix is None]
        some = [findings[number] for number in untried]
        plan = partial(offered, some, checked.rules, checked.project, None, {checked.path}, _LATER)
        try:
            for number, planned in zip(untried, await self._server.calculated(plan), strict=True):
                findings[number] = planned
        except Exception as error:  # a mistake of ours in a fix costs nothing else
            self._server.log(f"internal error while looking for fixes: {error!r}; please report it")
        return findings

    def adjoint(self, checked: Checked, name: str) -> str:
        """What is known of the adjoint of a kernel."""
        verdicts = {
            finding.evidence.verdict for finding, _ in self.findings(checked) if finding.fact.definition == name
        }
        identity = next((identity for kernel, _, identity in checked.kernels if kernel == name), None)
        alone = self._evidence.get(("adjoint", identity))
        if "confirmed" in verdicts or alone is not None and alone.verdict == "confirmed":
            return "wrong"
        if alone is None or "unprobed" in verdicts:
            return "not probed"
        return "proved" if alone.verdict == "refuted" else "not decided"

    def probe(
        self, document: Document, names: Iterable[str] = (), emit: str | None = None, unasked: bool = False
    ) -> asyncio.Task[None]:
        """Probe a text as it is now, in the background: its findings, or kernels by name.

        ``unasked``: nobody gave a command, so that the configuration may forbid it.
        """
        if document.probe is not None:
            document.probe.cancel()
        document.probe = self._server.start(self._probe(document, tuple(names), emit, unasked))
        return document.probe

    async def _probe(self, document: Document, names: tuple[str, ...], emit: str | None, unasked: bool) -> None:
        server = self._server
        answer = await server.answer(document.uri)
        if answer is None or unasked and not answer[1].probing:
            return
        checked, checker, asked = answer[1], server.checker(document.path), server.asked
        if not names and emit is None and not await self._waiting(checked):
            return
        order = Order(
            root=str(checker.root),
            path=str(checked.path),
            text=checked.text if names else document.as_file,
            device=checker.device(checked.path),
            config=asked.config,
            select=asked.selectors.select,
            extend_select=asked.selectors.extend_select,
            ignore=asked.selectors.ignore,
            kernels=names,
            min_severity=asked.min_severity,
            emit=emit,
        )

        def heard(said: Mapping[str, Any]) -> None:
            if "findings" in said:
                self._take(document, checked, said["findings"])

        async with self._lock:
            said = await with_progress(
                server.language, f"warplint: probing {checked.path.name}", heard, partial(carried_out, order)
            )
        if said is None:
            server.log(f"the probe of {checked.path} ended without an answer")
            return
        if "problem" in said:
            server.language.window_show_message(types.ShowMessageParams(types.MessageType.Warning, said["problem"]))
        identities = {name: ("adjoint", identity) for name, _, identity in checked.kernels}
        for name, one in said.get("kernels", {}).items():
            if name in identities:
                self._learn(identities[name], evidence_of(one))
        self._take_fixes(checked, said.get("fixes", ()))
        if server.documents.get(document.uri) is document and (names or said.get("fixes")):
            server.refresh(document)

    async def _waiting(self, checked: Checked) -> bool:
        """Whether there is something that a probe could tell."""
        untried = []
        for finding, identity in zip(checked.findings, checked.identities, strict=True):
            seen = self._evidence.get(identity)
            if seen is None and checked.rules[finding.rule].probe.kind != "none":
                return True
            if seen is not None and seen.verdict == "confirmed" and identity not in self._fixes:
                untried.append(replace(finding, evidence=seen))
        return any(finding.fix is not None for finding in await self.with_fixes(checked, untried))

    def _take(self, document: Document, checked: Checked, said: Iterable[Mapping[str, Any]]) -> None:
        """Take over the evidence for findings, which should be the same ones."""
        seen = {_place(one): evidence_of(one["evidence"]) for one in said}
        places = [(one.rule, str(one.location.path), tuple(one.location.span)) for one in checked.findings]
        expected = set()
        for place, finding, identity in zip(places, checked.findings, checked.identities, strict=True):
            if finding.only_confirmed and place not in seen:  # such findings are told only where they stand
                self._learn(identity, Evidence("inconclusive", "it was not confirmed"))
                continue
            expected.add(place)
            if place in seen and checked.rules[finding.rule].probe.kind != "none":
                self._learn(identity, seen[place])
        if self._server.documents.get(document.uri) is not document:
            return
        if expected != seen.keys():
            # Our answer was not that of a fresh run: forget what it rested on.
            self._server.log(f"the findings in {checked.path} are taken afresh")
            self._server.checker(checked.path).forget(checked.path)
            self._server.again(document)
        self._server.refresh(document)

    def _take_fixes(self, checked: Checked, said: Iterable[Mapping[str, Any]]) -> None:
        fixes = {_place(one): fix_of(one["fix"]) for one in said}
        for finding, identity in zip(checked.findings, checked.identities, strict=True):
            line = finding.location.span.line
            fix = fixes.get((finding.rule, str(finding.location.path), tuple(finding.location.span)))
            region = checked.module.region_at(line) if checked.module is not None else None
            if fix is not None and region is not None and finding.location.path == checked.path:
                self._fixes[identity] = _Tried(fix, checked.text, line, (region.line, region.end_line))
        _trim(self._fixes)

    def _learn(self, identity: object, seen: Evidence) -> None:
        self._evidence[identity] = seen
        _trim(self._evidence)


def _place(said: Mapping[str, Any]) -> tuple[str, str, tuple[int, ...]]:
    return said["rule"], said["path"], tuple(said["span"])


def _trim(kept: dict[object, Any]) -> None:
    while len(kept) > _REMEMBERED:
        del kept[next(iter(kept))]
