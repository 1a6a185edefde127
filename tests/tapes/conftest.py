"""Runs the tape analysis on small programs whose lines say what is to be found there."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest
from stub_effects import Stub

from warplint.frontend import fast
from warplint.ir.facts import Fact
from warplint.source.project import Module, Project
from warplint.tapes import analyse

RULES = {"missing-requires-grad": "WP301", "window-backward": "WP401"}
_EXPECT = re.compile(r"#\s*expect:\s*(WP\d+)")

HEADER = """\
import functools
from dataclasses import dataclass, field

import numpy as np
import warp as wp


@wp.struct
class State:
    q: wp.array(dtype=float)
    v: wp.array(dtype=float)


@wp.kernel
def square(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = x[i] * x[i]


@wp.kernel
def combine(x: wp.array(dtype=float), p: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = x[i] * p[0]


@wp.kernel
def gather(x: wp.array(dtype=float), index: wp.array(dtype=int), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = x[index[i]]


@wp.kernel
def count(x: wp.array(dtype=float), n: wp.array(dtype=int)):
    i = wp.tid()
    n[i] = int(x[i])


@wp.kernel
def total(y: wp.array(dtype=float), loss: wp.array(dtype=float)):
    wp.atomic_add(loss, 0, y[wp.tid()])


@wp.kernel
def distance(y: wp.array(dtype=float), target: wp.array(dtype=float), loss: wp.array(dtype=float)):
    i = wp.tid()
    wp.atomic_add(loss, 0, (y[i] - target[i]) * (y[i] - target[i]))


@wp.kernel
def move(state: State, p: wp.array(dtype=float), out: State):
    i = wp.tid()
    out.q[i] = state.q[i] + p[0] * state.v[i]


@wp.kernel
def rate(state: State, loss: wp.array(dtype=float)):
    wp.atomic_add(loss, 0, state.q[wp.tid()])


@wp.kernel
def fill(y: wp.array(dtype=float)):
    y[wp.tid()] = 1.0


@wp.kernel
def descend(p: wp.array(dtype=float), g: wp.array(dtype=float)):
    i = wp.tid()
    p[i] = p[i] - 0.1 * g[i]


"""

Found = list[tuple[str, int]]


def facts_of(path: Path, data: dict[str, str]) -> list[Fact]:
    """The facts of the last file of ``data`` (name to text), which are written into the folder ``path``."""
    for name, text in data.items():
        target = path / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)
    project = Project(fast.read)
    module = project.load(path / list(data)[-1])
    assert isinstance(module, Module), module
    return list(analyse(project, module, Stub(project)))


def marks(name: str, text: str) -> Found:
    """The rules that the lines of ``text`` expect."""
    return [
        (f"{name}:{match[1]}", number)
        for number, line in enumerate(text.split("\n"), 1)
        for match in _EXPECT.finditer(line)
    ]


@pytest.fixture
def run(tmp_path: Path) -> Callable[..., list[Fact]]:
    """Analyse a program and hold what is found to its marks; gives back the facts."""

    def check(body: str, **others: str) -> list[Fact]:
        data = {f"{name}.py": HEADER + textwrap.dedent(text) for name, text in others.items()}
        data["program.py"] = HEADER + textwrap.dedent(body)
        found = [fact for fact in facts_of(tmp_path, data) if fact.kind in RULES]
        seen = sorted((f"{fact.location.path.name}:{RULES[fact.kind]}", fact.location.span.line) for fact in found)
        assert seen == sorted(mark for name, text in data.items() for mark in marks(name, text))
        return found

    return check
