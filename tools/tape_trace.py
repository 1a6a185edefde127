"""What the host interpreter sees in a file, and where it lost what it does not know.

    python tools/tape_trace.py FILE [--all] [--lost]

Every run of the file's entry points is shown as its records, one a line: place, open tape, kind and what belongs to it.
For a launch of an unknown kernel, or of one that is given unknown values, the lines below tell where each of these came
into being: the call that was being made then, and what the value is called. ``--lost`` shows such launches alone;
``--all`` shows the runs in which single answers are turned round as well.
"""

from __future__ import annotations

import argparse
import dataclasses
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from warplint import kernels
from warplint.frontend import fast
from warplint.source.project import Project
from warplint.tapes import entries, launches, machine, values
from warplint.tapes.trace import Launched, Record

_HIDDEN = frozenset(
    {"context", "summary", "accesses", "flows", "factors", "at_once", "numbers", "again", "flags", "dim"}
)


class Births:
    """Notes, for every unknown value, the call that was being made when it was made."""

    def __init__(self) -> None:
        self.running: machine.Machine | None = None
        self._places: dict[int, tuple[values.Unknown, str]] = {}
        self.unknown_kernels: list[str] = []

    def watch(self) -> None:
        """Look on from here."""
        first_machine, first_unknown, first_launch = (
            machine.Machine.__init__,
            values.Unknown.__init__,
            launches._unknown_kernel,
        )

        def make_machine(made: machine.Machine, *args: Any, **words: Any) -> None:
            self.running = made
            first_machine(made, *args, **words)

        def make_unknown(made: values.Unknown, *args: Any, **words: Any) -> None:
            first_unknown(made, *args, **words)
            written = getattr(self.running, "written", None)
            self._places[id(made)] = (made, f"line {written.span.line}" if written is not None else "the start")

        def unknown_kernel(running: machine.Machine, arguments: Any, site: Any) -> None:
            self.unknown_kernels.append(f"{site.path.name}:{site.span.line}: a launch of a kernel that is not known")
            first_launch(running, arguments, site)

        machine.Machine.__init__ = make_machine  # type: ignore[method-assign]
        values.Unknown.__init__ = make_unknown  # type: ignore[method-assign]
        launches._unknown_kernel = unknown_kernel

    def of(self, value: values.Unknown, depth: int = 3) -> Iterator[str]:
        """Where a value came into being, and what it was computed from."""
        place = self._places.get(id(value), (value, "?"))[1]
        head = value.origin[0] if value.origin is not None else ""
        yield f"`{value.hint or '?'}` made while the call at {place} was running" + (f", by {head}" if head else "")
        for part in (value.origin or ())[1:]:
            if isinstance(part, values.Unknown) and depth:
                yield from (f"  {line}" for line in self.of(part, depth - 1))


def show(value: object, depth: int = 2) -> str:
    """A value in a few words: arrays with their number and flag (``+`` has a gradient, ``-`` has none)."""
    if isinstance(value, values.ArrayValue):
        flag = {True: "+", False: "-", None: "?"}[value.requires_grad]
        return f"{value.storage.name or value.storage.source}#{value.storage.number}{value.view}{flag}"
    if isinstance(value, (tuple, list, frozenset)) and depth:
        return "(" + ", ".join(show(inner, depth - 1) for inner in value) + ")"
    return str(value)[:60]


def lines(record: Record, births: Births, only_lost: bool) -> Iterator[str]:
    """The lines that tell of one record."""
    lost: list[str] = []
    if isinstance(record, Launched):
        if record.summary is None:
            lost.append("what the kernel does is not known")
        names = record.summary.parameters if record.summary is not None else range(len(record.arguments))
        for name, value in zip(names, record.arguments, strict=False):
            if isinstance(value, values.Unknown):
                lost += [f"{name}: {line}" for line in births.of(value)]
            elif isinstance(value, values.ArrayValue) and value.storage.kind == "parameter":
                lost.append(f"{name}: an array that came from outside, `{value.storage.name}`")
    if only_lost and not lost:
        return
    context = record.context
    parts = []
    for field in dataclasses.fields(record):
        if field.name not in _HIDDEN:
            value = getattr(record, field.name)
            parts.append(f"{field.name}={value.qualname if field.name == 'kernel' and value else show(value)}")
    place = f"{context.site.path.name}:{context.site.span.line}"
    tape = "" if context.tape is None else f" [tape {context.tape}]"
    yield f"{place}{tape} {type(record).__name__} {' '.join(parts)}"
    yield from (f"      {line}" for line in lost)


def main() -> None:
    """Run the tool."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    parser.add_argument("--all", action="store_true", help="the runs with single answers turned round as well")
    parser.add_argument("--lost", action="store_true", help="only launches with something that is not known")
    options = parser.parse_args()
    births = Births()
    births.watch()
    project = Project(fast.read)
    module = project.load(options.file.resolve())
    if module is None:
        raise SystemExit(f"{options.file} cannot be read; see what `warplint check` says of it.")
    left_out: list[str] = []
    shown: set[str] = set()
    for trace in entries.traces(project, module, partial(kernels.effects, project), left_out):
        if trace.entry in shown and not options.all:
            continue
        shown.add(trace.entry)
        end = "to its end" if trace.finished else "until the steps were used up"
        print(f"== {trace.entry}: {trace.steps} steps, {end}{', with smaller counts' if trace.shrunk else ''}")
        for record in trace:
            for line in lines(record, births, options.lost):
                print(line)
        for line in births.unknown_kernels:
            print(line)
        births.unknown_kernels.clear()
    if left_out:
        print(f"not run, for want of steps: {', '.join(left_out)}")


if __name__ == "__main__":
    main()
