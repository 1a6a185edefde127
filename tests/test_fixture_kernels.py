"""The marks in `fixtures/kernels` are facts: marked kernels have wrong adjoints, all others right ones."""

from __future__ import annotations

from pathlib import Path

import label_kernels as lk
import pytest
import warp as wp

wp.config.quiet = True
FILES = sorted(lk.KERNELS.glob("*.py"))


def _stem(path: Path) -> str:
    return path.stem


@pytest.mark.parametrize("path", FILES, ids=_stem)
def test_marks(path: Path) -> None:
    wrong = []
    with lk.loaded(path) as module:
        found = lk.labels(module)
        for label in found:
            assert label.expected or label.allowed, f"{label.kernel.key} carries no mark"
            if not label.backward:
                assert not label.expected, f"{label.kernel.key} has no adjoint that could be wrong"
                lk.Run(label, 0, False).value([leaf.values for leaf in lk.Run(label, 0, False).leaves])
                continue
            seen = lk.errors(label, singular=path.stem.startswith("WP501"))
            right = max(seen) > lk.DISAGREE if label.expected else max(seen) < lk.AGREE
            if not right:
                wrong.append(f"{label.kernel.key}: {'expect' if label.expected else 'ok'} but errors {seen}")
    assert found
    assert not wrong, "\n".join(wrong)
