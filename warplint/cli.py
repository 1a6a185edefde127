"""The commands. What they do is elsewhere: this reads and writes."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING

from warplint.arguments import COMMANDS, PARSERS, Asked, asked, expanded, options
from warplint.settings.options import STDIN, Options
from warplint.terminal import Progress, clear_screen, colored, linked, width

if TYPE_CHECKING:
    from warplint.catalogue.rule import Rule
    from warplint.ir.facts import Problem
    from warplint.pipeline import Outcome
    from warplint.report.model import Report

CLEAN, FINDINGS, FAILED, INTERRUPTED = 0, 1, 2, 130

# After so many seconds a signal that was lost is raised again. Cleaning up takes less.
_AGAIN = 3.0

# How often files are linted again after fixes: what is mended can lay bare what was hidden behind it.
_MOST_ROUNDS = 8


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command. Returns the exit status: 0 clean, 1 findings, 2 something could not be done."""
    _open_streams()
    try:
        arguments = expanded(sys.argv[1:] if argv is None else argv)
    except (OSError, UnicodeDecodeError) as error:
        _say(f"the file of arguments cannot be read: {error}")
        return FAILED
    try:
        with _ending_in_order():
            command = _COMMANDS.get(arguments[0]) if arguments else None
            if command is None:
                return _check(options(arguments))
            return command(asked(arguments[0], arguments[1:]))
    except KeyboardInterrupt:
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
        # Whatever runs just now may swallow this, as code does that tries an import and goes on without.
        if hasattr(signal, "setitimer"):
            signal.signal(signal.SIGALRM, lambda *_: end(number, None))
            signal.setitimer(signal.ITIMER_REAL, _AGAIN)
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
        if replaced and hasattr(signal, "setitimer"):
            signal.setitimer(signal.ITIMER_REAL, 0.0)


# --- warplint check ---


def _check(given: Options) -> int:
    if given.show_files:
        return _show_files(given)
    if not given.watch:
        return _check_once(given)
    from warplint.watching import changes

    status = CLEAN
    for _ in changes(given):
        clear_screen()
        status = _check_once(given)
        if not given.quiet:
            _say("waiting for changes; Ctrl-C ends it")
    return status


def _check_once(given: Options) -> int:
    from warplint.catalogue.unknown import UnknownSelector
    from warplint.pipeline import run
    from warplint.processes import relax_collector
    from warplint.proving import DeviceUnusable
    from warplint.report import render
    from warplint.report.model import problem_line
    from warplint.report.style import Style
    from warplint.settings.installed import EnvironmentUnusable

    relax_collector()
    stdin = sys.stdin.buffer.read() if STDIN in given.paths else None
    unwritten: list[Problem] = []
    try:
        with Progress(given.quiet) as progress:
            outcome = run(given, stdin, progress.step)
        if given.fix:
            outcome, unwritten = _fix(given, outcome)
    except (UnknownSelector, DeviceUnusable) as error:
        _say(str(error))
        return FAILED
    except EnvironmentUnusable as error:
        _say(f"--python: {error}")
        return FAILED
    report = outcome.report
    for problem in (*report.problems, *unwritten):
        _say(problem_line(problem))
    if given.verbose:
        for line in outcome.account:
            _say(line)
        for path, traceback in outcome.tracebacks.items():
            _say(f"{path}:\n{traceback}")
    if not report.files and not report.problems and not given.quiet:
        _say("no Python files found under the given paths")
    if given.add_ignore is not None:
        return _add_ignores(report, given.add_ignore)
    if given.diff:
        return _diff(given, report)
    colors = colored(given.color)
    style, summed_up = Style(colors, linked(colors)), not given.quiet
    if given.output_file is None:
        written = _write(render(report, given.output_format, style, width(), summed_up, given.statistics))
    else:
        plain = Style(given.color == "always")
        lines = render(report, given.output_format, plain, None, summed_up, given.statistics)
        written = _write_file(given.output_file, lines)
    for output_format, target in given.outputs:
        written &= _write_file(target, render(report, output_format))
    if report.problems or unwritten or not written:
        return FAILED
    return FINDINGS if outcome.failed and not given.exit_zero else CLEAN


def _show_files(given: Options) -> int:
    from pathlib import Path

    from warplint.ir.spans import displayed
    from warplint.settings.configuration import Configurations
    from warplint.settings.discovery import discover

    configurations = Configurations(Path(given.config) if given.config is not None else None, given.isolated)
    found = discover(given.paths, configurations, given.force_exclude, given.exclude)
    written = _write(displayed(path) for path in found.files)
    return _ended(written, (*found.problems, *configurations.problems))


def _fix(given: Options, outcome: Outcome) -> tuple[Outcome, list[Problem]]:
    """Mend what can be mended, and lint again until nothing more can. Returns the last outcome and what went wrong."""
    from warplint.fixing.writing import choose, write
    from warplint.ir.spans import displayed
    from warplint.pipeline import run

    for _ in range(_MOST_ROUNDS):
        chosen = choose(outcome.report.standing, given.unsafe_fixes)
        if not chosen.findings:
            break
        mended, problems = write(chosen, outcome.report.lines)
        for finding in mended:
            place = f"{displayed(finding.location.path)}:{finding.location.span.line}"
            assert finding.fix is not None
            if not given.quiet:
                _say(f"fixed {place}: {finding.rule} {finding.name}: {finding.fix.message}")
        if mended:
            with Progress(given.quiet) as progress:
                outcome = run(given, None, progress.step)
        if problems or not mended:
            return outcome, problems
    return outcome, []


def _diff(given: Options, report: Report) -> int:
    from warplint.fixing.writing import choose, difference

    chosen = choose(report.standing, given.unsafe_fixes)
    written = _write(difference(chosen, report.lines))
    if report.problems or not written:
        return FAILED
    return FINDINGS if chosen.findings and not given.exit_zero else CLEAN


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


def _named(given: Asked, rules: tuple[Rule, ...]) -> tuple[Rule, ...] | None:
    """The rules that a command is asked about, in their order; None, and said, if a word names none."""
    from warplint.catalogue.selecting import meant, problem_with

    named: set[str] = set()
    for word in given.rules:
        problem = problem_with(word, rules)
        if problem is not None:
            _say(problem)
            return None
        named.update(meant(word, rules))
    return tuple(rule for rule in rules if rule.id in named)


def _rules(given: Asked) -> int:
    from warplint.pipeline import catalogue_for
    from warplint.report.explain import as_json, overview

    rules, problems = catalogue_for(os.getcwd())
    named = _named(given, rules) if given.rules else rules
    if named is None:
        return FAILED
    return _ended(_write(as_json(named) if given.as_json else overview(named)), problems)


def _explain(given: Asked) -> int:
    from warplint.pipeline import catalogue_for
    from warplint.report.explain import overview, pages, symptom_page

    rules, problems = catalogue_for(os.getcwd())
    if given.symptom is not None:
        return _ended(_write(symptom_page(given.symptom, rules)), problems)
    if not given.rules and not given.everything:
        return _ended(_write(overview(rules)), problems)
    named = rules if given.everything else _named(given, rules)
    if named is None:
        return FAILED
    return _ended(_write(pages(named, rules)), problems)


def _config(given: Asked) -> int:
    from warplint.pipeline import configured
    from warplint.report.configured import as_json, as_text

    found, problems = configured(given.about or ".", given.config, given.isolated)
    return _ended(_write(as_json(found) if given.as_json else as_text(found)), problems)


def _new_rule(given: Asked) -> int:
    from pathlib import Path

    from warplint.ir.spans import displayed
    from warplint.scaffold import Refused, new_rule

    try:
        written = new_rule(str(given.about), Path(given.folder), given.fact, given.code)
    except Refused as error:
        _say(str(error))
        return FAILED
    return _ended(_write(f"Wrote {displayed(path.absolute())}" for path in written), ())


def _test_rules(given: Asked) -> int:
    from pathlib import Path

    from warplint.proving import DeviceUnusable
    from warplint.trying import as_text, try_rules

    try:
        trials, problems = try_rules(Path(given.folder), given.probe, given.device)
    except DeviceUnusable as error:
        _say(str(error))
        return FAILED
    ended = _ended(_write(as_text(trials)) if trials else True, problems)
    return ended or (FINDINGS if any(trial.passed is False for trial in trials) else CLEAN)


def _audit(given: Asked) -> int:
    from warplint.auditing import audit
    from warplint.processes import relax_collector
    from warplint.proving import DeviceUnusable
    from warplint.report.audit import as_json, as_text
    from warplint.report.style import Style

    assert given.audit is not None
    relax_collector()
    try:
        with Progress(given.quiet) as progress:
            found = audit(given.audit, progress.step)
    except DeviceUnusable as error:
        _say(str(error))
        return FAILED
    except (KeyboardInterrupt, SystemExit):
        _say("the audit goes on from here with --resume")
        raise
    colors = colored(given.color)
    written = _write(as_json(found) if given.as_json else as_text(found, Style(colors, linked(colors))))
    return _ended(written, found.problems) or (FINDINGS if found.judged("wrong") else CLEAN)


def _completion(given: Asked) -> int:
    from warplint.completion import script

    parsers = {name: make() for name, make in PARSERS.items()}
    return _ended(_write(script(str(given.about), parsers, COMMANDS)), ())


def _help(given: Asked) -> int:
    return _ended(_write(PARSERS[str(given.about)]().format_help().splitlines()), ())


def _server(given: Asked) -> int:
    try:
        from warplint.server.serving import main as serve
    except ModuleNotFoundError as error:
        if error.name not in ("pygls", "lsprotocol"):
            raise
        _say("the language server needs pygls and lsprotocol; install them with `pip install 'warplint[lsp]'`")
        return FAILED
    return serve()


def _ended(written: bool, problems: Iterable[Problem]) -> int:
    """The exit status after ``problems`` were told."""
    from warplint.report.model import problem_line

    problems = list(dict.fromkeys(problems))
    for problem in problems:
        _say(problem_line(problem))
    return CLEAN if written and not problems else FAILED


#: The commands besides ``check``.
_COMMANDS: dict[str, Callable[[Asked], int]] = {
    "audit": _audit,
    "completion": _completion,
    "config": _config,
    "explain": _explain,
    "help": _help,
    "new-rule": _new_rule,
    "rules": _rules,
    "test-rules": _test_rules,
    "server": _server,
}


# --- reading and writing ---


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
