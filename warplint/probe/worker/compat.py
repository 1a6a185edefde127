"""The parts of Warp that have no public name, wherever the installed version keeps them."""

from __future__ import annotations

import contextlib
import os
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import warp as wp

try:
    from warp._src import build as build
    from warp._src import codegen as codegen
    from warp._src import context as context
    from warp._src import types as types
except ImportError:  # Warp < 1.10 has them at the top
    from warp import build as build  # type: ignore[attr-defined]
    from warp import codegen as codegen  # type: ignore[attr-defined]
    from warp import context as context  # type: ignore[attr-defined]
    from warp import types as types


def array_class(kind: Any, cls: Any) -> bool:
    """Whether the annotation (or array) ``kind`` is of the array class ``cls``."""
    match = getattr(types, "matches_array_class", None)
    return bool(match(kind, cls)) if match is not None else isinstance(kind, cls)


def builder() -> Any:
    """Where Warp keeps ``build_cpu``, which runs its C++ compiler."""
    return build


def flush_c() -> None:
    """Writes out what kernels printed: they share the C library's buffers, not Python's."""
    import ctypes

    ctypes.CDLL(None).fflush(None)


# Temporary folders that belong to the parent: they would be deleted if they were garbage here.
_inherited: list[Any] = []


def use_headers(folder: Path) -> bool:
    """Makes Warp look for precompiled headers in ``folder``; False where the version keeps them elsewhere."""
    try:
        folders = context.runtime._pch_dirs
        known = folders.get(threading.get_ident())
    except AttributeError:
        return False
    if known is not None:
        _inherited.append(known)
    folders[threading.get_ident()] = SimpleNamespace(name=str(folder))
    return True


def link_headers(source: Path, target: Path) -> bool:
    """Puts the precompiled headers of ``source`` into ``target`` too; whether there were any.

    Warp deletes a header when a kernel fails to compile with it, so every process works on links of its own.
    """
    found = False
    for header in source.glob("*.pch"):
        copy = target / header.name
        if copy.exists():
            continue
        part = target / f"{header.name}.{os.getpid()}"
        try:
            os.link(header, part)
        except OSError:
            shutil.copyfile(header, part)
        part.replace(copy)
        found = True
    return found


@contextlib.contextmanager
def building_once() -> Iterator[None]:
    """Within it, a func that is built by itself, not as part of a module, is built once.

    ``Adjoint.add_call`` builds the callee at every call, with all that it calls: the time doubles with every level.
    """
    original = wp.Function.build
    built: dict[int, Any] = {}

    def build(self: Any, builder: Any, *rest: Any, **named: Any) -> None:
        if builder is not None or id(self) not in built:
            original(self, builder, *rest, **named)
        if builder is None:
            built[id(self)] = self

    wp.Function.build = build
    try:
        yield
    finally:
        wp.Function.build = original
