"""One defect in many disguises: each program hides the array behind another feature of Python."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from warplint.ir.facts import Fact

Run = Callable[..., list[Fact]]

#: What every program ends with: `x` to `y` to the loss, where `y` is the array in question.
FORWARD = """
def forward(x, y, loss):
    wp.launch(square, dim=2, inputs=[x], outputs=[y])
    wp.launch(total, dim=2, inputs=[y], outputs=[loss])

def check(y):
    x = wp.array([1.0, 2.0], dtype=float, requires_grad=True)
    loss = wp.zeros(1, dtype=float, requires_grad=True)
    tape = wp.Tape()
    with tape:
        forward(x, y, loss)
    tape.backward(loss)
    return x.grad.numpy()

"""

DISGUISES = {
    "dict": """
        buffers = {"good": wp.zeros(2, dtype=float, requires_grad=True)}
        buffers["bad"] = wp.zeros(2, dtype=float)  # expect: WP301
        check(buffers["good"])
        check(buffers["bad"])
        check(buffers.get("good"))
    """,
    "dict comprehension": """
        flags = {"good": True, "bad": False}
        buffers = {name: wp.zeros(2, dtype=float, requires_grad=flag) for name, flag in flags.items()}  # expect: WP301
        check(buffers["good"])
        check(buffers["bad"])
    """,
    "dict comprehension, right one": """
        flags = {"good": True, "bad": False}
        buffers = {name: wp.zeros(2, dtype=float, requires_grad=flag) for name, flag in flags.items()}
        check(buffers["good"])
    """,
    "keyword arguments": """
        class Allocator:
            def __init__(self, **defaults):
                self.defaults = defaults

            def __call__(self, n, **options):
                return wp.zeros(n, **{**self.defaults, **options})  # expect: WP301

        allocator = Allocator(dtype=float, device="cpu")
        check(allocator(2, requires_grad=True))
        check(allocator(2))
    """,
    "keyword arguments, right ones": """
        class Allocator:
            def __init__(self, **defaults):
                self.defaults = defaults

            def __call__(self, n, **options):
                return wp.zeros(n, **{**self.defaults, **options})

        check(Allocator(dtype=float, requires_grad=True)(2))
        check(Allocator(dtype=float)(2, requires_grad=True))
    """,
    "inheritance and super": """
        class Base:
            grad = True

            def __init__(self, n):
                self.n = n
                self.y = self.allocate()

            def allocate(self):
                return wp.zeros(self.n, dtype=float, requires_grad=self.grad)

        class Forgetful(Base):
            def __init__(self, n):
                super().__init__(n)
                self.z = self.y
                self.y = self.scratch

            @property
            def scratch(self):
                return wp.empty_like(wp.zeros(self.n))  # expect: WP301

        check(Base(2).y)
        check(Forgetful(2).z)
        check(Forgetful(2).y)
    """,
    "class attribute and class method": """
        class Options:
            requires_grad = False

        class Field:
            def __init__(self, y):
                self.y = y

            @classmethod
            def make(cls, n, options=Options):
                return cls(wp.zeros(n, dtype=float, requires_grad=options.requires_grad))  # expect: WP301

            @staticmethod
            def good(n):
                return Field(wp.zeros(n, dtype=float, requires_grad=not Options.requires_grad))

        check(Field.good(2).y)
        check(Field.make(2).y)
    """,
    "named tuple and unpacking": """
        from typing import NamedTuple

        class Pair(NamedTuple):
            first: wp.array
            second: wp.array

        def pair():
            return Pair(wp.zeros(2, requires_grad=True), wp.zeros(2))  # expect: WP301

        made = pair()
        check(made.first)
        check(made.second)
        a, *rest = [wp.zeros(2, requires_grad=True) for _ in range(3)]
        check(a), check(rest[-1])
    """,
    "attributes by name": """
        class Bag:
            pass

        bag = Bag()
        for name, grad in (("a", True), ("b", False)):
            setattr(bag, name, wp.zeros(2, dtype=float, requires_grad=grad))  # expect: WP301
        check(getattr(bag, "a"))
        check(getattr(bag, "b"))
    """,
    "swap": """
        good, bad = wp.zeros(2, requires_grad=True), wp.zeros(2)  # expect: WP301
        good, bad = bad, good
        check(bad)
        check(good)
    """,
    "swap of attributes, right one": """
        class Pair:
            def __init__(self):
                self.a = wp.zeros(2)
                self.b = wp.zeros(2, requires_grad=True)

        pair = Pair()
        pair.a, pair.b = pair.b, pair.a
        check(pair.a)
    """,
    "like an array without gradients": """
        target = wp.array(np.zeros(2), dtype=float)
        check(wp.zeros_like(target, requires_grad=True))
        check(wp.zeros_like(target))  # expect: WP301
    """,
    "array of an array": """
        source = wp.zeros(2, dtype=float, requires_grad=True)
        check(wp.clone(source))
        check(wp.array(source, dtype=float))  # expect: WP301
    """,
    "module-level switch": """
        GRADIENTS = False

        def buffer():
            return wp.zeros(2, dtype=float, requires_grad=GRADIENTS)  # expect: WP301

        check(buffer())
    """,
    "global that a function changes": """
        gradients = False

        def switch():
            global gradients
            gradients = True

        def buffer():
            return wp.zeros(2, dtype=float, requires_grad=gradients)

        switch()
        check(buffer())
    """,
    "lazy attribute": """
        class Lazy:
            def __init__(self):
                self._y = None

            @property
            def y(self):
                if self._y is None:
                    self._y = wp.zeros(2, dtype=float)  # expect: WP301
                return self._y

        check(Lazy().y)
    """,
    "cache in a dict": """
        cache = {}

        def scratch(n):
            if n not in cache:
                cache[n] = wp.zeros(n, dtype=float)  # expect: WP301
            return cache[n]

        check(scratch(2))
    """,
    "loop over two lists": """
        kinds = [wp.zeros, wp.ones]
        made = []
        for make, grad in zip(kinds, [True, True]):
            made.append(make(2, dtype=float, requires_grad=grad))
        for number, y in enumerate(made):
            check(y)
        made.extend(make(2) for make in kinds)  # expect: WP301
        check(made[2])
    """,
    "nested functions": """
        def outer(grad):
            n = 2
            def inner():
                def innermost():
                    return wp.zeros(n, dtype=float, requires_grad=grad)  # expect: WP301
                return innermost()
            return inner

        check(outer(True)())
        check(outer(False)())
    """,
    "nonlocal": """
        def outer():
            y = None
            def make():
                nonlocal y
                y = wp.zeros(2, dtype=float)  # expect: WP301
            make()
            return y

        check(outer())
    """,
    "conditional expression": """
        def pick(grad):
            return wp.zeros(2, requires_grad=True) if grad else wp.zeros(2)  # expect: WP301

        check(pick(True)), check(pick(False))
    """,
    "default by or": """
        def ensure(y=None):
            y = y or wp.zeros(2, dtype=float)  # expect: WP301
            return y

        check(ensure(wp.zeros(2, dtype=float, requires_grad=True)))
        check(ensure())
    """,
    "try": """
        def make():
            try:
                return wp.zeros(2, dtype=float)  # expect: WP301
            except RuntimeError:
                return None
            finally:
                print("made")

        check(make())
    """,
    "raise in the way": """
        def make(n):
            if n < 0:
                raise ValueError(n)
            elif n > 5:
                return wp.zeros(n, requires_grad=True)
            return wp.zeros(n)  # expect: WP301

        check(make(7)), check(make(2))
    """,
    "partial launch": """
        from functools import partial

        def other(y):
            x = wp.array([1.0, 2.0], dtype=float, requires_grad=True)
            loss = wp.zeros(1, dtype=float, requires_grad=True)
            launch = partial(wp.launch, dim=2, device="cpu")
            with wp.Tape() as tape:
                launch(square, inputs=[x], outputs=[y])
                launch(kernel=total, inputs=[y, loss])
            tape.backward(loss)
            print(x.grad)

        other(wp.zeros(2))  # expect: WP301
    """,
    "kernels in a table": """
        KERNELS = {"square": square, "total": total}

        def other(y):
            x = wp.array([1.0, 2.0], dtype=float, requires_grad=True)
            loss = wp.zeros(1, dtype=float, requires_grad=True)
            with wp.Tape() as tape:
                for name, inputs in [("square", [x, y]), ("total", [y, loss])]:
                    wp.launch(KERNELS[name], dim=2, inputs=inputs)
            tape.backward(loss)

        other(wp.zeros(2))  # expect: WP301
    """,
    "kernel made by a function": """
        def make_kernel(scale):
            @wp.kernel
            def scaled(x: wp.array(dtype=float), y: wp.array(dtype=float)):
                i = wp.tid()
                y[i] = scale * x[i]
            return scaled

        def other(y):
            x = wp.array([1.0, 2.0], dtype=float, requires_grad=True)
            loss = wp.zeros(1, dtype=float, requires_grad=True)
            kernel = make_kernel(3.0)
            with wp.Tape() as tape:
                wp.launch(kernel, dim=2, inputs=[x, y])
                wp.launch(total, dim=2, inputs=[y, loss])
            tape.backward(loss)

        other(wp.zeros(2))  # expect: WP301
    """,
    "other names for warp": """
        import warp
        from warp import Tape, launch, zeros as make

        def other(y):
            x = warp.array([1.0, 2.0], dtype=warp.float32, requires_grad=True)
            loss = make(1, dtype=float, requires_grad=True)
            with Tape() as tape:
                launch(square, dim=2, inputs=[x, y])
                launch(total, dim=2, inputs=[y, loss])
            tape.backward(loss)

        other(make(2))  # expect: WP301
    """,
    "tape kept on an object, backward elsewhere": """
        class Solver:
            def __init__(self, y):
                self.x = wp.array([1.0, 2.0], dtype=float, requires_grad=True)
                self.y = y
                self.loss = wp.zeros(1, dtype=float, requires_grad=True)

            def record(self):
                self.tape = wp.Tape()
                self.tape.__enter__()
                forward(self.x, self.y, self.loss)
                self.tape.__exit__(None, None, None)

            def gradient(self):
                self.tape.backward(self.loss)
                return self.tape.gradients[self.x]

        solver = Solver(wp.zeros(2))  # expect: WP301
        solver.record()
        solver.gradient()
    """,
    "optimizer": """
        class Fit:
            def __init__(self):
                self.x = wp.array([1.0, 2.0], dtype=float, requires_grad=True)
                self.y = wp.zeros(2, dtype=float)  # expect: WP301
                self.loss = wp.zeros(1, dtype=float, requires_grad=True)
                self.optimizer = wp.optim.Adam([self.x], lr=0.1)

            def fit(self, steps=1000):
                for step in range(steps):
                    self.loss.zero_()
                    with wp.Tape() as tape:
                        forward(self.x, self.y, self.loss)
                    tape.backward(self.loss)
                    self.optimizer.step([self.x.grad])
                    tape.zero()

        Fit().fit()
    """,
    "torch tensors": """
        import torch

        def step(x_torch):
            x = wp.from_torch(x_torch, requires_grad=True)
            y = wp.zeros(2, dtype=float)  # expect: WP301
            z = wp.zeros(2, dtype=float, requires_grad=True)
            with wp.Tape() as tape:
                wp.launch(square, dim=2, inputs=[x], outputs=[y])
                wp.launch(square, dim=2, inputs=[y], outputs=[z])
            z.grad = wp.ones(2, dtype=float)
            tape.backward()
            return wp.to_torch(x.grad)

        step(torch.ones(2))
    """,
}


@pytest.mark.parametrize("name", DISGUISES)
def test_disguise(run: Run, name: str) -> None:
    import textwrap

    run(FORWARD + textwrap.dedent(DISGUISES[name]))


def test_methods_are_looked_up_in_the_order_of_python(run: Callable[..., list[Fact]]) -> None:
    run("""
        class Base:
            def make(self):
                return wp.zeros(3, dtype=float, requires_grad=True)

        class Logged(Base):
            def make(self):
                return super().make()

        class Plain(Base):
            def make(self):
                return wp.zeros(3, dtype=float)  # expect: WP301

        class Both(Logged, Plain):
            pass

        def main():
            x = wp.ones(3, dtype=float, requires_grad=True)
            y = Both().make()
            loss = wp.zeros(1, dtype=float, requires_grad=True)
            with wp.Tape() as tape:
                wp.launch(square, dim=3, inputs=[x], outputs=[y])
                wp.launch(total, dim=3, inputs=[y], outputs=[loss])
            tape.backward(loss)
            return x.grad

        main()
    """)


@pytest.mark.parametrize(
    ("kind", "made"),
    [
        ("dict", 'self["y"] = wp.zeros(3, dtype=float)'),
        ("collections.UserDict", 'super().__setitem__("y", wp.zeros(3, dtype=float))'),
        ("collections.OrderedDict", "self.update(y=wp.zeros(3, dtype=float))"),
        ("dict", 'self.update([("y", wp.zeros(3, dtype=float))])'),
    ],
)
def test_classes_that_derive_from_containers(run: Callable[..., list[Fact]], kind: str, made: str) -> None:
    run(f"""
        import collections

        class Fields({kind}):
            def __init__(self):
                super().__init__()
                {made}  # expect: WP301

            def __missing__(self, name):
                self[name] = wp.zeros(1, dtype=float, requires_grad=True)
                return self[name]

        def main():
            x = wp.ones(3, dtype=float, requires_grad=True)
            fields = Fields()
            assert "y" in fields and len(fields) == 1
            with wp.Tape() as tape:
                wp.launch(square, dim=3, inputs=[x], outputs=[fields["y"]])
                wp.launch(total, dim=3, inputs=[fields["y"]], outputs=[fields["loss"]])
            tape.backward(fields["loss"])
            return x.grad

        main()
    """)


def test_classes_that_a_base_is_told_of(run: Callable[..., list[Fact]]) -> None:
    run("""
        class Layer:
            known = {}

            def __init_subclass__(cls, label=None):
                Layer.known[label] = cls

        class Square(Layer, label="square"):
            def forward(self, x):
                y = wp.zeros(3, dtype=float)  # expect: WP301
                wp.launch(square, dim=3, inputs=[x], outputs=[y])
                return y

        def main():
            x = wp.ones(3, dtype=float, requires_grad=True)
            loss = wp.zeros(1, dtype=float, requires_grad=True)
            with wp.Tape() as tape:
                y = Layer.known["square"]().forward(x)
                wp.launch(total, dim=3, inputs=[y], outputs=[loss])
            tape.backward(loss)
            return x.grad

        main()
    """)


def test_what_a_namespace_holds(run: Callable[..., list[Fact]]) -> None:
    run("""
        from types import SimpleNamespace

        def main():
            x = wp.ones(3, dtype=float, requires_grad=True)
            made = SimpleNamespace(y=wp.zeros(3, dtype=float))  # expect: WP301
            loss = wp.zeros(1, dtype=float, requires_grad=True)
            with wp.Tape() as tape:
                for array in vars(made).values():
                    wp.launch(square, dim=3, inputs=[x], outputs=[array])
                wp.launch(total, dim=3, inputs=[made.y], outputs=[loss])
            tape.backward(loss)
            return x.grad

        main()
    """)
