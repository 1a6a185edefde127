"""Random edits, as people make them: mostly small, sometimes broken."""

from __future__ import annotations

import random
import re

_NUMBER = re.compile(r"\b\d+(?:\.\d+)?\b")
_NAME = re.compile(r"\b[a-z_]\w*\b")


def edited(text: str, chance: random.Random) -> str:
    """``text`` after one edit."""
    lines = text.split("\n")
    at = chance.randrange(len(lines))
    line = lines[at]
    kind = chance.randrange(10)
    if kind == 0:
        lines.insert(at, chance.choice(["", "# note", line]))
    elif kind == 1:
        del lines[at]
    elif kind == 2 and _NUMBER.search(line):
        lines[at] = _NUMBER.sub(lambda _: chance.choice(["0.5", "2", "3.0"]), line, count=1)
    elif kind == 3:
        names = _NAME.findall(text)
        own = _NAME.findall(line)
        if own and names:
            lines[at] = re.sub(rf"\b{chance.choice(own)}\b", chance.choice(names), line)
    elif kind == 4:
        lines[at] = line.replace("+=", "=") if "+=" in line else line.replace(" = ", " += ", 1)
    elif kind == 5:
        cut = chance.randrange(len(line) + 1)
        lines[at] = line[:cut] + chance.choice("()[]:=.x \t") + line[cut:]
    elif kind == 6 and at + 1 < len(lines):
        lines[at], lines[at + 1] = lines[at + 1], line
    elif kind == 7:
        lines[at] = f"{line}  # warplint: ignore[WP1] as agreed" if line.strip() else line
    elif kind == 8 and line.strip():
        # what stands here is repeated elsewhere: a second definition, a second write
        lines.insert(chance.randrange(len(lines)), line)
    elif line.strip():
        cut = chance.randrange(len(line))
        lines[at] = line[:cut] + line[cut + 1 :]
    return "\n".join(lines)
