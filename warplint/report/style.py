"""Colours on a terminal, and none elsewhere."""

from __future__ import annotations

from pathlib import Path

from warplint.ir.facts import Severity, Verdict
from warplint.ir.spans import file_and_cell
from warplint.records import dataclass

_RESET = "\x1b[0m"
_STRONG, _DIM, _RED, _GREEN, _YELLOW, _BLUE, _CYAN = "1", "2", "1;31", "32", "1;33", "1;34", "1;36"
_SEVERITIES: dict[Severity, str] = {"error": _RED, "warning": _YELLOW, "info": _CYAN}
_VERDICTS: dict[Verdict, str] = {"confirmed": _RED, "inconclusive": _YELLOW, "refuted": _GREEN, "unprobed": _DIM}


@dataclass(frozen=True, slots=True)
class Style:
    """Puts ANSI colours around text, if ``colored``."""

    colored: bool
    #: Whether the terminal shows links (OSC 8).
    linked: bool = False

    def _paint(self, code: str, text: str) -> str:
        return f"\x1b[{code}m{text}{_RESET}" if self.colored and text else text

    def link(self, text: str, path: Path) -> str:
        """``text`` that leads to a file."""
        path = file_and_cell(path)[0]
        return f"\x1b]8;;{path.absolute().as_uri()}\x1b\\{text}\x1b]8;;\x1b\\" if self.linked else text

    def strong(self, text: str) -> str:
        """What the eye should find first."""
        return self._paint(_STRONG, text)

    def faint(self, text: str) -> str:
        """What may be overlooked."""
        return self._paint(_DIM, text)

    def frame(self, text: str) -> str:
        """Line numbers and the like around source text."""
        return self._paint(_BLUE, text)

    def severity(self, severity: Severity, text: str) -> str:
        """In the colour of a severity."""
        return self._paint(_SEVERITIES[severity], text)

    def verdict(self, verdict: Verdict, text: str | None = None) -> str:
        """In the colour of a verdict; the verdict itself by default."""
        return self._paint(_VERDICTS[verdict], verdict if text is None else text)


PLAIN = Style(False)
