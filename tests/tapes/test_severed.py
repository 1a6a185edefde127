"""WP301: arrays without gradients between a differentiated input and the loss."""

from __future__ import annotations

from collections.abc import Callable

from warplint.ir.facts import Fact
from warplint.ir.programs import Allocate, Backward, Launch, ReadGradient, StructValue, TapeBegin, TapeProgram

Run = Callable[..., list[Fact]]


def test_plain_array_between_input_and_loss(run: Run) -> None:
    facts = run("""
        def main():
            x = wp.array([1.0, 2.0], dtype=float, requires_grad=True)
            y = wp.zeros(2, dtype=float)  # expect: WP301
            loss = wp.zeros(1, dtype=float, requires_grad=True)
            with wp.Tape() as tape:
                wp.launch(square, dim=2, inputs=[x], outputs=[y])
                wp.launch(total, dim=2, inputs=[y], outputs=[loss])
            tape.backward(loss)
            print(x.grad.numpy())

        main()
    """)
    assert facts[0].attributes["array"] == "y"
    assert facts[0].attributes["input"] == "x"
    assert facts[0].attributes["writer"] == "square"
    assert facts[0].attributes["reader"] == "total"
    assert [label.text for label in facts[0].labels][0] == "`y` is allocated here without gradient"


def test_every_allocator_and_the_one_array_that_is_right(run: Run) -> None:
    run("""
        def main(n=4):
            x = wp.from_numpy(np.ones(n), dtype=float, requires_grad=True)
            a = wp.empty(n, dtype=float)  # expect: WP301
            b = wp.ones(shape=(n,), dtype=wp.float32)  # expect: WP301
            c = wp.full(n, 2.0)  # expect: WP301
            d = wp.from_numpy(np.zeros(n), dtype=float)  # expect: WP301
            e = wp.array(np.zeros(n), dtype=float)  # expect: WP301
            f = wp.zeros(n, float, None, True)
            g = wp.zeros_like(x)
            h = wp.clone(e)  # expect: WP301
            loss = wp.zeros(1, requires_grad=True)
            tape = wp.Tape()
            with tape:
                for source, target in [(x, a), (a, b), (b, c), (c, d), (d, e), (e, f), (f, g), (g, h)]:
                    wp.launch(square, dim=n, inputs=[source, target])
                wp.launch(total, dim=n, inputs=[h, loss])
            tape.backward(loss=loss)
            return x.grad
    """)


def test_arrays_that_carry_no_gradient_by_right(run: Run) -> None:
    run("""
        def main():
            x = wp.array([1.0, 2.0], dtype=float, requires_grad=True)
            y = wp.zeros(2, dtype=float, requires_grad=True)
            index = wp.zeros(2, dtype=int)
            target = wp.array([1.0, 1.0], dtype=float)
            ready = wp.zeros(2, dtype=float)
            log = wp.zeros(1, dtype=float)
            loss = wp.zeros(1, dtype=float, requires_grad=True)
            with wp.Tape() as tape:
                wp.launch(fill, dim=2, outputs=[ready])
                wp.launch(count, dim=2, inputs=[x], outputs=[index])
                wp.launch(gather, dim=2, inputs=[x, index], outputs=[y])
                wp.launch(total, dim=2, inputs=[y], outputs=[log])
                wp.launch(distance, dim=2, inputs=[y, target], outputs=[loss])
                wp.launch(distance, dim=2, inputs=[y, ready], outputs=[loss])
            tape.backward(loss)
            print(x.grad.numpy(), log.numpy())

        if __name__ == "__main__":
            main()
    """)


def test_flag_set_later_counts(run: Run) -> None:
    run("""
        x = wp.array([1.0, 2.0], dtype=float, requires_grad=True)
        y = wp.zeros(2, dtype=float)
        y.requires_grad = True
        loss = wp.zeros(1, dtype=float, requires_grad=True)
        with wp.Tape() as tape:
            wp.launch(square, dim=2, inputs=[x], outputs=[y])
            wp.launch(total, dim=2, inputs=[y], outputs=[loss])
        tape.backward(loss)
    """)


def test_no_tape_or_no_backward(run: Run) -> None:
    run("""
        def plain(x, y, loss):
            wp.launch(square, dim=2, inputs=[x], outputs=[y])
            wp.launch(total, dim=2, inputs=[y], outputs=[loss])

        x = wp.array([1.0, 2.0], dtype=float, requires_grad=True)
        y = wp.zeros(2, dtype=float)
        loss = wp.zeros(1, dtype=float, requires_grad=True)
        plain(x, y, loss)
        with wp.Tape() as tape:
            plain(x, y, loss)
    """)


def test_input_whose_gradient_nobody_wants(run: Run) -> None:
    # only p is differentiated; x has a gradient by accident and its chain is nobody's
    run("""
        x = wp.array([1.0, 2.0], dtype=float, requires_grad=True)
        p = wp.array([1.0], dtype=float, requires_grad=True)
        target = wp.zeros(2, dtype=float)
        y = wp.zeros(2, dtype=float, requires_grad=True)
        loss = wp.zeros(1, dtype=float, requires_grad=True)
        with wp.Tape() as tape:
            wp.launch(square, dim=2, inputs=[x], outputs=[target])
            wp.launch(combine, dim=2, inputs=[x, p], outputs=[y])
            wp.launch(distance, dim=2, inputs=[y, target], outputs=[loss])
        tape.backward(loss)
        print(p.grad.numpy())
    """)


def test_helper_with_and_without_the_flag(run: Run) -> None:
    facts = run("""
        def buffer(n, grad=False):
            return wp.zeros(n, dtype=float, requires_grad=grad)

        def main():
            n = 3
            x = buffer(n, grad=True)
            y = buffer(n)  # expect: WP301
            loss = buffer(1, True)
            with wp.Tape() as tape:
                wp.launch(square, dim=n, inputs=[x], outputs=[y])
                wp.launch(total, dim=n, inputs=[y], outputs=[loss])
            tape.backward(loss)
            print(tape.gradients[x].numpy())

        main()
    """)
    decided, allocated = facts[0].labels[:2]
    lines = decided.location.path.read_text().split("\n")
    assert "buffer(n)" in lines[decided.location.span.line - 1]
    assert "wp.zeros" in lines[allocated.location.span.line - 1]


def test_flag_that_goes_through_several_helpers(run: Run) -> None:
    run("""
        class Pool:
            def make(self, n, train=False):
                return self.allocate(n, grad=train)

            def allocate(self, n, grad):
                return wp.zeros(n, dtype=float, requires_grad=grad)

        def main():
            pool = Pool()
            x, loss = pool.make(3, True), pool.make(1, train=True)
            y = pool.make(3)  # expect: WP301
            with wp.Tape() as tape:
                wp.launch(square, dim=3, inputs=[x], outputs=[y])
                wp.launch(total, dim=3, inputs=[y], outputs=[loss])
            tape.backward(loss)
            print(tape.gradients[x].numpy())

        main()
    """)


def test_helper_that_is_always_given_the_flag(run: Run) -> None:
    run("""
        def buffer(n, grad=False):
            return wp.zeros(n, dtype=float, requires_grad=grad)

        def main():
            x, y, loss = buffer(3, grad=True), buffer(3, grad=True), buffer(1, True)
            with wp.Tape() as tape:
                wp.launch(square, dim=3, inputs=[x], outputs=[y])
                wp.launch(total, dim=3, inputs=[y], outputs=[loss])
            tape.backward(loss)
            print(x.grad.numpy())

        main()
    """)


def test_struct_member(run: Run) -> None:
    facts = run("""
        def make(n, **flags):
            state = State()
            state.q = wp.zeros(n, dtype=float, **flags)
            state.v = wp.zeros(n, dtype=float, requires_grad=True)
            return state

        def main(n=3):
            p = wp.array([0.5], dtype=float, requires_grad=True)
            first = make(n, requires_grad=True)
            middle = State()
            middle.v = wp.zeros(n, dtype=float, requires_grad=True)
            middle.q = wp.zeros(n, dtype=float)  # expect: WP301
            last = make(n, requires_grad=True)
            loss = wp.zeros(1, dtype=float, requires_grad=True)
            with wp.Tape() as tape:
                wp.launch(move, dim=n, inputs=[first, p, middle])
                wp.launch(move, dim=n, inputs=[middle, p, last])
                wp.launch(rate, dim=n, inputs=[last, loss])
            tape.backward(loss)
            print(p.grad.numpy())

        main()
    """)
    program = facts[0].program
    assert isinstance(program, TapeProgram)
    launches = [operation for operation in program.operations if isinstance(operation, Launch)]
    assert [launch.kernel.qualname for launch in launches] == ["move", "move", "rate"]
    between = launches[0].arguments[2]
    assert isinstance(between, StructValue) and between == launches[1].arguments[0]


def test_class_with_states_in_a_list(run: Run) -> None:
    run("""
        class Body:
            def __init__(self, n, grad):
                self.q = wp.zeros(n, dtype=float, requires_grad=grad)
                self.scratch = wp.zeros(n, dtype=float)  # expect: WP301

        class Simulation:
            def __init__(self, steps=4):
                self.steps = steps
                self.p = wp.array([0.5], dtype=float, requires_grad=True)
                self.states = [Body(3, True) for _ in range(steps + 1)]
                self.loss = wp.zeros(1, dtype=float, requires_grad=True)

            def step(self, now, then):
                wp.launch(combine, dim=3, inputs=[now.q, self.p], outputs=[now.scratch])
                wp.launch(square, dim=3, inputs=[now.scratch], outputs=[then.q])

            def forward(self):
                for i in range(self.steps):
                    self.step(self.states[i], self.states[i + 1])
                wp.launch(total, dim=3, inputs=[self.states[-1].q], outputs=[self.loss])

            def train(self):
                self.tape = wp.Tape()
                with self.tape:
                    self.forward()
                self.tape.backward(self.loss)
                wp.launch(descend, dim=1, inputs=[self.p, self.p.grad])
                self.tape.zero()

        if __name__ == "__main__":
            sim = Simulation()
            for _ in range(100):
                sim.train()
    """)


def test_closure_partial_lambda_and_dataclass(run: Run) -> None:
    run("""
        def maker(**options):
            def make(n):
                return wp.zeros(n, dtype=float, **options)
            return make

        @dataclass
        class Buffers:
            good: wp.array = field(default_factory=lambda: wp.zeros(3, dtype=float, requires_grad=True))
            bad: wp.array = field(default_factory=lambda: wp.zeros(3, dtype=float))  # expect: WP301
            size: int = 3

        def main():
            with_gradient = maker(requires_grad=True)
            x = with_gradient(3)
            partial = functools.partial(wp.zeros, dtype=float, requires_grad=True)
            y, loss = partial(3), partial(1)
            buffers = Buffers()
            run_square = lambda a, b: wp.launch(square, dim=buffers.size, inputs=[a], outputs=[b])
            with wp.ScopedTimer("forward"), wp.Tape() as tape:
                run_square(x, buffers.good)
                run_square(buffers.good, buffers.bad)
                run_square(buffers.bad, y)
                wp.launch(total, 3, [y], [loss])
            tape.backward(loss)
            print(x.grad.numpy())

        main()
    """)


def test_views_share_their_array(run: Run) -> None:
    run("""
        def main():
            x = wp.array(np.ones((2, 3)), dtype=float, requires_grad=True)
            y = wp.zeros((2, 3), dtype=float)  # expect: WP301
            good = wp.zeros(6, dtype=float, requires_grad=True)
            loss = wp.zeros(1, dtype=float, requires_grad=True)
            rows = [y[k] for k in range(2)]
            with wp.Tape() as tape:
                for k in range(2):
                    wp.launch(square, dim=3, inputs=[x[k]], outputs=[rows[k]])
                wp.launch(square, dim=6, inputs=[y.flatten()], outputs=[good.reshape((6,))])
                wp.launch(total, dim=6, inputs=[good], outputs=[loss])
            tape.backward(loss)
            print(x.grad.numpy())

        main()
    """)


def test_copy_and_assign_on_the_tape(run: Run) -> None:
    run("""
        def main():
            x = wp.array([1.0, 2.0], dtype=float, requires_grad=True)
            y = wp.empty(2, dtype=float)  # expect: WP301
            z = wp.empty(2, dtype=float, requires_grad=True)
            loss = wp.zeros(1, dtype=float, requires_grad=True)
            with wp.Tape() as tape:
                wp.copy(y, x)
                z.assign(y)
                wp.launch(total, dim=2, inputs=[z], outputs=[loss])
            tape.backward(loss)
            print(x.grad.numpy())

        main()
    """)


def test_rebinding_makes_fresh_arrays(run: Run) -> None:
    run("""
        def advance(x):
            y = wp.zeros_like(x)
            wp.launch(square, dim=2, inputs=[x], outputs=[y])
            return y

        def main():
            x = wp.array([1.0, 2.0], dtype=float, requires_grad=True)
            loss = wp.zeros(1, dtype=float, requires_grad=True)
            state = x
            with wp.Tape() as tape:
                for _ in range(5):
                    state = advance(state)
                wp.launch(total, dim=2, inputs=[state], outputs=[loss])
            tape.backward(loss)
            print(x.grad.numpy())

        main()
    """)


def test_fresh_arrays_without_the_flag(run: Run) -> None:
    run("""
        def advance(x):
            y = wp.zeros(shape=x.shape, dtype=x.dtype, device=x.device)  # expect: WP301
            wp.launch(square, dim=2, inputs=[x], outputs=[y])
            return y, x

        def main():
            x = wp.array([1.0, 2.0], dtype=float, requires_grad=True)
            loss = wp.zeros(1, dtype=float, requires_grad=True)
            state = x
            with wp.Tape() as tape:
                for _ in range(5):
                    state, _ = advance(state)
                wp.launch(total, dim=2, inputs=[state], outputs=[loss])
            tape.backward(loss)
            print(x.grad.numpy())

        main()
    """)


def test_other_module(run: Run) -> None:
    run(
        """
        import buffers

        x = wp.array([1.0, 2.0], dtype=float, requires_grad=True)
        pool = buffers.Pool(2)
        loss = wp.zeros(1, dtype=float, requires_grad=True)
        with wp.Tape() as tape:
            wp.launch(square, dim=2, inputs=[x], outputs=[pool.work])
            wp.launch(total, dim=2, inputs=[pool.work], outputs=[loss])
        tape.backward(loss)
        """,
        buffers="""
        class Pool:
            def __init__(self, n):
                self.work = allocate(n)

        def allocate(n):
            return wp.zeros(n, dtype=float)  # expect: WP301
        """,
    )


def test_unknown_stays_silent(run: Run) -> None:
    run("""
        import somewhere

        def parameters(x, y, loss):
            # nobody calls this: what the arrays are is not known
            with wp.Tape() as tape:
                wp.launch(square, dim=2, inputs=[x], outputs=[y])
                wp.launch(total, dim=2, inputs=[y], outputs=[loss])
            tape.backward(loss)
            print(x.grad.numpy())

        def flag(want_gradients):
            x = wp.zeros(2, dtype=float, requires_grad=True)
            y = wp.zeros(2, dtype=float, requires_grad=want_gradients)
            loss = wp.zeros(1, dtype=float, requires_grad=True)
            parameters(x, y, loss)

        def options(**kwargs):
            x = wp.zeros(2, dtype=float, requires_grad=True)
            y = wp.zeros(2, dtype=float, **kwargs)
            loss = wp.zeros(1, dtype=float, requires_grad=True)
            parameters(x, y, loss)

        def escaped():
            x = wp.zeros(2, dtype=float, requires_grad=True)
            y = wp.zeros(2, dtype=float)
            somewhere.prepare(y)
            loss = wp.zeros(1, dtype=float, requires_grad=True)
            parameters(x, y, loss)

        def made_elsewhere():
            x = wp.zeros(2, dtype=float, requires_grad=True)
            y = somewhere.make(2)
            loss = wp.zeros(1, dtype=float, requires_grad=True)
            parameters(x, y, loss)
    """)


def test_custom_adjoint_is_trusted(run: Run) -> None:
    run("""
        x = wp.array([1.0, 2.0], dtype=float, requires_grad=True)
        y = wp.zeros(2, dtype=float)
        loss = wp.zeros(1, dtype=float, requires_grad=True)
        with wp.Tape() as tape:
            wp.launch(square, dim=2, inputs=[x], outputs=[y])
            wp.launch(total, dim=2, inputs=[y], outputs=[loss])
            tape.record_func(lambda: None, arrays=[x, loss])
        tape.backward(loss)
    """)


def test_both_sides_of_an_unknown_branch(run: Run) -> None:
    run("""
        def main(args):
            x = wp.array([1.0, 2.0], dtype=float, requires_grad=True)
            if args.fast:
                y = wp.zeros(2, dtype=float, requires_grad=True)
            else:
                y = wp.zeros(2, dtype=float)  # expect: WP301
            loss = wp.zeros(1, dtype=float, requires_grad=True)
            with wp.Tape() as tape:
                wp.launch(square, dim=2, inputs=[x], outputs=[y])
                wp.launch(total, dim=2, inputs=[y], outputs=[loss])
            tape.backward(loss)
            print(x.grad.numpy())
    """)


def test_one_condition_has_one_answer(run: Run) -> None:
    # where gradients are off nothing runs backward, though each `if` alone could go either way
    run("""
        def main(train):
            x = wp.zeros(2, dtype=float, requires_grad=True)
            loss = wp.zeros(1, dtype=float, requires_grad=True)
            if train:
                y = wp.zeros(2, dtype=float, requires_grad=True)
            else:
                y = wp.zeros(2, dtype=float)
            with wp.Tape() as tape:
                wp.launch(square, dim=2, inputs=[x], outputs=[y])
                wp.launch(total, dim=2, inputs=[y], outputs=[loss])
            if not train:
                return loss.numpy()
            tape.backward(loss)
            return x.grad.numpy()
    """)


def test_program_of_a_finding(run: Run) -> None:
    facts = run("""
        def main():
            x = wp.array([1.0, 2.0], dtype=float, requires_grad=True)
            noise = wp.zeros(7, dtype=float)
            y = wp.zeros(2, dtype=wp.float32)  # expect: WP301
            loss = wp.zeros(1, dtype=float, requires_grad=True)
            wp.launch(fill, dim=7, outputs=[noise])
            tape = wp.Tape()
            with tape:
                wp.launch(square, dim=2, inputs=[x], outputs=[y])
                wp.launch(total, dim=2, inputs=[y], outputs=[loss])
                wp.launch(square, dim=7, inputs=[noise, noise])
            tape.backward(loss)
            print(x.grad.numpy())

        main()
    """)
    program = facts[0].program
    assert isinstance(program, TapeProgram)
    allocated = {operation.name: operation for operation in program.operations if isinstance(operation, Allocate)}
    assert set(allocated) == {"x", "y", "loss"}
    assert allocated["x"].values == (1.0, 2.0)
    assert allocated["x"].requires_grad is True
    assert (allocated["y"].dtype, allocated["y"].shape, allocated["y"].requires_grad) == ("float32", (2,), False)
    assert program.flagged == (allocated["y"].array,)
    assert program.inputs == (allocated["x"].array,)
    kinds = [type(operation) for operation in program.operations if not isinstance(operation, Allocate)]
    assert kinds[0] is TapeBegin
    assert kinds[1:3] == [Launch, Launch]
    assert kinds[-2:] == [Backward, ReadGradient]


def test_flag_that_is_written_out_as_false(run: Run) -> None:
    facts = run("""
        x = wp.array([1.0, 2.0], dtype=float, requires_grad=True)
        ys = []
        ys.append(wp.zeros(2, dtype=float, requires_grad=False))  # expect: WP301
        loss = wp.zeros(1, dtype=float, requires_grad=True)
        with wp.Tape() as tape:
            wp.launch(square, dim=2, inputs=[x], outputs=[ys[0]])
            wp.launch(total, dim=2, inputs=[ys[0]], outputs=[loss])
        tape.backward(loss)
    """)
    assert facts[0].attributes["explicit"] is True
    assert facts[0].attributes["array"] == "ys[...]"


def test_attribute_whose_name_is_not_known(run: Run) -> None:
    # `y` may be the attribute that is set; `z` surely has a gradient before and is taken to have one after
    run("""
        class Bag:
            pass

        def main(names, shapes):
            bag = Bag()
            bag.y = wp.zeros(2, dtype=float)
            bag.z = wp.zeros(2, dtype=float, requires_grad=True)
            for name in names:
                setattr(bag, name, wp.zeros(shapes[name], dtype=float, requires_grad=True))
            x = wp.array([1.0, 2.0], dtype=float, requires_grad=True)
            lost = wp.zeros(2, dtype=float)  # expect: WP301
            loss = wp.zeros(1, dtype=float, requires_grad=True)
            with wp.Tape() as tape:
                wp.launch(square, dim=2, inputs=[x], outputs=[bag.y])
                wp.launch(square, dim=2, inputs=[bag.y], outputs=[bag.z])
                wp.launch(square, dim=2, inputs=[x], outputs=[lost])
                wp.launch(total, dim=2, inputs=[bag.z], outputs=[loss])
                wp.launch(total, dim=2, inputs=[lost], outputs=[loss])
            tape.backward(loss)
            print(x.grad.numpy())
    """)


def test_array_like_one_without_gradient(run: Run) -> None:
    run("""
        def main():
            x = wp.array([1.0, 2.0], dtype=float, requires_grad=True)
            template = wp.zeros(2, dtype=float)
            y = wp.zeros_like(template)  # expect: WP301
            z = wp.zeros_like(x)
            loss = wp.zeros(1, dtype=float, requires_grad=True)
            with wp.Tape() as tape:
                wp.launch(square, dim=2, inputs=[x, y])
                wp.launch(square, dim=2, inputs=[y, z])
                wp.launch(total, dim=2, inputs=[z, loss])
            tape.backward(loss)
            print(x.grad.numpy())

        main()
    """)


def test_fields_of_named_tuples(run: Run) -> None:
    run("""
        from collections import namedtuple
        from typing import NamedTuple

        Pair = namedtuple("Pair", "mid out")
        Other = namedtuple("Other", ["mid", "out"])
        Last = NamedTuple("Last", [("mid", wp.array), ("out", wp.array)])

        def scalar():
            return wp.zeros(1, dtype=float, requires_grad=True)

        def drive(x, mid, out):
            with wp.Tape() as tape:
                wp.launch(square, dim=2, inputs=[x, mid])
                wp.launch(total, dim=2, inputs=[mid, out])
            tape.backward(out)
            print(x.grad.numpy())

        x = wp.array([1.0, 2.0], dtype=float, requires_grad=True)
        a = Pair(wp.zeros(2, dtype=float), scalar())  # expect: WP301
        drive(x, a.mid, a.out)
        b = Other(out=scalar(), mid=wp.zeros(2, dtype=float))  # expect: WP301
        drive(x, *b)
        c = Last(wp.zeros(2, dtype=float), out=scalar())  # expect: WP301
        drive(x, c[0], c[1])
        mid, out = Pair(wp.zeros(2, dtype=float), scalar())  # expect: WP301
        drive(x, mid, out)
        mid, out = Pair(wp.zeros_like(x), scalar())
        drive(x, mid, out)
    """)
