"""Where the files of a project name Warp: lock files, requirements and manifests, of the tools that people use.

Read as they are; nothing of them is run, and no tool that wrote them is asked. ``requirements.py`` says which version
of Warp a requirement stands for.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

#: The name under which Warp is installed, in every spelling that PyPI takes (PEP 503).
NAME = r"(?i)warp[-_.]lang(?![\w.-]*[A-Za-z_])"

#: Lock files, in the order in which they count; patterns of names.
LOCKS = (
    "uv.lock",
    "poetry.lock",
    "pdm.lock",
    "pylock.toml",
    "pylock.*.toml",  # PEP 751
    "pixi.lock",
    "Pipfile.lock",
    "conda-lock.yml",
)

#: What asks for Warp, in the order in which it counts: the sources that pip-tools and uv compile after what is made of
#: them.
ASKING = (
    "pyproject.toml",
    "pixi.toml",
    "Pipfile",
    "requirements*.txt",
    "*requirements.txt",
    "requirements/*.txt",
    "constraints*.txt",
    "requirements*.in",
    "requirements/*.in",
    "setup.cfg",
    "setup.py",
    "environment*.yml",
    "environment*.yaml",
    "conda*.yml",
    "conda*.yaml",
)

# Lock files of large projects have some megabytes; what is larger is none.
_MOST_BYTES = 64 << 20

_VERSION = r"""["']?=*(\d+(?:\.\d+)+[\w.+-]*)["']?"""
# Strings, since few runs come across such a file, and compiling them takes long.
_TOML_ENTRY = rf"(?mi)^name\s*=\s*[\"']warp[-_.]lang[\"']\s*\n(?:[^\[\n].*\n)*?version\s*=\s*{_VERSION}"
# An address of a package, or its name and version in the lines of one entry.
_YAML_ENTRY = rf"(?i)warp[-_]lang-(\d+(?:\.\d+)+)|name:\s*warp-lang\s*\n\s*version:\s*{_VERSION}"
_JSON_ENTRY = rf"(?i)\"warp[-_.]lang\"\s*:\s*\{{[^{{}}]*?\"version\"\s*:\s*{_VERSION}"
# `- warp-lang=1.16`, `- conda-forge::warp-lang >=1.5`, and the same below `- pip:`.
_YAML_ITEM = r"""(?mi)^\s*-\s*["']?(?:[\w./-]+::)?(warp[-_.]lang\b[^"'#\n]*)"""


def naming(folder: Path) -> list[Path]:
    """The files of a folder that may say which Warp the code is for."""
    return _matching(folder, (*LOCKS, *ASKING))


def locks(folder: Path) -> list[Path]:
    """The lock files in a folder, in the order in which they count."""
    return _matching(folder, LOCKS)


def locked(path: Path) -> str | None:
    """The version of Warp in a lock file; the newest where it holds several, for several platforms or Pythons."""
    text = _text(path)
    if text is None:
        return None
    pattern = {".lock": _TOML_ENTRY, ".toml": _TOML_ENTRY, ".yml": _YAML_ENTRY}[path.suffix]
    pattern = {"pixi.lock": _YAML_ENTRY, "Pipfile.lock": _JSON_ENTRY}.get(path.name, pattern)
    found = [next(filter(None, match.groups())) for match in re.finditer(pattern, text)]
    return max(found, key=lambda version: [int(part) for part in re.findall(r"\d+", version)], default=None)


def asked_in(folder: Path) -> Iterator[tuple[Path, list[str]]]:
    """The files in one folder that ask for Warp, and their requirements on it, as PEP 508 or Poetry spells them."""
    for path in _matching(folder, ASKING):
        text = _text(path)
        if text is not None and re.search(NAME, text):
            found = [" ".join(item.split()) for item in _requirements(path, text)]
            found = [item for item in found if re.match(NAME, item)]
            if found:
                yield path, found


def _matching(folder: Path, patterns: Iterable[str]) -> list[Path]:
    """The files of a folder, and of its folder ``requirements``, by the first pattern that they match."""
    names = _names(folder)
    if "requirements" in names:
        names += [f"requirements/{name}" for name in _names(folder / "requirements")]
    found = (name for pattern in patterns for name in names if _is_like(name, pattern))
    return [folder / name for name in dict.fromkeys(found)]


def _is_like(name: str, pattern: str) -> bool:
    """Whether a name matches a pattern that has one ``*``, which is for no slash, or none."""
    if name.count("/") != pattern.count("/"):
        return False
    start, star, end = os.path.normcase(pattern).partition("*")
    name = os.path.normcase(name)
    return (
        name.startswith(start) and name.endswith(end) and len(name) >= len(start) + len(end) if star else name == start
    )


def _names(folder: Path) -> list[str]:
    try:
        return sorted(os.listdir(folder))
    except OSError:
        return []


def _requirements(path: Path, text: str) -> Iterable[str]:
    if path.name == "setup.cfg":
        return _setup_cfg(text)
    if path.suffix == ".py":
        return _setup_py(text)
    if path.suffix == ".toml" or path.name == "Pipfile":
        return _toml(path.name, text)
    if path.suffix in (".yml", ".yaml"):
        return (_from_conda(match[1]) for match in re.finditer(_YAML_ITEM, text))
    # what pip-tools writes goes on over lines, with hashes
    return (re.split(r"\s--|\s*\\$", line.strip())[0] for line in text.split("\n"))


def _text(path: Path) -> str | None:
    try:
        if not path.is_file() or path.stat().st_size > _MOST_BYTES:
            return None
        return path.read_text(encoding="utf-8", errors="replace").replace("\r\n", "\n")
    except OSError:
        return None


def _from_conda(item: str) -> str:
    """A requirement of conda as pip would have it: ``warp-lang=1.16=build`` takes any 1.16, and spaces part clauses."""
    item = re.sub(r"(?<![<>!~=])=\s*(\d[\w.]*?)\.?\*?(?:=\S*)?\s*$", r"==\1.*", item.strip())
    name, _, rest = item.partition(" ")
    return f"{name}=={rest.split()[0]}" if re.match(r"\s*\d", rest) else item


# --- manifests ---


def _toml(name: str, text: str) -> Iterator[str]:
    from warplint.settings.toml import TOMLDecodeError, loads

    try:
        document = loads(text)
    except TOMLDecodeError:
        return  # whoever needs this file complains about it
    if name == "Pipfile":
        for title, table in document.items():
            if title not in ("requires", "pipenv", "scripts", "source"):
                yield from _by_name(table)
    elif name == "pixi.toml":
        yield from _pixi(document)
    else:
        yield from _pyproject(document)


def _pyproject(document: Mapping[str, Any]) -> Iterator[str]:
    project, tool = _table(document, "project"), _table(document, "tool")
    yield from _strings(project.get("dependencies"))
    lists = [_table(project, "optional-dependencies"), _table(document, "dependency-groups")]
    lists.append(_table(_table(tool, "pdm"), "dev-dependencies"))
    for groups in lists:
        for items in groups.values():
            yield from _strings(items)
    for key in ("dev-dependencies", "constraint-dependencies", "override-dependencies"):
        yield from _strings(_table(tool, "uv").get(key))
    for environment in _table(_table(tool, "hatch"), "envs").values():
        for key in ("dependencies", "extra-dependencies"):
            yield from _strings(environment.get(key) if isinstance(environment, Mapping) else None)
    poetry = _table(tool, "poetry")
    yield from _by_name(_table(poetry, "dependencies"))
    yield from _by_name(_table(poetry, "dev-dependencies"))
    for group in _table(poetry, "group").values():
        yield from _by_name(_table(group, "dependencies"))
    yield from _pixi(_table(tool, "pixi"))


def _pixi(document: Mapping[str, Any]) -> Iterator[str]:
    features = [document, *_table(document, "feature").values()]
    for feature in [*features, *(target for one in features for target in _table(one, "target").values())]:
        for key in ("dependencies", "pypi-dependencies"):
            yield from _by_name(_table(feature, key))


def _by_name(table: object) -> Iterator[str]:
    """Requirements in a table: a version by the name, or tables (of Poetry, one for every marker) that hold one."""
    for name, value in table.items() if isinstance(table, Mapping) else ():
        for one in value if isinstance(value, list) else [value]:
            told = one.get("version") or _address(one) if isinstance(one, Mapping) else one
            if isinstance(told, str):
                yield f"{name} {told}"


def _address(table: Mapping[str, Any]) -> str | None:
    if isinstance(table.get("url"), str):
        return f"@ {table['url']}"
    tag = table.get("tag") or table.get("ref") or table.get("rev")
    return f"@ {table['git']}@{tag}" if isinstance(table.get("git"), str) and tag else None


def _table(value: Any, key: str) -> Mapping[str, Any]:
    found = value.get(key) if isinstance(value, Mapping) else None
    return found if isinstance(found, Mapping) else {}


def _strings(value: object) -> Iterable[str]:
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []


def _setup_cfg(text: str) -> Iterator[str]:
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


def _setup_py(text: str) -> Iterator[str]:
    """The strings in a ``setup.py`` that could be requirements: it is read, and nothing of it is run."""
    import ast

    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return
    for node in ast.walk(tree):
        # the name alone is more often a key or a title than a requirement
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and re.search(r"\d", node.value):
            yield node.value
