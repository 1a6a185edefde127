"""Small plots of a finding's evidence, as SVG that stands in an HTML page."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from html import escape

from warplint.ir.facts import Label

_WIDTH, _HEIGHT = 560, 210
_LEFT, _RIGHT, _TOP, _BOTTOM = 70, 150, 14, 40


def gradient_plot(numbers: Mapping[str, object]) -> str | None:
    """The tape's derivative against finite differences over the step size; None where there are no numbers.

    ``numbers`` are those of an ``Evidence``. Without step sizes in them, only the two values are drawn.
    """
    difference = _number(numbers.get("finite_difference"))
    tape = _number(numbers.get("tape"))
    if difference is None or tape is None or not math.isfinite(difference):
        return None
    error = _number(numbers.get("estimated_error")) or 0.0
    points = _points(numbers)
    values = [difference - error, difference + error, *([tape] if math.isfinite(tape) else [])]
    values += [value for _, value in points]
    low, high = min(values), max(values)
    margin = 0.12 * (high - low) or max(0.1 * abs(high), 0.1)
    low, high = low - margin, high + margin
    inner = _HEIGHT - _TOP - _BOTTOM
    right = _WIDTH - _RIGHT

    def y(value: float) -> float:
        return _TOP + inner * (high - value) / (high - low)

    def x(step: float) -> float:
        first, last = math.log10(points[-1][0]), math.log10(points[0][0])
        share = (math.log10(step) - first) / (last - first) if last > first else 0.5
        return _LEFT + 12 + share * (right - _LEFT - 24)

    parts = [f'<rect class="frame" x="{_LEFT}" y="{_TOP}" width="{right - _LEFT}" height="{inner}"/>']
    for value in (low + margin, (low + high) / 2, high - margin):
        parts.append(f'<text class="tick" x="{_LEFT - 8}" y="{y(value) + 4:.1f}" text-anchor="end">{value:.3g}</text>')
    if error:
        top, bottom = y(difference + error), y(difference - error)
        tall = max(bottom - top, 1)
        parts.append(f'<rect class="band" x="{_LEFT}" y="{top:.1f}" width="{right - _LEFT}" height="{tall:.1f}"/>')
    parts.append(_level("difference", y(difference), right))
    if points:
        line = " ".join(f"{x(step):.1f},{y(value):.1f}" for step, value in points)
        parts.append(f'<polyline class="steps" points="{line}"/>')
        parts += [f'<circle class="step" cx="{x(step):.1f}" cy="{y(value):.1f}" r="3"/>' for step, value in points]
        parts += [
            f'<text class="tick" x="{x(step):.1f}" y="{_HEIGHT - _BOTTOM + 16}" text-anchor="middle">{step:.0e}</text>'
            for step in (points[-1][0], points[len(points) // 2][0], points[0][0])
        ]
        middle = (_LEFT + right) / 2
        parts.append(f'<text class="tick" x="{middle}" y="{_HEIGHT - 6}" text-anchor="middle">step size</text>')
    names = [(y(difference), "difference", f"differences {difference:.4g}")]
    if math.isfinite(tape):
        parts.append(_level("tape", y(tape), right))
        names.append((y(tape), "tape", f"tape {tape:.4g}"))
    else:
        names.append((_TOP + 12, "tape", f"tape {tape}"))
    names.sort()
    if abs(names[0][0] - names[1][0]) < 15:  # the two texts must not cover each other
        middle = (names[0][0] + names[1][0]) / 2
        names = [(middle - 8, *names[0][1:]), (middle + 8, *names[1][1:])]
    for place, kind, text in names:
        parts.append(f'<text class="name {kind}" x="{right + 8}" y="{place + 4:.1f}">{escape(text)}</text>')
    return _svg(parts, _WIDTH, _HEIGHT, "The derivative on the tape and by finite differences")


def life_line(labels: Sequence[Label], names: Sequence[str]) -> str | None:
    """What happened, one event below the other; ``names`` are the places. None for fewer than two events."""
    events = [(label.text, name) for label, name in zip(labels, names, strict=True) if label.text]
    if len(events) < 2:
        return None
    step = 34
    height = step * len(events) + 6
    parts = [f'<line class="life" x1="14" y1="17" x2="14" y2="{17 + step * (len(events) - 1)}"/>']
    for number, (text, name) in enumerate(events):
        middle = 17 + step * number
        parts.append(f'<circle class="event" cx="14" cy="{middle}" r="6"/>')
        parts.append(f'<text class="number" x="14" y="{middle + 3.5}" text-anchor="middle">{number + 1}</text>')
        parts.append(f'<text class="what" x="30" y="{middle - 2}">{_with_code(_short(text, 96))}</text>')
        parts.append(f'<text class="tick" x="30" y="{middle + 12}">{escape(name)}</text>')
    return _svg(parts, 760, height, "What happened, in order")


def _points(numbers: Mapping[str, object]) -> list[tuple[float, float]]:
    """Step sizes, falling, each with the difference quotient there."""
    steps, differences = numbers.get("steps"), numbers.get("differences")
    if not isinstance(steps, (list, tuple)) or not isinstance(differences, (list, tuple)):
        return []
    pairs = [(_number(step), _number(value)) for step, value in zip(steps, differences, strict=False)]
    good = [(step, value) for step, value in pairs if step and value is not None and math.isfinite(value)]
    return sorted(good, reverse=True) if len(good) > 2 else []


def _number(value: object) -> float | None:
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return float(value)
    if value in ("nan", "inf", "-inf"):
        return float(str(value))
    return None


def _level(kind: str, place: float, right: int) -> str:
    return f'<line class="{kind}" x1="{_LEFT}" y1="{place:.1f}" x2="{right}" y2="{place:.1f}"/>'


def _svg(parts: Sequence[str], width: int, height: int, title: str) -> str:
    head = f'<svg viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img">'
    return f"{head}<title>{escape(title)}</title>{''.join(parts)}</svg>"


def _with_code(text: str) -> str:
    """Text for a drawing, with its `code` as such."""
    return re.sub(r"`([^`]+)`", r'<tspan class="code">\1</tspan>', escape(text))


def _short(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "\u2026"
