"""Where runs start, what they cost, and what they tell about kernels."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import HEADER
from stub_effects import Stub

from warplint.frontend import fast
from warplint.ir.effects import KernelUse
from warplint.ir.facts import Fact
from warplint.source.project import Module, Project
from warplint.tapes import TapeAnalysis, entries, machine

Run = Callable[..., list[Fact]]

TRAINER = """
class Trainer:
    def __init__(self, n, make):
        self.x = wp.array(np.ones(n), dtype=float, requires_grad=True)
        self.y = make(n)
        self.loss = wp.zeros(1, dtype=float, requires_grad=True)

    def step(self):
        with wp.Tape() as tape:
            wp.launch(square, dim=3, inputs=[self.x], outputs=[self.y])
            wp.launch(total, dim=3, inputs=[self.y], outputs=[self.loss])
        tape.backward(self.loss)
        return self.x.grad.numpy()
"""


def test_script_that_uses_a_trainer_of_another_module(run: Run) -> None:
    run(
        """
        from trainer import Trainer

        def make(n):
            return wp.zeros(n, dtype=float)  # expect: WP301

        if __name__ == "__main__":
            Trainer(3, make).step()
        """,
        trainer=TRAINER,
    )


def test_trainer_that_nobody_calls(run: Run) -> None:
    # what `make` gives is not known
    run(TRAINER)


def test_object_that_is_given_away(run: Run) -> None:
    run("""
        import engine

        class Task:
            def __init__(self):
                self.x = wp.array([1.0], dtype=float, requires_grad=True)
                self.y = wp.zeros(1, dtype=float)  # expect: WP301
                self.loss = wp.zeros(1, dtype=float, requires_grad=True)

            def update(self):
                tape = wp.Tape()
                with tape:
                    wp.launch(square, dim=1, inputs=[self.x], outputs=[self.y])
                    wp.launch(total, dim=1, inputs=[self.y], outputs=[self.loss])
                tape.backward(self.loss)

        def main():
            engine.launch(name="task", task=lambda: Task())
            task = Task()

        main()
    """)


def test_unit_test_class(run: Run) -> None:
    run("""
        import unittest

        class TestGradient(unittest.TestCase):
            def setUp(self):
                self.y = wp.zeros(2, dtype=float)  # expect: WP301

            def test_it(self):
                x = wp.array([1.0, 2.0], dtype=float, requires_grad=True)
                loss = wp.zeros(1, dtype=float, requires_grad=True)
                with wp.Tape() as tape:
                    wp.launch(square, dim=2, inputs=[x], outputs=[self.y])
                    wp.launch(total, dim=2, inputs=[self.y], outputs=[loss])
                tape.backward(loss)
                self.assertEqual(x.grad.numpy()[0], 2.0)

        if __name__ == "__main__":
            unittest.main()
    """)


def test_torch_function(run: Run) -> None:
    run("""
        import torch

        class Square(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.tape = wp.Tape()
                ctx.x = wp.from_torch(x, requires_grad=True)
                ctx.y = wp.zeros(2, dtype=float)  # expect: WP301
                ctx.z = wp.zeros(2, dtype=float, requires_grad=True)
                with ctx.tape:
                    wp.launch(square, dim=2, inputs=[ctx.x], outputs=[ctx.y])
                    wp.launch(square, dim=2, inputs=[ctx.y], outputs=[ctx.z])
                return wp.to_torch(ctx.z)

            @staticmethod
            def backward(ctx, grad_z):
                ctx.tape.backward(grads={ctx.z: wp.from_torch(grad_z)})
                return wp.to_torch(ctx.x.grad)

        def train(x):
            loss = Square.apply(x).sum()
            loss.backward()
    """)


def test_program_that_is_too_long_is_made_shorter(run: Run) -> None:
    run("""
        class Simulation:
            def __init__(self):
                self.frames = 300
                self.substeps = 50
                self.x = [wp.zeros(3, dtype=float, requires_grad=True) for _ in range(self.frames * self.substeps + 1)]
                self.force = wp.zeros(3, dtype=float)  # expect: WP301
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

        Simulation().run()
    """)


def test_budget_ends_what_does_not_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = (
        HEADER
        + """
def deeper(n, tape):
    a, b = wp.zeros(n), wp.zeros(n)
    for k in range(n):
        with wp.Tape():
            wp.launch(square, dim=1, inputs=[a, b])
        deeper(n + k, tape)

deeper(100000, None)
"""
    )
    path = tmp_path / "endless.py"
    path.write_text(source)
    monkeypatch.setattr(entries, "FULL_BUDGET", 300)
    monkeypatch.setattr(entries, "RUN_BUDGET", 500)
    monkeypatch.setattr(entries, "ENTRY_BUDGET", 1000)
    project = Project(fast.read)
    module = project.load(path)
    assert isinstance(module, Module)
    analysis = TapeAnalysis(project, Stub(project))
    assert list(analysis.module(module)) == []
    assert analysis.exhausted[0] == (path, "__main__")


def test_uses_of_kernels(tmp_path: Path) -> None:
    source = (
        HEADER
        + """
@wp.kernel
def never(y: wp.array(dtype=float)):
    y[wp.tid()] = 0.0

x = wp.zeros(2, dtype=float, requires_grad=True)
y = wp.zeros_like(x)
wp.launch(fill, dim=2, outputs=[x])
wp.launch(square, dim=2, inputs=[x, y])
with wp.Tape() as tape:
    wp.launch(square, dim=2, inputs=[x, y])
"""
    )
    path = tmp_path / "program.py"
    path.write_text(source)
    project = Project(fast.read)
    module = project.load(path)
    assert isinstance(module, Module)
    analysis = TapeAnalysis(project, Stub(project))
    list(analysis.module(module))
    assert analysis.uses == {(path, "fill"): KernelUse(taped=False), (path, "square"): KernelUse(taped=True)}


@pytest.mark.parametrize(
    ("more", "constant"),
    [
        ("tape.backward(z)", {("y",)}),
        # the seed becomes the gradient of an array that has none
        ("tape.backward(z, grads={y: wp.ones(2, dtype=float)})", set()),
        ("", set()),
    ],
)
def test_written_arrays_that_hold_no_gradient(tmp_path: Path, more: str, constant: set[tuple[str, ...]]) -> None:
    source = f"""{HEADER}
x = wp.zeros(2, dtype=float, requires_grad=True)
y = wp.zeros(2, dtype=float)
z = wp.zeros(1, dtype=float, requires_grad=True)
with wp.Tape() as tape:
    wp.launch(square, dim=2, inputs=[x, y])
    wp.launch(fill, dim=1, outputs=[z])
{more}
"""
    path = tmp_path / "program.py"
    path.write_text(source)
    project = Project(fast.read)
    module = project.load(path)
    assert isinstance(module, Module)
    analysis = TapeAnalysis(project, Stub(project))
    list(analysis.module(module))
    assert analysis.uses[path, "square"].constant == constant


def test_file_without_tapes_is_not_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "program.py"
    path.write_text(HEADER + "x = wp.zeros(2, dtype=float)\nwp.launch(fill, dim=2, outputs=[x])\n")
    project = Project(fast.read)
    module = project.load(path)
    assert isinstance(module, Module)

    def refuse(*_: object) -> None:
        raise AssertionError("a file without tapes was run")

    monkeypatch.setattr(entries, "traces", refuse)
    assert list(TapeAnalysis(project, Stub(project)).module(module)) == []


def test_entry_points_left_out_when_the_steps_of_the_module_are_used_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = HEADER
    for name in ("first", "second"):
        source += f"""

def {name}(x, y):
    for k in range(3):
        with wp.Tape() as tape:
            wp.launch(square, dim=1, inputs=[x, y])
        tape.backward(y)
"""
    path = tmp_path / "two.py"
    path.write_text(source)
    monkeypatch.setattr(entries, "MODULE_BUDGET", 20)
    project = Project(fast.read)
    module = project.load(path)
    assert isinstance(module, Module)
    analysis = TapeAnalysis(project, Stub(project))
    assert list(analysis.module(module)) == []
    assert analysis.exhausted == [(path, "first"), (path, "second")]


def test_run_without_arrays_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = (
        HEADER
        + """
def number(n):
    return n + 1

def build():
    a = number(1)
    b = number(a)
    c = number(b)
    d = number(c)
    return number(d)

def train(x, y):
    build()
    with wp.Tape() as tape:
        wp.launch(square, dim=1, inputs=[x, y])
"""
    )
    path = tmp_path / "idle.py"
    path.write_text(source)
    project = Project(fast.read)
    module = project.load(path)
    assert isinstance(module, Module)
    analysis = TapeAnalysis(project, Stub(project))
    list(analysis.module(module))
    assert analysis.exhausted == []
    monkeypatch.setattr(machine, "PATIENCE", 8)
    list(analysis.module(module))
    assert set(analysis.exhausted) == {(path, "train")}


GRADIENT = """
def gradient(values, differentiable={default}):
    x = wp.array(values, dtype=float, requires_grad=True)
    y = wp.zeros(3, dtype=float, requires_grad=differentiable){mark}
    loss = wp.zeros(1, dtype=float, requires_grad=True)
    tape = wp.Tape()
    with tape:
        wp.launch(square, dim=3, inputs=[x], outputs=[y])
        wp.launch(total, dim=3, inputs=[y], outputs=[loss])
    {guard}
    tape.backward(loss)
    return x.grad.numpy()
"""


@pytest.mark.parametrize(
    ("default", "guard", "expected"),
    [
        ("False", "pass", True),
        ("True", "pass", False),
        ("False", "if not differentiable: return None", False),  # whoever asks for the gradient passes True
        ("None", "pass", True),
    ],
)
def test_a_flag_that_is_what_its_default_says(run: Run, default: str, guard: str, expected: bool) -> None:
    run(GRADIENT.format(default=default, guard=guard, mark="  # expect: WP301" if expected else ""))


def test_a_flag_that_an_object_is_made_with(run: Run) -> None:
    """Nobody here makes one; whoever does may set it."""
    run("""
        class Model:
            def __init__(self, values, differentiable=False):
                self.x = wp.array(values, dtype=float, requires_grad=True)
                self.y = wp.zeros(3, dtype=float, requires_grad=differentiable)
                self.loss = wp.zeros(1, dtype=float, requires_grad=True)

            def gradient(self):
                with wp.Tape() as tape:
                    wp.launch(square, dim=3, inputs=[self.x], outputs=[self.y])
                    wp.launch(total, dim=3, inputs=[self.y], outputs=[self.loss])
                tape.backward(self.loss)
                return self.x.grad.numpy()
    """)


def test_a_class_that_inherits_its_tape(run: Run) -> None:
    run(
        """
        from middle import Line

        def main():
            line = Line()
            print(line.gradient())

        main()
        """,
        base="""
        class Model:
            names = ()

            def __init__(self):
                for name in self.names:
                    setattr(self, name, wp.zeros(3, dtype=float, requires_grad=name != "y"))  # expect: WP301

            def forward(self):
                raise NotImplementedError

            def gradient(self):
                with wp.Tape() as tape:
                    self.forward()
                tape.backward(self.loss)
                return self.x.grad.numpy()
        """,
        middle="""
        from base import Model

        class Line(Model):
            names = ("x", "y", "loss")

            def forward(self):
                wp.launch(square, dim=3, inputs=[self.x], outputs=[self.y])
                wp.launch(total, dim=3, inputs=[self.y], outputs=[self.loss])
        """,
    )


@pytest.mark.parametrize(
    ("key", "made"),
    [
        ('f"y{k}"', 'f"y{k + 1}"'),
        ('f"{prefix}.{k:02d}"', 'f"{prefix}.{k + 1:02d}"'),
        ('f"{sizes[k]}"', 'f"{sizes[k + 1]}"'),
    ],
)
def test_arrays_that_are_called_by_texts_with_numbers_in_them(run: Run, key: str, made: str) -> None:
    run(f"""
        prefix, sizes = "y", [4, 5, 6]
        x = wp.array(np.ones(3), dtype=float, requires_grad=True)
        loss = wp.zeros(1, dtype=float, requires_grad=True)
        fields = {{}}
        k = 0
        fields[{key}] = x
        with wp.Tape() as tape:
            for k in range(2):
                fields[{made}] = wp.zeros(3, dtype=float, requires_grad=k == 1)  # expect: WP301
                wp.launch(square, dim=3, inputs=[fields[{key}]], outputs=[fields[{made}]])
            wp.launch(total, dim=3, inputs=[fields[{made}], loss])
        tape.backward(loss)
        print(x.grad.numpy())
    """)


@pytest.mark.parametrize(
    "turn",
    [
        "ring.rotate(-1)",
        "ring.append(ring.popleft())",
        "ring.rotate(2)",
        "ring.appendleft(ring.pop()); ring.rotate(1)",
        "ring = collections.deque([*ring, ring[0]], maxlen=3)",
    ],
)
def test_a_deque_is_a_ring(run: Run, turn: str) -> None:
    run(f"""
        import collections

        x = wp.array(np.ones(3), dtype=float, requires_grad=True)
        ring = collections.deque([x], maxlen=3)
        ring.extend([wp.zeros_like(x), wp.zeros(3, dtype=float)])  # expect: WP301
        loss = wp.zeros(1, dtype=float, requires_grad=True)
        with wp.Tape() as tape:
            for _ in range(2):
                wp.launch(square, dim=3, inputs=[ring[0]], outputs=[ring[1]])
                {turn}
            wp.launch(total, dim=3, inputs=[ring[0], loss])
        tape.backward(loss)
        print(x.grad.numpy())
    """)
