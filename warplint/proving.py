"""The evidence for findings and for their fixes: the probe, as the command line and the configurations want it."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from warplint.ir.facts import Evidence, Finding
from warplint.selection import RuleSelection
from warplint.settings.configuration import Configuration, Configurations
from warplint.settings.options import Options
from warplint.settings.warp import WarpVersion, installed_warp, series

if TYPE_CHECKING:
    from warplint.catalogue.rule import Rule
    from warplint.probe import ProbeOptions
    from warplint.source.project import Project

# These hold the fixes of findings.
_WITH_FIXES = ("json", "jsonl", "sarif", "lsp")

# Each fix takes about as long to try as its finding took: a report on many findings does not wait for that.
_MOST_TRIED = 16

#: Called with what is being done.
Progress = Callable[[str], None]


class DeviceUnusable(Exception):
    """The device that was asked for cannot be used; the message says why and what to do."""


def evidence_of(
    findings: list[Finding],
    rules: Mapping[str, Rule],
    project: Project,
    options: Options,
    selection: RuleSelection,
    configurations: Configurations,
    progress: Progress,
    kept: bool = False,
) -> list[Finding]:
    """``findings`` with the evidence of a probe, unless the command line or their configuration turn it off.

    Programs run with the Warp beside warplint. Where the code is linted for another one, the evidence says so, and what
    only the other one gets wrong is not run. ``kept``: the project is that of the files (see ``probe``).
    """
    findings, places = list(findings), []
    beside = installed_warp() if findings else None
    for number, finding in enumerate(findings):
        configured = configurations.nearest(finding.location.path.parent).probe
        if rules[finding.rule].probe.kind == "none":
            continue
        if (configured if options.probe is None else options.probe) is False:
            findings[number] = replace(finding, evidence=Evidence("unprobed", "the probe is turned off"))
        elif beside is not None and not rules[finding.rule].concerns(beside):
            linted_for = selection.warp_version(finding.location.path)
            what = f"not probed: Warp {beside}, which runs the probe, does not have this defect"
            what += f"; the code is linted for Warp {linted_for.version} ({linted_for.source})"
            findings[number] = replace(finding, evidence=Evidence("unprobed", what))
        else:
            places.append(number)
    if not places:
        return findings
    from warplint.probe import NoDevice, probe

    with _cache_folder(options) as folder:
        probe_options = _probe_options(options, configurations, folder)
        try:
            evidence = probe(
                [findings[number] for number in places],
                project,
                probe_options,
                lambda done, total: progress(f"probing {done} of {total}"),
                kept,
            )
        except NoDevice as error:
            raise DeviceUnusable(
                f"the device `{probe_options.device}` cannot be used: {error}; `--device auto` uses what there is"
            ) from error
    for number, seen in zip(places, evidence, strict=True):
        linted_for = selection.warp_version(findings[number].location.path)
        findings[number] = replace(findings[number], evidence=_under_another(seen, linted_for))
    if options.emit_probe is not None:
        from warplint.probe.emit import write_scripts

        probed = [findings[number] for number in places]
        written = write_scripts(probed, project, probe_options, Path(options.emit_probe))
        for number, finding in zip(places, written, strict=True):
            findings[number] = finding
    return findings


def _under_another(evidence: Evidence, linted_for: WarpVersion) -> Evidence:
    """``evidence``, which says so if it was seen under another Warp than the one that the code is linted for."""
    seen = evidence.warp_version
    if seen is None or series(seen) == series(linted_for.version):
        return evidence
    return replace(evidence, detail=f"{evidence.detail} (the code is linted for Warp {linted_for.version})")


def wants_fixes(options: Options) -> bool:
    """Whether somebody reads what fixes there are; proving them takes time."""
    formats = {options.output_format, *(output_format for output_format, _ in options.outputs)}
    return options.fix or options.diff or not formats.isdisjoint(_WITH_FIXES)


def with_fixes(
    findings: list[Finding],
    rules: Mapping[str, Rule],
    project: Project,
    options: Options,
    configurations: Configurations,
    files: Collection[Path],
    progress: Progress,
) -> list[Finding]:
    """``findings`` with fixes; those that a probe confirmed are looked at again with the fix."""
    from warplint.fixing import offered

    proved = sum(finding.evidence.verdict == "confirmed" for finding in findings)
    if not proved or (proved > _MOST_TRIED and not options.fix and not options.diff):
        return offered(findings, rules, project, None, files)
    from warplint.probe import probe_each

    with _cache_folder(options) as folder:

        def probe(cases: Sequence[tuple[Finding, Project]]) -> Sequence[Evidence]:
            progress(f"trying {len(cases)} fixes")
            probe_options = _probe_options(options, configurations, folder)
            return probe_each([([finding], edited) for finding, edited in cases], probe_options)

        return offered(findings, rules, project, probe, files)


def _probe_options(options: Options, configurations: Configurations, cache: Path | None) -> ProbeOptions:
    """What holds for the probe. One run of it is on one device, and may do the same for all files."""
    from warplint.probe import ProbeOptions

    governing = configurations.nearest(common_folder(options.paths))
    imports, native = permissions(options.probe_import, options.probe_native, governing)
    device = options.device or governing.device or "auto"
    return ProbeOptions(device=device, cache_dir=cache, allow_import=imports, allow_native=native)


def permissions(imports: bool | None, native: bool | None, governing: Configuration) -> tuple[bool, bool]:
    """Whether a probe may import from the project and run native snippets: what the command line says comes first."""
    return (
        bool(governing.probe_import if imports is None else imports),
        bool(governing.probe_native if native is None else native),
    )


@contextmanager
def _cache_folder(options: Options) -> Iterator[Path | None]:
    """Where compiled kernels are kept: None for the usual place."""
    if options.cache:
        yield None if options.cache_dir is None else Path(options.cache_dir)
        return
    from tempfile import TemporaryDirectory

    with TemporaryDirectory(prefix="warplint-") as folder:
        yield Path(folder)


def common_folder(paths: Iterable[str]) -> Path:
    """The innermost folder that holds everything named on the command line; its configuration governs the probe."""
    folders = []
    for path in paths:
        absolute = os.path.abspath(path)
        folders.append(absolute if os.path.isdir(absolute) else os.path.dirname(absolute))
    try:
        return Path(os.path.commonpath(folders))
    except ValueError:  # nothing named, or on several drives
        return Path.cwd()
