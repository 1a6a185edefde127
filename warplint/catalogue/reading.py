"""YAML text to plain values. The only importer of ``yaml``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from warplint.ir.facts import Problem
from warplint.ir.spans import displayed

# libyaml's parser is about ten times faster; wheels for uncommon platforms come without it.
_Base: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _Loader(_Base):  # type: ignore[misc]
    """Refuses a key that is given twice, where YAML's own loader silently keeps the last."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen: set[object] = set()
        for key_node, _ in node.value:
            key = key_node.value if isinstance(key_node, yaml.ScalarNode) else None
            if key is not None and key in seen:
                raise yaml.MarkedYAMLError(problem=f"the key `{key}` is given twice", problem_mark=key_node.start_mark)
            seen.add(key)
        mapping: dict[Any, Any] = super().construct_mapping(node, deep)
        return mapping


def read_yaml(path: Path) -> object | Problem:
    """The contents of a YAML file as dicts, lists and scalars, or why there are none."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        return Problem(displayed(path), f"cannot read the rule file: {error.strerror or error}; check the path")
    except UnicodeDecodeError:
        return Problem(displayed(path), "the rule file is not UTF-8; save it as UTF-8")
    try:
        value: object = yaml.load(text, _Loader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        what = f"broken YAML: {error.problem or error.context or 'cannot be parsed'}; correct it"
        return Problem(displayed(path), what, mark.line + 1 if mark else None, mark.column + 1 if mark else None)
    except yaml.YAMLError as error:
        return Problem(displayed(path), f"broken YAML: {str(error).splitlines()[0]}; correct it")
    return value


def line_of(path: Path, keys: tuple[str, ...]) -> int | None:
    """The line of a key in a file that ``read_yaml`` could read, ``keys`` leading to it through nested mappings.

    A key that is not there gives the line of the innermost mapping that is.
    """
    node: yaml.Node | None = yaml.compose(path.read_text(encoding="utf-8"), yaml.SafeLoader)
    line = None
    for key in keys:
        if not isinstance(node, yaml.MappingNode):
            break
        for key_node, value_node in node.value:
            if isinstance(key_node, yaml.ScalarNode) and key_node.value == key:
                line = key_node.start_mark.line + 1
                node = value_node
                break
        else:
            break
    return line
