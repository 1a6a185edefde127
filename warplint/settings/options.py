"""What one run was asked to do: the command line as data."""

from __future__ import annotations

from dataclasses import field
from typing import Literal, get_args

from warplint.records import dataclass

OutputFormat = Literal[
    "full", "concise", "json", "jsonl", "sarif", "github", "gitlab", "junit", "lsp", "markdown", "html"
]
Color = Literal["auto", "always", "never"]

OUTPUT_FORMATS: tuple[OutputFormat, ...] = get_args(OutputFormat)
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
    config: str | None = None
    isolated: bool = False
    #: The version of Warp that the code is for, and the environment whose Warp that is otherwise.
    warp_version: str | None = None
    python: str | None = None
    exclude: tuple[str, ...] = ()
    probe: bool | None = None
    #: Whether a probe may import from the project, and run native snippets.
    probe_import: bool | None = None
    probe_native: bool | None = None
    device: str | None = None
    show_refuted: bool = False
    ignores: bool = True
    add_ignore: str | None = None
    #: Put the safe fixes into the files; or show what they would change; those that are not proved as well.
    fix: bool = False
    diff: bool = False
    unsafe_fixes: bool = False
    baseline: str | None = None
    write_baseline: bool = False
    #: What is listed; None: what is for people to act on, and everything in formats that programs read.
    min_severity: str | None = None
    fail_on: str | None = None
    #: Whose code is listed: ``taped``, ``library``, ``untaped``.
    reach: tuple[str, ...] | None = None
    emit_probe: str | None = None
    output_format: OutputFormat = "full"
    #: Formats and the files that they go to, besides standard output.
    outputs: tuple[tuple[OutputFormat, str], ...] = ()
    #: Where the report goes instead of to standard output.
    output_file: str | None = None
    color: Color = "auto"
    jobs: int | None = None
    force_exclude: bool = False
    statistics: bool = False
    exit_zero: bool = False
    cache_dir: str | None = None
    cache: bool = True
    show_files: bool = False
    watch: bool = False
    quiet: bool = False
    verbose: bool = False


@dataclass(frozen=True, slots=True)
class AuditOptions:
    """One ``warplint audit``. ``resume`` takes over what earlier runs have answered, also one that was interrupted.

    ``jobs`` is the number of programs that run at a time; None: one for each processor. ``timeout`` is the limit for
    one of them, in seconds of the processor.
    """

    paths: tuple[str, ...]
    config: str | None = None
    isolated: bool = False
    exclude: tuple[str, ...] = ()
    device: str | None = None
    cache_dir: str | None = None
    resume: bool = False
    jobs: int | None = None
    timeout: float = 60.0
    probe_import: bool | None = None
    probe_native: bool | None = None
