"""Static analysis of many files: in this process, or in several where that pays."""

from __future__ import annotations

import os
import traceback
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from warplint.ir.facts import Fact, Problem

if TYPE_CHECKING:
    from warplint.source.project import Module, Project

#: Fewer files than this are analysed sooner than other processes start.
PARALLEL_FROM = 64
# Pieces of work a process: enough that no process waits long for the last one.
_CHUNKS_PER_JOB = 4


@dataclass(frozen=True, slots=True)
class FileAnalysis:
    """What came of one file: facts, or the problem that kept us from them (with its traceback, if it is our fault)."""

    path: Path
    facts: tuple[Fact, ...] = ()
    problem: Problem | None = None
    traceback: str | None = None


def new_project(roots: tuple[Path, ...]) -> Project:
    """A project that reads with Python's own parser."""
    from warplint.frontend.fast import read
    from warplint.source.project import Project

    return Project(read, roots)


def analyse_files(
    files: Sequence[Path], project: Project, roots: tuple[Path, ...], contents: Mapping[Path, bytes], jobs: int
) -> tuple[FileAnalysis, ...]:
    """Analyse every file, in the order given. ``contents`` stands for files that are not read from disk."""
    jobs = min(jobs, len(files) * _CHUNKS_PER_JOB // PARALLEL_FROM)
    if jobs < 2 or len(files) < PARALLEL_FROM:
        return tuple(analyse_file(project, roots, path, contents.get(path)) for path in files)
    return tuple(_in_parallel(files, roots, contents, jobs))


def analyse_file(project: Project, roots: tuple[Path, ...], path: Path, data: bytes | None = None) -> FileAnalysis:
    """The facts of one file. A mistake of ours costs this file only."""
    try:
        module = project.load(path, data)
        if isinstance(module, Problem):
            return FileAnalysis(path, problem=module)
        facts = _facts(project, module)
        if facts:
            facts = _confirmed_by_libcst(module, facts, roots, data)
        return FileAnalysis(path, facts)
    except Exception as error:
        what = f"internal error: {type(error).__name__}: {' '.join(str(error).split())[:200]}"
        problem = Problem(str(path), f"{what}; please report it with what `--verbose` shows, the file was not linted")
        return FileAnalysis(path, problem=problem, traceback=traceback.format_exc())


def _facts(project: Project, module: Module) -> tuple[Fact, ...]:
    from warplint import kernels, tapes

    return (*kernels.analyse(project, module), *tapes.analyse(project, module))


def _confirmed_by_libcst(
    module: Module, facts: Iterable[Fact], roots: tuple[Path, ...], data: bytes | None
) -> tuple[Fact, ...]:
    """The facts of a module once more, with the definitions that hold them read by LibCST.

    Python's own parser is fast enough to read everything; LibCST reads what is going to be reported.
    """
    from warplint.frontend import fast, visitor
    from warplint.source.project import Project

    lines = [fact.location.span.line for fact in facts if fact.location.path == module.path]
    precise = frozenset(
        (module.path, region.line)
        for region in module.regions
        if any(region.line <= line <= region.end_line for line in lines)
    )
    project = Project(fast.read, roots, visitor.read, precise)
    again = project.load(module.path, data)
    return () if isinstance(again, Problem) else _facts(project, again)


def available_cpus() -> int:
    """How many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


# --- several processes ---

_project: Project | None = None
_roots: tuple[Path, ...] = ()
_contents: Mapping[Path, bytes] = {}


def _start(roots: tuple[Path, ...], contents: Mapping[Path, bytes]) -> None:
    """Set up a worker process: one project for all of its work, so that shared modules are read once."""
    import signal

    # An interrupt goes to the whole group; the parent ends the workers.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    global _project, _roots, _contents
    _project, _roots, _contents = new_project(roots), roots, contents


def _work(files: Sequence[Path]) -> tuple[FileAnalysis, ...]:
    assert _project is not None
    return tuple(analyse_file(_project, _roots, path, _contents.get(path)) for path in files)


def _in_parallel(
    files: Sequence[Path], roots: tuple[Path, ...], contents: Mapping[Path, bytes], jobs: int
) -> Iterator[FileAnalysis]:
    size = max(1, len(files) // (jobs * _CHUNKS_PER_JOB))
    chunks = [files[start : start + size] for start in range(0, len(files), size)]
    results = _run(chunks, roots, contents, jobs)
    for chunk, result in zip(chunks, results, strict=True):
        if result is not None:
            yield from result
            continue
        # A process died over this chunk or beside it (a crash in a parser's C code): find the file that did it.
        for path in chunk:
            (alone,) = _run([[path]], roots, contents, 1)
            if alone is None:
                message = "the process that analysed the file died; please report it, the file was not linted"
                yield FileAnalysis(path, problem=Problem(str(path), message))
            else:
                yield from alone


def _run(
    chunks: Iterable[Sequence[Path]], roots: tuple[Path, ...], contents: Mapping[Path, bytes], jobs: int
) -> list[tuple[FileAnalysis, ...] | None]:
    """The results of the chunks in their order; None for those that a dying process took along."""
    from concurrent.futures import ProcessPoolExecutor
    from concurrent.futures.process import BrokenProcessPool

    results: list[tuple[FileAnalysis, ...] | None] = []
    with ProcessPoolExecutor(jobs, initializer=_start, initargs=(roots, contents)) as pool:
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
