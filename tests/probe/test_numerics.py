"""Finite differences on float32 functions whose derivatives are known: no right derivative is wrong, none that is two
percent off is right, whatever the function does to differences."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import numpy as np
import pytest

from warplint.probe.worker.numerics import differentiate, judge

_F = np.float32

# Name: the function in float32, its derivative, and how many of 100 points may stay undecided.
_FUNCTIONS: dict[str, tuple[Callable[[np.float32], np.float32], Callable[[float], float], int]] = {
    "cancellation of 10": (lambda x: (_F(10) + x) - (_F(10) - x * x), lambda x: 1 + 2 * x, 5),
    "cancellation of 1e3": (lambda x: (_F(1e3) + x) - (_F(1e3) - x * x), lambda x: 1 + 2 * x, 25),
    "cancellation of 1e4": (lambda x: (_F(1e4) + x) - (_F(1e4) - x * x), lambda x: 1 + 2 * x, 100),
    "cancellation of 1e6": (lambda x: (_F(1e6) + x) - (_F(1e6) - x * x), lambda x: 1 + 2 * x, 100),
    "steep": (lambda x: np.exp(_F(20) * x), lambda x: 20 * np.exp(20 * x), 5),
    "wave": (lambda x: np.sin(_F(50) * x), lambda x: 50 * np.cos(50 * x), 5),
    "kink": (lambda x: abs(x - _F(1)), lambda x: float(np.sign(x - 1)), 15),
    "clamp": (
        lambda x: np.clip(x, _F(0.5), _F(1.2)) * x,
        lambda x: 2 * x if 0.5 < x < 1.2 else (0.5 if x <= 0.5 else 1.2),
        15,
    ),
    "softplus": (
        lambda x: np.log(_F(1) + np.exp(_F(-14) * x)),
        lambda x: -14 * np.exp(-14 * x) / (1 + np.exp(-14 * x)),
        100,
    ),
    "vanishing": (lambda x: _F(1) - np.cos(x * _F(0.01)), lambda x: 0.01 * np.sin(0.01 * x), 100),
    "power": (lambda x: x ** _F(10), lambda x: 10 * x**9, 20),
    "reciprocal": (lambda x: _F(1) / x, lambda x: -1 / x**2, 5),
    "contact": (lambda x: _F(1e5) * max(_F(0.9) - x, _F(0)), lambda x: -1e5 if x < 0.9 else 0.0, 15),
}


@pytest.mark.parametrize("name", list(_FUNCTIONS))
def test_judgement(name: str) -> None:
    function, derivative, open_at_most = _FUNCTIONS[name]
    verdicts: Counter[str] = Counter()
    points = np.random.default_rng(len(name)).uniform(0.3, 1.5, 100)
    largest = max(abs(derivative(point)) for point in points)
    for drawn in points:
        x = float(_F(drawn))

        def evaluate(value: float) -> np.ndarray:
            return np.array([float(function(_F(value)))])

        estimate = differentiate(evaluate, evaluate(x), np.ones(1), x)
        true = derivative(x)
        verdicts[judge(true, estimate, abs(true) or largest)] += 1
        if true != 0.0:
            assert judge(1.02 * true, estimate, abs(true)) != "right"
            assert judge(1.5 * true, estimate, abs(true)) != "right"
    assert verdicts["wrong"] == 0
    assert verdicts["undecided"] <= open_at_most


def test_what_is_not_finite_is_wrong_where_differences_are() -> None:
    def evaluate(value: float) -> np.ndarray:
        return np.array([value * value])

    estimate = differentiate(evaluate, evaluate(0.5), np.ones(1), 0.5)
    assert judge(float("nan"), estimate, 1.0) == "wrong"
    assert judge(1.0, estimate, 1.0) == "right"


@pytest.mark.parametrize("jump", [0.0, 5.0])
def test_a_kink_at_the_point_itself(jump: float) -> None:
    """The slope on one side of a kink is as good as that on the other, though larger steps meet a jump."""
    x = 0.7

    def evaluate(value: float) -> np.ndarray:
        step = value - x
        return np.array([3.0 * max(step, 0.0) - 1.0 * min(step, 0.0) + (jump if step > 0.005 else 0.0)])

    estimate = differentiate(evaluate, evaluate(x), np.ones(1), x, single=False)
    assert [judge(slope, estimate, 3.0) for slope in (3.0, -1.0, 0.5)] == ["undecided"] * 3
    if not jump:
        assert judge(6.0, estimate, 3.0) == "wrong"
        assert judge(-4.0, estimate, 3.0) == "wrong"
