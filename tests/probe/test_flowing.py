"""What may flow into a place of a function: never fewer parameters than do."""

from __future__ import annotations

from pathlib import Path

import pytest

from warplint.frontend.fast import read
from warplint.ir import syntax as ir
from warplint.ir.spans import Span
from warplint.probe.flowing import sources
from warplint.source.project import Module, Project

_CASES = {
    "plain": ("y = HERE(a[i])", {"a"}),
    "a local": ("t = 2.0 * a[i]\n    u = t * t\n    y = HERE(u)", {"a"}),
    "an array": ("b[i] = a[i]\n    y = HERE(b[i])", {"a", "b"}),
    "an atomic sum": ("wp.atomic_add(b, 0, a[i])\n    y = HERE(b[0])", {"a", "b"}),
    "a func that stores": ("put(b, i, a[i])\n    y = HERE(b[i])", {"a", "b"}),
    "a func that returns": ("t = twice(a[i])\n    y = HERE(t)", {"a"}),
    "a condition": ("t = 1.0\n    if a[i] > 0.0:\n        t = 2.0\n    y = HERE(t)", {"a"}),
    "what decides": ("if a[i] > 0.0:\n        y = HERE(1.0)", {"a"}),
    "an earlier round": ("t = 0.0\n    for k in range(3):\n        y = HERE(t)\n        t = a[i]", {"a"}),
    "a member": ("v = wp.vec2()\n    v[0] = a[i]\n    y = HERE(v)", {"a"}),
    "a view": ("row = b\n    row[i] = a[i]\n    y = HERE(row[i])", {"a", "b"}),
    "a view of it": ("row = b[0]\n    row[i] = a[i]\n    y = HERE(b[0, i])", {"a", "b"}),
    "an index": ("k = int(a[i])\n    y = HERE(b[k])", {"a", "b"}),
}


@pytest.mark.parametrize("name", _CASES)
def test_what_flows_into_a_place(name: str, tmp_path: Path) -> None:
    body, expected = _CASES[name]
    text = f"def kernel(a, b, c, out):\n    i = wp.tid()\n    q = wp.sin(c[i])\n    {body}\n    out[i] = y + q\n"
    path = tmp_path / "code.py"
    path.write_text(text)
    module = Project(read).load(path)
    assert isinstance(module, Module)
    (node,) = module.read(module.regions[0])
    assert isinstance(node, ir.FunctionDef)
    (place,) = (call.span for call in ir.walk(node) if isinstance(call, ir.Call) and ir.dotted(call.func) == "HERE")
    assert set(sources(node, [Span(*place)] if isinstance(place, tuple) else [place])) == expected
