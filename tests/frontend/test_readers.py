"""The two readers of source text give the same tree, span for span."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

from warplint.frontend import fast, read_with_libcst, visitor
from warplint.ir import syntax as ir
from warplint.ir.spans import Span
from warplint.source.regions import split
from warplint.source.text import check_syntax, decode

FIXTURES = Path(__file__).parents[1] / "fixtures"
_WARP = importlib.util.find_spec("warp")
assert _WARP is not None and _WARP.origin is not None
WARP = Path(_WARP.origin).parent


def difference(left: object, right: object, where: str = "") -> str | None:
    """The first place where two trees differ, None where they are the same to the last span and type of constant."""
    if type(left) is not type(right):
        return f"{where}: {left!r} is not {right!r}"
    if isinstance(left, Span) or not isinstance(left, (tuple, ir.Node)):
        # repr tells -0.0 from 0.0 and makes nan equal to itself
        return None if left == right or repr(left) == repr(right) else f"{where}: {left!r} is not {right!r}"
    if isinstance(left, tuple):
        assert isinstance(right, tuple)
        if len(left) != len(right):
            return f"{where}: {left!r} is not {right!r}"
        pairs = [(str(index), a, b) for index, (a, b) in enumerate(zip(left, right, strict=True))]
    else:
        pairs = [(name, getattr(left, name), getattr(right, name)) for name in type(left).__match_args__]
    for name, a, b in pairs:
        found = difference(a, b, f"{where}.{name}" if name else where)
        if found:
            return found
    return None


def disagreement(text: str, first_line: int = 1) -> str | None:
    """Where the readers differ on ``text``."""
    return difference(fast.read(text, first_line), visitor.read(text, first_line), "statements")


SNIPPETS = [
    # --- calls and arguments
    "f(x for x in y)",
    "f  (  x for x in y  )",
    "f((x for x in y))",
    "f(((x for x in y)))",
    "f((x for x in y), 1)",
    "f(\n  x for x in y\n)",
    "f (# why\n  x for x in y)",
    "(f)(x for x in y)(z)",
    "f(*a, b, *(c), k=(1), **d, **(e),)",
    "f(* a, ** b)",
    "f(k = 1 , * a)",
    "f(a := 1, (b := 2))",
    "print(*[1], sep='')",
    "f()()()[0]()",
    "@ f (1) \ndef g(): pass",
    # --- parentheses
    "((a)) + ((b))",
    "(a).b.c",
    "(a)[0]",
    "(a)(b)",
    "((a))",
    "((a, b))",
    "(a, (b), (c, ), ())",
    "( a , )",
    "x = ( # why\n (1) # and\n + 2\n)",
    "x = (yield)",
    "-(a)",
    "not (a)",
    "(not a)",
    "(a) if (b) else (c)",
    "(lambda: (0))",
    "[(a), *(b)]",
    "{(a), *(b)}",
    "{(a): (b), **(c)}",
    "(a) < (b) < (c)",
    "(a and b) and c",
    "a and (b and c)",
    "a and b and c or d and e",
    "(a) and (b)",
    "(a).b = (c)",
    "a: (int) = (1)",
    "(a) += (b)",
    "del (a), b",
    "del (a, b)",
    "del a,",
    "del a[0], b.c",
    "assert (a), (b)",
    "raise (a) from (b)",
    "with (a) as (b): pass",
    "with (a as b, c as d,): pass",
    "with (a, b): pass",
    "with (a): pass",
    "with a as (b, c), d as [e]: pass",
    "for (a, b) in (c): pass",
    "for a, in b,: pass",
    "for x in *a, b: pass",
    "while (a): pass",
    "if (a): pass",
    "return_ = (yield (a))",
    # --- subscripts
    "a[1]",
    "a[1,]",
    "a[ 1 , 2 ]",
    "a[(1), (2)]",
    "a[(1, 2)]",
    "a[(1), (2) , ]",
    "a[:]",
    "a[ : ]",
    "a[::]",
    "a[ : : ]",
    "a[1:]",
    "a[1 : ]",
    "a[:1]",
    "a[(1):(2):(3)]",
    "a[1::]",
    "a[1: :2]",
    "a[::-1, ..., None]",
    "a[1:2, :, 3 : ]",
    "a[\n  1,\n  2,\n]",
    "a[x:=1]",
    "a[(x:=1), 2]",
    "a[lambda: 0]",
    # --- literals
    "-1",
    "- 1.5e-3",
    "1_000 + 0xFF + 0b1_0 + 0o17",
    "1j + .5J + 1e5j",
    "00 + 1. + .1",
    "-0.0",
    "1e999",
    "'a' \"b\" r'\\c'",
    "('a'\n  'b'  # why\n  'c')",
    "b'a' rb'\\x' B'\\x00'",
    "u'a' + U'b'",
    "'a' f'b' 'c'",
    "f'{a}' 'b'",
    "f''",
    "f'{a!r:>{b}} {c:{d}.{e}} {{}}'",
    "f'{f\"{a}\"}'",
    "f\"{x['a']}\"",
    "rf'\\{a}' + fr'{b}' + F'{c}' + Rf'{d}'",
    "f'''{\na}'''",
    "'\\\n'",
    "'a\\\nb' + c",
    "'''a\nb''' + c",
    "'''\n'''; x",
    "'\\N{BULLET}\\u00e9\\U0001F600\\x41\\101'",
    "'\\d'",
    "...",
    "True, False, None, ..., __debug__",
    "'tab\there'",
    # --- operators
    "a @ b // c % d ** -e << 1 >> 2 & 3 | 4 ^ 5",
    "a not in b is not c",
    "a not  in b is  not c",
    "a is not\\\n b",
    "a<b<=c>d>=e==f!=g in h is i",
    "not a == b",
    "not not a",
    "~a + +b - -c",
    "2 ** 3 ** 4",
    "-a ** -b",
    "a if b else c if d else e",
    "a + b - c + d",
    "a +\\\n  b",
    "lambda: (yield)",
    "lambda a, /, b=(1), *c, d, e=2, **f: a",
    "lambda *, a: 0",
    "lambda *a, **k: (a, k)",
    "lambda x: lambda y: x",
    # --- comprehensions
    "[x for x in y if (a) if b]",
    "[x for x in y for z in (w) if z]",
    "{x: y for x, y in z}",
    "{(x): (y) for (x, y) in (z)}",
    "{x for x in y}",
    "( x for x in y )",
    "((x) for (x) in (y))",
    "[x async for x in y]",
    "[[y for y in x] for x in z]",
    "[a := 1, b]",
    "[x for x, in y]",
    # --- statements
    "a = b = c = 1",
    "a, *b = c, d = e",
    "[a, b] = (c, d)",
    "a.b, c[0] = d",
    "a: int",
    "a.b: 'x' = 1",
    "a[0]: int = 2",
    "a += 1; b -= 1; c *= 1; d /= 1; e //= 1; f %= 1; g **= 1; h @= 1; i <<= 1; j >>= 1; k &= 1; l |= 1; m ^= 1",
    "a = 1; b = 2;",
    "a = 1 ; ",
    "if x: y; z",
    "if x: y; z ;",
    "if x: pass;\nelif y: pass;\nelse: pass;",
    "for x in y: break ;\nelse: continue;",
    "while x: y;",
    "def f(): pass;",
    "class A: pass ;",
    "try: pass;\nexcept A: pass;\nfinally: pass;",
    "with a: pass;",
    "if a:\n  b\n# between\nelif c:\n  # before\n  d\n\n# also between\nelse:\n  e  # behind\n  # after\n\nf",
    "if a:\n  if b:\n    c\n  else:\n    d\nelif e:\n  if f: g",
    "if a: b\nelse:\n  if c: d",
    "for x in y:\n  z\n  # comment\nelse:\n  w\n",
    "while a:\n\n  b\n\n\n  c # d\nelse: e",
    "try:\n  a\nexcept (A, B) as e:\n  b\nexcept C:\n  c\nexcept:\n  d\nelse:\n  e\nfinally:\n  f\n",
    "try:\n  a\nfinally:\n  b",
    "try:\n  a\nexcept A: b\nelse:\n  c",
    "async def f():\n  async with a as b, c: pass\n  async for x in y: await z\n  return await (w)\n  yield",
    "async  def f(): return [await x async for x in y]",
    "def f():\n  yield\n  x = yield\n  yield from (a)\n  yield a, b\n  yield (a)\n  return",
    "def f():\n  return 1, 2\n  return (1, 2)\n  return *a, b\n  return (a)",
    "def f():\n  global a , b\n  def g():\n    nonlocal c, d\n",
    "def f(): raise\n",
    "pass",
    "import a",
    "import a.b.c as d , e . f",
    "from a import b",
    "from a . b import c as d, e",
    "from a import (b, c as d,)",
    "from a import (\n  b,  # why\n  c\n)",
    "from a import *",
    "def f():\n  from . import a\n  from .. import b\n  from ... import c\n  from .... d import e",
    "from .a.b import c",
    # --- definitions
    "def f(a, b=1, *c, d, e=2, **f): pass",
    "def f(a, /, b, *, c): pass",
    "def f(a: (int) = (1), /, *b: (str), c: 'x' = 2, **d: list[int]) -> (None): pass",
    "def f(\n  a,  # why\n  b: int = 3,\n):\n  pass",
    "def f(a = 1 , * , b): ...",
    "def f(*, a=1, b): ...",
    "def f(*args: int, **kw: str): ...",
    "def  f  (  ) : pass",
    "def \\\n  f(): pass",
    "async \\\n def \\\n f(): pass",
    "async   def f(): pass",
    "async def d(): pass",
    "class A: pass",
    "class A(): pass",
    "class  A ( B , C . D , * F , metaclass = E , ** G ) :\n  x = 1\n",
    "class \\\nclass_: pass",
    "@a\n# why\n@b.c(1)\n\n@(d)\nclass A:\n  @e\n  # why\n  def f(self): pass\n",
    "@a\n\ndef f(): pass",
    "@a[0]\n@b if c else d\n@lambda f: f\n@x := y\ndef f(): pass",
    "def f():\n  'doc'\n  def g(): pass\n  class H:\n    def i(self):\n      return 1\n",
    "def f(a=lambda x=1: x, *b): pass",
    "class A:\n  def f(self):\n    pass;\n  x = 1;",
    # --- match
    "match x:\n  case 1: pass",
    "match x, y:\n  case (1, a) | [2, a]: pass\n  case a, *b: pass\n  case a,: pass\n  case [*_, c]: pass",
    "match (x):\n  case {'a': b, **rest}: pass\n  case A(b, c=d) as e if (f): pass\n  case _: pass",
    "match x:\n  case (((a, b))): pass\n  case (a): pass\n  case (1 | 2) as z: pass\n  case ([a]): pass",
    "match x:\n  case -1 | 1+2j | -1.5 | 'a' 'b' | None | A.B.C: pass;",
    "match x:\n  case {}: pass\n  case []: pass\n  case (): pass\n  case A(): pass\n  case {**r}: pass",
    "match *a, b:\n  case *_,: pass\n  case {1: {'x': [y, *z]}}: pass\n",
    "match = 1; case = match; match[case]; match(case); match.case",
    "match x:\n  # why\n  case 1:\n    match y:\n      case w: v\n  # end\n",
    "type = 1; type.x; type(x); _ = type",
    # --- white space and Unicode
    "é = ñ + 'ü'; b = é",
    "x = '😀' + y + '𝒳' ; z",
    "x = '中文' + y  # 中文\nz",
    "x = '''é\n😀''' + y",
    "ﬁ = 1; x.ﬁ(ﬁ=ﬁ)",
    "def ﬁ(ﬀ, *ﬃ): global ª; import ﬁ.ﬀ as ﬃ; from ﬁ import ﬀ as ﬃ",
    "class ℌ(ﬁ=1): pass",
    "try: pass\nexcept A as ﬁ: pass",
    "match x:\n  case ﬁ: pass\n  case {**ﬀ}: pass\n  case [*ﬃ]: pass",
    "if x:\n\ty\n\tif z:\n\t\tw",
    "x\t=\t1\t;\ty",
    "x = 1\n\f\ndef f():\n  \f\n  return\f1\n",
    "def f():\n  x\n\f\n  y",
    "'\f' + x\f+\fy",
    "x = 1  \\\n  + 2\\\n\\\n  + 3",
    "if a and \\\n   b: pass",
    "x = [\n1,\n\n# why\n2,\n]",
    "x = 1 # no newline",
    "x\n\n\n# end",
    "",
    "\n",
    "# only a comment",
    "\n\n# why\n\nx\n",
    "x = 'a\u2028b\x0c\x1c' + y\nz",
    "def f():\n        x\n        if y:\n         z\n",
    "'doc'\nx",
    "'doc'; x",
]

NEWER = [
    (3, 11, "try: pass\nexcept* (A) as e: pass;\nexcept *B: pass"),
    (3, 11, "a[*b]"),
    (3, 11, "a[* b, 1]"),
    (3, 11, "a[*(b)]"),
    (3, 11, "a[1:2, *b]"),
    (3, 11, "def f(*args: *Ts): pass"),
    (3, 11, "def f(*args: * (Ts), x): pass"),
    (3, 12, "type A = int;"),
    (3, 12, "type A[T: (int, str), *U, **V] = (list[T]); x"),
    (3, 12, "def f[T, *U, **V](a: T) -> T: pass"),
    (3, 12, "async def f [T] (a): pass"),
    (3, 12, "class A[T: int](B): pass"),
    (3, 12, "f'{x['a']} {\"\\n\".join(y)}' + z"),
    (3, 12, "f'{\nx # why\n}'"),
    (3, 13, "class A[T = int]: pass"),
]


@pytest.mark.parametrize("text", SNIPPETS)
def test_odd_syntax(text: str) -> None:
    assert disagreement(text) is None
    assert disagreement(text, 41) is None


@pytest.mark.parametrize("text", [text for major, minor, text in NEWER if sys.version_info >= (major, minor)])
def test_newer_syntax(text: str) -> None:
    assert disagreement(text) is None


def sample(folder: Path, every: int) -> list[Path]:
    return sorted(folder.rglob("*.py"))[::every]


@pytest.mark.parametrize(
    ("folder", "every"),
    [(FIXTURES, 1), (WARP / "examples", 6), (WARP / "_src", 16), (WARP / "tests", 45)],
    ids=["fixtures", "examples", "warp", "tests"],
)
def test_files(folder: Path, every: int) -> None:
    for path in sample(folder, every):
        text = decode(path, path.read_bytes())
        assert isinstance(text, str), text
        table = check_syntax(path, text)
        for region in split(text, table, fast.read):
            found = disagreement(text[region.start : region.end], region.line)
            assert found is None, f"{path}:{region.line}: {found}"


def test_spans_are_those_of_the_whole_file() -> None:
    (statement,) = visitor.read("x = (\n  'é😀' + y)\n", 10)
    assert isinstance(statement, ir.Assign)
    assert statement.span == Span(10, 1, 11, 12)
    assert isinstance(statement.value, ir.Binary)
    assert statement.value.span == Span(11, 3, 11, 11)
    assert statement.value.right.span == Span(11, 10, 11, 11)


def test_long_sums_are_read_by_both() -> None:
    text = "x = 1" + " + 1" * 380
    assert difference(visitor.read(text), fast.read(text)) is None


def test_compound_statements_end_with_their_last_statement() -> None:
    for read in (fast.read, visitor.read):
        (statement,) = read("@a\ndef f():\n    x ;  # behind\n    # below\n")
        assert isinstance(statement, ir.FunctionDef)
        assert statement.span == Span(2, 1, 3, 6)
        assert statement.name_span == Span(2, 5, 2, 6)
        assert statement.decorators[0].span == Span(1, 2, 1, 3)


@pytest.mark.parametrize(
    "text",
    [
        "(a): int = 1",
        "class A(metaclass=B, *C): pass",
        "\fx = 1\ny = 'é'\n",
        "if a:\n  \f  b\n",
    ],
)
def test_what_libcst_lacks_is_read_all_the_same(text: str) -> None:
    with pytest.raises((SyntaxError, RecursionError)):
        visitor.read(text)
    assert difference(read_with_libcst(text, 5), fast.read(text, 5)) is None


@pytest.mark.parametrize(("text", "line"), [("x = 1\ny = = 2\n", 11), ("f(\n", 10), ("x = 0777", 10), ("'a' b'b'", 10)])
def test_visitor_reports_where_the_text_is_wrong(text: str, line: int) -> None:
    with pytest.raises(SyntaxError) as caught:
        visitor.read(text, 10)
    assert caught.value.lineno == line


def test_fast_reader_does_not_import_libcst() -> None:
    code = "import sys, warplint.frontend.fast, warplint.frontend; sys.exit('libcst' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
