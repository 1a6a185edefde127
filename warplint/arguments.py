"""The command line as text, and the options that it stands for."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NoReturn

from warplint import __version__
from warplint.records import dataclass
from warplint.settings.keys import DEVICE, FAIL_ON, REACHES, SEVERITIES, VERSION
from warplint.settings.options import COLORS, OUTPUT_FORMATS, STDIN, AuditOptions, Color, Options, Selectors

#: The commands besides ``check``, which needs not be named, and what each is for.
COMMANDS = {
    "check": "find wrong gradients; the word may be left out",
    "audit": "check every kernel that has an adjoint, found or not",
    "explain": "print the pages of rules",
    "rules": "list the rules",
    "config": "print what is configured for a file, and where",
    "new-rule": "make a rule file of your own and its examples",
    "test-rules": "try rules of your own on their examples",
    "completion": "print a script that completes warplint in a shell",
    "server": "talk to an editor, as a language server",
    "help": "print how a command is called",
}

#: What users of other linters reach for, and what does that here.
_ELSEWHERE = {
    "--add-noqa": "--add-ignore",
    "--extend-exclude": "--exclude",
    "--extend-ignore": "--ignore",
    "--format": "--output-format",
    "--ignore-noqa": "--no-ignores",
    "--no-noqa": "--no-ignores",
    "--persona": "--min-severity",
    "--show-settings": "warplint config",
}


#: Where ``new-rule`` puts rules unless it is told.
OWN_RULES = "our-rules"

#: The shells that can be helped.
SHELLS = ("bash", "zsh", "fish")

#: What ``explain --symptom`` takes. The rules know them from the catalogue, which is not read for ``-h``.
SYMPTOM_NAMES = ("zero", "growing", "factor", "nan", "subtle", "window", "sparse", "converged")


class Parser(argparse.ArgumentParser):
    """Its errors are one line on standard error, and exit status 2."""

    def error(self, message: str) -> NoReturn:
        """End the run."""
        if message.startswith("unrecognized arguments: "):
            message += self._instead(message.split()[2].partition("=")[0])
        print(f"warplint: {message}; `{self.prog} -h` shows how to call it", file=sys.stderr)
        raise SystemExit(2)

    def _instead(self, option: str) -> str:
        """The option that was meant by one that does not exist, as the end of a sentence."""
        known = [name for action in self._actions for name in action.option_strings if name.startswith("--")]
        meant = _ELSEWHERE.get(option) or _alike(option, known)
        return f"; did you mean `{meant}`?" if option.startswith("--") and meant else ""


def check_parser() -> argparse.ArgumentParser:
    """The parser of ``warplint check``."""
    parser = Parser(
        prog="warplint",
        usage="warplint [check] [options] [PATH...]   (files, folders, - for stdin)\n       warplint COMMAND [options]",
        description="Finds NVIDIA Warp code whose gradients are silently wrong, and proves\n"
        "each finding by running it.",
        epilog="Exit status: 0 nothing found, 1 findings, 2 something could not be done (see\nstandard error).",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        add_help=False,
        allow_abbrev=False,
    )
    parser.add_argument("paths", nargs="*", metavar="PATH", help=argparse.SUPPRESS)
    parser.add_argument_group("commands", "\n".join(f"{name:<21} {use}" for name, use in COMMANDS.items()))

    rules = parser.add_argument_group("rules", "RULES are codes (WP104), names, beginnings of codes (WP1) or families")
    rules.add_argument("--select", **_LIST, type=_words, metavar="RULES", help="apply these rules only")
    rules.add_argument("--extend-select", **_MORE, type=_words, metavar="RULES", help="apply these as well")
    rules.add_argument("--ignore", **_MORE, type=_words, metavar="RULES", help="do not apply these")
    rules.add_argument("--config", metavar="FILE", help="this configuration for all files")
    rules.add_argument("--isolated", action="store_true", help="no configuration at all")

    rules.add_argument("--warp-version", type=_version, metavar="VERSION", help="the Warp that the code is for")
    rules.add_argument("--python", metavar="PATH", help="the environment (or its interpreter) that has that Warp")

    probe = parser.add_argument_group("probe")
    probe.add_argument("--probe", action=argparse.BooleanOptionalAction, help="run a small program for each finding")
    _add_probe_permissions(probe)
    probe.add_argument("--device", type=_device, help="where to run it: auto (the default), cpu or cuda:N")
    probe.add_argument("--cache-dir", metavar="FOLDER", help="where what the next run can use again is kept")
    probe.add_argument("--no-cache", action="store_true", help="keep nothing for the next run")
    probe.add_argument("--show-refuted", action="store_true", help="also show what the probe found to be right")
    probe.add_argument("--emit-probe", metavar="DIR", help="write a script for each finding that was decided, to DIR")

    findings = parser.add_argument_group("findings")
    levels = "|".join(SEVERITIES)
    findings.add_argument(
        "--min-severity",
        choices=SEVERITIES,
        metavar=levels,
        help="list these and worse (warning; info in json and jsonl)",
    )
    findings.add_argument(
        "--fail-on", choices=FAIL_ON, metavar=f"{levels}|never", help="exit status 1 for these and worse (warning)"
    )

    findings.add_argument(
        "--reach", type=_reaches, metavar="|".join(REACHES), help="list only these; several with commas (all)"
    )
    findings.add_argument("--exit-zero", action="store_true", help="exit status 0 in spite of findings")
    findings.add_argument("--no-ignores", action="store_true", help="also list what comments suppress")
    findings.add_argument("--add-ignore", type=_reason, metavar="REASON", help="write such comments for what is listed")

    findings.add_argument("--fix", action="store_true", help="mend what a probe saw wrong before and right after")
    findings.add_argument("--diff", action="store_true", help="show what --fix would change, and change nothing")
    findings.add_argument("--unsafe-fixes", action="store_true", help="with --fix or --diff: also what is not proved")

    findings.add_argument("--baseline", metavar="FILE", help="do not list what this file counts")
    findings.add_argument("--write-baseline", action="store_true", help="count all that is found in that file")

    output = parser.add_argument_group("output")
    output.add_argument(
        "--output-format", choices=OUTPUT_FORMATS, default="full", metavar="FORMAT", help=" ".join(OUTPUT_FORMATS)
    )
    output.add_argument(
        "--output", **_MORE, type=_output, metavar="FORMAT=FILE", help="write this file as well; may be repeated"
    )
    output.add_argument("-o", "--output-file", metavar="FILE", help="write there what is printed otherwise")
    output.add_argument("--statistics", action="store_true", help="count the findings of each rule instead")
    output.add_argument("--color", choices=COLORS, default="auto", metavar="|".join(COLORS), help="auto: on a terminal")
    output.add_argument("-q", "--quiet", action="store_true", help="print findings and errors, and nothing else")
    output.add_argument("-v", "--verbose", action="store_true", help="tell what is done, and tracebacks")

    files = parser.add_argument_group("files")
    files.add_argument("--exclude", **_MORE, type=_patterns, metavar="PATTERNS", help="leave these out as well")
    files.add_argument("--force-exclude", action="store_true", help="leave excluded files out even if named outright")
    files.add_argument("--stdin-filename", metavar="PATH", help="the file that the text on standard input belongs to")
    files.add_argument("--show-files", action="store_true", help="print which files would be linted, and lint none")
    files.add_argument("--watch", action="store_true", help="lint again whenever a file changes")
    files.add_argument("--jobs", type=_jobs, metavar="N", help="processes for many files; one for each processor")

    other = parser.add_argument_group("other")
    other.add_argument("-V", "--version", action="version", version=f"warplint {__version__}", help="print the version")
    other.add_argument("-h", "--help", action="help", help="print this")
    return parser


def _add_probe_permissions(parser: argparse._ActionsContainer) -> None:
    switch = argparse.BooleanOptionalAction
    parser.add_argument("--probe-import", action=switch, help="let it import from the project, which runs that code")
    parser.add_argument("--probe-native", action=switch, help="let it compile and run native snippets")


def expanded(arguments: Iterable[str]) -> list[str]:
    """``arguments``, with the lines of ``FILE`` in the place of ``@FILE``, where there is such a file.

    Raises:
        OSError: the file cannot be read.
        UnicodeDecodeError: it is not in UTF-8.
    """
    found: list[str] = []
    for argument in arguments:
        if argument.startswith("@") and os.path.isfile(argument[1:]):
            with open(argument[1:], encoding="utf-8-sig") as file:
                found += filter(None, file.read().splitlines())
        else:
            found.append(argument)
    return found


_LIST: dict[str, Any] = {"action": "append"}
_MORE: dict[str, Any] = {"action": "append", "default": []}


def options(arguments: Sequence[str]) -> Options:
    """What ``warplint check`` is asked to do. Ends the run where that makes no sense."""
    parser = check_parser()
    # Options may stand before, between and after the paths.
    given = parser.parse_intermixed_args(arguments)
    paths = given.paths[1:] if given.paths[:1] == ["check"] else given.paths
    if not arguments:
        parser.error("no path given; name files or folders, as in `warplint .`")
    if paths[:1] == list(arguments[:1]) and not os.path.lexists(paths[0]):
        meant = _alike(paths[0], COMMANDS)
        if meant is not None:
            parser.error(f"`{paths[0]}` is neither a command nor a file or folder; did you mean `warplint {meant}`?")
    if not paths:
        paths = [os.curdir if given.stdin_filename is None else STDIN]
    if given.stdin_filename is not None and STDIN not in paths:
        parser.error("--stdin-filename goes with the path `-`")
    if given.add_ignore is not None and (STDIN in paths or given.no_ignores):
        parser.error("--add-ignore goes with neither standard input nor --no-ignores")
    if given.fix and (STDIN in paths or given.diff or given.add_ignore is not None or given.write_baseline):
        parser.error("--fix goes with neither standard input nor --diff nor --add-ignore nor --write-baseline")
    if given.diff and (given.add_ignore is not None or given.write_baseline):
        parser.error("--diff goes with neither --add-ignore nor --write-baseline")
    if given.unsafe_fixes and not (given.fix or given.diff):
        parser.error("--unsafe-fixes goes with --fix or --diff")
    if given.write_baseline and given.reach is not None:
        parser.error("--write-baseline does not go with --reach: a baseline counts all that is found")
    if given.write_baseline and (given.baseline is None or STDIN in paths):
        parser.error("--write-baseline goes with --baseline FILE, and not with standard input")
    if given.stdin_filename is not None and os.path.isdir(given.stdin_filename):
        parser.error(f"--stdin-filename {given.stdin_filename!r} is a folder; name a Python file")
    if given.watch and (STDIN in paths or given.fix or given.add_ignore is not None or given.write_baseline):
        parser.error("--watch goes with neither standard input nor --fix nor --add-ignore nor --write-baseline")
    if given.show_files and (STDIN in paths or given.watch or given.fix or given.diff or given.add_ignore is not None):
        parser.error("--show-files goes with neither standard input nor --watch nor --fix nor --diff nor --add-ignore")
    if given.statistics and given.output_format not in ("full", "concise", "json"):
        parser.error("--statistics goes with the formats full, concise and json")
    if given.quiet and given.verbose:
        parser.error("--quiet and --verbose contradict each other; give one of them")
    if given.no_cache and given.cache_dir is not None:
        parser.error("--no-cache and --cache-dir contradict each other; give one of them")
    if given.config is not None and given.isolated:
        parser.error("--config and --isolated contradict each other; give one of them")
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
        config=given.config,
        isolated=given.isolated,
        warp_version=given.warp_version,
        python=given.python,
        exclude=_flat(given.exclude),
        probe=given.probe,
        probe_import=given.probe_import,
        probe_native=given.probe_native,
        device=given.device,
        show_refuted=given.show_refuted,
        emit_probe=given.emit_probe,
        ignores=not given.no_ignores,
        add_ignore=given.add_ignore,
        fix=given.fix,
        diff=given.diff,
        unsafe_fixes=given.unsafe_fixes,
        baseline=given.baseline,
        write_baseline=given.write_baseline,
        min_severity=given.min_severity,
        fail_on=given.fail_on,
        reach=given.reach,
        output_format=given.output_format,
        outputs=tuple(given.output),
        output_file=given.output_file,
        color=given.color,
        jobs=given.jobs,
        force_exclude=given.force_exclude,
        statistics=given.statistics,
        exit_zero=given.exit_zero,
        cache_dir=given.cache_dir,
        cache=not given.no_cache,
        show_files=given.show_files,
        watch=given.watch,
        quiet=given.quiet,
        verbose=given.verbose,
    )


@dataclass(frozen=True, slots=True)
class Asked:
    """What one of the small commands is asked: about rules or a path, as text or as JSON."""

    about: str | None = None
    #: Codes, names, beginnings of codes, families.
    rules: tuple[str, ...] = ()
    as_json: bool = False
    everything: bool = False
    symptom: str | None = None
    config: str | None = None
    isolated: bool = False
    #: About rules of the user's own: where they are, what they select, whether and where they are probed.
    folder: str = ""
    fact: str = ""
    code: str | None = None
    probe: bool = True
    device: str | None = None
    #: About an audit.
    audit: AuditOptions | None = None
    quiet: bool = False
    color: Color = "auto"


def audit_parser() -> argparse.ArgumentParser:
    """The parser of ``warplint audit``."""
    parser = Parser(
        prog="warplint audit",
        description="Run every kernel and func that is compiled with an adjoint, and compare the gradients of a tape\n"
        "with finite differences, whether a rule finds fault with it or not.",
        epilog="Exit status: 0 none is wrong, 1 some are, 2 something could not be done.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("paths", nargs="+", metavar="PATH", help="files and folders")
    parser.add_argument("--device", type=_device, help="where to run them: auto (the default), cpu or cuda:N")
    _add_probe_permissions(parser)
    parser.add_argument("--jobs", type=_jobs, metavar="N", help="programs at a time; one for each processor")
    parser.add_argument(
        "--timeout", type=_seconds, default=60.0, metavar="S", help="processor seconds for one program (60)"
    )
    parser.add_argument("--resume", action="store_true", help="take over what an earlier, interrupted audit has")
    parser.add_argument("--cache-dir", metavar="FOLDER", help="where kernels and answers are kept")
    parser.add_argument("--config", metavar="FILE", help="this configuration for all files")
    parser.add_argument("--isolated", action="store_true", help="no configuration at all")
    parser.add_argument("--exclude", **_MORE, type=_patterns, metavar="PATTERNS", help="leave these out as well")
    parser.add_argument("--output-format", choices=("text", "json"), default="text", help="text is the default")
    parser.add_argument("--color", choices=COLORS, default="auto", metavar="|".join(COLORS), help="auto: on a terminal")
    parser.add_argument("-q", "--quiet", action="store_true", help="show no progress")
    return parser


#: How rules are named, as everywhere.
_RULE = "a code (WP104), name, beginning (WP1) or family"


def explain_parser() -> argparse.ArgumentParser:
    """The parser of ``warplint explain``."""
    parser = Parser(prog="warplint explain", description="Print the pages of rules, or the list of all rules.")
    parser.add_argument("rules", nargs="*", metavar="RULE", help=f"{_RULE}; a list of all without")
    parser.add_argument("--all", action="store_true", help="the pages of all rules")
    parser.add_argument("--symptom", metavar="NAME", choices=SYMPTOM_NAMES, help=" ".join(SYMPTOM_NAMES))
    return parser


def rules_parser() -> argparse.ArgumentParser:
    """The parser of ``warplint rules``."""
    parser = Parser(prog="warplint rules", description="List the rules, those of the configuration here included.")
    parser.add_argument("rules", nargs="*", metavar="RULE", help=f"{_RULE}; all without")
    parser.add_argument("--output-format", choices=("text", "json"), default="text", help="text is the default")
    return parser


def config_parser() -> argparse.ArgumentParser:
    """The parser of ``warplint config``."""
    parser = Parser(prog="warplint config", description="Print what is configured for a file, and where.")
    parser.add_argument(
        "path", nargs="?", default=".", metavar="PATH", help="a file or folder; the current one without"
    )
    parser.add_argument("--config", metavar="FILE", help="this configuration for all files")
    parser.add_argument("--isolated", action="store_true", help="no configuration at all")
    parser.add_argument("--output-format", choices=("text", "json"), default="text", help="text is the default")
    return parser


def new_rule_parser() -> argparse.ArgumentParser:
    """The parser of ``warplint new-rule``."""
    parser = Parser(
        prog="warplint new-rule",
        description="Make a rule file and a folder of examples, to begin from. What they select and show is\n"
        "taken from a rule that comes with warplint.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("name", metavar="NAME", help="words in lower case joined by `-`, as in `allow NAME`")
    parser.add_argument("--dir", default=OWN_RULES, metavar="DIR", help=f"where your rules are ({OWN_RULES})")
    parser.add_argument("--fact", default="loop-carried-value", metavar="KIND", help="the kind of fact it selects")
    parser.add_argument("--id", metavar="CODE", help="its code; OWN001 or the next that is free without")
    return parser


def own_rules_parser() -> argparse.ArgumentParser:
    """The parser of ``warplint test-rules``."""
    parser = Parser(prog="warplint test-rules", description="Try rules of your own on their examples.")
    parser.add_argument("dir", metavar="DIR", help="the folder of the rule files")
    parser.add_argument("--no-probe", action="store_true", help="look only whether they are found; run nothing")
    parser.add_argument("--device", type=_device, help="where to run them: auto (the default), cpu or cuda:N")
    return parser


def completion_parser() -> argparse.ArgumentParser:
    """The parser of ``warplint completion``."""
    parser = Parser(
        prog="warplint completion",
        description='Print a script that completes warplint in a shell, as in `eval "$(warplint completion bash)"`.',
    )
    parser.add_argument("shell", choices=SHELLS, metavar="SHELL", help=", ".join(SHELLS))
    return parser


def help_parser() -> argparse.ArgumentParser:
    """The parser of ``warplint help``."""
    parser = Parser(prog="warplint help", description="Print how a command is called; without one, what there is.")
    parser.add_argument(
        "command", nargs="?", default="check", choices=COMMANDS, metavar="COMMAND", help=", ".join(COMMANDS)
    )
    return parser


def server_parser() -> argparse.ArgumentParser:
    """The parser of ``warplint server``."""
    parser = Parser(
        prog="warplint server", description="A language server on standard input and output; editors start it."
    )
    parser.add_argument("--stdio", action="store_true", help="what is done anyway; some editors say so")
    return parser


def asked(command: str, arguments: Sequence[str]) -> Asked:
    """What a command other than ``check`` is asked. Ends the run where that makes no sense."""
    parser = PARSERS[command]()
    given = parser.parse_args(arguments)
    if command == "explain":
        if bool(given.rules) + given.all + (given.symptom is not None) > 1:
            parser.error("give rules, --all or --symptom")
        return Asked(rules=tuple(given.rules), everything=given.all, symptom=given.symptom)
    if command == "completion":
        return Asked(given.shell)
    if command == "help":
        return Asked(given.command)
    if command == "new-rule":
        return Asked(given.name, folder=given.dir, fact=given.fact, code=given.id)
    if command == "test-rules":
        return Asked(folder=given.dir, probe=not given.no_probe, device=given.device)
    if command == "server":
        return Asked()
    as_json = given.output_format == "json"
    if command == "audit":
        if given.config is not None and given.isolated:
            parser.error("--config and --isolated contradict each other; give one of them")
        what = AuditOptions(
            tuple(given.paths),
            given.config,
            given.isolated,
            _flat(given.exclude),
            given.device,
            given.cache_dir,
            given.resume,
            given.jobs,
            given.timeout,
            given.probe_import,
            given.probe_native,
        )
        return Asked(as_json=as_json, audit=what, quiet=given.quiet, color=given.color)
    if command == "rules":
        return Asked(as_json=as_json, rules=tuple(given.rules))
    return Asked(given.path, as_json=as_json, config=given.config, isolated=given.isolated)


#: The parsers of all commands.
PARSERS: dict[str, Callable[[], argparse.ArgumentParser]] = {
    "check": check_parser,
    "audit": audit_parser,
    "explain": explain_parser,
    "rules": rules_parser,
    "config": config_parser,
    "new-rule": new_rule_parser,
    "test-rules": own_rules_parser,
    "completion": completion_parser,
    "server": server_parser,
    "help": help_parser,
}


def _alike(word: str, known: Iterable[str]) -> str | None:
    """The one of the ``known`` words that may have been meant."""
    from difflib import get_close_matches  # late: few runs begin with a slip

    return next(iter(get_close_matches(word, list(known), 1, 0.75)), None)


def _words(text: str) -> list[str]:
    words = [word.strip() for word in text.split(",")]
    if not all(words):
        raise argparse.ArgumentTypeError(f"{text!r} is no list of rules; separate them by commas")
    return words


def _reason(text: str) -> str:
    reason = text.strip()
    if not reason or "\n" in reason or reason.startswith(("#", "[")) or " #" in reason:
        raise argparse.ArgumentTypeError(f"{text!r} is no reason; write one line without `#`")
    return reason


def _output(text: str) -> tuple[str, str]:
    output_format, _, path = text.partition("=")
    if output_format not in OUTPUT_FORMATS or not path:
        known = f"; `--output-format {text}` prints it" if text in OUTPUT_FORMATS else ""
        raise argparse.ArgumentTypeError(f"{text!r} is no FORMAT=FILE, as sarif=report.sarif{known}")
    return output_format, path


def _patterns(text: str) -> list[str]:
    return [pattern for pattern in text.split(",") if pattern.strip()]


def _reaches(text: str) -> tuple[str, ...]:
    words = tuple(word.strip() for word in text.split(","))
    for word in words:
        if word not in REACHES:
            raise argparse.ArgumentTypeError(f"{word!r} is none of {', '.join(REACHES)}; several are joined by commas")
    return words


def _version(text: str) -> str:
    if not VERSION.fullmatch(text):
        raise argparse.ArgumentTypeError(f"must be a version, as 1.16 or 1.16.0, not {text!r}")
    return text


def _device(text: str) -> str:
    if not DEVICE.fullmatch(text):
        raise argparse.ArgumentTypeError(f"{text!r} is no device; write auto, cpu or cuda:N")
    return text


def _jobs(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of processes; write 1 or more")
    return int(text)


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 1.0 <= seconds <= 86400.0:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of seconds; write 1 to 86400")
    return seconds


def _flat(lists: Iterable[Iterable[str]]) -> tuple[str, ...]:
    return tuple(word for words in lists for word in words)
