"""What the streams that we write to can show: colours, links, width, a line of progress."""

from __future__ import annotations

import os
import shutil
import signal
import sys
import time
from types import FrameType

# What terminals that know OSC 8 say of themselves.
_LINKING = ("KITTY_WINDOW_ID", "WT_SESSION", "VTE_VERSION", "KONSOLE_VERSION", "WEZTERM_PANE", "GHOSTTY_BIN_DIR")
_LINKING_PROGRAMS = {"iTerm.app", "WezTerm", "vscode", "ghostty", "Hyper", "zed", "rio"}

#: Seconds until progress is shown: what is done sooner needs none.
PATIENCE = 1.0


def colored(wanted: str) -> bool:
    """Whether to colour standard output, where ``wanted`` is ``auto``, ``always`` or ``never``.

    As for Python itself, ``NO_COLOR`` comes before ``FORCE_COLOR``.
    """
    if wanted != "auto":
        return wanted == "always"
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR", "0") not in ("", "0"):
        return True
    return sys.stdout.isatty() and os.environ.get("TERM") != "dumb"


def linked(colors: bool) -> bool:
    """Whether standard output shows links."""
    forced = os.environ.get("FORCE_HYPERLINK")
    if forced is not None:
        return forced not in ("", "0")
    if not (colors and sys.stdout.isatty()):
        return False
    known = any(os.environ.get(name) for name in _LINKING)
    return known or os.environ.get("TERM_PROGRAM") in _LINKING_PROGRAMS or os.environ.get("TERM") == "xterm-kitty"


def width() -> int | None:
    """How many columns a terminal that we write to has; None for a file or a pipe."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def clear_screen() -> None:
    """Begin anew, on a terminal."""
    if sys.stdout.isatty() and os.environ.get("TERM") != "dumb":
        print("\x1b[2J\x1b[H", end="", flush=True)


class Progress:
    """One line on standard error, if that is a terminal: overwritten, and gone in the end.

    A timer shows it, so that a long step needs not report. (A thread would not do: workers are forked.)
    """

    def __init__(self, quiet: bool) -> None:
        self._shows = not quiet and sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
        self._started = time.monotonic()
        self._text = ""
        self._shown = False
        self._timer = self._shows and hasattr(signal, "setitimer")

    def __enter__(self) -> Progress:
        if self._timer:
            try:
                signal.signal(signal.SIGALRM, self._tick)
                signal.setitimer(signal.ITIMER_REAL, PATIENCE, PATIENCE)
            except ValueError:  # not the main thread
                self._timer = False
        return self

    def __exit__(self, *_: object) -> None:
        if self._timer:
            signal.setitimer(signal.ITIMER_REAL, 0.0)
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
        self._text = ""
        if self._shown:
            self._draw()

    def step(self, text: str) -> None:
        """What is being done from now on."""
        self._text = text
        if self._shows and time.monotonic() - self._started >= PATIENCE:
            self._draw()

    def _tick(self, number: int, frame: FrameType | None) -> None:
        self._draw()

    def _draw(self) -> None:
        self._shown = True
        # Not by `print`, which an interrupted `print` would refuse to let in.
        os.write(sys.stderr.fileno(), f"\r\x1b[K{self._text}".encode("utf-8", "backslashreplace"))
