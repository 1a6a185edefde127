"""Compiled modules are kept up to a bound, and what was compiled last stays."""

from __future__ import annotations

import os
from pathlib import Path

from warplint.probe.compiled import trim

NOW = 1_000_000.0
HOUR = 3600


def compiled(folder: Path, version: str, name: str, hours: float, size: int = 100) -> Path:
    place = folder / version / name
    place.mkdir(parents=True)
    for file in ("module.o", "module.meta"):
        (place / file).write_bytes(b"x" * (size // 2))
        os.utime(place / file, (NOW - hours * HOUR, NOW - hours * HOUR))
    return place


def test_the_oldest_goes_first(tmp_path: Path) -> None:
    places = [compiled(tmp_path, f"1.{number % 2}", f"wp_{number}", hours=20 - number) for number in range(10)]
    trim(tmp_path, most=900, now=NOW)
    assert [place.exists() for place in places] == [False] * 6 + [True] * 4


def test_all_stays_below_the_bound(tmp_path: Path) -> None:
    places = [compiled(tmp_path, "1.19.0", f"wp_{number}", hours=20) for number in range(10)]
    trim(tmp_path, most=1000, now=NOW)
    assert all(place.exists() for place in places)


def test_what_may_be_in_use_stays(tmp_path: Path) -> None:
    old, new = compiled(tmp_path, "1.19.0", "old", hours=2), compiled(tmp_path, "1.19.0", "new", hours=0.5)
    trim(tmp_path, most=10, now=NOW)
    assert (old.exists(), new.exists()) == (False, True)


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    trim(tmp_path / "nowhere", most=10, now=NOW)
    assert not (tmp_path / "nowhere").exists()
