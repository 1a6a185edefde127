"""Programs whose findings are held to their marks, with the effects of kernels that kernel analysis finds."""

from __future__ import annotations

import re
import textwrap
from functools import partial
from pathlib import Path

from conftest import HEADER
from measured import gradient_is_wrong

from warplint import kernels
from warplint.catalogue.loading import load_catalogue
from warplint.catalogue.matching import Matcher
from warplint.frontend import fast
from warplint.ir.facts import Fact
from warplint.source.project import Module, Project
from warplint.tapes import analyse

KERNELS = """
@wp.kernel
def halve(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = 0.5 * x[i]


@wp.kernel
def add(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    wp.atomic_add(y, i, x[i])


@wp.kernel
def row(x: wp.array2d(dtype=float), t: int):
    i = wp.tid()
    x[t + 1, i] = x[t, i] * x[t, i]


@wp.kernel
def last(x: wp.array2d(dtype=float), t: int, loss: wp.array(dtype=float)):
    wp.atomic_add(loss, 0, x[t, wp.tid()])


@wp.kernel
def scatter(x: wp.array(dtype=float), where: wp.array(dtype=int), y: wp.array(dtype=float)):
    i = wp.tid()
    y[where[i]] = x[i]


n = 3
x = wp.array(np.ones(n), dtype=float, requires_grad=True)
a = wp.zeros_like(x)
b = wp.zeros_like(x)
loss = wp.zeros(1, dtype=float, requires_grad=True)
tape = wp.Tape()
"""
_EXPECT = re.compile(r"#\s*expect:\s*(WP\d+)")
_RULES = load_catalogue()[0].rules


def judge(folder: Path, body: str, kinds: set[str], warp: str = "1.19.0", measured: bool = False) -> list[Fact]:
    """Analyse a program and hold the findings of rules for facts of these kinds to its marks; gives back the facts.

    ``measured``: Warp runs the program as well, and its gradient has to be wrong exactly where there are marks.
    """
    text = HEADER + KERNELS + textwrap.dedent(body)
    path = folder / "program.py"
    path.write_text(text)
    project = Project(fast.read)
    module = project.load(path)
    assert isinstance(module, Module), module
    found = [fact for fact in analyse(project, module, partial(kernels.effects, project)) if fact.kind in kinds]
    rules = [rule for rule in _RULES if rule.select.fact in kinds]
    findings = Matcher(rules, warp).findings(found, frozenset(rule.id for rule in rules))
    marks = [(match[1], number) for number, line in enumerate(text.split("\n"), 1) for match in _EXPECT.finditer(line)]
    assert sorted((finding.rule, finding.location.span.line) for finding in findings) == sorted(marks)
    if measured:
        assert gradient_is_wrong(path) == bool(marks)
    return found
