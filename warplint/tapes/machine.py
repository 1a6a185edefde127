"""The abstract machine that runs host code: its names, its questions, its budget and its trace.

One machine makes one run from one entry point. Where a condition cannot be known, the machine takes one side and
notes the question; the entry point is then run again with single answers turned round (``warplint.tapes.entries``).
So a trace is always that of one possible execution, and no two states are ever merged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

from warplint.ir import syntax as ir
from warplint.ir.effects import EffectSummary
from warplint.ir.spans import Location
from warplint.source.project import (
    UNKNOWN,
    Definition,
    External,
    Module,
    ModuleRef,
    Project,
    Resolved,
)
from warplint.source.project import Value as Bound
from warplint.tapes import calls, errors, expressions, kernels_of, statements, tables
from warplint.tapes.frames import Frame, HostError, OutOfBudget, Signal
from warplint.tapes.questions import Questions
from warplint.tapes.recorder import Recorder
from warplint.tapes.values import (
    Builtin,
    ClassValue,
    DictValue,
    ExternalValue,
    Instance,
    KernelValue,
    ListValue,
    ModuleValue,
    Unknown,
    Value,
)


def _identity(definition: Definition) -> tuple[object, ...]:
    """What tells apart the functions that a kernel is given."""
    return tuple((name, id(inner.node), _identity(inner)) for name, inner in definition.given)


Effects = Callable[[Definition], "EffectSummary | None"]

#: Interpreted calls inside one another; deeper ones give an unknown result.
MAX_DEPTH = 40
#: How often one function may be on the call stack.
MAX_RECURSION = 12
#: Steps without anything that concerns arrays, after which a run is given up.
PATIENCE = 16_000


class Machine:
    """Runs host code of ``project``. ``effects`` tells what kernels do; ``budget`` is the number of steps.

    A run that is not ``shrunk`` follows the program as it is written for ``patience`` steps. If it has met no count by
    then that would be smaller in a shrunk run, it is one up to here, and goes on as one; else it ends.
    """

    def __init__(
        self,
        project: Project,
        effects: Effects,
        budget: int,
        questions: Questions,
        shrunk: bool = False,
        patience: int = 0,
    ) -> None:
        self.project = project
        self.effects = effects
        self.budget = budget
        self.questions = questions
        #: Whether counts of steps are made smaller (see ``warplint.tapes.shrink``).
        self.shrunk = shrunk
        #: Steps that may be left when the run has been followed as it is written for long enough: from there on counts
        #: are made smaller.
        self.floor = 0 if shrunk else max(0, budget - patience)
        #: Whether a count was met that would be smaller in a run with smaller counts: such a run is another one.
        self.counts = False
        #: Whether a loop that does something with arrays was left before its end, for want of steps.
        self.cut = False
        #: Steps that were spent in loops which did nothing with arrays.
        self.idle = 0
        self.recorder = Recorder()
        #: How many interpreted calls are inside one another here.
        self._active = 0
        #: What the `try` statements with handlers around the present place handle.
        self.handlers: list[errors.Handled] = []
        #: The definitions that were run, by the identity of their nodes.
        self.covered: set[int] = set()
        self.instances: list[Instance] = []
        #: The functions that run, outermost first, each with the call as it is written.
        self.callers: list[tuple[Definition, ir.Call | None]] = []
        #: The call that is being made, as it is written.
        self.written: ir.Call | None = None
        # How many records there were when a function was last called, and the steps that were left when they came.
        self._records = 0
        self._last = budget
        self._globals: dict[Module, Frame] = {}
        self._modules: dict[Module, ModuleValue] = {}
        self._functions: dict[tuple[int, int], Value] = {}
        self._pure: dict[tuple[str, int], tuple[Unknown, object]] = {}
        self._qualnames: dict[int, str] = {}
        self._summaries: dict[object, EffectSummary | None] = {}
        #: Functions that were made kernels of by a call, by the identity of their nodes: the same with the decorator.
        self.marked: dict[int, ir.FunctionDef] = {}
        # How often each function is on the call stack, by the identity of its node.
        self._depths: dict[int, int] = {}
        #: Contexts of torch functions whose backward has not run yet: pairs of class and context.
        self.pending: list[tuple[ClassValue, Value]] = []
        #: The module whose code is run.
        self.started: Module | None = None
        #: What makes the class that a metaclass is asked to make.
        self.making: list[Builtin] = []
        #: Classes whose subclasses have been made, by identity.
        self.completed: set[int] = set()

    # --- steps ---

    def tick(self, cost: int = 1) -> None:
        """Count steps; raises OutOfBudget when there are none left."""
        self.budget -= cost
        if self.budget < self.floor:
            self.reached()

    def reached(self) -> None:
        """The steps are used up, or the patience with a run as it is written: go on with smaller counts, if that is
        the same run so far; raises OutOfBudget where it is not."""
        if self.budget < 0 or self.counts or self.cut:
            raise OutOfBudget
        self.shrunk, self.floor = True, 0

    def fails(self, error: str) -> None:
        """What is done here raises an error of Python's own, if a handler names it."""
        if self.handlers and errors.asks_for(self.handlers, error):
            raise HostError(error)

    def evaluate(self, node: ir.Expr, frame: Frame) -> Value:
        """The value of an expression."""
        return expressions.code(node, frame.module.path)(self, frame)

    def execute(self, body: tuple[ir.Stmt, ...], frame: Frame) -> Signal:
        """Run statements; the signal says how they ended."""
        return statements.block(body, frame.module.path).run(self, frame)

    def call(
        self,
        function: Value,
        args: tuple[Value, ...],
        keywords: dict[str, Value],
        site: Location,
        node: ir.Call | None = None,
    ) -> Value:
        """Call any value. ``node`` is the call as it is written, None where the machine itself calls."""
        self.written = node
        return calls.call(self, function, args, keywords, site)

    # --- places ---

    def location(self, node: ir.Node, frame: Frame) -> Location:
        return Location(frame.module.path, node.span)

    def run(self, definition: Definition, site: Location, frame: Frame) -> Signal:
        """Run the body of a function that was called at ``site``; the signal says how it ended."""
        node = definition.node
        depths, key = self._depths, id(node)
        before = depths.get(key, 0)
        self._active += 1
        depths[key] = before + 1
        self.recorder.enter(self._qualname(definition), site)
        written = self.written
        self.callers.append((definition, written if written is not None and written.span == site.span else None))
        self.covered.add(key)
        records = len(self.recorder.trace.records)
        if records != self._records:
            self._records, self._last = records, self.budget
        elif self._last - self.budget > PATIENCE:
            raise OutOfBudget
        try:
            return statements.block(node.body, definition.module.path).run(self, frame)
        finally:
            self._active -= 1
            depths[key] = before
            self.callers.pop()
            self.recorder.leave()

    def _qualname(self, definition: Definition) -> str:
        if not definition.scope:
            return definition.node.name
        known = self._qualnames.get(id(definition.node))
        if known is None:
            known = self._qualnames[id(definition.node)] = definition.qualname
        return known

    @contextmanager
    def suspended(self, definition: Definition) -> Iterator[None]:
        """The time that the caller's code runs inside an activation (the body of a ``with`` over a generator)."""
        place, caller = self.recorder.leave(), self.callers.pop()
        key = id(definition.node)
        self._active -= 1
        self._depths[key] -= 1
        try:
            yield
        finally:
            self._active += 1
            self._depths[key] += 1
            self.callers.append(caller)
            self.recorder.enter(*place)

    def may_enter(self, definition: Definition) -> bool:
        """Whether the call stack allows one more call of ``definition``."""
        if self._active >= MAX_DEPTH:
            return False
        return self._depths.get(id(definition.node), 0) < MAX_RECURSION

    # --- names ---

    def lookup(self, name: str, frame: Frame) -> Value:
        """What ``name`` means in ``frame``."""
        found = frame.find(name)
        if found is not None:
            return found.names[name]
        return self.global_name(frame.module, name)

    def bind(self, name: str, value: Value, frame: Frame) -> None:
        """Assign a name, where Python would."""
        if frame.outer and name in frame.outer:
            owner = frame.parent.find(name) if frame.parent is not None else None
            (owner or self.globals(frame.module)).names[name] = value
        else:
            frame.names[name] = value

    def globals(self, module: Module) -> Frame:
        """The frame of a module's own names."""
        found = self._globals.get(module)
        if found is None:
            found = self._globals[module] = Frame(module, (), {}, None, "module")
        return found

    def global_name(self, module: Module, name: str) -> Value:
        """A module-level name: what has run so far, or else what the project says of it."""
        frame = self._globals.get(module)
        names = (frame or self.globals(module)).names
        if name in names:
            return names[name]
        if name == "__name__":
            return module.name
        if name == "__file__":
            return str(module.path)
        names[name] = Unknown(name)  # seen by whatever the value refers to in a circle
        resolved = self.project.member(module, name)
        if resolved is UNKNOWN and not module.bindings(name) and not module.bindings("*"):
            value: Value = ExternalValue(name) if expressions.is_builtin(name) else names[name]
        else:
            value = self.resolved(resolved, name)
        names[name] = value
        if isinstance(value, (DictValue, ListValue)) and isinstance(resolved, Bound):
            tables.complete(self, resolved.module, name)
        elif isinstance(value, Instance) and isinstance(resolved, Bound):
            tables.complete_object(self, resolved)
        return names[name]

    def resolved(self, found: Resolved, hint: str) -> Value:
        """The value of what the project resolved a name to."""
        if isinstance(found, External):
            return expressions.external(found.name)
        if isinstance(found, ModuleRef):
            return self.module_value(found.module)
        if isinstance(found, Definition):
            if not found.scope:
                return self.definition_value(found, None)
            return Unknown(hint)
        if isinstance(found, Bound) and not found.scope:
            try:
                return self.evaluate(found.expr, self.globals(found.module))
            except HostError:
                return Unknown(hint)
        return Unknown(hint)

    def module_value(self, module: Module) -> ModuleValue:
        found = self._modules.get(module)
        if found is None:
            found = self._modules[module] = ModuleValue(module)
        return found

    def definition_value(self, definition: Definition, closure: Frame | None) -> Value:
        """The function, kernel or class that a definition makes, its decorators applied."""
        key = (id(definition.node), id(closure) if closure is not None else 0)
        found = self._functions.get(key)
        if found is None or closure is not None:
            found = self._functions[key] = calls.define(self, definition, closure)
        return found

    def pure(self, name: str, about: object = None) -> Unknown:
        """The one unknown result of an external call that gives the same each time (for the object ``about``).

        ``name`` gets into programs, whose answers are stored: it must be the same in every run.
        """
        key = (name, id(about))
        found = self._pure.get(key)
        if found is None:
            # the object is kept, or another could get its identity
            found = self._pure[key] = (Unknown(name), about)
        return found[0]

    def summary(self, kernel: KernelValue) -> EffectSummary | None:
        """What a kernel does to its arguments, None if that is not known."""
        definition = kernels_of.with_given(kernel.definition, kernel.closure)
        key = (id(definition.node), _identity(definition))
        if key not in self._summaries:  # the same kernels are launched again and again
            self._summaries[key] = self.effects(definition)
        found = self._summaries[key]
        if found is None or kernel.backward is None:
            return found
        return replace(found, backward=kernel.backward, level="kernel")
