"""Which version of Warp the linted code is for, and what says so.

What says so first counts: the command line, the configuration, the Warp in the environment that is named or active,
the project's own lock or requirement; and where nothing does, it is the newest version that warplint knows.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from warplint.ir.spans import displayed
from warplint.records import dataclass
from warplint.settings.configuration import Configuration
from warplint.settings.installed import active_environment, is_tool_environment, warp_among, warp_beside
from warplint.settings.requirements import NEWEST, required


@dataclass(frozen=True, slots=True)
class WarpVersion:
    """A version (``1.16``, ``1.16.0``) and, in a few words, what says that it is the one."""

    version: str
    source: str


def installed_warp() -> str | None:
    """The version of the Warp beside warplint, which runs the probe; not imported, and None if there is none."""
    for folder in filter(None, sys.path):
        version = warp_among(folder)
        if version is not None:
            return version
    return None


class WarpVersions:
    """The version of Warp for each file.

    ``given`` is what the command line says and ``python`` the environment that it points at; ``beside`` is the version
    beside warplint itself, asked for only where the environment that runs it is the active one.

    Raises EnvironmentUnusable where ``python`` is no environment.
    """

    def __init__(
        self,
        given: str | None = None,
        python: str | None = None,
        variables: Mapping[str, str] | None = None,
        beside: Callable[[], str | None] = installed_warp,
    ) -> None:
        self._given = given
        self._python = python
        self._variables = os.environ if variables is None else variables
        self._beside = beside
        self._known: dict[tuple[Configuration, Path], WarpVersion] = {}
        self._environment: WarpVersion | None = None
        self._looked = False
        if python is not None:
            self._in_environment()

    def of(self, configuration: Configuration, folder: Path) -> WarpVersion:
        """The version for the files in ``folder`` (an absolute path), which ``configuration`` governs."""
        key = (configuration, folder)
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = self._find(configuration, folder)
        return known

    def _find(self, configuration: Configuration, folder: Path) -> WarpVersion:
        if self._given is not None:
            return WarpVersion(self._given, "`--warp-version` says so")
        tables = configuration.given("warp-version")
        if tables:
            return WarpVersion(
                str(tables[-1].values["warp-version"]), f"`warp-version` in {displayed(tables[-1].path)} says so"
            )
        found = self._in_environment()
        if found is not None:
            return found
        asked = required(folder)
        if asked is not None:
            return WarpVersion(*asked)
        return WarpVersion(NEWEST, "the newest that warplint knows, as nothing says which is used")

    def _in_environment(self) -> WarpVersion | None:
        if not self._looked:
            self._looked = True
            self._environment = self._look()
        return self._environment

    def _look(self) -> WarpVersion | None:
        if self._python is not None:
            version = warp_beside(self._python)
            return None if version is None else WarpVersion(version, f"installed for `{self._python}`")
        active = active_environment(self._variables)
        if active is not None:
            # What is broken there is for whoever activated it to find out.
            version = _quietly(active)
            return None if version is None else WarpVersion(version, f"installed in the active environment {active}")
        if is_tool_environment(sys.prefix, self._variables):
            return None
        version = self._beside()
        return None if version is None else WarpVersion(version, "installed beside warplint")


def _quietly(folder: str) -> str | None:
    from warplint.settings.installed import EnvironmentUnusable

    try:
        return warp_beside(folder)
    except EnvironmentUnusable:
        return None


def series(version: str) -> tuple[int, int]:
    """The first two numbers of a version, which decide what Warp does: (1, 16) for ``1.16.0``."""
    import re

    numbers = [int(part) for part in re.findall(r"\d+", version)[:2]]
    return (numbers[0], numbers[1]) if len(numbers) > 1 else (numbers[0] if numbers else 0, 0)
