"""``--watch``: when to lint again."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

from warplint.settings.configuration import Configurations
from warplint.settings.discovery import discover
from warplint.settings.options import Options

# Seconds between two looks, and how much longer than a look itself the pause is at least.
_PAUSE, _SHARE = 0.3, 4.0


def changes(options: Options) -> Iterator[None]:
    """Yields at once, and then whenever a linted file, or a configuration of one, came, went or was written."""
    seen = _state(options)
    yield
    while True:
        started = time.monotonic()
        now = _state(options)
        if now != seen:
            seen = now
            yield
            continue
        time.sleep(max(_PAUSE, _SHARE * (time.monotonic() - started)))


def _state(options: Options) -> dict[Path, int]:
    """When each file was written."""
    configurations = Configurations(Path(options.config) if options.config is not None else None, options.isolated)
    files = discover(options.paths, configurations, options.force_exclude, options.exclude).files
    governing = {configurations.nearest(folder) for folder in {path.parent for path in files}}
    found: dict[Path, int] = {}
    for path in (*files, *(table.path for configuration in governing for table in configuration.tables)):
        try:
            found[path] = path.stat().st_mtime_ns
        except OSError:  # it went meanwhile
            continue
    return found
