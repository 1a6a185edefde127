"""The trials of one kernel or func: it is compiled, and run at one set of inputs after the other until that decides."""

from __future__ import annotations

import functools
import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path
from types import ModuleType
from typing import Any

import warp as wp

from warplint.probe.worker import clock, isolate
from warplint.probe.worker.account import Account, fed, may_race, meets
from warplint.probe.worker.checks import repeated, silent
from warplint.probe.worker.experiment import Experiment, nothing_to_differentiate
from warplint.probe.worker.generics import fitting
from warplint.probe.worker.handles import Unsupported, group_roots
from warplint.probe.worker.inputs import Choice, Draw, Profile, choices
from warplint.probe.worker.ladder import MORE, Ladder
from warplint.probe.worker.loading import (
    DoesNotCompile,
    compile_kernel,
    forward_only,
    load_script,
    overload,
    wrap,
)
from warplint.probe.worker.order import depends_on_order, rewritten
from warplint.probe.worker.packed import learn
from warplint.probe.worker.scouting import Scout, count_marks
from warplint.probe.worker.usage import Usage

# After so many, hundreds of inputs are run forward only to find some that reach what was missed (``scouting``).
_BEFORE_SCOUTING = 10
_SCOUTED_SETS = 16
# So many inputs that run the line are looked for at first, then so many, then (0) all there is to run: what is wrong
# needs a few to show, and the rest takes long to find.
_FEW = (6, 24, 0)
# After so many, they are run to find more of those that show something, where few do.
_BEFORE_MORE = 20
# One input set may take so long, in seconds of the processor, as all limits here.
_ATTEMPT_SECONDS = 15.0
# After so many input sets at which bounds are only left in reverse, a version without checks is compiled: other inputs
# may decide sooner than that takes.
_STRAYED = 3
# After so many input sets at which the reverse sweep does not end, no others are tried.
_ENDLESS = 6


class Trials:
    """What a job needs to try its targets: ``plan`` as ``warplint.probe.jobs`` writes it."""

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

    # --- what is compiled ---

    def choices(self, target: str) -> list[Choice]:
        """What ``Any`` may stand for; one entry where nothing is generic."""
        if not self._is_generic(target):
            return choices()[:1]
        if target not in self._choices:
            trial = getattr(self._module(self.script, "_types"), target)
            self._choices[target] = [*fitting(trial, double=self.check == "gradient"), *choices()]
        return self._choices[target]

    def _is_generic(self, target: str) -> bool:
        item = getattr(self._module(self.script), target)
        args = item.adj.args if isinstance(item, wp.Kernel) else ()
        return bool(getattr(item, "is_generic", False) or (not args and getattr(item, "user_templates", None)))

    def compiled(self, target: str, choice: Choice, release: bool = False) -> tuple[Any, Any]:
        """The kernel and its counting twin, compiled."""
        wp.config.mode = "release" if release else "debug"
        suffix = "_release" if release else ""
        kernel = self._kernel(self._module(self.script, suffix), target, choice, suffix)
        compile_kernel(kernel, self.device)
        twin = None if release else self._counting(target, choice)
        if twin is not None:
            compile_kernel(twin, "cpu")
        return kernel, twin

    def first(self) -> Iterator[Any]:
        """The kernels that will certainly be compiled; none where it takes more to know them."""
        target = self.plan["targets"][0]
        if not self._is_generic(target):
            (choice,) = self.choices(target)
            yield self._kernel(self._module(self.script), target, choice, "")
            twin = self._counting(target, choice)
            if twin is not None:
                yield twin

    def _counting(self, target: str, choice: Choice) -> Any:
        """The counting twin of a target, None where there is none."""
        if self.twin is None:
            return None
        twin = self._kernel(self._module(self.twin, "_twin"), target, choice, "_twin")
        forward_only(twin)
        return twin

    @property
    def module(self) -> ModuleType:
        """The script, loaded."""
        return self._module(self.script)

    def _module(self, text: str, suffix: str = "") -> ModuleType:
        return load_script(text, self.scratch, suffix)

    def _kernel(self, module: ModuleType, target: str, choice: Choice, suffix: str, last: int | None = None) -> Any:
        item = getattr(module, target)
        if not isinstance(item, wp.Kernel):
            return wrap(item, choice, self.scratch, suffix, last)
        return overload(item, choice) if item.is_generic else item

    # --- input sets ---

    def probe(
        self, target: str, choice: Choice, kernel: Any, twin: Any, open_marks: list[int], deadline: float
    ) -> dict[int, dict[str, Any]]:
        usage = Usage(kernel)
        for use in usage.uses.values():
            if use.root is not None:
                group_roots(use.root, self.device)  # known here, it is known in all children
        learn(usage, self.scratch)
        races = may_race(usage)
        marks = {number: fed(self.marks[number], target) for number in open_marks}
        accounts = {number: Account(self.check, races, mark, meets(usage)) for number, mark in marks.items()}
        ladder = Ladder(self.check == "finite-adjoint", bool(self.plan.get("ordered")))
        shared: Counter[str] = Counter()
        release: isolate.Servant | None = None
        servant = self._servant(kernel, twin, usage)
        scout: Scout | None = None
        scouted, more = 0, False
        strayed = endless = 0
        for profile in ladder:
            wanting = twin is not None and any(account.needs_scouting for account in accounts.values())
            if ladder.tried == _BEFORE_SCOUTING and wanting and scout is None:
                scout = self._scout(twin, accounts, ladder)
            if scout is not None and wanting and scouted < len(_FEW) and ladder.tried >= _BEFORE_SCOUTING + scouted:
                self._look(scout, accounts, ladder, deadline, _FEW[scouted])
                scouted += 1
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
                profile = replace(profile, guard=64)
                outcome = self._attempt(release, profile, left, waiting)
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
                text = rewritten(self.script, f"{threads - 1} - INDEX")
                backwards = self._kernel(self._module(text, "_back"), target, choice, "_back", threads - 1)
                forward_only(backwards)
                compile_kernel(backwards, self.device)
            except (DoesNotCompile, Unsupported):
                return False
            work = functools.partial(depends_on_order, kernel, backwards, usage, profile)
            outcome = isolate.run(work, self.scratch, _ATTEMPT_SECONDS)
            if outcome.ended != "returned" or not outcome.result:
                return False
        return True

    def _scout(self, twin: Any, accounts: dict[int, Account], ladder: Ladder) -> Scout:
        """A search for inputs that run what the accounts still miss."""
        usage = Usage(twin)

        def repeated(number: int, profile: Profile, hits: dict[str, int]) -> bool:
            return accounts[number].repeated(hits, profile.threads**usage.rank)

        return Scout(twin, usage, [self.marks[number] for number in accounts], ladder.manner, repeated)

    def _look(self, scout: Scout, accounts: dict[int, Account], ladder: Ladder, deadline: float, few: int) -> None:
        """Looks for inputs that run what the open accounts still miss, and asks for them."""
        waiting = {number: account for number, account in accounts.items() if account.verdict is None}
        missing = {number: account.missing() for number, account in waiting.items()}
        scout.marks = [self.marks[number] for number in waiting]
        for profile, hits in scout.search(self.scratch, deadline - 1.0, few):
            useful = False
            for number, needs in missing.items():
                enough = scout.repeats(number, profile, hits)
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
            draw = Draw(counting or Usage(twin), profile, "cpu", gradients=False)
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

    def close(self) -> None:
        """Ends the children that ran input sets."""
        while self._servants:
            self._servants.pop().close()
