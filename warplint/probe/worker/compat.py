"""The parts of Warp that have no public name, wherever the installed version keeps them."""

from __future__ import annotations

from typing import Any

try:
    from warp._src import codegen as codegen
    from warp._src import context as context
    from warp._src import types as types
except ImportError:  # Warp < 1.10 has them at the top
    from warp import codegen as codegen
    from warp import context as context
    from warp import types as types


def array_class(kind: Any, cls: Any) -> bool:
    """Whether the annotation (or array) ``kind`` is of the array class ``cls``."""
    match = getattr(types, "matches_array_class", None)
    return bool(match(kind, cls)) if match is not None else isinstance(kind, cls)


def flush_c() -> None:
    """Writes out what kernels printed: they share the C library's buffers, not Python's."""
    import ctypes

    ctypes.CDLL(None).fflush(None)


def own_headers(folder: Any) -> None:
    """Gives this process its own links to the precompiled headers that its parent made.

    Warp deletes a header when a kernel fails to compile; other children must keep theirs.
    """
    import os
    import threading
    from types import SimpleNamespace

    try:
        folders = context.runtime._pch_dirs
        shared = folders[threading.get_ident()].name
        for name in os.listdir(shared):
            os.link(os.path.join(shared, name), os.path.join(folder, name))
        folders[threading.get_ident()] = SimpleNamespace(name=str(folder))
    except (AttributeError, KeyError, OSError):
        return  # another version keeps them elsewhere; sharing is only slower after a failure
