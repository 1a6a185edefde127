"""Which input sets are tried, in which order."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from warplint.probe.worker.inputs import Profile

# How many input sets are drawn at most.
_ATTEMPTS = 32
#: The first seeds of the inputs that are looked for (``scouting``), and of those that are looked for once more, which
#: must not be the same.
SCOUTED, MORE = 5000, 10_000


class Ladder:
    """The input sets to try, in order; it adapts to what failed."""

    def __init__(self, directed: bool, ordered: bool = False) -> None:
        self.directed = directed
        self._ordered = ordered
        self.single = False
        self.tried = 0
        self._room = 0
        self._ratios = False
        self._stretched = False
        self._next: list[Profile] = []

    def __iter__(self) -> Iterator[Profile]:
        for seed in range(_ATTEMPTS):
            while self._next:
                profile = self._next.pop(0)
                if not self.single or profile.threads == 1:
                    yield profile
            self.tried = seed
            yield Profile(
                seed=seed,
                threads=1 if self.single else ((1, 3, 1, 4, 2) if seed < 5 else (1, 8, 6, 1, 8))[seed % 5],
                extent=(12, 24, 48, 96)[min(self._room // 2, 3)],
                limit=(4, 3, 2, 1)[min(self._room // 3, 3)],
                count=(3, 4, 2, 5)[seed % 4],
                signs=seed % 2 == 1,
                directed=self.directed,
                ordered=self._ordered,
                ratios=self._ratios,
                spread=(1.0, 30.0, 1000.0, 0.1)[seed % 4] if self._stretched else 1.0,
            )

    @property
    def manner(self) -> Profile:
        """How inputs are drawn that are looked for, and the first seed of them."""
        return Profile(seed=SCOUTED, directed=self.directed, ordered=self._ordered, ratios=self._ratios)

    def again(self, profile: Profile) -> None:
        """Asks for inputs near those of ``profile``: what was seen there must be seen again."""
        if not profile.jitter and not self.directed:
            self._next[:0] = [replace(profile, jitter=jitter) for jitter in range(1, 5)]

    def prefer(self, profile: Profile) -> None:
        """Asks for this input set soon."""
        self._next.append(profile)

    def divisible(self) -> None:
        """Asks for numbers whose quotients are not zero: an integer was divided by zero."""
        self._ratios = True

    def stretch(self) -> None:
        """Asks for numbers of other sizes: what comes of ordinary ones is too small to be seen, or too large."""
        self._stretched = True

    def roomier(self) -> None:
        """Asks for larger arrays and smaller indices."""
        self._room += 1
