"""Write ``warplint/kernels/builtins.json``: what the installed Warp's built-in functions take, return and need.

    python tools/builtins.py [OUTPUT]

Signatures come from Warp's registry of built-ins. Which operand *values* an adjoint reads, and which operands get
a gradient at all, comes from the bodies of the ``adj_*`` functions in Warp's native headers. A built-in whose adjoint
cannot be read (tiles, queries, library calls) gets no entry for it, and the analysis then assumes that every value is
needed. Which arguments get no gradient although the result depends on them is measured (``tools/severed.py``, some
minutes).
"""

from __future__ import annotations

import inspect
import json
import re
import sys
import typing
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import warp as wp
from severed import severed
from severed_tiles import severed_tiles
from warp._src import context, types

# Types that behave as float32 or int32 do for our questions; the rest of a family adds nothing.
_FLOATS = {"float16", "float32", "float64", "bfloat16", "float"}
_INTS = {"int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "int"}


def token(value: Any) -> str:
    """A type in the table's short form: ``float``, ``vec3``, ``ivec3``, ``mat33``, ``array``, ``any``, ..."""
    if value is Any or value is None:
        return "any"
    if isinstance(value, typing.TypeVar):
        return {"Float": "float", "Int": "int", "Scalar": "scalar"}.get(value.__name__, "any")
    name = getattr(value, "__name__", "")
    if name in _FLOATS:
        return "float"
    if name in _INTS:
        return "int"
    if name == "bool":
        return "bool"
    if name == "str":
        return "str"
    generic = getattr(value, "_wp_generic_type_str_", None)
    if generic is not None:
        scalar = token(value._wp_scalar_type_)
        prefix = "i" if scalar == "int" else ""
        if generic == "vec_t":
            return f"{prefix}vec{value._shape_[0] or ''}"
        if generic == "mat_t":
            return f"{prefix}mat{''.join(str(size) for size in value._shape_ if size)}"
        return generic.removesuffix("_t").replace("transform", "transform")
    if types.is_array(value):
        return "array"
    if types.is_tile(value):
        return "tile"
    if typing.get_origin(value) is tuple:
        return "tuple"
    return "handle"


def result_token(function: Any) -> str | list[str]:
    """The result of one overload, ``none``, ``?`` where only Warp's own code can tell."""
    value = function.value_type
    if value is None or value is Any or isinstance(value, typing.TypeVar):
        value = _evaluate(function)
        if value is _FAILED:
            return "?"
    if value is None:
        return "none"
    if isinstance(value, (tuple, list)):
        return [token(part) for part in value]
    if value is Any:
        return "any"
    return token(value)


_FAILED = object()


def _evaluate(function: Any) -> Any:
    """What the registry's own result function says for float32 arguments."""
    if function.value_func is None:
        return _FAILED
    arguments = {}
    for name, value in function.input_types.items():
        if name.startswith("*"):
            return _FAILED
        short = token(value)
        sample = {
            "float": wp.float32,
            "scalar": wp.float32,
            "int": wp.int32,
            "vec": wp.vec3,
            "mat": wp.mat33,
            "quat": wp.quat,
            "transform": wp.transform,
        }.get(short, value)
        if sample is Any:
            return _FAILED
        arguments[name] = sample
    try:
        result = function.value_func(arguments, {})
    except Exception:  # the registry's functions look at much more than types
        return _FAILED
    return result


# --- adjoints in the native headers --------------------------------------------------------------


def _balanced(text: str, start: int, opening: str, closing: str) -> int:
    depth = 0
    for position in range(start, len(text)):
        if text[position] == opening:
            depth += 1
        elif text[position] == closing:
            depth -= 1
            if depth == 0:
                return position
    return -1


def _clean(text: str) -> str:
    text = re.sub(r"//[^\n]*|/\*.*?\*/", " ", text, flags=re.S)
    text = re.sub(r"#if(?:def)?\s+\(?FP_(?:CHECK|VERIFY)\w*\)?.*?#endif", " ", text, flags=re.S)
    text = text.replace("\\\n", "\n")
    # both arms of DO_IF_FPCHECK / DO_IF_NO_FPCHECK hold the same arithmetic; a check itself holds printf
    text = re.sub(r"DO_IF_(?:NO_)?FPCHECK", "", text)
    return text


def _arguments(text: str) -> list[str]:
    depth = 0
    parts = [""]
    for character in text:
        depth += (character in "<([") - (character in ">)]")
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return parts


def _parameter_names(text: str) -> list[str]:
    names = []
    for part in _arguments(text):
        words = re.findall(r"\w+", part.split("=")[0])
        names.append(words[-1] if words else "")
    return [name for name in names if name]


def adjoints(folder: Path) -> Iterator[tuple[str, list[str], str]]:
    """(name, parameter names, body) of every ``adj_*`` function in the headers."""
    for header in sorted(folder.glob("*.h")):
        text = _clean(header.read_text(encoding="utf-8"))
        for match in re.finditer(r"\badj_(\w+)\s*\(", text):
            close = _balanced(text, match.end() - 1, "(", ")")
            if close < 0:
                continue
            after = re.match(r"\s*\{", text[close + 1 :])
            if after is None:
                continue
            opening = close + after.end()
            end = _balanced(text, opening, "{", "}")
            if end < 0:
                continue
            yield match[1], _parameter_names(text[match.end() : close]), text[opening + 1 : end]


#: Stands for the function's own result among the operands.
RESULT = -1

#: Which operands' values each operand's adjoint reads, by the function's name and its number of operands.
Needs = dict[tuple[str, int], dict[int, set[int]]]


def needs(parameters: list[str], body: str, arity: int, known: Needs) -> dict[int, set[int]] | None:
    """Which operands' values each operand's adjoint reads; None if the body cannot be followed (yet).

    ``known`` are the answers found so far: many adjoints only call another one.
    """
    adjoint_at = next((index for index, name in enumerate(parameters) if name.startswith("adj_")), None)
    if adjoint_at is None or adjoint_at < arity or len(parameters) < adjoint_at + arity:
        return None
    primal = {name: {index} for index, name in enumerate(parameters[:arity])}
    for name in parameters[arity:adjoint_at]:
        primal[name] = {RESULT, *range(arity)}  # a result: it is recomputed from every operand
    targets = {name: index for index, name in enumerate(parameters[adjoint_at : adjoint_at + arity])}
    body = re.sub(r"\bprintf\s*\([^;]*;", ";", body)
    body = re.sub(r"if\s*\([^;{}]*isfinite[^{};]*\)\s*(?:\{[^{}]*\}|;)", ";", body)
    local: dict[str, set[int]] = {}
    found: dict[int, set[int]] = {}
    guard: set[int] = set()

    def values(text: str) -> set[int]:
        result: set[int] = set()
        for word in re.findall(r"(?<![.\w])[A-Za-z_]\w*", text):
            result |= primal.get(word, set()) | local.get(word, set())
        return result

    # twice, so that what a loop or a later line adds to a local is seen
    for _ in range(2):
        for statement in re.split(r"[;{}]", body):
            for condition in re.findall(r"\b(?:if|while|switch)\s*\((.*)", statement, flags=re.S):
                guard |= values(condition)
            stored = re.match(r"^(.*?)(?<![=!<>])([-+*/]?=)(?!=)(.*)$", statement, flags=re.S)
            target_index = None
            if stored:
                target_words = re.findall(r"(?<![.\w])[A-Za-z_]\w*", stored[1])
                read = values(stored[3])
                hit = [word for word in target_words if word in targets]
                if hit:
                    target_index = targets[hit[-1]]
                    found.setdefault(target_index, set()).update(read)
                elif target_words:
                    # ``T d = ...`` and ``d.x = ...`` alike
                    local.setdefault(target_words[-1 if "." not in stored[1] else 0], set()).update(read)
                continue
            for called in re.finditer(r"\b(\w+)\s*\(", statement):
                if called[1] in ("if", "for", "while", "assert", "switch"):
                    continue
                close = _balanced(statement, called.end() - 1, "(", ")")
                arguments = _arguments(statement[called.end() : close])
                first = next((index for index, text in enumerate(arguments) if "adj_" in text), None)
                callee = called[1].removeprefix("adj_")
                if called[1].startswith("adj_") and first is not None:
                    count = (len(arguments) - 1) // 2 if len(arguments) % 2 else (len(arguments) - 2) // 2
                    answer = known.get((callee, count))
                    if answer is None:
                        return None
                    for index, text in enumerate(arguments[first : first + count]):
                        read = {at for at in answer.get(index, ()) if at == RESULT}
                        read.update(*(values(arguments[at]) for at in answer.get(index, ()) if at != RESULT))
                        for word in re.findall(r"\badj_\w+", text):
                            if word in targets:
                                found.setdefault(targets[word], set()).update(read)
                            elif word != parameters[-1]:
                                local.setdefault(word, set()).update(read)
                    continue
                read = values(statement)
                for word in re.findall(r"\badj_\w+", statement[called.end() :]):
                    if word in targets:
                        found.setdefault(targets[word], set()).update(read)
                    elif word != parameters[-1]:
                        local.setdefault(word, set()).update(read)
    return {index: read | guard for index, read in found.items()}


def note_lacking(entry: dict[str, Any], tokens: list[str], position: int) -> None:
    """Adds to a built-in's entry that the argument at ``position`` gets no gradient where the types are ``tokens``."""
    positions = next((found for given, found in entry.setdefault("lacking", []) if given == tokens), None)
    if positions is None:
        entry["lacking"].append([tokens, [position]])
    elif position not in positions:
        positions.append(position)


def main() -> None:
    """Write the table."""
    output = Path(sys.argv[1]) if len(sys.argv) > 1 else Path("warplint/kernels/builtins.json")
    native: dict[str, list[tuple[list[str], str]]] = {}
    for name, parameters, body in adjoints(Path(wp.__file__).parent / "native"):
        native.setdefault(name, []).append((parameters, body))

    known: Needs = {}
    for _ in range(4):
        this: Needs = {}
        for name, overloads in native.items():
            for parameters, body in overloads:
                first = next((index for index, text in enumerate(parameters) if text.startswith("adj_")), 0)
                arity = min(first, (len(parameters) - 1) // 2)
                one = needs(parameters, body, arity, known)
                for index, values in (one or {}).items():
                    this.setdefault((name, arity), {}).setdefault(index, set()).update(values)
        known = this

    table: dict[str, Any] = {}
    for name, function in sorted(context.builtin_functions.items()):
        if inspect.isclass(function) or not hasattr(function, "overloads"):
            continue
        overloads: list[Any] = []
        read: dict[str, dict[int, set[int]]] = {}
        unread: set[str] = set()
        differentiable = False
        for overload in function.overloads:
            differentiable |= overload.is_differentiable
            arguments = [token(value) for value in overload.input_types.values()]
            names = list(overload.input_types)
            variadic = any(argument.startswith("*") for argument in names)
            entry = [arguments, result_token(overload), names]
            if variadic:
                entry[0] = ["*", *[a for a, n in zip(arguments, names, strict=True) if not n.startswith("*")]]
                entry[2] = [n for n in names if not n.startswith("*")]
            if entry not in overloads:
                overloads.append(entry)
            if variadic:
                continue
            key = str(len(arguments))
            for parameters, body in native.get(overload.native_func or name, ()):
                one = needs(parameters, body, len(arguments), known)
                if one is None:
                    unread.add(key)
                    continue
                slot = read.setdefault(key, {})
                for index, values in one.items():
                    slot.setdefault(index, set()).update(values)
        entry_for_name: dict[str, Any] = {
            "differentiable": differentiable,
            "overloads": [[a, r] for a, r, _ in overloads],
            "parameters": max((n for _, _, n in overloads), key=len),
        }
        for arity in unread:
            read.pop(arity, None)
        if read:
            entry_for_name["needs"] = {
                arity: {str(index): sorted(values) for index, values in sorted(slot.items())}
                for arity, slot in sorted(read.items())
            }
        table[name] = entry_for_name
    for one in severed():
        entry_for_name = table[one.name]
        if one.difference == 0.0:
            entry_for_name["flat"] = True
            continue
        note_lacking(entry_for_name, [token(kind) for kind in one.kinds], one.position)
    for tile in severed_tiles():
        note_lacking(table[tile.name], list(tile.kinds), tile.position)
    document = {"warp": wp.__version__, "functions": table}
    lines = ",\n".join(f"  {json.dumps(name)}: {json.dumps(entry)}" for name, entry in table.items())
    output.write_text(
        '{\n "warp": ' + json.dumps(document["warp"]) + ',\n "functions": {\n' + lines + "\n }\n}\n", encoding="utf-8"
    )


if __name__ == "__main__":
    main()
