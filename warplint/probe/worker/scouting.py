"""Looking for inputs that run a given line: hundreds are tried, forward only, and those that come close are varied."""

from __future__ import annotations

import json
import os
import random
import re
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import warp as wp

from warplint.probe.worker import clock, isolate
from warplint.probe.worker.compat import flush_c
from warplint.probe.worker.inputs import Draw, Profile
from warplint.probe.worker.usage import Usage

# How many input sets are tried, and for how many seconds of the processor: longer where some line was never reached.
_MOST = 1500
_SECONDS = 3.0
_SECONDS_UNREACHED = 12.0
_DEATHS = 40
# One search in so many looks elsewhere instead of near the best so far.
_ELSEWHERE = 3
# How many input sets are kept to vary, for each line.
_KEPT = 6
# A block that never runs in so many input sets that run what it is in is taken to be out of reach.
_HOPELESS = 25

#: Whether an input set, given how often it ran each mark, runs the line of the account with this number often enough.
Repeated = Callable[[int, Profile, dict[str, int]], bool]


class Scout:
    """A search for inputs that run the lines of ``marks`` (see ``rewrite.Mark``), with the counting twin ``twin``.

    They are drawn in the ``manner`` of a profile, with seeds from its seed on.
    """

    def __init__(
        self, twin: Any, usage: Usage, marks: Sequence[dict[str, Any]], manner: Profile, repeated: Repeated
    ) -> None:
        self._twin = twin
        self._usage = usage
        #: What is looked for.
        self.marks = marks
        self._manner = manner
        self._first = manner.seed
        self.repeats = repeated
        # for each mark, how far input sets came, the farthest first
        self._best: dict[int, list[tuple[float, Profile]]] = {mark["number"]: [] for mark in marks}
        self._found: Counter[int] = Counter()
        # in how many input sets each block ran, and ran again and again
        self._ran: Counter[str] = Counter()
        self._repeated: Counter[str] = Counter()
        # how many were tried
        self._tried = 0

    def search(self, scratch: Path, deadline: float, few: int = 0) -> Iterator[tuple[Profile, dict[str, int]]]:
        """Input sets that could be run, and how often each mark was reached, from where the last search ended.

        Ends at ``deadline``, a time of ``clock.now``, at the latest; where a ``few`` are asked for, as soon as so many
        run each line, whatever else they miss.
        """
        path = scratch / f"scouted-{time.monotonic_ns()}"
        begun = clock.now()
        deaths, read = 0, 0
        while self._tried < _MOST and deaths < _DEATHS and not (few and self._has(few)):
            until = min(begun + (_SECONDS if self._satisfied() else _SECONDS_UNREACHED), deadline)
            left = until - clock.now()
            if left < 0.0:
                break
            enough = left - (until - begun) + _SECONDS

            def work(stage: isolate.Stage, left: float = left, enough: float = enough) -> int:
                with path.open("a") as file:
                    for number in range(self._tried, _MOST):
                        spent = clock.now()  # of this child alone
                        if spent > left or (self._satisfied() and spent > enough) or (few and self._has(few)):
                            return number
                        profile = self._next(number)
                        stage.set(str(number))
                        draw = Draw(self._usage, profile, "cpu", gradients=False)
                        arguments = draw.arguments({one.label: one.type for one in self._twin.adj.args})
                        hits = count_marks(self._twin, arguments, scratch, self.marks)
                        self._note(profile, hits)
                        file.write(json.dumps([asdict(profile), hits]) + "\n")
                        file.flush()
                return _MOST

            outcome = isolate.run(work, scratch, left + 1.0)
            lines = path.read_text().splitlines() if path.exists() else []
            for line in lines[read:]:
                values, hits = json.loads(line)
                self._note(Profile(**values), hits)  # what the child learnt, for the next one
                yield Profile(**values), hits
            read = len(lines)
            if outcome.ended == "returned":
                self._tried = outcome.result
                break
            deaths += 1
            self._tried = int(outcome.stage) + 1 if outcome.stage.isdigit() else _MOST

    def _has(self, few: int) -> bool:
        """Whether so many input sets run each line again and again, or many more run it: it may never come twice."""
        numbers = [mark["number"] for mark in self.marks]
        return all(self._found[number] >= few or self._ran[str(number)] >= _HOPELESS + few for number in numbers)

    def _satisfied(self) -> bool:
        return all(
            self._found[mark["number"]] >= 3
            and all(self._repeated[str(block)] for block in set(mark["blocks"]) - self.dead(mark))
            for mark in self.marks
        )

    def dead(self, mark: dict[str, Any]) -> set[int]:
        """The blocks of a mark that seem to be out of reach."""
        pairs = zip(mark["blocks"], mark["around"], strict=True)
        return {
            block
            for block, around in pairs
            if not self._ran[str(block)] and self._ran[str(around or mark["number"])] >= _HOPELESS
        }

    def _note(self, profile: Profile, hits: dict[str, int]) -> None:
        """Remembers input sets that came farther than others."""
        threads = profile.threads**self._usage.rank
        self._ran.update(hits.keys())
        once = {str(block) for mark in self.marks for block in mark.get("once", ())}
        self._repeated.update(block for block, count in hits.items() if count > (0 if block in once else threads))
        for mark in self.marks:
            number = mark["number"]
            if self.repeats(number, profile, hits):
                self._found[number] += 1
            way = [str(block) for block in mark["way"]] + [str(number)]
            # what ran often is nearer to running again and again
            far = sum(1.0 + min(hits.get(block, 0) / (4.0 * threads), 0.9) for block in way if hits.get(block))
            far += sum(min(hits.get(str(block), 0) / threads, 2.0) * 0.2 for block in mark["blocks"])
            kept = self._best[number]
            if far and (len(kept) < _KEPT or far > kept[-1][0]):
                kept.append((far, profile))
                kept.sort(key=lambda one: -one[0])
                del kept[_KEPT:]

    def _next(self, number: int) -> Profile:
        rng = random.Random(number)
        wanting = [kept for mark, kept in self._best.items() if kept and self._found[mark] < _KEPT]
        if not wanting or number % _ELSEWHERE == 0:
            return _elsewhere(number, self._manner)
        profile = rng.choice(rng.choice(wanting))[1]
        change = rng.randrange(4)
        if change == 0:  # other numbers, the same integers
            return replace(profile, seed=self._first + number, other=profile.other or profile.seed)
        if change == 1:  # other integers
            return replace(profile, other=self._first + number)
        if change == 2:
            fresh = _elsewhere(number, self._manner)
            return replace(profile, spread=fresh.spread, signs=fresh.signs, threads=fresh.threads)
        fresh = _elsewhere(number, self._manner)
        return replace(profile, limit=fresh.limit, count=fresh.count, extent=fresh.extent, mixed=fresh.mixed)


def _elsewhere(number: int, manner: Profile) -> Profile:
    """An input set that owes nothing to others, drawn in a ``manner`` that all have in common."""
    extent = (12, 24, 48)[(number // 2) % 3]
    return replace(
        manner,
        seed=manner.seed + number,
        threads=(1, 1, 3, 1, 5)[number % 5],
        extent=extent,
        limit=(4, 12, 2, 6)[(number // 2) % 4],
        # now and then more than arrays hold: some kernels see to that
        count=(3, 4, 5, 2)[(number // 3) % 4] if number % 11 else extent + 2,
        signs=(number // 5) % 3 > 0,
        mixed=(number // 3) % 2 == 1,
        spread=(1.0, 0.3, 1.0, 3.0, 1.0, 0.05, 10.0)[number % 7],
    )


def again(number: int) -> str:
    """Under this key, the most often that a mark was reached before the loop around it was entered anew."""
    return str(-1 - number)


def count_marks(kernel: Any, arguments: Any, scratch: Path, marks: Sequence[Mapping[str, Any]] = ()) -> dict[str, int]:
    """How often the counting twin reaches each mark; and how often in one go, for those of ``marks`` that a loop
    repeats.

    The threads of a launch run one after the other on the CPU device, so that the order of what they print tells.
    """
    target = _capturing(scratch)
    flush_c()
    saved = os.dup(1)
    os.dup2(target, 1)
    try:
        wp.launch(kernel, dim=arguments.dim, inputs=arguments.values, device="cpu", record_tape=False)
        flush_c()
    finally:
        os.dup2(saved, 1)
        os.close(saved)
    text = os.pread(target, os.fstat(target).st_size, 0)
    reached = [int(found) for found in re.findall(rb"~reached (\d+)~", text)]
    hits = {str(number): count for number, count in Counter(reached).items()}
    for mark in marks:
        if mark.get("entry"):
            hits[again(mark["number"])] = _longest(reached, mark["number"], mark["entry"])
    return hits


# The file that each process lets its twins print to; a new one for each launch would take longer than that.
_captures: dict[int, int] = {}


def _capturing(scratch: Path) -> int:
    """The descriptor of an empty file."""
    process = os.getpid()
    if process not in _captures:
        path = scratch / f"count-{process}"
        _captures[process] = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND, 0o600)
        path.unlink()
    os.ftruncate(_captures[process], 0)
    return _captures[process]


def _longest(reached: Sequence[int], number: int, entry: int) -> int:
    """The most ``number`` between two ``entry``."""
    longest = current = 0
    for one in reached:
        current = 0 if one == entry else current + (one == number)
        longest = max(longest, current)
    return longest
