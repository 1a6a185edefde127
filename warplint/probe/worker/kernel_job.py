"""The probe of one kernel or func: draw inputs, launch under a tape, compare with finite differences, decide."""

from __future__ import annotations

import functools
import json
import re
from collections import Counter
from dataclasses import asdict, replace
from pathlib import Path
from types import ModuleType
from typing import Any

import warp as wp

from warplint.probe.worker import clock, isolate
from warplint.probe.worker.account import Account, inconclusive, may_race, meets, through_callers, with_assumptions
from warplint.probe.worker.checks import repeated, silent
from warplint.probe.worker.experiment import Experiment, nothing_to_differentiate
from warplint.probe.worker.generics import fitting
from warplint.probe.worker.guesses import Guess, Guesses, either
from warplint.probe.worker.handles import Unsupported, group_roots
from warplint.probe.worker.inputs import Choice, Draw, Profile, choices
from warplint.probe.worker.ladder import MORE, Ladder
from warplint.probe.worker.loading import (
    DoesNotCompile,
    backward_disabled,
    compile_kernel,
    forward_only,
    load_script,
    overload,
    wrap,
)
from warplint.probe.worker.order import depends_on_order, ordered, rewritten
from warplint.probe.worker.packed import learn
from warplint.probe.worker.questions import answer
from warplint.probe.worker.scouting import Scout, count_marks
from warplint.probe.worker.usage import Usage

# After so many, hundreds of inputs are run forward only to find some that reach what was missed (``scouting``).
_BEFORE_SCOUTING = 10
_SCOUTED_SETS = 16
# After so many, they are run to find more of those that show something, where few do.
_BEFORE_MORE = 20
# One input set may take so long, in seconds of the processor, as all limits here.
_ATTEMPT_SECONDS = 15.0
# After so many input sets at which bounds are only left in reverse, a version without checks is compiled: other inputs
# may decide sooner than that takes.
_STRAYED = 3
# After so many input sets at which the reverse sweep does not end, no others are tried.
_ENDLESS = 6


# Stands for a mark that need not be asked about.
_SETTLED: dict[str, Any] = {"verdict": "settled"}


class KernelJob:
    """One job: ``plan`` as ``warplint.probe.jobs`` writes it, run within ``seconds`` of the processor,
    compiling left out.

    All flagged places of one kernel share the input sets; each has an account of its own.
    """

    def __init__(self, job: dict[str, Any], scratch: Path, device: str, seconds: float) -> None:
        self.script: str = job["script"]
        self.twin: str | None = job.get("twin")
        self.plan: dict[str, Any] = job["plan"]
        self.marks: list[dict[str, Any]] = [{**mark, "number": n} for n, mark in enumerate(self.plan["marks"])]
        self.scratch = scratch
        self.device = device
        self.begun = clock.now()
        self.deadline = self.begun + seconds
        self.check: str = self.plan["check"]
        self.overruns = 0
        self._servants: list[isolate.Servant] = []
        self._choices: dict[str, list[Choice]] = {}

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
                found = self._probe(target, choice, kernel, twin, open_marks, deadline)
                return {number: one | {"target": target, "choice": index} for number, one in found.items()}
        except (Unsupported, DoesNotCompile) as error:
            reason = str(error)
        finally:
            while self._servants:
                self._servants.pop().close()
        return {number: inconclusive(reason) for number in open_marks}

    def choices(self, target: str) -> list[Choice]:
        """What ``Any`` may stand for; one entry where nothing is generic."""
        module = self._module(self.script)
        item = getattr(module, target)
        args = item.adj.args if isinstance(item, wp.Kernel) else ()
        generic = getattr(item, "is_generic", False) or (not args and bool(getattr(item, "user_templates", None)))
        if not generic:
            return choices()[:1]
        if target not in self._choices:
            trial = getattr(self._module(self.script, "_types"), target)
            self._choices[target] = [*fitting(trial, double=self.check == "gradient"), *choices()]
        return self._choices[target]

    def compiled(self, target: str, choice: Choice, release: bool = False) -> tuple[Any, Any]:
        """The kernel and its counting twin, compiled."""
        wp.config.mode = "release" if release else "debug"
        suffix = "_release" if release else ""
        kernel = self._kernel(self._module(self.script, suffix), target, choice, suffix)
        compile_kernel(kernel, self.device)
        twin = None
        if self.twin is not None and not release:
            module = self._module(self.twin, "_twin")
            twin = self._kernel(module, target, choice, "_twin")
            forward_only(twin)
            compile_kernel(twin, "cpu")
        return kernel, twin

    @property
    def module(self) -> ModuleType:
        """The script, loaded."""
        return self._module(self.script)

    def _module(self, text: str, suffix: str = "") -> ModuleType:
        return load_script(text, self.scratch, suffix)

    def _kernel(self, module: ModuleType, target: str, choice: Choice, suffix: str) -> Any:
        item = getattr(module, target)
        if not isinstance(item, wp.Kernel):
            return wrap(item, choice, self.scratch, suffix)
        return overload(item, choice) if item.is_generic else item

    # --- input sets ---

    def _probe(
        self, target: str, choice: Choice, kernel: Any, twin: Any, open_marks: list[int], deadline: float
    ) -> dict[int, dict[str, Any]]:
        usage = Usage(kernel)
        for use in usage.uses.values():
            if use.root is not None:
                group_roots(use.root, self.device)  # known here, it is known in all children
        learn(usage, self.scratch)
        races = may_race(usage)
        accounts = {number: Account(self.check, races, self.marks[number], meets(usage)) for number in open_marks}
        ladder = Ladder(self.check == "finite-adjoint", bool(self.plan.get("ordered")))
        shared: Counter[str] = Counter()
        release: isolate.Servant | None = None
        servant = self._servant(kernel, twin, usage)
        scouted = more = False
        strayed = endless = 0
        for profile in ladder:
            wanting = any(account.needs_scouting for account in accounts.values())
            if ladder.tried == _BEFORE_SCOUTING and wanting and twin is not None and not scouted:
                scouted = True
                self._scout(twin, accounts, ladder, deadline)
            if ladder.tried == _BEFORE_MORE and twin is not None and not more:
                more = True
                self._look_for_more(twin, accounts, ladder, deadline)
            waiting = [number for number, account in accounts.items() if account.verdict is None]
            if not waiting:
                break
            left = deadline - clock.now()
            if left < 0.2 or self.overruns >= 2:
                shared["it does not finish within the time limit"] += 1000
                break
            outcome = self._attempt(servant, profile, left, waiting)
            if outcome.ended == "signal SIGILL" and outcome.stage == "backward":
                # The reverse sweep reads or writes outside an array that the forward sweep stays in.
                strayed += 1
                if strayed < _STRAYED:
                    shared["the reverse sweep leaves an array"] += 1
                    continue
                if release is None:
                    loaded, _ = self.compiled(target, choice, release=True)
                    # what leaves an array unseen may harm what comes after it
                    release = self._servant(loaded, twin, Usage(loaded))
                guarded = replace(profile, guard=64)
                outcome = self._attempt(release, guarded, left, waiting)
                release.close()
            if outcome.ended == "signal SIGPROF" and outcome.stage == "backward":
                endless += 1
                self._endless(json.loads(outcome.note), ladder, profile, [accounts[number] for number in waiting])
                if endless >= _ENDLESS:
                    shared["the reverse sweep does not end"] += 1000
                    break
                continue
            if outcome.ended != "returned":
                self._failed(outcome, ladder, shared)
                continue
            found = outcome.result
            for number in waiting:
                account = accounts[number]
                if account.reached(found["hits"]):
                    account.add(profile, found, profile.threads**usage.rank)
                    if account.asks_for_order:
                        account.told(self._driven(target, choice, kernel, usage, account.wrong))
                else:
                    account.reasons["no input drawn runs the flagged line"] += 1
            self._steer(ladder, profile, [accounts[number] for number in waiting])
        return {number: account.result(shared) | account.coverage(usage) for number, account in accounts.items()}

    def _endless(self, hits: dict[str, int] | None, ladder: Ladder, profile: Profile, accounts: list[Account]) -> None:
        """Notes an input set at which the reverse sweep does not end, and asks for others like it."""
        for account in accounts:
            account.add_endless(profile, hits)
        if profile.threads > 1:
            ladder.prefer(replace(profile, threads=1))
        else:
            ladder.again(profile)

    def _steer(self, ladder: Ladder, profile: Profile, accounts: list[Account]) -> None:
        """Decides what to draw next from what the open accounts still need."""
        if any(account.suspects_race for account in accounts):
            # A race between threads is no wrong adjoint: what one thread alone shows decides.
            ladder.single = True
        elif any(account.last_wrong is profile and account.verdict is None for account in accounts):
            ladder.again(profile)
        if any(account.is_rough for account in accounts):
            ladder.stretch()

    def _driven(self, target: str, choice: Choice, kernel: Any, usage: Usage, wrong: list[dict[str, Any]]) -> bool:
        """Whether threads race at each of the input sets in ``wrong``: the launch gives something else in reverse."""
        for threads, profile in {one["profile"].threads: one["profile"] for one in wrong}.items():
            try:
                text = rewritten(self.script, target, f"{threads - 1} - INDEX")
                backwards = self._kernel(self._module(text, "_back"), target, choice, "_back")
                forward_only(backwards)
                compile_kernel(backwards, self.device)
            except (DoesNotCompile, Unsupported):
                return False
            work = functools.partial(depends_on_order, kernel, backwards, usage, profile)
            outcome = isolate.run(work, self.scratch, _ATTEMPT_SECONDS)
            if outcome.ended != "returned" or not outcome.result:
                return False
        return True

    def _scout(self, twin: Any, accounts: dict[int, Account], ladder: Ladder, deadline: float) -> None:
        """Looks for inputs that run what the open accounts still miss, and asks for them."""
        usage = Usage(twin)
        waiting = {number: account for number, account in accounts.items() if account.verdict is None}
        missing = {number: account.missing() for number, account in waiting.items()}

        def repeated(number: int, profile: Profile, hits: dict[str, int]) -> bool:
            return waiting[number].repeated(hits, profile.threads**usage.rank)

        scout = Scout(twin, usage, [self.marks[number] for number in waiting], ladder.manner, repeated)
        for profile, hits in scout.search(self.scratch, deadline - 1.0):
            useful = False
            for number, needs in missing.items():
                enough = repeated(number, profile, hits)
                if not enough and (waiting[number].scouted or not waiting[number].reached(hits)):
                    continue
                before = len(needs)
                once = set(self.marks[number].get("once", ()))
                needs -= {need for need in needs if hits.get(str(need), 0) > (0 if need in once else profile.threads)}
                if len(needs) < before or waiting[number].scouted < _SCOUTED_SETS:
                    waiting[number].scouted += enough
                    useful = True
            if useful:
                ladder.prefer(profile)
        for number, account in waiting.items():
            account.dead = scout.dead(self.marks[number])

    def _look_for_more(self, twin: Any, accounts: dict[int, Account], ladder: Ladder, deadline: float) -> None:
        """Looks for inputs that run all that ran so far, where few of those drawn did, or could be run at all."""
        usage = Usage(twin)
        waiting = {number: account for number, account in accounts.items() if account.has_few}
        if not waiting:
            return

        def fruitful(number: int, profile: Profile, hits: dict[str, int]) -> bool:
            return waiting[number].runs_all(hits, profile.threads**usage.rank)

        manner = replace(ladder.manner, seed=MORE)
        scout = Scout(twin, usage, [self.marks[number] for number in waiting], manner, fruitful)
        found: Counter[int] = Counter()
        for profile, hits in scout.search(self.scratch, deadline - 1.0):
            wanted = [n for n in waiting if found[n] < _SCOUTED_SETS and fruitful(n, profile, hits)]
            found.update(wanted)
            if wanted:
                ladder.prefer(profile)

    def _servant(self, kernel: Any, twin: Any, usage: Usage) -> isolate.Servant:
        """A child that runs input sets of one compiled kernel."""
        counting = Usage(twin) if twin is not None else None

        def work(stage: isolate.Stage, request: Any) -> Any:
            values, waiting = request
            return self.one(kernel, twin, (usage, counting), Profile(**values), stage, waiting)

        self._servants.append(isolate.Servant(work, self.scratch))
        return self._servants[-1]

    def _attempt(self, servant: isolate.Servant, profile: Profile, left: float, waiting: list[int]) -> isolate.Outcome:
        return servant.ask([asdict(profile), waiting], min(left, _ATTEMPT_SECONDS))

    def one(
        self,
        kernel: Any,
        twin: Any,
        usages: tuple[Usage, Usage | None],
        profile: Profile,
        stage: isolate.Stage,
        waiting: list[int],
    ) -> dict[str, Any]:
        """One input set: what the launch showed, as JSON. Runs in a child on the CPU device.

        ``usages`` are those of the kernel and of its counting twin.
        """
        usage, counting = usages
        stage.set("inputs")
        hits = None
        if self.plan.get("whole"):
            found = Draw(usage, profile, self.device).arguments({one.label: one.type for one in kernel.adj.args})
            nothing = nothing_to_differentiate(found)
            if nothing:
                return {"hits": None, "problem": nothing, "compared": []}
        if twin is not None:
            draw = Draw(counting or Usage(twin), profile, "cpu")
            arguments = draw.arguments({argument.label: argument.type for argument in twin.adj.args})
            stage.set("forward")
            hits = count_marks(twin, arguments, self.scratch, self.marks)
            if not any(Account(self.check, False, self.marks[number]).reached(hits) for number in waiting):
                return {"hits": hits, "problem": "", "compared": []}
        stage.note = json.dumps(hits)
        draw = Draw(usage, profile, self.device)
        arguments = draw.arguments({argument.label: argument.type for argument in kernel.adj.args})
        experiment = Experiment(kernel, arguments, self.device, profile.seed)
        stage.set("forward")
        experiment.launch()
        if self.check == "zero-adjoint":
            comparison = silent(experiment, stage)
        elif self.check == "replay":
            comparison = repeated(experiment, stage)
        else:
            comparison = experiment.compare(stage, directed=profile.directed)
        return {
            "hits": hits,
            "problem": comparison.problem,
            "compared": [one.as_json() for one in comparison.compared],
        }

    def _failed(self, outcome: isolate.Outcome, ladder: Ladder, reasons: Counter[str]) -> None:
        """Notes why an input set gave nothing, and asks for others. Raises Unsupported where none will."""
        if outcome.ended == "timeout":
            self.overruns += 1
            reasons["it does not finish within the time limit"] += 1
        elif outcome.ended == "stuck":
            self.overruns += 1
            reasons[isolate.STUCK] += 1
        elif outcome.ended == "memory":
            reasons["it needs more memory than the limit allows"] += 1
            self.overruns += 1
        elif "Assertion failed" in outcome.stderr:
            if re.search(r"At '[^']*(array|indexedarray|fabric)\w*\.h", outcome.stderr):
                reasons["it reads or writes outside an array at the inputs drawn"] += 1
                ladder.roomier()
            else:
                reasons["an assertion in the kernel, or in Warp, fails at the inputs drawn"] += 1
        elif outcome.ended.startswith("signal"):
            reasons[f"it crashes ({outcome.ended.partition(' ')[2]})"] += 1
            if outcome.ended == "signal SIGFPE":
                ladder.divisible()
            else:
                ladder.roomier()
        elif "Unsupported:" in outcome.stderr:
            raise Unsupported(outcome.stderr.rpartition("Unsupported:")[2].strip())
        elif "MemoryError" in outcome.stderr or "allocate" in outcome.stderr:
            reasons["it needs more memory than the limit allows"] += 1
            self.overruns += 1
        else:
            lines = [line for line in outcome.stderr.splitlines() if line.strip()]
            reasons[f"the launch fails: {lines[-1][:200] if lines else outcome.ended}"] += 1
