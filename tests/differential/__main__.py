"""``python -m tests.differential --kernels 2000 --seed N``.

Recall and precision, and the smallest kernels that disagree.
"""

from __future__ import annotations

import argparse
from collections import Counter

from tests.differential.run import outcomes


def main() -> None:
    """Runs and prints."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kernels", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--show", type=int, default=6)
    arguments = parser.parse_args()
    results = outcomes(arguments.seed, arguments.kernels)
    decided = [result for result in results if result.wrong is not None]
    wrong = [result for result in decided if result.wrong]
    flagged = [result for result in decided if result.facts]
    missed = [result for result in wrong if not result.facts]
    false = [result for result in flagged if not result.wrong]
    print(f"{len(results)} kernels, {len(decided)} decided, {len(wrong)} wrong, {len(flagged)} flagged")
    print(f"recall {1 - len(missed) / max(1, len(wrong)):.3f} ({len(missed)} missed)")
    print(f"precision {1 - len(false) / max(1, len(flagged)):.3f} ({len(false)} false)")
    kinds: Counter[str] = Counter()
    alone: Counter[tuple[str, bool]] = Counter()
    for result in flagged:
        found = {fact.split(":")[0] for fact in result.facts}
        kinds.update(found)
        if len(found) == 1:
            alone[next(iter(found)), bool(result.wrong)] += 1
    print("kinds", dict(kinds))
    print("only kind (kind, wrong)", {f"{kind} {wrong}": count for (kind, wrong), count in sorted(alone.items())})
    for title, group in (("missed", missed), ("false", false)):
        for result in sorted(group, key=lambda result: len(result.text))[: arguments.show]:
            print(f"--- {title} {result.name} {result.facts}")
            print(result.text)


if __name__ == "__main__":
    main()
