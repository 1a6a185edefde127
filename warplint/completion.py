"""Scripts that complete ``warplint`` in a shell, made from the parsers."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping


def script(shell: str, parsers: Mapping[str, argparse.ArgumentParser], commands: Mapping[str, str]) -> Iterator[str]:
    """The lines of the script for ``bash``, ``zsh`` or ``fish``.

    ``parsers`` are those of the commands, ``check`` among them; ``commands`` say what they are for.
    """
    if shell == "fish":
        yield from _fish(parsers, commands)
        return
    if shell == "zsh":
        yield "#compdef warplint"
        yield "autoload -U +X bashcompinit && bashcompinit"
    yield from _bash(parsers, commands)


def _bash(parsers: Mapping[str, argparse.ArgumentParser], commands: Mapping[str, str]) -> Iterator[str]:
    yield "_warplint() {"
    yield '  local word="${COMP_WORDS[COMP_CWORD]}" before="${COMP_WORDS[COMP_CWORD-1]}" command=check options=""'
    yield f'  case "${{COMP_WORDS[1]}}" in {"|".join(commands)}) command="${{COMP_WORDS[1]}}" ;; esac'
    yield "  COMPREPLY=()"
    yield '  case "$command $before" in'
    for name, parser in parsers.items():
        for action in _options(parser):
            if _choices(action):
                patterns = "|".join(f'"{name} {option}"' for option in action.option_strings)
                choices = " ".join(_choices(action))
                yield f'    {patterns}) COMPREPLY=($(compgen -W "{choices}" -- "$word")); return ;;'
    yield "  esac"
    yield '  case "$command" in'
    for name, parser in parsers.items():
        words = " ".join(option for action in _options(parser) for option in action.option_strings)
        yield f'    {name}) options="{words}" ;;'
    yield "  esac"
    yield '  if [[ "$word" == -* ]]; then COMPREPLY=($(compgen -W "$options" -- "$word")); return; fi'
    yield "  compopt -o filenames 2>/dev/null"
    yield '  COMPREPLY=($(compgen -f -- "$word"))'
    yield f'  if [[ $COMP_CWORD -eq 1 ]]; then COMPREPLY+=($(compgen -W "{" ".join(commands)}" -- "$word")); fi'
    yield "}"
    yield "complete -F _warplint warplint"


def _fish(parsers: Mapping[str, argparse.ArgumentParser], commands: Mapping[str, str]) -> Iterator[str]:
    others = " ".join(name for name in commands if name != "check")
    for name, use in commands.items():
        yield f"complete -c warplint -n __fish_use_subcommand -a {name} -d {_quoted(use)}"
    for name, parser in parsers.items():
        condition = f"__fish_seen_subcommand_from {name}"
        if name == "check":
            condition = f"not __fish_seen_subcommand_from {others}"
        for action in _options(parser):
            parts = [f"complete -c warplint -n {_quoted(condition)}"]
            for option in action.option_strings:
                parts.append(f"-l {option[2:]}" if option.startswith("--") else f"-s {option[1:]}")
            if _choices(action):
                parts.append(f"-x -a {_quoted(' '.join(_choices(action)))}")
            elif action.nargs != 0:
                parts.append("-r")
            parts.append(f"-d {_quoted(action.help or '')}")
            yield " ".join(parts)


def _options(parser: argparse.ArgumentParser) -> list[argparse.Action]:
    return [action for action in parser._actions if action.option_strings]


def _choices(action: argparse.Action) -> list[str]:
    """What an option takes: as declared, or as its usage line says where several may be joined."""
    if action.choices is not None:
        return [str(choice) for choice in action.choices]
    return action.metavar.split("|") if isinstance(action.metavar, str) and "|" in action.metavar else []


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
