"""The probe, in a process of its own with low priority: the command line's own run on one text.

The process is given one JSON object on standard input (``Order``) and answers with JSON lines: ``progress`` texts, and
at last ``findings`` with their evidence and ``kernels`` with theirs. It ends when its input does.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import threading
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from warplint.ir.facts import Evidence

# A run that takes longer than this is ended. A single probe has a limit of its own.
_LONGEST = 900.0
# The folder that warplint is imported from.
_INSTALLED = Path(__file__).resolve().parent.parent.parent
# How long it may take to end in order.
_ENDING = 5.0


@dataclass(frozen=True, slots=True)
class Order:
    """What to probe: the findings in a text, or kernels of it by name."""

    root: str
    path: str
    text: str
    device: str
    config: str | None = None
    select: tuple[str, ...] | None = None
    extend_select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    kernels: tuple[str, ...] = ()
    min_severity: str = "warning"
    #: The folder for scripts that reproduce what was found.
    emit: str | None = None


async def ordered(order: Order, progress: Callable[[str], None]) -> Mapping[str, Any] | None:
    """The answer to ``order``, None where the process ended without one. Cancelling this ends the process."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "warplint.server.proving",
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
            if "progress" not in said:
                return said
            progress(str(said["progress"]))
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


# --- in the process ---


def main() -> None:
    """Carry out one order."""
    if hasattr(os, "nice"):
        os.nice(10)
    order = Order(**json.loads(sys.stdin.buffer.readline()))
    signal.signal(signal.SIGTERM, _end)
    threading.Thread(target=_end_with_input, daemon=True).start()
    sys.path[:] = [folder for folder in sys.path if folder]
    os.chdir(order.root)
    answer = _of_kernels(order) if order.kernels else _of_findings(order)
    _say(answer)


def _end(number: int, frame: object) -> None:
    raise SystemExit(128 + number)  # so that the probe's own processes are ended in order


def _end_with_input() -> None:
    sys.stdin.buffer.read()
    os.kill(os.getpid(), signal.SIGTERM)


def _say(what: Mapping[str, object]) -> None:
    sys.stdout.write(json.dumps(what) + "\n")
    sys.stdout.flush()


def _told(evidence: Evidence) -> dict[str, object]:
    from warplint.report.as_json import plain

    return {
        "verdict": evidence.verdict,
        "detail": evidence.detail,
        "device": evidence.device,
        "warp_version": evidence.warp_version,
        "numbers": plain(evidence.numbers),
        "reproduce": evidence.reproduce,
    }


def _of_findings(order: Order) -> dict[str, object]:
    from warplint.pipeline import DeviceUnusable, run
    from warplint.settings.options import STDIN, Options, Selectors

    options = Options(
        paths=(STDIN,),
        stdin_filename=order.path,
        selectors=Selectors(
            None if order.select is None else tuple(order.select), tuple(order.extend_select), tuple(order.ignore)
        ),
        config=order.config,
        probe=True,
        # Nobody gave a command: an opened folder must not have its code run, whatever its configuration says.
        probe_import=False,
        probe_native=False,
        device=order.device,
        show_refuted=True,
        min_severity=order.min_severity,
        emit_probe=order.emit,
        jobs=1,
    )
    try:
        report = run(options, order.text.encode("utf-8", "surrogatepass"), lambda step: _say({"progress": step})).report
    except DeviceUnusable as error:
        return {"findings": [], "problem": str(error)}
    return {
        "findings": [
            {"rule": found.rule, "path": str(found.location.path), "span": list(found.location.span)}
            | {"evidence": _told(found.evidence)}
            for found in report.findings
        ]
    }


def _of_kernels(order: Order) -> dict[str, object]:
    """Whether the adjoints of kernels agree with finite differences."""
    from warplint.frontend import open_project
    from warplint.ir.facts import Fact, Finding
    from warplint.ir.programs import DefinitionRef, KernelProgram
    from warplint.ir.spans import Location
    from warplint.pipeline import import_roots
    from warplint.probe import NoDevice, ProbeOptions, probe
    from warplint.settings.configuration import Configurations
    from warplint.source.project import Definition, Module

    path = Path(order.path)
    configurations = Configurations(Path(order.config) if order.config is not None else None)
    project = open_project(import_roots([order.root], [path], configurations))
    module = project.load(path, order.text.encode("utf-8", "surrogatepass"))
    found: list[Finding] = []
    if isinstance(module, Module):
        for name in order.kernels:
            definition = project.member(module, name)
            if isinstance(definition, Definition):
                place = Location(path, definition.node.span)
                program = KernelProgram(DefinitionRef(path, definition.qualname), (place,))
                fact = Fact("kernel", place, {}, (), definition.qualname, program=program)
                found.append(Finding("", "", "", "info", "low", fact))
    _say({"progress": f"probing {len(found)} kernels"})
    try:
        evidence = probe(found, project, ProbeOptions(device=order.device))
    except NoDevice as error:
        return {"kernels": {}, "problem": str(error)}
    return {"kernels": {one.fact.definition: _told(seen) for one, seen in zip(found, evidence, strict=True)}}


if __name__ == "__main__":
    main()
