"""Files that try to have something of theirs run: none does, whichever way it goes through Python, Warp or C++."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.probe.conftest import finding
from warplint.ir.facts import Evidence
from warplint.ir.programs import DefinitionRef, KernelProgram

Run = Callable[..., list[Evidence]]

# An expression of builtins alone that writes the marker; without an underscore there is no such thing.
_WALK = (
    "[c for c in ().__class__.__base__.__subclasses__() if c.__name__ == 'catch_warnings'][0]"
    ".__init__.__globals__['sys'].modules['pathlib'].Path(MARKER).write_text('x')"
)
_MARK = "__import__('pathlib').Path(MARKER).write_text('x')"
_KERNEL = """
@wp.kernel
def k(x: wp.array(dtype=float)):
    x[wp.tid()] = x[wp.tid()] * float(SCALE)
"""
# C++ that needs no header.
_IN_C = 'int run(const char*) __asm__("system"); run("touch MARKER_IN_C");'

# What Python would run.
_IN_PYTHON = {
    "types of fields that typing evaluates": f"""
import typing
SCALE = len(typing.get_type_hints(typing.NamedTuple("P", [("a", {_MARK!r})])))
{_KERNEL}""",
    "modules that typing imports": """
import typing
MODULES = typing.sys
SCALE = len([typing.system("touch MARKER_IN_C") for typing in [MODULES.modules["os"]]])
"""
    + _KERNEL,
    "a variable of a comprehension with the name of a module": f"""
import numpy as np
class Evil:
    def full(self, *rest):
        {_MARK}
        return 2.0
SCALE = [np.full(2) for np in [Evil()]][0]
{_KERNEL}""",
    "another name for wp.static": f"""
S = wp.static

@wp.kernel
def k(x: wp.array(dtype=float)):
    x[wp.tid()] = x[wp.tid()] * float(S({_WALK}))
""",
    "wp.static from an inner module": f"""
import warp.builtins

@wp.kernel
def k(x: wp.array(dtype=float)):
    x[wp.tid()] = x[wp.tid()] * float(warp.builtins.static({_WALK}))
""",
    "wp.static from a private module": f"""
import warp._src.builtins as b

@wp.kernel
def k(x: wp.array(dtype=float)):
    x[wp.tid()] = x[wp.tid()] * float(b.static({_WALK}))
""",
    "wp.static with a keyword": f"""
@wp.kernel
def k(x: wp.array(dtype=float)):
    x[wp.tid()] = x[wp.tid()] * float(wp.static(expr={_WALK}))
""",
    "wp.static as a parameter of a factory": f"""
def make(s):
    @wp.kernel
    def k(x: wp.array(dtype=float)):
        x[wp.tid()] = x[wp.tid()] * float(s({_WALK}))
    return k

k = make(wp.static)
""",
    "wp.static in an enumeration": f"""
import enum
class Names(enum.Enum):
    S = wp.static

@wp.kernel
def k(x: wp.array(dtype=float)):
    x[wp.tid()] = x[wp.tid()] * float(Names.S.value({_WALK}))
""",
    "wp.static in a loop": f"""
@wp.kernel
def k(x: wp.array(dtype=float)):
    for i in range(3):
        x[wp.tid()] = x[wp.tid()] * float(wp.static(i * {_WALK}))
""",
    "wp.static of a host function": f"""
def host():
    {_MARK}
    return 2.0

@wp.kernel
def k(x: wp.array(dtype=float)):
    x[wp.tid()] = x[wp.tid()] * wp.static(host())
""",
    "wp.constant of a host function": f"""
def host():
    {_MARK}
    return 2.0

SCALE = wp.constant(host())
{_KERNEL}""",
    "a lambda": f"""
SCALE = (lambda: {_MARK})()
{_KERNEL}""",
    "a walrus": f"""
SCALE = (y := {_MARK}) + 1
{_KERNEL}""",
    "a comprehension": f"""
SCALE = len([{_MARK} for i in range(2)])
{_KERNEL}""",
    "a generator as an argument": f"""
SCALE = sum({_MARK} for i in range(2))
{_KERNEL}""",
    "a default of a dataclass": f"""
import dataclasses

@dataclasses.dataclass
class Config:
    scale: float = {_MARK}

SCALE = Config().scale
{_KERNEL}""",
    "a property": f"""
class Config:
    @property
    def scale(self):
        {_MARK}
        return 2.0

config = Config()
SCALE = config.scale
{_KERNEL}""",
    "a class body": f"""
class Config:
    {_MARK}
    SCALE = 2.0

SCALE = Config.SCALE
{_KERNEL}""",
    "a class body that is an enumeration": f"""
import enum

class Config(enum.IntEnum):
    {_MARK}
    SCALE = 2

SCALE = Config.SCALE
{_KERNEL}""",
    "a hook of an enumeration": f"""
import enum

class Config(enum.IntEnum):
    def _generate_next_value_(name, start, count, last):
        {_MARK}
        return 3
    SCALE = enum.auto()

SCALE = Config.SCALE
{_KERNEL}""",
    "a metaclass": f"""
class Meta(type):
    def __getattr__(cls, name):
        {_MARK}
        return 2.0

class Config(metaclass=Meta):
    pass

SCALE = Config.SCALE
{_KERNEL}""",
    "an operator of a class": f"""
class Evil:
    def __add__(self, other):
        {_MARK}
        return 2.0

SCALE = Evil() + 1
{_KERNEL}""",
    "a module that is looked up lazily": f"""
def __getattr__(name):
    {_MARK}
    return 2.0

import host
SCALE = host.MISSING
{_KERNEL}""",
    "an annotation of a return": f"""
@wp.func
def f(x: float) -> ({_MARK} and float):
    return x

@wp.kernel
def k(x: wp.array(dtype=float)):
    x[wp.tid()] = f(x[wp.tid()])
""",
    "an annotation of a field": f"""
@wp.struct
class Pair:
    a: ({_MARK} and float)

@wp.kernel
def k(x: wp.array(dtype=float), p: Pair):
    x[wp.tid()] = p.a
""",
    "an annotation of a local": f"""
@wp.kernel
def k(x: wp.array(dtype=float)):
    y: ({_MARK} and float) = x[wp.tid()]
    x[wp.tid()] = y
""",
    "an option of the decorator": f"""
@wp.kernel(enable_backward={_MARK} and True, grid_stride={_MARK})
def k(x: wp.array(dtype=float)):
    x[wp.tid()] = x[wp.tid()] * 2.0
""",
    "lines that are broken in an unusual way": "SCALE = 2.0 # \x0b\u2028\x85 \x0c\n"
    + f"A = 'é' if {_MARK} else 'ü'\nSCALE = 1.0 if A else 2.0\n{_KERNEL}",
    "a chain of numpy": f"""
import numpy as np
SCALE = np.ctypeslib.ctypes.CDLL(None).system(b"touch MARKER_IN_C")
{_KERNEL}""",
    "a module in the body": """
import numpy as np

@wp.kernel
def k(x: wp.array(dtype=float)):
    x[wp.tid()] = float(wp.static(np.ctypeslib.ctypes.CDLL(None).system(b"touch MARKER_IN_C")))
""",
    "a class of the body": f"""
class Evil:
    def __init__(self, x):
        {_MARK}

@wp.kernel
def k(x: wp.array(dtype=float)):
    y = Evil(x[wp.tid()])
    x[wp.tid()] = 2.0
""",
}

# What a C++ compiler would.
_QUOTED = f'"; {_IN_C} const char* rest = "'
_IN_NATIVE = {
    "a string": f"""
@wp.kernel
def k(x: wp.array(dtype=float)):
    wp.printf({_QUOTED!r})
    x[wp.tid()] = x[wp.tid()] * 2.0
""",
    "a string in a constant": f"""
TEXT = {_QUOTED!r}

@wp.kernel
def k(x: wp.array(dtype=float)):
    wp.printf(TEXT)
    x[wp.tid()] = x[wp.tid()] * 2.0
""",
    "a string that is put together": f"""
@wp.kernel
def k(x: wp.array(dtype=float)):
    wp.printf(wp.static({_QUOTED.replace('"', "%c")!r} % (34, 34, 34, 34, 34, 34)))
    x[wp.tid()] = x[wp.tid()] * 2.0
""",
    "a member of a text enumeration": f"""
import enum

class Text(enum.StrEnum):
    EVIL = {_QUOTED!r}

@wp.kernel
def k(x: wp.array(dtype=float)):
    wp.printf(Text.EVIL)
    x[wp.tid()] = x[wp.tid()] * 2.0
""",
    "documentation": f"""
@wp.kernel
def k(x: wp.array(dtype=float)):
    {_QUOTED!r}
    x[wp.tid()] = x[wp.tid()] * 2.0
""",
    "the text of an assertion": """
@wp.kernel
def k(x: wp.array(dtype=float)):
    assert x[wp.tid()] < 9.0, '\\\\",true)); int r(const char*) __asm__(\\"system\\"); r(\\"touch MARKER_IN_C\\");//'
    x[wp.tid()] = x[wp.tid()] * 2.0
""",
    "flags of the compiler": """
wp.set_module_options({"cpu_compiler_flags": "-include MARKER_IN_C.h"})

@wp.kernel
def k(x: wp.array(dtype=float)):
    x[wp.tid()] = x[wp.tid()] * 2.0
""",
    "a native snippet that nothing asks about": f"""
@wp.func_native({_IN_C + " return x;"!r})
def raw(x: float) -> float: ...

@wp.kernel
def k(x: wp.array(dtype=float)):
    x[wp.tid()] = raw(x[wp.tid()]) * 2.0
""",
}

_ALL = {**_IN_PYTHON, **{f"C++ in {what}": text for what, text in _IN_NATIVE.items()}}


def _written(folder: Path, text: str) -> Path:
    marker = folder / "marker"
    path = folder / "host.py"
    text = text.replace("MARKER_IN_C", str(marker)).replace("MARKER", repr(str(marker)))
    path.write_text("import warp as wp\n" + text, encoding="utf-8")
    return path


@pytest.mark.parametrize("what", list(_ALL))
def test_nothing_runs(what: str, tmp_path: Path, run: Run) -> None:
    path = _written(tmp_path, _ALL[what])
    header = tmp_path / "marker.h"  # what a flag of the compiler would read
    header.write_text(
        'static int seen = [] { int run(const char*) __asm__("system"); return run("touch '
        f'{tmp_path / "marker"}"); }}();\n'
    )
    name = "make.k" if "def make(" in _ALL[what] else "k"
    run([finding(path, KernelProgram(DefinitionRef(path, name), ()))])
    assert not (tmp_path / "marker").exists()


@pytest.mark.parametrize("what", ["a string", "a native snippet that nothing asks about"])
def test_the_planted_native_code_would_run(what: str, tmp_path: Path) -> None:
    """Warp 1.19 itself runs it, so that the test above can fail. It refuses the others, for now."""
    _written(tmp_path, _IN_NATIVE[what])
    script = (
        f"import sys; sys.path.insert(0, {str(tmp_path)!r})\nimport warp as wp\n"
        f"wp.config.kernel_cache_dir = {str(tmp_path / 'kernels')!r}\nimport host\n"
        "wp.launch(host.k, dim=1, inputs=[wp.zeros(1, dtype=float)], device='cpu')\n"
    )
    subprocess.run([sys.executable, "-c", script], cwd=tmp_path, check=True, capture_output=True)
    assert (tmp_path / "marker").exists()


def test_text_in_kernels_is_text(tmp_path: Path, run: Run) -> None:
    """What is quoted with care still works."""
    path = tmp_path / "host.py"
    path.write_text(
        """
import warp as wp

@wp.kernel
def k(x: wp.array(dtype=float)):
    '''A "quoted" word.'''
    i = wp.tid()
    assert x[i] < 1.0e9, 'much "too" large \\ \\" ??/'
    wp.printf('"%f" \\\\ \\n', x[i])
    x[i] = x[i] * 2.0
"""
    )
    (evidence,) = run([finding(path, KernelProgram(DefinitionRef(path, "k"), ()))])
    assert evidence.verdict == "refuted", evidence.detail
