"""Compiling the modules of many programs at once.

Each run of Warp's C++ compiler begins by reading Warp's headers, which takes longer than all else about a small
module. Here the sources that Warp generates for several modules become one translation unit, each in a namespace of its
own, and what comes of it goes into Warp's kernel cache in place of what each alone would have become. Programs then
find their modules there, as if another run had compiled them. Nothing rests on that: a program whose module is not
there compiles it itself.

The layout of the sources is that of ``codegen.py`` of Warp: definitions of macros, includes, then the code, whose
kernels are ``extern "C"`` and named after a hash of what they are.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import warp as wp

from warplint.probe.worker.clock import SPENT
from warplint.probe.worker.compat import builder, link_headers
from warplint.probe.worker.kernel_job import KernelJob
from warplint.probe.worker.loading import DoesNotCompile, compile_kernel
from warplint.probe.worker.tape_job import TapeJob
from warplint.records import dataclass

_INCLUDE = re.compile(r"^#include .*\n", re.MULTILINE)
# What the code of a module is looked up by; two of one name cannot be in one unit.
_ENTRY = re.compile(r"\b\w+_cpu_kernel_(?:forward|backward)\b")


@dataclass(frozen=True, slots=True)
class Source:
    """What Warp would have compiled: the C++ text, and the further arguments of the compiler."""

    text: str
    arguments: tuple[Any, ...]
    options: Mapping[str, Any]

    @property
    def head(self) -> str:
        """The macros that the included headers depend on."""
        first = _INCLUDE.search(self.text)
        return self.text[: first.start()] if first is not None else self.text

    @property
    def entries(self) -> frozenset[str]:
        """The names that the linker sees."""
        return frozenset(_ENTRY.findall(self.text))


def build(jobs: Sequence[Mapping[str, Any]], scratch: Path, headers: Path) -> dict[str, int]:
    """Compiles what ``jobs`` (as ``warplint.probe.jobs`` writes them) will ask for, into Warp's kernel cache.

    ``headers`` has Warp's precompiled headers. Gives the number of modules that were ``found``, and of those that are
    now in the cache.
    """
    kept = Path(wp.config.kernel_cache_dir)
    own = scratch / "built"
    own.mkdir()
    wp.config.kernel_cache_dir = str(own)
    try:
        with collecting() as sources:
            for job in jobs:
                # Whatever is wrong with a job shows when it runs, and must not hold up the others here.
                with _configured(), contextlib.suppress(Exception):
                    _ask(job, scratch)
    finally:
        wp.config.kernel_cache_dir = str(kept)
    # Warp moves what it compiled, and does not name it in the same way in every version.
    stands_for = {path: sources[int(path.read_bytes())] for path in own.rglob("*.o")}
    places = {id(source): path for path, source in stands_for.items() if not (kept / path.parent.name).exists()}
    wanted = [source for source in sources if id(source) in places]
    built = 0
    for number, group in enumerate(grouped(wanted)):
        for source, binary in _compiled(group, own / f"unit-{number}", headers):
            built += _keep(binary, places[id(source)], kept)
    return {"found": len(wanted), "built": built}


def _ask(job: Mapping[str, Any], scratch: Path) -> None:
    """Has Warp compile the first modules that a job will ask for."""
    if job["plan"]["kind"] == "tape":
        kernels = TapeJob(dict(job), scratch, "cpu", 0.0).kernels()
    else:
        kernels = KernelJob(dict(job), scratch, "cpu", 0.0).first()
    for kernel in kernels:
        with contextlib.suppress(DoesNotCompile):  # there is nothing to load yet
            compile_kernel(kernel, "cpu")


@contextlib.contextmanager
def _configured() -> Iterator[None]:
    """What is set of ``warp.config`` within it holds no longer than that: scripts carry over what their modules set."""
    before = dict(vars(wp.config))
    try:
        yield
    finally:
        vars(wp.config).update(before)


@contextlib.contextmanager
def collecting() -> Iterator[list[Source]]:
    """Within it, Warp compiles nothing: what it would have compiled is noted, and its number left in its place."""
    found: list[Source] = []
    module = builder()
    usual = module.build_cpu

    def noted(binary: str, text: str, *arguments: Any, **options: Any) -> None:
        Path(binary).write_text(str(len(found)))
        found.append(Source(Path(text).read_text(encoding="utf-8"), arguments, options))

    module.build_cpu = noted
    try:
        yield found
    finally:
        module.build_cpu = usual


def grouped(sources: Sequence[Source]) -> list[list[Source]]:
    """The sources that can be one translation unit: compiled in one way, without a name in common."""
    groups: list[tuple[object, set[str], list[Source]]] = []
    for source in sources:
        way = (source.head, repr(source.arguments), repr(sorted(source.options.items())))
        for other, names, members in groups:
            if other == way and not names & source.entries:
                names |= source.entries
                members.append(source)
                break
        else:
            groups.append((way, set(source.entries), [source]))
    return [members for _, _, members in groups]


def together(sources: Sequence[Source]) -> str:
    """One translation unit of several."""
    includes = dict.fromkeys(line for source in sources for line in _INCLUDE.findall(source.text))
    parts = [sources[0].head, *includes]
    for number, source in enumerate(sources):
        body = _INCLUDE.sub("", source.text[len(source.head) :])
        parts.append(f"namespace unit_{number} {{\n{body}\n}}\n")
    return "".join(parts)


def _compiled(sources: Sequence[Source], stem: Path, headers: Path) -> Iterator[tuple[Source, Path]]:
    """The sources with what came of them; where the compiler refuses some, the others are compiled without them."""
    text, binary = stem.with_suffix(".cpp"), stem.with_suffix(".o")
    text.write_text(together(sources), encoding="utf-8")
    begun, compiled = time.process_time(), True
    try:
        builder().build_cpu(str(binary), str(text), *sources[0].arguments, **sources[0].options)
    except Exception:
        compiled = False
    finally:
        SPENT["compiling"] += time.process_time() - begun
    if compiled:
        for source in sources:
            yield source, binary
        return
    # Warp deletes a header that a failed compilation used
    link_headers(headers, Path.cwd() / "headers")
    half = len(sources) // 2
    for number, some in enumerate((sources[:half], sources[half:]) if half else ()):
        yield from _compiled(some, stem.with_name(f"{stem.name}-{number}"), headers)


def _keep(binary: Path, place: Path, kept: Path) -> bool:
    """Puts what was compiled into its ``place`` in the folder that Warp made for a module, and that into the cache;
    whether it is there then."""
    target = kept / place.parent.name
    part = kept / f"{target.name}_{os.getpid()}"
    try:
        place.unlink()
        _link(binary, place)
        shutil.move(str(place.parent), str(part))
        part.rename(target)
    except OSError:  # another process was first, or there is no room
        shutil.rmtree(part, ignore_errors=True)
    return target.exists()


def _link(source: Path, target: Path) -> None:
    try:
        os.link(source, target)
    except OSError:
        shutil.copyfile(source, target)
