"""What an audit is about and what it finds: every kernel and func that is compiled with an adjoint."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Literal

from warplint.ir.facts import Finding, Problem, Reach
from warplint.ir.programs import DefinitionRef
from warplint.ir.spans import Location
from warplint.records import dataclass

Role = Literal["kernel", "func"]
#: ``ok``: the adjoint agrees with finite differences. ``wrong``: it does not. ``undecided``: nobody knows yet.
Judgement = Literal["ok", "wrong", "undecided"]


@dataclass(frozen=True, slots=True)
class Subject:
    """A kernel or func that is audited.

    ``location`` is its name, ``whole`` all of it without decorators. ``callers`` are the kernels with an adjoint that
    run a func, nearest first; ``custom`` says that somebody wrote its adjoint by hand.
    """

    role: Role
    ref: DefinitionRef
    location: Location
    whole: Location
    callers: tuple[DefinitionRef, ...] = ()
    custom: bool = False


@dataclass(frozen=True, slots=True)
class Entry:
    """One subject and what came of it.

    ``detail`` is one sentence, ``numbers`` as in ``Evidence``; ``unreached`` are lines of blocks that no input ran,
    ``through`` is the kernel that a func was judged through, empty where it was judged alone. ``stored`` says that an
    earlier run had the answer.
    """

    subject: Subject
    judgement: Judgement
    detail: str
    numbers: Mapping[str, object] = field(default_factory=dict)
    device: str | None = None
    warp_version: str | None = None
    unreached: tuple[int, ...] = ()
    through: str = ""
    findings: tuple[Finding, ...] = ()
    reach: Reach = "library"
    stored: bool = False


@dataclass(frozen=True, slots=True)
class Audit:
    """The outcome of one audit. ``entries`` are in the order of their places; ``forward_only`` are the definitions
    that are compiled without an adjoint, by file."""

    version: str
    warp_version: str | None
    entries: tuple[Entry, ...]
    forward_only: Mapping[str, int]
    problems: tuple[Problem, ...]
    files: int

    def judged(self, judgement: Judgement) -> tuple[Entry, ...]:
        """The entries with that judgement."""
        return tuple(entry for entry in self.entries if entry.judgement == judgement)

    @property
    def unflagged(self) -> tuple[Entry, ...]:
        """What is wrong and no rule found."""
        return tuple(entry for entry in self.judged("wrong") if not entry.findings)

    @property
    def flagged_right(self) -> tuple[Entry, ...]:
        """What is right although a rule says that finite differences would differ."""
        return tuple(
            entry
            for entry in self.judged("ok")
            if any(finding.check == "gradient" and finding.severity != "info" for finding in entry.findings)
        )
