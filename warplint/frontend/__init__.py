"""Source text to IR, by two readers that give the same tree.

``fast`` reads everything; ``visitor``, the LibCST reader, reads what is reported and what Python's own parser is too
old for. LibCST is imported when it is first needed.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from warplint.frontend import fast
from warplint.ir import syntax as ir
from warplint.source.project import Project


def open_project(roots: tuple[Path, ...] = ()) -> Project:
    """An empty project that reads with the fast reader first; see ``Project`` for ``roots``."""
    return Project(fast.read, roots, read_with_libcst)


def precise(project: Project, places: Iterable[tuple[Path, int]]) -> Project:
    """The same project with the regions around ``places`` (pairs of path and line) read by the LibCST visitor."""
    return project.precisely(places)


def read_with_libcst(text: str, first_line: int = 1) -> tuple[ir.Stmt, ...]:
    """The statements of ``text`` by the LibCST visitor, or by the fast reader where LibCST fails on valid code.

    LibCST does not know some rare forms (``(a): int``, a form feed before code, ``class A(metaclass=B, *C)``) and needs
    more stack for an expression than the fast reader. Raises SyntaxError and RecursionError as the fast reader does.
    """
    from warplint.frontend import visitor

    try:
        return visitor.read(text, first_line)
    except (SyntaxError, RecursionError):
        return fast.read(text, first_line)
