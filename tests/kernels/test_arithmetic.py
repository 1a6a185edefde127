"""Constants of a linted file cost the linter neither time nor memory, whatever stands there."""

from __future__ import annotations

import pytest

from warplint.kernels.arithmetic import BINARY


@pytest.mark.parametrize(
    ("left", "operator", "right"),
    [
        (9, "**", 9**9),
        (-9, "**", 9**9),
        (1 << 70, "**", 60),
        (1, "<<", 10**12),
        ("a", "*", 10**10),
        (10**10, "*", (0,)),
        ("%1000000000d", "%", 3),
    ],
)
def test_what_would_be_huge_is_not_computed(left: object, operator: str, right: object) -> None:
    with pytest.raises(OverflowError):
        BINARY[operator](left, right)


@pytest.mark.parametrize(
    ("left", "operator", "right", "result"),
    [
        (2, "**", 31, 2**31),
        (2, "**", -1, 0.5),
        (-1, "**", 10**9, 1),
        (0.5, "**", 100, 0.5**100),
        (1, "<<", 40, 1 << 40),
        (3, "*", 4, 12),
        ((1, 2), "*", 3, (1, 2, 1, 2, 1, 2)),
        (7, "%", 4, 3),
    ],
)
def test_what_is_small_is_what_python_says(left: object, operator: str, right: object, result: object) -> None:
    assert BINARY[operator](left, right) == result
