"""What a project's own files say about the version of Warp: lock files first, then requirements.

Nothing is run or resolved: a lock names one version, and a requirement stands for the newest known version that it
allows, which is what an installer would take. The forms are those of PEP 440 and PEP 508 (with the extras, markers and
addresses that PEP 508 allows), the carets and tildes of Poetry, and what conda and pixi write. Which files there are,
and where they name Warp, is in ``declared.py``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from warplint.settings.declared import NAME, asked_in, locked, locks

#: The versions of Warp that are known, newest first. Facts about them are in ``docs/versions.md``.
KNOWN = tuple((1, minor) for minor in range(19, -1, -1))
NEWEST = ".".join(map(str, KNOWN[0]))

_CLAUSE = r"\s*(===|==|~=|>=|<=|!=|>|<|\^|~|=)?\s*v?(\d+(?:\.\d+)*)((?:\.\*)?)[\w.+-]*\s*"
_PIN = r"(?i)(?:(?<![<>!~=])={2,3}|lang(?:\[[^\]]*\])?\s)\s*v?\d+\.\d+(?:\.\d+)*(?![\d.*])"
# More patches than any version has had.
_PATCHES = 10


def required(folder: Path) -> tuple[str, str] | None:
    """The version that the project around ``folder`` asks for, and the file and words that say so.

    Looks in ``folder`` and those above it, up to the root of the repository. A lock file in any of them counts before
    every requirement, and a requirement that names one version, as pip-tools writes them, before one that leaves a
    choice; of each kind the nearest file first, and in it what allows the newest version. None where no file names
    Warp.
    """
    folders = list(_project(folder))
    for place in folders:
        for path in locks(place):
            version = locked(path)
            if version is not None:
                return version, f"{path} locks it"
    asked = [
        (path, requirement, chosen)
        for place in folders
        for path, requirements in asked_in(place)
        for requirement in sorted(requirements, key=_order, reverse=True)
        if (chosen := allowed(requirement)) is not None
    ]
    if not asked:
        return None
    path, requirement, chosen = min(asked, key=lambda one: not is_pinned(one[1]))
    return chosen, f"{path} asks for `{requirement}`"


def is_pinned(requirement: str) -> bool:
    """Whether a requirement leaves no choice between versions that differ: ``warp-lang==1.16.0``, or an address."""
    text = requirement.partition(";")[0]
    return "@" in text or re.search(_PIN, text) is not None


def _order(requirement: str) -> list[int]:
    return [int(part) for part in re.findall(r"\d+", allowed(requirement) or "")]


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
    match = re.match(NAME, requirement.strip())
    if match is None:
        return None
    rest = requirement.strip()[match.end() :].partition(";")[0].strip()
    rest = re.sub(r"^\[[^\]]*\]", "", rest).strip()
    if rest.startswith("@"):
        # A wheel or an archive of one version, or a tag in a repository.
        named = re.search(r"warp[-_]lang-(\d+(?:\.\d+)+)|@v?(\d+\.\d+(?:\.\d+)*)(?![\w.])", rest[1:], re.I)
        return named[1] or named[2] if named is not None else None
    rest = re.split(r"\s--|\s#", rest)[0].strip().removesuffix("\\").strip().removeprefix("(").removesuffix(")")
    if rest in ("", "*"):
        return NEWEST
    clauses = []
    for part in rest.split(","):
        clause = re.fullmatch(_CLAUSE, part)
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
