"""Static analysis of many files: in this process, or in several where that pays."""

from __future__ import annotations

import os
import re
import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from warplint.ir.facts import Fact, Problem
from warplint.ir.programs import KernelProgram
from warplint.reach import Uses, merged, reaching

if TYPE_CHECKING:
    from multiprocessing.context import BaseContext

    from warplint.source.project import Module, Project

#: Fewer files than this are analysed sooner than other processes start; LibCST makes them worth it earlier.
PARALLEL_FROM = 32
PRECISE_PARALLEL_FROM = 6
# A kernel has a decorator, a tape its class; `wp` may come from another module of the project.
_RELEVANT = re.compile(r"warp|Tape|@[\w.]*(?:kernel|func)")
# Pieces of work a process: enough that no process waits long for the last one.
_CHUNKS_PER_JOB = 4


@dataclass(frozen=True, slots=True)
class FileAnalysis:
    """What came of one file: facts, how it uses kernels, and what kept us from more (with a traceback, if that is our
    fault)."""

    path: Path
    facts: tuple[Fact, ...] = ()
    problems: tuple[Problem, ...] = ()
    traceback: str | None = None
    uses: Uses = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Work:
    """What to do with one file that the project has loaded: kernel analysis, tape analysis, or both."""

    path: Path
    kernels: bool = True
    tapes: bool = True


def analyse_files(
    files: Sequence[Path],
    project: Project,
    contents: Mapping[Path, bytes],
    jobs: int,
    wanted: Callable[[Sequence[Fact]], Sequence[Fact]] = lambda facts: facts,
) -> tuple[FileAnalysis, ...]:
    """Analyse every file, in the order given.

    ``contents`` stands for files that are not read from disk. ``wanted`` picks the facts that matter to the caller;
    those that it drops cost nothing more.
    """
    # All are loaded before any is analysed: who calls a func is looked up in all of them, in every process.
    found = {path: _loaded(project, path, contents.get(path)) for path in files}
    sound = [Work(path) for path, analysis in found.items() if analysis is None]

    # Python's own parser is fast enough to screen everything; LibCST reads the definitions that hold a fact again.
    screened = {analysis.path: analysis for analysis in _analysed(sound, project, jobs)}
    uses = merged(analysis.uses for analysis in screened.values())
    suspects: dict[Path, list[Fact]] = {}
    for path, analysis in screened.items():
        for fact in wanted(analysis.facts):
            suspects.setdefault(path, []).append(fact)
    again = [Work(path, _any_from_kernels(facts), _any_from_tapes(facts)) for path, facts in suspects.items()]
    places = sorted((fact.location.path, fact.location.span.line) for facts in suspects.values() for fact in facts)
    reported = _analysed(again, project.precisely(places), jobs, uses) if again else ()

    found.update({path: replace(analysis, facts=()) for path, analysis in screened.items()})
    for analysis in reported:
        before = screened[analysis.path]
        problems = tuple(dict.fromkeys((*before.problems, *analysis.problems)))
        facts = tuple(reaching(fact, uses) for fact in analysis.facts)
        found[analysis.path] = replace(analysis, facts=facts, problems=problems)
    return tuple(analysis for analysis in found.values() if analysis is not None)


def _any_from_kernels(facts: Iterable[Fact]) -> bool:
    return any(isinstance(fact.program, KernelProgram) for fact in facts)


def _any_from_tapes(facts: Iterable[Fact]) -> bool:
    return any(not isinstance(fact.program, KernelProgram) for fact in facts)


def analyse_file(project: Project, work: Work, uses: Uses | None = None) -> FileAnalysis:
    """The facts of one file. A mistake of ours costs this file only.

    ``uses`` says how host code uses kernels, where that is known already.
    """
    known = len(project.problems)
    try:
        module = project.load(work.path)
        facts, seen = ((), {}) if isinstance(module, Problem) else _facts(project, module, work, uses)
    except ModuleNotFoundError:  # an installation without what we depend on, which no file is to blame for
        raise
    except Exception as error:
        return _internal_error(work.path, error)
    return FileAnalysis(work.path, facts, tuple(project.problems[known:]), uses=seen)


def relax_collector() -> None:
    """Have Python look for cyclic garbage less often: syntax trees live as long as the run, and looking through them
    again and again costs a third of it. This concerns the whole process, so only programs of our own call it."""
    import gc

    gc.set_threshold(200_000, 50, 100)


def available_cpus() -> int:
    """How many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _loaded(project: Project, path: Path, data: bytes | None) -> FileAnalysis | None:
    """None if the file could be loaded, else why not."""
    try:
        module = project.load(path, data)
    except Exception as error:
        return _internal_error(path, error)
    return FileAnalysis(path, problems=(module,)) if isinstance(module, Problem) else None


def _facts(project: Project, module: Module, work: Work, uses: Uses | None) -> tuple[tuple[Fact, ...], Uses]:
    # Most files have nothing to do with Warp: for those not even the analyses are imported.
    if not _RELEVANT.search(module.text):
        return (), {}
    from warplint import kernels, tapes

    host = tapes.TapeAnalysis(project, partial(kernels.effects, project))
    of_kernels = tuple(kernels.analyse(project, module, uses)) if work.kernels else ()
    of_tapes = tuple(host.module(module)) if work.tapes else ()
    return (*of_kernels, *of_tapes), host.uses


def _internal_error(path: Path, error: Exception) -> FileAnalysis:
    what = f"internal error: {type(error).__name__}: {' '.join(str(error).split())[:200]}"
    problem = Problem(str(path), f"{what}; please report it with what `--verbose` shows, the file was not linted")
    return FileAnalysis(path, problems=(problem,), traceback=traceback.format_exc())


def _analysed(work: Sequence[Work], project: Project, jobs: int, uses: Uses | None = None) -> tuple[FileAnalysis, ...]:
    if jobs < 2 or len(work) < (PARALLEL_FROM if uses is None else PRECISE_PARALLEL_FROM):
        return tuple(analyse_file(project, piece, uses) for piece in work)
    size = max(1, len(work) // (jobs * _CHUNKS_PER_JOB))
    chunks = [work[start : start + size] for start in range(0, len(work), size)]
    found: list[FileAnalysis] = []
    for chunk, results in zip(chunks, _run(chunks, project, jobs, uses), strict=True):
        if results is not None:
            found += results
            continue
        # A process died over this chunk or beside it (a crash in a parser's C code): find the file that did it.
        for piece in chunk:
            (alone,) = _run([[piece]], project, 1, uses)
            message = "the process that analysed the file died; please report it, the file was not linted"
            found += alone or [FileAnalysis(piece.path, problems=(Problem(str(piece.path), message),))]
    return tuple(found)


# --- several processes ---

_project: Project | None = None
_uses: Uses | None = None


def _start(project: Project, uses: Uses | None) -> None:
    """Set up a worker process."""
    import signal

    relax_collector()

    # An interrupt goes to the whole group; the parent ends the workers.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    global _project, _uses
    _project, _uses = project, uses


def _work(chunk: Sequence[Work]) -> list[FileAnalysis]:
    assert _project is not None
    return [analyse_file(_project, piece, _uses) for piece in chunk]


def _run(
    chunks: Iterable[Sequence[Work]], project: Project, jobs: int, uses: Uses | None
) -> list[list[FileAnalysis] | None]:
    """The results of the chunks in their order; None for those that a dying process took along."""
    from concurrent.futures import ProcessPoolExecutor
    from concurrent.futures.process import BrokenProcessPool

    results: list[list[FileAnalysis] | None] = []
    with ProcessPoolExecutor(jobs, mp_context=_context(), initializer=_start, initargs=(project, uses)) as pool:
        futures = [pool.submit(_work, chunk) for chunk in chunks]
        try:
            for future in futures:
                try:
                    results.append(future.result())
                except BrokenProcessPool:
                    results.append(None)
        except BaseException:
            # End the workers at once, instead of letting them finish what nobody waits for.
            for process in list((pool._processes or {}).values()):
                process.terminate()
            raise
    return results


def _context() -> BaseContext:
    """How to start processes: by fork on Linux, where the workers then share the loaded project without copying it."""
    import multiprocessing
    import sys

    return multiprocessing.get_context("fork" if sys.platform == "linux" else None)
