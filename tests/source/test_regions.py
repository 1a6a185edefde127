"""Splitting a file by its lines finds the statements that Python's parser finds."""

from __future__ import annotations

import ast
import importlib.util
import time
from pathlib import Path

import pytest

from warplint.frontend import fast
from warplint.source.regions import Region, split
from warplint.source.text import check_syntax, decode

_WARP = importlib.util.find_spec("warp")
assert _WARP is not None and _WARP.origin is not None
WARP = Path(_WARP.origin).parent


def regions(text: str) -> tuple[Region, ...]:
    table = check_syntax(Path("x.py"), text)
    assert not hasattr(table, "message"), table
    return split(text, table, fast.read)


def lines_by_python(text: str) -> list[int]:
    """The lines where top-level statements start, by ast; several on one line count once."""
    found: list[int] = []
    end = 0
    for node in ast.parse(text).body:
        line = node.lineno
        for decorator in getattr(node, "decorator_list", []):
            line = min(line, decorator.lineno)
        if line > end:
            found.append(line)
        end = node.end_lineno or line
    return found


def summary(text: str) -> list[tuple[str, tuple[str, ...], int]]:
    return [(region.kind, region.names, region.line) for region in regions(text)]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "\n\n",
        "# only\n# comments",
        "x",
        "x = 1",
        '"""\ndef f():\n    pass\nx = 1\n"""\n\ndef g():\n    pass\n',
        "'''\nimport a\n'''\nimport b\n",
        "x = 1  # \"\"\" not a string\ny = 2\ndef f():  # '''\n    pass\nz = 3\n",
        "x = 'a\\\nb'\ny = 'def\\\ndef f(): pass'\nz = 1\n",
        "x = '\"\"\"'\ny = \"'''\"\nz = '\\'\"\"\"'\nw\n",
        'x = """a\\"""\nb = 1\n"""\ny = 2\n',
        'x = r"\\" "\ny = 2\n',
        "x = f(\na,\nb,\nc=1)\ny = 2\n",
        "x = (a\n@b)\ny = 2\n",
        "x = [\n1,  # )\n2, ']',\n]\ny = 2\n",
        "def f(\na=1,\nb=2,\n):\n    pass\nx = 1\n",
        "def f():\n    return g(\nx = 1)\nx = 2\n",
        "def f():\n    x = '''\ny = 1\n'''\n# why\ny = 2\n",
        "a = 1; b = 2\nc = 3;\n",
        "import a; b = 2\n",
        "a = b = 1\nc = d, e = 2\nf, g = 3\nh.i = 4\nj[0] = 5\nk += 1\n",
        "a: int = 1\nb: int\nc: d != e\nf: d <= e\ng: dict[str, int] = {}\nh: 'a=b' = 1\n",
        "a = lambda x=1: x\nb = c == d\ne = f(g=1)\nh = i <= j\n",
        "try: a = 1\nexcept E: b = 2\nelse: c = 3\nfinally: d = 4\n",
        "with a: b = 1\nwhile c: d = 1\nif e: f = 1\nelif g: h = 1\nelse: i = 1\nfor j in k: l = 1\n",
        "if a:\n    def f(): pass\nelse:\n    def f(): pass\nx = 1\n",
        "try:\n    import a\nexcept ImportError:\n    a = None\nelse:\n    b\nfinally:\n    c\n",
        "@a\n# why\n@b(\n1)\n\n# also\ndef f():\n    pass\n\n@c\nclass D: pass\nx\n",
        "async def f(): pass\nasync  def g(): pass\nasync \\\ndef h(): pass\nclass \\\nA: pass\n",
        "x = 1 \\\n+ 2\ny = 1 + \\\nz\ndef f(): \\\npass\nw\n",
        "# why \\\nx = 1\n",
        "\fx = 1\n\fdef f(): pass\n  \f\ny = 2\n \fz = 3\n",
        "x = 1\nif a:\n\tb\n\n\tc\nd\n",
        "def f():\n    pass\n# after\n\n# before\ndef g():\n    pass",
        "x = '\u2028'\ny = '\x0c\x1c\x85'\nz = 1\n",
        "é = 1\ndef ñ(): pass\nﬁ = 2\n",
        "match x:\n    case 1: pass\nmatch = 1\ntype = 2\nprint = 3\n",
        "'doc'; x = 1\nr'a'\nf'b'\n-1\n(a)\n[b]\n{c}\n...\n*d, e = f\n@g\nclass H: pass\n",
        "x = '#'\ny = '# \\'' # '\nz = \"#\"\n",
        "yield_ = (a\n for b in c)\nlambda: 0\nnot x\nawait_\n",
        "x = {'a': 1,\n'b': 2}\ny = 3\n",
        "def f(): return '''(((['''\nx = '((('\ny = ')'\n# ((((\nz = 1\n",
    ],
)
def test_split_is_what_python_parses(text: str) -> None:
    found = regions(text)
    assert [region.line for region in found] == lines_by_python(text)
    for region, following in zip(found, found[1:], strict=False):
        assert region.end == following.start
        assert region.end_line + 1 == following.line
    for region in found:
        inside = text[region.start : region.end]
        assert inside.count("\n") in (region.end_line - region.line, region.end_line - region.line + 1)
        ast.parse(inside)
    assert not found or found[-1].end == len(text)


def test_kinds_and_names() -> None:
    text = (
        "import a\nfrom b import c\nx = 1\ny: int = 2\n@d\nclass E: pass\nasync def f(): pass\n"
        "x = y = 1\na = 1; b = 2\nimport a; b = 1\nif x: z = 1\nz += 1\nw: int\ntry: v = 1\nfinally: pass\nﬁ = 1\n"
    )
    assert summary(text) == [
        ("import", (), 1),
        ("import", (), 2),
        ("assign", ("x",), 3),
        ("assign", ("y",), 4),
        ("class", ("E",), 5),
        ("def", ("f",), 7),
        ("other", (), 8),
        ("other", (), 9),
        ("import", (), 10),
        ("other", (), 11),
        ("other", (), 12),
        ("other", (), 13),
        ("other", (), 14),
        ("assign", ("fi",), 16),
    ]


def test_region_starts_before_what_ast_locates() -> None:
    assert summary("@(\na)\ndef f(): pass\nx = 1\n") == [("def", ("f",), 1), ("assign", ("x",), 4)]
    assert summary("\\\nx = 1\ny = 2\n") == [("other", (), 1), ("assign", ("y",), 3)]


def test_wrong_split_is_repaired_by_reading_the_file(monkeypatch: pytest.MonkeyPatch) -> None:
    text = '@d\n# why\ndef f():\n    pass\nx = 1\n"""\ndef g(): pass\n"""; y = 2\n'
    right = summary(text)
    assert right == [("def", ("f",), 1), ("assign", ("x",), 5), ("other", (), 6)]
    monkeypatch.setattr("warplint.source.regions._scan", lambda text: None)
    assert summary(text) == right


def test_files_of_warp() -> None:
    for path in sorted(WARP.rglob("*.py"))[::4]:
        text = decode(path, path.read_bytes())
        assert isinstance(text, str)
        assert [region.line for region in regions(text)] == lines_by_python(text), path


def test_time_is_linear() -> None:
    """Ten thousand statements with continued lines: quadratic work would take minutes, not a second."""
    text = "x = 1 + \\\n2\n@a\ndef f():\n    pass\n" * 10_000
    start = time.process_time()
    assert len(regions(text)) == 20_000
    assert time.process_time() - start < 5
