"""Answers of the worker, stored by content: a program that was run before, with the same tools, is not run again."""

from __future__ import annotations

import contextlib
import hashlib
import importlib.metadata
import json
import os
import platform
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import field
from functools import cache
from pathlib import Path
from typing import Any

from warplint import __version__
from warplint.ir.facts import Verdict
from warplint.probe.jobs import Job
from warplint.probe.options import ProbeOptions
from warplint.records import dataclass
from warplint.source.files import default_cache

#: Bytes, and files, that stored answers may take; the least recently used go first.
_MOST_BYTES = 32 * 1024 * 1024
_MOST_FILES = 20_000
# How much is left when room has to be made, so that it need not be made at every run.
_LEFT = 0.75
# No answer: it is asked for again after this time, in seconds. Better inputs may be found then.
_UNDECIDED = 24 * 3600.0
_VERDICTS: tuple[Verdict, ...] = ("confirmed", "refuted", "inconclusive")


@dataclass(frozen=True, slots=True)
class Answer:
    """What the worker said of one job: a verdict for each finding, and where that was decided.

    ``stored``: in an earlier run.
    """

    verdicts: tuple[Mapping[str, Any], ...]
    device: str | None
    warp_version: str | None
    stored: bool = field(default=False, compare=False)


class Store:
    """The stored answers for one set of options. Reading and writing never raise: a store that fails is only empty.

    Several runs may use one folder: a file is written under another name and then put in its place.
    """

    def __init__(self, folder: Path, context: str) -> None:
        self.folder = folder
        self.context = context
        self._written = False

    def get(self, job: Job, resume: bool = False) -> Answer | None:
        """The answer to ``job``, None where it is not known, too old or damaged.

        What the clock ran out for is only of use to ``resume``: another time the machine may be less busy.
        """
        return self.at(self.key(job), resume)

    def at(self, key: str, resume: bool = False) -> Answer | None:
        """As ``get``, for the job with this ``key``."""
        path = self._path(key)
        try:
            entry = json.loads(path.read_bytes())
            answer = _checked(entry, key)
            if answer is None:
                return None
            undecided = any(one["verdict"] == "inconclusive" for one in answer.verdicts)
            late = any("the clock ran out" in one["detail"] for one in answer.verdicts)
            fresh = 0.0 <= time.time() - float(entry["at"]) < _UNDECIDED
            if not resume and (late or undecided and not fresh):
                return None
            os.utime(path)  # used now
        except (OSError, ValueError, TypeError, KeyError, RecursionError):
            return None
        return answer

    def put(self, job: Job, answer: Answer) -> None:
        """Stores ``answer`` for the next run."""
        key = self.key(job)
        path = self._path(key)
        body = [list(answer.verdicts), answer.device, answer.warp_version]
        entry = {"key": key, "at": time.time(), "sum": _sum(body), "answer": body}
        with contextlib.suppress(OSError, ValueError):
            path.parent.mkdir(parents=True, exist_ok=True)
            descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=".new-")
            try:
                with open(descriptor, "w", encoding="utf-8") as file:
                    json.dump(entry, file)
                os.replace(name, path)
                self._written = True
            except BaseException:
                with contextlib.suppress(OSError):
                    os.unlink(name)
                raise

    def trim(self) -> None:
        """Makes room where the store has grown too large, if this run added to it."""
        if not self._written:
            return
        found: list[tuple[float, int, str]] = []
        with contextlib.suppress(OSError):
            for folder in os.scandir(self.folder):
                with contextlib.suppress(OSError):
                    for file in os.scandir(folder.path):
                        state = file.stat()
                        found.append((state.st_mtime, state.st_size, file.path))
        size = sum(one[1] for one in found)
        if size <= _MOST_BYTES and len(found) <= _MOST_FILES:
            return
        count = len(found)
        for _, taken, path in sorted(found):
            if size <= _LEFT * _MOST_BYTES and count <= _LEFT * _MOST_FILES:
                break
            with contextlib.suppress(OSError):
                os.unlink(path)
            size -= taken
            count -= 1

    def key(self, job: Job) -> str:
        """Under which name the answer to ``job`` is stored."""
        text = json.dumps([self.context, job.script, job.twin, job.plan])
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()

    def _path(self, key: str) -> Path:
        return self.folder / key[:2] / f"{key[2:]}.json"


def open_store(options: ProbeOptions, gpu: str | None) -> Store | None:
    """The store for ``options``; ``gpu`` is the device that has the last word (see ``gpu_to_use``).

    None where it is turned off, where the user has no place for it, or where it is not known which Warp would run.
    """
    if not options.cache or options.python is not None:
        return None
    try:
        folder = (options.cache_dir or default_cache()).absolute() / "verdicts"
        versions = [importlib.metadata.version(name) for name in ("warp-lang", "numpy")]
    except (RuntimeError, OSError, importlib.metadata.PackageNotFoundError):
        return None
    machine = [sys.platform, platform.machine(), sys.version]
    context = [__version__, _worker(), *versions, *machine, gpu, options.timeout_s, options.memory_mb]
    if gpu is not None:
        context += [_driver(), os.environ.get("CUDA_VISIBLE_DEVICES"), os.environ.get("CUDA_DEVICE_ORDER")]
    return Store(folder, json.dumps(context))


@cache
def _worker() -> str:
    """A digest of the code that decides."""
    digest = hashlib.sha256()
    for path in sorted((Path(__file__).parent / "worker").glob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def _driver() -> str:
    """Which driver, and which GPUs, this machine has, as far as that can be read without starting anything."""
    places = [Path("/proc/driver/nvidia/version"), *sorted(Path("/proc/driver/nvidia/gpus").glob("*/information"))]
    texts = []
    for place in places:
        with contextlib.suppress(OSError):
            texts.append(place.read_text(errors="replace"))
    return "\n".join(texts)


def _sum(body: object) -> str:
    return hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()


def _checked(entry: Any, key: str) -> Answer | None:
    """The answer in a stored entry, None where the entry is not whole."""
    body = entry["answer"]
    if entry["key"] != key or entry["sum"] != _sum(body):
        return None
    verdicts, device, version = body
    if not all(one["verdict"] in _VERDICTS and isinstance(one["detail"], str) for one in verdicts):
        return None
    return Answer(tuple(verdicts), device, version, stored=True)
