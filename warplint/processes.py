"""One function over many items, in several processes where that pays; a process that dies costs one item."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, TypeVar

if TYPE_CHECKING:
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing.context import BaseContext

State = TypeVar("State")
Item = TypeVar("Item")
Shared = ParamSpec("Shared")
Result = TypeVar("Result")

# Pieces of work a process: enough that no process waits long for the last one.
_CHUNKS_PER_JOB = 6


def available_cpus() -> int:
    """How many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def relax_collector(objects: int = 2_000_000) -> None:
    """Have Python look for cyclic garbage less often, each time that there are so many new ``objects``.

    Syntax trees live as long as the run, and looking through them again and again costs a third of it; to look through
    each of them once, as soon as there are 200,000 new ones, still costs a tenth. What is found is worth less memory
    than the trees take. This concerns the whole process, so only programs of our own call it.
    """
    import gc

    gc.set_threshold(objects, 50, 100)


class Workers(Generic[State]):
    """Processes that share what there was of ``state`` when the first work came, and keep what they make of it.

    With ``jobs`` below 2 everything runs in this process.
    """

    def __init__(self, state: State, jobs: int) -> None:
        self._state = state
        self._jobs = jobs
        self._pool: ProcessPoolExecutor | None = None

    def __enter__(self) -> Workers[State]:
        return self

    def __exit__(self, kind: object, error: object, traceback: object) -> None:
        pool, self._pool = self._pool, None
        if pool is None:
            return
        if kind is not None:
            # End the workers at once, instead of letting them finish what nobody waits for. One may be in the middle
            # of a message, whose rest would be waited for as long as anybody holds the other end of the pipe.
            for process in list((pool._processes or {}).values()):
                process.kill()
            pool._result_queue._writer.close()  # type: ignore[attr-defined]
        pool.shutdown()

    def each(
        self,
        function: Callable[Concatenate[State, Item, Shared], Result],
        items: Sequence[Item],
        weight: Callable[[Item], int],
        *shared: Shared.args,
        **keywords: Shared.kwargs,
    ) -> list[Result | None]:
        """``function(state, item, *shared)`` for each item, in their order; None where a process died over it.

        ``function`` is one of a module, so that its name can be sent. ``weight`` estimates an item's share of the work,
        in any unit.
        """
        if self._jobs < 2 or len(items) < 2:
            return [function(self._state, item, *shared, **keywords) for item in items]
        chunks = _chunks([weight(item) for item in items], self._jobs * _CHUNKS_PER_JOB)
        results: list[Result | None] = [None] * len(items)
        lost: list[int] = []
        work = partial(_each, function, shared, keywords)
        for chunk, outcome in zip(chunks, self._run(work, items, chunks), strict=True):
            if outcome is None:
                lost += chunk
                continue
            for index, result in zip(chunk, outcome, strict=True):
                results[index] = result
        # A process died over one of these or beside it (a crash in a parser's C code): find the item that did it.
        for index in lost:
            (alone,) = self._run(work, items, [[index]])
            if alone is not None:
                (results[index],) = alone
        return results

    def _run(
        self, work: Callable[[list[Item]], list[Result]], items: Sequence[Item], chunks: Sequence[Sequence[int]]
    ) -> list[list[Result] | None]:
        """The results of the chunks in their order; None for those that a dying process took along."""
        from concurrent.futures import ProcessPoolExecutor
        from concurrent.futures.process import BrokenProcessPool

        if self._pool is None:
            initial = (self._state,)
            self._pool = ProcessPoolExecutor(self._jobs, mp_context=_context(), initializer=_start, initargs=initial)
        futures = [self._pool.submit(work, [items[index] for index in chunk]) for chunk in chunks]
        results: list[list[Result] | None] = []
        for future in futures:
            try:
                results.append(future.result())
            except BrokenProcessPool:
                results.append(None)
                self._pool = None
        return results


def _chunks(weights: Sequence[int], pieces: int) -> list[list[int]]:
    """Positions in groups of about equal weight, the heaviest first, so that the last to end are small.

    Neighbours stay together: they are likely to need the same of the project.
    """
    most = max(1, sum(weights) // pieces)
    chunks: list[list[int]] = []
    filled = most
    for index, weight in enumerate(weights):
        if filled + weight > most:
            chunks.append([])
            filled = 0
        chunks[-1].append(index)
        filled += max(1, weight)
    return sorted(chunks, key=lambda chunk: -sum(weights[index] for index in chunk))


_state: Any = None


def _start(state: object) -> None:
    """Set up a worker process."""
    import signal

    relax_collector()
    # An interrupt goes to the whole group; the parent ends the workers. What the parent does to end in order is not
    # for them, who would take it for a failure of their work and go on.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    global _state
    _state = state


def _each(
    function: Callable[..., Result], shared: tuple[Any, ...], keywords: Mapping[str, Any], items: Sequence[Any]
) -> list[Result]:
    return [function(_state, item, *shared, **keywords) for item in items]


def _context() -> BaseContext:
    """How to start processes: by fork on Linux, where the workers then share the loaded project without copying it."""
    import multiprocessing
    import sys

    return multiprocessing.get_context("fork" if sys.platform == "linux" else None)
