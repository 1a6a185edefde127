"""What analyses establish, and what rules make of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import TYPE_CHECKING, Literal

from warplint.records import dataclass

if TYPE_CHECKING:
    from warplint.ir.fixes import Fix
    from warplint.ir.programs import Check, DefinitionRef, Program
    from warplint.ir.spans import Location

Severity = Literal["error", "warning", "info"]
Confidence = Literal["high", "medium", "low"]
Verdict = Literal["confirmed", "refuted", "inconclusive", "unprobed"]
Reach = Literal["taped", "library", "untaped"]

_RANKS = {"info": 0, "warning": 1, "error": 2, "never": 3}


def at_least(severity: str, threshold: str) -> bool:
    """Whether a severity reaches a threshold: another one, or ``never``, which none reaches."""
    return _RANKS[severity] >= _RANKS[threshold]


@dataclass(frozen=True, slots=True)
class Label:
    """A place and what happened there (``read here``, ``overwritten here``)."""

    location: Location
    text: str


@dataclass(frozen=True, slots=True)
class Fact:
    """One thing that an analysis is sure of.

    ``kind`` names the sort of fact, ``attributes`` holds what rules select on and what their messages
    quote (plain values only). ``labels`` tell the story of the fact, the primary place included.
    ``definition`` is the qualified name of the function that holds it (``Class.method``, ``outer.inner``).
    ``program`` is what a probe has to run to see the defect, None where no program could be cut.
    """

    kind: str
    location: Location
    attributes: Mapping[str, object]
    labels: tuple[Label, ...]
    definition: str
    reach: Reach = "taped"
    program: Program | None = None
    #: Kernels that tapes launch in a way that does not come here.
    unrecorded: tuple[DefinitionRef, ...] = ()


@dataclass(frozen=True, slots=True)
class Evidence:
    """What the probe saw. ``detail`` is one sentence; ``numbers`` go into JSON as they are.

    Keys used in ``numbers``: ``tape``, ``finite_difference``, ``estimated_error`` (floats: the directional
    derivatives at the worst input), ``inputs`` (how many input sets were compared), ``input``
    (the name of the differentiated argument), ``steps`` and ``differences`` (step sizes and the central difference at
    each).
    """

    verdict: Verdict
    detail: str
    device: str | None = None
    warp_version: str | None = None
    numbers: Mapping[str, object] = field(default_factory=dict)
    #: A script that shows it, where one was asked for.
    reproduce: str | None = None


UNPROBED = Evidence("unprobed", "not probed")


@dataclass(frozen=True, slots=True)
class Finding:
    """A fact that a rule selected, ready to be reported."""

    rule: str
    name: str
    message: str
    severity: Severity
    confidence: Confidence
    fact: Fact
    evidence: Evidence = UNPROBED
    #: What its probe compares; the rule says so.
    check: Check = "gradient"
    #: What would mend it, where that was asked for and somebody knows.
    fix: Fix | None = None
    #: It is only asked about: nothing to report unless the probe confirms it.
    only_confirmed: bool = False

    @property
    def stands(self) -> bool:
        """Whether it is one as far as is known by now: not refuted, and confirmed where that is asked for."""
        verdict = self.evidence.verdict
        return verdict == "confirmed" if self.only_confirmed else verdict != "refuted"

    @property
    def location(self) -> Location:
        """The primary place."""
        return self.fact.location


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that kept warplint from doing its work on a path: what, where, what to do, as one sentence."""

    path: str
    message: str
    line: int | None = None
    column: int | None = None
