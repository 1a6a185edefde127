"""Abstract values of host code.

Python's own ``int``, ``float``, ``bool``, ``str``, ``bytes``, ``None``, ``tuple`` (of values) and ``slice`` stand for
themselves. Everything else is one of the classes below. Objects have identity: two names for one array are one
``ArrayValue``, two views of one allocation share one ``Storage``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from typing import TYPE_CHECKING, Any, Union

from warplint.ir import syntax as ir
from warplint.ir.programs import DefinitionRef
from warplint.ir.spans import Location
from warplint.records import dataclass
from warplint.source.project import Definition, Module

if TYPE_CHECKING:
    from warplint.tapes.frames import Frame

#: What an operation on an unknown value was, so that equal questions get equal answers.
Origin = tuple[object, ...]


class Unknown:
    """A value that cannot be known. It has identity: one unknown flag is true or false everywhere in one run.

    ``origin`` says how it was computed from other values, where that is known. ``hint`` is for people.
    """

    __slots__ = ("children", "hint", "origin", "sources")

    def __init__(self, hint: str = "", origin: Origin | None = None, sources: frozenset[Storage] = frozenset()) -> None:
        self.hint = hint
        self.origin = origin
        #: Arrays whose contents this host value was computed from.
        self.sources = sources
        self.children: dict[object, Value] = {}

    def __repr__(self) -> str:
        return f"Unknown({self.hint!r})"

    def child(self, key: object, hint: str = "") -> Value:
        """The value of an attribute, item or result of this unknown value; the same each time it is asked for."""
        found = self.children.get(key)
        if found is None:
            found = self.children[key] = Unknown(hint or self.hint, (key, self), self.sources)
        return found


@dataclass(eq=False, slots=True, repr=False)
class Storage:
    """One piece of device memory.

    ``kind``: ``allocation`` (made in the project, at ``site``), ``parameter`` (came in from outside), ``gradient``
    (of ``owner``). ``stack`` are the calls that led to the allocation, outermost first. ``retains``: stores do not zero
    its gradient (``retain_grad``). ``device`` is the name of the device, empty where it is not known.
    """

    number: int
    site: Location
    kind: str
    source: str
    name: str = ""
    stack: tuple[Location, ...] = ()
    definition: str = ""
    owner: Storage | None = None
    gradient: Storage | None = None
    like: int | None = None
    explicit: bool = False
    retains: bool = False
    device: str = ""
    #: How many of the calls in ``stack``, from the innermost, lie between the place that decides whether there is a
    #: gradient and the allocation.
    decided_above: int = 0
    values: tuple[float, ...] | None = None

    def __repr__(self) -> str:
        return f"Storage({self.number}, {self.name!r})"


@dataclass(eq=False, slots=True, repr=False)
class ArrayValue:
    """A ``wp.array`` object. ``requires_grad`` None is unknown. ``view`` is the index expression of a slice."""

    storage: Storage
    dtype: str | DefinitionRef | None
    shape: tuple[int | Unknown, ...] | None
    requires_grad: bool | None
    view: str = ""
    base: ArrayValue | None = None
    grad: ArrayValue | None = None
    # The unknown value whose truth decides the flag, if that is all that is unknown about it.
    flag: Unknown | None = None

    def __repr__(self) -> str:
        return f"ArrayValue({self.storage.number}{self.view}, {self.storage.name!r}, {self.requires_grad})"


@dataclass(eq=False, slots=True, repr=False)
class TensorValue:
    """A torch tensor that shares memory with an array."""

    array: ArrayValue


@dataclass(eq=False, slots=True, repr=False)
class ListValue:
    """A list, set, deque or iterator. ``open``: there may be more elements than these. ``limit`` is the ``maxlen`` of a
    deque. ``endless``: an iterator that never ends, of which these are the first; ``cyclic``: it gives them again.
    ``guessed``: it was repeated an unknown number of times, perhaps not as often as here."""

    items: list[Value]
    open: bool = False
    element: Unknown | None = None
    limit: int | None = None
    endless: bool = False
    cyclic: bool = False
    guessed: bool = False


@dataclass(eq=False, slots=True, repr=False)
class DictValue:
    """A dict with keys that are plain Python values (or identities of objects). ``factory`` makes what is missing."""

    entries: dict[Any, Value] = field(default_factory=dict)
    open: bool = False
    rest: Unknown | None = None
    factory: Value = None


@dataclass(eq=False, slots=True, repr=False)
class ModuleValue:
    module: Module


@dataclass(frozen=True, slots=True)
class ExternalValue:
    """Something outside the project, by its full dotted name."""

    name: str


@dataclass(eq=False, slots=True, repr=False)
class FunctionValue:
    """A function of the project; ``closure`` is the frame that it was defined in.

    ``results``: what a function that remembers its results has given so far, by its arguments; None for others.
    ``variants``: the functions that are registered for types of the first argument.
    """

    definition: Definition
    closure: Frame | None
    defaults: dict[str, Value] | None = None
    results: dict[object, Value] | None = None
    variants: list[tuple[Value, FunctionValue]] | None = None


@dataclass(eq=False, slots=True, repr=False)
class LambdaValue:
    """A lambda; ``defaults`` are the values of its parameters' defaults, from where it is made."""

    node: ir.Lambda
    frame: Frame
    defaults: dict[str, Value]


@dataclass(eq=False, slots=True, repr=False)
class KernelValue:
    """A ``@wp.kernel``; ``closure`` is the frame that it was defined in.

    ``backward``: whether it is compiled with an adjoint, if its decorator computes that; None where it does not.
    ``made``: a call of ``wp.kernel`` made it, and the function has no decorator.
    """

    definition: Definition
    closure: Frame | None
    backward: bool | None = None
    made: bool = False


@dataclass(eq=False, slots=True, repr=False)
class BoundMethod:
    """A function of the project with its first argument."""

    function: FunctionValue
    receiver: Value


@dataclass(eq=False, slots=True, repr=False)
class Method:
    """A method of a value that the model knows: ``array.zero_``, ``list.append``, ``tape.backward``."""

    receiver: Value
    name: str


@dataclass(eq=False, slots=True, repr=False)
class Partial:
    """``functools.partial``; ``method``: ``partialmethod``, which takes the object in front of these."""

    function: Value
    args: tuple[Value, ...]
    keywords: dict[str, Value]
    method: bool = False


@dataclass(eq=False, slots=True, repr=False)
class Builtin:
    """A function that the model implements in Python."""

    name: str
    call: Callable[..., Value]


@dataclass(eq=False, slots=True, repr=False)
class ClassValue:
    """A class of the project. ``bases`` that are unknown or external make it open: it may have more members."""

    definition: Definition
    bases: tuple[Value, ...]
    closure: Frame | None
    kind: str = "plain"  # plain | struct | dataclass | namedtuple | enum | tape
    attributes: dict[str, Value] = field(default_factory=dict)
    _lineage: tuple[ClassValue, ...] = ()
    #: The class of the project that this class is an object of.
    meta: ClassValue | None = None
    #: The names that the bodies of this class and of its project bases bind, once somebody has asked.
    bound: frozenset[str] | None = None

    def lineage(self) -> tuple[ClassValue, ...]:
        """This class and its project bases, in the order of attribute lookup.

        Python manual, "The Python 2.3 Method Resolution Order": a class comes before those that it derives from.
        """
        if not self._lineage:  # bases never change, and every lookup of a method asks
            bases = [base for base in self.bases if isinstance(base, ClassValue)]
            self._lineage = (self, *_merged([*(list(base.lineage()) for base in bases), bases]))
        return self._lineage

    @property
    def external_bases(self) -> tuple[str, ...]:
        """The names of bases outside the project; an unknown base is ``?``."""
        found: list[str] = []
        for base in self.bases:
            if isinstance(base, ExternalValue):
                found.append(base.name)
            elif isinstance(base, ClassValue):
                found.extend(base.external_bases)
            else:
                found.append("?")
        return tuple(name for name in found if name != "object")


def _merged(orders: list[list[ClassValue]]) -> list[ClassValue]:
    """The classes of several orders in one order that keeps to them all, as far as there is one."""
    merged: list[ClassValue] = []
    while orders := [order for order in orders if order]:
        behind = {id(cls) for order in orders for cls in order[1:]}
        first = next((order[0] for order in orders if id(order[0]) not in behind), orders[0][0])
        merged.append(first)
        orders = [[cls for cls in order if cls is not first] for order in orders]
    return merged


@dataclass(eq=False, slots=True, repr=False)
class Instance:
    """An object of a project class. ``contents``: what it holds, if its class derives from a container of Python's."""

    cls: ClassValue
    attributes: dict[str, Value] = field(default_factory=dict)
    number: int = 0
    contents: ListValue | DictValue | None = None

    @property
    def is_struct(self) -> bool:
        return self.cls.kind == "struct"


@dataclass(eq=False, slots=True, repr=False)
class Super:
    """``super()``: attributes of ``receiver`` looked up behind ``cls``."""

    cls: ClassValue
    receiver: Value


@dataclass(eq=False, slots=True, repr=False)
class TapeValue:
    """A ``wp.Tape``. ``number`` is its identity in the trace."""

    number: int


@dataclass(eq=False, slots=True, repr=False)
class OptimizerValue:
    """An optimizer over ``parameters``; ``torch`` ones read the gradients from the parameters themselves."""

    parameters: Value
    torch: bool


@dataclass(eq=False, slots=True, repr=False)
class CommandValue:
    """What ``wp.launch(record_cmd=True)`` returns."""

    launch: object


@dataclass(eq=False, slots=True, repr=False)
class ContextValue:
    """A context manager that does nothing which matters here; entering it gives ``result``.

    ``entered``: what a stack of contexts has to leave; None for anything else. ``captures``: what is launched in it is
    captured as a graph, which is the attribute ``graph`` of ``result``.
    """

    result: Value
    entered: list[object] | None = None
    captures: bool = False


@dataclass(eq=False, slots=True, repr=False)
class GeneratorContext:
    """A called function with ``@contextmanager``: its body runs around the body of the ``with`` statement."""

    definition: Definition
    frame: Frame
    site: Location


@dataclass(eq=False, slots=True, repr=False)
class GeneratorValue:
    """A called function that yields; ``left`` is what it still gives, None before anybody has taken anything.

    ``most``: no more than so many are taken. ``first``: they are counted from there, as ``enumerate`` does it.
    """

    definition: Definition
    frame: Frame
    site: Location
    left: ListValue | None = None
    most: int | None = None
    first: int | None = None


@dataclass(eq=False, slots=True, repr=False)
class RangeValue:
    """A ``range`` with known bounds; ``guessed`` when a bound is unknown and three rounds stand for it."""

    start: int
    stop: int
    step: int
    guessed: bool = False

    def numbers(self) -> range:
        return range(self.start, self.stop, self.step)


Value = Union[
    int,
    float,
    complex,
    bool,
    str,
    bytes,
    None,
    tuple[Any, ...],  # of values
    slice,
    Unknown,
    ArrayValue,
    TensorValue,
    ListValue,
    DictValue,
    ModuleValue,
    ExternalValue,
    FunctionValue,
    LambdaValue,
    KernelValue,
    BoundMethod,
    Method,
    Partial,
    Builtin,
    ClassValue,
    Instance,
    Super,
    TapeValue,
    OptimizerValue,
    CommandValue,
    ContextValue,
    GeneratorContext,
    GeneratorValue,
    RangeValue,
]

PLAIN = (int, float, complex, str, bytes, type(None))
_PLAIN_CLASSES = frozenset({*PLAIN, bool})


def is_plain(value: object) -> bool:
    """Whether a value stands for itself all through (numbers, strings, None and tuples of them)."""
    if value.__class__ in _PLAIN_CLASSES:
        return True
    if isinstance(value, tuple):
        return _PLAIN_CLASSES.issuperset(map(type, value)) or all(map(is_plain, value))
    return isinstance(value, PLAIN)


def is_key(value: Value) -> bool:
    """Whether a value can be a key of a known dict entry."""
    return is_plain(value) or (not isinstance(value, (Unknown, ListValue, DictValue, tuple, slice)))
