"""What a project's own files say about the version of Warp: lock files first, then requirements.

Nothing is run or resolved: a lock names one version, and a requirement stands for the newest known version that it
allows, which is what an installer would take. The forms are those of PEP 440 and PEP 508 (with the extras, markers and
addresses that PEP 508 allows), and the carets and tildes of Poetry.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

#: The versions of Warp that are known, newest first. Facts about them are in ``docs/versions.md``.
KNOWN = tuple((1, minor) for minor in range(19, -1, -1))
NEWEST = ".".join(map(str, KNOWN[0]))

_NAME = re.compile(r"warp[-_.]lang(?![\w.-]*[A-Za-z_])", re.I)
_CLAUSE = re.compile(r"\s*(===|==|~=|>=|<=|!=|>|<|\^|~|=)?\s*v?(\d+(?:\.\d+)*)((?:\.\*)?)[\w.+-]*\s*")
# More patches than any version has had.
_PATCHES = 10
# Lock files of large projects have some megabytes; what is larger is none.
_MOST_BYTES = 64 << 20

LOCKS = ("uv.lock", "poetry.lock", "pdm.lock", "pylock.toml", "pixi.lock")
_TOML_ENTRY = re.compile(
    r"""^name\s*=\s*["']warp[-_.]lang["']\s*\n(?:[^\[\n].*\n)*?version\s*=\s*["']([^"']+)["']""", re.M | re.I
)
_PIXI_ENTRY = re.compile(
    r"warp[-_]lang-(\d+(?:\.\d+)+)|name:\s*warp-lang\s*\n\s*version:\s*['\"]?(\d+(?:\.\d+)+)", re.I
)


def required(folder: Path) -> tuple[str, str] | None:
    """The version that the project around ``folder`` asks for, and the file and words that say so.

    Looks in ``folder`` and those above it, up to the root of the repository. A lock file in any of them counts before
    every requirement, the nearest file first. None where no file names Warp.
    """
    folders = list(_project(folder))
    for place in folders:
        for name in LOCKS:
            version = _locked(place / name)
            if version is not None:
                return version, f"{place / name} locks it"
    for place in folders:
        for path, requirement in _requirements(place):
            chosen = allowed(requirement)
            if chosen is not None:
                return chosen, f"{path} asks for `{' '.join(requirement.split())}`"
    return None


def _project(folder: Path) -> Iterator[Path]:
    for place in (folder, *folder.parents):
        yield place
        if (place / ".git").exists() or (place / ".hg").exists():
            return


def allowed(requirement: str) -> str | None:
    """The newest known version that a requirement on Warp allows: ``1.16`` for ``warp-lang>=1.5,<1.17``.

    Where it allows none that is known, that is a newer one, which its lower limit names. None where the text is no
    requirement on Warp, or cannot be read.
    """
    match = _NAME.match(requirement.strip())
    if match is None:
        return None
    rest = requirement.strip()[match.end() :].partition(";")[0].strip()
    rest = re.sub(r"^\[[^\]]*\]", "", rest).strip()
    if rest.startswith("@"):
        wheel = re.search(r"warp[-_]lang-(\d+(?:\.\d+)+)", rest, re.I)
        return wheel[1] if wheel is not None else None
    rest = re.split(r"\s--|\s#", rest)[0].strip().removeprefix("(").removesuffix(")")
    if rest in ("", "*"):
        return NEWEST
    clauses = []
    for part in rest.split(","):
        clause = _CLAUSE.fullmatch(part)
        if clause is None:
            return None
        clauses.append((clause[1] or "==", tuple(map(int, clause[2].split("."))), bool(clause[3])))
    for sign, numbers, star in clauses:
        if sign in ("==", "===", "=") and not star and len(numbers) > 1:
            return ".".join(map(str, numbers))
    for major, minor in KNOWN:
        for patch in range(_PATCHES):
            if all(_meets((major, minor, patch), *clause) for clause in clauses):
                return f"{major}.{minor}"
    lower = [numbers for sign, numbers, _ in clauses if sign in (">=", ">", "~=", "^", "~", "==", "=")]
    return ".".join(map(str, max(lower))) if lower and max(lower) > KNOWN[0] else None


def _meets(version: tuple[int, ...], sign: str, limit: tuple[int, ...], star: bool) -> bool:
    """Whether a version of three numbers meets one clause."""
    padded = (*limit, 0, 0, 0)[: max(3, len(limit))]
    version = (*version, *[0] * (len(padded) - len(version)))
    begins = version[: len(limit)] == limit
    if sign in ("==", "===", "="):
        return begins
    if sign == "!=":
        return not begins if star else version != padded
    if sign == "~=":  # PEP 440: the last number may rise
        return version >= padded and version[: len(limit) - 1] == limit[:-1]
    if sign == "^":  # Poetry: the first number that is not zero stays
        fixed = next((number for number, part in enumerate(limit) if part), len(limit) - 1) + 1
        return version >= padded and version[:fixed] == limit[:fixed]
    if sign == "~":
        fixed = min(2, len(limit))
        return version >= padded and version[:fixed] == limit[:fixed]
    return {">=": version >= padded, "<=": version <= padded, ">": version > padded, "<": version < padded}[sign]


# --- files ---


def _text(path: Path) -> str | None:
    try:
        if not path.is_file() or path.stat().st_size > _MOST_BYTES:
            return None
        return path.read_text(encoding="utf-8", errors="replace").replace("\r\n", "\n")
    except OSError:
        return None


def _locked(path: Path) -> str | None:
    text = _text(path)
    if text is None:
        return None
    pattern = _PIXI_ENTRY if path.name == "pixi.lock" else _TOML_ENTRY
    found = [next(filter(None, match.groups())) for match in pattern.finditer(text)]
    found = [version for version in found if re.match(r"\d+(\.\d+)*", version)]
    # A lock for several platforms or Pythons may hold several.
    return max(found, key=lambda version: [int(part) for part in re.findall(r"\d+", version)], default=None)


def _requirements(folder: Path) -> Iterator[tuple[Path, str]]:
    """What the files in one folder ask for, each with its file: only what is about Warp."""
    path = folder / "pyproject.toml"
    text = _text(path)
    if text is not None and _NAME.search(text):
        for requirement in _pyproject(text):
            if _NAME.match(requirement.strip()):
                yield path, requirement
    names = [*sorted(folder.glob("requirements*.txt")), *sorted(folder.glob("requirements/*.txt"))]
    for path in names:
        for line in (_text(path) or "").split("\n"):
            if _NAME.match(line.strip()):
                yield path, line.strip()
    path = folder / "setup.cfg"
    text = _text(path)
    if text is not None and _NAME.search(text):
        for requirement in _setup(text):
            if _NAME.match(requirement.strip()):
                yield path, requirement.strip()


def _pyproject(text: str) -> Iterator[str]:
    from warplint.settings.toml import TOMLDecodeError, loads

    try:
        document = loads(text)
    except TOMLDecodeError:
        return  # whoever needs this file complains about it
    project, tool = _table(document, "project"), _table(document, "tool")
    yield from _strings(project.get("dependencies"))
    for group in (_table(project, "optional-dependencies"), _table(document, "dependency-groups")):
        for items in group.values():
            yield from _strings(items)
    yield from _strings(_table(tool, "uv").get("dev-dependencies"))
    poetry, pixi = _table(tool, "poetry"), _table(tool, "pixi")
    tables = [_table(poetry, "dependencies"), _table(poetry, "dev-dependencies")]
    tables += [_table(group, "dependencies") for group in _table(poetry, "group").values()]
    tables += [_table(pixi, "dependencies"), _table(pixi, "pypi-dependencies")]
    for feature in _table(pixi, "feature").values():
        tables += [_table(feature, "dependencies"), _table(feature, "pypi-dependencies")]
    for table in tables:
        for name, value in table.items():
            version = value.get("version") if isinstance(value, dict) else value
            if isinstance(version, str):
                yield f"{name} {version}"


def _table(value: Any, key: str) -> Mapping[str, Any]:
    found = value.get(key) if isinstance(value, Mapping) else None
    return found if isinstance(found, Mapping) else {}


def _strings(value: object) -> Iterable[str]:
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []


def _setup(text: str) -> Iterator[str]:
    import configparser

    parser = configparser.RawConfigParser(strict=False)
    try:
        parser.read_string(text)
    except configparser.Error:
        return
    for section in parser.sections():
        for key, value in parser.items(section):
            if key == "install_requires" or section == "options.extras_require":
                yield from value.split("\n")
