"""Facts about what Warp's compiler refuses, or treats otherwise than a reader would."""

from __future__ import annotations

from collections.abc import Iterator

from warplint.ir.facts import Fact
from warplint.kernels.making import Teller
from warplint.kernels.trace import Refusal

#: Refusals that have a kind of fact of their own, by what they are called in the trace.
_KINDS = {"constant-mutated": "constant-mutated-in-loop", "volume-gradient": "volume-gradient-shape"}


class Contracts(Teller):
    """Makes these facts of one trace."""

    def all(self) -> Iterator[Fact]:
        """All of them."""
        seen: set[tuple[object, str]] = set()
        for refusal in self._trace.refusals:
            kind = _KINDS.get(refusal.what, "unsupported-in-kernel")
            if (refusal.span, kind) not in seen:
                seen.add((refusal.span, kind))
                yield self._refused(kind, refusal)

    def _refused(self, kind: str, refusal: Refusal) -> Fact:
        code = self._definition.module.lines[refusal.span.line - 1][refusal.span.column - 1 :]
        if refusal.span.line == refusal.span.end_line:
            code = self._text(refusal.span)
        attributes: dict[str, object] = {"code": code.partition("  #")[0][:80], "reason": refusal.reason}
        if kind == "unsupported-in-kernel":
            attributes["what"] = refusal.what
        return self._fact(kind, refusal.span, attributes, [self._label(refusal.span, "the compiler refuses this")])
