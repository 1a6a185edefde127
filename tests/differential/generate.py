"""Generates random kernels in double precision: inputs ``x``, ``w`` and ``c`` (changed in place), output ``o``."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

HEADER = '''"""Random kernels."""

import warp as wp

D = wp.float64
V = wp.vec3d
'''

SIGNATURE = (
    "(x: wp.array(dtype=wp.float64), w: wp.array(dtype=wp.float64), c: wp.array(dtype=wp.float64), n: int, "
    "o: wp.array(dtype=wp.float64)):"
)


@dataclass
class _Scope:
    scalars: list[str] = field(default_factory=list)
    vectors: list[str] = field(default_factory=list)
    index: str | None = None
    dynamic: bool = False

    def copy(self) -> _Scope:
        return _Scope(list(self.scalars), list(self.vectors), self.index, self.dynamic)


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
        for position, vector in enumerate(scope.vectors[:2]):
            outputs.append(f"o[{4 + position}] = {vector}[0] + D(0.5) * {vector}[1] - {vector}[2]")
        body = "\n".join(f"    {line}" for line in [*lines, *outputs])
        return f"@wp.kernel\ndef {name}{SIGNATURE}\n{body}\n"

    # --- statements ---

    def _chance(self, probability: float) -> bool:
        return self._random.random() < probability

    def _statement(self, scope: _Scope, depth: int) -> list[str]:
        choices = ["scalar", "update", "augment", "vector", "component", "array", "output"]
        if depth > 0:
            choices += ["if", "static", "dynamic", "dynamic", "while"]
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
        ]
        return [self._random.choice(forms)]

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
