"""Programs that are split into modules and packages."""

from __future__ import annotations

from random import Random

import libcst as cst
import libcst.matchers as m

from .syntax import (
    Program,
    Substitute,
    code,
    expr,
    imports_end,
    is_device,
    is_docstring,
    names_bound,
    names_read,
    of_program,
)


def _parted(
    program: Program,
) -> tuple[str, cst.Module, list[cst.BaseStatement], list[cst.BaseStatement], list[str]] | None:
    """A program of one file: its name, its head, the statements for the other module, the rest, and the names moved.

    What Warp compiles goes into the other module, with the module-level names that it needs.
    """
    if len(program) != 1:
        return None
    ((path, text),) = program.items()
    module = cst.parse_module(text)
    start = imports_end(module)
    head, rest = list(module.body[:start]), list(module.body[start:])
    if any("__future__" in code(s) for s in head):
        return None
    chosen = {id(s) for s in rest if is_device(s)}
    if not chosen:
        return None
    while True:
        needed: set[str] = set()
        for statement in rest:
            if id(statement) in chosen:
                needed |= names_read(statement)
        more = {id(s) for s in rest if id(s) not in chosen and names_bound(s) & needed and not _is_main(s)}
        if not more:
            break
        chosen |= more
    moved = [s for s in rest if id(s) in chosen]
    stays = [s for s in rest if id(s) not in chosen]
    names = sorted(set().union(*(names_bound(s) for s in moved)))
    if any(isinstance(s, cst.FunctionDef) and not is_device(s) and "launch" in code(s) for s in moved):
        return None
    if any(m.findall(s, m.Global()) for s in rest) or "globals()" in text or "__name__]" in text or not stays:
        return None
    return path.removesuffix(".py"), module.with_changes(body=head), moved, stays, names


def _is_main(statement: cst.BaseStatement) -> bool:
    return isinstance(statement, cst.If) and "__name__" in code(statement.test)


def _module(head: cst.Module, extra: str, body: list[cst.BaseStatement], keep_doc: bool = True) -> str:
    statements = [s for s in head.body if keep_doc or not is_docstring(s)]
    added = list(cst.parse_module(extra).body) if extra else []
    return head.with_changes(body=[*statements, *added, *body]).code


def _split(name: str, other: str, use: str, package: str = "", reference: str = "", entry: str = "") -> None:
    """``other`` is the path of the kernels' module with ``STEM`` for the program's name, ``use`` the import of it."""

    def change(program: Program, random: Random) -> Program | None:
        found = _parted(program)
        if found is None:
            return None
        stem, head, moved, stays, names = found
        if "." in stem or "/" in stem:
            return None
        if reference:
            places = {n: expr(reference.replace("NAME", n).replace("STEM", stem)) for n in names}
            bound_inside = set()
            for s in stays:
                for inner in m.findall(s, m.OneOf(m.Param(), m.AssignTarget())):
                    bound_inside |= {x.value for x in m.findall(inner, m.Name())}  # type: ignore[attr-defined]
            if bound_inside & set(names):
                return None
            stays = [s.visit(Substitute(places)) for s in stays]
        listed = ", ".join(names)
        host = sorted(set().union(*(names_bound(s) for s in stays)))
        fill = {"STEM": stem, "LISTED": listed, "HOST": ", ".join(host)}

        def filled(text: str) -> str:
            for key, value in fill.items():
                text = text.replace(key, value)
            return text

        main = _module(head, filled(use), stays)
        kernels = _module(head, "", moved, keep_doc=False)
        if package:
            result = {f"{stem}/host.py": main, filled(other): kernels, f"{stem}/__init__.py": filled(entry)}
            if package != "-":
                result.update({filled(path): filled(text) for path, text in [package.split("=", 1)]})
            return result
        return {f"{stem}.py": main, filled(other): kernels}

    change.__name__ = name
    of_program(change)


_split("split_import_from", "STEM_kernels.py", "from STEM_kernels import LISTED\n")
_split("split_import_as", "STEM_kernels.py", "import STEM_kernels as _k\n", reference="_k.NAME")
_split("split_import_module", "STEM_kernels.py", "import STEM_kernels\n", reference="STEM_kernels.NAME")
_split("split_import_star", "STEM_kernels.py", "from STEM_kernels import *\n")
_split(
    "split_import_in_try",
    "STEM_kernels.py",
    "try:\n    from STEM_kernels import LISTED\nexcept ImportError:\n    raise\n",
)
_split("split_relative", "STEM/kernels.py", "from .kernels import LISTED\n", "-", entry="from .host import HOST\n")
_split(
    "split_relative_module",
    "STEM/kernels.py",
    "from . import kernels as _k\n",
    "-",
    "_k.NAME",
    "from .host import HOST\n",
)
_split(
    "split_absolute_package",
    "STEM/kernels.py",
    "from STEM.kernels import LISTED\n",
    "-",
    entry="from STEM.host import HOST\n",
)
_split(
    "split_absolute_module", "STEM/kernels.py", "import STEM.kernels as _k\n", "-", "_k.NAME", "from .host import *\n"
)
_split("split_relative_star", "STEM/kernels.py", "from .kernels import *\n", "-", entry="from .host import *\n")
_split(
    "split_reexport",
    "STEM/core/kernels.py",
    "from .core import LISTED\n",
    "STEM/core/__init__.py=from .kernels import LISTED\n",
    entry="from .host import HOST\n",
)
_split(
    "split_reexport_star",
    "STEM/core/kernels.py",
    "from .core import *\n",
    "STEM/core/__init__.py=from .kernels import *\n",
    entry="from .host import *\n",
)
_split(
    "split_reexport_module",
    "STEM/core/kernels.py",
    "from . import core\n",
    "STEM/core/__init__.py=from .kernels import LISTED\n",
    "core.NAME",
    "from .host import HOST\n",
)
_split(
    "split_nested_attribute",
    "STEM/core/kernels.py",
    "from . import core\n",
    "STEM/core/__init__.py=from . import kernels\n",
    "core.kernels.NAME",
    "from .host import HOST\n",
)
_split(
    "split_dunder_all",
    "STEM/kernels.py",
    "from .kernels import *\n",
    "-",
    entry="from .host import HOST\n\n__all__ = [name for name in dir() if not name.startswith('__')]\n",
)
_split(
    "split_lazy_import",
    "STEM_kernels.py",
    "import importlib\n_k = importlib.import_module('STEM_kernels')\n",
    reference="_k.NAME",
)


@of_program
def split_host_functions(program: Program, random: Random) -> Program | None:
    """Functions that other host functions call go into a module of their own, with everything they use."""
    if len(program) != 1:
        return None
    ((path, text),) = program.items()
    module = cst.parse_module(text)
    start = imports_end(module)
    rest = list(module.body[start:])
    if any(m.findall(s, m.Global()) for s in rest) or "globals()" in text or "__future__" in text:
        return None
    definitions = [s for s in rest if isinstance(s, (cst.FunctionDef, cst.ClassDef))]
    if len(definitions) < 2:
        return None
    last = definitions[-1]
    moved = rest[: rest.index(last)]
    stays = rest[rest.index(last) :]
    names = sorted(set().union(*(names_bound(s) for s in moved)))
    head = module.with_changes(body=module.body[:start])
    stem = path.removesuffix(".py")
    main = _module(head, f"from {stem}_lib import {', '.join(names)}\n", stays)
    return {path: main, f"{stem}_lib.py": _module(head, "", moved, keep_doc=False)}
