"""The keys of a configuration: what each must be and what it is for. Errors, schema and documentation use them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Union

from warplint.records import dataclass

Value = Union[bool, str, tuple[str, ...], Mapping[str, str], Mapping[str, tuple[str, ...]]]

DEVICE = re.compile(r"auto|cpu|cuda:\d+")
VERSION = re.compile(r"\d+(\.\d+)*")
SEVERITIES = ("error", "warning", "info")
FAIL_ON = (*SEVERITIES, "never")
REACHES = ("taped", "library", "untaped")

#: A piece of a JSON schema.
Schema = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Form:
    """What a value must be, in words and as a JSON schema. ``read`` gives the value, None if it is something else."""

    words: str
    schema: Schema
    read: Callable[[object], Value | None]


@dataclass(frozen=True, slots=True)
class Key:
    """One key. ``default`` is shown where nothing is configured. Keys that ``add`` go on with what was extended."""

    form: Form
    purpose: str
    default: str
    adds: bool = False


def _texts(value: object) -> tuple[str, ...] | None:
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return tuple(value)
    return None


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None


def _boolean(value: object) -> bool | None:
    return value if isinstance(value, bool) else None


def _matching(pattern: re.Pattern[str]) -> Callable[[object], str | None]:
    return lambda value: value if isinstance(value, str) and pattern.fullmatch(value) else None


def _among(choices: tuple[str, ...]) -> Callable[[object], str | None]:
    return lambda value: value if isinstance(value, str) and value in choices else None


def _all_among(choices: tuple[str, ...]) -> Callable[[object], tuple[str, ...] | None]:
    def read(value: object) -> tuple[str, ...] | None:
        found = _texts(value)
        return found if found and all(item in choices for item in found) else None

    return read


def _severities(value: object) -> Mapping[str, str] | None:
    if isinstance(value, dict) and all(item in SEVERITIES for item in value.values()):
        return dict(value)
    return None


def _by_pattern(value: object) -> Mapping[str, tuple[str, ...]] | None:
    if not isinstance(value, dict):
        return None
    found = {key: _texts(item) for key, item in value.items()}
    return {key: item for key, item in found.items() if item is not None} if None not in found.values() else None


def _listed(choices: tuple[str, ...]) -> str:
    return ", ".join(f"`{choice}`" for choice in choices[:-1]) + f" or `{choices[-1]}`"


_STRINGS: Schema = {"type": "array", "items": {"type": "string"}}
_LIST = Form("a list of strings", _STRINGS, _texts)

KEYS: Mapping[str, Key] = {
    "extend": Key(
        Form("the path of a configuration file", {"type": "string", "minLength": 1}, _text),
        "Another configuration file that this one goes on from. Lists here replace the lists there, tables are merged, "
        "and the keys that begin with `extend-` add to what is there.",
        "none",
    ),
    "select": Key(_LIST, "The rules that apply: codes, names, beginnings of codes, families, `ALL`.", "all but a few"),
    "extend-select": Key(_LIST, "Rules that apply as well.", "[]", adds=True),
    "ignore": Key(_LIST, "Rules that do not apply.", "[]"),
    "per-file-ignores": Key(
        Form(
            'a table from patterns to lists of rules, as `"tests/" = ["WP1"]`',
            {"type": "object", "additionalProperties": _STRINGS},
            _by_pattern,
        ),
        "Rules that do not apply to the files that match a pattern; `!pattern` means all other files.",
        "{}",
        adds=True,
    ),
    "severity": Key(
        Form(
            f'a table from rules to {_listed(SEVERITIES)}, as `WP104 = "warning"`',
            {"type": "object", "additionalProperties": {"enum": list(SEVERITIES)}},
            _severities,
        ),
        "How bad the findings of a rule are where a tape runs the code; elsewhere they stay a step below.",
        "as the rules say",
        adds=True,
    ),
    "extend-rules": Key(_LIST, "Folders with rule files of your own, relative to this file.", "[]", adds=True),
    "exclude": Key(_LIST, "Files and folders to leave out, as in a .gitignore file.", "[]"),
    "extend-exclude": Key(_LIST, "Files and folders to leave out as well.", "[]", adds=True),
    "src": Key(_LIST, "Folders where absolute imports are looked for, relative to this file.", '[".", "src"]'),
    "warp-version": Key(
        Form("a version, as `1.16`", {"type": "string", "pattern": f"^{VERSION.pattern}$"}, _matching(VERSION)),
        "The version of Warp that the code is for. Where nobody says, it is that of the environment, else what the "
        "project's lock or requirement names, else the newest that is known.",
        "found out",
    ),
    "probe": Key(
        Form("true or false", {"type": "boolean"}, _boolean),
        "Whether a small program is run for each finding.",
        "true",
    ),
    "device": Key(
        Form("`auto`, `cpu` or `cuda:N`", {"type": "string", "pattern": f"^({DEVICE.pattern})$"}, _matching(DEVICE)),
        "Where it is run.",
        "auto",
    ),
    "probe-import": Key(
        Form("true or false", {"type": "boolean"}, _boolean),
        "Whether a probe may import modules of the project, and others that these import, where definitions cannot be "
        "cut out. That runs their code.",
        "false",
    ),
    "probe-native": Key(
        Form("true or false", {"type": "boolean"}, _boolean),
        "Whether a probe may compile and run native snippets.",
        "false",
    ),
    "reach": Key(
        Form(
            f"a list of {_listed(REACHES)}",
            {"type": "array", "items": {"enum": list(REACHES)}, "minItems": 1},
            _all_among(REACHES),
        ),
        "Whose findings are listed: of kernels that an analysed tape launches, that nothing launches, or that are "
        "launched outside tapes only.",
        "all",
    ),
    "fail-on": Key(
        Form(_listed(FAIL_ON), {"enum": list(FAIL_ON)}, _among(FAIL_ON)),
        "From which severity on a finding makes the exit status 1.",
        "warning",
    ),
}
