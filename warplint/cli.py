"""The commands ``warplint check`` and ``warplint explain``. What they do is elsewhere: this reads and writes."""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn

from warplint import __version__
from warplint.settings.configuration import DEVICE
from warplint.settings.options import COLORS, OUTPUT_FORMATS, STDIN, Options, Selectors

CLEAN, FINDINGS, FAILED, INTERRUPTED = 0, 1, 2, 130


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command. Returns the exit status: 0 clean, 1 findings, 2 something could not be done."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    _open_streams()
    try:
        with _ending_in_order():
            if arguments[:1] == ["explain"]:
                return _explain(_explain_parser().parse_args(arguments[1:]))
            return _check(_options(arguments))
    except KeyboardInterrupt:
        _clear_progress()
        _say("interrupted")
        return INTERRUPTED
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] == "warplint":
            raise
        _say(f"the package `{error.name}` is missing from {sys.prefix}; install warplint again with its dependencies")
        return FAILED


def _open_streams() -> None:
    """See to it that there are standard streams, and that any text can be written to them."""
    # Python has None for a stream that was closed by whoever started us, as in `warplint . >&-`.
    sys.stdin = sys.stdin or open(os.devnull, encoding="utf-8")  # noqa: SIM115
    sys.stdout = sys.stdout or open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    sys.stderr = sys.stderr or open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            # A file name that is no text, or a terminal that knows only ASCII, must not end the run.
            stream.reconfigure(errors="backslashreplace")


@contextmanager
def _ending_in_order() -> Iterator[None]:
    """Let SIGTERM and SIGHUP (a time limit, a closed terminal) end the run as an interrupt does: with cleaning up."""
    owner, replaced = os.getpid(), []

    def end(number: int, frame: FrameType | None) -> None:
        if os.getpid() != owner:
            # A process that was forked from ours, and that we end by this very signal.
            os._exit(128 + number)
        raise SystemExit(128 + number)

    for name in ("SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)  # Windows has no SIGHUP
        if number is None or signal.getsignal(number) is not signal.SIG_DFL:
            continue  # nohup(1) ignores it on purpose
        try:
            signal.signal(number, end)
        except ValueError:  # not the main thread
            break
        replaced.append(number)
    try:
        yield
    finally:
        for number in replaced:
            signal.signal(number, signal.SIG_DFL)


# --- warplint check ---


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        _say(f"{message}; `{self.prog} -h` shows how to call it")
        raise SystemExit(FAILED)


def _check_parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="warplint",
        usage="warplint [check] [options] PATH...\n       warplint explain [RULE]",
        description="Finds NVIDIA Warp code whose gradients are silently wrong, and proves each finding by running it.",
        epilog="Exit status: 0 nothing found, 1 findings, 2 something could not be done (see standard error).",
        add_help=False,
        allow_abbrev=False,
    )
    parser.add_argument("paths", nargs="*", metavar="PATH", help="Python files, folders, or - for standard input")

    rules = parser.add_argument_group("rules", "RULES are codes (WP104), names, beginnings of codes (WP1) or families")
    words = {"action": "append", "type": _words, "metavar": "RULES"}
    rules.add_argument("--select", **words, help="apply these rules only")  # type: ignore[arg-type]
    rules.add_argument("--extend-select", **words, default=[], help="apply these as well")  # type: ignore[arg-type]
    rules.add_argument("--ignore", **words, default=[], help="do not apply these")  # type: ignore[arg-type]

    probe = parser.add_argument_group("probe")
    probe.add_argument("--probe", action=argparse.BooleanOptionalAction, help="run a small program for each finding")
    probe.add_argument("--device", type=_device, help="where to run it: auto (the default), cpu or cuda:N")
    probe.add_argument("--show-refuted", action="store_true", help="also show what the probe found to be right")
    probe.add_argument("--emit-probe", metavar="DIR", help="write a script for each finding that was decided, to DIR")

    output = parser.add_argument_group("output")
    output.add_argument("--output-format", choices=OUTPUT_FORMATS, default="full", help="full is the default")
    output.add_argument("--color", choices=COLORS, default="auto", help="auto: on a terminal, unless NO_COLOR is set")
    output.add_argument("--verbose", action="store_true", help="show the tracebacks of internal errors")

    files = parser.add_argument_group("files")
    files.add_argument("--stdin-filename", metavar="PATH", help="the file that the text on standard input belongs to")
    files.add_argument("--force-exclude", action="store_true", help="leave excluded files out even if named outright")
    files.add_argument("--jobs", type=_jobs, metavar="N", help="processes for many files; one for each processor")

    other = parser.add_argument_group("other")
    other.add_argument("--version", action="version", version=f"warplint {__version__}", help="print the version")
    other.add_argument("-h", "--help", action="help", help="print this")
    return parser


def _words(text: str) -> list[str]:
    words = [word.strip() for word in text.split(",")]
    if not all(words):
        raise argparse.ArgumentTypeError(f"{text!r} is no list of rules; separate them by commas")
    return words


def _device(text: str) -> str:
    if not DEVICE.fullmatch(text):
        raise argparse.ArgumentTypeError(f"{text!r} is no device; write auto, cpu or cuda:N")
    return text


def _jobs(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of processes; write 1 or more")
    return int(text)


def _options(arguments: list[str]) -> Options:
    parser = _check_parser()
    # Options may stand before, between and after the paths.
    given = parser.parse_intermixed_args(arguments)
    paths = given.paths[1:] if given.paths[:1] == ["check"] else given.paths
    if not paths:
        parser.error("no path given; name files or folders, as in `warplint .`")
    if given.stdin_filename is not None and STDIN not in paths:
        parser.error("--stdin-filename goes with the path `-`")
    if given.emit_probe is not None:
        try:
            os.makedirs(given.emit_probe, exist_ok=True)
        except OSError as error:
            parser.error(f"--emit-probe: the folder `{given.emit_probe}` cannot be made: {error.strerror or error}")
    return Options(
        paths=tuple(paths),
        stdin_filename=given.stdin_filename,
        selectors=Selectors(
            select=None if given.select is None else _flat(given.select),
            extend_select=_flat(given.extend_select),
            ignore=_flat(given.ignore),
        ),
        probe=given.probe,
        device=given.device,
        show_refuted=given.show_refuted,
        emit_probe=given.emit_probe,
        output_format=given.output_format,
        color=given.color,
        jobs=given.jobs,
        force_exclude=given.force_exclude,
        verbose=given.verbose,
    )


def _flat(lists: Iterable[Iterable[str]]) -> tuple[str, ...]:
    return tuple(word for words in lists for word in words)


def _check(options: Options) -> int:
    from warplint.analysis import relax_collector
    from warplint.catalogue.selecting import UnknownSelector
    from warplint.pipeline import run
    from warplint.report import render
    from warplint.report.model import problem_line

    relax_collector()
    stdin = sys.stdin.buffer.read() if STDIN in options.paths else None
    try:
        outcome = run(options, stdin, _show_progress if _shows_progress() else None)
    except UnknownSelector as error:
        _say(str(error))
        return FAILED
    report = outcome.report
    for problem in report.problems:
        _say(problem_line(problem))
    if options.verbose:
        for path, traceback in outcome.tracebacks.items():
            _say(f"{path}:\n{traceback}")
    if not report.files and not report.problems:
        _say("no Python files found under the given paths")
    written = _write(render(report, options.output_format, _colored(options), _width()))
    if report.problems or not written:
        return FAILED
    return FINDINGS if report.standing else CLEAN


# --- warplint explain ---


def _explain_parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="warplint explain", description="Print the page of a rule, or the list of all rules.")
    parser.add_argument("rule", nargs="?", metavar="RULE", help="a code (WP104) or name; all rules without")
    return parser


def _explain(given: argparse.Namespace) -> int:
    from warplint.catalogue.loading import load_catalogue
    from warplint.catalogue.selecting import problem_with
    from warplint.report.explain import overview, page
    from warplint.report.model import problem_line

    catalogue, problems = load_catalogue()
    for problem in problems:
        _say(problem_line(problem))
    if given.rule is None:
        written = _write(overview(catalogue.rules))
    else:
        rule = catalogue.find(given.rule)
        if rule is None:
            _say(problem_with(given.rule, catalogue.rules) or f"`{given.rule}` is not one rule; name a code, as WP104")
            return FAILED
        written = _write(page(rule))
    return CLEAN if written and not problems else FAILED


# --- reading and writing ---


def _colored(options: Options) -> bool:
    if options.color != "auto":
        return options.color == "always"
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def _width() -> int | None:
    """How many columns a terminal that we write to has; None for a file or a pipe."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def _shows_progress() -> bool:
    return sys.stderr.isatty() and os.environ.get("TERM") != "dumb"


def _show_progress(done: int, total: int) -> None:
    """A line on a terminal that is overwritten, and gone in the end."""
    text = f"probing {done} of {total}" if done < total else ""
    print(f"\r\x1b[K{text}", end="", file=sys.stderr, flush=True)


def _clear_progress() -> None:
    if _shows_progress():
        _show_progress(0, 0)


def _say(message: str) -> None:
    print(f"warplint: {message}", file=sys.stderr)


def _write(lines: Iterable[str]) -> bool:
    """Print ``lines``. Returns whether that worked; if not, it has been said why."""
    try:
        for line in lines:
            print(line)
        sys.stdout.flush()
    except BrokenPipeError:
        # Whoever read our output (`| head`) has seen enough.
        _silence_stdout()
    except OSError as error:
        _silence_stdout()
        _say(f"cannot write the output: {error.strerror or error}")
        return False
    return True


def _silence_stdout() -> None:
    """Send what is still to be written nowhere: Python would complain once more at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
