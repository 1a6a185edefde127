"""Truth values that the source does not say: there are only two of them, so that both can be tried."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping
from typing import Any

from warplint.records import dataclass

# With more of them there are too many scripts.
_MOST = 2


@dataclass(frozen=True, slots=True)
class Guess:
    """A script with other values, and what is assumed in it, by the name of the parameter."""

    script: str
    twin: str | None
    assumed: Mapping[str, str]


class Guesses:
    """What is guessed in the script of ``plan``."""

    def __init__(self, plan: Mapping[str, Any]) -> None:
        self._assumed: dict[str, str] = dict(plan.get("assumed") or {})
        names: list[str] = list(plan.get("guessed") or ())
        values = [self._assumed.get(name) for name in names]
        either = all(value in ("True", "False") for value in values) and not plan.get("stand_ins")
        self._names = names if either and len(names) <= _MOST and plan["kind"] == "kernel" else []

    def others(self, script: str, twin: str | None) -> list[Guess]:
        """The scripts with the other values; empty where nothing is guessed, or something that has more than two."""
        if not self._names:
            return []
        found = []
        for values in itertools.product(("True", "False"), repeat=len(self._names)):
            assumed = self._assumed | dict(zip(self._names, values, strict=True))
            if assumed == self._assumed:
                continue
            text, other = self._with(script, assumed), self._with(twin, assumed) if twin is not None else None
            if text is None or (twin is not None and other is None):
                return []
            found.append(Guess(text, other, assumed))
        return found

    def _with(self, text: str, assumed: Mapping[str, str]) -> str | None:
        """``text`` with the values ``assumed``; None where it is not clear which of its lines says them."""
        for name in self._names:
            line = re.compile(rf"^({re.escape(name)}(?:_\d+)?) = {self._assumed[name]}$", re.MULTILINE)
            if len(line.findall(text)) != 1:
                return None
            text = line.sub(rf"\1 = {assumed[name]}", text)
        return text


def either(verdict: Mapping[str, Any], plan: Mapping[str, Any]) -> dict[str, Any]:
    """``verdict``, which is that of all the scripts."""
    guessed = plan["guessed"]
    words = [f"`{name}` = {value}" for name, value in plan["assumed"].items() if name not in guessed]
    words += [f"either value of `{name}`" for name in guessed]
    return {**verdict, "detail": f"{verdict['detail']} (with {', '.join(words)})"}
