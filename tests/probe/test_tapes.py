"""Tape programs: a severed chain, windows, and what is right about them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tests.probe.conftest import finding
from warplint.ir.facts import Evidence
from warplint.ir.programs import (
    Allocate,
    ArrayRef,
    Backward,
    DefinitionRef,
    Fill,
    Launch,
    Operation,
    ReadGradient,
    StructValue,
    TapeBegin,
    TapeEnd,
    TapeProgram,
    Unknown,
)
from warplint.ir.spans import Location, Span

Run = Callable[..., list[Evidence]]

_TEXT = """
import warp as wp


@wp.struct
class Beam:
    load: wp.array(dtype=float)
    bend: wp.array(dtype=float)


@wp.kernel
def bend(beam: Beam):
    i = wp.tid()
    beam.bend[i] = beam.load[i] * beam.load[i]


@wp.kernel
def total(beam: Beam, loss: wp.array(dtype=float)):
    i = wp.tid()
    wp.atomic_add(loss, 0, beam.bend[i] * beam.bend[i])


@wp.kernel
def decay(state: wp.array(dtype=float), following: wp.array(dtype=float), rate: wp.array(dtype=float), dt: float):
    i = wp.tid()
    following[i] = state[i] * (1.0 - dt * rate[i])


@wp.kernel
def cost(state: wp.array(dtype=float), loss: wp.array(dtype=float)):
    i = wp.tid()
    wp.atomic_add(loss, 0, state[i] * state[i])
"""

_COUNT = Unknown("count")


class Maker:
    """Operations on a file that holds the kernels above."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "host.py"
        self.path.write_text(_TEXT)
        self.site = Location(self.path, Span(1, 1, 1, 2))

    def ref(self, name: str) -> DefinitionRef:
        return DefinitionRef(self.path, name)

    def chain(self, flag: bool, launched: int | Unknown = _COUNT) -> TapeProgram:
        """A chain that a flag severs; ``launched`` is the extent of its launches, that of its arrays is not known."""
        site = self.site
        beam = StructValue(self.ref("Beam"), {"load": ArrayRef(0), "bend": ArrayRef(1)})
        operations: list[Operation] = [
            Allocate(0, site, "array", "float32", (_COUNT,), True, "load"),
            Allocate(1, site, "zeros", "float32", (_COUNT,), flag, "bend"),
            Allocate(2, site, "zeros", "float32", (1,), True, "loss"),
            TapeBegin(site, 0),
            Launch(site, self.ref("bend"), (launched,), (beam,)),
            Launch(site, self.ref("total"), (launched,), (beam, ArrayRef(2))),
            TapeEnd(site, 0),
            Backward(site, 0, ArrayRef(2)),
            ReadGradient(site, ArrayRef(0)),
        ]
        return TapeProgram(tuple(operations), (0,), None, (1,))

    def steps(self, windows: bool, reset: bool = True, carried: bool = True) -> TapeProgram:
        """Three steps of decay: on one tape, or each in a window of its own with a backward."""
        site = self.site
        operations: list[Operation] = [
            Allocate(0, site, "array", "float32", (2000,), True, "rate"),
            Allocate(1, site, "array", "float32", (2000,), True, "state"),
            Allocate(2, site, "zeros", "float32", (1,), True, "loss"),
        ]
        state = 1
        if not windows:
            operations.append(TapeBegin(site, 0))
        for step in range(3):
            if windows:
                if reset:
                    operations.append(Fill(site, ArrayRef(2), 0.0))
                operations.append(TapeBegin(site, step))
            following = 10 + step
            operations += [
                Allocate(following, site, "zeros_like", None, None, None, "following", like=1),
                Launch(
                    site,
                    self.ref("decay"),
                    (2000,),
                    (ArrayRef(state), ArrayRef(following), ArrayRef(0), Unknown("dt")),
                ),
                Launch(site, self.ref("cost"), (2000,), (ArrayRef(following), ArrayRef(2))),
            ]
            state = following if carried else 1
            if windows:
                operations += [TapeEnd(site, step), Backward(site, step, ArrayRef(2))]
        if not windows:
            operations += [TapeEnd(site, 0), Backward(site, 0, ArrayRef(2))]
        operations.append(ReadGradient(site, ArrayRef(0)))
        return TapeProgram(tuple(operations), (0,))


def test_tape_programs(tmp_path: Path, run: Run) -> None:
    make = Maker(tmp_path)
    cases = {
        "severed": finding(make.path, make.chain(False), "chain"),
        "whole": finding(make.path, make.chain(True), "chain"),
        "severed, longer than is guessed": finding(make.path, make.chain(False, 30), "chain"),
        "whole, longer than is guessed": finding(make.path, make.chain(True, 7), "chain"),
        "windows": finding(make.path, make.steps(True), "horizon"),
        "windows without a reset of the loss": finding(make.path, make.steps(True, reset=False), "horizon"),
        "one tape": finding(make.path, make.steps(False), "horizon"),
        "windows that carry nothing": finding(make.path, make.steps(True, carried=False), "horizon"),
    }
    evidence = dict(zip(cases, run(list(cases.values())), strict=False))
    assert {name: one.verdict for name, one in evidence.items()} == {
        "severed": "confirmed",
        "whole": "refuted",
        "severed, longer than is guessed": "confirmed",
        "whole, longer than is guessed": "refuted",
        "windows": "confirmed",
        "windows without a reset of the loss": "confirmed",
        "one tape": "refuted",
        "windows that carry nothing": "refuted",
    }
    severed = evidence["severed"].numbers
    assert severed["tape"] == 0.0
    assert severed["input"] == "load"
    difference = severed["finite_difference"]
    assert abs(severed["repaired"] - difference) < 1e-2 * abs(difference)
    # however the loss is kept, the windows' objective is the same
    plain, summed = (evidence[name].numbers for name in ("windows", "windows without a reset of the loss"))
    assert abs(plain["finite_difference"] - summed["finite_difference"]) < 1e-3 * abs(plain["finite_difference"])
