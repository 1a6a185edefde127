"""The process that the server lets work for it: the command line's own run, at low priority.

It is given one JSON object on standard input (``orders.Order``) and answers with JSON lines: ``progress`` texts, what
is known already, and at last an object with ``done``. It ends when its input does.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from warplint.ir.facts import Evidence, Finding
from warplint.ir.fixes import Fix
from warplint.server.orders import Order

if TYPE_CHECKING:
    from warplint.settings.options import Options


def main() -> None:
    """Carry out one order."""
    if hasattr(os, "nice"):
        os.nice(10)
    order = Order(**json.loads(sys.stdin.buffer.readline()))
    signal.signal(signal.SIGTERM, _end)
    threading.Thread(target=_end_with_input, daemon=True).start()
    sys.path[:] = [folder for folder in sys.path if folder]
    os.chdir(order.root)
    _say({"done": True, **_answer(order)})


def _answer(order: Order) -> dict[str, object]:
    from warplint.catalogue.unknown import UnknownSelector
    from warplint.proving import DeviceUnusable

    try:
        if order.path is None:
            return _of_files(order)
        return _of_kernels(order, Path(order.path)) if order.kernels else _of_findings(order, order.path)
    except (DeviceUnusable, UnknownSelector) as error:
        return {"problem": str(error)}


def _end(number: int, frame: object) -> None:
    raise SystemExit(128 + number)  # so that the probe's own processes are ended in order


def _end_with_input() -> None:
    sys.stdin.buffer.read()
    os.kill(os.getpid(), signal.SIGTERM)


def _say(what: Mapping[str, object]) -> None:
    sys.stdout.write(json.dumps(what) + "\n")
    sys.stdout.flush()


def _progress(step: str) -> None:
    _say({"progress": step})


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


def _place(found: Finding) -> dict[str, object]:
    return {"rule": found.rule, "path": str(found.location.path), "span": list(found.location.span)}


def _fix(fix: Fix) -> dict[str, object]:
    edits = [
        {"path": str(edit.location.path), "span": list(edit.location.span), "text": edit.text} for edit in fix.edits
    ]
    return {"applicability": fix.applicability, "message": fix.message, "edits": edits}


def _options(order: Order, paths: tuple[str, ...]) -> Options:
    from warplint.settings.options import Options, Selectors

    select = None if order.select is None else tuple(order.select)
    return Options(
        paths=paths,
        selectors=Selectors(select, tuple(order.extend_select), tuple(order.ignore)),
        config=order.config,
        min_severity=order.min_severity,
        device=order.device,
        show_refuted=True,
        # Nobody gave a command: an opened folder must not have its code run, whatever its configuration says.
        probe_import=False,
        probe_native=False,
        jobs=1,
    )


def _of_findings(order: Order, path: str) -> dict[str, object]:
    """Evidence is said as soon as it is there; fixes take about as long again."""
    from dataclasses import replace

    from warplint.pipeline import run
    from warplint.settings.options import STDIN

    options = replace(
        _options(order, (STDIN,)),
        stdin_filename=path,
        probe=True,
        emit_probe=order.emit,
        output_format="json" if order.emit is None else "full",  # the former holds fixes
    )

    def seen(findings: Sequence[Finding]) -> None:
        _say({"findings": [_place(found) | {"evidence": _told(found.evidence)} for found in findings]})

    report = run(options, order.text.encode("utf-8", "surrogatepass"), _progress, seen).report
    return {"fixes": [_place(found) | {"fix": _fix(found.fix)} for found in report.findings if found.fix is not None]}


def _of_kernels(order: Order, path: Path) -> dict[str, object]:
    """Whether the adjoints of kernels agree with finite differences."""
    from warplint.frontend import open_project
    from warplint.ir.facts import Fact
    from warplint.ir.programs import DefinitionRef, KernelProgram
    from warplint.ir.spans import Location
    from warplint.pipeline import import_roots
    from warplint.probe import NoDevice, ProbeOptions, probe
    from warplint.settings.configuration import Configurations
    from warplint.source.project import Definition, Module

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
    _progress(f"probing {len(found)} kernels")
    try:
        evidence = probe(found, project, ProbeOptions(device=order.device))
    except NoDevice as error:
        return {"kernels": {}, "problem": str(error)}
    return {"kernels": {one.fact.definition: _told(seen) for one, seen in zip(found, evidence, strict=True)}}


def _of_files(order: Order) -> dict[str, object]:
    """The diagnostics of all files below the folder, by path; notebooks are left out, for their cells have no names."""
    from dataclasses import replace

    from warplint.pipeline import run
    from warplint.report.as_json import plain
    from warplint.report.lsp import diagnostic

    options = replace(_options(order, (".",)), probe=False)
    report = run(options, progress=_progress).report
    found: dict[str, list[object]] = {}
    for one in report.standing:
        path = str(one.location.path)
        if path.endswith(".py"):
            found.setdefault(path, []).append(plain(diagnostic(one, report.lines, order.encoding)))  # type: ignore[arg-type]
    return {"files": found}


if __name__ == "__main__":
    main()
