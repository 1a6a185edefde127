"""A rule of the catalogue, as data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from pathlib import Path
from typing import Literal, Union, get_args

from warplint.catalogue.versions import VersionRange
from warplint.ir.facts import Confidence, Severity
from warplint.ir.programs import Check
from warplint.records import dataclass

# Of no numbers, and so newer than all: see ``VersionRange``.
_NEWEST = "newest"

Scalar = Union[str, int, float, bool, None]
#: ``none`` goes with a reason: not every defect shows in a number.
ProbeKind = Union[Check, Literal["none"]]

SEVERITIES: tuple[Severity, ...] = get_args(Severity)
CONFIDENCES: tuple[Confidence, ...] = get_args(Confidence)
PROBES: tuple[ProbeKind, ...] = (*get_args(Check), "none")
FIX_KINDS = ("rewrite", "manual")
FIX_SAFETIES = ("safe", "unsafe", "display")

#: The families, by the digit that the codes of their rules begin with.
FAMILIES = {
    "0": "suppression",
    "1": "lost-value",
    "2": "overwritten-array",
    "3": "severed-chain",
    "4": "miscounted-adjoint",
    "5": "non-finite-adjoint",
    "6": "custom-adjoint",
    "7": "contract",
}

#: What a person may see whose gradients are wrong, by the words that rules and ``warplint explain --symptom`` use.
SYMPTOMS = {
    "zero": "The gradient is exactly zero.",
    "growing": "The gradient grows from one iteration to the next.",
    "factor": "The gradient is off by an exact factor, such as 2.",
    "nan": "The gradient is NaN or infinite, and the forward values are not.",
    "subtle": "The gradient is somewhat wrong, and worse the more steps there are.",
    "window": "The gradient of each window agrees with finite differences, that of the whole horizon does not.",
}

#: Symptoms that no defect explains, with what is behind them.
HARMLESS_SYMPTOMS = {
    "sparse": "The gradient is off at few elements, which depend on the data: at ties and where the function is not "
    "smooth there is no gradient that finite differences could agree with. This is not a bug.",
    "converged": "The gradient agrees with finite differences everywhere and the optimisation still fails: the "
    "gradient is right. Look at the step size, the scale of the parameters and the objective.",
}


@dataclass(frozen=True, slots=True)
class Condition:
    """What one attribute of a fact must be: in ``among`` (if given), not in ``without``, between ``low`` and ``high``.

    An attribute that the fact does not have, or that is None, is unknown and meets no condition.
    """

    among: tuple[Scalar, ...] | None = None
    without: tuple[Scalar, ...] = ()
    low: float | None = None
    high: float | None = None

    def holds(self, value: object) -> bool:
        """Whether ``value`` meets the condition."""
        if value is None:
            return False
        if self.among is not None and not _is_one_of(value, self.among):
            return False
        if _is_one_of(value, self.without):
            return False
        if self.low is None and self.high is None:
            return True
        if not isinstance(value, (int, float)) or isinstance(value, bool):
            return False
        return (self.low is None or value >= self.low) and (self.high is None or value <= self.high)


def _is_one_of(value: object, choices: tuple[Scalar, ...]) -> bool:
    # True == 1 in Python, but not to the author of a rule.
    return any(value == choice and isinstance(value, bool) == isinstance(choice, bool) for choice in choices)


@dataclass(frozen=True, slots=True)
class Selection:
    """Which facts are findings: those of kind ``fact`` whose attributes meet every condition in ``where``."""

    fact: str
    where: Mapping[str, Condition] = field(default_factory=dict)

    def holds(self, attributes: Mapping[str, object]) -> bool:
        """Whether a fact of the right kind with these attributes is selected."""
        return all(condition.holds(attributes.get(name)) for name, condition in self.where.items())


@dataclass(frozen=True, slots=True)
class Case:
    """Facts that the rule selects and that weigh differently: those that meet every condition in ``where``.

    ``warp`` is the range of Warp versions that this goes for, empty for all that the rule has. ``enabled`` False: they
    are findings only where the rule is selected by its own id or name.
    """

    where: Mapping[str, Condition]
    severity: Severity | None = None
    confidence: Confidence | None = None
    enabled: bool = True
    warp: str = ""

    def holds(self, attributes: Mapping[str, object], version: str | None = None) -> bool:
        """Whether a fact with these attributes is such a case where the code is for this Warp; None: the newest."""
        if self.warp and (version or _NEWEST) not in VersionRange.parse(self.warp):
            return False
        return all(condition.holds(attributes.get(name)) for name, condition in self.where.items())


@dataclass(frozen=True, slots=True)
class Fix:
    """How the defect is repaired: ``recipe`` names the way, ``help`` tells it in a sentence or two."""

    kind: str
    safety: str
    recipe: str
    help: str


@dataclass(frozen=True, slots=True)
class Probe:
    """What a probe compares for findings of the rule; where ``kind`` is ``none``, ``reason`` says why."""

    kind: ProbeKind
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Example:
    """A whole program: ``bad`` (the rule finds it) or good (it does not)."""

    bad: bool
    code: str


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule. ``warp`` is the range of Warp versions that have the defect; ``path`` the file it was read from.

    The first of ``cases`` that holds for a fact says how much it weighs. ``only_confirmed``: what is selected is only
    asked about, and a finding if the probe says so.
    """

    id: str
    name: str
    family: str
    severity: Severity
    confidence: Confidence
    warp: str
    select: Selection
    message: str
    why: str
    fix: Fix
    probe: Probe
    references: tuple[str, ...]
    examples: tuple[Example, ...]
    path: Path
    enabled: bool = True
    cases: tuple[Case, ...] = ()
    symptoms: tuple[str, ...] = ()
    only_confirmed: bool = False

    def concerns(self, version: str) -> bool:
        """Whether that version of Warp has the defect."""
        return version in VersionRange.parse(self.warp)
