"""Reading a file: bytes to text, with every way that can fail as one sentence."""

from __future__ import annotations

import io
import symtable
import tokenize
import warnings
from dataclasses import dataclass
from pathlib import Path

from warplint.ir.facts import Problem

#: Files larger than this are reported and not read: nobody writes a kernel there by hand.
MAX_BYTES = 4_000_000


@dataclass(frozen=True, slots=True)
class SourceText:
    """The text of one file. ``table`` is its symbol table, None when this Python's grammar is too old for the file."""

    path: Path
    text: str
    table: symtable.SymbolTable | None


def read_bytes(path: Path) -> bytes | Problem:
    """The contents of ``path``, or the problem that kept us from reading it."""
    try:
        size = path.stat().st_size
        if size > MAX_BYTES:
            return Problem(
                str(path),
                f"the file has {size:,} bytes, more than the {MAX_BYTES:,} that are read; exclude it or split it",
            )
        return path.read_bytes()
    except OSError as error:
        return Problem(str(path), f"cannot read the file: {error.strerror or error}; check the path and its permissions")


def decode(path: Path, data: bytes) -> str | Problem:
    """The text of ``data`` by its byte-order mark or coding line (PEP 263), UTF-8 without either; newlines become LF."""
    if b"\0" in data:
        line = data.count(b"\n", 0, data.index(b"\0")) + 1
        return Problem(str(path), "the file contains a null byte, which Python source cannot; is it binary?", line)
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
        text = data.decode(encoding)
    except (SyntaxError, LookupError) as error:
        return Problem(str(path), f"cannot decode the file: {error}; declare an encoding that Python knows", 1)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        return Problem(
            str(path),
            f"cannot decode the file as {error.encoding}: byte 0x{data[error.start]:02x}; "
            "save it as UTF-8 or declare its encoding in the first line",
            line,
        )
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    return text.removeprefix("\ufeff")


def check_syntax(path: Path, text: str) -> symtable.SymbolTable | Problem:
    """The symbol table of ``text``: the cheapest way to have Python itself check a whole file."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return symtable.symtable(text, str(path), "exec")
    except SyntaxError as error:
        return Problem(
            str(path), f"syntax error: {error.msg}; the file is not linted until it parses", error.lineno, error.offset
        )
    except (RecursionError, MemoryError):
        return Problem(str(path), "the code is nested too deeply for Python's parser; split the expression", 1)
    except ValueError as error:
        return Problem(str(path), f"cannot parse the file: {error}", 1)
