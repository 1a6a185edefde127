"""What Warp puts into the C++ code of a kernel is code that it wrote itself, whatever text a kernel holds.

Warp writes strings of a kernel, and the text of its assertions, between quotation marks and does not see to those in
them (``constant_str`` and ``Adjoint.emit_Assert`` in ``warp/_src/codegen.py``). What stands behind one is compiled.
"""

from __future__ import annotations

import ast
from typing import Any

from warplint.probe.worker.compat import codegen


def quoted(text: str) -> str:
    """``text`` as a string of C++: nothing in it ends the string."""
    return '"' + text.encode("unicode-escape").decode().replace('"', '\\"').replace("?", "\\?") + '"'


def install() -> None:
    """Makes Warp's code generator of this process quote what it writes."""
    written = codegen.constant_str

    def constant_str(value: Any) -> str:
        return quoted(str.__str__(value)) if isinstance(value, str) else str(written(value))

    codegen.constant_str = constant_str
    if hasattr(codegen.Adjoint, "emit_Assert"):
        codegen.Adjoint.emit_Assert = _emit_assert
        codegen.Adjoint.node_visitors[ast.Assert] = _emit_assert


def _emit_assert(adj: Any, node: Any) -> None:
    """An assertion without its text, which nothing but a person reads."""
    condition = adj.load(adj.eval(node.test))
    adj.add_forward(f'assert(((void)"assertion",{condition.emit()}));')
