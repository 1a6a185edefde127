"""What a probe is told of the arrays and tapes of a finding."""

from __future__ import annotations

from collections.abc import Callable

from warplint.ir.facts import Fact
from warplint.ir.programs import Allocate, Fill, Launch, TapeBegin, TapeProgram, Unknown

Run = Callable[..., list[Fact]]


def _allocations(fact: Fact) -> dict[str, Allocate]:
    assert isinstance(fact.program, TapeProgram)
    return {operation.name: operation for operation in fact.program.operations if isinstance(operation, Allocate)}


def test_shapes_and_contents_of_host_data(run: Run) -> None:
    facts = run("""
        @wp.kernel
        def lengths(p: wp.array(dtype=wp.vec3), y: wp.array(dtype=float)):
            y[wp.tid()] = wp.length(p[wp.tid()])

        @wp.kernel
        def weigh(y: wp.array(dtype=float), w: wp.array(dtype=float), k: float, n: int, loss: wp.array(dtype=float)):
            wp.atomic_add(loss, 0, k * y[wp.tid()] * w[wp.tid()])

        def main(count):
            rng = np.random.default_rng(0)
            p = wp.array(rng.normal(size=(5, 3)).astype(np.float32), dtype=wp.vec3, requires_grad=True)
            w = wp.array(np.linspace(0.0, 1.0, 5), dtype=float)
            y = wp.zeros(len(p), dtype=float)  # expect: WP301
            y.assign(np.ones(5))
            loss = wp.zeros(1, dtype=float, requires_grad=True)
            with wp.Tape() as tape:
                wp.launch(lengths, dim=len(p), inputs=[p], outputs=[y])
                wp.launch(weigh, dim=5, inputs=[y, w, 0.5, count], outputs=[loss])
            tape.backward(loss)
            print(p.grad.numpy())
    """)
    made = _allocations(facts[0])
    assert (made["p"].dtype, made["p"].shape, made["p"].values) == ("vec3f", (5,), None)
    assert made["w"].values == (0.0, 0.25, 0.5, 0.75, 1.0)
    assert made["y"].shape == (5,)
    program = facts[0].program
    assert isinstance(program, TapeProgram)
    assert [operation.value for operation in program.operations if isinstance(operation, Fill)] == [1.0]
    launches = [operation for operation in program.operations if isinstance(operation, Launch)]
    assert [launch.dim for launch in launches] == [(5,), (5,)]
    assert launches[1].arguments[2] == 0.5
    assert isinstance(launches[1].arguments[3], Unknown)


def test_values_that_a_kernel_closes_over(run: Run) -> None:
    facts = run("""
        def make_kernel(scale, dtype=float):
            @wp.kernel
            def scaled(x: wp.array(dtype=dtype), y: wp.array(dtype=dtype)):
                y[wp.tid()] = scale * x[wp.tid()]
            return scaled

        def main():
            x = wp.ones(2, dtype=float, requires_grad=True)
            y = wp.zeros(2, dtype=float)  # expect: WP301
            loss = wp.zeros(1, dtype=float, requires_grad=True)
            kernel = make_kernel(3.0)
            with wp.Tape() as tape:
                wp.launch(kernel, dim=2, inputs=[x, y])
                wp.launch(total, dim=2, inputs=[y, loss])
            tape.backward(loss)

        main()
    """)
    program = facts[0].program
    assert isinstance(program, TapeProgram)
    launch = next(operation for operation in program.operations if isinstance(operation, Launch))
    assert launch.kernel.qualname == "make_kernel.scaled"
    assert launch.kernel.closure["scale"] == 3.0


def test_a_tape_that_is_emptied_is_another_tape(run: Run) -> None:
    facts = run("""
        def main():
            p = wp.array([0.5], dtype=float, requires_grad=True)
            now, then = wp.ones(3, dtype=float, requires_grad=True), wp.ones(3, dtype=float, requires_grad=True)
            loss = wp.zeros(1, dtype=float, requires_grad=True)
            tape = wp.Tape()
            for _ in range(3):
                with tape:
                    wp.launch(combine, dim=3, inputs=[now, p], outputs=[then])
                    wp.launch(total, dim=3, inputs=[then], outputs=[loss])
                tape.backward(loss)  # expect: WP401
                tape.launches.clear()
                now, then = then, now
            return p.grad.numpy()

        main()
    """)
    program = facts[0].program
    assert isinstance(program, TapeProgram)
    begun = [operation.tape for operation in program.operations if isinstance(operation, TapeBegin)]
    assert len(set(begun)) == 3


def test_a_tape_that_is_reset_forgets_its_gradients(run: Run) -> None:
    run("""
        def main():
            p = wp.array([0.5], dtype=float, requires_grad=True)
            now, then = wp.ones(3, dtype=float, requires_grad=True), wp.ones(3, dtype=float, requires_grad=True)
            loss = wp.zeros(1, dtype=float, requires_grad=True)
            tape = wp.Tape()
            for _ in range(3):
                with tape:
                    wp.launch(combine, dim=3, inputs=[now, p], outputs=[then])
                    wp.launch(total, dim=3, inputs=[then], outputs=[loss])
                tape.backward(loss)
                tape.reset()
                now, then = then, now
            return p.grad.numpy()

        main()
    """)


def test_programs_are_the_same_in_every_run(run: Run) -> None:
    """What is unknown is told by names: answers about programs are stored by their content."""
    facts = run("""
        @wp.kernel
        def scaled(x: wp.array(dtype=float), n: int, rows: int, y: wp.array(dtype=float)):
            y[wp.tid()] = x[wp.tid()] * float(n + rows)

        def main(data):
            x = wp.array(data, dtype=float, requires_grad=True)
            y = wp.zeros(4, dtype=float)  # expect: WP301
            loss = wp.zeros(1, dtype=float, requires_grad=True)
            with wp.Tape() as tape:
                wp.launch(scaled, dim=4, inputs=[x, len(x), x.shape[0]], outputs=[y])
                wp.launch(scaled, dim=1, inputs=[y, 1, 1], outputs=[loss])
            tape.backward(loss)
            print(x.grad.numpy())
    """)
    program = facts[0].program
    assert isinstance(program, TapeProgram)
    launch = next(operation for operation in program.operations if isinstance(operation, Launch))
    hints = [argument.hint for argument in launch.arguments if isinstance(argument, Unknown)]
    assert hints[0] == "len of x"
    assert not any(character.isdigit() for hint in hints for character in hint.replace("[0]", ""))
