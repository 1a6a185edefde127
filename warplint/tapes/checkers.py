"""Checkers of Warp that do not see what they are asked about: the fact ``checker-blind-spot``."""

from __future__ import annotations

from collections.abc import Iterator

from warplint.ir.facts import Fact, Label
from warplint.tapes.launches import StructSnapshot
from warplint.tapes.stories import called_from
from warplint.tapes.trace import Checked, CustomAdjoint, Launched, Trace, TrackerSet
from warplint.tapes.values import ArrayValue


def facts(trace: Trace) -> Iterator[Fact]:
    """The facts of one trace."""
    launched: Launched | None = None
    for position, record in enumerate(trace.records):
        if isinstance(record, Launched) and launched is None:
            launched = record
        elif isinstance(record, TrackerSet) and launched is not None:
            why = f"kernels of the module of `{launched.kernel.qualname}` were compiled without it already"
            also = Label(launched.context.site, "the first launch compiles the module")
            yield _fact(record, "verify_autograd_array_access", launched.kernel.qualname, why, also)
        elif isinstance(record, Checked):
            if record.tape is None and record.struct:
                why = "it does not look at arrays in structs, and passes without them"
                yield _fact(record, record.checker, record.kernel, why, None)
            elif record.tape is not None:
                found = _skipped(trace, position, record.tape)
                if found is not None:
                    yield _fact(
                        record, record.checker, found[0], found[1], Label(found[2].context.site, "recorded here")
                    )


def _skipped(trace: Trace, position: int, tape: int) -> tuple[str, str, Launched | CustomAdjoint] | None:
    """The first of what a tape holds that ``gradcheck_tape`` skips: its name, and why."""
    for record in trace.records[:position]:
        if isinstance(record, CustomAdjoint) and record.tape == tape:
            return "record_func", "it passes over functions that were recorded by hand", record
        if not isinstance(record, Launched) or not record.recorded or record.context.tape != tape:
            continue
        name = record.kernel.qualname
        if record.summary is not None and record.summary.backward is False:
            return name, f"it passes over `{name}`, which is compiled without an adjoint", record
        if any(_holds_gradients(value) for value in record.arguments):
            return name, f"it does not look at the arrays in the struct that `{name}` is given", record
    return None


def _holds_gradients(value: object) -> bool:
    return isinstance(value, StructSnapshot) and any(
        isinstance(inner, ArrayValue) and inner.requires_grad is True for inner in value.fields.values()
    )


def _fact(record: Checked | TrackerSet, checker: str, kernel: str, why: str, also: Label | None) -> Fact:
    place = record.context
    labels = (
        Label(place.site, why),
        *called_from(place.stack, "called from here"),
        *([also] if also is not None else []),
    )
    attributes = {"checker": checker, "kernel": kernel, "why": why}
    return Fact("checker-blind-spot", place.site, attributes, labels, place.definition, "taped")
