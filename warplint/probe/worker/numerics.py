"""Finite differences with an error estimate, and what a difference from them means."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from warplint.records import dataclass

#: Step sizes, relative to the size of the number that is varied: halved from the first.
_FIRST_STEP = 0.06
_LEVELS = 9
# Rounding in a kernel is a few units in the last place of its results.
_ROUNDING = 3.0
_INSIDE = 0.3
# How little one-sided differences change at the smallest steps at a kink, as part of how far they are apart.
_STEADY = 0.3


@dataclass(frozen=True)
class Estimate:
    """A derivative by finite differences.

    ``error`` bounds how far ``value`` is off (infinite where nothing converged). ``left`` and ``right`` are one-sided
    derivatives, nan where they could not be had; between them lies everything that a kink allows. ``kink`` are the
    slopes on both sides of a point where they stay apart at the smallest steps, however rough they are.
    """

    value: float
    error: float
    left: float = float("nan")
    right: float = float("nan")
    #: Step sizes, and the central difference at each.
    steps: tuple[float, ...] = ()
    central: tuple[float, ...] = ()
    kink: tuple[float, float] | None = None


NOTHING = Estimate(float("nan"), float("inf"))


def differentiate(
    evaluate: Callable[[float], np.ndarray], base: np.ndarray, weights: np.ndarray, x: float, single: bool = True
) -> Estimate:
    """The derivative of ``weights . evaluate(x)`` at ``x``, where ``base`` is ``evaluate(x)``.

    ``evaluate`` rounds its argument as the kernel's arrays do (to float32 if ``single``) and returns float64. The
    differences of outputs are taken one by one before they are summed, so that large outputs that do not change cost
    no precision. Ridders' method: a Richardson table over step sizes, the entry whose neighbours agree best.
    """
    kind = np.float32 if single else np.float64
    epsilon = float(np.finfo(kind).eps)
    step = _FIRST_STEP * max(abs(x), 0.5)
    widths: list[tuple[float, float]] = []
    pairs: list[tuple[np.ndarray, np.ndarray]] = []
    for _ in range(_LEVELS):
        high, low = float(kind(x + step)), float(kind(x - step))
        pairs.append((evaluate(high), evaluate(low)))
        widths.append((high - x, x - low))
        step *= 0.5
    with np.errstate(all="ignore"):
        weighed = weights != 0.0
        moving = np.zeros(base.shape, dtype=bool)
        for up, down in pairs:
            moving |= (up != down) | (up != base)
        moving &= weighed
        still = float(np.max(np.nan_to_num(_size(weights, base), posinf=0.0)[weighed], initial=0.0))
        # what does not move is of no more use, and there may be much of it
        pairs = [(up[moving], down[moving]) for up, down in pairs]
        base, weights = base[moving], weights[moving]
        # Numbers of ordinary size inside the kernel are rounded too, however small its results are; and where nothing
        # moves at all, a derivative too small to move any output cannot be excluded.
        size = np.nan_to_num(_size(weights, base), posinf=0.0)
        rounding = _ROUNDING * epsilon * (float(np.sum(size)) if moving.any() else still)
        central = [_sum(weights, up, down) / (a + b) for (up, down), (a, b) in zip(pairs, widths, strict=False)]
        rounding = max(rounding, _scatter(pairs, widths, weights))
        noise = [rounding / (a + b) for a, b in widths]
        right = [_sum(weights, up, base) / a for (up, _), (a, _) in zip(pairs, widths, strict=False)]
        left = [_sum(weights, base, down) / b for (_, down), (_, b) in zip(pairs, widths, strict=False)]
    value, error = _extrapolate(central, noise, 4.0)
    # A kink close by bends everything but the smallest steps: one of those has to agree.
    if np.isfinite(value):
        error = max(error, min(abs(value - fine) for fine in central[-4:]))
    one_left, left_error = _extrapolate(left, [2.0 * n for n in noise], 2.0)
    one_right, right_error = _extrapolate(right, [2.0 * n for n in noise], 2.0)
    return Estimate(
        value,
        error,
        one_left if _settled(one_left, left_error) else float("nan"),
        one_right if _settled(one_right, right_error) else float("nan"),
        tuple(0.5 * (a + b) for a, b in widths),
        tuple(central),
        _kink(left, right),
    )


def _kink(left: list[float], right: list[float]) -> tuple[float, float] | None:
    """The slopes on both sides where they do not come together as the steps get smaller; None where they do.

    On a smooth curve each changes as much as they come together, and where there is only noise, more.
    """
    ends = (left[-4:], right[-4:])
    if not np.isfinite(ends).all():
        return None
    apart = abs(left[-1] - right[-1])
    if any(max(end) - min(end) > _STEADY * apart for end in ends):
        return None
    return min(left[-1], right[-1]), max(left[-1], right[-1])


def _size(weights: np.ndarray, base: np.ndarray) -> np.ndarray:
    """How much each output weighs in the objective."""
    return np.asarray(np.abs(weights) * np.maximum(np.abs(base), _INSIDE))


def _scatter(
    pairs: list[tuple[np.ndarray, np.ndarray]], widths: list[tuple[float, float]], weights: np.ndarray
) -> float:
    """How much rounding inside the kernel moves the objective, from how far small steps are off a smooth curve.

    Large numbers that cancel inside a kernel leave rounding that the size of its results does not tell of.
    """
    small = slice(_LEVELS // 3, _LEVELS)
    steps = np.array([0.5 * (a + b) for a, b in widths[small]])
    odd = np.array([_sum(weights, up, down) for up, down in pairs[small]])
    if not np.isfinite(odd).all():
        return 0.0
    scaled = steps / steps[0]
    basis = np.stack([scaled, scaled**3], axis=1)
    fitted, *_ = np.linalg.lstsq(basis, odd, rcond=None)
    residual = float(np.sqrt(np.sum((odd - basis @ fitted) ** 2) / (len(odd) - 2)))
    # An output that small steps leave alone and larger ones move may be rounded to a coarse grid.
    changes = np.abs(np.array([up - down for up, down in pairs]))
    changes = np.where(np.isfinite(changes), changes, 0.0)
    partly = (changes == 0.0).any(axis=0) & (changes != 0.0).any(axis=0)
    smallest = np.where(changes == 0.0, np.inf, changes).min(axis=0, initial=np.inf)
    quantum = float(np.sum((np.abs(weights) * smallest)[partly])) if partly.any() else 0.0
    return max(2.0 * residual, quantum)


def _sum(weights: np.ndarray, after: np.ndarray, before: np.ndarray) -> float:
    return float(np.sum(weights * (after - before)))


def _settled(value: float, error: float) -> bool:
    return bool(np.isfinite(value)) and error <= 0.05 * abs(value) + 1e-3


def _extrapolate(values: list[float], noise: list[float], factor: float) -> tuple[float, float]:
    """The best entry of the Richardson table over ``values``, and its error."""
    candidates: list[tuple[float, float]] = []
    previous: list[float] = []
    for row, value in enumerate(values):
        current = [value]
        if not np.isfinite(value):
            previous = []
            continue
        power = factor
        for column in range(min(len(previous), 3)):
            better = (power * current[column] - previous[column]) / (power - 1.0)
            error = max(abs(better - current[column]), abs(better - previous[column])) + 2.0 * noise[row]
            candidates.append((error, better))
            current.append(better)
            power *= factor if factor == 2.0 else 4.0
        previous = current
    if len(candidates) < 3:
        return float("nan"), float("inf")
    candidates.sort()
    best = candidates[0]
    # two entries can agree by accident: the next best ones have a say
    spread = max(abs(best[1] - candidates[1][1]), 0.5 * abs(best[1] - candidates[2][1]))
    return best[1], max(best[0], spread)


def judge(tape: float, estimate: Estimate, scale: float) -> str:
    """``right``, ``wrong`` or ``undecided`` for one component; ``scale`` is the size of its array's gradient."""
    if not np.isfinite(tape):
        one_sided = np.isfinite(estimate.left) or np.isfinite(estimate.right)
        settled = np.isfinite(estimate.value) and estimate.error < 0.2 * max(abs(estimate.value), scale, 1e-3)
        return "wrong" if settled or one_sided else "undecided"
    if not np.isfinite(estimate.error) or not np.isfinite(estimate.value):
        return "undecided"
    size = max(abs(tape), abs(estimate.value))
    slack = 4e-3 * size + 2e-4 * scale + 1e-7
    difference = abs(tape - estimate.value)
    if difference <= estimate.error + slack:
        # a gradient that is two percent off must not pass
        sharp = estimate.error <= 0.006 * size + 2e-3 * scale + 1e-7
        return "right" if sharp else "undecided"
    if difference <= 8.0 * estimate.error + 2.0 * slack:
        return "undecided"
    if estimate.kink is not None and estimate.kink[0] - slack <= tape <= estimate.kink[1] + slack:
        return "undecided"
    sides = [side for side in (estimate.left, estimate.right) if np.isfinite(side)]
    if len(sides) == 2:
        low, high = min(sides), max(sides)
        if low - slack <= tape <= high + slack and high - low > 2.0 * slack:
            return "undecided"  # a kink: every slope between the two sides is as good
    return "wrong"
