"""A probe runs nothing of the linted file but the slice, and the slice only computes."""

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

_SIBLING = """
from pathlib import Path
import warp as wp

Path(MARKER).write_text("sibling module")
SCALE = 2.0


@wp.func
def scaled(x: float) -> float:
    return SCALE * x
"""

# A kernel that is harmless in itself, in a file that leaves a mark wherever Python code of the file runs.
_HOST = """
from pathlib import Path
import warp as wp
import sibling


class Marking:
    def __init_subclass__(cls):
        Path(MARKER).write_text("__init_subclass__")


class Child(Marking):
    pass


Path(MARKER).write_text("import")
CONSTANT = Path(MARKER).write_text("constant")
TEXT = f"{Path(MARKER).write_text('f-string')}"


def decorate(function):
    Path(MARKER).write_text("decorator")
    return function


@decorate
def helper(x=Path(MARKER).write_text("default argument")):
    return x


@wp.struct
class Pair(object):
    a: float = Path(MARKER).write_text("default of a field")
    b: float


def make(scale):
    Path(MARKER).write_text("factory")

    @wp.func
    def grow(x: float) -> float:
        return scale * x

    return helper(), grow


def solver():
    Path(MARKER).write_text("outer function")
    _, grow = make(2.0)

    @wp.kernel
    def made(x: wp.array(dtype=float), pair: Pair, out: wp.array(dtype=float)):
        i = wp.tid()
        out[i] = grow(x[i]) * pair.a

    return made


@wp.kernel
def harmless(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] = sibling.scaled(x[i])


if __name__ == "__main__":
    Path(MARKER).write_text("main")
"""

_MARK = "__import__('pathlib').Path(MARKER).write_text('x')"

# Each of these can only be run by executing more than a slice may; `k` is the kernel.
_REFUSED = {
    "decorator": f"""
def mark(f):
    {_MARK}
    return f

@mark
@wp.kernel
def k(x: wp.array(dtype=float)):
    x[wp.tid()] *= 2.0
""",
    "default argument": f"""
@wp.func
def f(x: float, s: float = {_MARK} and 2.0) -> float:
    return x * s

@wp.kernel
def k(x: wp.array(dtype=float)):
    x[wp.tid()] = f(x[wp.tid()])
""",
    "constant call": f"""
def make():
    {_MARK}
    return 2.0

SCALE = make()

@wp.kernel
def k(x: wp.array(dtype=float)):
    x[wp.tid()] *= SCALE
""",
    "constant f-string": f"""
SCALE = len(f"{{{_MARK}}}")

@wp.kernel
def k(x: wp.array(dtype=float)):
    x[wp.tid()] *= float(SCALE)
""",
    "annotation": f"""
@wp.kernel
def k(x: wp.array(dtype=({_MARK} and float))):
    x[wp.tid()] *= 2.0
""",
    "string annotation": f"""
@wp.kernel
def k(x: {("wp.array(dtype=float) if " + _MARK + " else 0")!r}):
    x[wp.tid()] *= 2.0
""",
    "static expression": f"""
@wp.kernel
def k(x: wp.array(dtype=float)):
    x[wp.tid()] *= wp.static({_MARK} and 2.0)
""",
    "subclass": f"""
class Base:
    def __init_subclass__(cls):
        {_MARK}

class Config(Base):
    SCALE = 2.0

@wp.kernel
def k(x: wp.array(dtype=float)):
    x[wp.tid()] *= Config.SCALE
""",
    "metaclass": f"""
class Meta(type):
    def __new__(cls, *args):
        {_MARK}
        return type.__new__(cls, *args)

class Config(metaclass=Meta):
    SCALE = 2.0

@wp.kernel
def k(x: wp.array(dtype=float)):
    x[wp.tid()] *= Config.SCALE
""",
    "struct with a base class": f"""
class Base:
    def __init_subclass__(cls):
        {_MARK}

@wp.struct
class Pair(Base):
    a: float

@wp.kernel
def k(x: wp.array(dtype=float), pair: Pair):
    x[wp.tid()] *= pair.a
""",
    "struct with a metaclass far above it": f"""
class Meta(type):
    def __new__(cls, *args):
        {_MARK}
        return type.__new__(cls, *args)

class Top(metaclass=Meta):
    pass

class Base(Top):
    pass

@wp.struct
class Pair(Base):
    a: float

@wp.kernel
def k(x: wp.array(dtype=float), pair: Pair):
    x[wp.tid()] *= pair.a
""",
    "attribute walk": """
SCALE = len(().__class__.__base__.__subclasses__())

@wp.kernel
def k(x: wp.array(dtype=float)):
    x[wp.tid()] *= float(SCALE)
""",
    "numpy file access": """
import numpy as np
TABLE = np.fromfile("/etc/hostname", dtype=np.uint8)

@wp.kernel
def k(x: wp.array(dtype=float)):
    x[wp.tid()] *= float(wp.static(TABLE[0]))
""",
    "native snippet": """
@wp.func_native(snippet='FILE* file = fopen(MARKER_IN_C, "w"); if (file) fclose(file);')
def native(out: wp.array(dtype=float)): ...

@wp.kernel
def k(x: wp.array(dtype=float)):
    native(x)
    x[wp.tid()] *= 2.0
""",
}


def _probed(folder: Path, text: str, name: str, run: Run) -> tuple[Evidence, Path]:
    marker = folder / "marker"
    path = folder / "host.py"
    path.write_text(text.replace("MARKER_IN_C", f'"{marker}"').replace("MARKER", repr(str(marker))))
    (evidence,) = run([finding(path, KernelProgram(DefinitionRef(path, name), ()))])
    return evidence, marker


def test_nothing_but_the_slice_runs(tmp_path: Path, run: Run) -> None:
    marker = tmp_path / "marker"
    (tmp_path / "sibling.py").write_text(_SIBLING.replace("MARKER", repr(str(marker))))
    evidence, _ = _probed(tmp_path, _HOST, "harmless", run)
    assert evidence.verdict == "refuted", evidence.detail
    assert not marker.exists()


def test_kernels_out_of_files_that_do_more(tmp_path: Path, run: Run) -> None:
    evidence, marker = _probed(tmp_path, _HOST.replace("import sibling\n", ""), "solver.made", run)
    assert evidence.verdict == "refuted", evidence.detail
    assert not marker.exists()


def test_the_planted_code_would_leave_a_mark(tmp_path: Path) -> None:
    planted = {what: text for what, text in _REFUSED.items() if _MARK in text}
    assert len(planted) >= 11
    script = "import warp as wp\nfrom pathlib import Path\n"
    for number, text in enumerate(planted.values()):
        path = tmp_path / f"case_{number}.py"
        path.write_text("import warp as wp\n" + text.replace("MARKER", repr(str(tmp_path / f"marker_{number}"))))
        script += f"try:\n    import case_{number}\nexcept Exception as error:\n    print(error)\n"
    subprocess.run([sys.executable, "-c", script], cwd=tmp_path, check=True, capture_output=True)
    left = [what for number, what in enumerate(planted) if not (tmp_path / f"marker_{number}").exists()]
    # Warp evaluates what `wp.static` holds, and strings that are annotations, when it compiles the kernel
    assert set(left) <= {"static expression", "string annotation"}


@pytest.mark.parametrize("what", list(_REFUSED))
def test_what_a_slice_may_not_run_is_refused(what: str, tmp_path: Path, run: Run) -> None:
    evidence, marker = _probed(tmp_path, "import warp as wp\n" + _REFUSED[what], "k", run)
    assert evidence.verdict == "inconclusive"
    assert evidence.detail.startswith("not run: ")
    assert not marker.exists()


def test_missing_optional_imports_do_not_matter(tmp_path: Path, run: Run) -> None:
    text = """
import a_package_that_is_not_installed as missing
import warp as wp
from a_package_that_is_not_installed.deep import thing

table = missing.load(thing)


@wp.kernel
def k(x: wp.array(dtype=float), b: wp.array(dtype=float)):
    i = wp.tid()
    x[i] *= b[i]
"""
    evidence, _ = _probed(tmp_path, text, "k", run)
    assert evidence.verdict == "confirmed", evidence.detail
