"""The findings in files that are not open, where the editor asks for those of the whole workspace."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lsprotocol import types

from warplint.server import messages
from warplint.server.orders import Order, carried_out
from warplint.server.progress import with_progress

if TYPE_CHECKING:
    from warplint.server.serving import Server

# Files change in crowds: how long to wait for the rest of them, in seconds.
_PAUSE = 0.5


class Survey:
    """Has the folders of the workspace linted as they are on disk, each as the command line does it."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._found: dict[Path, list[types.Diagnostic]] = {}
        self._task: asyncio.Task[None] | None = None
        self._due = False

    def again(self) -> None:
        """Something has changed on disk, or the settings have."""
        if not self._server.started or (self._server.asked.diagnostics != "workspace" and not self._found):
            return
        self._due = True
        if self._task is None or self._task.done():
            self._task = self._server.start(self._survey())

    def files(self) -> list[Path]:
        """The files that something was found in."""
        return sorted(self._found)

    def in_file(self, path: Path) -> list[types.Diagnostic]:
        """What was found in a file."""
        return self._found.get(path, [])

    async def _survey(self) -> None:
        server = self._server
        while self._due:
            await asyncio.sleep(_PAUSE)
            self._due = False
            found: dict[Path, list[types.Diagnostic]] = {}
            if server.asked.diagnostics == "workspace":
                for root in server.roots():
                    found |= await self._in_folder(root)
            if self._due:
                continue
            before, self._found = self._found, found
            changed = {path for path in found.keys() | before.keys() if found.get(path) != before.get(path)}
            unopened = [path for path in sorted(changed) if server.open_at(path) is None]
            for path in unopened:
                server.publish_unopened(path)
            if unopened and server.pulls:
                server.language.workspace_diagnostic_refresh(None)

    async def _in_folder(self, root: Path) -> dict[Path, list[types.Diagnostic]]:
        asked = self._server.asked
        order = Order(
            root=str(root),
            config=asked.config,
            select=asked.selectors.select,
            extend_select=asked.selectors.extend_select,
            ignore=asked.selectors.ignore,
            min_severity=asked.min_severity,
            encoding=self._server.encoding,
        )
        said: Mapping[str, Any] | None = await with_progress(
            self._server.language, f"warplint: reading {root.name}", lambda said: None, partial(carried_out, order)
        )
        if said is None or "problem" in said:
            self._server.log(f"reading {root}: {said['problem'] if said else 'it ended without an answer'}")
        found: dict[Path, list[types.Diagnostic]] = {}
        for name, some in (said or {}).get("files", {}).items():
            path = Path(name)
            rules = await self._server.calculated(self._server.checker(path).rules, path)
            pages = {
                rule.id: self._server.pages.of(rule) for rule in rules if any(one["code"] == rule.id for one in some)
            }
            found[path] = [messages.of_plain(one, pages.get(one["code"])) for one in some]
        return found
