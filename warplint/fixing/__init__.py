"""Fixes: what recipes propose is put into the text in memory, and counts as safe if a probe sees it mended there."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from warplint import kernels
from warplint.catalogue.rule import Rule
from warplint.fixing.places import Place, Plan
from warplint.fixing.recipes import plans
from warplint.fixing.writing import fitting
from warplint.ir.facts import Evidence, Finding
from warplint.ir.fixes import Edit, Fix
from warplint.ir.programs import KernelProgram, TapeProgram
from warplint.ir.spans import Location
from warplint.source.edits import Moved, apart, edited, encoded
from warplint.source.project import Module, Project
from warplint.tapes import remaking

__all__ = ["Probe", "offered"]

#: Probes findings that are each in a version of the project of their own.
Probe = Callable[[Sequence[tuple[Finding, Project]]], Sequence[Evidence]]

#: The number of a finding, what would be done, and how.
_Trial = tuple[int, str, tuple[Edit, ...]]

# Of several plans the first that mends counts, else the first that at least runs.
_RIGHT = 2
_RANKS = {"refuted": _RIGHT, "confirmed": 1}

_YOURS = "the gradient is right with it; whether it is what was meant is for you to say"
_ALONE = "the gradient of the kernel is right with it"
_BROKEN = "the text does not parse with it"
_OTHERWISE = "what runs with it could not be compared with what ran before"


def offered(
    findings: Sequence[Finding],
    rules: Mapping[str, Rule],
    project: Project,
    probe: Probe | None,
    files: Collection[Path],
    later: str = "`--fix` and `--diff` try it",
) -> list[Finding]:
    """``findings`` with the fixes that the recipes of their rules know.

    ``probe`` None: nothing is proved, and so nothing is safe; ``later`` says what would prove it. Only ``files`` are
    changed.
    """
    planned: dict[int, list[Plan]] = {}
    for number, finding in enumerate(findings):
        path = finding.location.path
        module = project.load(path) if path in files else None
        if isinstance(module, Module) and finding.evidence.verdict != "refuted":
            found = plans(Place(module, finding, files), rules[finding.rule].fix.recipe)
            found = [plan for plan in found if _keeps_comments(plan.edits, project)]
            if found and all(edit.location.path in files for plan in found for edit in plan.edits):
                planned[number] = found
    fixes: dict[int, Fix] = {}
    wrong: list[int] = []
    for number, own in planned.items():
        verdict = findings[number].evidence.verdict
        if probe is not None and verdict == "confirmed":
            wrong.append(number)
        else:
            why = "the gradient was not seen wrong before" if verdict != "confirmed" else later
            fixes[number] = _unsafe(own[0].title, own[0].edits, why)
    if probe is not None:
        fixes |= _proved(findings, {number: planned[number] for number in wrong}, project, probe)
    for number, fix in fixes.items():
        if rules[findings[number].rule].fix.safety == "display" and fix.applicability == "safe":
            fixes[number] = replace(fix, applicability="unsafe", message=f"{fix.message} ({_YOURS})")
    left = [plan for own in planned.values() for plan in own if plan.left]
    for number, fix in fixes.items():
        besides = "; ".join(dict.fromkeys(plan.left for plan in left if set(plan.edits) <= set(fix.edits)))
        if besides:
            right = f" ({_ALONE})" if fix.applicability == "safe" else ""
            fixes[number] = replace(fix, applicability="unsafe", message=f"{fix.message}{right}; {besides}")
    return [
        replace(finding, fix=fixes[number]) if number in fixes else finding for number, finding in enumerate(findings)
    ]


def _keeps_comments(edits: Sequence[Edit], project: Project) -> bool:
    """Whether no comment is in what the edits take away, unless they put it back."""
    for path in {edit.location.path for edit in edits}:
        module = project.load(path)
        own = [edit for edit in edits if edit.location.path == path]
        if not isinstance(module, Module):
            return False
        spans = [edit.location.span for edit in own]
        taken = (line for span in spans for line in module.lines[span.line - 1 : span.end_line])
        if any("#" in line for line in taken) and fitting(path, module.text, own) is None:
            return False
    return True


def _unsafe(title: str, edits: tuple[Edit, ...], why: str) -> Fix:
    return Fix("unsafe", f"{title} (not proved: {why})", edits)


def _proved(
    findings: Sequence[Finding], planned: Mapping[int, Sequence[Plan]], project: Project, probe: Probe
) -> dict[int, Fix]:
    """The fix of each finding whose plans are given: alone where that is enough, else with those of its neighbours."""
    fixes: dict[int, Fix] = {}
    ranks: dict[int, int] = {}
    for turn in range(max(map(len, planned.values()), default=0)):
        alone = [
            (number, own[turn].title, own[turn].edits)
            for number, own in planned.items()
            if turn < len(own) and ranks.get(number) != _RIGHT
        ]
        for trial, seen in zip(alone, _tried(findings, alone, project, probe), strict=True):
            rank = _RANKS.get(seen.verdict, 0)
            if seen.detail != _BROKEN and rank > ranks.get(trial[0], -1):
                ranks[trial[0]], fixes[trial[0]] = rank, _judged(trial, seen)
    # A definition with two defects is wrong until both are mended.
    together: list[_Trial] = []
    for neighbours in _neighbours(findings, [number for number, fix in fixes.items() if fix.applicability != "safe"]):
        edits: list[Edit] = []
        joined = [number for number in neighbours if apart(fixes[number].edits, edits) and _join(edits, fixes[number])]
        title = "Mend what is wrong in `{}`, in {} places"
        if len(joined) > 1:
            name = findings[joined[0]].fact.definition
            together += [(number, title.format(name, len(joined)), tuple(edits)) for number in joined]
    for trial, seen in zip(together, _tried(findings, together, project, probe), strict=True):
        if _RANKS.get(seen.verdict) == _RIGHT:
            fixes[trial[0]] = _judged(trial, seen)
    return fixes


def _join(edits: list[Edit], fix: Fix) -> bool:
    edits += [edit for edit in fix.edits if edit not in edits]
    return True


def _neighbours(findings: Sequence[Finding], numbers: Iterable[int]) -> Iterator[list[int]]:
    """The numbers of findings in one definition, together."""
    found: dict[object, list[int]] = {}
    for number in numbers:
        finding = findings[number]
        found.setdefault((finding.location.path, finding.fact.definition), []).append(number)
    yield from (numbers for numbers in found.values() if len(numbers) > 1)


def _judged(trial: _Trial, seen: Evidence) -> Fix:
    _, title, edits = trial
    if seen.verdict == "refuted":
        return Fix("safe", title, edits)
    return _unsafe(title, edits, "the gradient is still wrong with it" if seen.verdict == "confirmed" else seen.detail)


def _tried(findings: Sequence[Finding], trials: Sequence[_Trial], project: Project, probe: Probe) -> list[Evidence]:
    """What a probe sees of each finding once the edits are in."""
    evidence: list[Evidence] = []
    cases: list[tuple[int, Finding, Project]] = []
    for number, _, edits in trials:
        case = _remade(findings[number], edits, project)
        if isinstance(case, str):
            evidence.append(Evidence("inconclusive", case))
        else:
            cases.append((len(evidence), *case))
            evidence.append(Evidence("inconclusive", "not run"))
    seen = probe([(finding, other) for _, finding, other in cases]) if cases else ()
    for (place, _, _), one in zip(cases, seen, strict=True):
        evidence[place] = one
    return evidence


def _remade(finding: Finding, edits: Sequence[Edit], project: Project) -> tuple[Finding, Project] | str:
    """The finding and its program in the edited text, and the project with that text; or why there is none."""
    paths = {edit.location.path for edit in edits}
    other = project.after(paths)
    moves: dict[Path, Moved] = {}
    for path in paths:
        module = project.load(path)
        assert isinstance(module, Module)
        own = [edit for edit in edits if edit.location.path == path]
        text = edited(module.text, own)
        moves[path] = Moved(module.text, own)
        try:
            loaded = other.load(path, encoded(text))
        except (SyntaxError, UnicodeEncodeError):
            return _BROKEN
        if not isinstance(loaded, Module) or not list(loaded.statements()) or not loaded.complete:
            return _BROKEN

    def moving(location: Location) -> Location:
        known = moves.get(location.path)
        return location if known is None else Location(location.path, known.span(location.span))

    program = finding.fact.program
    if isinstance(program, KernelProgram):
        program = replace(program, flagged=tuple(map(moving, program.flagged)))
    elif isinstance(program, TapeProgram):
        places = [finding.location.path, *(operation.site.path for operation in program.operations)]
        modules = [module for path in dict.fromkeys(places) if isinstance(module := other.load(path), Module)]
        program = remaking.again(other, modules, program, moving, partial(kernels.effects, other))
    if program is None:
        return _OTHERWISE
    fact = replace(finding.fact, program=program, location=moving(finding.location))
    return replace(finding, fact=fact), other
