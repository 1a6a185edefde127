"""What a func does to its arguments and what its adjoint reads, for its callers; and what a kernel does, for tapes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from warplint.ir.effects import Effect, EffectSummary, Path, Rows
from warplint.kernels import activity
from warplint.kernels.activity import Activity
from warplint.kernels.execute import execute
from warplint.kernels.handwritten import needing
from warplint.kernels.instances import key
from warplint.kernels.knowledge import Knowledge
from warplint.kernels.rows import own, rows
from warplint.kernels.summary import RESULT, Summary
from warplint.kernels.touched import elements, finds, reaches
from warplint.kernels.trace import Operation, Trace
from warplint.kernels.types import NONE, UNKNOWN_TYPE, Type
from warplint.source.project import Definition


@dataclass(slots=True)
class _Seen:
    """What has been seen of one array."""

    element: Type | None = None
    reads: bool = False
    writes: bool = False
    accumulates: bool = False
    needed: bool = False
    covers: bool = False
    placed: int = 0  # the inputs that the indices of stores depend on
    reread: bool = False


@dataclass(slots=True)
class _Paths:
    """Paths to inputs as bits."""

    bits: dict[Path, int] = field(default_factory=dict)

    def bit(self, path: Path) -> int:
        return 1 << self.bits.setdefault(path, len(self.bits))

    def paths(self, mask: int) -> list[Path]:
        return [path for path, bit in self.bits.items() if mask >> bit & 1]


class Summaries:
    """Computes summaries once per definition."""

    def __init__(self, knowledge: Knowledge) -> None:
        self._knowledge = knowledge
        self._known: dict[tuple[object, ...], Summary | None] = {}
        #: The calls whose results are being asked for.
        self._asked: set[object] = set()
        knowledge.summarise = self.summary
        knowledge.returned_from = self.returned

    def summary(self, definition: Definition) -> Summary | None:
        """The summary of a func, None where it is recursive or not followed."""
        key = definition.key
        if key in self._known:
            return self._known[key]
        self._known[key] = None  # a recursive call ends here: Warp refuses those
        self._known[key] = result = self._compute(definition)
        return result

    def returned(self, definition: Definition, given: Sequence[Type]) -> Type:
        """The type of what a func returns where it is called with values of these types."""
        asked = (definition.key, tuple(map(key, given)))
        if asked in self._asked:
            return UNKNOWN_TYPE  # Warp refuses recursion
        self._asked.add(asked)
        trace = execute(self._knowledge, definition, self._knowledge.factories.closures(definition)[0], given)
        self._asked.remove(asked)
        return UNKNOWN_TYPE if trace is None else _returned(trace)

    def _compute(self, definition: Definition) -> Summary | None:
        knowledge = self._knowledge
        closure = knowledge.factories.closures(definition)[0]
        trace = execute(knowledge, definition, closure)
        if trace is None:
            return None
        summary = summarise(knowledge, trace, activity.analyse(knowledge, trace, None))
        custom = knowledge.decorations.custom_adjoint(definition)
        adjoint = execute(knowledge, custom, closure) if custom is not None else None
        return summary if adjoint is None else needing(summary, trace, adjoint)


def effect_summary(knowledge: Knowledge, trace: Trace, active: Activity, backward: bool | None) -> EffectSummary:
    """A kernel or func as the tape analysis sees it."""
    summary = summarise(knowledge, trace, active)
    return EffectSummary(
        tuple(name for name, _, _ in trace.parameters),
        summary.effects,
        frozenset((source, target) for source, target in summary.flows if target != RESULT),
        backward,
        summary.complete,
        summary.wanted,
        summary.rows if summary.complete else (),
        own=own(trace),
    )


def summarise(knowledge: Knowledge, trace: Trace, active: Activity) -> Summary:
    """The summary of a trace."""
    return _Summariser(knowledge, trace, active).run()


class _Summariser:
    def __init__(self, knowledge: Knowledge, trace: Trace, active: Activity) -> None:
        self.knowledge = knowledge
        self.trace = trace
        self.active = active
        self.paths = _Paths()
        count = len(trace.operations)
        #: For each value: the inputs that it depends on, and those that its derivative flows from.
        self.depends = [0] * count
        self.flows = [0] * count
        self.seen: dict[Path, _Seen] = {}
        self.stored: dict[Path, int] = {}
        #: What the derivative of the elements flows from that were stored in here.
        self.held: dict[tuple[object, ...], int] = {}
        self.returned = 0
        self.needs: dict[Path, int] = {}
        self.writes = False
        self.wanted: set[int] = set()
        self.repeats: set[Path] = set()
        self.replaced: set[Path] = set()

    def run(self) -> Summary:
        for _ in range(4 if self.trace.has_loops else 1):
            before = (list(self.depends), list(self.flows), dict(self.stored))
            for operation in self.trace.operations:
                self._visit(operation.index)
            if before == (self.depends, self.flows, self.stored):
                break
        for operation in self.trace.operations:
            self._needs(operation.index)
        positions = {name: position for position, (name, _, _) in enumerate(self.trace.parameters)}
        flows: set[tuple[Path, Path]] = {(path, RESULT) for path in self.paths.paths(self.returned)}
        for target, mask in self.stored.items():
            flows |= {(path, target) for path in self.paths.paths(mask)}
        differentiated = sorted({positions[source[0]] for source, _ in flows if source[0] in positions})
        stored = sorted({positions[s[0]] for s, target in flows if target != RESULT and s[0] in positions})
        needs: dict[int, set[int]] = {}
        for source, mask in self.needs.items():
            wanted = {positions[path[0]] for path in self.paths.paths(mask) if path[0] in positions}
            needs.setdefault(positions.get(source[0], -1), set()).update(wanted)
        effects = tuple(
            Effect(
                path,
                seen.reads,
                seen.writes,
                seen.accumulates,
                seen.needed,
                seen.covers,
                seen.element is not None and self.knowledge.types.differentiable(seen.element),
                frozenset(self.paths.paths(seen.placed)),
                seen.reread,
            )
            for path, seen in self.seen.items()
        )
        loaded = list(elements(self.trace, loads=True))
        return Summary(
            _returned(self.trace),
            tuple(differentiated),
            {position: tuple(sorted(wanted)) for position, wanted in needs.items()},
            tuple(stored),
            self.writes,
            frozenset(self.repeats - self.replaced),
            effects,
            frozenset(flows),
            self.trace.complete,
            self.trace,
            tuple(element for _, element in elements(self.trace, loads=False)),
            tuple(element for _, element in loaded),
            frozenset(element for load, element in loaded if reaches(self.trace, load, self.wanted)),
            frozenset((source, path) for source, mask in self.needs.items() for path in self.paths.paths(mask)),
            finds(self.trace),
            self._rows(),
        )

    def _rows(self) -> tuple[Rows, ...]:
        loads = (operation.index for operation in self.trace.operations if operation.name == "load")
        stores = any(operation.name == "store" for operation in self.trace.operations)
        wanted = (load for load in loads if reaches(self.trace, load, self.wanted))
        return rows(self.trace, wanted) if stores else ()

    # --- paths ---

    def path(self, index: int) -> Path | None:
        """The path from a parameter to an array value, None for anything else."""
        root, fields = self.trace.root(index)
        operation = self.trace.operations[root]
        return (str(operation.detail), *fields) if operation.name == "parameter" else None

    def _see(self, path: Path, index: int) -> _Seen:
        seen = self.seen.get(path)
        if seen is None:
            seen = self.seen[path] = _Seen(self.trace.operations[index].type.element)
        return seen

    # --- one operation ---

    def _visit(self, index: int) -> None:
        operation = self.trace.operations[index]
        operands = operation.operands
        name = operation.name
        depends = 0
        for operand in operands:
            depends |= self.depends[operand]
        flows = 0
        if name == "parameter":
            depends = self.paths.bit((str(operation.detail),))
            if operation.type.kind != "array" and self.knowledge.types.differentiable(operation.type):
                flows = depends
        elif name in ("load", "view", "field"):
            path = self.path(operands[0]) if operation.type.kind != "array" else None
            if name == "load":
                flows = self._load(operation.index, path)
                if path is not None:
                    depends |= self.paths.bit(path)
            elif name == "field":
                flows = self.flows[operands[0]]
        elif name in ("store", "accumulate", "atomic"):
            self._store(index)
        elif name == "call":
            flows = self._call(index)
        elif name == "return":
            for operand in operands:
                self.returned |= self.flows[operand]
        else:
            for position in activity.receives(self.knowledge, operation):
                flows |= self.flows[operands[position]]
            self._arrays_of_builtin(index)
        if not self.active.varied[index]:
            flows = 0
        self.depends[index] |= depends
        self.flows[index] |= flows

    def _load(self, index: int, path: Path | None) -> int:
        operation = self.trace.operations[index]
        if path is None:
            return self.flows[self.trace.root(operation.operands[0])[0]]
        seen = self._see(path, operation.operands[0])
        seen.reads = True
        held = self.held.get(self._element(operation.operands), 0)
        seen.reread |= held != 0
        return self.paths.bit(path) | held

    def _element(self, operands: tuple[int, ...]) -> tuple[object, ...]:
        """What is the same for two accesses of one element; ``operands`` are an array and indices."""
        operations = self.trace.operations
        return (*self.trace.root(operands[0]), *(operations[operand].number for operand in operands[1:]))

    def _arrays_of_builtin(self, index: int) -> None:
        operation = self.trace.operations[index]
        if operation.name in ("loop", "exit", "phi", "copy", "setfield", "construct", "where"):
            return
        for operand in operation.operands:
            if self.trace.operations[operand].type.kind != "array":
                continue
            path = self.path(operand)
            if path is None:
                continue
            seen = self._see(path, operand)
            if operation.name in ("tile_store",):
                seen.writes = True
                self.writes = True
                self.stored[path] = self.stored.get(path, 0) | self._given(operation, operand)
            elif operation.name in ("tile_atomic_add", "tile_scatter_add"):
                seen.accumulates = True
                self.writes = True
                self.stored[path] = self.stored.get(path, 0) | self._given(operation, operand)
            elif operation.name.startswith("tile_load"):
                seen.reads = True
                self.flows[index] |= self.paths.bit(path)
            elif operation.name not in ("len",):
                seen.reads = True

    def _given(self, operation: Operation, target: int) -> int:
        """What flows into the array that a tile is stored to; the tile may stand before or after its offset."""
        found = 0
        for operand in operation.operands:
            if operand != target:
                found |= self.flows[operand]
        return found

    def _store(self, index: int) -> None:
        operation = self.trace.operations[index]
        path = self.path(operation.operands[0])
        if path is None:
            root, _ = self.trace.root(operation.operands[0])
            self.flows[root] |= self.flows[operation.operands[-1]]  # a scratch array
            return
        seen = self._see(path, operation.operands[0])
        for place in operation.operands[1:-1]:
            seen.placed |= self.depends[place]
        self.writes = True
        element, given = self._element(operation.operands[:-1]), self.flows[operation.operands[-1]]
        # Before a branch or loop came to it, the element may have held something else.
        kept = self.held.get(element, 0) if operation.name != "store" or operation.frame != 0 else 0
        self.held[element] = given | kept
        if operation.name == "accumulate":
            seen.accumulates = True
            self.repeats.add(path)
        elif operation.name == "store":
            own = bool(self.depends[operation.operands[-1]] & self.paths.bit(path)) and self._from_itself(index)
            (self.repeats if own else self.replaced).add(path)
            if not seen.reads and not seen.writes and self._unconditional(operation.frame):
                seen.covers = not getattr(operation.detail, "partial", False)
            seen.writes = True
        else:
            seen.reads = seen.writes = True
        self.stored[path] = self.stored.get(path, 0) | self.flows[operation.operands[-1]]

    def _from_itself(self, index: int) -> bool:
        """Whether an element is computed from what it held before: not so if it is computed from other elements."""
        operations = self.trace.operations

        def element(array: int, indices: tuple[int, ...]) -> object:
            return (self.trace.root(array), tuple(operations[operand].number for operand in indices))

        array, *indices, value = operations[index].operands
        target = element(array, tuple(indices))
        stack, seen = [value], set[int]()
        while stack:
            at = stack.pop()
            if at in seen:
                continue
            seen.add(at)
            operation = operations[at]
            if operation.name == "load" and element(operation.operands[0], operation.operands[1:]) == target:
                return True
            stack.extend(operation.operands)
        return False

    def _unconditional(self, frame: int) -> bool:
        return all(around.kind in ("body", "rest") for around in self.trace.around(frame))

    def _call(self, index: int) -> int:
        operation = self.trace.operations[index]
        assert isinstance(operation.detail, Definition)
        summary = self.knowledge.summarise(operation.detail)
        if summary is None:
            return 0
        places = self._places(operation)

        def outer(path: Path) -> Path | None:
            return self._outer(places, path)

        def mask(path: Path) -> int:
            return self._mask(places, path)

        for effect in summary.effects:
            there = outer(effect.path)
            if there is None:
                continue
            seen = self.seen.get(there)
            if seen is None:
                seen = self.seen[there] = _Seen(_FLOATING if effect.differentiable else None)
            first = not (seen.reads or seen.writes or seen.accumulates)
            if first and effect.covers and self._unconditional(operation.frame):
                seen.covers = True
            seen.reads |= effect.reads
            seen.writes |= effect.writes
            seen.accumulates |= effect.accumulates
            seen.needed |= effect.needed
            seen.reread |= effect.reread
            for path in effect.placed:
                operand = places.get(path[0])
                if operand is not None:
                    above = outer(path)
                    seen.placed |= self.depends[operand] if above is None else self.paths.bit(above)
        self.writes |= summary.writes
        if summary.repeats and self.knowledge.decorations.custom_replay(operation.detail) is None:
            self.repeats.update(there for there in map(outer, summary.repeats) if there is not None)
        flows = 0
        for source, target in summary.flows:
            if target == RESULT:
                flows |= mask(source)
            else:
                there = outer(target)
                if there is not None:
                    self.stored[there] = self.stored.get(there, 0) | mask(source)
        return flows

    def _places(self, operation: Operation) -> dict[str, int]:
        """The operands of a call by the names of the func's parameters."""
        names = [parameter.name for parameter in getattr(operation.detail.node, "parameters", ())]  # type: ignore[attr-defined]
        return dict(zip(names, operation.operands, strict=False))

    def _outer(self, places: dict[str, int], path: Path) -> Path | None:
        """The path here of what is ``path`` in a called func; None for what is none of the own parameters."""
        operand = places.get(path[0])
        base = None if operand is None else self.path(operand)
        return None if base is None else (*base, *path[1:])

    def _mask(self, places: dict[str, int], path: Path) -> int:
        """What flows into ``path`` of a called func."""
        operand = places.get(path[0])
        if operand is None:
            return 0
        if self._is_array(operand, path):
            there = self._outer(places, path)
            return self.paths.bit(there) if there is not None else self.flows[self.trace.root(operand)[0]]
        return self.flows[operand]

    # --- what adjoints read ---

    def _needs(self, index: int) -> None:
        operation = self.trace.operations[index]
        operands = operation.operands
        if operation.name in ("store", "accumulate", "atomic"):
            if self.active.varied[operands[-1]]:
                self._wanted(operands[1:-1], self.flows[operands[-1]])
            return
        if operation.name == "call":
            self._needs_of_call(index)
            return
        if not self.active.useful[index]:
            return
        for position in activity.receives(self.knowledge, operation):
            operand = operands[position]
            if not self.active.varied[operand]:
                continue
            mask = self.flows[operand] if operation.name != "load" else self.flows[index]
            wanted = [operands[at] for at in activity.needs(self.knowledge, operation, position)]
            self._wanted(tuple(wanted), mask)

    def _needs_of_call(self, index: int) -> None:
        """What the adjoint of a func reads, array by array of the structs that it is given."""
        operation = self.trace.operations[index]
        assert isinstance(operation.detail, Definition)
        summary = self.knowledge.summarise(operation.detail)
        places = self._places(operation)
        for source, path in sorted(summary.wanted) if summary is not None else ():
            given, operand = places.get(source[0]), places.get(path[0])
            if given is None or operand is None or (len(source) == 1 and not self.active.varied[given]):
                continue
            there = self._outer(places, path) if self._is_array(operand, path) else None
            depends = self.depends[operand] if there is None else self.paths.bit(there)
            self._want((operand,), depends, self._mask(places, source))

    def _is_array(self, operand: int, path: Path) -> bool:
        """Whether ``path`` of a func's parameter is an array: the paths to what structs hold are all of arrays."""
        return len(path) > 1 or self.trace.operations[operand].type.kind == "array"

    def _wanted(self, values: tuple[int, ...], mask: int) -> None:
        depends = 0
        for value in values:
            depends |= self.depends[value]
        self._want(values, depends, mask)

    def _want(self, values: tuple[int, ...], depends: int, mask: int) -> None:
        if not depends:
            return
        self.wanted.update(values)
        for path in self.paths.paths(mask):
            self.needs[path] = self.needs.get(path, 0) | depends
        for path in self.paths.paths(depends):
            seen = self.seen.get(path)
            if seen is not None:
                seen.needed = True


_FLOATING = Type("float")


def _returned(trace: Trace) -> Type:
    """The type of what a body returns."""
    returned = NONE
    for index in trace.returns:
        returned = _known(returned, trace.operations[index].type)
    return returned if trace.returns or trace.complete else UNKNOWN_TYPE


def _known(one: Type, other: Type) -> Type:
    """The type of what several ``return`` statements give: of each part, the first one that is known."""
    if one.kind == "tuple" and other.kind == "tuple" and len(one.parts) == len(other.parts):
        return replace(one, parts=tuple(_known(*pair) for pair in zip(one.parts, other.parts, strict=True)))
    return other if one.kind in ("none", "unknown", "generic") else one
