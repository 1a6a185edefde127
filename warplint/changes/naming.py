"""What names in a project lead to: from a text to the funcs and factories that its words can stand for."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import cached_property

from warplint.changes.pieces import DEFINED
from warplint.ir import syntax as ir
from warplint.kernels.options import decorated_regions
from warplint.source.bindings import binders
from warplint.source.project import ALWAYS_EXTERNAL, Module
from warplint.source.regions import Region
from warplint.source.visible import Visible

#: The number of a module (``source/visible.py``) and a name of it.
Place = tuple[int, str]

WORD = re.compile(r"[^\W\d]\w*")
ALIAS = re.compile(r"\b(\w+)\s+as\s+(\w+)")
INNER_IMPORT = re.compile(r"\b(?:from|import)\b")
#: A decorator that makes a function belong to a func.
COMPANION = re.compile(r"\bfunc_(?:grad|replay)\b")

_DOTTED = re.compile(r"\.\s*([^\W\d]\w*)")
_FROM = re.compile(r"\s*from\s*(\.|[^\W\d]\w*)")


class Index:
    """The funcs and factories of a project by the number of their module and their name, and what leads to them."""

    def __init__(self, visible: Visible) -> None:
        self.visible = visible
        self.callable: dict[Place, list[tuple[Module, Region]]] = {}
        #: The words that a name of a module stands for: of that module, and of others.
        self.renamed: dict[Place, set[str]] = {}
        self.imported: dict[Place, set[str]] = {}
        #: The numbers of the modules that bind a name, as bits.
        self.binding: dict[str, int] = {}
        self._starred: set[int] = set()
        for number, module in enumerate(visible.modules):
            self._add(number, module)

    def _add(self, number: int, module: Module) -> None:
        for region in module.regions:
            if region.kind == "import":
                text = module.region_text(region)
                source = _FROM.match(text)
                if source is None or source[1] in ALWAYS_EXTERNAL:
                    continue  # what a module holds is found behind dots
                if "*" in text:
                    self._starred.add(number)
                for word in WORD.findall(text):
                    self._bind(number, word, self.imported, {word})
                for original, alias in ALIAS.findall(text) if " as " in text else ():
                    self._bind(number, alias, self.imported, {original})
            elif region.kind == "assign":
                words = set(WORD.findall(module.region_text(region)))
                for name in region.names:
                    self._bind(number, name, self.renamed, words)
            elif region.kind == "other":
                for name, binder in binders(module.read(region)):
                    lines = module.lines[binder.span.line - 1 : binder.span.end_line]
                    words = {word for line in lines for word in WORD.findall(line)}
                    self._bind(number, name, self.renamed, words)
                    if isinstance(binder, (ir.Import, ir.ImportFrom)):
                        self._bind(number, name, self.imported, words)
        for region in decorated_regions(module):
            text = module.region_text(region)
            if is_kernel(text) and region.kind == "def":
                continue
            # What is inside is found through the region around it.
            names = set(region.names) or defined(module, region)
            if COMPANION.search(text):
                names |= set(WORD.findall(text[: text.find("def ")]))
            for name in names:
                self.callable.setdefault((number, name), []).append((module, region))
                self.binding[name] = self.binding.get(name, 0) | 1 << number

    def _bind(self, number: int, name: str, kind: dict[Place, set[str]], words: set[str]) -> None:
        kind.setdefault((number, name), set()).update(words)
        self.binding[name] = self.binding.get(name, 0) | 1 << number

    def words(self, number: int, text: str) -> tuple[set[str], set[str]]:
        """The words of a text in a module: all, and those that can stand for names of other modules."""
        words = set(WORD.findall(text))
        if number in self._starred or INNER_IMPORT.search(text):
            return words, words
        return words, set(_DOTTED.findall(text))


class Walk:
    """Goes from texts to all that their names lead to. What a name leads to is the same whoever asks, so that each is
    followed once, and all walks together take as long as there are names."""

    def __init__(self, index: Callable[[], Index]) -> None:
        self._made = index
        self._left: list[Place] = []
        # The modules in which a word has been met, as bits.
        self._modules: dict[str, int] = {}

    @cached_property
    def _index(self) -> Index:
        return self._made()  # late: most changes lead nowhere

    def __bool__(self) -> bool:
        return bool(self._left)

    def start(self, module: Module, text: str) -> None:
        """Go on from what the words of a text in a module can stand for."""
        number = self._index.visible.number(module.path)
        if number is not None:
            self._meet(number, *self._index.words(number, text))

    def step(self) -> list[tuple[Module, Region]]:
        """The funcs and factories of one name; there is one left."""
        place = self._left.pop()
        self._meet(place[0], self._index.renamed.get(place, ()), self._index.imported.get(place, ()))
        return self._index.callable.get(place, [])

    def _meet(self, number: int, words: Iterable[str], elsewhere: Iterable[str]) -> None:
        """Names of a module, and names of others that it can see."""
        binding, met = self._index.binding, self._modules
        own = 1 << number
        for word in words:
            if binding.get(word, 0) & ~met.get(word, 0) & own:
                met[word] = met.get(word, 0) | own
                self._left.append((number, word))
        others = self._index.visible.seen_by(number) & ~own
        for word in elsewhere:
            new = binding.get(word, 0) & ~met.get(word, 0) & others
            if new:
                met[word] = met.get(word, 0) | new
            while new:
                low = new & -new
                self._left.append((low.bit_length() - 1, word))
                new ^= low


def is_kernel(text: str) -> bool:
    """Whether a decorated region is one kernel, without another function in it."""
    return "kernel" in text[: text.find("def ")] and len(DEFINED.findall(text)) == 1 and "lambda" not in text


def is_factory(module: Module, region: Region) -> bool:
    """Whether kernels or funcs are made in a decorated region whenever a function around them is called."""
    if region.kind == "def" and len(DEFINED.findall(module.region_text(region))) == 1:
        return False
    return not module.read(region) or any(
        definition.node.decorators and any(isinstance(outer, ir.FunctionDef) for outer in definition.scope)
        for definition in module.within(region)
    )


def class_level(module: Module, region: Region) -> str:
    """The text of a class without the bodies of its methods."""
    key = (class_level, region.line)
    known = module.kept.get(key)
    if not isinstance(known, str):
        lines = module.lines[region.line - 1 : region.end_line]
        for definition in module.within(region):
            node = definition.node
            first = node.body[0].span.line if node.body else node.span.end_line
            if isinstance(node, ir.FunctionDef) and first > node.name_span.end_line:
                for line in range(first, node.span.end_line + 1):
                    lines[line - region.line] = ""
        known = module.kept[key] = "\n".join(lines)
    return known


def mentioned(word: str, text: str) -> bool:
    """Whether a word stands in a text."""
    return word in text and re.search(rf"\b{re.escape(word)}\b", text) is not None


def defined(module: Module, region: Region) -> set[str]:
    """The names of a region, and of all definitions in it."""
    return {*region.names, *DEFINED.findall(module.region_text(region))}
