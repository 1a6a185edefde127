"""How large arrays have to be, from what bounds the indices that a kernel uses.

``Usage`` notes for each index what its largest value is made of: a constant, a thread's number, another array's shape,
a number that is drawn, sums and products of those. Here the terms are worked out for one input set.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from warplint.probe.worker.compat import types

if TYPE_CHECKING:
    from warplint.probe.worker.inputs import Profile
    from warplint.probe.worker.usage import Usage
    from warplint.probe.worker.uses import Path, Use

#: The largest value of an integer: ``("constant", n)``, ``("thread",)``, ``("shape", path, dimension)``, ``("drawn",
#: path)``, or an operation on two of those.
Top = tuple[Any, ...]

# Terms that grow deeper come from loops and say nothing.
_DEEPEST = 12
# Elements of one dimension, and of one array.
_LONGEST = 4096
_MOST = 300_000
#: Integers that divide each other often.
RATIOS = (1, 2, 3, 4, 6, 8, 12)
_OPERATIONS = ("+", "-", "*", "//", "%", "min", "max")


def combined(operation: str, one: Top | None, two: Top | None) -> Top | None:
    """The term for an operation on two integers; None where it says nothing."""
    if operation not in _OPERATIONS or one is None or two is None:
        return (one or two) if operation in ("-", "min", "%") else None
    depth = 1 + max(_depth(one), _depth(two))
    return (operation, one, two, depth) if depth <= _DEEPEST else None


def folded(top: Top | None) -> int | None:
    """The number that a term of constants is; None for any other term."""
    if top is None or top[0] in ("thread", "shape", "drawn"):
        return None
    if top[0] == "constant":
        return int(top[1])
    one, two = folded(top[1]), folded(top[2])
    if one is None or two is None:
        return None
    if top[0] in ("//", "%"):
        # only where rounding is the same everywhere
        return None if one < 0 or two <= 0 else one // two if top[0] == "//" else one % two
    return {"+": one + two, "-": one - two, "*": one * two, "min": min(one, two), "max": max(one, two)}[top[0]]


def _depth(top: Top) -> int:
    return int(top[3]) if len(top) == 4 else 0


class Extents:
    """The sizes of all arrays for one input set."""

    def __init__(self, usage: Usage, profile: Profile) -> None:
        self._usage = usage
        self._profile = profile
        deepest = max((_rank(kind) for kind in usage.types.values()), default=1)
        # One extent for all dimensions: the shape of one array bounds indices into others.
        self.base = (
            profile.extent if deepest < 3 else max(8 if deepest == 3 else 6, profile.extent * 2 // (deepest + 1))
        )
        drawn = (profile.threads, profile.extent, profile.limit, profile.count, profile.ratios, profile.ordered)
        self._sizes = usage.sizes.setdefault(drawn, {})
        #: In an ordered input set: the arrays whose elements say where plain stores go, numbered for each target.
        self.scattering: dict[Path, int] = {}
        if profile.ordered:
            for use in usage.uses.values():
                for number, source in enumerate(sorted(one for one in use.store_sources if one[-1] == "[]")):
                    self.scattering.setdefault(source, number)

    def follows(self, use: Use) -> bool:
        """Whether integers read elements that others say where to store to: only those stored before, if ordered."""
        targets = {path for path, _ in use.index_of}
        return bool(self.scattering) and any(
            source in self.scattering
            for target in targets
            for source in self._usage.uses.get(target, use).store_sources
        )

    def shape(self, path: Path, ndim: int) -> tuple[int, ...]:
        """The shape of the array at ``path``."""
        sizes = tuple(self.size(path, dimension) for dimension in range(ndim))
        return sizes if math.prod(sizes) <= _MOST else (self.base,) * ndim

    def size(self, path: Path, dimension: int) -> int:
        """One extent of the array at ``path``: more than any index that is known to be used there."""
        key = (path, dimension)
        if key not in self._sizes:
            self._sizes[key] = self.base  # while it is asked for
            use = self._usage.uses.get(path)
            tops = [top for where, top in use.tops if where == dimension] if use is not None else []
            reached = [value for top in tops if (value := self.top(top)) is not None]
            self._sizes[key] = min(_LONGEST, max([self.base, *(value + 1 for value in reached)]))
        return self._sizes[key]

    def top(self, top: Top) -> int | None:
        """What a term comes to."""
        kind = top[0]
        if kind == "constant":
            return int(top[1])
        if kind == "thread":
            return self._profile.threads - 1
        if kind == "shape":
            return self.size(top[1], top[2])
        if kind == "drawn":
            if top[1] in self.scattering:
                return (self.scattering[top[1]] + 1) * self.base
            return self._drawn(self._usage.uses.get(top[1]))
        one, two = self.top(top[1]), self.top(top[2])
        if one is None or two is None:
            return None
        if kind == "-":
            # what is taken away may be little, but a constant is what it is
            return one - two if top[2][0] == "constant" else one
        if kind == "//":
            return one // max(two, 1) if top[2][0] in ("constant", "shape") else one
        if kind == "%":
            return min(one, max(two - 1, 0))
        return {"+": one + two, "*": one * two, "min": min(one, two), "max": max(one, two)}[kind]

    def _drawn(self, use: Use | None) -> int | None:
        """The largest integer that is drawn for such a use (``Draw.integers``)."""
        if use is None:
            return self._profile.limit
        if self._profile.ratios and not (use.chained or use.offsets or use.begins is not None):
            return max(RATIOS)
        if use.chained or use.offsets or use.begins is not None:
            return self.base - 1
        if use.bound and not use.index_of:
            # counts that are larger than arrays are drawn on purpose, for kernels that see to that
            return min(self._profile.count + 1, self.base) * use.scale
        return self._profile.limit


def _rank(kind: Any, depth: int = 0) -> int:
    """The most dimensions of an array in ``kind``."""
    if types.is_array(kind):
        return max(int(kind.ndim), _rank(kind.dtype, depth + 1) if depth < 4 else 0)
    variables = getattr(kind, "vars", None)
    if isinstance(variables, dict) and depth < 4:
        return max((_rank(variable.type, depth + 1) for variable in variables.values()), default=1)
    return 1
