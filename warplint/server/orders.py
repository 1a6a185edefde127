"""Orders to a process of its own with low priority (``warplint.server.child``), and what it says."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from warplint.ir.facts import Evidence
from warplint.ir.fixes import Edit, Fix
from warplint.ir.spans import Location, Span
from warplint.records import dataclass

# A run that takes longer than this is ended. A single probe has a limit of its own.
_LONGEST = 900.0
# The folder that warplint is imported from.
_INSTALLED = Path(__file__).resolve().parent.parent.parent
# How long it may take to end in order.
_ENDING = 5.0

#: Called with each message but the last.
Heard = Callable[[Mapping[str, Any]], None]


@dataclass(frozen=True, slots=True)
class Order:
    """What to do in the folder ``root``, with the rules that the editor asks for.

    With ``kernels``, these of the text are probed by name, else its findings are, and then their fixes. Without a
    ``path``, all files below the folder are linted as they are on disk, and nothing is probed.
    """

    root: str
    path: str | None = None
    text: str = ""
    device: str = "auto"
    config: str | None = None
    select: tuple[str, ...] | None = None
    extend_select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    kernels: tuple[str, ...] = ()
    min_severity: str = "warning"
    #: The folder for scripts that reproduce what was found.
    emit: str | None = None
    #: In what the editor counts columns.
    encoding: str = "utf-16"


async def carried_out(order: Order, heard: Heard) -> Mapping[str, Any] | None:
    """The answer to ``order``, None where the process ended without one. Cancelling this ends the process."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "warplint.server.child",
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        # Where warplint is, and not in the project: modules there may be named like those that the process imports.
        cwd=_INSTALLED,
        limit=1 << 26,
    )
    assert process.stdin is not None and process.stdout is not None
    answer: Mapping[str, Any] | None = None

    async def talk() -> Mapping[str, Any] | None:
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write(json.dumps(asdict(order)).encode() + b"\n")
        await process.stdin.drain()
        while line := await process.stdout.readline():
            said: Mapping[str, Any] = json.loads(line)
            if "done" in said:
                return said
            heard(said)
        return None

    try:
        answer = await asyncio.wait_for(talk(), _LONGEST)
    except (OSError, asyncio.TimeoutError, ValueError):
        pass
    finally:
        process.stdin.close()  # it ends by itself, if it has not
        try:
            await asyncio.wait_for(process.wait(), _ENDING)
        except (asyncio.TimeoutError, asyncio.CancelledError):
            if process.returncode is None:
                process.kill()
    return answer


def evidence_of(said: Mapping[str, Any]) -> Evidence:
    """Evidence as the process tells it."""
    return Evidence(
        said["verdict"],
        said["detail"],
        said["device"],
        said["warp_version"],
        said["numbers"],
        said["reproduce"],
    )


def fix_of(said: Mapping[str, Any]) -> Fix:
    """A fix as the process tells it."""
    edits = tuple(Edit(Location(Path(one["path"]), Span(*one["span"])), one["text"]) for one in said["edits"])
    return Fix(said["applicability"], said["message"], edits)
