"""Which Warp an environment holds, read from what its installer left there. Nothing of it is run or imported."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

_RECORD = re.compile(r"warp[-_.]lang-(\d[^-]*)(?:-py\S+)?\.(?:dist|egg)-info", re.I)
_FOLDERS = ("site-packages", "dist-packages")


class EnvironmentUnusable(Exception):
    """There is no Python environment where one was named; the message says what to name."""


def warp_beside(python: str) -> str | None:
    """The version of the Warp that is installed for ``python``, an interpreter or the folder of an environment.

    None if there is none. Raises EnvironmentUnusable where that is not a Python environment.
    """
    given = Path(os.path.abspath(os.path.expanduser(python)))
    if not given.exists():
        raise EnvironmentUnusable(f"`{python}` does not exist; name the interpreter of an environment, or its folder")
    folders = list(_site_folders(given))
    if not folders:
        raise EnvironmentUnusable(
            f"no installed packages belong to `{python}`; name the interpreter of an environment, or its folder"
        )
    return next((version for folder in folders for version in _records(folder)), None)


def warp_among(folder: str) -> str | None:
    """The version of the Warp that was installed into ``folder``, None if there is none."""
    return next(_records(Path(folder)), None)


def active_environment(variables: Mapping[str, str]) -> str | None:
    """The environment that is active: None for the one that runs this program.

    ``VIRTUAL_ENV`` and ``CONDA_PREFIX`` are what activation sets.
    """
    for name in ("VIRTUAL_ENV", "CONDA_PREFIX"):
        folder = variables.get(name)
        if folder and os.path.isdir(folder):
            return None if _same(folder, sys.prefix) else folder
    return None


def is_tool_environment(prefix: str, variables: Mapping[str, str]) -> bool:
    """Whether an environment was made for one tool alone, so that what is beside it says nothing of any project.

    Known by what pipx and uv leave there, and by where pre-commit puts its own.
    """
    if any(os.path.exists(os.path.join(prefix, name)) for name in ("pipx_metadata.json", "uv-receipt.toml")):
        return True
    parts = Path(prefix).parts
    return "pre-commit" in parts or (
        "uv" in parts and any(part.startswith(("archive-v", "environments-v")) for part in parts)
    )


def _same(one: str, other: str) -> bool:
    try:
        return os.path.samefile(one, other)
    except OSError:
        return False


def _site_folders(given: Path) -> Iterator[Path]:
    """Where packages are installed for an interpreter or in an environment, in the order that Python looks there."""
    places = [given]
    if given.is_file():
        # A link leads to where the interpreter itself is installed: its own environment is where the link stands.
        places = [given.parent.parent, given.resolve().parent.parent]
    found: dict[Path, None] = {}
    for prefix in places:
        for folder in _below(prefix, given.name if given.is_file() else ""):
            found.setdefault(folder)
        settings = _pyvenv(prefix)
        if settings is None:
            continue
        if settings.get("include-system-site-packages", "").lower() == "true" and settings.get("home"):
            for folder in _below(Path(settings["home"]).parent, ""):
                found.setdefault(folder)
        break  # an environment: what is behind its interpreter is not in it
    yield from found


def _pyvenv(prefix: Path) -> Mapping[str, str] | None:
    """``pyvenv.cfg``, None for what is no virtual environment."""
    try:
        lines = (prefix / "pyvenv.cfg").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return None
    pairs = (line.partition("=") for line in lines if "=" in line)
    return {key.strip().lower(): value.strip() for key, _, value in pairs}


def _below(prefix: Path, program: str) -> Iterator[Path]:
    """The folders of packages in an installation, those of the named program's version first, then newer before older.

    Windows has ``Lib/site-packages``; Debian has ``dist-packages``, one of them for all versions.
    """
    version = re.search(r"\d+\.\d+", program)
    own = f"python{version[0]}" if version is not None else ""
    for root in (prefix / "Lib", *(base / name for base in (prefix / "local", prefix) for name in ("lib", "lib64"))):
        yield from (root / name for name in _FOLDERS if (root / name).is_dir() and root.name == "Lib")
        try:
            found = [path for path in root.glob("python*") if path.is_dir()]
        except OSError:
            continue
        found.sort(
            key=lambda path: (path.name == own, [int(part) for part in re.findall(r"\d+", path.name)]), reverse=True
        )
        yield from (path / name for path in found for name in _FOLDERS if (path / name).is_dir())


def _records(folder: Path) -> Iterator[str]:
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return
    for name in names:
        match = _RECORD.fullmatch(name)
        if match is not None:
            yield match[1]
