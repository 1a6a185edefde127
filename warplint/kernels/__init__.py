"""Analysis of the bodies of kernels and funcs: what their adjoints get wrong, and what they do to their arguments.

``analyse`` establishes facts, ``effects`` summarises a definition for the tape analysis. Both keep what they know of a
project as long as the project lives.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path as FilePath

from warplint.ir.effects import EffectSummary, KernelUse
from warplint.ir.facts import Fact
from warplint.kernels import absent, activity, contracts, launching
from warplint.kernels.adjoint_facts import AdjointFacts, declared
from warplint.kernels.callers import Callers
from warplint.kernels.constants import Closure
from warplint.kernels.contracts import Contracts, unreached
from warplint.kernels.execute import execute
from warplint.kernels.facts import Facts
from warplint.kernels.knowledge import Knowledge
from warplint.kernels.launching import Launching
from warplint.kernels.numeric import Place
from warplint.kernels.options import Options
from warplint.kernels.relevant import Relevant
from warplint.kernels.summaries import Summaries, effect_summary
from warplint.kernels.trace import Trace
from warplint.kernels.unselected import selects_given
from warplint.kernels.users import Users
from warplint.source.project import Definition, Module, Project
from warplint.source.regions import Region


class Analysis:
    """The kernel analysis of one project."""

    def __init__(self, project: Project) -> None:
        self.knowledge = Knowledge(project)
        self.summaries = Summaries(self.knowledge)
        self.callers = Callers(self.knowledge)
        self.launching = Launching(self.knowledge)
        self.users = Users(project, self.knowledge.decorations)
        self._relevant = Relevant(project, self.knowledge.decorations)
        self._effects: dict[tuple[object, ...], EffectSummary | None] = {}

    def regions(self, module: Module) -> Iterator[Region]:
        """The regions of a module that can hold a fact, in order."""
        return self._relevant.regions(module)

    def module(self, module: Module, only: Region | None = None, kinds: frozenset[str] | None = None) -> Iterator[Fact]:
        """The facts of every kernel and func in a module, or in one of its ``regions``; see ``analyse``."""
        contracted = kinds is None or bool(kinds & contracts.KINDS)
        for region in self.regions(module) if only is None else (only,):
            for definition in module.within(region):
                role = self.knowledge.decorations.role(definition)
                if role in ("kernel", "func"):
                    yield from self._definition(definition, role == "kernel")
                    if contracted:
                        yield from self._contracts(definition)
                elif role in ("func_grad", "func_replay"):
                    yield from declared(self.knowledge, self.callers, definition, role)

    def _definition(self, definition: Definition, kernel: bool) -> Iterator[Fact]:
        options = self.knowledge.decorations.options(definition)
        if options.backward is not True and kernel:
            return
        if not kernel and self.knowledge.decorations.custom_adjoint(definition) is not None:
            return
        seen: set[tuple[str, object]] = set()
        for closure in self.knowledge.factories.closures(definition):
            for fact in self._closed(definition, kernel, closure, options):
                key = (fact.kind, fact.location)
                if key not in seen:
                    seen.add(key)
                    yield fact

    def _contracts(self, definition: Definition) -> Iterator[Fact]:
        """What the compiler refuses in a kernel or func, or treats otherwise, whether it has an adjoint or not."""
        use = self.knowledge.uses.get((definition.module.path, definition.qualname))
        if use is not None and not use.taped and self.knowledge.decorations.options(definition).backward is True:
            yield unreached(definition)
        for closure in self.knowledge.factories.closures(definition)[:1]:
            trace = execute(self.knowledge, definition, closure)
            if trace is not None:
                yield from Contracts(self.knowledge, trace, closure).all()

    def _closed(self, definition: Definition, kernel: bool, closure: Closure, options: Options) -> Iterator[Fact]:
        if not kernel and options.backward is not True and not self._relevant.is_asked_for(definition):
            return
        for trace in self.callers.instances(definition, closure):
            found = list(self._facts(trace, () if kernel else None, closure, options, ()))
            if kernel or not (found or selects_given(trace)):
                yield from found
            else:
                yield from self._in_func(definition, trace, closure, options)

    def _in_func(self, definition: Definition, trace: Trace, closure: Closure, options: Options) -> Iterator[Fact]:
        """The facts of a func, as far as a kernel that is compiled with an adjoint can meet them."""
        kernels = self.callers.kernels(definition)
        differentiated = [
            kernel
            for kernel in self.callers.kernels(definition, through_adjoints=True)
            if self.knowledge.decorations.options(kernel).backward is not False
        ]
        if options.backward is not True:
            # The module is meant to run forward only: just kernels that ask for an adjoint themselves count.
            differentiated = [kernel for kernel in differentiated if self.knowledge.decorations.explicit(kernel)]
        # ``wp.grad`` runs the adjoint of a func wherever it stands.
        derived = not differentiated and self._relevant.is_derived(definition)
        if not differentiated and not derived and (kernels or options.backward is not True):
            return
        if derived:
            yield from self._facts(trace, None, closure, options, ())
            return
        if not kernels and self.users.forward_only(definition):
            return
        positions = self.callers.sources(definition)
        inputs = None if positions is None else {trace.parameters[p][2] for p in positions if p < len(trace.parameters)}
        yield from self._facts(trace, inputs, closure, options, differentiated, self.callers.places(trace))

    def _facts(
        self,
        trace: Trace,
        inputs: Iterable[int] | None,
        closure: Closure,
        options: Options,
        callers: Iterable[Definition],
        places: Sequence[Place] | None = None,
    ) -> Iterator[Fact]:
        constant = activity.without_gradient(self.knowledge, trace)
        active = activity.analyse(self.knowledge, trace, None if inputs is None else frozenset(inputs), constant)
        given = (self.knowledge, trace, active, closure, tuple(callers), options.component_overwrites, places)
        adjoints = AdjointFacts(*given)
        for fact in (*Facts(*given).all(), *adjoints.all()):
            yield absent.marked(self.knowledge, trace, fact, given[4])
        if self.knowledge.decorations.role(trace.definition) == "kernel":
            yield from adjoints.effects()
            yield from adjoints.compiled_without()

    def effects(self, definition: Definition) -> EffectSummary | None:
        """The effects of a kernel or func, None for anything else."""
        key = definition.key
        if key not in self._effects:
            self._effects[key] = self._effect_summary(definition)
        return self._effects[key]

    def _effect_summary(self, definition: Definition) -> EffectSummary | None:
        role = self.knowledge.decorations.role(definition)
        if role not in ("kernel", "func"):
            return None
        options = self.knowledge.decorations.options(definition)
        trace = execute(self.knowledge, definition, self.knowledge.factories.closures(definition)[0])
        if trace is None:
            return None
        active = activity.analyse(self.knowledge, trace, () if role == "kernel" else None)
        return replace(effect_summary(self.knowledge, trace, active, options.backward), level=options.level)


def analysis(project: Project) -> Analysis:
    """The analysis of a project; the same one every time."""
    found = project.kept.get(Analysis)
    if not isinstance(found, Analysis):
        found = project.kept[Analysis] = Analysis(project)
    return found


def analyse(
    project: Project,
    module: Module,
    uses: Mapping[tuple[FilePath, str], KernelUse] | None = None,
    only: Region | None = None,
    kinds: frozenset[str] | None = None,
) -> Iterable[Fact]:
    """The facts of every kernel and func in ``module``, or in the region ``only`` of it.

    ``uses`` says how host code uses kernels (by path and qualified name); pass the same for every module of a project.
    Where the ``kinds`` that anybody wants are given, others may be left out.
    """
    found = analysis(project)
    found.knowledge.uses = uses or {}
    return found.module(module, only, kinds)


def asked_widely(project: Project) -> int:
    """How often the facts of ``analyse`` rested on all code with some word in it, and not just on what they name."""
    return analysis(project).users.asked


def about_launches(kinds: frozenset[str] | None) -> bool:
    """Whether ``launches`` can find facts of some of these kinds (None: of any)."""
    return kinds is None or bool(kinds & launching.KINDS)


def launches(project: Project, module: Module, only: Region | None = None) -> Iterable[Fact]:
    """The facts about what a module, or the region ``only`` of it, launches kernels with, and which options they
    have."""
    return analysis(project).launching.facts(module, only)


def launching_regions(project: Project, module: Module) -> Iterable[Region]:
    """The regions of a module that can hold a fact about launches, in order."""
    return analysis(project).launching.regions(module)


def relevant_regions(project: Project, module: Module) -> Iterable[Region]:
    """The regions of a module that can hold a fact about a kernel or func, in order."""
    return analysis(project).regions(module)


def effects(project: Project, definition: Definition) -> EffectSummary | None:
    """What a kernel or func does to its arguments, closed over the funcs that it calls; None for anything else."""
    return analysis(project).effects(definition)
