"""When a loop has gone on for long enough."""

from __future__ import annotations

from typing import TYPE_CHECKING

from warplint.tapes.questions import ROUNDS
from warplint.tapes.trace import BackwardRun

if TYPE_CHECKING:
    from warplint.tapes.machine import Machine

#: Comprehensions and loops over known things stop being run round for round after this many.
MAX_ROUNDS = 600
#: Steps of loops that leave no trace, after which such a loop is left: as many as this where there were none before in
#: the run, fewer and fewer after that, and never fewer than the second number.
_IDLE_STEPS = 1000
_FEWEST_IDLE_STEPS = 60
#: Steps of a loop outside every tape, after which it is left in a run with smaller counts.
_FORWARD_STEPS = 1500
#: Steps of a loop in which some rounds have a sweep and others have none, after which no more of the former are waited
#: for.
_SWEEP_STEPS = 1500


class Rounds:
    """Decides when a loop has gone on for long enough."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._records = self._looked = len(machine.recorder.trace.records)
        self._swept = 0
        self._budget = machine.budget
        self._idle = machine.idle

    def enough(self, done: int) -> bool:
        """Whether to stop after ``done`` rounds."""
        records = self._machine.recorder.trace.records
        if len(records) != self._looked:
            self._swept += any(isinstance(record, BackwardRun) for record in records[self._looked :])
            self._looked = len(records)
        if done < ROUNDS:
            return False
        spent = self._budget - self._machine.budget
        if len(records) == self._records:
            # host code that has nothing to do with arrays
            return spent > max(_FEWEST_IDLE_STEPS, _IDLE_STEPS - self._machine.idle // 2)
        if self._swept >= ROUNDS or (self._swept and spent > _SWEEP_STEPS):
            return True  # rounds with a sweep of their own: three of them show all that repeats
        if self._machine.shrunk and not self._machine.recorder.tapes and spent > _FORWARD_STEPS:
            return True  # a forward pass that is only repeated: no tape sees it
        if done >= MAX_ROUNDS or spent > (self._budget - self._machine.floor) // 2:
            self._machine.cut = True
            if not self._machine.shrunk:
                self._machine.reached()
            return True
        return False

    def finish(self) -> None:
        """The loop was left: if it did nothing with arrays, its steps count as idle."""
        machine = self._machine
        if len(machine.recorder.trace.records) == self._records:
            machine.idle = self._idle + self._budget - machine.budget
