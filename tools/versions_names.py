"""Prints the names that the Warp beside it has in ``wp``, as a JSON list; needs nothing else."""

from __future__ import annotations

import ast
import inspect
import json
import os
import sys
import textwrap
from typing import Any


def main() -> None:
    """Built-ins of kernels, and what Python code finds in the module; without those that only say they are gone."""
    os.environ["CUDA_VISIBLE_DEVICES"] = ""
    import warp

    context = sys.modules.get("warp._src.context") or sys.modules["warp.context"]
    functions = context.builtin_functions
    gone = {name for name, function in functions.items() if is_gone(function)}
    names = set(functions) | {name for name in dir(warp) if not name.startswith("_")}
    print(json.dumps(sorted(names - gone)))


def is_gone(function: Any) -> bool:
    """Whether all that a built-in does with arguments is to say that it was removed."""
    value = getattr(function, "value_func", None)
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(value)))
    except (TypeError, OSError, SyntaxError):
        return False
    body = getattr(tree.body[0], "body", []) if tree.body else []
    return isinstance(body, list) and bool(body) and isinstance(body[-1], ast.Raise) and "removed" in ast.unparse(tree)


if __name__ == "__main__":
    main()
