"""Configuration files: the nearest ``warplint.toml`` or ``pyproject.toml`` with a ``[tool.warplint]`` table.

Each linted file is governed by the configuration nearest to it, going up from its folder. A
``pyproject.toml`` without the table does not count and the search goes on above it. Files are merged only where one
says so with ``extend``.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import field
from functools import cached_property
from pathlib import Path
from typing import Any

from warplint.ir.facts import Problem
from warplint.ir.spans import displayed
from warplint.records import dataclass
from warplint.settings.ignores import IgnoreFile, parse_patterns
from warplint.settings.keys import KEYS, Value
from warplint.settings.options import Selectors

NAMES = ("warplint.toml", "pyproject.toml")
# `[tool.x]`, `[tool.x.y]`, `tool.x.y = 1` and `[warplint]`, so that a name that is nearly ours is not overlooked.
_TOOLS = rb"(?m)^\s*\[*\s*tool\s*\.\s*[\"']?([\w-]+)|^\s*\[\s*([Ww]arp[\w-]*)\s*[\].]"
# How alike the name of a table must be to ours to be taken for a slip; `pylint` and `warp` are not.
_SLIP = 0.8


@dataclass(frozen=True, slots=True)
class Table:
    """What one file says. Its relative paths and patterns are relative to ``folder``."""

    path: Path
    values: Mapping[str, Value]

    @property
    def folder(self) -> Path:
        """The folder of the file."""
        return self.path.parent

    @property
    def selectors(self) -> Selectors:
        """Its selection of rules."""
        values: Any = self.values
        return Selectors(values.get("select"), values.get("extend-select", ()), values.get("ignore", ()))


@dataclass(frozen=True, eq=False)
class Configuration:
    """What governs some files: the tables of a file and of those that it extends, the file itself last."""

    tables: tuple[Table, ...] = ()
    #: The folders that ``src`` and ``extend-rules`` name are checked when the file is read.
    problems: list[Problem] = field(default_factory=list)

    @property
    def path(self) -> Path | None:
        """The file; None for the defaults."""
        return self.tables[-1].path if self.tables else None

    def given(self, key: str) -> tuple[Table, ...]:
        """The tables whose value of ``key`` counts, in their order: all for a key that adds, else the last."""
        tables = tuple(table for table in self.tables if key in table.values)
        return tables if KEYS[key].adds else tables[-1:]

    def value(self, key: str) -> Any:
        """The value of a key that one file alone decides; None if none does."""
        tables = self.given(key)
        return tables[-1].values[key] if tables else None

    @cached_property
    def selectors(self) -> tuple[Selectors, ...]:
        """The selections of rules, one a table. A ``select`` replaces the selections before it, not what they ignore;
        an ``ignore`` replaces the ones before it."""
        layers: list[Selectors] = []
        for table in self.tables:
            own = table.selectors
            if own.select is not None:
                layers = [Selectors(ignore=layer.ignore) for layer in layers]
            if "ignore" in table.values:
                layers = [Selectors(layer.select, layer.extend_select) for layer in layers]
            layers.append(own)
        return tuple(layers)

    @property
    def probe(self) -> bool | None:
        """Whether to probe; None if no file says."""
        return self.value("probe")  # type: ignore[no-any-return]

    @property
    def device(self) -> str | None:
        """Where to probe; None if no file says."""
        return self.value("device")  # type: ignore[no-any-return]

    @property
    def probe_import(self) -> bool | None:
        """Whether a probe may import from the project; None if no file says."""
        return self.value("probe-import")  # type: ignore[no-any-return]

    @property
    def probe_native(self) -> bool | None:
        """Whether a probe may run native snippets; None if no file says."""
        return self.value("probe-native")  # type: ignore[no-any-return]

    @property
    def reach(self) -> tuple[str, ...] | None:
        """Whose findings are listed; None if no file says."""
        return self.value("reach")  # type: ignore[no-any-return]

    @property
    def fail_on(self) -> str | None:
        """From which severity on findings fail the run; None if no file says."""
        return self.value("fail-on")  # type: ignore[no-any-return]

    @property
    def warp_version(self) -> str | None:
        """The version of Warp that the code is for; None if no file says."""
        return self.value("warp-version")  # type: ignore[no-any-return]

    def folders(self, key: str) -> tuple[Path, ...]:
        """The folders that ``src`` or ``extend-rules`` name, as absolute paths."""
        return tuple(
            Path(os.path.normpath(table.folder / str(name)))
            for table in self.given(key)
            for name in table.values[key]  # type: ignore[union-attr]
        )

    @cached_property
    def severities(self) -> tuple[Mapping[str, str], ...]:
        """Severities by words for rules, a later table before an earlier one among equally exact words."""
        return tuple(table.values["severity"] for table in self.given("severity"))  # type: ignore[misc]

    @cached_property
    def excludes(self) -> tuple[IgnoreFile, ...]:
        """The patterns of ``exclude`` and ``extend-exclude``; malformed ones are among ``problems``."""
        return tuple(
            patterns
            for key in ("exclude", "extend-exclude")
            for table in self.given(key)
            if (patterns := self._patterns(table, key, table.values[key])) is not None  # type: ignore[arg-type]
        )

    @cached_property
    def _file_ignores(self) -> tuple[tuple[IgnoreFile, bool, tuple[str, ...]], ...]:
        found = []
        for table in self.given("per-file-ignores"):
            values: Any = table.values["per-file-ignores"]
            for pattern, words in values.items():
                others = pattern.startswith("!")
                patterns = self._patterns(table, "per-file-ignores", (pattern.removeprefix("!"),))
                if patterns is not None:
                    found.append((patterns, others, words))
        return tuple(found)

    def ignored_in(self, path: Path) -> tuple[str, ...]:
        """The words for rules that ``per-file-ignores`` takes away from a file."""
        words: list[str] = []
        for patterns, others, some in self._file_ignores:
            if bool(patterns.covers(str(path))) != others:
                words += some
        return tuple(words)

    def _patterns(self, table: Table, key: str, lines: tuple[str, ...]) -> IgnoreFile | None:
        try:
            return parse_patterns(str(table.folder), lines)
        except ValueError as error:
            self.problems.append(Problem(displayed(table.path), f"`{key}` holds a malformed pattern: {error}"))
            return None


DEFAULTS = Configuration()


class Configurations:
    """The configuration that governs each folder. Every file is read once, and complained about once.

    ``only`` is a file that governs everything; ``isolated`` means that no file is looked for.
    """

    def __init__(self, only: Path | None = None, isolated: bool = False) -> None:
        self._problems: list[Problem] = []
        self._nearest: dict[Path, Configuration] = {}
        self._files: dict[Path, Configuration | None] = {}
        self._fixed: Configuration | None = DEFAULTS if isolated else None
        if only is not None:
            self._fixed = self._read(Path(os.path.abspath(only)), must=True) or DEFAULTS

    @property
    def problems(self) -> list[Problem]:
        """What is wrong with the files that were read."""
        found = list(self._problems)
        for configuration in dict.fromkeys(self._nearest.values()):
            found += configuration.problems
        return found

    def nearest(self, folder: Path) -> Configuration:
        """The configuration for the files in ``folder`` (an absolute path)."""
        known = self._nearest.get(folder)
        if known is None:
            known = self._fixed or self._in(folder)
            if known is None:
                known = DEFAULTS if folder.parent == folder else self.nearest(folder.parent)
            self._nearest[folder] = known
        return known

    def _in(self, folder: Path) -> Configuration | None:
        """The configuration that ``folder`` itself holds, or None."""
        for name in NAMES:
            path = folder / name
            if path.is_file():
                found = self._read(path)
                if found is not None:
                    return found
        return None

    def _read(self, path: Path, must: bool = False, below: tuple[Path, ...] = ()) -> Configuration | None:
        """What a file says with all that it extends; None if it is a ``pyproject.toml`` without the table, which is
        complained about where there ``must`` be one. ``below`` are the files that extend it."""
        if path in self._files:
            return self._files[path]
        self._files[path] = None
        try:
            text = path.read_bytes()
        except OSError as error:
            self._complain(path, f"cannot read the configuration: {error.strerror or error}; check the path")
            return None
        nested = path.name != "warplint.toml" and (path.name == "pyproject.toml" or b"tool.warplint" in text)
        # Most pyproject.toml files say nothing about warplint: don't parse them, and leave their mistakes alone.
        values: Mapping[str, object] | None = None
        if not nested or b"warplint" in text:
            values = self._table(path, text, nested)
        if nested and values is None:
            self._look_for_slips(path, text)
            if must:
                self._complain(path, "there is no `[tool.warplint]` table in this file; add it or name another file")
            return None
        assert values is not None
        table = Table(path, self._checked(path, values))
        extended = self._extended(table, (*below, path))
        self._files[path] = Configuration((*extended, table))
        return self._files[path]

    def _extended(self, table: Table, below: tuple[Path, ...]) -> tuple[Table, ...]:
        """The tables of the file that ``table`` extends."""
        name = table.values.get("extend")
        if not isinstance(name, str):
            return ()
        path = Path(os.path.normpath(table.folder / os.path.expanduser(name)))
        if path in below:
            self._complain(table.path, f"`extend` leads in a circle, back to {displayed(path)}; take one of them away")
            return ()
        if not path.is_file():
            self._complain(table.path, f"`extend` names {name!r}, which is no file; correct the path")
            return ()
        found = self._read(path, must=True, below=below)
        return found.tables if found is not None else ()

    def _look_for_slips(self, path: Path, text: bytes) -> None:
        """Complain about a table that is nearly named as ours: it would have no effect, silently."""
        from difflib import SequenceMatcher

        for match in re.finditer(_TOOLS, text):
            line = text.count(b"\n", 0, match.start(match.lastindex or 0)) + 1
            name = (match[1] or match[2]).decode()
            if match[2] is not None and name.lower() == "warplint":
                self._complain(path, f"`[{name}]` has no effect; write `[tool.warplint]`", line)
                return
            if SequenceMatcher(None, name.lower(), "warplint").ratio() >= _SLIP:
                head = "tool." if match[1] is not None else ""
                self._complain(path, f"`{head}{name}` has no effect; did you mean `[tool.warplint]`?", line)
                return

    def _table(self, path: Path, text: bytes, nested: bool) -> Mapping[str, object] | None:
        """The table of warplint's keys in ``text``, None where there is none (complained about if broken)."""
        # Late: most runs read no configuration.
        from warplint.settings.toml import TOMLDecodeError, loads

        try:
            document = loads(text.decode("utf-8"))
        except UnicodeDecodeError:
            self._complain(path, "the configuration is not UTF-8; save it as UTF-8")
            return {}
        except TOMLDecodeError as error:
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

    def _checked(self, path: Path, table: Mapping[str, object]) -> Mapping[str, Value]:
        values: dict[str, Value] = {}
        for key, value in table.items():
            known = KEYS.get(key)
            if key == "tool" and path.name == "warplint.toml":
                self._complain(path, "in this file the keys stand alone; take `[tool.warplint]` away")
            elif known is None:
                self._complain(path, f"unknown key `{key}`; {suggestion(key, KEYS)}", line_naming(path, key))
            else:
                read = known.form.read(value)
                if read is None:
                    message = f"`{key}` must be {known.form.words}, not {value!r}"
                    self._complain(path, message, line_naming(path, key))
                else:
                    values[key] = read
        for key in ("extend-rules", "src"):
            names = values.get(key, ())
            for name in names if isinstance(names, tuple) else ():
                if not (path.parent / name).is_dir():
                    message = f"`{key}` names {name!r}, which is no folder; correct the path"
                    self._complain(path, message, line_naming(path, key))
                    values[key] = tuple(other for other in values[key] if other != name)  # type: ignore[union-attr]
        return values

    def _complain(self, path: Path, message: str, line: int | None = None, column: int | None = None) -> None:
        self._problems.append(Problem(displayed(path), message, line, column))


def line_naming(path: Path, word: str) -> int | None:
    """The first line of a configuration file that holds ``word``, comments aside; None if none does."""
    pattern = re.compile(rf"(?<![\w-]){re.escape(word)}(?![\w-])")
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError):
        return None
    for number, line in enumerate(lines, 1):
        if not line.lstrip().startswith("#") and pattern.search(line):
            return number
    return None


def suggestion(word: str, known: Iterable[str]) -> str:
    """What to write instead of the unknown ``word``: ``did you mean `x`?``, or the list of what is known."""
    import difflib

    known = list(known)
    close = difflib.get_close_matches(word.lower().replace("_", "-"), known, n=1)
    if close:
        return f"did you mean `{close[0]}`?"
    return "known are " + ", ".join(f"`{name}`" for name in known)


def _toml_position(message: str) -> tuple[str, int | None, int | None]:
    """Take ``(at line 3, column 7)`` off a TOML error message."""
    match = re.search(r" \(at line (\d+), column (\d+)\)$", message)
    if match is None:
        return message.removesuffix(" (at end of document)"), None, None
    return message[: match.start()], int(match[1]), int(match[2])
