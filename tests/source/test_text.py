"""Every way in which a file cannot be read is one sentence, never a traceback."""

from __future__ import annotations

import os
import symtable
import sys
from pathlib import Path

import pytest

from warplint.frontend import open_project
from warplint.ir.facts import Problem
from warplint.source.project import Module
from warplint.source.text import MAX_BYTES, check_syntax, decode, read_bytes

HERE = Path("x.py")


def problem(found: object, *words: str) -> Problem:
    assert isinstance(found, Problem), found
    assert "\n" not in found.message
    for word in words:
        assert word in found.message, found.message
    return found


def test_newlines_and_byte_order_mark() -> None:
    assert decode(HERE, b"\xef\xbb\xbfa\r\nb\rc\n") == "a\nb\nc\n"
    assert decode(HERE, b"") == ""


def test_declared_encoding() -> None:
    assert decode(HERE, b"# -*- coding: latin-1 -*-\nx = '\xe9'\n") == "# -*- coding: latin-1 -*-\nx = 'é'\n"
    assert decode(HERE, b"#!/bin/sh\n# vim: set fileencoding=cp1252 :\n'\x80'") == (
        "#!/bin/sh\n# vim: set fileencoding=cp1252 :\n'€'"
    )
    assert decode(HERE, "# coding: shift_jis\n'日本'\n".encode("shift_jis")) == "# coding: shift_jis\n'日本'\n"


@pytest.mark.parametrize(
    ("data", "words", "line"),
    [
        ("x = 1\n".encode("utf-16"), ("UTF-16",), 1),
        ("x = 1\n".encode("utf-32"), ("UTF-32",), 1),
        (b"x = 1\ny = '\0'\n", ("null byte",), 2),
        (b"x = 1\n\ny = '\xe9'\n", ("utf-8", "0xe9"), 3),
        (b"# coding: utf-8\n'\xff'", ("utf-8", "0xff"), 2),
        (b"# coding: no-such-code\n", ("no-such-code",), 1),
        (b"# coding: rot13\nk = 1\n", ("rot13",), 1),
        (b"# coding: base64\nk = 1\n", ("base64",), 1),
        (b"\xef\xbb\xbf# coding: latin-1\n", ("decode",), 1),
    ],
)
def test_what_cannot_be_decoded(data: bytes, words: tuple[str, ...], line: int) -> None:
    assert problem(decode(HERE, data), *words).line == line


def test_lone_surrogate() -> None:
    text = decode(HERE, b"# coding: unicode_escape\nx = '\\ud800'\n")
    assert text == "# coding: unicode_escape\nx = '\ud800'\n"
    problem(check_syntax(HERE, text), "surrogates")


def test_missing_file_directory_and_broken_link(tmp_path: Path) -> None:
    problem(read_bytes(tmp_path / "none.py"), "No such file")
    (tmp_path / "folder.py").mkdir()
    problem(read_bytes(tmp_path / "folder.py"), "directory")
    (tmp_path / "link.py").symlink_to(tmp_path / "nowhere.py")
    problem(read_bytes(tmp_path / "link.py"), "No such file")
    (tmp_path / "loop.py").symlink_to(tmp_path / "loop.py")
    problem(read_bytes(tmp_path / "loop.py"), "cannot read")
    problem(read_bytes(Path("a\0b.py")), "null")
    problem(read_bytes(tmp_path / "x.py" / "y.py"), "cannot read")


def test_link_to_a_file_is_read(tmp_path: Path) -> None:
    (tmp_path / "real.py").write_text("x = 1\n")
    (tmp_path / "link.py").symlink_to("real.py")
    assert read_bytes(tmp_path / "link.py") == b"x = 1\n"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_pipes_and_devices_are_not_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.py")
    problem(read_bytes(tmp_path / "pipe.py"), "pipe")
    problem(read_bytes(Path("/dev/zero")), "device")


def test_unreadable_and_vanished_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "x.py"
    path.write_text("x = 1\n")
    for error, word in ((PermissionError(13, "Permission denied"), "Permission denied"), (OSError(), "cannot read")):

        def fail(self: Path, error: OSError = error) -> bytes:
            raise error

        monkeypatch.setattr(Path, "read_bytes", fail)
        problem(read_bytes(path), word)

    def vanish(self: Path) -> bytes:
        raise FileNotFoundError(2, "No such file or directory")

    monkeypatch.setattr(Path, "read_bytes", vanish)
    problem(read_bytes(path), "No such file")


def test_large_file(tmp_path: Path) -> None:
    path = tmp_path / "x.py"
    path.write_bytes(b"# filler\n" * (5_000_000 // 9))
    problem(read_bytes(path), f"{MAX_BYTES:,}", "exclude")


def test_syntax_error_has_line_and_column() -> None:
    found = problem(check_syntax(HERE, "x = 1\ny = 'é' + = 2\n"), "syntax error", "not linted")
    assert (found.path, found.line, found.column) == ("x.py", 2, 11)


def test_symbol_table() -> None:
    assert isinstance(check_syntax(HERE, "x = 1\n"), symtable.SymbolTable)
    assert isinstance(check_syntax(HERE, "x = '\\d'\n"), symtable.SymbolTable)


DEEP = {
    "sum": "x = 1" + " + 1" * 5000,
    "long sum": "x = 1" + " + 1" * 100_000,
    "short sum": "x = 1" + " + 1" * 700,
    "brackets": "x = " + "(" * 300 + ")" * 300,
    "many brackets": "x = " + "[" * 100_000,
    "minus": "x = " + "-" * 700 + "1",
    "many minus": "x = " + "-" * 100_000 + "1",
    "not": "x = " + "not " * 50_000 + "1",
    "attributes": "x = a" + ".b" * 700,
    "calls": "x = a" + "()" * 900,
    "elif": "if a: b\n" + "elif a: b\n" * 900,
    "many elif": "if a: b\n" + "elif a: b\n" * 50_000,
    "lambda": "x = " + "lambda: " * 700 + "1",
    "newer": "type A = int\nx = " + "(" * 100_000,
    "newer minus": "type A = int\nx = " + "-" * 100_000 + "1",
}


@pytest.mark.parametrize("text", DEEP.values(), ids=DEEP)
def test_deep_nesting_is_one_problem(text: str, tmp_path: Path) -> None:
    path = tmp_path / "x.py"
    path.write_text(text + "\ndef f():\n    return 1\n")
    project = open_project()
    module = project.load(path)
    if isinstance(module, Module):
        list(module.statements())
        assert not module.complete
        found = project.problems
        assert [definition.qualname for definition in module.functions()] == ["f"]  # the rest is still read
        assert project.problems == found
    else:
        found = [module]
    (single,) = found
    assert single.path == str(path)
    problem(single)
    assert single.line in (1, 2)


def test_syntax_newer_than_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What LibCST knows and the running Python does not is read all the same."""
    text = (
        "import warp as wp\ntype Real = float\n\n\n@wp.kernel\ndef f[T](a: T):\n    pass\n\n\n"
        "x = f'{d['k']} {\"\\n\".join(y)}'\n"
    )
    if sys.version_info >= (3, 12):  # make this Python as old as 3.11

        def refuse(text: str, *rest: object) -> object:
            raise SyntaxError("invalid syntax", ("x.py", 2, 6, "type Real = float"))

        monkeypatch.setattr("symtable.symtable", refuse)
        monkeypatch.setattr("ast.parse", refuse)
    path = tmp_path / "x.py"
    path.write_text(text)
    module = open_project().load(path)
    assert isinstance(module, Module), module
    assert [(region.kind, region.names, region.line) for region in module.regions] == [
        ("import", (), 1),
        ("other", (), 2),
        ("def", ("f",), 5),
        ("assign", ("x",), 10),
    ]
    (definition,) = module.functions()
    assert definition.node.span[:3] == (6, 1, 7)
    assert module.project.problems == []


@pytest.mark.parametrize(
    "text",
    [
        "x = = 1",
        "print 'hello'",
        "def f(a, a): pass",
        "def f():\n    global x\n    x: int = 1\n",
        "def f(x):\n    global x\n",
        "nonlocal x",
        "f(a=1, 2)",
        "f() = 1",
        "1 = x",
        "if x:\npass",
        "if x\n    pass",
        "x = 'abc",
        "x = (1",
        "x = 1)",
        "x = 0777",
        "x = 1__0",
        "'a' b'c'",
        "'\\N{no such name}'",
        "except: pass",
        "try: pass",
        "import a.b as c.d",
        "from a import b as c.d",
        "del f()",
        "lambda x y: 0",
        "def f(a=1, b): pass",
        "class A(: pass",
        "x = 5 +",
        "else: pass",
        "  x = 1",
        "if a:\n    b\n  c",
        "<<<<<<< HEAD\nx = 1\n=======\nx = 2\n>>>>>>> main\n",
        "x = $1",
        "x ? y : z",
    ],
)
def test_what_no_python_accepts_is_reported(text: str, tmp_path: Path) -> None:
    path = tmp_path / "x.py"
    path.write_text("ok = 1\n" + text)
    found = problem(open_project().load(path), "syntax error")
    assert found.line is not None and found.line >= 2
