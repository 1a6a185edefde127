"""``python -m tests.contracts``: how often warplint and Warp's compiler agree on small kernels."""

from __future__ import annotations

import sys

import warp as wp

from tests.contracts.verdicts import SOURCES, verdicts


def main() -> int:
    """Prints every disagreement and the sum."""
    wp.config.quiet = True
    found = verdicts(SOURCES.glob("*.py"))
    for one in found:
        if not one.agree:
            said = one.refused.strip().splitlines()[-1] if one.refused else "compiles"
            print(f"{one.file}.py {one.kernel}: Warp: {said}; warplint: {', '.join(one.found) or 'nothing'}")
    agreed = sum(one.agree for one in found)
    refused = sum(bool(one.refused) for one in found)
    print(f"{len(found)} kernels, {refused} refused and {len(found) - refused} accepted by Warp {wp.config.version}")
    print(f"agreement {agreed} of {len(found)}: {100.0 * agreed / len(found):.1f} %")
    return 0


if __name__ == "__main__":
    sys.exit(main())
