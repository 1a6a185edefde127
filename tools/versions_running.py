"""Environments for old versions of Warp, outside the checkout, and tasks that run in them."""

from __future__ import annotations

import hashlib
import json
import os
import select
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent

#: The versions that facts are established for, with the newest patch of each.
VERSIONS = {
    "1.5": "1.5.1",
    "1.8": "1.8.1",
    "1.11": "1.11.1",
    "1.13": "1.13.0",
    "1.14": "1.14.0",
    "1.15": "1.15.0",
    "1.16": "1.16.0",
    "1.17": "1.17.0",
    "1.18": "1.18.0",
    "1.19": "1.19.0",
}

#: The time after which a worker that says nothing is ended.
_SILENCE = 900.0


def environment(version: str, folder: Path) -> Path:
    """The interpreter of the environment with this Warp in ``folder``, made if it is not there.

    Raises:
        SystemExit: pip cannot install it.
    """
    python = folder / version / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", str(folder / version)], check=True)
    needed = [f"warp-lang=={VERSIONS[version]}", "numpy", "pyyaml"]
    if subprocess.run([python, "-c", "import numpy, yaml, warp"], capture_output=True, check=False).returncode:
        done = subprocess.run([python, "-m", "pip", "install", "-q", "--no-cache-dir", *needed], check=False)
        if done.returncode:
            raise SystemExit(f"Warp {VERSIONS[version]} cannot be installed in {folder / version}; see above")
    return python


class Worker:
    """``tools/versions_measure.py`` in an environment, started again where a task ends it."""

    def __init__(self, python: Path, scratch: Path) -> None:
        self._python = python
        self._scratch = scratch
        self._process: subprocess.Popen[bytes] | None = None
        self._data = b""

    def rows(self, task: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """What is measured of a task. A kernel that ends the process, or silences it, has the outcome ``crash``."""
        task = {"number": 0, "skip": [], **task}
        while True:
            process = self._started()
            assert process.stdin is not None
            process.stdin.write(json.dumps(task).encode() + b"\n")
            process.stdin.flush()
            flying: dict[str, Any] | None = None
            while True:
                row = self._receive()
                if row is None:
                    break
                if row.get("done"):
                    return
                if row.pop("begun", False):
                    flying = row
                    continue
                task["skip"] = [*task["skip"], row.get("kernel")]
                flying = None
                yield row
            self.stop()
            if flying is None:
                yield {"outcome": "crash", "detail": "while it is compiled"}
                return
            yield flying | {"outcome": "crash", "detail": ""}
            if "kernel" not in flying:
                return
            task["skip"] = [*task["skip"], flying["kernel"]]

    def stop(self) -> None:
        """End the process."""
        process, self._process, self._data = self._process, None, b""
        if process is not None:
            process.kill()
            process.wait()

    def _started(self) -> subprocess.Popen[bytes]:
        if self._process is None:
            paths = [ROOT, ROOT / "tests", ROOT / "tools"]
            variables = {
                **os.environ,
                "PYTHONPATH": os.pathsep.join(map(str, paths)),
                "WARP_CACHE_PATH": str(self._scratch),
                "CUDA_VISIBLE_DEVICES": "",
                "OMP_NUM_THREADS": "1",
            }
            self._process = subprocess.Popen(
                [self._python, str(ROOT / "tools" / "versions_measure.py")],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env=variables,
                cwd=self._scratch,
            )
        return self._process

    def _receive(self) -> dict[str, Any] | None:
        assert self._process is not None and self._process.stdout is not None
        deadline = time.monotonic() + _SILENCE
        while b"\n" not in self._data:
            ready, _, _ = select.select([self._process.stdout], [], [], max(0.0, deadline - time.monotonic()))
            chunk = os.read(self._process.stdout.fileno(), 1 << 20) if ready else b""
            if not chunk:
                return None
            self._data += chunk
        line, _, self._data = self._data.partition(b"\n")
        row: dict[str, Any] = json.loads(line)
        row.pop("task", None)
        return row


class Kept:
    """Results of one part for one version, one JSON object a line, by the digest of what was run."""

    def __init__(self, path: Path) -> None:
        self._path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        self.rows: dict[str, dict[str, Any]] = {}
        if path.exists():
            for line in path.read_text(encoding="utf-8").splitlines():
                row = json.loads(line)
                self.rows[row["key"]] = row

    def add(self, key: str, row: dict[str, Any]) -> None:
        """Keep a result, now."""
        self.rows[key] = {"key": key, **row}
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(self.rows[key]) + "\n")


def key(*parts: object) -> str:
    """The digest of what is run."""
    return hashlib.sha256(json.dumps([str(part) for part in parts]).encode()).hexdigest()[:20]
