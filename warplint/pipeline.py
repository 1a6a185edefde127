"""From the command line's options to a report: the flow of the program, top to bottom."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from warplint import __version__
from warplint.analysis import analyse_files, available_cpus
from warplint.frontend import open_project
from warplint.ir.facts import Evidence, Finding
from warplint.report.model import Report
from warplint.selection import RuleSelection
from warplint.settings.configuration import Configuration, Configurations
from warplint.settings.discovery import discover
from warplint.settings.options import STDIN, Options
from warplint.source.project import Module, Project

if TYPE_CHECKING:
    from warplint.catalogue.rule import Rule

#: Called with how much is done, and how much there is to do.
Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Outcome:
    """A report, and the tracebacks of our own mistakes by file."""

    report: Report
    tracebacks: Mapping[Path, str]


def run(options: Options, stdin: bytes | None = None, progress: Progress | None = None) -> Outcome:
    """Lint what ``options`` ask for.

    ``stdin`` is the source text that the path ``-`` stands for. ``progress`` is told how many findings have been
    probed, and of how many: that is what takes time.

    Raises:
        UnknownSelector: a rule named on the command line does not exist.
    """
    # 1. Which files.
    configurations = Configurations()
    named = [path for path in options.paths if path != STDIN]
    discovery = discover(named, configurations, options.force_exclude)
    files, contents, stdin_path = discovery.files, {}, None
    if stdin is not None:
        stdin_path = Path(os.path.abspath(options.stdin_filename or STDIN))
        contents = {stdin_path: stdin}
        files = tuple(sorted({*files, stdin_path}))

    # 2. Which rules apply to which of them.
    selection = RuleSelection(options.selectors, configurations, installed_warp)
    selection.check(files)

    # 3. What is in them.
    project = open_project(_import_roots(named))
    analyses = analyse_files(files, project, contents, options.jobs or available_cpus(), selection.wanted)

    # 4. What the rules make of it.
    findings = selection.findings(fact for analysis in analyses for fact in analysis.facts)

    # 5. Whether it is so.
    governing = configurations.nearest(_common_folder(options.paths))
    rules = selection.rules_of(findings)
    findings = _probed(findings, rules, project, options, governing, progress)

    # 6. What to tell.
    problems = [*discovery.problems, *configurations.problems, *selection.problems]
    problems += [problem for analysis in analyses for problem in analysis.problems]
    shown = [finding for finding in findings if options.show_refuted or finding.evidence.verdict != "refuted"]
    report = Report(
        version=__version__,
        warp_version=installed_warp() if findings or options.output_format == "json" else None,
        findings=tuple(shown),
        refuted=tuple(finding for finding in findings if finding not in shown),
        problems=tuple(sorted(dict.fromkeys(problems), key=lambda problem: (problem.path, problem.line or 0))),
        files=files,
        rules=rules,
        lines=lambda path: _lines(project, path, contents),
    )
    tracebacks = {analysis.path: analysis.traceback for analysis in analyses if analysis.traceback is not None}
    return Outcome(report, tracebacks)


def installed_warp() -> str | None:
    """The version of the installed Warp, without importing it; None if there is none."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("warp-lang")
    except PackageNotFoundError:
        return None


def _probed(
    findings: list[Finding],
    rules: Mapping[str, Rule],
    project: Project,
    options: Options,
    governing: Configuration,
    progress: Progress | None,
) -> list[Finding]:
    """``findings`` with the evidence of a probe, unless the command line or the configuration turn it off."""
    wanted = options.probe if options.probe is not None else governing.probe
    places = [number for number, finding in enumerate(findings) if rules[finding.rule].probe.kind != "none"]
    if not places:
        return findings
    findings = list(findings)
    if wanted is False:
        off = Evidence("unprobed", "the probe is turned off")
        for number in places:
            findings[number] = replace(findings[number], evidence=off)
        return findings
    from warplint.probe import ProbeOptions, probe

    probe_options = ProbeOptions(device=options.device or governing.device or "auto")
    evidence = probe([findings[number] for number in places], project, probe_options, progress)
    for number, seen in zip(places, evidence, strict=True):
        findings[number] = replace(findings[number], evidence=seen)
    if options.emit_probe is not None:
        from warplint.probe.emit import write_scripts

        probed = [findings[number] for number in places]
        written = write_scripts(probed, project, probe_options, Path(options.emit_probe))
        for number, finding in zip(places, written, strict=True):
            findings[number] = finding
    return findings


def _common_folder(paths: Iterable[str]) -> Path:
    """The innermost folder that holds everything named on the command line; its configuration governs the probe."""
    folders = []
    for path in paths:
        absolute = os.path.abspath(path)
        folders.append(absolute if os.path.isdir(absolute) else os.path.dirname(absolute))
    try:
        return Path(os.path.commonpath(folders))
    except ValueError:  # nothing named, or on several drives
        return Path.cwd()


def _import_roots(named: Iterable[str]) -> tuple[Path, ...]:
    """Where absolute imports are looked for, besides each file's own package: the current folder and those named."""
    folders = [os.path.abspath(path) for path in named if os.path.isdir(path)]
    candidates = [os.getcwd(), os.path.join(os.getcwd(), "src"), *folders]
    candidates += [os.path.join(folder, "src") for folder in folders]
    return tuple(Path(folder) for folder in dict.fromkeys(candidates) if os.path.isdir(folder))


def _lines(project: Project, path: Path, contents: Mapping[Path, bytes]) -> list[str]:
    """The lines of a file; none if it cannot be read any more."""
    module = project.load(path, contents.get(path))
    return module.lines if isinstance(module, Module) else []
