"""Static analysis of many files: in this process, or in several where that pays."""

from __future__ import annotations

import re
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from warplint.ir.effects import Uses, merged
from warplint.ir.facts import Fact, Problem
from warplint.ir.found import FileAnalysis, Inputs
from warplint.processes import Workers
from warplint.reach import reaching
from warplint.records import dataclass
from warplint.source.visible import name_of

if TYPE_CHECKING:
    from warplint.changes import Node
    from warplint.definitions import Taken
    from warplint.hosts import Sights
    from warplint.ir.runs import Earlier, HostRun, KeptFacts
    from warplint.source.project import Module, Outline, Project

#: Fewer files than this are analysed sooner than other processes start.
PARALLEL_FROM = 32

#: Picks the facts that matter to the caller; those that it drops cost nothing more.
Wanted = Callable[[Sequence[Fact]], Sequence[Fact]]

#: One of these is said by a module that launches a kernel, decorates one with options, or checks one.
_LAUNCHING = ("launch", "kernel", "autograd")

# What the text of a file says that has a part in tapes, unless everything comes from other modules of the project.
_HOSTS = re.compile(r"warp|Tape")


def analyse_files(
    files: Sequence[Path],
    project: Project,
    contents: Mapping[Path, bytes],
    jobs: int,
    wanted: Wanted = lambda facts: facts,
    told: Wanted = lambda facts: facts,
    earlier: Earlier | None = None,
    kinds: frozenset[str] | None = None,
) -> tuple[FileAnalysis, ...]:
    """Analyse every file, in the order given.

    ``contents`` stands for files that are not read from disk. For ``told`` see ``Linted``. ``earlier`` is what
    may be taken over from an earlier run; None: nothing is, nor will be from this one. ``kinds`` are those that some
    fact must have to be wanted, where these are known: others are not looked for.
    """
    jobs = jobs if len(files) >= PARALLEL_FROM else 1
    # All are loaded before any is analysed: who calls a func is looked up in all of them, in every process.
    project.known = earlier.modules if earlier is not None else {}
    found = _loaded(files, project, contents, 1 if project.known else jobs)
    modules = dict(_modules(found, project))

    hosts = _hosts(project, modules)
    sights = taken = None
    decorated = [path for path, module in modules.items() if "@" in module.text]
    if earlier is not None and (hosts or decorated):
        from warplint.definitions import Taken
        from warplint.hosts import Sights
        from warplint.source.visible import Visible

        visible = Visible(project.modules())
        sights = Sights(project, visible)
        others = earlier.modules.keys() - found.keys()
        if others:  # files that are imported, and not linted: they have not changed
            for path in others:
                project.load(path)
            visible = Visible(project.modules())
        if earlier.modules:
            taken = Taken(project, earlier, visible)
            taken = None if taken.changes.everything else taken
        for kept in earlier.facts.values():
            project.agreed |= kept.agreed
    before = earlier.hosts if earlier is not None else {}
    with Workers(Linted(project, wanted, told, sights, before, taken, earlier is not None, kinds), jobs) as workers:
        # Tapes first: how host code uses a kernel decides what its facts mean.
        tapes = workers.each(tape_facts, hosts, lambda path: _weight(modules[path], "Tape"))
        _add(found, hosts, tapes)
        uses = merged(analysis.uses for analysis in found.values())
        again: frozenset[Node] = taken.of_uses(uses) if taken is not None else frozenset()
        kernels = workers.each(kernel_facts, decorated, lambda path: _weight(modules[path], "@"), uses, again)
        _add(found, decorated, kernels)
    return tuple(found.values())


def _hosts(project: Project, modules: Mapping[Path, Module]) -> list[Path]:
    """The files that may have a part in tapes: they name Warp, or something of the project that leads to a tape."""
    # Where nothing is called, nothing runs.
    found = {path for path, module in modules.items() if "(" in module.text and _HOSTS.search(module.text)}
    others = [path for path in modules if path not in found]
    if others and any("Tape" in module.text for module in modules.values()):
        from warplint import tapes

        texts = (modules[path].text for path in others)
        found.update(path for path, named in zip(others, tapes.mentions(project, texts), strict=True) if named)
    return [path for path in modules if path in found]


@dataclass(frozen=True, slots=True)
class Linted:
    """What the analysis of each file needs of the whole: the loaded project, which facts are wanted, and which of those
    are ``told``: the rest is only counted, and LibCST need not read where it stands."""

    project: Project
    wanted: Wanted = lambda facts: facts
    told: Wanted = lambda facts: facts
    #: What host code sees, where runs are taken over, and those that may be.
    sights: Sights | None = None
    before: Mapping[Path, HostRun] = field(default_factory=dict)
    #: What of the facts of kernels and launches may be taken over, and whether a later run may do so.
    taken: Taken | None = None
    keeps: bool = False
    #: The kinds that wanted facts have, where that is known.
    kinds: frozenset[str] | None = None


def may_launch(text: str) -> bool:
    """Whether the text of a module can hold a fact about launches."""
    return any(word in text for word in _LAUNCHING)


def tape_facts(linted: Linted, path: Path) -> FileAnalysis:
    """The facts about the tapes that one loaded file runs, and how it uses kernels."""
    from warplint import kernels, tapes

    def facts(project: Project, module: Module) -> _Found:
        # Where a file is read again by LibCST, that is another project.
        if linted.sights is not None and project is linted.project and tapes.concerns(module):
            from warplint.hosts import tapes_of

            changes = linted.taken.changes if linted.taken is not None else None
            host, of_tapes, run = tapes_of(project, module, linted.sights, linted.before.get(path), changes)
        else:
            host, run = tapes.TapeAnalysis(project, partial(kernels.effects, project)), None
            of_tapes = tuple(host.module(module))
        launched: Sequence[Fact] = ()
        kept = None
        launches = kernels.about_launches(linted.kinds) and may_launch(module.text)
        if linted.keeps and project is linted.project:
            from warplint.definitions import launch_facts

            launched, kept = launch_facts(project, module, linted.taken, linted.wanted, launches)
        elif launches:
            launched = tuple(kernels.launches(project, module))
        found = linted.wanted((*of_tapes, *launched))
        return found, host.uses, _Followed(tuple(host.exhausted), host.runs, host.steps, host.BUDGET, run, kept)

    return _guarded(linted, path, facts)


def kernel_facts(linted: Linted, path: Path, uses: Uses, again: frozenset[Node] = frozenset()) -> FileAnalysis:
    """The facts about the kernels and funcs of one loaded file; ``uses`` says how host code uses them, ``again`` are
    the regions where no facts can be taken over."""
    from warplint import kernels

    def facts(project: Project, module: Module) -> _Found:
        kept = None
        if linted.keeps and project is linted.project:
            from warplint import definitions

            found, kept = definitions.kernel_facts(
                project, module, uses, linted.taken, again, linted.wanted, linted.kinds
            )
        else:
            found = linted.wanted(tuple(kernels.analyse(project, module, uses, kinds=linted.kinds)))
        return tuple(reaching(fact, uses, project) for fact in found), {}, _Followed(kept=kept)

    return _guarded(linted, path, facts)


@dataclass(frozen=True, slots=True)
class _Followed:
    """How far host code was followed (see ``FileAnalysis``)."""

    exhausted: tuple[tuple[Path, str], ...] = ()
    runs: int = 0
    steps: int = 0
    budget: int = 0
    host: HostRun | None = None
    kept: KeptFacts | None = None


#: Facts, how kernels are used, and how far host code was followed.
_Found = tuple[Sequence[Fact], Uses, _Followed]
_Facts = Callable[["Project", "Module"], _Found]


def _guarded(linted: Linted, path: Path, facts: _Facts) -> FileAnalysis:
    """What ``facts`` finds in one file. A mistake of ours costs this file only.

    Python's own parser is fast enough to read everything; LibCST reads the definitions that hold a fact again. Where
    it reads them otherwise, its reading counts.
    """
    project = linted.project
    known, seen = len(project.problems), project.seen()
    inputs = Inputs()
    try:
        module = project.load(path)
        if isinstance(module, Problem):
            return FileAnalysis(path)
        found, uses, followed = facts(project, module)
        otherwise = project.read_otherwise((fact.location.path, fact.location.span.line) for fact in linted.told(found))
        if otherwise:
            precise = project.precisely(otherwise)
            module = precise.load(path)
            assert not isinstance(module, Problem)
            found, uses, followed = facts(precise, module)
            inputs = Inputs(precise.inputs().present - project.inputs().present)
            project.problems += precise.problems[len(project.problems) :]
        elif followed.kept is not None:
            places = [(fact.location.path, fact.location.span.line) for fact in linted.told(found)]
            followed = replace(followed, kept=replace(followed.kept, agreed=project.agreed_at(places)))
    except ModuleNotFoundError:  # an installation without what we depend on, which no file is to blame for
        raise
    except Exception as error:
        return _internal_error(path, error)
    return FileAnalysis(
        path,
        tuple(found),
        tuple(project.problems[known:]),
        uses=uses,
        exhausted=followed.exhausted,
        inputs=inputs.also(project.inputs(seen)),
        runs=followed.runs,
        steps=followed.steps,
        budget=followed.budget,
        host=followed.host,
        kept=followed.kept,
    )


# --- all files ---


def _loaded(
    files: Sequence[Path], project: Project, contents: Mapping[Path, bytes], jobs: int
) -> dict[Path, FileAnalysis]:
    """Load every file; what comes back holds only what is wrong with them."""
    if jobs > 1:
        with Workers(project, jobs) as workers:
            names = frozenset(map(name_of, files))
            outlines = workers.each(outline_of, [path for path in files if path not in contents], _size, names)
        for outline in outlines:
            if outline is not None:  # else a process died; this one finds out why
                project.adopt(outline, names)
    return {path: _load(project, path, contents.get(path)) for path in files}


def outline_of(project: Project, path: Path, names: frozenset[str]) -> Outline:
    """See ``Project.outline``."""
    return project.outline(path, names)


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except (OSError, ValueError):
        return 0


def _load(project: Project, path: Path, data: bytes | None) -> FileAnalysis:
    try:
        module = project.load(path, data)
    except Exception as error:
        return _internal_error(path, error)
    return FileAnalysis(path, problems=(module,) if isinstance(module, Problem) else ())


def _modules(found: Mapping[Path, FileAnalysis], project: Project) -> list[tuple[Path, Module]]:
    """The files that could be loaded."""
    loaded = [(path, project.load(path)) for path, analysis in found.items() if not analysis.problems]
    return [(path, module) for path, module in loaded if not isinstance(module, Problem)]


def _weight(module: Module, mark: str) -> int:
    """About how much work a module is, in characters: little where it lacks the ``mark``."""
    return len(module.text) if mark in module.text else len(module.text) // 50


def _add(found: dict[Path, FileAnalysis], paths: Sequence[Path], more: Sequence[FileAnalysis | None]) -> None:
    message = "the process that analysed the file died; please report it, the file was not linted"
    for path, analysis in zip(paths, more, strict=True):
        analysis = analysis or FileAnalysis(path, problems=(Problem(str(path), message),))
        found[path] = found[path].and_then(analysis)


def _internal_error(path: Path, error: Exception) -> FileAnalysis:
    what = f"internal error: {type(error).__name__}: {' '.join(str(error).split())[:200]}"
    problem = Problem(str(path), f"{what}; please report it with what `--verbose` shows, the file was not linted")
    return FileAnalysis(path, problems=(problem,), traceback=traceback.format_exc())
