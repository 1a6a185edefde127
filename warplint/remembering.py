"""What is in unchanged files need not be found again: the facts of a run are kept with the state of all that it read.

A run is recognised by what it was asked for: the files, the folders of imports, the configuration, the rules, and the
versions of warplint, Python, LibCST and Warp. What it found holds as long as every file that it read has the contents
it had, and no file has come to where it looked for one in vain. As in Mercurial and Git, a file with the size and the
time that it had is taken to be the same, unless it was written just before it was read.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import io
import os
import pathlib
import pickle
import sys
import time
from collections.abc import Iterable, Sequence
from dataclasses import is_dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from warplint import __version__
from warplint.ir.found import FileAnalysis, Inputs
from warplint.records import dataclass
from warplint.source.files import digest_of
from warplint.stamps import Stamp, stamp_of, state_of

if TYPE_CHECKING:
    from warplint.ir.effects import KernelUse
    from warplint.ir.runs import Earlier, HostRun, KeptFacts, KeptModule
    from warplint.source.project import Module, Project

# Runs that are kept, the bytes of one file, and those of all; the least recently used go first.
_MOST_RUNS = 24
_MOST_BYTES = 48 * 1024 * 1024
_MOST_TOGETHER = 256 * 1024 * 1024
# A file that was written so shortly before it was read may be written again without a change of its time, in seconds.
_RACY = 2.0
#: A file as it was read, and the digest of its contents, which is empty where the stamp is enough.
_Read = tuple[Stamp, bytes]
# The files of a run: what it found, and what of that the next one can take over where something has changed.
_KINDS = (".facts", ".hosts")
_PATHS = ("PosixPath", "WindowsPath", "PurePosixPath", "PureWindowsPath")
_BUILTINS = ("frozenset", "set", "complex", "bytearray")


@dataclass(frozen=True, slots=True)
class Remembered:
    """One run: what it read, where it looked in vain, what it found, and in which files comments may be for us."""

    present: tuple[_Read, ...]
    absent: tuple[str, ...]
    analyses: tuple[FileAnalysis, ...]
    commented: tuple[Path, ...]


@dataclass(frozen=True, slots=True)
class RememberedHosts:
    """What came of the tapes of each file and of the regions of all modules, and what was read for that besides the
    linted files."""

    present: tuple[_Read, ...]
    absent: tuple[str, ...]
    hosts: tuple[HostRun, ...]
    modules: tuple[KeptModule, ...]
    facts: tuple[KeptFacts, ...]
    uses: dict[tuple[Path, str], KernelUse]


class Memory:
    """The runs that are kept in a folder. Reading and writing never raise: a memory that fails is only empty.

    ``asked`` is whatever decides what a run finds besides the contents of files.
    """

    def __init__(self, folder: Path, asked: Iterable[object]) -> None:
        self._folder = folder
        self._key = hashlib.sha256(repr([_tools(), *asked]).encode("utf-8", "surrogatepass")).hexdigest()
        self._began = time.time()
        # What the host code that is taken over rests on, which this run need not read.
        self._taken = Inputs()

    def _path(self, kind: str) -> Path:
        return self._folder / f"{self._key}{kind}"

    def _read(self, kind: str) -> object:
        with open(self._path(kind), "rb") as file:
            data = file.read(_MOST_BYTES + 1)
        return None if len(data) > _MOST_BYTES else _Reader(io.BytesIO(data)).load()

    def recall(self) -> Remembered | None:
        """The run, if all that it read is as it was."""
        try:
            found = self._read(".facts")
            if not isinstance(found, Remembered) or not _holds(found):
                return None
            for kind in _KINDS:
                with contextlib.suppress(OSError):
                    os.utime(self._path(kind))  # used now
        except Exception:  # damaged, or of a version whose classes were others
            return None
        return found

    def earlier(self) -> Earlier:
        """What may be taken over where nothing but linted files has changed since the last run."""
        from warplint.ir.runs import Earlier

        try:
            found = self._read(".hosts")
            if not isinstance(found, RememberedHosts) or not _holds(found):
                return Earlier()
        except Exception:  # damaged, or of a version whose classes were others
            return Earlier()
        self._taken = Inputs(
            frozenset(Path(stamp[0]) for stamp, _ in found.present), frozenset(map(Path, found.absent))
        )
        hosts, modules, facts = ({one.path: one for one in some} for some in (found.hosts, found.modules, found.facts))
        return Earlier(hosts, modules, facts, found.uses)  # type: ignore[arg-type]

    def remember(self, analyses: Sequence[FileAnalysis], project: Project, commented: Iterable[Path]) -> None:
        """Keep what a run found; ``commented`` are the files where comments may suppress findings."""
        with contextlib.suppress(OSError, ValueError, pickle.PicklingError, RecursionError):
            inputs = project.inputs()
            for analysis in analyses:
                inputs = inputs.also(analysis.inputs)
            inputs = inputs.also(self._taken)
            read = tuple(self._read_as(path) for path in inputs.present)
            absent = tuple(sorted(map(str, inputs.absent)))
            plain = tuple(replace(analysis, inputs=Inputs(), host=None, kept=None) for analysis in analyses)
            self._write(".facts", Remembered(read, absent, plain, tuple(commented)))
            linted = {str(analysis.path) for analysis in analyses}
            outside = tuple((stamp, digest) for stamp, digest in read if stamp[0] not in linted)
            hosts = tuple(analysis.host for analysis in analyses if analysis.host is not None)
            from warplint.ir.effects import merged

            modules = [project.module(path) for path in inputs.present]
            kept = tuple(kept_module(module) for module in modules if module is not None and not module.newer)
            if len(kept) < len(modules):
                kept = ()  # how others hang together with what cannot be read is not known
            facts = tuple(analysis.kept for analysis in analyses if analysis.kept is not None)
            uses = merged(analysis.uses for analysis in analyses)
            self._write(".hosts", RememberedHosts(outside, absent, hosts, kept, facts, uses))
            self._trim()

    def _write(self, kind: str, run: Remembered | RememberedHosts) -> None:
        data = pickle.dumps(run, protocol=5)
        if len(data) > _MOST_BYTES:
            return
        import tempfile

        self._folder.mkdir(parents=True, exist_ok=True)
        descriptor, name = tempfile.mkstemp(dir=self._folder, prefix=".new-")
        try:
            with open(descriptor, "wb") as file:
                file.write(data)
            os.replace(name, self._path(kind))
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(name)
            raise

    def _read_as(self, path: Path) -> _Read:
        stamp = stamp_of(path)
        if stamp is None:
            raise FileNotFoundError(path)  # it went while the run was on: nothing is kept
        racy = stamp[2] > (self._began - _RACY) * 1e9
        return stamp, _digest(path) if racy else b""

    def _trim(self) -> None:
        for kind in _KINDS:
            kept = [(path.stat(), path) for path in self._folder.glob(f"*{kind}")]
            left = _MOST_TOGETHER // len(_KINDS)
            for number, (state, path) in enumerate(sorted(kept, key=lambda one: -one[0].st_mtime)):
                left -= state.st_size
                if number >= _MOST_RUNS or (number and left < 0):
                    path.unlink(missing_ok=True)


def kept_module(module: Module) -> KeptModule:
    """What a later run needs of a module to tell what has changed in it."""
    import zlib

    from warplint.ir.runs import KeptModule

    known = module.project.known.get(module.path)
    if known is not None and known.digest == digest_of(module.text):
        return known
    text = zlib.compress(module.text.encode("utf-8", "surrogatepass"), 1)
    return KeptModule(module.path, text, digest_of(module.text), tuple(region.fields() for region in module.regions))


def _holds(run: Remembered | RememberedHosts) -> bool:
    for stamp, digest in run.present:
        name, size, _ = stamp
        now = stamp_of(name)
        if now is None or now[1] != size or (now != stamp and not digest):
            return False
        if digest and _digest(name) != digest:
            return False
    return not any(os.path.lexists(name) for name in run.absent)


def _digest(path: str | Path) -> bytes:
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).digest()


def _tools() -> list[object]:
    """What finds the facts: a change of our own code or of what it depends on forgets everything."""
    found: list[object] = [__version__, sys.version, sys.platform]
    for name in ("libcst", "warp"):  # their versions would take longer to read than small files take to lint
        try:
            spec = importlib.util.find_spec(name)
        except (ImportError, ValueError):
            spec = None
        if spec is not None and spec.origin is not None:
            folder = Path(spec.origin).parent
            found += [stamp_of(folder / file) for file in ("__init__.py", "_version.py", "config.py")]
    return [*found, state_of(Path(__file__).parent, (".py", ".json"), below=True)]


class _Reader(pickle.Unpickler):
    """Reads the plain records of this package and nothing else: a folder of a cache may come with a project, and what
    is in it must not run."""

    def find_class(self, module: str, name: str) -> Any:
        if module in ("pathlib", "pathlib._local") and name in _PATHS:
            return getattr(pathlib, name)
        if module == "builtins" and name in _BUILTINS:
            return super().find_class(module, name)
        if module == __name__ or module.partition(".")[0] == "warplint":
            found = super().find_class(module, name)
            if isinstance(found, type) and found.__module__ == module and (is_dataclass(found) or _is_plain(found)):
                return found
        raise pickle.UnpicklingError(f"{module}.{name} is not a record")


def _is_plain(kind: type) -> bool:
    """Whether a class is a tuple with named fields."""
    return issubclass(kind, tuple) and hasattr(kind, "_fields")
