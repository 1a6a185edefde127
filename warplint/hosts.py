"""Which host code runs just as it ran before: what came of its tapes need not be found again.

What the tape analysis finds in a file rests on the text of the modules that the file can reach by imports, and on the
effects of the kernels that it asked for: of a kernel it sees the head alone. Which modules those are is told from
words, and rather too many than too few: who imports a module names it, or lies in the package that it is. Effects are
computed again and compared, so that a change in a func of another module is seen where it makes a difference.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection
from functools import partial
from pathlib import Path

from warplint import kernels, tapes
from warplint.changes import Changes
from warplint.ir.effects import EffectSummary
from warplint.ir.facts import Fact
from warplint.ir.places import locations
from warplint.ir.runs import HostRun
from warplint.source.files import digest_of
from warplint.source.project import Definition, External, Module, Project
from warplint.source.visible import Visible

_DEFINED = re.compile(r"\b(?:def|class)\s+(\w+)")
_KERNEL = re.compile(r"@(?P<module>\w+)\.kernel\b(?:\([^()\n]*\))?[ \t]*\ndef ")
# Lines up to one that ends the parameters; what is behind a number sign says nothing of that.
_HEAD_ENDS = re.compile(r"(?:(?![^#\n]*\):[ \t]*(?:#|\n)).*\n)*.*\n")
_CALLED = re.compile(r"([^\W\d]\w*)\s*\(")


def head_of_kernel(text: str, called: Collection[str]) -> tuple[object, ...]:
    """What the tape analysis sees of a kernel, besides its effects: its head, and what is looked for in the text of
    files. ``called`` are the words before brackets in ``text``."""
    ends = _HEAD_ENDS.match(text)
    body = len(text) if ends is None else ends.end()
    return (text[:body], tuple(sorted(called)), *(line for line in text[body:].split("\n") if "range" in line))


class Sights:
    """What the host code of the files of a project can see.

    Made when these are loaded, and before any is analysed: imported files besides them are not looked at.
    """

    def __init__(self, project: Project, visible: Visible) -> None:
        self._project = project
        self._visible = visible
        self._faces: dict[int, bytes] = {}
        self._reaches: dict[int, bytes] = {}
        self._texts: dict[Path, bytes | None] = {}

    def key(self, module: Module) -> bytes:
        """The digest of what the host code of a file can see."""
        found = self._visible.places(module.path)
        if found not in self._reaches:
            self._reaches[found] = self._reach(found)
        asked = hashlib.sha256(repr(tapes.asked_for(module)).encode("utf-8", "surrogatepass"))
        asked.update(self._reaches[found])
        return asked.digest()

    def _reach(self, places: int) -> bytes:
        digest = hashlib.sha256()
        for place, module in enumerate(self._visible.modules):
            if places >> place & 1:
                if place not in self._faces:
                    self._faces[place] = digest_of(repr(_seen_of(module)))
                digest.update(str(module.path).encode("utf-8", "surrogatepass"))
                digest.update(self._faces[place])
        return digest.digest()

    def text(self, path: Path) -> bytes | None:
        """The digest of the text of a file, None where there is none."""
        if path not in self._texts:
            module = self._project.module(path)
            self._texts[path] = None if module is None else digest_of(module.text)
        return self._texts[path]


def _seen_of(module: Module) -> list[object]:
    """What the tape analysis sees of a module, besides the effects of its kernels."""
    # These are told from the text of the whole file.
    whole = (sorted(module.walrus), sorted(module.rebound), "Tape" in module.text, "yield" in module.text)
    seen: list[object] = [whole]
    for region in module.regions:
        text = module.region_text(region)
        if region.kind == "def" and _is_kernel(module, text):
            seen.append(head_of_kernel(text, set(_CALLED.findall(text))))
        else:
            seen.append(text)
    return seen


def _is_kernel(module: Module, text: str) -> bool:
    """Whether a region is certainly one kernel, without another function in it: its body is not for host code."""
    found = _KERNEL.match(text)
    if found is None or "lambda" in text or len(_DEFINED.findall(text)) != 1:
        return False
    return module.project.member(module, found["module"]) == External("warp")


class Asked:
    """The effects that one tape analysis asks for."""

    def __init__(self, project: Project) -> None:
        self._project = project
        self._found: dict[tuple[Path, str], EffectSummary | None] = {}
        #: Whether every definition could be found again by its name.
        self.named = True

    def effects(self, definition: Definition) -> EffectSummary | None:
        """See ``kernels.effects``."""
        summary = kernels.effects(self._project, definition)
        if definition.given:  # which functions a factory was called with is not found again by names
            self.named = False
            return summary
        key = (definition.module.path, definition.qualname)
        if key not in self._found:
            again = _definition(self._project, *key)
            self.named = self.named and again is not None and again.node is definition.node
        elif self._found[key] != summary:
            self.named = False
        self._found[key] = summary
        return summary

    def all(self) -> tuple[tuple[Path, str, EffectSummary | None], ...]:
        """The paths and names of the definitions, and their effects."""
        return tuple((path, name, summary) for (path, name), summary in self._found.items())


def _definition(project: Project, path: Path, qualname: str) -> Definition | None:
    """The only function of that name in a file, None where there is none or several."""
    module = project.module(path)
    if module is None:
        return None
    key = (_definition, qualname)
    if key not in module.kept:
        module.kept[key] = _named(module, qualname)
    found = module.kept[key]
    return found if isinstance(found, Definition) else None


def _named(module: Module, qualname: str) -> Definition | None:
    top = qualname.partition(".")[0]
    found = [
        definition
        for region in module.regions
        if top in region.names or (region.kind == "other" and top in module.region_text(region))
        for definition in module.within(region)
        if definition.qualname == qualname
    ]
    return found[0] if len(found) == 1 else None


def holds(run: HostRun, key: bytes, project: Project, sights: Sights, changes: Changes | None = None) -> bool:
    """Whether the tapes of a file with the given key are what they were."""
    if run.key != key or any(sights.text(path) != digest for path, digest in run.exact):
        return False
    for path, qualname, summary in run.asked:
        module = project.module(path) if changes is not None else None
        if changes is not None and module is not None and changes.keeps_effects(module, qualname):
            continue
        definition = _definition(project, path, qualname)
        if definition is None or kernels.effects(project, definition) != summary:
            return False
    return True


def host_run(
    path: Path, key: bytes, host: tapes.TapeAnalysis, facts: tuple[Fact, ...], asked: Asked, sights: Sights
) -> HostRun | None:
    """What came of the tapes of a file, to be taken over by later runs; None where that could go wrong."""
    exact = {place: sights.text(place) for place in {location.path for location in locations(facts)}}
    digests = tuple((place, digest) for place, digest in exact.items() if digest is not None)
    if not asked.named or len(digests) != len(exact):
        return None
    rests = (path, key, digests, asked.all())
    return HostRun(*rests, facts, host.uses, tuple(host.exhausted), host.runs, host.steps)


def tapes_of(
    project: Project, module: Module, sights: Sights, before: HostRun | None, changes: Changes | None = None
) -> tuple[tapes.TapeAnalysis, tuple[Fact, ...], HostRun | None]:
    """The tape analysis of a file and the facts that it found, taken over from ``before`` where that still holds, and
    what later runs may take over."""
    key = sights.key(module)
    if before is not None and holds(before, key, project, sights, changes):
        host = tapes.TapeAnalysis(project, partial(kernels.effects, project))
        host.take(before)
        return host, before.facts, before
    asked = Asked(project)
    host = tapes.TapeAnalysis(project, asked.effects)
    facts = tuple(host.module(module))
    return host, facts, host_run(module.path, key, host, facts, asked, sights)
