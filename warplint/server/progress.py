"""Showing that something is under way."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from lsprotocol import types
from pygls.lsp.server import LanguageServer

from warplint.server.orders import Heard

# How long an editor may take to show a progress bar, in seconds.
_PATIENCE = 2.0


async def with_progress(
    language: LanguageServer, title: str, heard: Heard, work: Callable[[Heard], Awaitable[Mapping[str, Any] | None]]
) -> Mapping[str, Any] | None:
    """Do ``work``, and show what it says of its progress; ``heard`` gets everything else that it says meanwhile."""
    window = language.client_capabilities.window
    progress = language.work_done_progress
    token = f"warplint-{os.urandom(8).hex()}"
    shown = window is not None and bool(window.work_done_progress)
    if shown:
        try:
            await asyncio.wait_for(progress.create_async(token), _PATIENCE)
        except Exception:  # an editor that does not answer, or refuses: the work is done all the same
            shown = False
    if shown:
        progress.begin(token, types.WorkDoneProgressBegin(title, cancellable=False))

    def told(said: Mapping[str, Any]) -> None:
        if "progress" not in said:
            heard(said)
        elif shown:
            progress.report(token, types.WorkDoneProgressReport(message=str(said["progress"])))

    try:
        return await work(told)
    finally:
        if shown:
            progress.end(token, types.WorkDoneProgressEnd())
