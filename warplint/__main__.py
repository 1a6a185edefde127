"""``python -m warplint`` is the same as ``warplint``."""

from __future__ import annotations


def run() -> int:
    """The entry point. Nothing is imported before it, so that an interrupt is quiet from the first moment on."""
    try:
        from warplint.cli import main
    except KeyboardInterrupt:
        return 130
    return main()


if __name__ == "__main__":
    raise SystemExit(run())
