"""Configuration files: the nearest ``warplint.toml`` or ``pyproject.toml`` with a ``[tool.warplint]`` table.

Each linted file is governed by the configuration nearest to it, going up from its folder. A
``pyproject.toml`` without the table does not count and the search goes on above it.
"""

from __future__ import annotations

import difflib
import re
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from warplint.ir.facts import Problem
from warplint.ir.spans import displayed
from warplint.settings.options import Selectors

DEVICE = re.compile(r"auto|cpu|cuda:\d+")
#: The keys of the table, and what each must be.
KEYS = {
    "select": "a list of strings",
    "extend-select": "a list of strings",
    "ignore": "a list of strings",
    "exclude": "a list of strings",
    "probe": "true or false",
    "device": "`auto`, `cpu` or `cuda:N`",
}


@dataclass(frozen=True, slots=True)
class Configuration:
    """What one configuration file says. ``path`` is None for the defaults.

    ``exclude`` holds patterns in the form of a ``.gitignore`` file, relative to the folder of ``path``.
    """

    path: Path | None = None
    selectors: Selectors = field(default_factory=Selectors)
    exclude: tuple[str, ...] = ()
    probe: bool | None = None
    device: str | None = None


DEFAULTS = Configuration()


class Configurations:
    """The configuration that governs each folder. Every file is read once, and complained about once."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []
        self._nearest: dict[Path, Configuration] = {}

    def nearest(self, folder: Path) -> Configuration:
        """The configuration for the files in ``folder`` (an absolute path)."""
        known = self._nearest.get(folder)
        if known is None:
            known = self._in(folder)
            if known is None:
                known = DEFAULTS if folder.parent == folder else self.nearest(folder.parent)
            self._nearest[folder] = known
        return known

    def _in(self, folder: Path) -> Configuration | None:
        """The configuration that ``folder`` itself holds, or None."""
        for name in ("warplint.toml", "pyproject.toml"):
            path = folder / name
            if not path.is_file():
                continue
            try:
                text = path.read_bytes()
            except OSError as error:
                self._complain(path, f"cannot read the configuration: {error.strerror}")
                continue
            # Most pyproject.toml files say nothing about warplint: don't parse them, and leave their mistakes alone.
            if name == "pyproject.toml" and b"warplint" not in text:
                continue
            table = self._table(path, text, nested=name == "pyproject.toml")
            if table is not None:
                return self._configuration(path, table)
        return None

    def _table(self, path: Path, text: bytes, nested: bool) -> Mapping[str, object] | None:
        """The table of warplint's keys in ``text``, None where there is none (complained about if broken)."""
        # Late: most runs read no configuration.
        if sys.version_info >= (3, 11):
            import tomllib
        else:
            import tomli as tomllib
        try:
            document = tomllib.loads(text.decode("utf-8"))
        except UnicodeDecodeError:
            self._complain(path, "the configuration is not UTF-8; save it as UTF-8")
            return {}
        except tomllib.TOMLDecodeError as error:
            what, line, column = _toml_position(str(error))
            self._complain(path, f"broken TOML: {what}; files below it are linted with the defaults", line, column)
            return {}
        if not nested:
            return document
        tool = document.get("tool")
        table = tool.get("warplint") if isinstance(tool, dict) else None
        if table is not None and not isinstance(table, dict):
            self._complain(path, "`tool.warplint` must be a table: write `[tool.warplint]`")
            return {}
        return table

    def _configuration(self, path: Path, table: Mapping[str, object]) -> Configuration:
        values: dict[str, object] = {}
        for key, value in table.items():
            if key == "tool" and path.name == "warplint.toml":
                self._complain(path, "in this file the keys stand alone; take `[tool.warplint]` away")
            elif key not in KEYS:
                self._complain(path, f"unknown key `{key}`; {suggestion(key, KEYS)}")
            elif not _well_formed(key, value):
                self._complain(path, f"`{key}` must be {KEYS[key]}, not {value!r}")
            else:
                values[key] = tuple(value) if isinstance(value, list) else value
        return Configuration(
            path=path,
            selectors=Selectors(
                select=values.get("select"),  # type: ignore[arg-type]
                extend_select=values.get("extend-select", ()),  # type: ignore[arg-type]
                ignore=values.get("ignore", ()),  # type: ignore[arg-type]
            ),
            exclude=values.get("exclude", ()),  # type: ignore[arg-type]
            probe=values.get("probe"),  # type: ignore[arg-type]
            device=values.get("device"),  # type: ignore[arg-type]
        )

    def _complain(self, path: Path, message: str, line: int | None = None, column: int | None = None) -> None:
        self.problems.append(Problem(displayed(path), message, line, column))


def suggestion(word: str, known: Iterable[str]) -> str:
    """What to write instead of the unknown ``word``: ``did you mean `x`?``, or the list of what is known."""
    known = list(known)
    close = difflib.get_close_matches(word, known, n=1)
    if close:
        return f"did you mean `{close[0]}`?"
    return "known are " + ", ".join(f"`{name}`" for name in known)


def _well_formed(key: str, value: object) -> bool:
    if key == "probe":
        return isinstance(value, bool)
    if key == "device":
        return isinstance(value, str) and DEVICE.fullmatch(value) is not None
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def _toml_position(message: str) -> tuple[str, int | None, int | None]:
    """Take ``(at line 3, column 7)`` off a TOML error message."""
    match = re.search(r" \(at line (\d+), column (\d+)\)$", message)
    if match is None:
        return message.removesuffix(" (at end of document)"), None, None
    return message[: match.start()], int(match[1]), int(match[2])
