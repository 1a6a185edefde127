"""The audit: every kernel and func that is compiled with an adjoint is checked, found fault with or not."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from warplint import __version__
from warplint.analysis import analyse_files
from warplint.frontend import open_project
from warplint.ir.audits import Audit, Entry, Judgement, Subject
from warplint.ir.facts import Evidence, Fact, Finding, Reach
from warplint.ir.programs import DefinitionRef, KernelProgram
from warplint.ir.spans import Location, displayed
from warplint.pipeline import import_roots
from warplint.probe import NoDevice, ProbeOptions
from warplint.probe.whole import Asked, Seen, probe_whole
from warplint.processes import available_cpus
from warplint.proving import DeviceUnusable, common_folder, permissions
from warplint.reach import reaching
from warplint.records import dataclass
from warplint.selection import RuleSelection
from warplint.settings.configuration import Configurations
from warplint.settings.discovery import discover
from warplint.settings.options import AuditOptions, Selectors
from warplint.settings.warp import WarpVersions, installed_warp
from warplint.source.project import Module, Project

_JUDGEMENTS: Mapping[str, Judgement] = {"confirmed": "wrong", "refuted": "ok"}
# So many funcs are looked at in one launch of a kernel that calls them: each has an account of its own there.
_MOST_FUNCS = 24


def audit(options: AuditOptions, progress: Callable[[str], None] = lambda step: None) -> Audit:
    """Check all that is compiled with an adjoint under the paths.

    Raises:
        DeviceUnusable: the probe is to run on a device that is not there.
    """
    progress("looking for files")
    configurations = Configurations(Path(options.config) if options.config is not None else None, options.isolated)
    discovery = discover(list(options.paths), configurations, False, options.exclude)
    files = tuple(path for path in discovery.files if path.suffix != ".ipynb")
    selection = RuleSelection(Selectors(), configurations, WarpVersions())
    selection.check(files)
    progress(f"reading {len(files)} files")
    project = open_project(import_roots(options.paths, files, configurations))
    project.warp_version = selection.warp_series
    analyses = analyse_files(files, project, {}, options.jobs or available_cpus())
    findings = selection.findings(fact for analysis in analyses for fact in analysis.facts)
    uses = {kernel: use for analysis in analyses for kernel, use in analysis.uses.items()}

    subjects, forward_only = _subjects(files, project)
    governing = configurations.nearest(common_folder(options.paths))
    imports, native = permissions(options.probe_import, options.probe_native, governing)
    probe_options = ProbeOptions(
        device=options.device or governing.device or "auto",
        timeout_s=options.timeout,
        cache_dir=None if options.cache_dir is None else Path(options.cache_dir),
        reuse=options.resume,
        resume=options.resume,
        allow_import=imports,
        allow_native=native,
        parallel=options.jobs or 0,
    )
    by_file: dict[Path, list[Finding]] = defaultdict(list)
    for finding in findings:
        by_file[finding.location.path].append(finding)
    about = {
        subject.location: [one for one in by_file[subject.whole.path] if _is_about(one, subject)]
        for subject in subjects
    }
    flagged = {location for location, own in about.items() if own}
    seen = _probed(subjects, flagged, project, probe_options, progress)

    # What switches the adjoint off may be known to Warp alone.
    without = [one for one in subjects if one.role == "kernel" and seen[one.location].seen.forward_only]
    for subject in without:
        name = displayed(subject.whole.path)
        forward_only[name] = forward_only.get(name, 0) + 1
    entries = []
    for subject in subjects:
        if subject in without:
            continue
        own = about[subject.location]
        fact = Fact("audited", subject.location, {}, (), "", program=KernelProgram(subject.ref, (), subject.callers))
        entries.append(_entry(subject, seen[subject.location], own, reaching(fact, uses, project).reach))
    problems = [*discovery.problems, *configurations.problems, *selection.problems]
    problems += [problem for analysis in analyses for problem in analysis.problems]
    return Audit(
        __version__,
        installed_warp(),
        tuple(_believed(entry, seen[entry.subject.location]) for entry in _blamed(entries)),
        forward_only,
        tuple(dict.fromkeys(problems)),
        len(files),
    )


def _is_about(finding: Finding, subject: Subject) -> bool:
    """Whether a finding stands in a subject, or in what somebody wrote for its adjoint."""
    if subject.whole.span.covers(finding.location.span):
        return True
    program = finding.fact.program
    return subject.custom and isinstance(program, KernelProgram) and _key(program.kernel) == _key(subject.ref)


def _subjects(files: Iterable[Path], project: Project) -> tuple[list[Subject], dict[str, int]]:
    """What is audited in the files, and how many definitions of each are compiled forward only."""
    from warplint.kernels.subjects import subjects

    found: list[Subject] = []
    forward_only: dict[str, int] = {}
    for path in files:
        module = project.load(path)
        if not isinstance(module, Module) or "@" not in module.text:
            continue
        own = list(subjects(project, module))
        found += [subject for subject in own if subject is not None]
        if None in own:
            forward_only[displayed(path)] = own.count(None)
    return sorted(found, key=lambda subject: subject.location), forward_only


@dataclass(frozen=True, slots=True)
class _Shown:
    """What was seen of a subject, and the kernel that it was seen through (empty: by itself)."""

    seen: Seen
    through: str = ""


def _probed(
    subjects: Sequence[Subject],
    flagged: Collection[Location],
    project: Project,
    options: ProbeOptions,
    progress: Callable[[str], None],
) -> dict[Location, _Shown]:
    """What the probe saw of each subject; rules find fault with those that are ``flagged``.

    Funcs ride on the nearest kernel that calls them, which costs no compilation of their own. Those that show nothing
    there, or show what need not be their own fault, are launched alone.
    """
    known: dict[Location, _Shown] = {}

    def tell(done: int, total: int) -> None:
        progress(f"probing {done} of {total}")

    def run(asked: Sequence[Asked]) -> None:
        try:
            answers = probe_whole(asked, project, options, tell)
        except NoDevice as error:
            raise DeviceUnusable(
                f"the device `{options.device}` cannot be used: {error}; `--device auto` uses what there is"
            ) from error
        for one, seen in zip(asked, answers, strict=True):
            for subject, what in zip(one.subjects, seen, strict=True):
                through = "" if subject.ref == one.target else one.target.qualname
                before = known.get(subject.location)
                told = before is not None and not (before.seen.idle or before.seen.forward_only)
                if not told or what.evidence.verdict != "inconclusive":
                    known[subject.location] = _Shown(what, through)

    launches = _launches(subjects)
    run(launches)
    left = [
        subject
        for subject in subjects
        if subject.role == "func" and (subject.location not in known or not _settled(known[subject.location].seen))
    ]
    run([Asked(subject.ref, (subject,)) for subject in left])
    # What is only wrong where indices coincide, or a store comes after a load that they lead to, may be right in use: a
    # tree is walked from its root.
    doubtful = {
        location
        for location, shown in known.items()
        if shown.seen.scatters
        and (shown.seen.evidence.verdict == "confirmed" or shown.seen.several)
        and location not in flagged
    }
    again = [one for one in launches if any(subject.location in doubtful for subject in one.subjects)]
    again += [Asked(subject.ref, (subject,)) for subject in left if subject.location in doubtful]
    kept = dict(known)
    run([replace(one, ordered=True) for one in again])
    for location, shown in kept.items():
        if location not in doubtful or known[location].seen.evidence.verdict != "refuted":
            known[location] = shown
    for location, shown in known.items():
        if shown.through and shown.seen.evidence.verdict == "confirmed":
            reason = f"`{shown.through}`, which calls it, is wrong, and the func alone could not be decided"
            known[location] = _Shown(Seen(Evidence("inconclusive", reason), shown.seen.stored), shown.through)
    return known


def _settled(seen: Seen) -> bool:
    """Whether a kernel showed that a func that it calls is right."""
    return seen.evidence.verdict == "refuted" and not seen.idle


def _launches(subjects: Sequence[Subject]) -> list[Asked]:
    """The kernels, each with the funcs that are best seen through it."""
    kernels = {_key(subject.ref): subject for subject in subjects if subject.role == "kernel"}
    riding: dict[tuple[Path, str], list[Subject]] = defaultdict(list)
    for subject in subjects:
        if subject.role == "func":
            for caller in subject.callers:
                if _key(caller) in kernels and len(riding[_key(caller)]) < _MOST_FUNCS:
                    riding[_key(caller)].append(subject)
                    break
    return [Asked(kernel.ref, (kernel, *riding[key])) for key, kernel in kernels.items()]


def _key(ref: DefinitionRef) -> tuple[Path, str]:
    return ref.path, ref.qualname


def _entry(subject: Subject, shown: _Shown, findings: Sequence[Finding], reach: Reach) -> Entry:
    evidence = shown.seen.evidence
    # What a rule only asks about is found where the answer is bad.
    findings = [one for one in findings if not one.only_confirmed or evidence.verdict == "confirmed"]
    return Entry(
        subject,
        _JUDGEMENTS.get(evidence.verdict, "undecided"),
        evidence.detail.removeprefix("not run: "),
        evidence.numbers,
        evidence.device,
        evidence.warp_version,
        shown.seen.unreached,
        shown.through,
        tuple(findings),
        reach,
        shown.seen.stored,
    )


def _believed(entry: Entry, shown: _Shown) -> Entry:
    """``entry``, undecided where what is wrong may only be wrong at inputs that nobody would use.

    Elements that indices from arrays lead to may coincide there. A rule that finds fault as well has looked at the
    source, which knows nothing of such inputs.
    """
    if entry.judgement != "wrong" or entry.findings or not shown.seen.scatters:
        return entry
    reason = "tape and finite differences disagree where elements that indices lead to may coincide"
    return replace(entry, judgement="undecided", detail=f"{reason}: {entry.detail}")


def _blamed(entries: Sequence[Entry]) -> list[Entry]:
    """``entries``, where a kernel is wrong because of a func that is wrong alone with the findings of that func."""
    funcs: dict[tuple[Path, str], list[Finding]] = defaultdict(list)
    for entry in entries:
        if entry.subject.role == "func":
            for caller in entry.subject.callers:
                funcs[_key(caller)] += entry.findings
    return [
        replace(entry, findings=(*entry.findings, *funcs[_key(entry.subject.ref)]))
        if entry.judgement == "wrong" and entry.subject.role == "kernel"
        else entry
        for entry in entries
    ]
