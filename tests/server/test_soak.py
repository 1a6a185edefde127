"""Random edits against the real server process; ``python -m tools.soak_lsp`` makes ten thousand."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("pygls")

from soak import Soak, files


def test_random_edits(tmp_path: Path) -> None:
    soak = Soak(tmp_path.resolve(), files(), seed=7)
    with soak.editor:
        for number in range(1, 301):
            soak.step()
            if number % 60 == 0:
                soak.compare()
    assert soak.done["rename"] and soak.done["configuration"] and soak.done["broken"]
