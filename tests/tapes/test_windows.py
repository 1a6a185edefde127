"""WP401: one objective cut into windows with a tape each."""

from __future__ import annotations

from collections.abc import Callable

from warplint.ir.facts import Fact
from warplint.ir.programs import Backward, Launch, ReadGradient, TapeBegin, TapeProgram

Run = Callable[..., list[Fact]]

SETUP = """
        STEPS, WINDOW, N = 6, 2, 3

        def setup():
            p = wp.array([0.5], dtype=float, requires_grad=True)
            states = [wp.zeros(N, dtype=float, requires_grad=True) for _ in range(WINDOW + 1)]
            loss = wp.zeros(1, dtype=float, requires_grad=True)
            return p, states, loss
"""


def test_states_carried_by_rebinding(run: Run) -> None:
    facts = run(
        SETUP
        + """
        def main(iterations=20):
            p, states, loss = setup()
            for iteration in range(iterations):
                states[0].fill_(1.0)
                for window in range(STEPS // WINDOW):
                    loss.zero_()
                    tape = wp.Tape()
                    with tape:
                        for t in range(WINDOW):
                            wp.launch(combine, dim=N, inputs=[states[t], p], outputs=[states[t + 1]])
                        wp.launch(total, dim=N, inputs=[states[-1]], outputs=[loss])
                    tape.backward(loss)  # expect: WP401
                    states[0] = states[-1]
                    states[-1] = wp.zeros(N, dtype=float, requires_grad=True)
                wp.launch(descend, dim=1, inputs=[p, p.grad])
                p.grad.zero_()

        if __name__ == "__main__":
            main()
    """
    )
    assert facts[0].attributes["parameter"] == "p"
    assert facts[0].attributes["windows"] == 3
    program = facts[0].program
    assert isinstance(program, TapeProgram)
    assert sum(isinstance(operation, TapeBegin) for operation in program.operations) == 3
    assert sum(isinstance(operation, Backward) for operation in program.operations) == 3
    assert isinstance(program.operations[-1], ReadGradient)
    assert program.inputs == (program.operations[-1].array.array,)


def test_states_carried_by_copy(run: Run) -> None:
    run(
        SETUP
        + """
        def main():
            p, states, loss = setup()
            for window in range(STEPS // WINDOW):
                loss.zero_()
                with wp.Tape() as tape:
                    for t in range(WINDOW):
                        wp.launch(combine, dim=N, inputs=[states[t], p], outputs=[states[t + 1]])
                    wp.launch(total, dim=N, inputs=[states[-1]], outputs=[loss])
                tape.backward(loss)  # expect: WP401
                wp.copy(states[0], states[-1])
            print(p.grad.numpy())

        main()
    """
    )


def test_trainer_with_helper_methods(run: Run) -> None:
    run("""
        class Trainer:
            def __init__(self, windows):
                self.windows = windows
                self.p = wp.array([0.5], dtype=float, requires_grad=True)
                self.now = wp.ones(3, dtype=float, requires_grad=True)
                self.then = wp.ones(3, dtype=float, requires_grad=True)
                self.loss = wp.zeros(1, dtype=float, requires_grad=True)
                self.optimizer = wp.optim.SGD([self.p], lr=0.1)
                self.tape = None

            def forward(self):
                wp.launch(combine, dim=3, inputs=[self.now, self.p], outputs=[self.then])
                wp.launch(total, dim=3, inputs=[self.then], outputs=[self.loss])

            def window(self):
                self.tape = wp.Tape()
                with self.tape:
                    self.forward()
                self.tape.backward(self.loss)  # expect: WP401
                self.now, self.then = self.then, self.now

            def epoch(self):
                self.now.fill_(1.0)
                for _ in range(self.windows):
                    self.window()
                self.optimizer.step([self.p.grad])
                self.tape.zero()

        def main(args):
            trainer = Trainer(args.windows)
            while not args.done:
                trainer.epoch()
    """)


def test_one_tape_an_iteration_with_fresh_state(run: Run) -> None:
    run(
        SETUP
        + """
        def main():
            p, states, loss = setup()
            for iteration in range(10):
                loss.zero_()
                states[0].fill_(1.0)
                tape = wp.Tape()
                with tape:
                    for t in range(WINDOW):
                        wp.launch(combine, dim=N, inputs=[states[t], p], outputs=[states[t + 1]])
                    wp.launch(total, dim=N, inputs=[states[-1]], outputs=[loss])
                tape.backward(loss)
            print(p.grad.numpy())

        main()
    """
    )


def test_state_reset_by_a_kernel_that_does_not_read_it(run: Run) -> None:
    run(
        SETUP
        + """
        def main():
            p, states, loss = setup()
            for iteration in range(10):
                loss.zero_()
                with wp.Tape() as tape:
                    wp.launch(combine, dim=N, inputs=[states[0], p], outputs=[states[1]])
                    wp.launch(combine, dim=N, inputs=[states[1], p], outputs=[states[0]])
                    wp.launch(total, dim=N, inputs=[states[0]], outputs=[loss])
                tape.backward(loss)
                wp.launch(fill, dim=N, outputs=[states[0]])
            print(p.grad.numpy())

        main()
    """
    )


WINDOW_BODY = """
            p, states, loss = setup()
            optimizer = wp.optim.SGD([p], lr=0.1)
            for window in range(STEPS // WINDOW):
                loss.zero_()
                with wp.Tape() as tape:
                    for t in range(WINDOW):
                        wp.launch(combine, dim=N, inputs=[states[t], p], outputs=[states[t + 1]])
                    wp.launch(total, dim=N, inputs=[states[-1]], outputs=[loss])
                tape.backward(loss)
                wp.copy(states[0], states[-1])
"""


def test_update_in_every_window(run: Run) -> None:
    run(
        SETUP
        + "        def main():\n"
        + WINDOW_BODY
        + """
                optimizer.step([p.grad])
                tape.zero()
            print(p.numpy())

        main()
    """
    )


def test_gradient_used_in_every_window(run: Run) -> None:
    run(
        SETUP
        + "        def main():\n"
        + WINDOW_BODY
        + """
                wp.launch(descend, dim=1, inputs=[p, p.grad])
                p.grad.zero_()
            print(p.grad.numpy())

        main()
    """
    )


def test_gradient_zeroed_by_the_tape_in_every_window(run: Run) -> None:
    run(
        SETUP
        + "        def main():\n"
        + WINDOW_BODY
        + """
                tape.zero()
            print(p.grad.numpy())

        main()
    """
    )


def test_gradient_that_nobody_uses(run: Run) -> None:
    run(
        SETUP
        + "        def main():\n"
        + WINDOW_BODY
        + """
            print(loss.numpy())

        main()
    """
    )


def test_checkpointing_that_seeds_the_carried_adjoint(run: Run) -> None:
    run(
        SETUP
        + """
        def main():
            p, states, loss = setup()
            saved = [wp.zeros(N, dtype=float) for _ in range(STEPS // WINDOW)]
            carried = wp.zeros(N, dtype=float)
            for window in range(STEPS // WINDOW):
                wp.copy(saved[window], states[0])
                for t in range(WINDOW):
                    wp.launch(combine, dim=N, inputs=[states[t], p], outputs=[states[t + 1]])
                wp.copy(states[0], states[-1])
            for window in reversed(range(STEPS // WINDOW)):
                wp.copy(states[0], saved[window])
                with wp.Tape() as tape:
                    for t in range(WINDOW):
                        wp.launch(combine, dim=N, inputs=[states[t], p], outputs=[states[t + 1]])
                    if window == STEPS // WINDOW - 1:
                        wp.launch(total, dim=N, inputs=[states[-1]], outputs=[loss])
                if window == STEPS // WINDOW - 1:
                    tape.backward(loss)
                else:
                    tape.backward(grads={states[-1]: carried})
                wp.copy(carried, states[0].grad)
                for state in states:
                    state.grad.zero_()
            print(p.grad.numpy())

        main()
    """
    )


def test_independent_samples(run: Run) -> None:
    # a batch: the same parameter, other data; summing the gradients is right
    run("""
        def main(batches):
            p = wp.array([0.5], dtype=float, requires_grad=True)
            loss = wp.zeros(1, dtype=float, requires_grad=True)
            for batch in batches:
                x = wp.array(batch, dtype=float)
                y = wp.zeros(len(batch), dtype=float, requires_grad=True)
                with wp.Tape() as tape:
                    wp.launch(combine, dim=len(batch), inputs=[x, p], outputs=[y])
                    wp.launch(total, dim=len(batch), inputs=[y], outputs=[loss])
                tape.backward(loss)
            print(p.grad.numpy())
    """)


def test_struct_state_and_a_host_round_trip(run: Run) -> None:
    run("""
        def make(n):
            state = State()
            state.q = wp.zeros(n, dtype=float, requires_grad=True)
            state.v = wp.ones(n, dtype=float, requires_grad=True)
            return state

        def window(state, out, p, loss):
            with wp.Tape() as tape:
                wp.launch(move, dim=3, inputs=[state, p, out])
                wp.launch(rate, dim=3, inputs=[out, loss])
            tape.backward(loss)  # expect: WP401

        def main():
            p = wp.array([0.5], dtype=float, requires_grad=True)
            state, out = make(3), make(3)
            for k in range(4):
                loss = wp.zeros(1, dtype=float, requires_grad=True)
                window(state, out, p, loss)
                state.q.assign(out.q.numpy())
            return p.grad.numpy()

        main()
    """)


def test_window_in_a_context_manager(run: Run) -> None:
    run("""
        from contextlib import contextmanager

        class Recorder:
            def __init__(self):
                self.loss = wp.zeros(1, dtype=float, requires_grad=True)

            @contextmanager
            def window(self):
                tape = wp.Tape()
                with tape:
                    yield self.loss
                tape.backward(self.loss)  # expect: WP401

        def batches(count):
            for k in range(count):
                yield k

        def main():
            p = wp.array([0.5], dtype=float, requires_grad=True)
            now, then = wp.ones(3, dtype=float, requires_grad=True), wp.ones(3, dtype=float, requires_grad=True)
            recorder = Recorder()
            for k in batches(5):
                with recorder.window() as loss:
                    wp.launch(combine, dim=3, inputs=[now, p], outputs=[then])
                    wp.launch(total, dim=3, inputs=[then], outputs=[loss])
                now, then = then, now
            return p.grad.numpy()

        main()
    """)


def test_gradient_added_to_a_host_sum_in_every_window(run: Run) -> None:
    run("""
        def train(windows):
            p = wp.array([1.0], dtype=float, requires_grad=True)
            x = wp.ones(4, dtype=float, requires_grad=True)
            slope = np.zeros(1)
            for w in range(windows):
                loss = wp.zeros(1, dtype=float, requires_grad=True)
                tape = wp.Tape()
                with tape:
                    y = wp.zeros_like(x)
                    wp.launch(combine, 4, inputs=[x, p, y])
                    wp.launch(total, 4, inputs=[y, loss])
                tape.backward(loss)  # expect: WP401
                slope += p.grad.numpy()
                tape.zero()
                x = y
            return slope
    """)


def test_gradient_summed_without_zeroing_is_another_defect(run: Run) -> None:
    run("""
        def train(windows):
            p = wp.array([1.0], dtype=float, requires_grad=True)
            x = wp.ones(4, dtype=float, requires_grad=True)
            slope = np.zeros(1)
            for w in range(windows):
                loss = wp.zeros(1, dtype=float, requires_grad=True)
                tape = wp.Tape()
                with tape:
                    y = wp.zeros_like(x)
                    wp.launch(combine, 4, inputs=[x, p, y])
                    wp.launch(total, 4, inputs=[y, loss])
                tape.backward(loss)
                slope += p.grad.numpy()
                x = y
            return slope
    """)


def test_state_carried_by_an_element_of_host_data(run: Run) -> None:
    run("""
        def train(windows):
            p = wp.array([1.0], dtype=float, requires_grad=True)
            x = wp.ones(4, dtype=float, requires_grad=True)
            loss = wp.zeros(1, dtype=float, requires_grad=True)
            for w in range(windows):
                tape = wp.Tape()
                with tape:
                    y = wp.zeros_like(x)
                    wp.launch(combine, 4, inputs=[x, p, y])
                    wp.launch(total, 4, inputs=[y, loss])
                tape.backward(loss)  # expect: WP401
                state = np.zeros(4)
                state[0] = y.numpy()[3]
                x.assign(state)
            return p.grad.numpy()
    """)


def test_windows_that_numpy_splits_a_range_into(run: Run) -> None:
    (fact,) = run("""
        @wp.kernel
        def push(x: wp.array(dtype=float), p: wp.array(dtype=float), k: int, y: wp.array(dtype=float)):
            i = wp.tid()
            y[i] = x[i] * p[k]

        p = wp.array([1.0, 1.5, 0.5, 2.0], dtype=float, requires_grad=True)
        state = x
        for window in np.array_split(np.arange(4), 2):
            cost = wp.zeros(1, dtype=float, requires_grad=True)
            with wp.Tape() as inner:
                for k in window:
                    later = wp.zeros_like(x)
                    wp.launch(push, dim=n, inputs=[state, p, int(k), later])
                    state = later
                wp.launch(total, dim=n, inputs=[state, cost])
            inner.backward(cost)  # expect: WP401
        print(p.grad.numpy())
    """)
    assert fact.attributes["windows"] == 2
    assert isinstance(fact.program, TapeProgram)
    launches = [operation for operation in fact.program.operations if isinstance(operation, Launch)]
    assert [launch.arguments[2] for launch in launches if launch.kernel.qualname == "push"] == [0, 1, 2, 3]
