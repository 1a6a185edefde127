"""One function over many items, in several processes where that pays; a process that dies costs one item."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from multiprocessing.context import BaseContext

Item = TypeVar("Item")
Result = TypeVar("Result")

# Pieces of work a process: enough that no process waits long for the last one.
_CHUNKS_PER_JOB = 8


def available_cpus() -> int:
    """How many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def relax_collector() -> None:
    """Have Python look for cyclic garbage less often: syntax trees live as long as the run, and looking through them
    again and again costs a third of it. This concerns the whole process, so only programs of our own call it."""
    import gc

    gc.set_threshold(200_000, 50, 100)


def each(
    function: Callable[[Item], Result], items: Sequence[Item], jobs: int, weight: Callable[[Item], int]
) -> list[Result | None]:
    """``function`` of each item, in their order; None for an item whose process died over it.

    ``weight`` estimates an item's share of the work, in any unit. ``jobs`` below 2: everything runs in this process.
    """
    if jobs < 2 or len(items) < 2:
        return [function(item) for item in items]
    chunks = _chunks([weight(item) for item in items], jobs * _CHUNKS_PER_JOB)
    results: list[Result | None] = [None] * len(items)
    lost: list[int] = []
    for chunk, outcome in zip(chunks, _run(function, items, chunks, jobs), strict=True):
        if outcome is None:
            lost += chunk
            continue
        for index, result in zip(chunk, outcome, strict=True):
            results[index] = result
    # A process died over one of these or beside it (a crash in a parser's C code): find the item that did it.
    for index in lost:
        (alone,) = _run(function, items, [[index]], 1)
        if alone is not None:
            (results[index],) = alone
    return results


def _chunks(weights: Sequence[int], pieces: int) -> list[list[int]]:
    """Positions in groups of about equal weight, the heaviest first, so that the last to end are small."""
    most = max(1, sum(weights) // pieces)
    chunks: list[list[int]] = []
    room = 0
    for index in sorted(range(len(weights)), key=lambda index: -weights[index]):
        if room < weights[index] or not chunks:
            chunks.append([])
            room = most
        chunks[-1].append(index)
        room -= max(1, weights[index])
    return chunks


_function: Callable[[Any], Any] | None = None
_items: Sequence[Any] = ()


def _start(function: Callable[[Any], Any], items: Sequence[Any]) -> None:
    """Set up a worker process."""
    import signal

    relax_collector()
    # An interrupt goes to the whole group; the parent ends the workers.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    global _function, _items
    _function, _items = function, items


def _work(chunk: Sequence[int]) -> list[Any]:
    assert _function is not None
    return [_function(_items[index]) for index in chunk]


def _run(
    function: Callable[[Item], Result], items: Sequence[Item], chunks: Sequence[Sequence[int]], jobs: int
) -> list[list[Result] | None]:
    """The results of the chunks in their order; None for those that a dying process took along."""
    from concurrent.futures import ProcessPoolExecutor
    from concurrent.futures.process import BrokenProcessPool

    results: list[list[Result] | None] = []
    with ProcessPoolExecutor(jobs, mp_context=_context(), initializer=_start, initargs=(function, items)) as pool:
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
