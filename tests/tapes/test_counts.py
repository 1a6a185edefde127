"""Counts get smaller where a program is too long, wherever it writes them out; branches that only report."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import HEADER
from stub_effects import Stub

from warplint.frontend import fast
from warplint.ir.facts import Fact
from warplint.source.project import Module, Project
from warplint.tapes import entries
from warplint.tapes.trace import Launched

Run = Callable[..., list[Fact]]

#: A chain of arrays that is too long to be followed as it is written: where its counts stay what they are, the loops
#: are left before their end, and nothing leads from the first array to the loss.
SIMULATION = """
class Simulation:
    def __init__(self, frames{frames}, substeps{substeps}):
        self.frames = frames
        self.substeps = substeps
        self.x = [wp.zeros(3, dtype=float, requires_grad=True) for _ in range(self.frames * self.substeps + 1)]
        self.force = wp.zeros(3, dtype=float{flag}
        self.loss = wp.zeros(1, dtype=float, requires_grad=True)

    def forward(self):
        for frame in range(self.frames):
            for sub in range(self.substeps):
                t = frame * self.substeps + sub
                wp.launch(square, dim=3, inputs=[self.x[t]], outputs=[self.force])
                wp.launch(square, dim=3, inputs=[self.force], outputs=[self.x[t + 1]])
        wp.launch(total, dim=3, inputs=[self.x[-1]], outputs=[self.loss])

    def run(self):
        with wp.Tape() as tape:
            self.forward()
        tape.backward(self.loss)
        return self.x[0].grad.numpy()

"""

#: How the numbers of frames and of steps within each reach the simulation.
STARTS = {
    "arguments": "Simulation(300, 50).run()",
    "keywords": "Simulation(frames=300, substeps=50).run()",
    "defaults": "Simulation().run()",
    "options of the command line": """
import argparse
parser = argparse.ArgumentParser()
parser.add_argument("--frames", type=int, default=300, help="how many")
parser.add_argument("-s", "--substeps", type=int, default=50)
options = parser.parse_args()
Simulation(options.frames, options.substeps).run()
""",
    "entries of a dict": """
settings = {"frames": 300, "substeps": 50}
Simulation(**settings).run()
""",
    "attributes of a class": """
class Settings:
    frames = 300
    substeps: int = 50
Simulation(Settings.frames, Settings().substeps).run()
""",
    "fields of a dataclass": """
@dataclass
class Settings:
    substeps: int
    frames: int = 300
settings = Settings(50)
Simulation(settings.frames, settings.substeps).run()
""",
    "fields that are given": """
@dataclass
class Settings:
    frames: int = 1
    substeps: int = 1
settings = Settings(substeps=50, frames=300)
Simulation(settings.frames, settings.substeps).run()
""",
    "fields of a named tuple": """
from typing import NamedTuple
class Settings(NamedTuple):
    frames: int = 300
    substeps: int = 50
settings = Settings()
Simulation(settings.frames, settings.substeps).run()
""",
}


@pytest.mark.parametrize("flag", [")  # expect: WP301", ", requires_grad=True)"], ids=["wrong", "right"])
@pytest.mark.parametrize("start", STARTS)
def test_a_count_gets_smaller(run: Run, start: str, flag: str) -> None:
    frames, substeps = ("=300", "=50") if start == "defaults" else ("", "")
    run(SIMULATION.format(frames=frames, substeps=substeps, flag=flag) + STARTS[start])


def test_members_of_enumerations_are_no_counts(run: Run) -> None:
    """The member for 200 stays that one, whatever bounds a loop."""
    run(
        SIMULATION.format(frames="", substeps="", flag=", requires_grad=True)")
        + """
import enum
class Size(enum.IntEnum):
    frames = 200
    substeps = 12
Simulation(300, 50).run()
q = wp.zeros(3, dtype=float, requires_grad=True)
if Size(200) == Size.substeps:
    q = wp.zeros(3, dtype=float)
loss = wp.zeros(1, dtype=float, requires_grad=True)
x = wp.zeros(3, dtype=float, requires_grad=True)
with wp.Tape() as tape:
    wp.launch(square, dim=3, inputs=[x], outputs=[q])
    wp.launch(total, dim=3, inputs=[q], outputs=[loss])
tape.backward(loss)
print(x.grad.numpy())
"""
    )


#: Conditions that nobody knows, and the kernel that the first run launches.
BRANCHES = {
    "the work is in the else": ("print('inverted')", "wp.launch(square, dim=3, inputs=[x, y])", "square"),
    "a logger is told": (
        "logger.warning('inverted')\n        print('so')",
        "wp.launch(square, dim=3, inputs=[x, y])",
        "square",
    ),
    "the work is in the if": ("wp.launch(square, dim=3, inputs=[x, y])", "print('inverted')", "square"),
    "work in both": (
        "print('inverted')\n        wp.launch(fill, dim=3, outputs=[y])",
        "wp.launch(square, dim=3, inputs=[x, y])",
        "fill",
    ),
}


@pytest.mark.parametrize("branches", BRANCHES)
def test_a_branch_that_only_reports_is_the_unusual_one(tmp_path: Path, branches: str) -> None:
    first, other, kernel = BRANCHES[branches]
    path = tmp_path / "program.py"
    path.write_text(f"""{HEADER}
import logging
logger = logging.getLogger("x")

def main(shape):
    x = wp.zeros(3, dtype=float, requires_grad=True)
    y = wp.zeros_like(x)
    tape = wp.Tape()
    volume = np.linalg.det(np.array(shape))
    if volume <= 0.0:
        {first}
    else:
        {other}
""")
    project = Project(fast.read)
    module = project.load(path)
    assert isinstance(module, Module)
    trace = next(trace for trace in entries.traces(project, module, Stub(project), []) if trace.entry == "main")
    launched = [record.kernel.qualname for record in trace if isinstance(record, Launched) and record.kernel]
    assert launched == [kernel]
