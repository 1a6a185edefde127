"""What the command line would say of a text in an editor."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import field
from functools import cached_property
from pathlib import Path

from warplint.catalogue.rule import Rule
from warplint.catalogue.unknown import UnknownSelector
from warplint.frontend import open_project
from warplint.ir import syntax
from warplint.ir.facts import Finding, Problem, at_least
from warplint.ir.spans import Location, Span, file_and_cell
from warplint.pipeline import import_roots, unsuppressed
from warplint.records import dataclass
from warplint.report.lsp import uri
from warplint.selection import RuleSelection, in_order
from warplint.server.cells import Cells
from warplint.server.incremental import Memory, analyse_again
from warplint.server.shape import Shape
from warplint.settings.configuration import NAMES, Configurations
from warplint.settings.declared import naming
from warplint.settings.discovery import discover
from warplint.settings.options import Selectors
from warplint.settings.warp import WarpVersions
from warplint.source.project import Module, Project
from warplint.stamps import stamp_of


@dataclass(frozen=True, slots=True)
class Asked:
    """What the editor's own settings say, besides the configuration of the project."""

    selectors: Selectors = field(default_factory=Selectors)
    config: str | None = None
    min_severity: str = "warning"
    probe: str = "save"
    device: str | None = None
    show_refuted: bool = False
    diagnostics: str = "open"


@dataclass(frozen=True)
class Checked:
    """The outcome for one text. ``project`` is what it was analysed in, None where it was not.

    ``identities`` stand beside ``findings``: they stay equal as long as what a finding rests on does.
    """

    path: Path
    text: str
    findings: tuple[Finding, ...] = ()
    identities: tuple[object, ...] = ()
    problems: tuple[Problem, ...] = ()
    rules: Mapping[str, Rule] = field(default_factory=dict)
    project: Project | None = None
    probing: bool = False
    #: Kernels at the top level with what identifies them: those that a lens stands over.
    kernels: tuple[tuple[str, int, object], ...] = ()
    #: The cells that the text is made of, where it is a notebook.
    cells: Cells | None = None

    @property
    def module(self) -> Module | None:
        """The module that was analysed."""
        return self.project.module(self.path) if self.project is not None else None

    @cached_property
    def _own(self) -> list[str]:
        return self.text.split("\n")

    def address(self, path: Path) -> str:
        """The URI of a file, or of a cell of the notebook."""
        cell = self.cells.uri(path) if self.cells is not None else None
        return cell if cell is not None else uri(path)

    def line(self, uri: str, line: int) -> int | None:
        """The line of the whole text that is ``line`` in the text with a URI; None for one outside the code."""
        if self.cells is None:
            return line
        first = self.cells.first_line(uri)
        return first + line - 1 if first is not None else None

    def part(self, line: int) -> tuple[str | None, Path, int]:
        """Where a line of the whole text is: the URI of the cell (None where there are none), what stands for it as a
        path, and the line there."""
        if self.cells is None:
            return None, self.path, line
        index, place = self.cells.place(Location(self.path, Span(line, 1, line, 1)))
        return self.cells.uris[index], place.path, place.span.line

    def lines(self, path: Path) -> list[str]:
        """The lines of the text, or of another file that has a part in it."""
        file, cell = file_and_cell(path)
        if cell is not None and self.cells is not None and file == self.path:
            return _lines(self.cells.texts[cell - 1])
        if path == self.path:
            return self._own
        module = self.project.module(path) if self.project is not None else None
        return module.lines if module is not None else []


@dataclass(slots=True)
class _Before:
    """The last version of a file that could be read."""

    project: Project
    memory: Memory
    #: What the other modules were, by path.
    others: Mapping[Path, object]
    around: object


class Checker:
    """Answers for the files below one folder, and remembers what it can use again.

    Its answers are those of ``warplint FILE``, run in that folder with ``contents`` for the files that are open.
    """

    #: Asked for here, since threads must not both be the first to run a late module.
    _late = syntax.Node

    def __init__(self, root: Path, asked: Asked) -> None:
        #: The folder.
        self.root = root
        self._asked = asked
        self._before: dict[Path, _Before] = {}
        self._stamps: dict[str, object] = {}
        self._listed: dict[Path, tuple[object, list[Path]]] = {}
        self._configurations: Configurations
        self._selection: RuleSelection
        self._read_settings()

    def _read_settings(self) -> None:
        asked = self._asked
        self._configurations = Configurations(Path(asked.config) if asked.config is not None else None)
        self._selection = RuleSelection(asked.selectors, self._configurations, WarpVersions())
        self._stamps = {}
        self._excluded: dict[Path, bool] = {}
        self._before.clear()

    @property
    def problems(self) -> list[Problem]:
        """What is wrong with the configuration, as far as it was needed."""
        return list(dict.fromkeys([*self._configurations.problems, *self._selection.problems]))

    def forget(self, path: Path) -> None:
        """Drop what is remembered of a file that was closed."""
        self._before.pop(path, None)

    def uses(self, path: Path, other: Path) -> bool:
        """Whether the answer about a file depends on another one."""
        before = self._before.get(path)
        return before is not None and other in before.others

    def look_again(self) -> None:
        """Files may have come, gone or changed on disk."""
        self._excluded.clear()
        for before in self._before.values():
            before.around = None

    def refresh(self, path: Path) -> bool:
        """Read the configuration again if it changed. Returns whether it did."""
        stamps = self._configuration_stamps(path)
        changed = any(key in self._stamps and self._stamps[key] != stamp for key, stamp in stamps.items())
        if changed:
            self._read_settings()
            stamps = self._configuration_stamps(path)
        self._stamps.update(stamps)
        return changed

    def _configuration_stamps(self, path: Path) -> dict[str, object]:
        # Before anything is read: what is written meanwhile is then read again.
        places = (os.path.join(folder, name) for folder in path.parents for name in NAMES)
        stamps: dict[str, object] = {place: stamp_of(place) for place in places}
        for parent in path.parents:
            stamps[f"{parent}{os.sep}"] = tuple(map(stamp_of, self._naming(parent)))
        nearest = self._configurations.nearest(path.parent)
        files = [table.path for table in nearest.tables]
        for folder in nearest.folders("extend-rules"):
            files.append(folder)
            files += sorted(folder.glob("*.y*ml"))
        return {**{str(file): stamp_of(file) for file in files}, **stamps}

    def _naming(self, folder: Path) -> list[Path]:
        """The files of a folder that may say for which Warp the code is: looked for again where some came or went."""
        stamp = tuple(map(stamp_of, (folder, folder / "requirements")))
        known = self._listed.get(folder)
        if known is None or known[0] != stamp:
            known = self._listed[folder] = (stamp, naming(folder))
        return known[1]

    def check(
        self, path: Path, text: str, contents: Mapping[Path, bytes], superseded: Callable[[], None] = lambda: None
    ) -> Checked:
        """The findings in ``text``, which stands for the file at ``path``; ``contents`` has the other open files.

        Raises:
            Superseded: as ``superseded`` does.
        """
        text = _normal(text)  # as the protocol counts lines
        self.refresh(path)
        if self._is_excluded(path):
            return Checked(path, text)
        data = text.encode("utf-8", "surrogatepass")
        before = self._before.get(path)
        project, around = self._project(path, contents, before)
        known = before.project.module(path) if before is not None else None
        module = project.replace(known, data) if known is not None else project.load(path, data)
        if isinstance(module, Problem):
            return Checked(path, text, problems=(module,))
        memory = before.memory if before is not None else Memory()
        if "warp" not in text and "Tape" not in text and "@" not in text:
            return Checked(path, text, project=project)
        try:
            self._selection.check([path])
        except UnknownSelector as error:
            return Checked(path, text, problems=(Problem(str(path), str(error)),))
        analysis, shape = analyse_again(project, module, memory, around, self._selection.wanted, superseded)
        superseded()
        self._remember(path, project, memory, around)
        findings = self._selection.findings(analysis.facts)
        findings, _ = unsuppressed(findings, [analysis], {path: text}, self._selection)
        findings = self._selection.of_reach(findings, None)
        findings = [one for one in in_order(findings) if at_least(one.severity, self._asked.min_severity)]
        configured = self._configurations.nearest(path.parent).probe
        around = self._before[path].around
        return Checked(
            path,
            text,
            tuple(findings),
            tuple(_identity(finding, shape, around) for finding in findings),
            analysis.problems,
            self._selection.rules_of(findings),
            project,
            self._asked.probe != "off" and configured is not False,
            tuple(
                (region.names[0], region.line, (around, shape.base, shape.key(shape.closure(number))))
                for number, region in enumerate(module.regions)
                if shape.is_kernel(number)
            ),
        )

    def rules(self, path: Path) -> tuple[Rule, ...]:
        """All rules that are known to a file."""
        return self._selection.looked_for(path)[0]

    def device(self, path: Path) -> str:
        """Where the probe runs."""
        return self._asked.device or self._configurations.nearest(path.parent).device or "auto"

    def _is_excluded(self, path: Path) -> bool:
        if path not in self._excluded:
            found = discover([str(path)], self._configurations, force_exclude=True)
            self._excluded[path] = path.is_file() and not found.files
        return self._excluded[path]

    # --- the project ---

    def _project(self, path: Path, contents: Mapping[Path, bytes], before: _Before | None) -> tuple[Project, object]:
        """A project for the next version of a file, and what stands for everything outside it."""
        unsaved = {other: data for other, data in contents.items() if other != path}
        if before is None:
            project = open_project(import_roots([str(self.root)], [path], self._configurations))
            project.unsaved = unsaved
            project.warp_version = self._selection.warp_series
            return project, object()
        now = {other: _version(other, unsaved) for other in before.others}
        changed = {other for other, version in now.items() if version != before.others[other]}
        same = not changed and before.around is not None
        before.project.unsaved = unsaved
        project = before.project.after({path, *changed}, imports_hold=same)
        return project, before.around if same else object()

    def _remember(self, path: Path, project: Project, memory: Memory, around: object) -> None:
        others = {other: _version(other, project.unsaved) for other in project.files() if other != path}
        before = self._before.get(path)
        if before is not None and before.around is around and before.others.keys() != others.keys():
            around = object()  # what is visible has changed, and with it what was found there
        self._before[path] = _Before(project, memory, others, around)


def _normal(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _lines(text: str) -> list[str]:
    return _normal(text).split("\n")


def _version(path: Path, unsaved: Mapping[Path, bytes]) -> object:
    return unsaved[path] if path in unsaved else stamp_of(path)


def _identity(finding: Finding, shape: Shape, around: object) -> object:
    """What a finding rests on: all of the file for one about host code."""
    line = finding.location.span.line
    region = shape.module.region_at(line) if finding.location.path == shape.module.path else None
    if region is None:
        return (finding.rule, finding.message, finding.location, around, shape.module.text)
    number = shape.index[region.line]
    place = (finding.rule, finding.message, line - region.line, finding.location.span.column)
    if finding.fact.definition and shape.is_kernel(number):
        return (*place, around, shape.base, shape.key(shape.closure(number)))
    return (*place, around, shape.module.text)
