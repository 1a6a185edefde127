"""From what the input sets showed to a verdict on one flagged place."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from warplint.probe.rewrite import line_of
from warplint.probe.worker.experiment import CHANGES_NOTHING, READS_NOTHING
from warplint.probe.worker.inputs import Profile
from warplint.probe.worker.usage import Usage

# Input sets that have to agree before a finding is refuted, and that have to disagree before it is confirmed. Many
# have to agree: a line that ran may still not have mattered (one wrong collision kernel shows at one input in 25).
# One thread alone shows a wrong adjoint without any race, so two such sets are enough.
_AGREEING = 20
_AGREEING_ALONE = 8
_AGREEING_AT_LAST = 12  # when no more input sets can be had
_DISAGREEING = 2
_DISAGREEING_THREADS = 4
_SINGULAR = 4
_DIRECTED = 16
# Input sets at which finite differences say nothing before numbers of other sizes are tried.
_STRETCHED = 4
_ROUGH = "finite differences are too rough here to decide"
# Input sets at which an input that matters has a zero derivative, and at which backward() changes an array or none.
_SILENT = 6
_REPEATING = 2
_NOT_REPEATING = 8
# Input sets at which a whole kernel says that there is nothing to differentiate, and what it says.
_NOTHING = 4
_NO_GRADIENT = {
    CHANGES_NOTHING: "it writes no float array: there is nothing to differentiate",
    READS_NOTHING: "it reads no float array: there is nothing to differentiate",
}
# Input sets that another device repeats.
_REPEATED = 4


class Account:
    """The evidence on one flagged place so far; ``verdict`` is None while there is not enough."""

    def __init__(self, check: str, races: bool, mark: dict[str, Any], meets: bool = False) -> None:
        self.check = check
        self.races = races or meets
        # what several threads showed may be no race: one thread alone does not tell
        self._only_meets = meets and not races
        self.mark = mark
        self.scouted = 0
        self.exercised = 0
        # a gradient that is not finite was seen, at a point where finite differences do not say what it should be
        self.endless = False
        self._ran: set[int] = set()
        # blocks that ran at all, where tape and differences agree
        self._touched: set[int] = set()
        # blocks that seem to be out of reach: they do not run although what they are in runs often
        self.dead: set[int] = set()
        # inputs that were seen to have a derivative
        self._moving: set[str] = set()
        self.reasons: Counter[str] = Counter()
        self.wrong: list[dict[str, Any]] = []
        self.right: list[dict[str, Any]] = []
        # a whole definition is asked about, with all its blocks
        self.whole = "once" in mark
        # input sets at which all derivatives are zero, by tape and differences
        self.flat = 0
        self.singular: list[dict[str, Any]] = []
        # input sets at which the launch ends and the reverse sweep does not
        self.endless_sweeps = 0
        self.verdict: dict[str, Any] | None = None
        self.last_wrong: Profile | None = None
        # whether the threads were seen to depend on their order where only several of them are wrong; None: not asked
        self._driven: bool | None = None
        self.asks_for_order = False

    @property
    def suspects_race(self) -> bool:
        """Whether what was seen so far may only be two threads at one element."""
        return bool(self.wrong) and self.races and all(one["profile"].threads > 1 for one in self.wrong)

    @property
    def has_few(self) -> bool:
        """Whether too few inputs show something."""
        if self.check == "zero-adjoint":
            return self.verdict is None and bool(self.wrong or self.right)
        asked = self.whole or bool(self.right)
        return asked and self.verdict is None and not self.wrong and len(self.right) < _AGREEING // 2

    def runs_all(self, hits: dict[str, int], threads: int) -> bool:
        """Whether inputs that reach these marks run the flagged place as often as it takes; for a whole definition,
        every block that ran so far."""
        if not self.whole:
            return self.repeated(hits, threads)
        return self.reached(hits) and all(hits.get(str(block)) for block in self._touched & set(self.mark["blocks"]))

    @property
    def is_rough(self) -> bool:
        """Whether finite differences decide nothing at inputs of ordinary size."""
        return self.verdict is None and not self.right and self.reasons[_ROUGH] >= _STRETCHED

    def reached(self, hits: dict[str, int] | None) -> bool:
        """Whether the flagged place ran, given how often each mark was reached."""
        return self._count(hits) >= 1

    def repeated(self, hits: dict[str, int] | None, threads: int) -> bool:
        """Whether it ran often enough for agreement to mean something.

        What a loop carries shows only in the second iteration of one thread: the first of many threads are not enough.
        """
        if not self.mark["in_loop"] or self._count(hits) == float("inf"):
            return self.reached(hits)
        if not self.mark.get("entry"):
            return self._count(hits) >= 2 * threads
        return (hits or {}).get(str(-1 - self.mark["number"]), 0) >= 2

    def _count(self, hits: dict[str, int] | None) -> float:
        if hits is None or not self.mark["counted"]:
            return float("inf")
        return hits.get(str(self.mark["number"]), 0)

    def missing(self) -> set[int]:
        """The blocks around the flagged place that no agreeing input set ran, but for those that seem out of reach."""
        return set(self.mark["blocks"]) - self._ran - self.dead

    def _unseen(self) -> set[int]:
        """The blocks without which nothing is refuted.

        What seems out of reach may only need a number that was not drawn, and change what the loop carries. Where a
        whole function is asked about, it is listed instead.
        """
        return self.missing() if self.whole else set(self.mark["blocks"]) - self._ran

    def coverage(self, usage: Usage) -> dict[str, Any]:
        """The first lines of the blocks that no agreeing input set ran, where a whole function is asked about; and
        whether it ``scatters``."""
        if not self.whole:
            return {}
        unreached = sorted({line_of(number) for number in self._untouched()})
        return {"unreached": unreached, "scatters": scatters(usage)}

    def _untouched(self) -> set[int]:
        return set(self.mark["blocks"]) - self._touched

    @property
    def needs_scouting(self) -> bool:
        """Whether ordinary inputs do not run what has to run."""
        return self.verdict is None and (bool(self.missing()) or self.exercised < 3)

    def _covers(self, profile: Profile, hits: dict[str, int] | None) -> None:
        # blocks are parts of a loop: once in an iteration is not enough for what the loop carries
        self._touched.update(int(name) for name in hits or {})
        once = set(self.mark.get("once", ()))
        self._ran.update(
            int(name) for name, count in (hits or {}).items() if count > (0 if int(name) in once else profile.threads)
        )

    def add(self, profile: Profile, found: dict[str, Any], threads: int) -> None:
        """Takes in one input set that ran the flagged place, with ``threads`` threads in all."""
        if not self.repeated(found["hits"], threads) and not any(
            one["verdict"] == "wrong" for one in found["compared"]
        ):
            self.reasons["no input drawn runs the flagged line again and again"] += 1
            return
        self.exercised += 1
        if found["problem"]:
            self.reasons[found["problem"]] += 1
            if self.whole and found["problem"] in _NO_GRADIENT and self.reasons[found["problem"]] >= _NOTHING:
                self.verdict = _nothing(_NO_GRADIENT[found["problem"]])
        elif self.check == "finite-adjoint":
            self._add_directed(profile, found["compared"], found["hits"])
        elif self.check == "zero-adjoint":
            # what other threads compute elsewhere says nothing about the flagged place
            if self._count(found["hits"]) >= threads:
                self._add_silent(profile, found["compared"])
        elif self.check == "replay":
            self._add_repeated(profile, found["compared"])
        else:
            self._add(profile, found["compared"], found["hits"])

    def add_endless(self, profile: Profile, hits: dict[str, int] | None) -> None:
        """Takes in one input set at which the reverse sweep runs on long after the launch would have ended.

        Only where a single thread runs: several may do that to each other. And only where the flagged place leaves a
        loop: what is computed in one does not make another loop endless.
        """
        if self.check != "gradient" or profile.threads > 1 or not self.reached(hits):
            return
        if not (self.whole or self.mark.get("leaves")):
            self.reasons["the reverse sweep does not end"] += 1
            return
        self.endless_sweeps += 1
        if self.endless_sweeps >= _DISAGREEING:
            self.verdict = {
                "verdict": "confirmed",
                "detail": f"backward() does not end at {self.endless_sweeps} sets of inputs where the launch does",
                "numbers": {"inputs": self.endless_sweeps + len(self.right), "wrong": self.endless_sweeps},
                # no other device is to run this
                "profiles": [],
            }

    def _add_directed(self, profile: Profile, compared: list[dict[str, Any]], hits: dict[str, int] | None) -> None:
        endless = [one for one in compared if not _finite(one["tape"])]
        wrong = [one for one in endless if one["verdict"] == "wrong"]
        if wrong:
            self.wrong.append({"profile": profile, "wrong": wrong})
            self.verdict = self._confirmed()
        elif endless:
            self.endless = True
            self.reasons["the gradient is not finite, and neither are finite differences"] += 1
        else:
            self.right.append({"profile": profile, "compared": compared})
            self._covers(profile, hits)
            if len(self.right) >= _DIRECTED and not self._unseen() and not self.endless:
                self.verdict = self._refuted()

    def _add_silent(self, profile: Profile, compared: list[dict[str, Any]]) -> None:
        """An input that moves the result at several input sets, and has a derivative of zero at all of them.

        Those that do not flow into the flagged place move the result elsewhere.
        """
        feeding = self.mark.get("feeding")
        if feeding is not None:
            compared = [one for one in compared if re.split(r"[.\[]", one["input"])[0] in feeding]
        moving = {one["input"] for one in compared if one["verdict"] == "right"}
        self._moving |= moving
        self.wrong.append({"profile": profile, "wrong": [one for one in compared if one["verdict"] == "wrong"]})
        self.wrong = [
            {**group, "wrong": kept}
            for group in self.wrong
            if (kept := [one for one in group["wrong"] if one["input"] not in self._moving])
        ]
        if moving:
            self.right.append({"profile": profile, "compared": compared})
        if not compared:
            self.reasons["no output depends on a float input at the inputs drawn"] += 1
        if len(self.wrong) >= _SILENT:
            self.verdict = self._confirmed()
        elif len(self.right) >= _AGREEING and not self.wrong:
            self.verdict = self._refuted()

    def _add_repeated(self, profile: Profile, compared: list[dict[str, Any]]) -> None:
        wrong = [one for one in compared if one["verdict"] == "wrong"]
        if wrong:
            self.wrong.append({"profile": profile, "wrong": wrong})
        else:
            self.right.append({"profile": profile, "compared": compared})
        if len(self.wrong) >= _REPEATING:
            self.verdict = self._confirmed()
        elif len(self.right) >= _NOT_REPEATING and not self.wrong:
            self.verdict = self._refuted()

    def _add(self, profile: Profile, compared: list[dict[str, Any]], hits: dict[str, int] | None) -> None:
        wrong = [one for one in compared if one["verdict"] == "wrong"]
        right = [one for one in compared if one["verdict"] == "right"]
        # no output moves at all, and the tape says the same: neither right nor rough
        still = sum(one["verdict"] == "undecided" and _still(one) for one in compared)
        if wrong and not any(_finite(one["tape"]) for one in wrong):
            # Not finite at ordinary inputs. At some of them an intermediate value may be outside its domain, which
            # is no defect: it has to happen at all of them, positive ones included.
            self.singular.append({"profile": profile, "wrong": wrong})
            positive = any(not one["profile"].signs for one in self.singular)
            if len(self.singular) >= _SINGULAR and not self.right and positive:
                self.wrong = self.singular
                self.verdict = self._confirmed()
            return
        if wrong:
            self.wrong.append({"profile": profile, "wrong": wrong})
            self.last_wrong = profile
            if self._enough():
                self.verdict = self._confirmed()
            return
        if len(right) < 0.7 * (len(compared) - still):
            self.reasons[_ROUGH] += 1
        elif all(_still(one) for one in right):
            self.reasons["no output depends smoothly on a float input at the inputs drawn"] += 1
            if self.whole and len(right) + still == len(compared):
                self.flat += 1
                self._covers(profile, hits)
        else:
            self.right.append({"profile": profile, "compared": right})
            self._covers(profile, hits)
            self._settle()

    def _settle(self) -> None:
        """Refutes what enough input sets agree on. Where several threads are wrong and one alone is right, that takes
        threads that were seen to race."""
        alone = sum(one["profile"].threads == 1 for one in self.right)
        alone_tells = self.suspects_race and (self.whole or not self._only_meets)
        settled = not self.wrong or (alone_tells and alone >= _AGREEING_ALONE)
        settled = settled and not self.endless_sweeps
        if (
            (len(self.right) >= _AGREEING or self.suspects_race)
            and settled
            and len(self.singular) < 2
            and not self._unseen()
        ):
            self.asks_for_order = bool(self.wrong) and self._driven is None
            if not self.wrong or self._driven:
                self.verdict = self._refuted()

    def told(self, driven: bool) -> None:
        """Takes in whether the result depends on the order of the threads wherever several of them are wrong."""
        self.asks_for_order = False
        self._driven = driven
        self._settle()

    def _enough(self) -> bool:
        single = sum(one["profile"].threads == 1 for one in self.wrong)
        if single >= _DISAGREEING:
            return True
        return len(self.wrong) >= _DISAGREEING_THREADS and (single > 0 or not self.races)

    def result(self, shared: Counter[str]) -> dict[str, Any]:
        """The verdict, or the third answer with its reason. ``shared`` counts what made input sets fail."""
        if self.verdict is not None:
            return self.verdict
        if self.wrong and self.check == "zero-adjoint":
            return inconclusive("an input without a derivative moves the result, but only at few inputs")
        if self.wrong:
            if self.suspects_race:
                reason = (
                    "tape and finite differences disagree only when several threads run; they may race for one element"
                )
                return inconclusive(reason) | {"several": True}
            return inconclusive("tape and finite differences disagree at some inputs, but not reliably")
        if self.whole and not self.right and not self.singular and self.flat >= _AGREEING and not self._untouched():
            return _nothing(f"both tape and finite differences give zero at {self.flat} sets of inputs")
        clean = not self.endless and not self.endless_sweeps and not self.singular and not self._unseen()
        if len(self.right) >= _AGREEING_AT_LAST and clean and self.check != "finite-adjoint":
            return self._refuted()
        if self.right and self.check in ("zero-adjoint", "replay"):
            return inconclusive(f"only {len(self.right)} sets of inputs could be used")
        if self.right and not self.endless:
            count, agree = len(self.right), "tape and finite differences agree"
            lines = sorted({line_of(number) for number in self._unseen()})
            if lines and count >= _AGREEING:
                return inconclusive(
                    f"{agree} at {count} sets of inputs, but none of them runs line {lines[0]} again and again"
                )
            return inconclusive(f"{agree}, but only {count} sets of inputs could be used")
        reasons = self.reasons + shared
        return inconclusive(reasons.most_common(1)[0][0] if reasons else "no input set could be used")

    def _confirmed(self) -> dict[str, Any]:
        worst = max((one for group in self.wrong for one in group["wrong"]), key=_gap)
        tape, difference = worst["tape"], worst["finite_difference"]
        point = f"d/d {worst['label']}"
        if self.check == "zero-adjoint":
            detail = f"{point} is 0 on the tape, and the result changes by {difference:.6g} as the input moves"
        elif self.check == "replay":
            detail = f"`{worst['label']}` holds {difference:.6g} before backward() and {tape:.6g} after it"
        elif not _finite(tape):
            truth = f"the result is finite and finite differences give {difference:.6g}"
            detail = f"{point} is {tape} on the tape where {truth}"
        else:
            detail = f"{point} is {tape:.6g} on the tape, {difference:.6g} by finite differences"
        counts = {"inputs": len(self.wrong) + len(self.right), "wrong": len(self.wrong)}
        return {
            "verdict": "confirmed",
            "detail": detail,
            "numbers": _numbers(worst) | counts,
            "profiles": _profiles(self.wrong),
        }

    def _refuted(self) -> dict[str, Any]:
        if self.mark.get("blind"):
            return inconclusive(
                f"nothing is wrong at {len(self.right)} sets of inputs, but in what is imported it cannot be seen "
                "which lines run"
            )
        numbers: dict[str, Any] = {"inputs": len(self.right)}
        if self.check == "zero-adjoint":
            detail = f"every input that moves the result has a derivative at {len(self.right)} sets of inputs"
        elif self.check == "replay":
            detail = f"backward() changes no array at {len(self.right)} sets of inputs"
        elif self.check == "finite-adjoint":
            detail = f"the gradient stays finite at {len(self.right)} sets of inputs with zeros, ties and large numbers"
        else:
            detail = f"tape and finite differences agree at {len(self.right)} sets of inputs that run the flagged line"
            if self.wrong:
                detail += ", each with one thread; several threads race, and their order decides what they compute"
            compared = [one for group in self.right for one in group["compared"]]
            numbers |= _numbers(max(compared, key=lambda one: abs(one["tape"])))
        return {"verdict": "refuted", "detail": detail, "numbers": numbers, "profiles": _profiles(self.right)}


def fed(mark: dict[str, Any], target: str) -> dict[str, Any]:
    """``mark`` with the inputs of ``target`` that may flow into the flagged place as ``feeding``, if that is known."""
    where, feeding = mark.get("feeding") or (None, None)
    return {**mark, "feeding": feeding if where == target else None}


def may_race(usage: Usage) -> bool:
    """Whether two threads may touch one element without an atomic operation."""
    for use in usage.uses.values():
        if usage.rank == 1 and use.is_private:
            continue
        if use.stores and (use.loads or any(source[-1] == "[]" for source in use.store_sources)):
            return True
    return False


def meets(usage: Usage) -> bool:
    """Whether all threads store to one element."""
    return any(use.unthreaded for use in usage.uses.values())


def scatters(usage: Usage) -> bool:
    """Whether plain stores go where indices read from arrays say: at some inputs two of them meet, or meet a load."""
    return any(use.stores and any(source[-1] == "[]" for source in use.store_sources) for use in usage.uses.values())


def _nothing(detail: str) -> dict[str, Any]:
    """A whole definition that has no gradient, and whose adjoint gives none."""
    return {"verdict": "refuted", "detail": detail, "numbers": {}, "profiles": []}


def inconclusive(reason: str) -> dict[str, Any]:
    """The third answer, with its reason."""
    return {"verdict": "inconclusive", "detail": reason, "numbers": {}}


def with_assumptions(verdict: dict[str, Any], plan: Mapping[str, Any]) -> dict[str, Any]:
    """``verdict`` on a script that holds what the source does not say: that it does is said.

    With guesses nothing is refuted. What is right with them may be wrong with other values: a loop that is unrolled for
    three rounds is not for thirty.
    """
    assumed, stand_ins = plan.get("assumed") or {}, plan.get("stand_ins") or {}
    if verdict["verdict"] == "inconclusive" or not (assumed or stand_ins):
        return verdict
    words = [f"`{name}` = {value}" for name, value in assumed.items()]
    words += [f"`{value}` for the native `{name}`" for name, value in stand_ins.items()]
    detail = f"{verdict['detail']} (with {', '.join(words)})"
    if verdict["verdict"] == "refuted" and (plan.get("guessed") or stand_ins):
        return inconclusive(f"nothing is wrong with what was chosen for it: {detail}")
    return verdict | {"detail": detail}


def through_callers(func: str, alone: dict[str, Any], callers: list[dict[str, Any]]) -> dict[str, Any] | None:
    """The verdict on a place in ``func``, decided as ``alone``, where the kernels that call it say something else.

    One of them is enough to confirm; all of them have to agree to refute. None where ``alone`` stands.
    """
    if alone["verdict"] == "refuted":
        return next((one for one in callers if one["verdict"] == "confirmed"), None)
    if alone["verdict"] != "confirmed" or not callers or any(one["verdict"] != "refuted" for one in callers):
        return None
    shown = callers[0]
    return shown | {"detail": f"`{func}` alone is wrong, but through the kernels that call it {shown['detail']}"}


def _numbers(one: dict[str, Any]) -> dict[str, Any]:
    names = ("tape", "finite_difference", "estimated_error", "input", "steps", "differences")
    return {name: one[name] for name in names if name in one}


def _profiles(sets: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """A few of the deciding input sets, for another device to repeat; single threads first."""
    profiles = sorted((one["profile"] for one in sets), key=lambda profile: profile.threads)
    return [asdict(profile) for profile in profiles[:_REPEATED]]


def _still(one: dict[str, Any]) -> bool:
    return bool(one["tape"] == 0.0 and one["finite_difference"] == 0.0)


def _finite(value: float) -> bool:
    return value == value and abs(value) != float("inf")


def _gap(one: dict[str, Any]) -> float:
    if not _finite(one["tape"]):
        return float("inf")
    return float(
        abs(one["tape"] - one["finite_difference"]) / max(abs(one["tape"]), abs(one["finite_difference"]), 1e-12)
    )
