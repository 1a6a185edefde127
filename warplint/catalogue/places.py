"""Where rule files are."""

from __future__ import annotations

from pathlib import Path


def built_in_folder() -> Path:
    """Where the rules that come with warplint are: inside the installed package, else beside it in a checkout."""
    package = Path(__file__).resolve().parent.parent
    installed = package / "rules"
    return installed if installed.is_dir() else package.parent / "rules"


def measured_file() -> Path:
    """What was measured on their examples: beside them in an installed package, else in the documentation."""
    package = Path(__file__).resolve().parent.parent
    installed = package / "rules"
    return installed / "measured.json" if installed.is_dir() else package.parent / "docs" / "measured.json"
