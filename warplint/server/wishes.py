"""The editor's settings, in the form that clients send them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from warplint.server.checking import Asked
from warplint.settings.keys import DEVICE, SEVERITIES
from warplint.settings.options import Selectors


def asked_for(wishes: Mapping[str, Any]) -> Asked:
    """What ``wishes`` ask for; what makes no sense is left out, for an editor's settings are never an error.

    ``select``, ``extendSelect``, ``ignore``: lists of rules. ``config``: a file. ``minSeverity``. ``probe``: ``save``,
    ``manual`` or ``off``. ``device``. ``showRefuted``.
    """
    select = _words(wishes.get("select"))
    severity, probe, device, config = (wishes.get(key) for key in ("minSeverity", "probe", "device", "config"))
    return Asked(
        Selectors(select or None, _words(wishes.get("extendSelect")), _words(wishes.get("ignore"))),
        config if isinstance(config, str) and config else None,
        severity if severity in SEVERITIES else "warning",
        probe if probe in ("save", "manual", "off") else "save",
        device if isinstance(device, str) and DEVICE.fullmatch(device) else None,
        wishes.get("showRefuted") is True,
    )


def _words(value: object) -> tuple[str, ...]:
    return tuple(word for word in value if isinstance(word, str) and word) if isinstance(value, list) else ()
