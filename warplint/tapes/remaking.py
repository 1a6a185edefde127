"""The program of a finding again, from source text that was edited since."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from warplint.ir import programs as ir
from warplint.ir.spans import Location
from warplint.source.project import Module, Project
from warplint.tapes import entries, programs
from warplint.tapes.duplicates import alike
from warplint.tapes.machine import Effects
from warplint.tapes.trace import Allocated, BackwardRun, Trace
from warplint.tapes.values import ArrayValue, Storage

#: Where a place of the old text is in the new one.
Moving = Callable[[Location], Location]

# Where gradients are zeroed and a tape is closed may be otherwise than before.
_FREE = (ir.ZeroGradients, ir.TapeEnd)


def again(
    project: Project, modules: Iterable[Module], program: ir.TapeProgram, moving: Moving, effects: Effects
) -> ir.TapeProgram | None:
    """``program`` as the modules of ``project`` run it now: the same operations at the places where they are now.

    Gradients may be zeroed and tapes closed elsewhere than before, and allocations and launches may be made otherwise.
    A copy may have become a clone, if all that took the array that was copied to takes the clone from then on. A launch
    whose text is gone is not made any more.
    None where no run does the same.
    """
    for module in modules:
        if not entries.concerns(module):
            continue
        for trace in entries.traces(project, module, effects, []):
            found = _from(trace, program, moving)
            if found is not None:
                return found
    return None


def _from(trace: Trace, program: ir.TapeProgram, moving: Moving) -> ir.TapeProgram | None:
    reads = [operation for operation in program.operations if isinstance(operation, ir.ReadGradient)]
    before = [operation for operation in program.operations if not isinstance(operation, ir.ReadGradient)]
    sweeps = [operation for operation in before if isinstance(operation, ir.Backward)]
    tapes = {operation.tape for operation in sweeps}
    if not reads or not sweeps:
        return None
    runs = [
        (position, record)
        for position, record in enumerate(trace.records)
        if isinstance(record, BackwardRun) and record.tape in tapes
    ][: len(sweeps)]
    if len(runs) < len(sweeps):
        return None
    end = runs[-1][0]
    read, swept = moving(reads[-1].site), moving(sweeps[-1].site)
    if read != swept:
        later = (at for at in range(end + 1, len(trace.records)) if _begins(trace.records[at].context.site, read))
        found = next(later, None)
        if found is None:
            return None
        end = found
    goals = {record.loss.storage for _, record in runs if record.loss is not None}
    goals |= _cloned(trace, before, moving)
    operations = programs.operations(trace.records[: end + 1], goals, tapes)
    pairs = _paired(trace, before, operations, moving) if operations is not None else None
    if pairs is None:
        return None
    if not pairs.clones:
        flagged = () if pairs.gone else program.flagged
        return replace(program, operations=(*_chosen(pairs, program.flagged), *reads), flagged=flagged)
    if read != swept or pairs.gone:
        return None  # the gradient that is read is that of another array now
    return replace(
        program,
        operations=(
            *_chosen(pairs, program.flagged),
            *(replace(one, array=_named(one.array, pairs.made)) for one in reads),
        ),
        inputs=tuple(pairs.made.get(number, number) for number in program.inputs),
        objective=_named(program.objective, pairs.names) if program.objective is not None else None,
    )


def _begins(site: Location, other: Location) -> bool:
    return site.path == other.path and site.span[:2] == other.span[:2]


def _within(site: Location, other: Location) -> bool:
    return site.path == other.path and site.span.covers(other.span)


def _is_empty(site: Location) -> bool:
    return site.span[:2] == site.span[2:]


@dataclass(slots=True)
class _Pairs:
    """The operations as they are now, each with what it was before; a clone in place of a copy is new.

    ``made``: the numbers that arrays have now, by those that they had. ``names``: the same for what has the name of an
    array at this point, which a clone may be. ``clones`` and ``gone`` count what is made otherwise, and what is not.
    """

    operations: list[tuple[ir.Operation | None, ir.Operation]] = field(default_factory=list)
    made: dict[int, int] = field(default_factory=dict)
    names: dict[int, int] = field(default_factory=dict)
    clones: int = 0
    gone: int = 0


def _cloned(trace: Trace, before: Iterable[ir.Operation], moving: Moving) -> set[Storage]:
    """The clones that are made where there were copies, and the arrays that were copied to."""
    before = list(before)
    copies = [(moving(operation.site), operation.target) for operation in before if isinstance(operation, ir.Copy)]
    made = [record for record in trace.records if isinstance(record, Allocated)] if copies else []
    found: set[Storage] = set()
    targets: set[int] = set()
    for record in made:
        site = record.array.storage.site
        here = {target.array for place, target in copies if _within(place, site)}
        if here and record.array.storage.source == "clone":
            found.add(record.array.storage)
            targets |= here
    sites = [moving(one.site) for one in before if isinstance(one, ir.Allocate) and one.array in targets]
    for record in made:
        if any(_begins(site, record.array.storage.site) for site in sites):
            found.add(record.array.storage)
    return found


def _paired(trace: Trace, before: Iterable[ir.Operation], now: Iterable[ir.Operation], moving: Moving) -> _Pairs | None:
    """What does the same at the same places, but for what may differ; None where something else is done."""
    pairs = _Pairs()
    kept = []
    for operation in before:
        if isinstance(operation, ir.Launch) and _is_empty(moving(operation.site)):
            pairs.gone += 1
        elif not isinstance(operation, _FREE):
            kept.append(operation)
    olds = iter(kept)
    rest = list(now)
    while rest:
        new = rest.pop(0)
        if isinstance(new, _FREE):
            pairs.operations.append((None, new))
            continue
        old = next(olds, None)
        if old is None:
            return None
        if isinstance(old, ir.Copy) and isinstance(new, ir.Allocate):
            copy = rest.pop(0) if rest else None
            if not isinstance(copy, ir.Copy) or not _replaces(trace, old, new, copy, moving, pairs):
                return None
            pairs.operations += [(None, new), (old, copy)]
            pairs.names[old.target.array] = new.array
            pairs.clones += 1
        elif type(old) is type(new) and _begins(moving(old.site), new.site) and _correspond(old, new, pairs):
            pairs.operations.append((old, new))
        else:
            return None
    return pairs if next(olds, None) is None else None


def _correspond(old: ir.Operation, new: ir.Operation, pairs: _Pairs) -> bool:
    """Whether the arrays of two operations are those that have the same names."""
    if isinstance(old, ir.Allocate) and isinstance(new, ir.Allocate):
        pairs.made[old.array] = pairs.names[old.array] = new.array
        return bool(pairs.clones) or old.array == new.array
    if not pairs.clones:
        return True
    return [_named(one, pairs.names) for one in _references(old)] == list(_references(new))


def _replaces(trace: Trace, old: ir.Copy, clone: ir.Allocate, copy: ir.Copy, moving: Moving, pairs: _Pairs) -> bool:
    """Whether a clone holds what an array held after it was copied to, and is an array like that one."""
    place = moving(old.site)
    if clone.source != "clone" or not _within(place, clone.site) or copy.site != clone.site:
        return False
    if old.target.view or copy.target != ir.ArrayRef(clone.array) or not old.recorded or not copy.recorded:
        return False
    if copy.source.view or copy.source != _named(old.source, pairs.names):
        return False
    arrays = {array.storage.number: array for array in trace.arrays if not array.view}
    target, source = arrays.get(_named(old.target, pairs.names).array), arrays.get(copy.source.array)
    return target is not None and source is not None and _is_like(target, source, arrays)


def _is_like(one: ArrayValue, other: ArrayValue, arrays: Mapping[int, ArrayValue]) -> bool:
    """Whether two arrays are surely of one type and shape, as far as possible on one device."""
    if one.dtype is None or one.dtype != other.dtype or one.storage.device != other.storage.device:
        return False
    if one.shape is not None and other.shape is not None and alike(one.shape, other.shape):
        return True
    return _first_of(one, arrays) is _first_of(other, arrays)


def _first_of(array: ArrayValue, arrays: Mapping[int, ArrayValue]) -> Storage:
    """The memory that an array was made after."""
    storage = array.storage
    while storage.like is not None and storage.like in arrays:
        storage = arrays[storage.like].storage
    return storage


def _named(array: ir.ArrayRef, names: Mapping[int, int]) -> ir.ArrayRef:
    """A reference to the array that has the name now; gradients have the name of their arrays."""
    number = array.array
    own = number if number >= 0 else -1 - number
    now = names.get(own, own)
    return replace(array, array=now if number >= 0 else -1 - now)


def _references(operation: ir.Operation) -> Iterator[ir.ArrayRef]:
    """The arrays of an operation, in their order."""
    for part in operation.__dataclass_fields__:
        yield from _inside(getattr(operation, part))


def _inside(value: object) -> Iterator[ir.ArrayRef]:
    if isinstance(value, ir.ArrayRef):
        yield value
    elif isinstance(value, tuple):
        for one in value:
            yield from _inside(one)
    elif isinstance(value, ir.StructValue):
        yield from _inside(tuple(value.fields.values()))
    elif isinstance(value, ir.HostValue):
        yield from _inside(value.parts)


def _chosen(pairs: _Pairs, flagged: tuple[int, ...]) -> Iterator[ir.Operation]:
    """The operations with what the old program had chosen for what nobody knows, or for other findings."""
    for old, new in pairs.operations:
        if isinstance(old, ir.Allocate) and isinstance(new, ir.Allocate):
            if old.requires_grad and old.array not in flagged:
                yield replace(new, requires_grad=True)
                continue
        elif isinstance(old, ir.Fill) and isinstance(new, ir.Fill) and isinstance(new.value, ir.Unknown):
            yield replace(new, value=old.value)
            continue
        yield new
