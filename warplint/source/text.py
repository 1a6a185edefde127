"""Reading a file: bytes to text, with every way that can fail as one sentence."""

from __future__ import annotations

import codecs
import io
import stat
import tokenize
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

from warplint.ir.facts import Problem

if TYPE_CHECKING:
    import symtable

#: Files larger than this are reported and not read: nobody writes a kernel there by hand.
MAX_BYTES = 4_000_000

#: Said of code that Python, or one of the readers, cannot descend into.
TOO_DEEP = "the code is nested too deeply to be read; split the expression, or exclude the file"


_UTF_MARKS = (codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def read_bytes(path: Path) -> bytes | Problem:
    """The contents of ``path``, or the problem that kept us from reading it.

    Only regular files are opened: a pipe or a device could block for ever.
    """
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            kind = "a directory" if stat.S_ISDIR(status.st_mode) else "a pipe, socket or device"
            return Problem(str(path), f"this is {kind}, not a file; name a Python file here or exclude the path")
        if status.st_size > MAX_BYTES:
            return Problem(
                str(path),
                f"the file has {status.st_size:,} bytes, more than the {MAX_BYTES:,} that are read; "
                "exclude it or split it",
            )
        return path.read_bytes()
    except OSError as error:
        return Problem(
            str(path), f"cannot read the file: {error.strerror or error}; check the path and its permissions"
        )
    except ValueError as error:  # a null byte in the path
        return Problem(str(path), f"cannot read the file: {error}; check the path")


def decode(path: Path, data: bytes) -> str | Problem:
    """The text of ``data`` by its byte-order mark or coding line (PEP 263), else as UTF-8; newlines become LF."""
    if data.startswith(_UTF_MARKS):
        return Problem(str(path), "the file is in UTF-16 or UTF-32, which Python does not read; save it as UTF-8", 1)
    if b"\0" in data:
        line = _line_of(data, data.index(b"\0"))
        return Problem(
            str(path),
            "the file contains a null byte, which Python source must not; exclude it if it is binary",
            line,
        )
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        return Problem(
            str(path),
            f"cannot decode the file as {error.encoding}: byte 0x{data[error.start]:02x}; "
            "save it as UTF-8 or declare its encoding in the first line",
            _line_of(data, error.start),
        )
    except (SyntaxError, LookupError, ValueError) as error:
        reason = error.msg if isinstance(error, SyntaxError) else str(error)
        return Problem(str(path), f"cannot decode the file: {reason}; declare the encoding that it is in", 1)
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    return text.removeprefix("\ufeff")


def read_text(path: Path, data: bytes | None = None) -> str | Problem:
    """The text of the file at ``path`` (of ``data`` instead of its contents, if given), whether it parses or not."""
    contents = read_bytes(path) if data is None else data
    return contents if isinstance(contents, Problem) else decode(path, contents)


def _line_of(data: bytes, offset: int) -> int:
    return data.count(b"\n", 0, offset) + 1


def check_syntax(path: Path, text: str) -> symtable.SymbolTable | Problem:
    """The symbol table of ``text``: the cheapest way to have Python itself check a whole file."""
    import symtable

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return symtable.symtable(text, str(path), "exec")
    except SyntaxError as error:
        return syntax_problem(path, error)
    except (RecursionError, MemoryError):
        return Problem(str(path), TOO_DEEP, 1)
    except ValueError as error:
        return Problem(str(path), f"cannot parse the file: {error}; save it as UTF-8", 1)


def syntax_problem(path: Path, error: SyntaxError) -> Problem:
    """What is wrong with a file that does not parse."""
    message = f"syntax error: {error.msg}; the file is not linted until it parses"
    return Problem(str(path), message, error.lineno or 1, error.offset or None)
