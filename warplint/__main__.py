"""``python -m warplint`` is the same as ``warplint``."""

from __future__ import annotations

from warplint.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
