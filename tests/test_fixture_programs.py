"""The marks in `fixtures/programs` are facts: wrong gradients where expected, right ones elsewhere and after repair."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import program_labels as labels
import pytest
import warp as wp
from devices import devices, runs_on

wp.config.quiet = True
LABELS = labels.read_labels()
EXPECT = re.compile(r"# expect: WP\d{3}")


def _name(label: labels.Label) -> str:
    return label.name


def test_every_program_is_labelled() -> None:
    found = {p.stem for p in labels.PROGRAMS.iterdir() if p.suffix == ".py" or (p / "__init__.py").exists()}
    found |= {p.name for p in labels.PROGRAMS.iterdir() if p.is_dir() and p.name != "__pycache__"}
    assert found == {label.name for label in LABELS}


@pytest.mark.parametrize("device", devices())
@pytest.mark.parametrize("label", LABELS, ids=_name)
def test_program(label: labels.Label, device: str, tmp_path: Path) -> None:
    if not all(runs_on(path.read_text(), device) for path in labels.source_files(label)):
        pytest.skip("the program says why it is for the CPU device only")
    with wp.ScopedDevice(device):
        _check(label, tmp_path)


def _check(label: labels.Label, tmp_path: Path) -> None:
    marked = any(EXPECT.search(path.read_text()) for path in labels.source_files(label))
    assert marked == bool(label.repair), "a program is marked exactly if its label says how to repair it"
    with labels.imported(label, labels.PROGRAMS) as entry:
        if label.forward:
            assert np.all(np.isfinite(entry(*[np.asarray(a, dtype=np.float32) for a in label.at])))
            return
        seen = labels.compare(entry, label.at)
    if not marked:
        assert seen.error < labels.AGREE, seen
        return
    assert seen.error > labels.DISAGREE, seen
    with labels.imported(label, labels.repaired_copy(label, tmp_path)) as entry:
        repaired = labels.compare(entry, label.at)
    assert repaired.error < labels.AGREE, repaired
    assert repaired.value == pytest.approx(seen.value, rel=1.0e-4), "a repair changes the gradient, not the result"
