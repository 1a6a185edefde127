"""What one run was asked to do: the command line as data."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

OutputFormat = Literal["full", "concise", "json", "lsp"]
Color = Literal["auto", "always", "never"]

OUTPUT_FORMATS: tuple[OutputFormat, ...] = ("full", "concise", "json", "lsp")
COLORS: tuple[Color, ...] = ("auto", "always", "never")

#: The path that stands for standard input.
STDIN = "-"


@dataclass(frozen=True, slots=True)
class Selectors:
    """Which rules to apply, as written: codes, names, code prefixes and family names.

    ``select`` None means: whatever the layer below says (the configuration file, then the rules' own defaults).
    """

    select: tuple[str, ...] | None = None
    extend_select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return self.select is not None or bool(self.extend_select) or bool(self.ignore)


@dataclass(frozen=True, slots=True)
class Options:
    """One ``warplint check``. None means that the configuration file, or the default, decides."""

    paths: tuple[str, ...]
    stdin_filename: str | None = None
    selectors: Selectors = field(default_factory=Selectors)
    probe: bool | None = None
    device: str | None = None
    show_refuted: bool = False
    emit_probe: str | None = None
    output_format: OutputFormat = "full"
    color: Color = "auto"
    jobs: int | None = None
    force_exclude: bool = False
    verbose: bool = False
