"""Generates random kernels in double precision: inputs ``x``, ``w`` and ``c`` (changed in place), output ``o``."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

HEADER = '''"""Random kernels."""

import warp as wp

D = wp.float64
V = wp.vec3d


@wp.struct
class S:
    a: wp.float64
    v: wp.vec3d


@wp.func
def f_mix(a: wp.float64, b: wp.float64):
    return a * b + D(0.5) * a


@wp.func
def f_square(t: wp.array(dtype=wp.float64), i: int):
    return t[i] * t[i]


@wp.func
def f_double(t: wp.array(dtype=wp.float64), i: int):
    return D(2.0) * t[i]


@wp.func
def f_scale(v: wp.vec3d, s: wp.float64):
    return v * s


@wp.func
def f_sum(t: wp.array(dtype=wp.float64), n: int):
    s = D(0.2) + D(0.0)
    for i in range(n):
        s += t[i]
    return s
'''

SIGNATURE = (
    "(x: wp.array(dtype=wp.float64), w: wp.array(dtype=wp.float64), c: wp.array(dtype=wp.float64), n: int, "
    "o: wp.array(dtype=wp.float64)):"
)


@dataclass
class _Scope:
    scalars: list[str] = field(default_factory=list)
    vectors: list[str] = field(default_factory=list)
    structs: list[str] = field(default_factory=list)
    matrices: list[str] = field(default_factory=list)
    quaternions: list[str] = field(default_factory=list)
    index: str | None = None
    dynamic: bool = False

    def copy(self) -> _Scope:
        return _Scope(
            list(self.scalars),
            list(self.vectors),
            list(self.structs),
            list(self.matrices),
            list(self.quaternions),
            self.index,
            self.dynamic,
        )


class Generator:
    """Writes the source of one kernel after another from a seed."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._count = 0

    def kernel(self, name: str) -> str:
        """The source of one kernel."""
        self._count = 0
        scope = _Scope()
        # a sum of literals is no compile-time constant, which a dynamic loop may not change
        lines = ["s0 = D(0.3) + D(0.0)" if self._chance(0.5) else "s0 = x[0] * D(1.0)"]
        scope.scalars.append("s0")
        for _ in range(self._random.randint(2, 5)):
            lines += self._statement(scope, 2)
        outputs = [f"o[{position}] = {scalar}" for position, scalar in enumerate(scope.scalars[:4])]
        outputs += [f"o[6] += {struct}.a + {struct}.v[1]" for struct in scope.structs[:1]]
        outputs += [f"o[6] += {matrix}[0, 1] - D(0.6) * {matrix}[1, 1]" for matrix in scope.matrices[:1]]
        outputs += [f"o[7] += {quaternion}[0] - D(0.6) * {quaternion}[3]" for quaternion in scope.quaternions[:1]]
        for position, vector in enumerate(scope.vectors[:2]):
            outputs.append(f"o[{4 + position}] = {vector}[0] + D(0.5) * {vector}[1] - {vector}[2]")
        body = "\n".join(f"    {line}" for line in [*lines, *outputs])
        return f"@wp.kernel\ndef {name}{SIGNATURE}\n{body}\n"

    # --- statements ---

    def _chance(self, probability: float) -> bool:
        return self._random.random() < probability

    def _statement(self, scope: _Scope, depth: int) -> list[str]:
        choices = ["scalar", "update", "augment", "vector", "component", "array", "output"]
        choices += ["call", self._random.choice(["struct", "matrix", "quaternion"])]
        if depth > 0:
            choices += ["if", "static", "dynamic", "dynamic", "while", "counted"]
        kind = self._random.choice(choices)
        return getattr(self, f"_{kind}")(scope, depth)  # type: ignore[no-any-return]

    def _name(self, prefix: str) -> str:
        self._count += 1
        return f"{prefix}{self._count}"

    def _block(self, scope: _Scope, depth: int) -> list[str]:
        inner = scope.copy()
        lines = []
        for _ in range(self._random.randint(1, 2)):
            lines += self._statement(inner, depth - 1)
        if scope.dynamic and self._chance(0.12):
            jump = self._random.choice(["break", "continue"])
            condition = f"x[{scope.index}] > D(0.7)" if self._chance(0.7) else f"{scope.index} == 1"
            at = self._random.choice([0, len(lines)])
            while at < len(lines) and lines[at].startswith((" ", "else")):
                at += 1
            lines[at:at] = [f"if {condition}:", f"    {jump}"]
            if at == len(lines) - 2:
                lines += self._augment(scope, depth)
        return [f"    {line}" for line in lines]

    def _scalar(self, scope: _Scope, depth: int) -> list[str]:
        name = self._name("s")
        line = f"{name} = {self._expr(scope)}"
        scope.scalars.append(name)
        return [line]

    def _update(self, scope: _Scope, depth: int) -> list[str]:
        target = self._random.choice(scope.scalars)
        other = self._atom(scope)
        if other == target:
            other = "w[1]"
        forms = [
            f"{target} = {target} + {self._expr(scope)}",
            f"{target} = {target} * D(0.5) + {self._expr(scope)}",
            f"{target} = {self._expr(scope)}",
            f"{target} = wp.max({target}, {other})",
            f"{target} = wp.where({self._atom(scope)} > D(0.4), {other}, {target})",
        ]
        return [self._random.choice(forms)]

    def _augment(self, scope: _Scope, depth: int) -> list[str]:
        target = self._random.choice(scope.scalars)
        operator = self._random.choice(["+=", "+=", "-=", "*="])
        return [f"{target} {operator} {self._expr(scope)}"]

    def _vector(self, scope: _Scope, depth: int) -> list[str]:
        name = self._name("v")
        parts = [self._atom(scope) if self._chance(0.6) else "D(0.5)" for _ in range(3)]
        line = f"{name} = V()" if self._chance(0.15) else f"{name} = V({', '.join(parts)})"
        scope.vectors.append(name)
        return [line]

    def _component(self, scope: _Scope, depth: int) -> list[str]:
        if not scope.vectors:
            return self._vector(scope, depth)
        target = self._random.choice(scope.vectors)
        component = self._random.choice(["[0]", "[1]", "[2]", ".x", ".y"])
        operator = self._random.choice(["=", "=", "=", "+=" if component.startswith("[") else "=", "*="])
        return [f"{target}{component} {operator} {self._expr(scope)}"]

    def _array(self, scope: _Scope, depth: int) -> list[str]:
        place = scope.index or str(self._random.randint(0, 2))
        forms = [
            f"c[{place}] *= {self._atom(scope)}",
            f"c[{place}] *= D(0.5)",
            f"c[{place}] += {self._expr(scope)}",
            f"c[{place}] = {self._expr(scope)}",
            f"c[{place}] = c[{place}] * D(0.5) + {self._atom(scope)}",
            f"c[{place}] = c[{place}] * {self._atom(scope)}",
        ]
        return [self._random.choice(forms)]

    def _call(self, scope: _Scope, depth: int) -> list[str]:
        place = scope.index or str(self._random.randint(0, 2))
        name = self._name("s")
        forms = [
            f"f_mix({self._atom(scope)}, {self._atom(scope)})",
            f"f_square({self._random.choice('xwcc')}, {place})",
            f"f_double({self._random.choice('xwcc')}, {place})",
            f"f_sum({self._random.choice('xwcc')}, n) * {self._atom(scope)}",
        ]
        if scope.vectors:
            vector = self._random.choice(scope.vectors)
            forms.append(f"f_scale({vector}, {self._atom(scope)})[1]")
        line = f"{name} = {self._random.choice(forms)}"
        scope.scalars.append(name)
        return [line]

    def _struct(self, scope: _Scope, depth: int) -> list[str]:
        if scope.structs and self._chance(0.7):
            name = self._random.choice(scope.structs)
            forms = [
                f"{name}.a = {self._expr(scope)}",
                f"{name}.a += {self._expr(scope)}",
                f"{name}.a *= {self._atom(scope)}",
                f"{name}.v = V({self._atom(scope)}, D(0.5), {self._atom(scope)})",
            ]
            if self._chance(0.3):
                forms = [
                    f"{name}.v[{self._random.randint(0, 2)}] {self._random.choice(['=', '+='])} {self._atom(scope)}"
                ]
            return [self._random.choice(forms)]
        name = self._name("t")
        lines = [
            f"{name} = S()",
            f"{name}.a = {self._atom(scope)}",
            f"{name}.v = V({self._atom(scope)}, {self._atom(scope)}, D(0.5))",
        ]
        scope.structs.append(name)
        return lines

    def _matrix(self, scope: _Scope, depth: int) -> list[str]:
        if scope.matrices and self._chance(0.5):
            name = self._random.choice(scope.matrices)
            place = f"[{self._random.randint(0, 1)}, {self._random.randint(0, 1)}]"
            return [f"{name}{place} {self._random.choice(['=', '+=', '+='])} {self._atom(scope)}"]
        name = self._name("m")
        parts = [self._atom(scope) if self._chance(0.6) else "D(0.5)" for _ in range(4)]
        empty = self._chance(0.3)
        product = scope.matrices and self._chance(0.5)
        line = f"{name} = wp.mat22d()" if empty else f"{name} = wp.mat22d({', '.join(parts)})"
        if product:
            line = f"{name} = {self._random.choice(scope.matrices)} * {self._random.choice(scope.matrices)}"
        scope.matrices.append(name)
        return [line]

    def _quaternion(self, scope: _Scope, depth: int) -> list[str]:
        if scope.quaternions and scope.vectors and self._chance(0.6):
            rotation, turned = self._random.choice(scope.quaternions), self._random.choice(scope.vectors)
            vector = self._name("v")
            line = f"{vector} = wp.quat_rotate({rotation}, {turned})"
            scope.vectors.append(vector)
            return [line]
        name = self._name("q")
        line = f"{name} = wp.quatd({', '.join(self._atom(scope) for _ in range(3))}, D(0.6))"
        scope.quaternions.append(name)
        return [line]

    def _counted(self, scope: _Scope, depth: int) -> list[str]:
        """A loop with an index that is counted by hand."""
        counter = self._name("k")
        inner = scope.copy()
        inner.index = counter
        inner.dynamic = True
        # only one array is read at the counter, and nothing is stored there: the adjoints go past it
        work = f"{self._random.choice(scope.scalars)} += x[{counter}] * {self._random.choice(['D(0.7)', 'w[0]'])}"
        if self._chance(0.5):
            return [f"{counter} = int(0)", f"while {counter} < n:", f"    {work}", f"    {counter} += 1"]
        loop = self._name("i")
        work = work.replace("w[0]", f"w[{loop}]")
        body = [work, f"{counter} += 1"] if self._chance(0.5) else [f"{counter} += 1", work]
        return [f"{counter} = int(0)", f"for {loop} in range(n):", *(f"    {line}" for line in body)]

    def _output(self, scope: _Scope, depth: int) -> list[str]:
        return [f"o[{self._random.randint(6, 7)}] += {self._expr(scope)}"]

    def _if(self, scope: _Scope, depth: int) -> list[str]:
        lines = [
            f"if {self._atom(scope)} + D(0.3) * x[3] > D({self._random.choice(['0.3', '0.5', '0.8'])}):",
            *self._block(scope, depth),
        ]
        if self._chance(0.4):
            lines += ["else:", *self._block(scope, depth)]
        return lines

    def _static(self, scope: _Scope, depth: int) -> list[str]:
        inner = scope.copy()
        inner.index = self._name("i")
        return [f"for {inner.index} in range(3):", *self._block(inner, depth)]

    def _dynamic(self, scope: _Scope, depth: int) -> list[str]:
        inner = scope.copy()
        inner.index = self._name("i")
        inner.dynamic = True
        return [f"for {inner.index} in range(n):", *self._block(inner, depth)]

    def _while(self, scope: _Scope, depth: int) -> list[str]:
        counter = self._name("k")
        inner = scope.copy()
        inner.index = self._name("j")
        inner.dynamic = True
        return [
            f"{counter} = int(0)",
            f"while {counter} < n:",
            f"    {inner.index} = {counter}",
            f"    {counter} += 1",
            *self._block(inner, depth),
        ]

    # --- expressions ---

    def _atom(self, scope: _Scope) -> str:
        place = scope.index if scope.index and self._chance(0.7) else str(self._random.randint(0, 2))
        choices = [f"x[{place}]", f"w[{place}]", self._random.choice(scope.scalars)]
        if self._chance(0.3):
            choices.append(f"c[{place}]")
        if scope.vectors:
            choices.append(f"{self._random.choice(scope.vectors)}[{self._random.randint(0, 2)}]")
        if scope.structs and self._chance(0.6):
            struct = self._random.choice(scope.structs)
            choices.append(self._random.choice([f"{struct}.a", f"{struct}.v[{self._random.randint(0, 2)}]"]))
        if scope.matrices and self._chance(0.6):
            choices.append(f"{self._random.choice(scope.matrices)}[{self._random.randint(0, 1)}, 1]")
        if scope.quaternions and self._chance(0.4):
            choices.append(f"{self._random.choice(scope.quaternions)}[{self._random.randint(0, 3)}]")
        return self._random.choice(choices)

    def _expr(self, scope: _Scope) -> str:
        forms = [
            # no two coefficients that cancel: what has no gradient shows no wrong one
            "D(1.1) * {a}",
            "{a} + D(0.9) * {b}",
            "D(0.8) * {a} - D(0.4) * {b}",
            "{a} * D(0.7)",
            "{a} * {b}",
            "wp.sin({a})",
            "{a} * {b} + {c}",
            "{a} / (D(2.0) + {b} * {b})",
        ]
        if scope.vectors and self._chance(0.3):
            vector = self._random.choice(scope.vectors)
            return (
                f"wp.dot({vector}, {vector})"
                if self._chance(0.5)
                else f"wp.length({vector} + V(D(1.0), D(0.0), D(0.0)))"
            )
        atoms = {name: self._atom(scope) for name in "abc"}
        return self._random.choice(forms).format(**atoms)


def source(seed: int, count: int) -> str:
    """A module of ``count`` random kernels ``k0``, ``k1``, ..."""
    generator = Generator(seed)
    return HEADER + "\n\n" + "\n\n".join(generator.kernel(f"k{index}") for index in range(count))
