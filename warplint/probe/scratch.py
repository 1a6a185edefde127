"""The folder that the probes of a run work in: gone when the run ends, and at the next run where it was killed."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

if os.name == "posix":
    import fcntl

_PREFIX = "warplint-"
# Its owner holds a lock on this file. The system releases the lock when the owner ends, however it ends.
_OWNER = "owner"


class Scratch:
    """A new folder for temporary files, ``path``, that belongs to this process until ``remove``.

    Raises OSError where there is no place for temporary files.
    """

    def __init__(self) -> None:
        sweep()
        self.path = Path(tempfile.mkdtemp(prefix=_PREFIX))
        self._lock = _claim(self.path)

    def remove(self) -> None:
        """Delete the folder with all that is in it."""
        shutil.rmtree(self.path, ignore_errors=True)
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None


def sweep() -> None:
    """Delete the folders of this user's runs that were killed. A folder whose owner lives stays."""
    if os.name != "posix":
        return  # Windows has neither this lock nor another that a killed process surely loses
    try:
        with os.scandir(tempfile.gettempdir()) as scan:
            folders = [entry.path for entry in scan if entry.name.startswith(_PREFIX) and _own_folder(entry)]
    except OSError:
        return
    for folder in folders:
        try:
            lock = os.open(os.path.join(folder, _OWNER), os.O_RDWR | os.O_NOFOLLOW)
        except OSError:
            continue  # of something else that bears this name, or about to be claimed
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            pass  # in use
        else:
            shutil.rmtree(folder, ignore_errors=True)
        finally:
            os.close(lock)


def _own_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir(follow_symlinks=False) and entry.stat(follow_symlinks=False).st_uid == os.geteuid()
    except OSError:
        return False


def _claim(folder: Path) -> int | None:
    """Lock the folder for this process. Returns the lock's file descriptor, None where there are no such locks."""
    if os.name != "posix":
        return None
    # It gets its name only once it is locked: another run must not find it free in between.
    descriptor, unnamed = tempfile.mkstemp(dir=folder)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.rename(unnamed, folder / _OWNER)
    except OSError:
        # A file system without locks: then nobody can tell that the owner died, and the folder stays if it does.
        os.close(descriptor)
        os.unlink(unnamed)
        return None
    return descriptor
