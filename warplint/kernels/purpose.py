"""Whether a hand-written adjoint is meant to be the derivative of its func, as far as its text says.

Some are something else on purpose: straight-through estimators and surrogate gradients of steps (Bengio, Leonard and
Courville, *Estimating or propagating gradients through stochastic neurons*), gradients that are clipped, scaled,
reversed or stopped (Ganin and Lempitsky, *Unsupervised domain adaptation by backpropagation*, for the reversal).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from warplint.ir import syntax as ir
from warplint.kernels.custom import Declaration, adjoint_of
from warplint.kernels.execute import execute
from warplint.kernels.knowledge import Knowledge
from warplint.kernels.trace import Trace
from warplint.source.bindings import target_names

#: ``derivative``: nothing says that it is something else. ``stopped``: it adds to no adjoint. ``limited``: what it does
#: with the adjoints of its results is not linear, as it is for every derivative. ``through``: the func has no
#: derivative there, or is not smooth, and the adjoint is handed on. ``unchanged``: the func returns what it is given,
#: so that only its adjoint can be what it is for.
Purpose = Literal["derivative", "stopped", "limited", "through", "unchanged"]

# What is not linear in its arguments and turns up where gradients are limited.
_LIMITS = frozenset(
    {
        "abs",
        "clamp",
        "cosh",
        "exp",
        "isfinite",
        "isinf",
        "isnan",
        "length",
        "length_sq",
        "log",
        "max",
        "min",
        "norm_huber",
    }
    | {"norm_l1", "norm_l2", "normalize", "pow", "round", "sign", "sqrt", "tanh", "sin", "cos", "atan", "floor", "step"}
)
# Operations of a func that has kinks or jumps.
_ROUGH = frozenset(
    {"abs", "ceil", "clamp", "floor", "max", "min", "mod", "phi", "rint", "round", "sign", "step", "trunc"}
)


def purpose(knowledge: Knowledge, declared: Declaration) -> Purpose | None:
    """What a ``func_grad`` is for; None where the func that it serves cannot be followed."""
    forward = declared.forward
    summary = knowledge.summarise(forward)
    trace = execute(knowledge, forward, knowledge.factories.closures(forward)[0])
    if summary is None or trace is None or not summary.complete or len(declared.forwards) > 1:
        return None
    names = [parameter.name for parameter in getattr(forward.node, "parameters", ())]
    targets: dict[str, ir.Expr | None] = {}
    for name, value in _targets(knowledge, declared):
        targets[name] = targets.get(name) or value
    if not targets:
        return "stopped"
    given = [parameter.name for parameter in getattr(declared.definition.node, "parameters", ())]
    adjoints = frozenset(given[len(names) :])
    if _unchanged(trace):
        return "unchanged"
    if _limited(declared.definition.node.body, adjoints):
        return "limited"
    smooth = {names[position] for position in summary.differentiated if position < len(names)}
    if any(name in names and name not in smooth for name in targets):
        return "through"
    rough = any(operation.name in _ROUGH for operation in trace.operations)
    if rough and any(isinstance(value, ir.Name) and value.id in adjoints for value in targets.values()):
        return "through"
    return "derivative"


def _targets(knowledge: Knowledge, declared: Declaration) -> Iterator[tuple[str, ir.Expr | None]]:
    """The parameters whose adjoints are written, with what is added to them where that is one expression."""
    for statement in declared.definition.node.body:
        for node in ir.walk(statement):
            if isinstance(node, ir.AugAssign):
                name = adjoint_of(knowledge, declared.definition, node.target)
                if name is not None:
                    yield name, node.value
            elif isinstance(node, ir.Subscript):
                name = adjoint_of(knowledge, declared.definition, node)
                if name is not None:
                    yield name, None


def _unchanged(trace: Trace) -> bool:
    """Whether all that a func returns is what it was given."""
    returned = [operand for index in trace.returns for operand in trace.operations[index].operands]
    if not returned:
        return False
    for value in returned:
        while trace.operations[value].name == "copy":
            value = trace.operations[value].operands[0]
        if trace.operations[value].name != "parameter":
            return False
    return True


def _limited(body: tuple[ir.Stmt, ...], adjoints: frozenset[str]) -> bool:
    """Whether something that is not linear is done with the adjoints of the results, or a branch asks for them."""
    tainted = set(adjoints)
    nodes = [node for statement in body for node in ir.walk(statement)]
    for _ in range(2):  # names may be used above where they are bound, in a loop
        for node in nodes:
            if isinstance(node, (ir.Assign, ir.AugAssign)) and node.value is not None:
                targets = node.targets if isinstance(node, ir.Assign) else (node.target,)
                if _mentions(node.value, tainted):
                    tainted |= {name for target in targets for name in target_names(target)}
    for node in nodes:
        if isinstance(node, (ir.If, ir.While, ir.Conditional)) and _mentions(node.test, tainted):
            return True
        if isinstance(node, ir.Call):
            name = node.func.attr if isinstance(node.func, ir.Attribute) else getattr(node.func, "id", "")
            if name in _LIMITS and any(_mentions(argument, tainted) for argument in node.args):
                return True
            if name in ("where", "select") and node.args and _mentions(node.args[0], tainted):
                return True
        if isinstance(node, ir.Binary) and node.operator in ("/", "**", "%", "//") and _mentions(node.right, tainted):
            return True
        if isinstance(node, ir.Compare) and _mentions(node, tainted):
            return True
    return False


def _mentions(node: ir.Node, names: set[str]) -> bool:
    return any(isinstance(inner, ir.Name) and inner.id in names for inner in ir.walk(node))
