"""From the command line's options to a report: the flow of the program, top to bottom."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

from warplint import __version__
from warplint.ir.facts import Fact, Finding, Problem, at_least
from warplint.ir.found import FileAnalysis
from warplint.ir.spans import displayed, file_and_cell
from warplint.proving import Progress, common_folder, evidence_of, wants_fixes, with_fixes
from warplint.records import dataclass
from warplint.remembering import Memory
from warplint.report.model import Report
from warplint.selection import RuleSelection, in_order
from warplint.settings.configuration import Configurations
from warplint.settings.discovery import discover, left_out
from warplint.settings.options import STDIN, Options, Selectors
from warplint.settings.warp import WarpVersion, WarpVersions
from warplint.source.files import default_cache

if TYPE_CHECKING:
    from warplint.catalogue.rule import Rule
    from warplint.report.configured import Configured
    from warplint.source.notebooks import Notebook
    from warplint.source.project import Project

# Some of these are in every comment that suppresses something.
_COMMENT_WORDS = ("warplint", "Warplint", "WARPLINT", "noqa", "NOQA", "NoQA", "Noqa")

# Programs choose for themselves what they show.
_FOR_PROGRAMS = ("json", "jsonl")


@dataclass(frozen=True, slots=True)
class Outcome:
    """A report, and the tracebacks of our own mistakes by file."""

    report: Report
    tracebacks: Mapping[Path, str]
    #: Whether some finding is as severe as the command line or its configuration says that a run must fail on.
    failed: bool = False
    #: What was done, for those who want to know.
    account: tuple[str, ...] = ()


def run(
    options: Options,
    stdin: bytes | None = None,
    progress: Progress = lambda step: None,
    seen: Callable[[Sequence[Finding]], None] = lambda findings: None,
) -> Outcome:
    """Lint what ``options`` ask for.

    ``stdin`` is the source text that the path ``-`` stands for. ``progress`` is told what is being done, and ``seen``
    the findings with their evidence, before fixes are looked for.

    Raises:
        DeviceUnusable: the probe is to run on a device that is not there.
        UnknownSelector: a rule named on the command line does not exist.
    """
    clock = [time.monotonic()]
    # 1. Which files.
    progress("looking for files")
    configurations = Configurations(Path(options.config) if options.config is not None else None, options.isolated)
    named = [path for path in options.paths if path != STDIN]
    discovery = discover(named, configurations, options.force_exclude, options.exclude)
    files, contents, stdin_path = discovery.files, {}, None
    if stdin is not None:
        stdin_path = Path(os.path.abspath(options.stdin_filename or STDIN))
        if not left_out(stdin_path, configurations, options.force_exclude, options.exclude):
            contents = {stdin_path: stdin}
            files = tuple(sorted({*files, stdin_path}))

    notebooks, unread = _notebooks(files, contents)
    files = tuple(path for path in files if path not in {Path(problem.path) for problem in unread})

    # 2. Which rules apply to which of them.
    versions = WarpVersions(options.warp_version, options.python)
    selection = RuleSelection(options.selectors, configurations, versions)
    selection.check(files)

    # 3. What is in them.
    progress(f"reading {len(files)} files")
    roots = import_roots(named, files, configurations)
    opened = cache(partial(_opened, roots, selection))
    least = options.min_severity or ("info" if options.output_format in _FOR_PROGRAMS else "warning")
    told = partial(_told, selection, options, configurations, least)
    memory = _memory(options, selection, files, roots, least) if stdin is None else None
    remembered = memory.recall() if memory is not None else None
    if remembered is None:
        from warplint.analysis import analyse_files
        from warplint.processes import available_cpus

        project, jobs = opened(), options.jobs or available_cpus()
        earlier = memory.earlier() if memory is not None else None
        kinds = selection.kinds({path.parent for path in files})
        analyses = analyse_files(files, project, contents, jobs, selection.wanted, told, earlier, kinds)
        texts = _texts(analyses, project, contents)
        if memory is not None and not any(analysis.problems for analysis in analyses):
            memory.remember(analyses, project, [path for path, text in texts.items() if _for_us(text)])
    else:
        analyses = remembered.analyses
        texts = dict.fromkeys(files, "")
        if remembered.commented:
            from warplint.source.text import read_text

            read = {path: read_text(path, contents.get(path)) for path in remembered.commented}
            texts |= {path: text for path, text in read.items() if isinstance(text, str)}

    # 4. What the rules make of it.
    findings = selection.findings(fact for analysis in analyses for fact in analysis.facts)

    suppressed = 0
    if options.ignores:
        findings, suppressed = unsuppressed(findings, analyses, texts, selection)
    baseline, everything = None, findings
    if options.baseline is not None:
        from warplint.baseline import Baseline

        baseline = Baseline.read(options.baseline, new=options.write_baseline)
        findings = findings if options.write_baseline else baseline.beyond(findings)

    elsewhere = 0
    if not options.write_baseline:
        reached = selection.of_reach(findings, options.reach)
        elsewhere, findings = len(findings) - len(reached), reached

    # 5. Whether it is so.
    clock.append(time.monotonic())
    listed = [finding for finding in findings if at_least(finding.severity, least)]
    rules = selection.rules_of(listed)
    probed = listed
    if listed:
        probed = evidence_of(listed, rules, opened(), options, selection, configurations, progress, memory is not None)
    # What was only asked about, and not confirmed, was never there.
    known = {id(finding) for finding in listed}
    nothing = {id(finding) for finding, seen in zip(listed, probed, strict=True) if not _reportable(seen)}
    nothing |= {id(finding) for finding in everything if finding.only_confirmed and id(finding) not in known}
    probed = [finding for finding in probed if _reportable(finding)]
    findings = [finding for finding in findings if id(finding) not in nothing]
    everything = [finding for finding in everything if id(finding) not in nothing]
    seen(probed)

    faults: dict[Path, str] = {}
    faulty: list[Problem] = []
    if probed and wants_fixes(options):
        try:
            probed = with_fixes(probed, rules, opened(), options, configurations, set(files) - set(notebooks), progress)
        except Exception as error:  # a mistake of ours must not take what was found along
            import traceback

            faults[common_folder(options.paths)] = traceback.format_exc()
            what = f"internal error while looking for fixes: {type(error).__name__}; please report it"
            faulty.append(Problem(displayed(common_folder(options.paths)), what))

    unlisted = [finding for finding in findings if not at_least(finding.severity, least)]
    if baseline is not None:
        looked_for = {path: selection.looked_for(path)[1] for path in texts if path != stdin_path}
        standing = [finding for finding in probed if finding.evidence.verdict != "refuted"]
        if options.write_baseline:
            baseline.renew([*standing, *unlisted], looked_for)
        else:
            baseline.shrink(everything, looked_for)
        # What was refuted when the baseline was written is not counted there, and is not new if it is refuted again.
        new = {id(finding) for finding in baseline.beyond([*standing, *unlisted])}
        probed = [finding for finding in probed if id(finding) in new or finding.evidence.verdict == "refuted"]
        unlisted = [finding for finding in unlisted if id(finding) in new]

    # 6. What to tell. Places in notebooks are told by their cells from here on.
    if notebooks:
        from warplint.source.notebooks import in_cells

        probed = [in_cells(finding, notebooks) for finding in probed]
    clock.append(time.monotonic())
    problems = [*discovery.problems, *configurations.problems, *selection.problems, *faulty]
    problems += unread
    for analysis in analyses:
        book = notebooks.get(analysis.path)
        problems += analysis.problems if book is None else map(book.problem, analysis.problems)
    problems += baseline.problems if baseline is not None else []
    shown = [finding for finding in probed if options.show_refuted or finding.evidence.verdict != "refuted"]
    linted_for: WarpVersion | None = None
    if findings or not _for_people(options) or options.verbose:
        common = common_folder(options.paths)
        linted_for = versions.of(configurations.nearest(common), common)
    report = Report(
        version=__version__,
        warp_version=None if linted_for is None else linted_for.version,
        warp_version_source=None if linted_for is None else linted_for.source,
        findings=tuple(shown),
        refuted=tuple(finding for finding in probed if finding not in shown),
        unlisted=len(unlisted),
        suppressed=suppressed,
        baselined=len(everything) - len(probed) - len(unlisted) - elsewhere,
        problems=tuple(sorted(dict.fromkeys(problems), key=lambda problem: (problem.path, problem.line or 0))),
        files=files,
        rules={finding.rule: rules[finding.rule] for finding in probed},
        lines=cache(lambda path: _lines(path, contents, notebooks)),
    )
    tracebacks = {analysis.path: analysis.traceback for analysis in analyses if analysis.traceback is not None} | faults
    failed = any(_fails(finding, options, configurations) for finding in (*report.standing, *unlisted))
    account = _account(files, configurations, selection, clock, analyses) if options.verbose else ()
    return Outcome(report, tracebacks, failed, account)


def _opened(roots: tuple[Path, ...], selection: RuleSelection) -> Project:
    from warplint.frontend import open_project

    project = open_project(roots)
    project.warp_version = selection.warp_series
    return project


def unsuppressed(
    findings: list[Finding], analyses: Iterable[FileAnalysis], texts: Mapping[Path, str], selection: RuleSelection
) -> tuple[list[Finding], int]:
    """What comments in the linted files leave of ``findings``, with findings about the comments themselves; and how
    many they took away."""
    # Few files hold comments for us, and reading comments takes more than the rest of a small run.
    if not any(_for_us(text) for text in texts.values()):
        return findings, 0
    from warplint.suppressing import UNUSED, suppress

    outcome = suppress(findings, texts, selection.looked_for)
    # What was not read to its end may hold what a comment is for.
    broken = {analysis.path for analysis in analyses if analysis.problems}
    facts = [fact for fact in outcome.facts if fact.kind != UNUSED or fact.location.path not in broken]
    return in_order([*outcome.kept, *selection.findings(facts)]), len(outcome.suppressed)


def _for_us(text: str) -> bool:
    """Whether there may be a comment that suppresses something."""
    return any(word in text for word in _COMMENT_WORDS)


def _memory(
    options: Options, selection: RuleSelection, files: Sequence[Path], roots: Sequence[Path], least: str
) -> Memory | None:
    """What is remembered of earlier runs that were asked for the same; None where nothing is to be kept."""
    if not options.cache:
        return None
    try:
        folder = Path(options.cache_dir) if options.cache_dir is not None else default_cache()
    except RuntimeError:  # nobody knows where this user is at home
        return None
    folders = dict.fromkeys(path.parent for path in files)
    told = (least, options.min_severity, options.fail_on, options.baseline is not None)
    asked = (told, *map(str, files), *map(str, roots), *selection.asked(folders))
    return Memory(folder.absolute() / "facts", asked)


def _reportable(finding: Finding) -> bool:
    return finding.stands or not finding.only_confirmed


def _account(
    files: Iterable[Path],
    configurations: Configurations,
    selection: RuleSelection,
    clock: Sequence[float],
    analyses: Sequence[FileAnalysis],
) -> tuple[str, ...]:
    """Which configurations govern how many files, which Warp they are linted for and why, which host code was not
    followed to its end, how long it took."""
    governed = Counter(configurations.nearest(path.parent).path for path in files)
    lines = [
        f"{displayed(path) if path is not None else 'no configuration'} governs {number} of the files"
        for path, number in sorted(governed.items(), key=str)
    ]
    linted_for = Counter(selection.warp_version(path) for path in files)
    lines += [
        f"{number} of the files linted for Warp {one.version} ({one.source})" for one, number in linted_for.items()
    ]
    cut = list(dict.fromkeys(entry for analysis in analyses for entry in analysis.exhausted))
    lines += [
        f"{displayed(path)}: `{name}` takes more steps than are followed, the rest was not seen" for path, name in cut
    ]
    budget = max((analysis.budget for analysis in analyses), default=0)
    if budget:
        runs, steps = (sum(getattr(analysis, name) for analysis in analyses) for name in ("runs", "steps"))
        lines.append(
            f"host code was run {runs} times in {steps} steps, of which one file may take {budget};"
            f" {len(cut) or 'no'} entry point{'s were' if len(cut) != 1 else ' was'} not followed to the end"
        )
    lines += [f"reading took {clock[1] - clock[0]:.2f} s", f"probing took {clock[2] - clock[1]:.2f} s"]
    return tuple(lines)


def _told(
    selection: RuleSelection, options: Options, configurations: Configurations, least: str, facts: Sequence[Fact]
) -> list[Fact]:
    """Those of ``facts`` whose findings are listed, kept in a baseline, or make the run fail."""
    return [
        finding.fact
        for finding in selection.findings(facts)
        if options.baseline is not None or at_least(finding.severity, least) or _fails(finding, options, configurations)
    ]


def _for_people(options: Options) -> bool:
    return options.output_format in ("full", "concise") and not options.outputs


def _fails(finding: Finding, options: Options, configurations: Configurations) -> bool:
    """Whether a finding makes the run fail. Unless told otherwise, none does that is not even listed."""
    threshold = options.fail_on or configurations.nearest(finding.location.path.parent).fail_on
    if threshold is None:
        threshold = "error" if options.min_severity == "error" else "warning"
    return at_least(finding.severity, threshold)


def catalogue_for(folder: str) -> tuple[tuple[Rule, ...], list[Problem]]:
    """The rules that are known to files in a folder, and what is wrong with what says so."""
    configurations = Configurations()
    selection = RuleSelection(Selectors(), configurations, WarpVersions())
    rules = selection.known(configurations.nearest(Path(folder)))
    return rules, [*configurations.problems, *selection.problems]


def configured(path: str, config: str | None, isolated: bool) -> tuple[Configured, list[Problem]]:
    """What holds for a file or folder, and what is wrong with what says so."""
    from warplint.report.configured import Configured, Setting
    from warplint.settings.keys import KEYS
    from warplint.settings.shown import effective

    absolute = Path(os.path.abspath(path))
    configurations = Configurations(Path(config) if config is not None else None, isolated)
    governing = configurations.nearest(absolute if absolute.is_dir() else absolute.parent)
    selection = RuleSelection(Selectors(), configurations, WarpVersions())
    applied, ignored = selection.applied(governing), selection.ignored_in(absolute)
    settings = []
    for key, known in KEYS.items():
        value, tables = effective(governing, key)
        settings.append(Setting(key, value, known.default, tuple(displayed(table.path) for table in tables)))
    rules = [
        (rule, applied.severities.get(rule.id, rule.severity))
        for rule in applied.rules
        if rule.id in applied.selected - ignored
    ]
    files = tuple(displayed(table.path) for table in governing.tables)
    problems = [*configurations.problems, *selection.problems]
    if not absolute.exists():
        problems.append(Problem(displayed(absolute), "no such file or folder; check the path"))
    return Configured(displayed(absolute), files, tuple(settings), tuple(rules)), problems


def _texts(analyses: Iterable[FileAnalysis], project: Project, contents: Mapping[Path, bytes]) -> dict[Path, str]:
    """The texts of the linted files that could be read."""
    from warplint.source.project import Module

    modules = [project.load(analysis.path, contents.get(analysis.path)) for analysis in analyses]
    return {module.path: module.text for module in modules if isinstance(module, Module)}


def import_roots(named: Iterable[str], files: Iterable[Path], configurations: Configurations) -> tuple[Path, ...]:
    """Where absolute imports are looked for, besides each file's own package: the ``src`` folders of what governs the
    files, else the folder of the configuration, the current folder and those named, each with its ``src``."""
    candidates: list[str] = []
    unsaid = [os.getcwd(), *(os.path.abspath(path) for path in named if os.path.isdir(path))]
    for configuration in dict.fromkeys(configurations.nearest(folder) for folder in {path.parent for path in files}):
        if configuration.value("src") is not None:
            candidates += map(str, configuration.folders("src"))
        elif configuration.path is not None:
            unsaid.append(str(configuration.path.parent))
    for folder in unsaid:
        candidates += [folder, os.path.join(folder, "src")]
    return tuple(Path(folder) for folder in dict.fromkeys(candidates) if os.path.isdir(folder))


def _notebooks(files: Iterable[Path], contents: dict[Path, bytes]) -> tuple[dict[Path, Notebook], list[Problem]]:
    """The notebooks among ``files``, whose Python text goes to ``contents``, and the problems of those without any."""
    paths = [path for path in files if path.suffix == ".ipynb"]
    if not paths:
        return {}, []
    from warplint.source.notebooks import read_notebook

    found: dict[Path, Notebook] = {}
    problems: list[Problem] = []
    for path in paths:
        book = read_notebook(path, contents.get(path))
        if isinstance(book, Problem):
            problems.append(book)
        else:
            found[path] = book
            contents[path] = book.text.encode("utf-8", "surrogatepass")
    return found, problems


def _lines(path: Path, contents: Mapping[Path, bytes], notebooks: Mapping[Path, Notebook]) -> list[str]:
    """The lines of a file or a cell; none if it cannot be read any more."""
    file, cell = file_and_cell(path)
    if cell is not None and file in notebooks:
        return notebooks[file].lines(cell)
    from warplint.source.text import read_text

    text = read_text(path, contents.get(path))
    return text.split("\n") if isinstance(text, str) else []
