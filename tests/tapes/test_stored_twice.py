"""Arrays that are stored to twice: gradients that are kept, and launches that are made again."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from judged import judge

from warplint.ir.facts import Fact

Run = Callable[..., list[Fact]]
KEPT = "kept = wp.zeros(n, dtype=float, requires_grad=True, retain_grad=True)"


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Analyse a program and hold what is found to its marks."""
    return partial(judge, tmp_path, kinds={"retained-gradient", "duplicate-launch"})


def swept(*launches: str, before: str = f"{KEPT}  # expect: WP405") -> str:
    lines = [
        before,
        "with tape:",
        *(f"    {line}" for line in launches),
        "tape.backward(loss)",
        "print(x.grad.numpy())",
    ]
    return "\n".join(lines)


SUM = "wp.launch(total, dim=n, inputs=[kept, loss])"
SQUARE = "wp.launch(square, dim=n, inputs=[x, kept])"


def test_two_stores_to_an_array_that_keeps_its_gradient(run: Run) -> None:
    (fact,) = run(swept(SQUARE, "wp.launch(halve, dim=n, inputs=[x, kept])", SUM), measured=True)
    assert fact.attributes == {"array": "kept", "first": "square", "second": "halve"}
    assert fact.program is not None


def test_a_copy_over_a_result(run: Run) -> None:
    run(swept(SQUARE, "wp.copy(kept, x)", SUM), measured=True)


def test_the_flag_is_set_on_the_array_later(run: Run) -> None:
    later = "kept = wp.zeros_like(x)  # expect: WP405\nkept.retain_grad = True"
    run(swept(SQUARE, "wp.launch(halve, dim=n, inputs=[x, kept])", SUM, before=later), measured=True)


@pytest.mark.parametrize(
    "second", ["wp.launch(add, dim=n, inputs=[x, kept])", "wp.launch(square, dim=n, inputs=[kept, a])"]
)
def test_one_store(run: Run, second: str) -> None:
    run(swept(SQUARE, second, SUM, before=f"{KEPT}  # ok: WP405"), measured=True)


def test_two_stores_where_the_first_has_no_input(run: Run) -> None:
    run(swept("wp.launch(fill, dim=n, inputs=[kept])", SQUARE, SUM, before=f"{KEPT}  # ok: WP405"), measured=True)


def test_rows_of_one_array(run: Run) -> None:
    run(
        """
        rows = wp.zeros((3, n), dtype=float, requires_grad=True, retain_grad=True)
        with tape:
            wp.launch(square, dim=n, inputs=[x, rows[0]])
            wp.launch(row, dim=n, inputs=[rows, 0])
            wp.launch(row, dim=n, inputs=[rows, 1])
            wp.launch(last, dim=n, inputs=[rows, 2, loss])
        tape.backward(loss)
        print(x.grad.numpy())
    """,
        measured=True,
    )


def test_a_launch_that_is_made_twice(run: Run) -> None:
    again = "wp.launch(square, dim=n, inputs=[x], outputs=[a])"
    (fact,) = run(swept(again, f"{again}  # expect: WP406", "wp.launch(total, dim=n, inputs=[a, loss])", before=""))
    assert fact.attributes == {"kernel": "square", "array": "a", "retained": False}
    assert fact.program is not None and fact.program.flagged == (1,)  # compared with what it is without the second


def test_a_launch_that_is_made_twice_into_a_kept_gradient(run: Run) -> None:
    (fact,) = run(swept(SQUARE, f"{SQUARE}  # expect: WP406", SUM, before=KEPT), measured=True)
    assert fact.attributes["retained"] is True and fact.program is not None


def test_two_calls_of_one_step(run: Run) -> None:
    run("""
        def step():
            wp.launch(square, dim=n, inputs=[x, a])  # expect: WP406
        with tape:
            step()
            step()
            wp.launch(total, dim=n, inputs=[a, loss])
        tape.backward(loss)
        print(x.grad.numpy())
    """)


@pytest.mark.parametrize(
    "launches",
    [
        ["wp.launch(add, dim=n, inputs=[x, a])"] * 2,  # twice is what is wanted
        ["wp.launch(square, dim=n, inputs=[x, a])", "a.zero_()", "wp.launch(square, dim=n, inputs=[x, a])"],
        ["wp.launch(square, dim=2, inputs=[x, a])", "wp.launch(square, dim=n, inputs=[x, a])"],
    ],
)
def test_two_launches_that_are_right(run: Run, launches: list[str]) -> None:
    marked = [*launches[:-1], f"{launches[-1]}  # ok: WP406"]
    run(swept(*marked, "wp.launch(total, dim=n, inputs=[a, loss])", before=""), measured=True)


@pytest.mark.parametrize(
    "launches",
    [
        ["wp.launch(square, dim=n, inputs=[x, a])", "wp.copy(x, a)", "wp.launch(square, dim=n, inputs=[x, a])"],
        ["wp.launch(square, dim=n, inputs=[x, a])", "wp.launch(square, dim=n, inputs=[a, x])"] * 2,
        ["wp.launch(combine, dim=n, inputs=[x, x, a])", "wp.launch(combine, dim=n, inputs=[x, b, a])"],
    ],
)
def test_two_launches_that_differ(run: Run, launches: list[str]) -> None:
    marked = [*launches[:-1], f"{launches[-1]}  # ok: WP406"]
    run(swept(*marked, "wp.launch(total, dim=n, inputs=[a, loss])", before=""))


def test_unknown_code_in_between(run: Run) -> None:
    run("""
        import world
        def slopes(points):
            with tape:
                wp.launch(square, dim=n, inputs=[points, a])
                wp.launch(total, dim=n, inputs=[a, loss])
                world.advance()
                wp.launch(square, dim=n, inputs=[points, a])
                wp.launch(total, dim=n, inputs=[a, loss])
            tape.backward(loss)
            print(points.grad.numpy())
    """)


def _shaped(*lines: str) -> str:
    body = "".join(f"    {line}\n" for line in lines)
    return f"""
@wp.kernel
def shaped(x: wp.array(dtype=float), c: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
{body}
c = wp.full(n, 2.0, dtype=float)
"""


SHAPED = "wp.launch(shaped, dim=n, inputs=[x, c, kept])"


@pytest.mark.parametrize(
    "lines",
    [
        ("y[i] = 2.0 * x[i]", "if x[i] > 0.1:", "    y[i] = x[i] * x[i]"),
        ("s = x[i]", "y[i] = s", "y[i] = 3.0 * s"),
        ("y[i] = c[i] * x[i]", "for k in range(2):", "    y[i] = x[i] + float(k)"),
    ],
)
def test_two_stores_in_one_launch(run: Run, lines: tuple[str, ...]) -> None:
    (fact,) = run(_shaped(*lines) + swept(SHAPED, SUM), measured=True)
    assert fact.attributes == {"array": "kept", "first": "shaped", "second": "shaped"}
    assert fact.program is not None


@pytest.mark.parametrize(
    "lines",
    [
        ("y[i] = 0.0", "if x[i] > 0.1:", "    y[i] = x[i] * x[i]"),  # no gradient goes to a constant
        ("y[i] = c[i]", "y[i] = x[i] * x[i]"),  # nor to an array without one
        ("y[i] = x[i]", "y[i] += x[i] * x[i]"),  # that is an addition
        ("if x[i] < 0.1:", "    y[i] = 2.0 * x[i]", "else:", "    y[i] = x[i] * x[i]"),
        ("j = wp.int32(0)", "y[j] = 2.0 * x[0]", "j = i", "y[j] = x[i] * x[i]"),  # other elements, for most threads
    ],
)
def test_one_store_that_counts_in_one_launch(run: Run, lines: tuple[str, ...]) -> None:
    run(_shaped(*lines) + swept(SHAPED, SUM, before=f"{KEPT}  # ok: WP405"))
