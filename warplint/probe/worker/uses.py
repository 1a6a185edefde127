"""What is known of one argument of a kernel, and of one value in its body (``usage`` finds it out)."""

from __future__ import annotations

from dataclasses import field, replace
from typing import Any

from warplint.probe.worker.extents import Top, combined
from warplint.records import dataclass

#: A path into the arguments: ``("x",)`` is a parameter, ``("s", "field")`` a struct's field, ``(..., "[]")`` elements.
Path = tuple[str, ...]

_LARGEST_SCALE = 256


@dataclass
class Use:
    """What happens to one argument, field or element."""

    loads: bool = False
    stores: bool = False
    atomics: bool = False
    sums: bool = False  # atomic operations on it add or subtract
    extremes: bool = False  # other atomic operations
    bound: bool = False  # limits a loop or is compared with an index
    offsets: bool = False  # neighbouring elements bound a loop
    chained: bool = False  # an element is an index into its own array: a list or a tree of parents
    bits: bool = False
    masks: set[int] = field(default_factory=set)  # constants that its bits are compared with
    divides: bool = False
    scales: set[int] = field(default_factory=set)  # constants that it is divided by
    subscripts: int = 0  # how many indices it takes where its type does not say so
    index_of: set[tuple[Path, int]] = field(default_factory=set)
    constants: set[float] = field(default_factory=set)
    above: set[Path] = field(default_factory=set)  # what this is compared with by order
    sides: set[int] = field(default_factory=set)  # integers on the other side of an order comparison with a constant
    handle: str | None = None
    packed: Any = None  # the func that makes the handle of these floats
    root: str | None = None  # the node that a query starts from: in a `mesh` or a `bvh`
    normalized: bool = False  # a rotation that the kernel brings to unit length
    tested: bool = False  # an array that may be left out: `if x:`
    begins: bool | None = None  # where segments begin (True) or end (False) whose other end is in another array
    # what the largest index in each dimension is made of (``extents``)
    tops: set[tuple[int, Top]] = field(default_factory=set)
    # dimensions in which an access takes the number of the thread, or another index; whether a built-in gets it all
    own: set[int] = field(default_factory=set)
    shared: set[int] = field(default_factory=set)
    handed: bool = False
    unthreaded: bool = False  # a plain store goes to the same element in all threads
    # sources of the indices that plain stores go to
    store_sources: set[Path] = field(default_factory=set)

    @property
    def scale(self) -> int:
        """What a number has to be a multiple of to leave something where it is divided."""
        return max((scale for scale in self.scales if scale <= _LARGEST_SCALE), default=1)

    @property
    def is_private(self) -> bool:
        """Whether each thread of a launch in one dimension keeps to elements of its own in this array."""
        return bool(self.own - self.shared) and not self.handed

    @property
    def accumulates(self) -> bool:
        """Whether an array only collects sums, so that what it holds before is no matter."""
        return self.sums and not (self.extremes or self.loads or self.stores)


@dataclass(frozen=True)
class Value:
    """What an expression is: an alias of part of an argument, and the arguments that flowed into it."""

    alias: Path | None = None
    consumed: int = 0  # how many dimensions of the aliased array were indexed away
    sources: frozenset[Path] = frozenset()
    thread: bool = False  # comes from wp.tid()
    top: Top | None = None  # what the largest value is made of
    own: bool = False  # the number of the thread itself
    varies: bool = False  # another number in each thread, without coming from the thread's

    @property
    def differs(self) -> bool:
        """Whether it may be another number in each thread."""
        return self.thread or self.varies or any(source[-1] == "[]" for source in self.sources)

    @property
    def is_uniform(self) -> bool:
        """Whether it is known to be the same number in all threads."""
        known = bool(self.sources) or (self.top is not None and self.top[0] == "constant")
        return known and not self.differs


NOTHING = Value()


def join(*values: Value) -> Value:
    """A value that any of ``values`` flowed into."""
    sources: frozenset[Path] = frozenset().union(*(value.sources for value in values)) if values else frozenset()
    thread, varies = (any(flags) for flags in ([one.thread for one in values], [one.varies for one in values]))
    return Value(sources=sources, thread=thread, varies=varies)


def merged(known: Value, value: Value) -> Value:
    """What a variable is that may be either."""
    if known == value:
        return known
    if known.alias is None and value.alias is not None and not known.sources and not known.differs:
        return value
    top = known.top if known.top == value.top else combined("max", known.top, value.top)
    return replace(join(known, value), top=top)
