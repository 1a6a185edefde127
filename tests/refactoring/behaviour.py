"""Whether a refactored program does what it did: its value and gradients, as Warp computes them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from program_labels import Label, imported, read_labels

from .survival import Case

LABELS = {label.name: label for label in read_labels()}


def results(label: Label, root: Path) -> list[np.ndarray]:
    """What the entry function of a program returns: the value and one gradient for each argument."""
    with imported(label, root) as entry:
        given = entry(*[np.asarray(a, dtype=np.float32) for a in label.at])
    parts = given if isinstance(given, tuple) else (given,)
    return [np.asarray(part, dtype=np.float64) for part in parts]


def differs(case: Case, refactored: Case, folder: Path) -> str:
    """How the results of a refactored program differ from those of the program; empty if they do not."""
    label = LABELS[case.name]
    found = []
    for number, one in enumerate((case, refactored)):
        root = folder / str(number)
        for path, text in one.program.items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(text, encoding="utf-8")
        try:
            found.append(results(label, root))
        except Exception as error:  # what a program raises is its result
            return f"{'the program' if number == 0 else 'refactored'}: {error!r}"
    same = len(found[0]) == len(found[1]) and all(
        np.allclose(a, b, rtol=1.0e-4, atol=1.0e-6, equal_nan=True) for a, b in zip(*found, strict=True)
    )
    return "" if same else f"{found[0]} is {found[1]}"
