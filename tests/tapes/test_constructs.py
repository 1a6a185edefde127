"""Python between an array's allocation and its launches: whether two names are one array.

Each program stores to `a`, reads it where the adjoint needs its value, and stores to `b`. Where both are one array,
that overwrites the value (WP201); where they are two, nothing is wrong.
"""

from __future__ import annotations

import textwrap
from functools import partial
from pathlib import Path

import pytest

from warplint import kernels
from warplint.frontend import fast
from warplint.source.project import Module, Project
from warplint.tapes import analyse

PROGRAM = """\
import collections
import copy
import dataclasses
import enum
import functools
import itertools
import math
import operator
import types
from typing import NamedTuple

import numpy as np
import warp as wp


@wp.kernel
def double(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = 2.0 * x[i]


@wp.kernel
def square(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = x[i] * x[i]


@wp.kernel
def total(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    wp.atomic_add(out, 0, x[wp.tid()])


def new():
    return wp.zeros(2, dtype=float, requires_grad=True)


{definitions}


def run(start):
    x = wp.array(start, dtype=float, requires_grad=True)
    z = new()
    out = wp.zeros(1, dtype=float, requires_grad=True)
{body}
    with wp.Tape() as tape:
        wp.launch(double, dim=2, inputs=[x], outputs=[a])
        wp.launch(square, dim=2, inputs=[a], outputs=[z])
        wp.launch(double, dim=2, inputs=[z], outputs=[b])
        wp.launch(total, dim=2, inputs=[b], outputs=[out])
    tape.backward(out)
    return x.grad.numpy()


if __name__ == "__main__":
    print(run([0.4, 0.9]))
"""

#: Of each construct: what makes `a` and `b` one array, what makes them two, and the definitions that both use.
CONSTRUCTS: dict[str, tuple[str, str, str]] = {
    "dict union": (
        """d = {"a": new()} | {"c": 1}
a, b = d["a"], d["a"]""",
        """d = {"a": new()} | {"b": new()}
a, b = d["a"], d["b"]""",
        "",
    ),
    "dict ior": (
        """d = {}
d |= {"a": new()}
a, b = d["a"], d["a"]""",
        """d = {"a": new()}
d |= {"b": new()}
a, b = d["a"], d["b"]""",
        "",
    ),
    "dict fromkeys": (
        """d = dict.fromkeys(("a", "b"), new())
a, b = d["a"], d["b"]""",
        """d = {k: new() for k in ("a", "b")}
a, b = d["a"], d["b"]""",
        "",
    ),
    "defaultdict": (
        """d = collections.defaultdict(new)
a, b = d["k"], d["k"]""",
        """d = collections.defaultdict(new)
a, b = d["k"], d["l"]""",
        "",
    ),
    "defaultdict list": (
        """d = collections.defaultdict(list)
d["k"].append(new())
a, b = d["k"][0], d["k"][-1]""",
        """d = collections.defaultdict(list)
d["k"].append(new())
d["k"].append(new())
a, b = d["k"][0], d["k"][-1]""",
        "",
    ),
    "chain": (
        """q = new()
l = list(itertools.chain([q], [q]))
a, b = l""",
        """l = list(itertools.chain([new()], [new()]))
a, b = l""",
        "",
    ),
    "cycle": (
        """c = itertools.cycle([new(), new()])
a = next(c)
next(c)
b = next(c)""",
        """c = itertools.cycle([new(), new()])
a = next(c)
b = next(c)""",
        "",
    ),
    "repeat": (
        """a, b = itertools.repeat(new(), 2)""",
        """a, b = (new() for _ in itertools.repeat(None, 2))""",
        "",
    ),
    "pairwise": (
        """q = new()
(a, b), = itertools.pairwise([q, q])""",
        """(a, b), = itertools.pairwise([new(), new()])""",
        "",
    ),
    "islice": (
        """q = new()
a, b = itertools.islice([q, q, q], 2)""",
        """a, b = itertools.islice([new(), new(), new()], 2)""",
        "",
    ),
    "product": (
        """q = new()
(a, _), (b, _) = itertools.product([q], [0, 1])""",
        """(_, a), (_, b) = itertools.product([0], [new(), new()])""",
        "",
    ),
    "reduce": (
        """q = new()
a = q
b = functools.reduce(lambda u, v: v, [new(), q])""",
        """q = new()
a = q
b = functools.reduce(lambda u, v: v, [q, new()])""",
        "",
    ),
    "attrgetter": (
        """n = types.SimpleNamespace(u=new(), v=new())
a, b = operator.attrgetter("u", "u")(n)""",
        """n = types.SimpleNamespace(u=new(), v=new())
a, b = operator.attrgetter("u", "v")(n)""",
        "",
    ),
    "itemgetter": (
        """a, b = operator.itemgetter(0, 0)([new(), new()])""",
        """a, b = operator.itemgetter(0, 1)([new(), new()])""",
        "",
    ),
    "copy copy": (
        """l = [new()]
m = copy.copy(l)
a, b = l[0], m[0]""",
        """l = [new(), new()]
m = copy.copy(l)
a, b = l[0], m[1]""",
        "",
    ),
    "copy obj": (
        """s1 = Box(new())
s2 = copy.copy(s1)
a, b = s1.v, s2.v""",
        """s1 = Box(new())
s2 = copy.copy(s1)
s2.v = new()
a, b = s1.v, s2.v""",
        """class Box:
    def __init__(self, v):
        self.v = v""",
    ),
    "replace": (
        """s1 = Box(new(), 1)
s2 = dataclasses.replace(s1, k=2)
a, b = s1.v, s2.v""",
        """s1 = Box(new(), 1)
s2 = dataclasses.replace(s1, v=new())
a, b = s1.v, s2.v""",
        """@dataclasses.dataclass
class Box:
    v: wp.array
    k: int""",
    ),
    "nt replace": (
        """s1 = Box(new(), 1)
s2 = s1._replace(k=2)
a, b = s1.v, s2.v""",
        """s1 = Box(new(), 1)
s2 = s1._replace(v=new())
a, b = s1.v, s2.v""",
        """class Box(NamedTuple):
    v: wp.array
    k: int""",
    ),
    "iter magic": (
        """s1 = Box([new()] * 2)
a, b = s1""",
        """s1 = Box([new(), new()])
a, b = s1""",
        """class Box:
    def __init__(self, d):
        self.d = d
    def __iter__(self):
        return iter(self.d)""",
    ),
    "iter yield": (
        """s1 = Box([new()] * 2)
a, b = s1""",
        """s1 = Box([new(), new()])
a, b = s1""",
        """class Box:
    def __init__(self, d):
        self.d = d
    def __iter__(self):
        for v in self.d:
            yield v""",
    ),
    "add magic": (
        """s1 = Box([new()]) + Box([new()])
a, b = s1.d[0], s1.d[0]""",
        """s1 = Box([new()]) + Box([new()])
a, b = s1.d[0], s1.d[1]""",
        """class Box:
    def __init__(self, d):
        self.d = d
    def __add__(self, o):
        return Box(self.d + o.d)""",
    ),
    "lru cache": (
        """a, b = buf("u"), buf("u")""",
        """a, b = buf("u"), buf("w")""",
        """@functools.lru_cache(maxsize=None)
def buf(name):
    return new()""",
    ),
    "generator pool": (
        """p = pool(1)
a = next(p)
b = next(p)""",
        """p = pool(2)
a = next(p)
b = next(p)""",
        """def pool(n):
    bufs = [new() for _ in range(n)]
    k = 0
    while True:
        yield bufs[k % n]
        k += 1""",
    ),
    "gen expr next": (
        """p = (q for q in [new()] * 2)
a, b = next(p), next(p)""",
        """p = (q for q in [new(), new()])
a, b = next(p), next(p)""",
        "",
    ),
    "iter next": (
        """p = iter([new()] * 2)
a, b = next(p), next(p)""",
        """p = iter([new(), new()])
a, b = next(p), next(p)""",
        "",
    ),
    "match lit": (
        """a = b = pick("u")""",
        """a, b = pick("u"), new()""",
        """def pick(kind):
    match kind:
        case "v":
            return None
        case "u":
            return new()
        case _:
            return None""",
    ),
    "match alias": (
        """q = new()
a, b = q, pick("v", q)""",
        """q = new()
a, b = q, pick("u", q)""",
        """def pick(kind, q):
    match kind:
        case "u":
            return new()
        case "v" | "w":
            return q""",
    ),
    "match class": (
        """q = new()
a, b = q, pick(Two(q))""",
        """q = new()
a, b = q, pick(One(q))""",
        """@dataclasses.dataclass
class One:
    v: wp.array
@dataclasses.dataclass
class Two:
    v: wp.array
def pick(s):
    match s:
        case One(v=v):
            return new()
        case Two(v):
            return v""",
    ),
    "enum iter": (
        """q = new()
d = {k: q for k in K}
a, b = d[K.A], d[K.B]""",
        """d = {k: new() for k in K}
a, b = d[K.A], d[K.B]""",
        """class K(enum.Enum):
    A = 1
    B = 2""",
    ),
    "enum member that is compared": (
        """q = new()
a, b = q, held(K.A, q)""",
        """q = new()
a, b = q, held(K.B, q)""",
        """class K(enum.IntEnum):
    A = 0
    B = 1
def held(k, q):
    for kind in [K.A]:
        if kind != k:
            continue
        return q
    return new()""",
    ),
    "records that a generator yields": (
        """m = Model()
s = m.state(Kind.STATE)
a, b = (m.u, s.get("u", m.u)) if "v" in s else (new(), new())""",
        """m = Model()
s = m.state(Kind.STATE)
a, b = (m.u, m.u) if "u" in s else (m.v, s.get("v", m.v))""",
        """class Kind(enum.IntEnum):
    MODEL = 0
    STATE = 1
@dataclasses.dataclass(frozen=True)
class Spec:
    kind: Kind = None
    row_width: int = 1
    def __post_init__(self):
        if self.row_width < 1:
            raise ValueError(self.row_width)
class Model:
    specs = {**{f"w{n}": Spec() for n in range(40)}, "v": Spec(Kind.STATE), "u": Spec(Kind.MODEL)}
    def __init__(self):
        for name in self.specs:
            setattr(self, name, new())
    def each(self):
        for name in dict.fromkeys(self.specs):
            spec = self.specs.get(name)
            if spec is not None:
                yield name, spec
    def state(self, kind):
        made = {}
        for name, spec in self.each():
            if (Kind.MODEL if spec.kind is None else spec.kind) != kind:
                continue
            made[name] = wp.clone(getattr(self, name))
        return made""",
    ),
    "enum member by another name": (
        """q = new()
a, b = q, (q if K.A == K.C else new())""",
        """q = new()
a, b = q, (q if K.A == K.B else new())""",
        """class K(enum.Enum):
    A = 1.5
    B = 2.5
    C = 1.5""",
    ),
    "enum member that is numbered": (
        """q = new()
a, b = q, (new() if K.A == K.B else q)""",
        """q = new()
a, b = q, (q if K.A == K.B else new())""",
        """class K(enum.Enum):
    A = enum.auto()
    B = enum.auto()""",
    ),
    "enum member among others": (
        """q = new()
a, b = q, (new() if K.A in (K.B, K.C) else q)""",
        """q = new()
a, b = q, (q if K.A in (K.B, K.C) else new())""",
        """class K(enum.Enum):
    A = 1
    B = 2
    C = 3""",
    ),
    "enum members in order": (
        """q = new()
a, b = q, (q if K.A < K.B else new())""",
        """q = new()
a, b = q, (q if K.A > K.B else new())""",
        """class K(enum.IntEnum):
    A = 1
    B = 2""",
    ),
    "enum member of another class": (
        """q = new()
a, b = q, (new() if K.A == M.A else q)""",
        """q = new()
a, b = q, (q if K.A == M.A else new())""",
        """class K(enum.Enum):
    A = 1
class M(enum.Enum):
    A = 1""",
    ),
    "enum number of another class": (
        """q = new()
a, b = q, (q if K.A == M.A else new())""",
        """q = new()
a, b = q, (new() if K.A == M.A else q)""",
        """class K(enum.IntEnum):
    A = 1
class M(enum.IntEnum):
    A = 1""",
    ),
    "enum member and its number": (
        """q = new()
a, b = q, (new() if K.A == 1 or M.A != 1 else q)""",
        """q = new()
a, b = q, (q if K.A == 1 or M.A != 1 else new())""",
        """class K(enum.Enum):
    A = 1
class M(enum.IntEnum):
    A = 1""",
    ),
    "enum member in a dict": (
        """q = new()
a, b = q, (q if K.A in {K.A: 0} and M.A in {1: 0} else new())""",
        """q = new()
a, b = q, (q if K.A in {1: 0} or K.B in {K.A: 0} else new())""",
        """class K(enum.Enum):
    A = 1
    B = 2
class M(enum.IntEnum):
    A = 1""",
    ),
    "enum member matched": (
        """q = new()
a, b = q, pick(K.B, q)""",
        """q = new()
a, b = q, pick(K.A, q)""",
        """class K(enum.Enum):
    A = 1
    B = 2
def pick(k, q):
    match k:
        case K.A:
            return new()
        case K.B:
            return q""",
    ),
    "objects that are compared": (
        """q = new()
s, t = Box(), Box()
a, b = q, (new() if s == t else q)""",
        """q = new()
s, t = Box(), Box()
a, b = q, (new() if s == s else q)""",
        """class Box:
    pass""",
    ),
    "objects with their own equality": (
        """q = new()
a, b = q, (q if Box(1) == Box(1) else new())""",
        """q = new()
a, b = q, (q if Box(1) == Box(2) else new())""",
        """class Box:
    def __init__(self, n):
        self.n = n
    def __eq__(self, other):
        return self.n == other.n""",
    ),
    "records of two classes": (
        """q = new()
a, b = q, (new() if Box(1) == Bin(1) else q)""",
        """q = new()
a, b = q, (q if Box(1) == Bin(1) else new())""",
        """@dataclasses.dataclass
class Box:
    n: int
@dataclasses.dataclass
class Bin:
    n: int""",
    ),
    "records that are compared": (
        """q = new()
a, b = q, (q if Box(1, 2) == Box(1, 3) else new())""",
        """q = new()
a, b = q, (q if Box(1, 2) == Box(2, 2) else new())""",
        """@dataclasses.dataclass(frozen=True)
class Box:
    n: int
    m: int = dataclasses.field(default=0, compare=False)""",
    ),
    "new magic": (
        """a, b = Box().v, Box().v""",
        """a, b = Box().v, new()""",
        """class Box:
    _one = None
    def __new__(cls):
        if cls._one is None:
            cls._one = super().__new__(cls)
            cls._one.v = new()
        return cls._one""",
    ),
    "filter": (
        """q = new()
a, b = filter(lambda v: v is not None, [q, None, q])""",
        """a, b = filter(lambda v: v is not None, [new(), None, new()])""",
        "",
    ),
    "sorted key": (
        """q = new()
(_, a), (_, b) = sorted([(2, q), (1, q)], key=lambda t: t[0])""",
        """(_, a), (_, b) = sorted([(2, new()), (1, new())], key=lambda t: t[0])""",
        "",
    ),
    "min key": (
        """l = [new(), new()]
a = min(enumerate(l), key=lambda t: t[0])[1]
b = l[0]""",
        """l = [new(), new()]
a = min(enumerate(l), key=lambda t: t[0])[1]
b = l[1]""",
        "",
    ),
    "format key": (
        """d = {"v%d" % i: new() for i in range(2)}
a, b = d["v{}".format(0)], d["v%d" % 0]""",
        """d = {"v%d" % i: new() for i in range(2)}
a, b = d["v{}".format(0)], d["v%d" % 1]""",
        "",
    ),
    "join key": (
        """d = {"_".join(["v", str(i)]): new() for i in range(2)}
a, b = d["v_0"], d["v_0"]""",
        """d = {"_".join(["v", str(i)]): new() for i in range(2)}
a, b = d["v_0"], d["v_1"]""",
        "",
    ),
    "np index": (
        """l = [new(), new()]
order = np.array([0, 0])
a, b = (l[i] for i in order)""",
        """l = [new(), new()]
order = np.array([0, 1])
a, b = (l[i] for i in order)""",
        "",
    ),
    "np arange": (
        """l = [new(), new()]
a, b = (l[int(i) // 2] for i in np.arange(2))""",
        """l = [new(), new()]
a, b = (l[int(i)] for i in np.arange(2))""",
        "",
    ),
    "del first": (
        """l = [new(), new()]
k = l[1]
del l[0]
a, b = l[0], k""",
        """l = [new(), new(), new()]
k = l[1]
del l[0]
a, b = l[1], k""",
        "",
    ),
    "chainmap": (
        """d = collections.ChainMap({"a": new()}, {"a": new()})
a, b = d["a"], d["a"]""",
        """d = collections.ChainMap({"a": new()}, {"b": new()})
a, b = d["a"], d["b"]""",
        "",
    ),
    "starmap": (
        """q = new()
a, b = itertools.starmap(lambda i, v: v, [(0, q), (1, q)])""",
        """a, b = itertools.starmap(lambda i, v: v, [(0, new()), (1, new())])""",
        "",
    ),
    "any guard": (
        """a = new()
b = a if any([False, True]) else new()""",
        """a = new()
b = a if all([False, True]) else new()""",
        "",
    ),
    "any in gen": (
        """q = new()
a, b = q, (q if any(k == 2 for k in (1, 2)) else new())""",
        """q = new()
a, b = q, (q if any(k == 3 for k in (1, 2)) else new())""",
        "",
    ),
    "str mult": (
        """l = [new(), new()]
a, b = l["01".find("0")], l[int("0")]""",
        """l = [new(), new()]
a, b = l["01".find("0")], l[int("1")]""",
        "",
    ),
    "sum lists": (
        """q = new()
a, b = sum([[q], [q]], [])""",
        """a, b = sum([[new()], [new()]], [])""",
        "",
    ),
    "partialmethod": (
        """s1 = Box()
a, b = s1.first(), s1.first()""",
        """s1 = Box()
a, b = s1.first(), s1.second()""",
        """class Box:
    def __init__(self):
        self.d = [new(), new()]
    def get(self, k):
        return self.d[k]
    first = functools.partialmethod(get, 0)
    second = functools.partialmethod(get, 1)""",
    ),
    "singledispatch": (
        """q = new()
a, b = q, pick(1, q)""",
        """q = new()
a, b = q, pick("x", q)""",
        """@functools.singledispatch
def pick(k, q):
    return q
@pick.register(str)
def _(k, q):
    return new()""",
    ),
    "decorated cache": (
        """a, b = buf("u"), buf("u")""",
        """a, b = buf("u"), buf("w")""",
        """def remember(fn):
    table = {}
    @functools.wraps(fn)
    def inner(k):
        if k not in table:
            table[k] = fn(k)
        return table[k]
    return inner
@remember
def buf(name):
    return new()""",
    ),
    "nonlocal toggle": (
        """nxt = toggle()
a = nxt()
nxt()
b = nxt()""",
        """nxt = toggle()
a = nxt()
b = nxt()""",
        """def toggle():
    u, v = new(), new()
    def nxt():
        nonlocal u, v
        u, v = v, u
        return u
    return nxt""",
    ),
    "row views": (
        """q = wp.zeros((2, 2), dtype=float, requires_grad=True)
a, b = q[0], q[0]""",
        """q = wp.zeros((2, 2), dtype=float, requires_grad=True)
a, b = q[0], q[1]""",
        "",
    ),
    "ordered": (
        """d = collections.OrderedDict(a=new())
a = d["a"]
b = next(iter(d.values()))""",
        """d = collections.OrderedDict(a=new(), b=new())
a = d["a"]
b = list(d.values())[1]""",
        "",
    ),
}


def _overwrites(tmp_path: Path, body: str, definitions: str) -> int:
    text = PROGRAM.replace("{definitions}", definitions).replace("{body}", textwrap.indent(body, "    "))
    (tmp_path / "program.py").write_text(text)
    project = Project(fast.read)
    module = project.load(tmp_path / "program.py")
    assert isinstance(module, Module), module
    facts = list(analyse(project, module, partial(kernels.effects, project)))
    return sum(fact.kind == "overwritten-before-sweep" for fact in facts)


@pytest.mark.parametrize("construct", CONSTRUCTS)
def test_one_array(tmp_path: Path, construct: str) -> None:
    one, _, definitions = CONSTRUCTS[construct]
    assert _overwrites(tmp_path, one, definitions) == 1


@pytest.mark.parametrize("construct", CONSTRUCTS)
def test_two_arrays(tmp_path: Path, construct: str) -> None:
    _, two, definitions = CONSTRUCTS[construct]
    assert _overwrites(tmp_path, two, definitions) == 0
