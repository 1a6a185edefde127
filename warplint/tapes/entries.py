"""Entry points: where host code starts to run, and which runs are made from there."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from warplint.ir import syntax as ir
from warplint.ir.spans import Location, Span
from warplint.records import dataclass
from warplint.source.project import Definition, Module, Project
from warplint.tapes import classes, generators, hostdata, members, tables, tapes
from warplint.tapes.candidates import candidates, openers, opens_tapes
from warplint.tapes.frames import HostError, OutOfBudget
from warplint.tapes.machine import Effects, Machine
from warplint.tapes.questions import Questions
from warplint.tapes.trace import BackwardRun, Trace
from warplint.tapes.values import BoundMethod, ClassValue, FunctionValue, GeneratorValue, Instance, Unknown, Value

#: Steps (statements and calls) of one run as it is written, of one run with smaller counts, of all runs from one entry
#: point, and of all runs for one module.
FULL_BUDGET = 2_500
RUN_BUDGET = 150_000
ENTRY_BUDGET = 150_000
#: Steps of all the runs in which one answer is turned round: what is cheap to run is run every way.
FLIP_BUDGET = 10_000
MODULE_BUDGET = 150_000
#: How many conditions of one entry point are tried the other way.
MAX_FLIPS = 8


@dataclass(frozen=True, slots=True)
class Entry:
    """A way to start a run. ``start`` does what the entry point does."""

    name: str
    start: Callable[[Machine], None]


def concerns(module: Module) -> bool:
    """Whether ``module`` opens tapes, or uses something of another module of the project that does."""
    return opens_tapes(module) or bool(openers(module))


def traces(project: Project, module: Module, effects: Effects, left_out: list[str]) -> Iterator[Trace]:
    """The traces of all runs that are made for ``module``.

    ``left_out`` gets the entry points that were not run, since the others had used up the steps of the module.
    """
    runs = _Runs(project, module, effects)
    starts = candidates(module)
    yield from runs.of(_script(module, starts))
    for start in starts:
        if id(start.node) in runs.covered:
            continue
        if runs.spent:
            left_out.append(start.qualname)
        else:
            yield from runs.of(_function(module, start, starts))


class _Runs:
    """The runs for one module. ``covered`` are the definitions that some run entered."""

    def __init__(self, project: Project, module: Module, effects: Effects) -> None:
        self.covered: set[int] = set()
        self._project = project
        self._module = module
        self._effects = effects
        self._budget = MODULE_BUDGET
        # Entry points of one module build much the same: what is too long as it is written is so in all.
        self._long = False

    @property
    def spent(self) -> bool:
        """Whether the steps of the module are used up."""
        return self._budget <= 0

    def of(self, entry: Entry) -> Iterator[Trace]:
        """The traces from one entry point: as it is, and with single answers turned round."""
        remaining = min(ENTRY_BUDGET, self._budget)
        flips: list[Location | None] = [None]
        tried: set[Location] = set()
        shrunk = self._long
        steps = 0
        while flips and remaining > 0:
            flip = flips.pop(0)
            questions = Questions(frozenset() if flip is None else frozenset({flip}))
            budget = min(RUN_BUDGET, remaining)
            machine = Machine(self._project, self._effects, budget, questions, shrunk, FULL_BUDGET)
            trace = machine.recorder.trace
            trace.entry = entry.name
            try:
                entry.start(machine)
            except (OutOfBudget, RecursionError):
                trace.finished = False
            except HostError:
                pass
            trace.shrunk = machine.shrunk
            _settle(machine, trace)
            spent = budget - max(0, machine.budget)
            remaining -= spent
            self._budget -= spent
            steps += spent
            if not shrunk and (machine.shrunk or not (trace.finished or machine.cut)):
                self._long = True
            shrunk = machine.shrunk
            if not shrunk and (machine.cut or not trace.finished) and remaining > 0:
                shrunk = True
                flips.insert(0, flip)
                continue
            self.covered |= machine.covered
            trace.steps, steps = steps, 0
            yield trace
            if flip is None:
                remaining = min(remaining, FLIP_BUDGET) if spent <= FLIP_BUDGET else 0
            for site in questions.asked:
                if site.path == self._module.path and site not in tried and len(tried) < MAX_FLIPS:
                    tried.add(site)
                    flips.append(site)


def _settle(machine: Machine, trace: Trace) -> None:
    """Arrays whose flag is a parameter that decided nothing else: it is what its default says."""
    settled: dict[int, bool] = {}
    for array in trace.arrays:
        flag = array.flag
        if array.requires_grad is None and flag is not None and machine.questions.decided(flag) is None:
            default = flag.children.get("default")
            if isinstance(default, bool):
                array.requires_grad = settled[id(array)] = default
    if settled:
        trace.records[:] = [
            replace(record, flags={**record.flags, **{key: settled[key] for key in record.flags.keys() & settled}})
            if isinstance(record, BackwardRun)
            else record
            for record in trace.records
        ]


# --- scripts ---


def _script(module: Module, starts: list[Definition]) -> Entry:
    def start(machine: Machine) -> None:
        _run_module(machine, module, "__main__")
        _finish(machine, module, starts)

    return Entry("__main__", start)


def _run_module(machine: Machine, module: Module, name: str) -> None:
    """Run what stands at the top level of a file; definitions and imports are read when they are asked for."""
    machine.started = module
    frame = machine.globals(module)
    frame.names["__name__"] = name
    machine.recorder.starts(_place(module))
    machine.recorder.enter("<module>", _place(module))
    for region in module.regions:
        if region.kind in ("assign", "other") or tables.registers(machine.project, module, region):
            machine.execute(module.read(region), frame)


def _place(module: Module) -> Location:
    return Location(module.path, Span(1, 1, 1, 1))


def _finish(machine: Machine, module: Module, starts: list[Definition]) -> None:
    """Objects that were made and given away: whoever has them calls the methods that open tapes."""
    site = _place(module)
    tapes.run_pending(machine, site)
    for definition in starts:
        if id(definition.node) in machine.covered or not definition.scope:
            continue
        for instance in list(machine.instances):
            if instance.cls.definition.node is definition.scope[-1]:
                _call_method(machine, instance, definition, site)
                break
    tapes.run_pending(machine, site)


# --- functions and methods that nobody calls ---


def _function(module: Module, definition: Definition, starts: list[Definition]) -> Entry:
    def start(machine: Machine) -> None:
        _run_module(machine, module, module.name)
        site = Location(module.path, definition.node.span)
        machine.recorder.starts(site)
        owner = definition.scope[-1] if definition.scope else None
        if owner is None:
            function = machine.definition_value(definition, None)
            args, keywords = _arguments(machine, definition)
            _give_back(machine, machine.call(function, args, keywords, site), site)
        elif isinstance(owner, ir.ClassDef):
            cls = machine.definition_value(Definition(module, owner, definition.scope[:-1]), None)
            if isinstance(cls, ClassValue):
                _call_in_class(machine, cls, definition, site)
        _finish(machine, module, starts)

    return Entry(definition.qualname, start)


def _call_in_class(machine: Machine, cls: ClassValue, definition: Definition, site: Location) -> None:
    if any(base.endswith("autograd.Function") for base in cls.external_bases):
        found = members.class_member(machine, cls, "forward")
        if found is not None and isinstance(found[1], FunctionValue):
            args, _ = _arguments(machine, found[1].definition, skip=1)
            tapes.apply_torch_function(machine, cls, args, site)
        return
    found = members.class_member(machine, cls, "__init__")
    given: tuple[tuple[Value, ...], dict[str, Value]] = ((), {})
    if found is not None and isinstance(found[1], FunctionValue):
        given = _arguments(machine, found[1].definition, skip=1, constructor=True)
    instance = classes.construct(machine, cls, *given, site)
    for name in ("setUp", "setup_method"):
        setup = members.class_member(machine, cls, name)
        if isinstance(instance, Instance) and setup is not None and isinstance(setup[1], FunctionValue):
            machine.call(BoundMethod(setup[1], instance), (), {}, site)
    if isinstance(instance, Instance) and id(definition.node) not in machine.covered:
        _call_method(machine, instance, definition, site)


def _call_method(machine: Machine, instance: Instance, definition: Definition, site: Location) -> None:
    function = members.class_member(machine, instance.cls, definition.node.name)
    if function is None or not isinstance(function[1], FunctionValue):
        return
    marks = members.decorators(machine, function[1])
    static = "staticmethod" in marks
    args, keywords = _arguments(machine, definition, skip=0 if static else 1)
    callee: Value = function[1] if static else BoundMethod(function[1], instance)
    _give_back(machine, machine.call(callee, args, keywords, site), site)


def _give_back(machine: Machine, result: Value, site: Location) -> None:
    """Whoever called the entry point gets its result, and takes all that it yields."""
    if isinstance(result, GeneratorValue):
        generators.drained(machine, result)
    hostdata.note_use(machine, result, site, result=True)
    tapes.read_gradients(machine, result, "escape", site)


def _arguments(
    machine: Machine, definition: Definition, skip: int = 0, constructor: bool = False
) -> tuple[tuple[Value, ...], dict[str, Value]]:
    """Arguments for a function that nobody calls: numbers and texts have their defaults, the rest is unknown.

    A flag may be what its default says or not, and is in the end what no branch asked about (see ``_settle``); what an
    object was constructed with, nobody knows.
    """
    node = definition.node
    assert isinstance(node, ir.FunctionDef)
    args: list[Value] = []
    keywords: dict[str, Value] = {}
    for parameter in node.parameters[skip:]:
        if parameter.kind in ("*", "**"):
            keywords[parameter.kind] = Unknown(parameter.name)
            continue
        default = parameter.default
        value: Value = Unknown(parameter.name)
        if default is not None:
            known = machine.evaluate(default, machine.globals(definition.module))
            if not isinstance(known, bool):
                value = known
            elif isinstance(value, Unknown) and not constructor:
                value.children["default"] = known
        if parameter.kind == "positional":
            args.append(value)
        else:
            keywords[parameter.name] = value
    return tuple(args), keywords
