"""The marks in `fixtures/kernels` are facts: marked kernels have wrong adjoints, all others right ones."""

from __future__ import annotations

from pathlib import Path

import label_kernels as lk
import pytest
import warp as wp
from devices import devices, runs_on

wp.config.quiet = True
FILES = sorted(lk.KERNELS.glob("*.py"))


def _stem(path: Path) -> str:
    return path.stem


@pytest.mark.parametrize("device", devices())
@pytest.mark.parametrize("path", FILES, ids=_stem)
def test_marks(path: Path, device: str) -> None:
    if not runs_on(path.read_text(), device):
        pytest.skip("the file says why it is for the CPU device only")
    wrong = []
    with wp.ScopedDevice(device), lk.loaded(path) as module:
        found = lk.labels(module)
        for label in found:
            assert label.expected or label.allowed, f"{label.kernel.key} carries no mark"
            if not label.backward:
                assert not label.expected, f"{label.kernel.key} has no adjoint that could be wrong"
                lk.Run(label, 0, False).value([leaf.values for leaf in lk.Run(label, 0, False).leaves])
                continue
            for rule, check in (("WP306", lk.silent), ("WP606", lk.repeated)):
                if rule in label.expected | label.allowed and check(label) != (rule in label.expected):
                    wrong.append(f"{label.kernel.key}: {rule} is not what the mark says")
            expected = label.expected - lk.NO_GRADIENT
            if not expected and "WP606" in label.expected:
                continue  # the gradient may be wrong as well
            seen = lk.errors(label, singular=path.stem.startswith("WP5"))
            # a difference across a jump says nothing
            worst = min(seen) if "WP306" in label.expected | label.allowed else max(seen)
            right = worst > lk.DISAGREE if expected else worst < lk.AGREE
            if not right:
                wrong.append(f"{label.kernel.key}: {'expect' if expected else 'ok'} but errors {seen}")
    assert found
    assert not wrong, "\n".join(wrong)
