"""What the programs of a run were is kept with the state of all that they were cut from.

To find the stored answers of a run (``stored``), its programs have to be cut out of the source again, for which most of
a project is read. Where no file has changed that was read for that, and none has come to where one was looked for in
vain, the programs are those that they were, and the names of their answers are enough.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from warplint.ir.facts import Finding
from warplint.probe.options import ProbeOptions
from warplint.probe.stored import Answer, Store
from warplint.records import dataclass
from warplint.source.project import Project
from warplint.source.text import read_text
from warplint.stamps import state_of

#: Runs that are kept.
_MOST = 24
# The time of a file that has changed so lately, in seconds, may be that of a change after it was read.
_RECENT = 3600.0


@dataclass(frozen=True, slots=True)
class Known:
    """The answers for a run, each with the numbers of its findings; and why there is no program, for the others."""

    answers: tuple[tuple[Answer, tuple[int, ...]], ...]
    refused: Mapping[int, str]


class Cuts:
    """What is known of the programs for ``findings``. Reading and writing never raise: what fails is only not known."""

    def __init__(self, findings: Sequence[Finding], project: Project, options: ProbeOptions, store: Store) -> None:
        self._store = store
        asked = [(finding.check, repr(finding.fact.program)) for finding in findings]
        own = state_of(Path(__file__).parent.parent, (".py",), below=True)
        version = project.warp_version
        paths = {one.location.path for one in findings}
        versions = {} if version is None else {str(path): version(path) for path in paths}
        permissions = [options.allow_import, options.allow_native]
        text = repr([own, store.context, permissions, sorted(versions.items()), asked])
        name = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
        self._path = store.folder.parent / "cuts" / f"{name}.json"

    def recall(self) -> Known | None:
        """The answers, if the store has all of them and nothing has changed."""
        try:
            entry = json.loads(self._path.read_bytes())
            if not all(_holds(path, *state) for path, state in entry["present"].items()):
                return None
            if any(os.path.lexists(path) for path in entry["absent"]):
                return None
            found = []
            for key, numbers in entry["programs"]:
                answer = self._store.at(key)
                if answer is None or len(answer.verdicts) != len(numbers):
                    return None
                found.append((answer, tuple(map(int, numbers))))
            refused = {int(number): str(why) for number, why in entry["refused"]}
            os.utime(self._path)  # used now
        except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
            return None
        return Known(tuple(found), refused)

    def remember(
        self, programs: Sequence[tuple[str, Sequence[int]]], refused: Mapping[int, str], project: Project
    ) -> None:
        """Keeps the names of the answers, each with the numbers of its findings."""
        with contextlib.suppress(OSError, ValueError):
            inputs = project.inputs()
            entry = {
                "present": {str(path): _state(path, project) for path in inputs.present},
                "absent": sorted(map(str, inputs.absent)),
                "programs": [[key, list(numbers)] for key, numbers in programs],
                "refused": list(refused.items()),
            }
            folder = self._path.parent
            folder.mkdir(parents=True, exist_ok=True)
            descriptor, name = tempfile.mkstemp(dir=folder, prefix=".new-")
            with open(descriptor, "w", encoding="utf-8") as file:
                json.dump(entry, file)
            os.replace(name, self._path)
            kept = sorted(folder.glob("*.json"), key=lambda path: path.stat().st_mtime)
            for path in kept[:-_MOST]:
                path.unlink(missing_ok=True)


def _state(path: Path, project: Project) -> list[object]:
    """Size, time and digest of a file as it was read. Raises ValueError where that is not known."""
    state = os.stat(path)
    if time.time() - state.st_mtime > _RECENT:
        return [state.st_size, state.st_mtime_ns, ""]
    module = project.module(path)
    if module is None:
        raise ValueError(f"{path} was not read")
    return [state.st_size, state.st_mtime_ns, _digest(module.text)]


def _holds(path: str, size: int, changed: int, digest: str) -> bool:
    state = os.stat(path)
    if (state.st_size, state.st_mtime_ns) != (size, changed):
        return False
    if not digest:
        return True
    text = read_text(Path(path))
    return isinstance(text, str) and _digest(text) == digest


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
