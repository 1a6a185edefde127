"""Ranges of Warp versions: ``>=1.16``, ``>=1.0,<1.18``."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable

from warplint.records import dataclass

_CLAUSE = re.compile(r"(>=|<=|==|!=|>|<)\s*(\d+(?:\.\d+)*)")
_OPERATORS: dict[str, Callable[[tuple[int, ...], tuple[int, ...]], bool]] = {
    ">=": operator.ge,
    "<=": operator.le,
    "==": operator.eq,
    "!=": operator.ne,
    ">": operator.gt,
    "<": operator.lt,
}


@dataclass(frozen=True, slots=True)
class VersionRange:
    """Clauses that a version must all meet."""

    clauses: tuple[tuple[str, tuple[int, ...]], ...]

    @classmethod
    def parse(cls, text: str) -> VersionRange:
        """Read clauses separated by commas.

        Raises:
            ValueError: a clause is no comparison with a version.
        """
        clauses = []
        for part in text.split(","):
            match = _CLAUSE.fullmatch(part.strip())
            if match is None:
                raise ValueError(f"must be comparisons like `>=1.16` or `>=1.0,<1.18`, not {text!r}")
            clauses.append((match[1], _numbers(match[2])))
        return cls(tuple(clauses))

    def words(self) -> str:
        """Since and until when, for people: ``before Warp 1.17``, ``since Warp 1.16``; empty for all versions.

        Version 1.0 is where everything begins.
        """
        lower = [limit for sign, limit in self.clauses if sign in (">=", ">", "==") and limit > (1,)]
        upper = [(sign, limit) for sign, limit in self.clauses if sign in ("<", "<=")]
        parts = [f"since Warp {_text(max(lower))}"] if lower else []
        for sign, limit in upper[:1]:
            parts.append(f"{'before' if sign == '<' else 'up to'} {'' if parts else 'Warp '}{_text(limit)}")
        return " and ".join(parts)

    def __contains__(self, version: str) -> bool:
        """Whether ``version`` (``1.19.0``, ``1.20.0.dev3``) is in the range. Only its leading numbers count."""
        match = re.match(r"\d+(\.\d+)*", version)
        if match is None:
            numbers: tuple[int, ...] = (1 << 30,)  # unheard-of: newer than all we know
            return all(_OPERATORS[sign](numbers, limit) for sign, limit in self.clauses)
        numbers = _numbers(match[0])
        return all(_OPERATORS[sign](numbers, limit) for sign, limit in self.clauses)


def _text(numbers: tuple[int, ...]) -> str:
    return ".".join(map(str, numbers if len(numbers) > 1 else (*numbers, 0)))


def _numbers(version: str) -> tuple[int, ...]:
    """The numbers of a version without trailing zeros, so that 1.18 and 1.18.0 are one."""
    numbers = [int(part) for part in version.split(".")]
    while numbers and numbers[-1] == 0:
        numbers.pop()
    return tuple(numbers)
