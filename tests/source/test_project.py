"""What names mean: imports, aliases, scopes, and where nothing can be known."""

from __future__ import annotations

from pathlib import Path

import pytest

from warplint.frontend import fast, open_project, precise, visitor
from warplint.ir import syntax as ir
from warplint.source.project import (
    UNKNOWN,
    Definition,
    External,
    Module,
    ModuleRef,
    ParameterRef,
    Project,
    Resolved,
    Scope,
    Value,
)


def write(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def load(path: Path, project: Project | None = None) -> Module:
    module = (project or open_project()).load(path)
    assert isinstance(module, Module), module
    return module


def ask(module: Module, name: str, scope: Scope = ()) -> Resolved:
    """What a dotted name at the end of ``scope`` (or of the module) means."""
    (statement,) = fast.read(name, 100_000)
    assert isinstance(statement, ir.ExprStmt)
    return module.project.resolve(module, statement.value, scope)


def scope_of(module: Module, qualname: str) -> Scope:
    """The scope inside a function or class."""
    scope: Scope = ()
    body = tuple(module.statements())
    for name in qualname.split("."):
        node = next(
            node
            for statement in body
            for node in ir.walk(statement)
            if isinstance(node, (ir.FunctionDef, ir.ClassDef)) and node.name == name
        )
        scope, body = (*scope, node), node.body
    return scope


@pytest.fixture
def meaning(tmp_path: Path):
    """Asks what a name means at the end of a text, or at the end of a scope in it."""

    def of(text: str, name: str, inside: str = "") -> Resolved:
        write(tmp_path, {"x.py": text})
        module = load(tmp_path / "x.py")
        return ask(module, name, scope_of(module, inside) if inside else ())

    return of


@pytest.mark.parametrize(
    ("text", "name", "external"),
    [
        ("import warp as wp", "wp.kernel", "warp.kernel"),
        ("import warp", "warp.kernel", "warp.kernel"),
        ("from warp import kernel", "kernel", "warp.kernel"),
        ("from warp import kernel, func as f", "f", "warp.func"),
        ("import warp as wp\nw = wp", "w.func", "warp.func"),
        ("import warp as wp\nk = wp.kernel", "k", "warp.kernel"),
        ("import warp as wp\nk: object = wp.kernel\nj = k", "j", "warp.kernel"),
        ("import warp, numpy as np", "np.linalg.norm", "numpy.linalg.norm"),
        ("import warp.sim", "warp.sim.Model", "warp.sim.Model"),
        ("import warp.sim as ws", "ws.Model", "warp.sim.Model"),
        ("import os.path, os.abc", "os.path.join", "os.path.join"),
        ("from warp.types import float32", "float32", "warp.float32"),
        ("import warp.context as c", "c.Kernel", "warp.Kernel"),
        ("import warp._src.context as c", "c.Kernel", "warp.Kernel"),
        ("from warp import *", "kernel", "warp.kernel"),
        ("from math import *", "sin", "math.sin"),
        ("from warp import *\nfrom math import *", "sin", "math.sin"),
        ("from math import *\nfrom warp import *", "sin", "warp.sin"),
        ("from warp import *\nfrom math import *", "kernel", "warp.kernel"),
        ("from warp import *", "range", "range"),
        ("from math import *", "range", "range"),
        ("", "range", "range"),
        ("", "len", "len"),
        ("try:\n    import warp as wp\nexcept ImportError:\n    wp = None", "wp.func", "warp.func"),
        ("wp = None\ntry:\n    import warp as wp\nexcept ImportError: pass", "wp.func", "warp.func"),
        ("if a:\n    import warp as wp", "wp.func", "warp.func"),
        ("if a:\n    import warp as wp\nelse:\n    import warp as wp", "wp.func", "warp.func"),
        ("with a:\n    import warp as wp", "wp.func", "warp.func"),
        ("import a.b\nimport a.c", "a.c.d", "a.c.d"),
        ("from somewhere import thing", "thing.part", "somewhere.thing.part"),
    ],
)
def test_externals(meaning, text: str, name: str, external: str) -> None:
    assert meaning(text, name) == External(external)


@pytest.mark.parametrize(
    ("listed", "found"),
    [
        ("", "inner"),  # no list: all that is public comes along
        ("__all__ = ['other']\n", "outer"),
        ("__all__ = ['other']\n__all__.extend([\n    'name',  # a remark\n])\n", "inner"),
        ("__all__: list[str] = ('other',)\n", "outer"),
        ("__all__ = [*others, 'name']\n", "inner"),
        ("__all__ = ['other'] + others\n", None),  # whether `others` has it is not known
    ],
)
def test_a_star_brings_what_is_exported(tmp_path: Path, listed: str, found: str | None) -> None:
    write(
        tmp_path,
        {
            "outer.py": "def name(): pass\n",
            "inner.py": f"{listed}def name(): pass\ndef other(): pass\n",
            "x.py": "from outer import *\nfrom inner import *\n",
        },
    )
    meant = ask(load(tmp_path / "x.py"), "name", ())
    assert meant is UNKNOWN if found is None else isinstance(meant, Definition) and meant.module.name == found


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("x = 1\nx = 2", "x"),
        ("import warp as wp\nwp = other", "wp"),
        ("import warp as x\nimport numpy as x", "x"),
        ("try:\n    import a as x\nexcept ImportError:\n    import b as x", "x"),
        ("import warp as wp\ndel wp", "wp"),
        ("import warp as wp\nfor wp in y: pass", "wp"),
        ("import warp as wp\nwith y as wp: pass", "wp"),
        ("import warp as wp\ntry: pass\nexcept E as wp: pass", "wp"),
        ("import warp as wp\nmatch y:\n    case wp: pass", "wp"),
        ("import warp as wp\nif (wp := y): pass", "wp"),
        ("if (n := y): pass", "n"),
        ("if (len := y): pass", "len"),
        ("import warp as wp\ndef f():\n    global wp\n    wp = None", "wp"),
        ("def f(): global len; len = 1", "len"),
        ("x += 1", "x"),
        ("x, y = 1, 2", "x"),
        ("for x in y: pass", "x"),
        ("nothing = 1", "missing"),
        ("def f(): pass\nf = g(f)", "f"),
        ("if a:\n    def f(): pass\nelse:\n    def f(): return", "f"),
        ("def f(): pass\nif a:\n    def f(): return", "f"),
        ("from unknown import *", "kernel"),
        ("from warp import *\nfrom unknown import *", "kernel"),
        ("from warp import *", "_private"),
        ("from . import missing", "missing"),
        ("from .... import x", "x"),
        ("from ....a import x", "x"),
        ("x: int", "x"),
    ],
)
def test_unknown(meaning, text: str, name: str) -> None:
    assert meaning(text, name) is UNKNOWN


def test_value(meaning) -> None:
    found = meaning("x = f(1)\ny = x", "y")
    assert isinstance(found, Value)
    assert isinstance(found.expr, ir.Call)
    assert found.expr.span.line == 1
    found = meaning("x: int = 3", "x")
    assert isinstance(found, Value)


def test_aliases_that_go_in_circles_end(meaning) -> None:
    for text in ("a = b\nb = a", "a = a", "a = b\nb = c\nc = a"):
        assert not isinstance(meaning(text, "a"), (External, Definition))
    swaps = "def f():\n" + "    a = b\n    b = a\n" * 30
    assert meaning(swaps, "a", "f") is UNKNOWN
    assert not isinstance(meaning("def f():\n    a = b\n    b = a\n", "a", "f"), (External, Definition))


def test_definitions_and_members(meaning) -> None:
    text = "class A:\n    x = 1\n    def f(self): pass\n    class B:\n        def g(self): pass\nC = A\n"
    found = meaning(text, "C.f")
    assert isinstance(found, Definition)
    assert found.qualname == "A.f"
    found = meaning(text, "A.B.g")
    assert isinstance(found, Definition)
    assert found.qualname == "A.B.g"
    assert isinstance(meaning(text, "A.x"), Value)
    assert meaning(text, "A.missing") is UNKNOWN
    assert meaning(text, "A.f.attribute") is UNKNOWN


def test_redefinition(meaning, tmp_path: Path) -> None:
    """The last def counts, but not for a use between the two."""
    text = "def f(): pass\nx = f\ndef f(): return 1\ny = f\ndef user(): f()\n"
    write(tmp_path, {"x.py": text})
    module = load(tmp_path / "x.py")
    x, y = (statement for statement in module.statements() if isinstance(statement, ir.Assign))
    assert module.project.resolve(module, x.value) is UNKNOWN
    for found in (module.project.resolve(module, y.value), ask(module, "f", scope_of(module, "user"))):
        assert isinstance(found, Definition)
        assert found.node.span.line == 3


def test_scopes(meaning) -> None:
    text = """
import warp as wp
import numpy as np
x = 1
def outer(a, *b, c=1, **d):
    import warp as w
    from warp import func as f
    x = 2
    def inner(e):
        nonlocal x
        np = 3
    class C:
        x = 3
        def method(self):
            pass
    def other():
        global x
        y = w
    z = inner
"""
    assert meaning(text, "w.kernel", "outer") == External("warp.kernel")
    assert meaning(text, "w.kernel", "outer.inner") == External("warp.kernel")
    assert meaning(text, "w.kernel") is UNKNOWN
    assert meaning(text, "f", "outer.C.method") == External("warp.func")
    assert meaning(text, "wp.kernel", "outer.inner") == External("warp.kernel")
    assert meaning(text, "y.kernel", "outer.other") == External("warp.kernel")
    assert meaning(text, "np.zeros", "outer") == External("numpy.zeros")
    assert meaning(text, "np.zeros", "outer.inner") is UNKNOWN
    for name in "abcd":
        found = meaning(text, name, "outer.inner")
        assert isinstance(found, ParameterRef)
        assert found.parameter.name == name
    found = meaning(text, "x", "outer.C")
    assert isinstance(found, Value)
    assert found.expr.span.line == 13
    # a class body is not visible from its methods
    found = meaning(text, "x", "outer.C.method")
    assert isinstance(found, Value)
    assert found.expr.span.line == 8
    found = meaning(text, "x", "outer.inner")
    assert isinstance(found, Value)
    assert found.expr.span.line == 8
    assert meaning(text, "x", "outer.other") is UNKNOWN  # `global`: any call may bind it
    found = meaning(text, "z", "outer")
    assert isinstance(found, Definition)
    assert found.qualname == "outer.inner"


def test_parameter_that_is_assigned_is_unknown(meaning) -> None:
    assert meaning("def f(a):\n    a = 1\n", "a", "f") is UNKNOWN
    assert meaning("def f(a):\n    if (a := 1): pass\n", "a", "f") is UNKNOWN


PACKAGE = {
    "pkg/__init__.py": "from .kernels import add as plus\nfrom . import deep\nfrom .star import *\nimport warp as wp\n",
    "pkg/kernels.py": "import warp as wp\nfrom .deep.inner import helper\n@wp.kernel\ndef add(): pass\n",
    "pkg/star.py": "from .kernels import wp\ndef starred(): pass\ndef _hidden(): pass\n",
    "pkg/deep/__init__.py": "",
    "pkg/deep/inner.py": "from ..kernels import add\nfrom ... import nothing\nfrom . import sibling\n"
    "from .. import plus\ndef helper(): pass\n",
    "pkg/deep/sibling.py": "from ..deep.inner import helper\nfrom .inner import add as again\n",
    "script.py": "import tools\nfrom tools import make\nimport pkg\nimport pkg.deep.inner\n"
    "from pkg import plus, wp, starred\nfrom pkg.deep import sibling as s\nimport pkg.deep.inner as inner\n"
    "from pkg import deep as d\nfrom pkg import _hidden\n",
    "tools.py": "import script\ndef make(): pass\nclass K:\n    def m(self): pass\n",
}


@pytest.fixture
def package(tmp_path: Path) -> Path:
    write(tmp_path, PACKAGE)
    return tmp_path


@pytest.mark.parametrize(
    ("path", "name", "where", "qualname"),
    [
        ("script.py", "make", "tools", "make"),
        ("script.py", "tools.make", "tools", "make"),
        ("script.py", "tools.K.m", "tools", "K.m"),
        ("script.py", "plus", "pkg.kernels", "add"),
        ("script.py", "pkg.plus", "pkg.kernels", "add"),
        ("script.py", "pkg.kernels.add", "pkg.kernels", "add"),
        ("script.py", "pkg.deep.inner.helper", "pkg.deep.inner", "helper"),
        ("script.py", "inner.helper", "pkg.deep.inner", "helper"),
        ("script.py", "inner.add", "pkg.kernels", "add"),
        ("script.py", "starred", "pkg.star", "starred"),
        ("script.py", "s.helper", "pkg.deep.inner", "helper"),
        ("script.py", "s.again", "pkg.kernels", "add"),
        ("script.py", "d.inner.add", "pkg.kernels", "add"),
        ("script.py", "tools.script.make", "tools", "make"),
        ("pkg/deep/inner.py", "add", "pkg.kernels", "add"),
        ("pkg/deep/inner.py", "plus", "pkg.kernels", "add"),
        ("pkg/deep/inner.py", "sibling.again", "pkg.kernels", "add"),
        ("pkg/kernels.py", "helper", "pkg.deep.inner", "helper"),
    ],
)
def test_imports(package: Path, path: str, name: str, where: str, qualname: str) -> None:
    found = ask(load(package / path), name)
    assert isinstance(found, Definition), found
    assert (found.module.name, found.qualname) == (where, qualname)


def test_what_imports_do_not_bring(package: Path) -> None:
    script = load(package / "script.py")
    assert ask(script, "_hidden") is UNKNOWN
    assert ask(script, "pkg.missing") is UNKNOWN
    assert ask(script, "wp.kernel") == External("warp.kernel")
    found = ask(script, "pkg.deep")
    assert isinstance(found, ModuleRef)
    assert found.module.name == "pkg.deep"
    assert ask(load(package / "pkg/deep/inner.py"), "nothing") is UNKNOWN


def test_circles_of_imports_end(tmp_path: Path) -> None:
    names = "abcdef"
    stars = "".join(f"from {name} import *\n" for name in names)
    write(tmp_path, {f"{name}.py": stars for name in names})
    write(tmp_path, {"f.py": stars + "def found(): pass\n", "g.py": "from h import x\n", "h.py": "from g import x\n"})
    module = load(tmp_path / "a.py")
    assert ask(module, "missing") is UNKNOWN
    assert isinstance(ask(module, "found"), Definition)
    assert ask(load(tmp_path / "g.py"), "x") is UNKNOWN


def test_roots_and_packages_without_init(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "src/lib/a.py": "from lib.b import f\nfrom .b import f as g\nfrom . import b\nimport lib.b as c\n",
            "src/lib/b.py": "def f(): pass\n",
        },
    )
    module = load(tmp_path / "src/lib/a.py", open_project((tmp_path / "src",)))
    for name in ("f", "g", "b.f", "c.f"):
        found = ask(module, name)
        assert isinstance(found, Definition), name
        assert found.module.path == tmp_path / "src/lib/b.py"


def test_package_does_not_see_its_own_files_as_top_level_modules_first(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "pkg/__init__.py": "",
            "pkg/main.py": "import other\nimport types\nimport warp\n",
            "pkg/other.py": "def f(): pass\n",
            "pkg/types.py": "def f(): pass\n",
            "pkg/warp.py": "def f(): pass\n",
            "other.py": "def f(): pass\n",
        },
    )
    module = load(tmp_path / "pkg/main.py")
    found = ask(module, "other.f")
    assert isinstance(found, Definition)
    assert found.module.path == tmp_path / "other.py"
    assert ask(module, "types.f") == External("types.f")
    assert ask(module, "warp.f") == External("warp.f")


def test_module_that_cannot_be_read_is_not_followed(tmp_path: Path) -> None:
    write(tmp_path, {"a.py": "from b import f\nimport b\n", "b.py": "def f(:\n"})
    module = load(tmp_path / "a.py")
    assert not isinstance(ask(module, "f"), Definition)
    assert not isinstance(ask(module, "b.f"), Definition)


def test_region_that_cannot_be_read_makes_names_unknown(tmp_path: Path) -> None:
    write(tmp_path, {"a.py": "len = 1" + " + 1" * 700 + "\ndef max(): return 1" + " + 1" * 700 + "\nx = 1\n"})
    module = load(tmp_path / "a.py")
    assert ask(module, "len") is UNKNOWN
    assert ask(module, "max") is UNKNOWN
    assert isinstance(ask(module, "x"), Value)
    assert [problem.line for problem in module.project.problems] == [1, 2]


def test_region_at(tmp_path: Path) -> None:
    write(tmp_path, {"a.py": "# first\n\nimport a\n\n@b\ndef f():\n    pass\n\n# after\nx = 1\n"})
    module = load(tmp_path / "a.py")
    lines = [(region := module.region_at(line)) and region.line for line in range(0, 13)]
    assert lines == [None, None, None, 3, 3, 5, 5, 5, 5, 5, 10, None, None]


def test_second_pass_reads_regions_with_libcst(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, {"a.py": "import b\n\n@d\ndef f():\n    return 1\n\ndef g(): pass\n", "b.py": "def h(): pass\n"})
    project = open_project()
    module = load(tmp_path / "a.py", project)
    before = list(module.statements())
    asked: list[int] = []
    read = visitor.read

    def spy(text: str, first_line: int = 1) -> tuple[ir.Stmt, ...]:
        asked.append(first_line)
        return read(text, first_line)

    monkeypatch.setattr(visitor, "read", spy)
    second = precise(project, [(tmp_path / "a.py", 5), (tmp_path / "b.py", 1), (tmp_path / "none.py", 1)])
    again = load(tmp_path / "a.py", second)
    assert list(again.statements()) == before
    assert asked == [3]
    assert again is not module
    assert again.project is second
    assert [new is old for new, old in zip(again.statements(), before, strict=True)] == [True, False, True]
    assert isinstance(ask(again, "b.h"), Definition)
    third = precise(second, [(tmp_path / "a.py", 7)])
    list(load(tmp_path / "a.py", third).statements())
    assert asked == [3, 7]
    assert module.project is project


def test_where_libcst_fails_the_fast_reader_reads(tmp_path: Path) -> None:
    write(tmp_path, {"a.py": "(a): int = 1\n"})
    project = open_project()
    load(tmp_path / "a.py", project)
    module = load(tmp_path / "a.py", precise(project, [(tmp_path / "a.py", 1)]))
    assert isinstance(next(module.statements()), ir.AnnAssign)
    assert module.project.problems == []


@pytest.mark.parametrize("first", ["__init__.py", "solver.py"])
def test_a_star_that_leads_back_hides_no_submodule(tmp_path: Path, first: str) -> None:
    """``from pkg import shapes`` in what ``pkg`` takes all names from is the submodule, as it is for Python."""
    files = {
        "__init__.py": "from .solver import *\n",
        "solver.py": "from pkg import shapes\nfrom pkg import nothing\ndef solve(): pass\n",
        "shapes.py": "def area(): pass\n",
    }
    write(tmp_path / "pkg", files)
    project = open_project()
    modules = [project.module(tmp_path / "pkg" / name) for name in sorted(files, key=lambda name: name != first)]
    for module in modules[:1] + [project.module(tmp_path / "pkg" / "solver.py")]:
        assert module is not None
        found = project.member(module, "shapes")
        assert isinstance(found, ModuleRef) and found.module.path.name == "shapes.py"
        assert project.member(module, "nothing") is UNKNOWN
