"""What analyses of many definitions share: the project, types, constants, options, and results that are kept."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from warplint.ir.effects import KernelUse
from warplint.kernels.constants import Constants, Factories
from warplint.kernels.options import Decorations, decorated
from warplint.kernels.types import GENERIC, UNKNOWN_TYPE, Type, Types
from warplint.source.project import Definition, Project

if TYPE_CHECKING:
    from warplint.kernels.summary import Summary
    from warplint.kernels.trace import Trace

#: Version of Warp whose code generator is mirrored where the project does not say which one a file is for.
WARP_VERSION = (1, 19)


class Knowledge:
    """Everything that is known of one project."""

    def __init__(self, project: Project) -> None:
        self.project = project
        self.types = Types(project)
        self.constants = Constants(project)
        self.factories = Factories(project, self.constants)
        self.decorations = Decorations(project, self.constants)
        #: How host code uses kernels, by path and qualified name, as far as that is known.
        self.uses: Mapping[tuple[Path, str], KernelUse] = {}
        #: The traces made so far, None for bodies that were too large.
        self.traces: dict[object, Trace | None] = {}
        #: Computes the summary of a func; set by ``warplint.kernels.summaries``.
        self.summarise: Callable[[Definition], Summary | None] = lambda definition: None
        #: The type of what a func returns where it is called with values of certain types; set there as well.
        self.returned_from: Callable[[Definition, Sequence[Type]], Type] = lambda definition, given: UNKNOWN_TYPE

    def returned_by_any(self, definition: Definition, returned: Type) -> Type:
        """``returned``, if every overload of a func returns that, else whatever can be said of all of them."""
        overloads = [
            other
            for other in definition.module.functions(decorated(definition.module))
            if other.qualname == definition.qualname and other.node is not definition.node
        ]
        types = [returned, *(self.returned(other) for other in overloads)]
        if all(type_ == returned and type_.exact == returned.exact for type_ in types):
            return returned
        return GENERIC if any(self.types.differentiable(type_) for type_ in types) else UNKNOWN_TYPE

    def warp_version(self, path: Path) -> tuple[int, int]:
        """The version of Warp that a file is for."""
        return WARP_VERSION if self.project.warp_version is None else self.project.warp_version(path)

    def returned(self, definition: Definition) -> Type:
        """The type that a func returns: as annotated, else as its body shows."""
        summary = self.summarise(definition)
        if summary is not None and summary.returned.kind != "unknown":
            return summary.returned
        node = definition.node
        annotation = getattr(node, "returns", None)
        if annotation is not None:
            return self.types.annotation(definition.module, annotation, definition.scope)
        return UNKNOWN_TYPE
