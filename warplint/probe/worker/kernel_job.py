"""The probe of one kernel or func: draw inputs, launch under a tape, compare with finite differences, decide."""

from __future__ import annotations

from typing import Any

from warplint.probe.worker import clock
from warplint.probe.worker.account import inconclusive, through_callers, with_assumptions
from warplint.probe.worker.guesses import Guess, Guesses, either
from warplint.probe.worker.handles import Unsupported
from warplint.probe.worker.loading import (
    DoesNotCompile,
    backward_disabled,
)
from warplint.probe.worker.order import ordered
from warplint.probe.worker.questions import answer
from warplint.probe.worker.trials import Trials

# Stands for a mark that need not be asked about.
_SETTLED: dict[str, Any] = {"verdict": "settled"}


class KernelJob(Trials):
    """One job: ``plan`` as ``warplint.probe.jobs`` writes it, run within ``seconds`` of the processor,
    compiling left out.

    All flagged places of one kernel share the input sets; each has an account of its own.
    """

    # --- the whole ---

    def run(self) -> dict[str, Any]:
        """``verdicts``: one for each mark, as JSON."""
        said = self._run()
        verdicts = said["verdicts"]
        others = Guesses(self.plan).others(self.script, self.twin)
        if others and any(verdict["verdict"] == "refuted" for verdict in verdicts):
            return said | {"verdicts": self._whatever(verdicts, others)}
        return said | {"verdicts": [with_assumptions(verdict, self.plan) for verdict in verdicts]}

    def _whatever(self, verdicts: list[dict[str, Any]], others: list[Guess]) -> list[dict[str, Any]]:
        """``verdicts`` after the scripts with the other truth values ran: what is right with all of them is right."""
        found = [with_assumptions(verdict, self.plan) for verdict in verdicts]
        right = {number for number, verdict in enumerate(verdicts) if verdict["verdict"] == "refuted"}
        for left, guess in zip(range(len(others), 0, -1), others, strict=True):
            plan = {**self.plan, "assumed": guess.assumed}
            job = {"script": guess.script, "twin": guess.twin, "plan": plan}
            share = (self.deadline - clock.now()) / left
            if share < 1.0 or not right:
                return found
            other = KernelJob(job, self.scratch, self.device, share)._run()["verdicts"]
            for number in sorted(right):
                if other[number]["verdict"] != "refuted":
                    right.discard(number)
                    if other[number]["verdict"] == "confirmed":
                        found[number] = with_assumptions(other[number], plan)
        for number in right:
            found[number] = either(verdicts[number], self.plan)
        return found

    def _run(self) -> dict[str, Any]:
        if self.check == "compile":
            return {"verdicts": [self._compiles()] * len(self.marks)}
        if self.check == "answer":
            return {"verdicts": [self._answers()] * len(self.marks)}
        if self.check == "order":
            return {"verdicts": [self._ordered()] * len(self.marks)}
        verdicts: list[dict[str, Any] | None] = [None] * len(self.marks)
        refuted: dict[int, list[dict[str, Any]]] = {}
        targets: list[str] = self.plan["targets"]
        for position, target in enumerate(targets):
            caller = self.plan["through"] and position < len(targets) - 1
            if self.plan["through"] and not caller and self.plan["all"]:
                # what no caller shows is no defect, whatever the func alone would
                verdicts = [
                    refuted[number][-1] if len(refuted.get(number, ())) == position else found
                    for number, found in enumerate(verdicts)
                ]
            if all(found is not None and found["verdict"] != "inconclusive" for found in verdicts):
                break
            # leave time for the targets that are left where this one cannot be decided
            left = len(targets) - position
            share = (self.deadline - clock.now()) / (left if caller else min(left, 2))
            for number, found in self._target(target, verdicts, clock.now() + share).items():
                if caller and found["verdict"] == "refuted":
                    refuted.setdefault(number, []).append(found)
                    continue
                known = verdicts[number]
                if known is None or found["verdict"] != "inconclusive":
                    verdicts[number] = found
        # compiling the callers must not cost what is decided already
        early = clock.now() - self.begun < 0.3 * (self.deadline - self.begun)
        if self.plan.get("callers") and self.check == "gradient" and early:
            self._through_callers(verdicts)
        return {"verdicts": verdicts}

    def _through_callers(self, verdicts: list[dict[str, Any] | None]) -> None:
        """Looks at what was decided on a func alone once more, through all kernels that call it.

        They may pass it less than its parameters allow (only what is not differentiated, only what is in range), or
        more (one array for two parameters). What they show counts.
        """
        func, *callers = self.plan["targets"]
        alone = {n: found for n, found in enumerate(verdicts) if found is not None and found.get("target") == func}
        alone = {number: found for number, found in alone.items() if found["verdict"] != "inconclusive"}
        seen: dict[int, list[dict[str, Any]]] = {number: [] for number in alone}
        for position, caller in enumerate(callers):
            asked: list[dict[str, Any] | None] = [
                None if n in alone and not any(one["verdict"] == "confirmed" for one in seen[n]) else _SETTLED
                for n in range(len(verdicts))
            ]
            if all(one is _SETTLED for one in asked):
                return
            share = (self.deadline - clock.now()) / (len(callers) - position)
            for number, found in self._target(caller, asked, clock.now() + share).items():
                seen[number].append(found)
        for number, found in alone.items():
            other = through_callers(func, found, seen[number])
            if other is not None:
                verdicts[number] = other

    def _compiles(self) -> dict[str, Any]:
        """Whether Warp refuses the definitions."""
        try:
            for target in self.plan["targets"]:
                for choice in self.choices(target)[:1]:
                    self.compiled(target, choice)
        except DoesNotCompile as error:
            return {"verdict": "confirmed", "detail": str(error), "numbers": {}}
        except Unsupported as error:
            return inconclusive(str(error))
        return {"verdict": "refuted", "detail": "Warp compiles it", "numbers": {}}

    def _answers(self) -> dict[str, Any]:
        """What a launch says to the question."""
        try:
            return answer(self.plan["question"], lambda: self._module(self.script), self.scratch)
        except (Unsupported, DoesNotCompile) as error:
            return inconclusive(str(error))

    def _ordered(self) -> dict[str, Any]:
        """Whether the result of the kernel depends on the order of its threads."""
        try:
            return ordered(self.script, self.plan["targets"][0], self.scratch, self.deadline)
        except (Unsupported, DoesNotCompile) as error:
            return inconclusive(str(error))

    def _target(self, target: str, verdicts: list[dict[str, Any] | None], deadline: float) -> dict[int, dict[str, Any]]:
        """Verdicts on the marks that are still open, from one kernel or func."""
        open_marks = [n for n, found in enumerate(verdicts) if found is None or found["verdict"] == "inconclusive"]
        reason = ""
        try:
            for index, choice in enumerate(self.choices(target)):
                try:
                    kernel, twin = self.compiled(target, choice)
                except DoesNotCompile as error:
                    reason = reason or str(error)
                    continue
                if backward_disabled(kernel):
                    reason = "the kernel is compiled without backward, so there is no adjoint to check"
                    return {number: inconclusive(reason) | {"forward_only": True} for number in open_marks}
                found = self.probe(target, choice, kernel, twin, open_marks, deadline)
                return {number: one | {"target": target, "choice": index} for number, one in found.items()}
        except (Unsupported, DoesNotCompile) as error:
            reason = str(error)
        finally:
            self.close()
        return {number: inconclusive(reason) for number in open_marks}
