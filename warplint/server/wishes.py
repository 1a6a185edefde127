"""The editor's settings, in the form that clients send them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from warplint.records import dataclass
from warplint.server.checking import Asked
from warplint.settings.keys import DEVICE
from warplint.settings.options import Selectors


@dataclass(frozen=True, slots=True)
class Wish:
    """One setting: its key, what may be said (texts, ``list``, ``bool`` or ``str``), and what holds if nothing is."""

    key: str
    values: tuple[str, ...] | type
    default: object
    means: str


WISHES = (
    Wish("select", list, None, "Apply these rules only."),
    Wish("extendSelect", list, None, "Apply these rules as well."),
    Wish("ignore", list, None, "Do not apply these rules."),
    Wish("config", str, None, "A configuration file for everything."),
    Wish("minSeverity", ("error", "warning", "info"), "warning", "Show findings of this severity and worse."),
    Wish(
        "probe",
        ("save", "manual", "off"),
        "save",
        "When findings are probed: on saving, by command only, or not at all.",
    ),
    Wish("device", str, None, "Where the probe runs: auto, cpu or cuda:N."),
    Wish("showRefuted", bool, False, "Also show what the probe refuted."),
    Wish(
        "diagnostics",
        ("open", "workspace"),
        "open",
        "Show findings in open files, or in all files of the workspace, as they are on disk.",
    ),
)


def asked_for(wishes: Mapping[str, Any]) -> Asked:
    """What ``wishes`` ask for; what makes no sense is left out, for an editor's settings are never an error."""
    said = {wish.key: _sensible(wish, wishes.get(wish.key)) for wish in WISHES}
    device = said["device"]
    return Asked(
        Selectors(said["select"] or None, said["extendSelect"] or (), said["ignore"] or ()),
        said["config"],
        said["minSeverity"],
        said["probe"],
        device if device is not None and DEVICE.fullmatch(device) else None,
        said["showRefuted"],
        said["diagnostics"],
    )


def _sensible(wish: Wish, value: object) -> Any:
    if wish.values is list:
        some = value if isinstance(value, list) else ()
        return tuple(word for word in some if isinstance(word, str) and word)
    if wish.values is str:
        return value if isinstance(value, str) and value else wish.default
    if wish.values is bool:
        return value if isinstance(value, bool) else wish.default
    assert isinstance(wish.values, tuple)
    return value if isinstance(value, str) and value in wish.values else wish.default
