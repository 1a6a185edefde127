"""Frozen dataclasses that are quick to define and to make.

There are some three hundred records in warplint, and each run defines most of them. ``dataclasses`` compiles six
methods for a frozen one, and such a record sets each field through ``object.__setattr__``. Here only ``__init__`` is
compiled, and records are frozen for the type checker alone. All else that is known of dataclasses holds for them.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
else:
    from operator import attrgetter

    def dataclass(cls: Any = None, /, *, frozen: bool = False, **options: Any) -> Any:
        """As ``dataclasses.dataclass``, but for the time it takes where a record is frozen."""

        def made(cls: Any) -> Any:
            return _record(cls, **options) if frozen else dataclasses.dataclass(cls, **options)

        return made if cls is None else made(cls)

    def _record(cls: Any, *, eq: bool = True, repr: bool = True, **options: Any) -> Any:
        if options.get("order"):
            return dataclasses.dataclass(cls, frozen=True, eq=eq, repr=repr, **options)
        own = frozenset(vars(cls))
        if cls.__doc__ is None:
            cls.__doc__ = cls.__name__  # else the signature is worked out for it
        kind = dataclasses.dataclass(cls, eq=False, repr=False, **options)
        fields = dataclasses.fields(kind)
        if repr and "__repr__" not in own:
            kind.__repr__ = _shown
        if eq:
            compared = [field.name for field in fields if field.compare]
            key = attrgetter(*compared) if compared else _nothing

            def __eq__(self: Any, other: Any) -> Any:
                if self is other:
                    return True
                return key(self) == key(other) if other.__class__ is self.__class__ else NotImplemented

            def __hash__(self: Any) -> int:
                return hash(key(self))

            if "__eq__" not in own:
                kind.__eq__ = __eq__
            if "__hash__" not in own:
                kind.__hash__ = __hash__
        return kind

    def _nothing(_record: Any) -> tuple[()]:
        return ()

    def _shown(self: Any) -> str:
        shown = ", ".join(f"{f.name}={getattr(self, f.name)!r}" for f in dataclasses.fields(self) if f.repr)
        return f"{self.__class__.__qualname__}({shown})"
