"""What a script of the probe is made of, and what its parts know of each other."""

from __future__ import annotations

import abc
import re
from collections.abc import Mapping
from dataclasses import field

from warplint.ir import syntax as ir
from warplint.ir.programs import DefinitionRef
from warplint.ir.spans import Span
from warplint.probe.imports import Imports
from warplint.probe.rewrite import WARP
from warplint.records import dataclass
from warplint.source.project import UNKNOWN, Definition, Module, Project, Scope


class Refused(Exception):
    """The slice would have to execute something that it may not; the message says what, as a clause."""


class Native(Refused):
    """The slice would hold native code."""


@dataclass(frozen=True, slots=True)
class Text:
    """A closure variable that the script already has under this text; and what it is, where that is known apart from
    the script (see ``folding``)."""

    text: str
    meaning: object = UNKNOWN
    #: Whether it is something in any case, whatever it is: a definition, a tuple.
    present: bool = False


#: Names of numbers that say how many there are.
COUNTS = re.compile(r"(?:^|_)(?:n|num|count|size|dim|max|len)")
#: How deep factories may call factories.
DEEPEST = 6


@dataclass
class Item:
    """One definition or constant of the script."""

    name: str
    text: str = ""
    twin: str = ""
    done: bool = False


@dataclass(frozen=True)
class Place:
    """Where an expression stands: its module, the scope around it, and values known for the scope's variables."""

    module: Module
    scope: Scope
    closure: Mapping[str, object] = field(default_factory=dict)


class Script(abc.ABC):
    """The definitions and constants of a script in the order that they need, and how others are added."""

    def __init__(self, project: Project, imports: Imports | None = None, widens: bool = False) -> None:
        self._project = project
        # what may be imported from the project and elsewhere; None: nothing
        self._imports = imports
        # whether numbers of half precision are of single precision in the script; not where some may be imported
        self._widens = widens and imports is None
        self._items: dict[object, Item] = {}
        self._order: list[Item] = []
        self._taken: set[str] = {WARP}
        self._depth = 0
        # values of parameters of factories, by the factory's place and the parameter's name
        self._wishes: dict[tuple[Span, str], bool | int | str] = {}
        # what the script has that the source does not say: values of parameters of factories (some of them guesses that
        # the flagged place does not ask for), and what stands for native snippets
        self._assumed: dict[str, str] = {}
        self._guessed: set[str] = set()
        self._bounding: set[tuple[Span, str]] = set()
        self._stand_ins: dict[str, str] = {}

    @abc.abstractmethod
    def add(self, ref: DefinitionRef) -> str:
        """Puts a definition into the script; returns its name there. Raises Refused."""

    @abc.abstractmethod
    def _definition(self, definition: Definition, closure: Mapping[str, object]) -> str: ...

    @abc.abstractmethod
    def _enum(self, node: ir.ClassDef, place: Place, name: str, counting: bool = False) -> str: ...

    @abc.abstractmethod
    def _kind(self, definition: Definition) -> str: ...

    @abc.abstractmethod
    def _rewritten(self, expr: ir.Expr, place: Place) -> str:
        """What to write for an expression that Python runs. Raises Refused."""

    def _known(self, name: str, value: object) -> str:
        """A closure variable whose value the analysis knows."""
        if isinstance(value, Text):
            return value.text
        if isinstance(value, DefinitionRef):
            return self.add(value)
        if not isinstance(value, (int, float, bool, str, tuple)):
            raise Refused(f"the value of the closure variable `{name}` is not known")
        key = ("closure", name, repr(value))
        item = self._items.get(key)
        if item is None:
            item = self._items[key] = Item(self._fresh(name))
            item.text = f"{item.name} = {value!r}"
            self._order.append(item)
        return item.name

    def _element(self, name: str, text: str, element: int) -> str:
        """A name for one element of what the script has under ``text``: Warp calls funcs by name alone."""
        key = ("element", text, element)
        item = self._items.get(key)
        if item is None:
            item = self._items[key] = Item(self._fresh(name))
            item.text = f"{item.name} = ({text})[{element}]"
            self._order.append(item)
        return item.name

    def _alias(self, name: str) -> str:
        """Another name for ``name``, for functions in which a local hides it."""
        key = ("alias", name)
        item = self._items.get(key)
        if item is None:
            item = self._items[key] = Item(self._fresh(f"{name}_outer"))
            item.text = f"{item.name} = {name}"
            self._order.append(item)
        return item.name

    def _fresh(self, name: str) -> str:
        candidate, number = name, 2
        while candidate in self._taken:
            candidate, number = f"{name}_{number}", number + 1
        self._taken.add(candidate)
        return candidate
