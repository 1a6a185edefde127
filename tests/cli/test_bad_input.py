"""Files that no one should have written: each is linted or refused with a sentence, and none ends in a traceback."""

from __future__ import annotations

import json
import os
import subprocess
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from pathlib import Path

import pytest
from command import run_warplint
from programs import CARRIED, CLEAN, IN_PLACE

HEAD = "import warp as wp\n\n\n"
KERNEL = "@wp.kernel\ndef f(x: wp.array(dtype=float), n: int):\n    i = wp.tid()\n"


def encodings() -> Iterator[tuple[str, bytes]]:
    for name in (
        "utf-16",
        "utf-16-le",
        "utf-32",
        "utf-7",
        "utf-8-sig",
        "latin-1",
        "cp1252",
        "shift_jis",
        "big5",
        "koi8-r",
    ):
        try:
            data = (HEAD + "# h\u00e9\n" + IN_PLACE).encode(name)
        except UnicodeEncodeError:
            data = IN_PLACE.encode(name)
        yield f"enc_{name}", data
        yield f"enc_declared_{name}", f"# -*- coding: {name} -*-\n".encode() + data
    for name in ("klingon", "rot13", "base64", "hex", "idna", "undefined", "unicode_escape", "utf8\x00", ""):
        yield f"enc_named_{name.encode().hex()}", f"# coding: {name}\n".encode() + IN_PLACE.encode()
    yield "enc_two_marks", b"\xef\xbb\xbf\xef\xbb\xbf" + IN_PLACE.encode()
    yield "enc_mark_and_latin", b"\xef\xbb\xbf# coding: latin-1\n" + IN_PLACE.encode()
    yield "enc_surrogate", (HEAD + "s = '\ud800'\n").encode("utf-8", "surrogatepass")
    yield "enc_truncated", IN_PLACE.encode() + b"# \xe2\x82"
    yield "enc_overlong", IN_PLACE.encode() + b"# \xc0\xaf"


def bytes_of_all_kinds() -> Iterator[tuple[str, bytes]]:
    yield "empty", b""
    yield "newline", b"\n"
    yield "spaces", b"   "
    yield "null", b"import warp\n\0"
    yield "only_nulls", b"\0" * 1000
    yield "all_bytes", bytes(range(256))
    yield "elf", b"\x7fELF\x02\x01\x01" + bytes(64) + b"warp"
    yield "png", b"\x89PNG\r\n\x1a\n warp kernel"
    yield "zip", b"PK\x03\x04warp"
    yield "gzip", b"\x1f\x8b\x08 warp"
    yield "control", IN_PLACE.encode() + b"# \x01\x02\x07\x08\x1b[31m\x7f\n"
    yield "form_feed", b"\x0c" + IN_PLACE.encode().replace(b"\n\n\n", b"\n\x0c\n")
    yield "carriage_returns", IN_PLACE.encode().replace(b"\n", b"\r")
    yield "mixed_newlines", IN_PLACE.encode().replace(b"\n\n", b"\r\n\r")
    yield "line_separators", (IN_PLACE + "# a\u2028b\u2029c\x85d\n").encode()
    yield "no_last_newline", IN_PLACE.encode().rstrip()
    yield "last_backslash", IN_PLACE.encode() + b"x = 1 \\"
    yield "control_z", IN_PLACE.encode() + b"\x1a"
    yield "right_to_left", (IN_PLACE + "# \u202e evil \u2066\n").encode()


def syntax() -> Iterator[tuple[str, str]]:
    texts = [
        "def f(:", "(", ")", "x = ", "if True:", "'''", '"', "f'{", "f'{x!}'", "f'{x:{y:{z}}}'", "lambda:", "return",
        "yield", "await x", "async def f(): yield await x", "nonlocal x", "global x\nx = 1", "break", "continue",
        "def f(x, x): pass", "def f(**k, a): pass", "f(a=1, a=2)", "x: int: 3", "del ()", "1 = x", "f() += 1",
        "print 'two'", "exec 'two'", "raise E, 'two'", "except: pass", "match x:\n    case y: pass",
        "match x:\n    case 1 | y: pass", "type X = int", "def f[T](x: T): pass", "class C[T]: pass",
        "try: pass\nexcept* E: pass", "with (a as b, c as d): pass", "x = (yield)", "from __future__ import braces",
        "from __future__ import annotations", "from . import x", "from .... import x", "import a.b.c as d",
        "from x import *", "x = 0x", "@wp.kernel(",
        "\tif x:\n        y = 1", "  x = 1", "if x:\n\ty = 1\n        z = 2", "x = 0777", "x = 1__0", "x = 1e",
        "x = 1if 2else 3", "x = $", "x = a?b", "\u00b2 = 1", "\u212b = 1", "x\u200b = 1", "\u0441 = 1",
        "x = 10**10**10", "x = 'a' * 10**12", "x = " + "9" * 5000, "x = -" * 50 + "1", "assert (x, 'y')",
        "@wp.kernel\nasync def f(): pass", "@wp.kernel\nclass C: pass", "@wp.kernel\nx = 1", "@wp.kernel",
    ]  # fmt: skip
    for number, text in enumerate(texts):
        yield f"syntax_{number:02}", HEAD + text + "\n"


def depth() -> Iterator[tuple[str, str]]:
    for count in (100, 3000):
        yield f"deep_parentheses_{count}", f"{HEAD}x = {'(' * count}1{')' * count}\n"
        yield f"deep_lists_{count}", f"{HEAD}x = {'[' * count}{']' * count}\n"
        yield f"deep_calls_{count}", f"{HEAD}x = {'f(' * count}{')' * count}\n"
        yield f"deep_attributes_{count}", f"{HEAD}x = wp{'.a' * count}\n"
        yield f"deep_subscripts_{count}", f"{HEAD}{KERNEL}    y = x{'[0]' * count}\n"
        yield f"deep_sum_{count}", f"{HEAD}{KERNEL}    x[i] = {'+ '.join(['x[i]'] * count)}\n"
        yield f"deep_minus_{count}", f"{HEAD}{KERNEL}    x[i] = {'-' * count}x[i]\n"
        yield f"deep_not_{count}", f"{HEAD}x = {'not ' * count}1\n"
        yield f"deep_lambda_{count}", f"{HEAD}x = {'lambda: ' * count}1\n"
        yield f"deep_compare_{count}", f"{HEAD}x = {' < '.join(['1'] * count)}\n"
        yield f"deep_ternary_{count}", f"{HEAD}x = {'1 if x else ' * count}2\n"
        yield f"long_elif_{count}", f"{HEAD}if x: pass\n" + "elif y: pass\n" * count
    blocks = "".join("    " * level + "for a in b:\n" for level in range(25))
    yield "deep_blocks", f"{HEAD}{blocks}{'    ' * 25}pass\n"
    yield (
        "deep_functions",
        HEAD + "".join("    " * level + f"def f{level}():\n" for level in range(60)) + "    " * 60 + "pass\n",
    )


def size() -> Iterator[tuple[str, str]]:
    yield "many_statements", HEAD + "x = 1\n" * 5_000
    yield "many_kernels", HEAD + "".join(KERNEL.replace("f(", f"f{number}(") + "\n" for number in range(300))
    yield "long_line", f"{HEAD}x = [{'1, ' * 100_000}]\n"
    yield "long_name", f"{HEAD}{'x' * 100_000} = 1\n"
    yield "long_string", f"{HEAD}x = '{'x' * 500_000}'\n"
    yield "long_finding", IN_PLACE.replace("passed[i]\n", f"passed[i]; y = {'1 + ' * 300}1; z = '{'x' * 5000}'\n")
    yield "many_comments", HEAD + "# warplint: ignore[WP101] x\n" * 2000
    yield "many_arguments", f"{HEAD}@wp.kernel\ndef f({', '.join(f'a{n}: float' for n in range(400))}):\n    pass\n"


def oddities() -> Iterator[tuple[str, str]]:
    yield "imports_itself", "from imports_itself import wp\n" + IN_PLACE
    yield "circle_a", "from circle_b import wp, N\nM = N\n" + IN_PLACE.replace("import warp as wp\n", "")
    yield "circle_b", "from circle_a import wp, M\nN = M\n" + CARRIED.replace("import warp as wp\n", "")
    yield "constant_circle", HEAD + "A = B\nB = A\n" + CARRIED.replace("range(years)", "range(A)")
    yield "star_circle", "from star_circle import *\n" + IN_PLACE
    yield "recursive_func", HEAD + "@wp.func\ndef g(x: float):\n    return g(x)\n\n\n" + KERNEL + "    x[i] = g(x[i])\n"
    yield (
        "mutual_funcs",
        HEAD + "@wp.func\ndef g(x: float):\n    return h(x)\n\n\n@wp.func\ndef h(x: float):\n    return g(x)\n",
    )
    yield "decorated_by_itself", HEAD + "@f\ndef f(x): pass\n"
    yield "base_of_itself", HEAD + "class C(C):\n    @wp.kernel\n    def f(x: C): pass\n"
    yield "shadowed", HEAD + "wp = 3\n" + IN_PLACE.split("\n\n\n", 1)[1]
    yield "annotated_by_strings", HEAD + "@wp.kernel\ndef f(x: 'wp.array(dtype=float)', y: '((('):\n    x[0] *= 2.0\n"
    yield "defaults", HEAD + "@wp.kernel\ndef f(x: float = [], *a, y=1, **k):\n    x *= 2.0\n"
    yield "empty_kernel", HEAD + "@wp.kernel\ndef f():\n    ...\n"
    yield "kernel_with_class", HEAD + KERNEL + "    class C: x = 1\n    def g(): pass\n    import os\n    x[i] *= 2.0\n"
    yield (
        "kernel_of_everything",
        HEAD
        + KERNEL
        + (
            "    with x: pass\n    try: pass\n    finally: pass\n    while n: break\n    del n\n    assert n\n"
            "    raise n\n    x[i] = [a for a in x][0]\n    x[i] = (lambda: 1)()\n    x[i] = f'{n}'\n    x[...] *= 2\n"
            "    x[::2] = x[1:]\n    *a, b = x\n    (n := 3)\n    x[i] = {1: 2}[1]\n    x[i] **= 2.0\n    yield n\n"
        ),
    )
    yield (
        "tape_of_everything",
        HEAD
        + (
            "with wp.Tape() as tape, open('x'): wp.launch()\ntape.backward(tape)\nwp.launch(1, 2, *3, **4)\n"
            "wp.launch(inputs=wp.launch, outputs=[*[], ...], dim=-1)\nwp.zeros(-1, dtype=wp.zeros)\nwp.copy()\n"
            "x = wp.array(x)\nx.grad.grad.grad.zero_()\ntape = wp.Tape(wp.Tape)\nwp.Tape().__enter__()\n"
        ),
    )
    yield "huge_range", CARRIED.replace("range(years)", "range(10**30)")
    yield "negative_range", CARRIED.replace("range(years)", "range(5, -5, 0)")
    yield (
        "endless_host_loop",
        HEAD + "tape = wp.Tape()\nwith tape:\n    while True:\n        wp.launch(f, dim=1)\ntape.backward()\n",
    )
    yield (
        "odd_configuration",
        HEAD + "wp.config.max_unroll = wp\nwp.set_module_options({1: 2, **wp})\n" + KERNEL + "    pass\n",
    )


def everything() -> dict[str, bytes]:
    found = dict([*encodings(), *bytes_of_all_kinds()])
    found |= {name: text.encode() for group in (syntax, depth, size, oddities) for name, text in group()}
    return found


FILES = everything()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All of them, and paths that are odd themselves."""
    folder = tmp_path_factory.mktemp("bad")
    for name, data in FILES.items():
        (folder / f"{name}.py").write_bytes(data)
    for name in (
        "-dash.py",
        " .py",
        "new\nline.py",
        "\u202ertl.py",
        "a:cell 3.py",
        "%s%n.py",
        "x" * 240 + ".py",
        "'\"`$(x).py",
    ):
        (folder / name).write_text(IN_PLACE)
    (folder / os.fsdecode(b"latin\xe9.py")).write_text(IN_PLACE)
    (folder / "folder.py").mkdir()
    (folder / "self.py").symlink_to("self.py")
    (folder / "gone.py").symlink_to("nowhere.py")
    (folder / "up").symlink_to("..")
    (folder / "device.py").symlink_to("/dev/zero")
    os.mkfifo(folder / "pipe.py")
    (folder / "closed.py").write_text(IN_PLACE)
    (folder / "closed.py").chmod(0)
    for name, text in {
        "a": "{",
        "b": "[]",
        "c": '{"cells": [1, {}, {"cell_type": "code"}], "warp": 1}',
        "d": "warp",
    }.items():
        (folder / f"{name}.ipynb").write_text(text)
    (folder / "clean.py").write_text(CLEAN)
    return folder


def test_there_are_many() -> None:
    assert len(FILES) >= 120


#: Written beside the output of the one run over everything.
FORMATS = ("full", "concise", "json", "sarif", "html", "markdown", "junit", "github", "gitlab", "lsp")


@pytest.fixture(scope="module")
def run(folder: Path) -> subprocess.CompletedProcess[str]:
    """One run over all of them, with a report in every format."""
    outputs = [part for name in FORMATS for part in ("--output", f"{name}=out.{name}")]
    return run_warplint("--no-probe", "--min-severity", "info", "-q", *outputs, ".", cwd=folder)


def test_each_is_linted_or_refused_with_a_sentence(folder: Path, run: subprocess.CompletedProcess[str]) -> None:
    assert run.returncode == 2
    document = json.loads((folder / "out.json").read_text())
    messages = {error["path"]: error["message"] for error in document["errors"]}
    assert not [message for message in messages.values() if "internal error" in message or "died" in message]
    # Each says what to do, behind a semicolon.
    assert [message for message in messages.values() if "; " not in message] == []
    assert len(run.stderr.splitlines()) == len(document["errors"])
    for name in ("null.py", "self.py", "gone.py", "up", "syntax_00.py", "enc_utf-16.py", "d.ipynb"):
        assert name in messages, name
    # What is right in the midst of all this is found.
    found = {(finding["path"], finding["rule"]) for finding in document["findings"]}
    for name in ("-dash.py", "a:cell 3.py", "enc_utf-8-sig.py", "control.py", "carriage_returns.py", "long_finding.py"):
        assert (name, "WP101") in found, name
    assert "clean.py" not in {path for path, _ in found}


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_survives_them(folder: Path, run: subprocess.CompletedProcess[str], name: str) -> None:
    text = (folder / f"out.{name}").read_text(encoding="utf-8")
    assert "WP101" in text
    assert "\x1b" not in text and "\x00" not in text
    if name == "full":
        assert max(len(line) for line in text.splitlines()) < 5000
    elif name in ("json", "sarif", "gitlab"):
        json.loads(text)
    elif name == "junit":
        ET.fromstring(text)


def test_some_alone_on_standard_input(folder: Path) -> None:
    """A few of each kind: one start of the program for each."""
    for name in [*FILES][::24]:
        done = run_warplint("--no-probe", "-", cwd=folder, stdin=FILES[name])
        assert done.returncode in (0, 1, 2), name
        assert "internal error" not in done.stderr, (name, done.stderr)
