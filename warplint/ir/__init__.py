"""What the parts of warplint tell each other: plain records without behaviour."""

from __future__ import annotations

import importlib.util
import sys
from typing import TYPE_CHECKING

if not TYPE_CHECKING:

    def _late(name: str) -> object:
        """A module that is run when something of it is first asked for: a run that finds all it needs in what an
        earlier one has kept reads no code, and would define fifty kinds of nodes in vain."""
        found = sys.modules.get(name)
        if found is None:
            spec = importlib.util.find_spec(name)
            spec.loader = importlib.util.LazyLoader(spec.loader)
            found = sys.modules[name] = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(found)
        return found

    syntax = _late(f"{__name__}.syntax")
