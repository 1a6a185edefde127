"""The commands. What they do is elsewhere: this reads and writes."""

from __future__ import annotations

import os
import shutil
import signal
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING

from warplint.arguments import Asked, config_arguments, explain_arguments, options
from warplint.settings.options import STDIN, Options

if TYPE_CHECKING:
    from warplint.report.model import Report

CLEAN, FINDINGS, FAILED, INTERRUPTED = 0, 1, 2, 130


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command. Returns the exit status: 0 clean, 1 findings, 2 something could not be done."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    _open_streams()
    try:
        with _ending_in_order():
            if arguments[:1] == ["explain"]:
                return _explain(explain_arguments(arguments[1:]))
            if arguments[:1] == ["config"]:
                return _config(config_arguments(arguments[1:]))
            return _check(options(arguments))
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


def _check(asked: Options) -> int:
    from warplint.analysis import relax_collector
    from warplint.catalogue.selecting import UnknownSelector
    from warplint.pipeline import run
    from warplint.report import render
    from warplint.report.model import problem_line

    relax_collector()
    stdin = sys.stdin.buffer.read() if STDIN in asked.paths else None
    try:
        outcome = run(asked, stdin, _show_progress if _shows_progress() else None)
    except UnknownSelector as error:
        _say(str(error))
        return FAILED
    report = outcome.report
    for problem in report.problems:
        _say(problem_line(problem))
    if asked.verbose:
        for path, traceback in outcome.tracebacks.items():
            _say(f"{path}:\n{traceback}")
    if not report.files and not report.problems:
        _say("no Python files found under the given paths")
    if asked.add_ignore is not None:
        return _add_ignores(report, asked.add_ignore)
    written = _write(render(report, asked.output_format, _colored(asked), _width()))
    for output_format, target in asked.outputs:
        written &= _write_file(target, render(report, output_format))
    if report.problems or not written:
        return FAILED
    return FINDINGS if outcome.failed else CLEAN


def _add_ignores(report: Report, reason: str) -> int:
    from warplint.ignoring import add_ignores
    from warplint.report.model import problem_line
    from warplint.report.summary import count

    written, problems = add_ignores(report.standing, reason)
    for problem in problems:
        _say(problem_line(problem))
    total = count(sum(written.values()), "finding")
    done = _write([f"Wrote comments for {total} in {count(len(written), 'file')}"])
    return CLEAN if done and not problems and not report.problems else FAILED


# --- the small commands ---


def _explain(asked: Asked) -> int:
    from warplint.catalogue.loading import load_catalogue
    from warplint.catalogue.selecting import problem_with
    from warplint.report.explain import overview, page
    from warplint.report.model import problem_line

    catalogue, problems = load_catalogue()
    for problem in problems:
        _say(problem_line(problem))
    if asked.about is None:
        written = _write(overview(catalogue.rules))
    else:
        rule = catalogue.find(asked.about)
        if rule is None:
            _say(
                problem_with(asked.about, catalogue.rules) or f"`{asked.about}` is not one rule; name a code, as WP104"
            )
            return FAILED
        written = _write(page(rule))
    return CLEAN if written and not problems else FAILED


def _config(asked: Asked) -> int:
    from warplint.pipeline import configured
    from warplint.report.configured import as_json, as_text
    from warplint.report.model import problem_line

    found, problems = configured(asked.about or ".", asked.config, asked.isolated)
    for problem in problems:
        _say(problem_line(problem))
    written = _write(as_json(found) if asked.as_json else as_text(found))
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


def _write_file(path: str, lines: Iterable[str]) -> bool:
    """Write ``lines`` to a file. Returns whether that worked; if not, it has been said why."""
    try:
        with open(path, "w", encoding="utf-8", errors="backslashreplace") as file:
            file.writelines(f"{line}\n" for line in lines)
    except OSError as error:
        _say(f"{path}: cannot write the report: {error.strerror or error}; check the path")
        return False
    return True


def _silence_stdout() -> None:
    """Send what is still to be written nowhere: Python would complain once more at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
