"""Findings that were there before: a file counts them, and a run lists only what is beyond.

They are told apart by file, rule, definition and message, not by line: a finding may move within its file. Where there
are more of a kind than the file counts, none of them is held back, as nobody knows which one is new. When some are
gone, the counts shrink.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path

from warplint.ir.facts import Finding, Problem
from warplint.ir.spans import displayed

_FORMAT = 1
#: Relative path, rule, definition, message.
Key = tuple[str, str, str, str]


class Baseline:
    """The counts in a file. What is wrong with it is in ``problems``."""

    def __init__(self, path: Path, counts: Mapping[Key, int]) -> None:
        self._path = path
        self._counts = Counter(counts)
        self.problems: list[Problem] = []

    @classmethod
    def read(cls, name: str, new: bool = False) -> Baseline:
        """The baseline in a file; if ``new``, it need not be there yet."""
        found = cls(Path(os.path.abspath(name)), {})
        try:
            document = json.loads(found._path.read_text(encoding="utf-8"))
            found._counts.update(_counts(document))
        except FileNotFoundError:
            if not new:
                found._complain("there is no such baseline; write it with --write-baseline")
        except OSError as error:
            found._complain(f"cannot read the baseline: {error.strerror or error}; check the path")
        except (ValueError, RecursionError):  # JSON that is broken, not UTF-8, or of another form
            found._complain("this is no baseline; write it anew with --write-baseline")
        return found

    def beyond(self, findings: Iterable[Finding]) -> list[Finding]:
        """The findings that are not accounted for."""
        findings = list(findings)
        present = Counter(self._key(finding) for finding in findings)
        return [finding for finding in findings if present[self._key(finding)] > self._counts[self._key(finding)]]

    def shrink(self, findings: Iterable[Finding], looked_for: Mapping[Path, Collection[str]]) -> None:
        """Lower the counts to what is still there, as far as it was ``looked_for``: rules by file. ``findings`` are all
        that there are."""
        present = Counter(self._key(finding) for finding in findings)
        rules = {self._relative(path): some for path, some in looked_for.items()}
        counts = {}
        for key, count in self._counts.items():
            if key[0] not in rules:
                left = count if (self._path.parent / key[0]).exists() else 0
            else:
                left = min(count, present[key]) if key[1] in rules[key[0]] else count
            if left:
                counts[key] = left
        if counts != dict(self._counts):
            self._counts = Counter(counts)
            self._write()

    def renew(self, findings: Iterable[Finding], looked_for: Mapping[Path, Collection[str]]) -> None:
        """Count ``findings``, and keep the counts of what was not looked for."""
        rules = {self._relative(path): some for path, some in looked_for.items()}
        kept = {key: count for key, count in self._counts.items() if key[1] not in rules.get(key[0], ())}
        self._counts = Counter(kept) + Counter(self._key(finding) for finding in findings)
        self.problems.clear()
        self._write()

    def _write(self) -> None:
        document: dict[str, object] = {"warplint-baseline": _FORMAT}
        files: dict[str, dict[str, dict[str, dict[str, int]]]] = {}
        for (path, rule, definition, message), count in sorted(self._counts.items()):
            files.setdefault(path, {}).setdefault(rule, {}).setdefault(definition, {})[message] = count
        document["files"] = files
        text = json.dumps(document, indent=1, ensure_ascii=False) + "\n"
        try:
            self._path.write_text(text, encoding="utf-8", errors="backslashreplace")
        except OSError as error:
            self._complain(f"cannot write the baseline: {error.strerror or error}; check the path")

    def _key(self, finding: Finding) -> Key:
        return self._relative(finding.location.path), finding.rule, finding.fact.definition, finding.message

    def _relative(self, path: Path) -> str:
        try:
            return Path(os.path.relpath(path, self._path.parent)).as_posix()
        except ValueError:  # on another drive
            return path.as_posix()

    def _complain(self, message: str) -> None:
        self.problems.append(Problem(displayed(self._path), message))


def _counts(document: object) -> dict[Key, int]:
    """The counts in the contents of a file.

    Raises:
        ValueError: they are of another form.
    """
    if not isinstance(document, dict) or document.get("warplint-baseline") != _FORMAT:
        raise ValueError
    counts: dict[Key, int] = {}
    for path, rules in _table(document.get("files")).items():
        for rule, definitions in _table(rules).items():
            for definition, messages in _table(definitions).items():
                for message, count in _table(messages).items():
                    if not isinstance(count, int) or isinstance(count, bool) or count < 1:
                        raise ValueError
                    counts[path, rule, definition, message] = count
    return counts


def _table(value: object) -> Mapping[str, object]:
    if not isinstance(value, dict):
        raise ValueError
    return value
