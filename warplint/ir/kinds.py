"""The kinds of facts that analyses establish, and the attributes that each has.

Rules select facts by kind and attributes and quote attributes in their messages: a rule file is checked against this.
"""

from __future__ import annotations

from collections.abc import Mapping

#: What is known of a value that an adjoint needs and does not find.
_LOST = frozenset({"variable", "operation", "use", "needs", "active"})

_COMPONENT = frozenset({"target", "operator", "variable", "composite", "attribute", "accumulates", "size"})

#: The attributes of each kind.
KINDS: Mapping[str, frozenset[str]] = {
    # kernels: lost values
    "array-augmented-assignment": frozenset({"target", "operator", "value", "element", "active"}),
    "array-overwritten": _LOST | {"target", "overwrites"},
    "attribute-component-accumulate": _COMPONENT,
    "carried-index": _LOST | {"loop"},
    "component-overwrite": _COMPONENT,
    "component-stored-after-read": _LOST | {"target"},
    "early-exit": frozenset({"exit", "loop", "active"}),
    "kernel-scratch-array": _LOST,
    "loop-carried-value": _LOST | {"loop"},
    "loop-result-used": _LOST | {"loop"},
    "struct-component-store": _LOST | {"target", "dropped"},
    "tile-overwritten": _LOST,
    # kernels: adjoints that are not finite, or missing
    "unselected-branch": frozenset({"operation", "operand", "condition", "singular", "function", "active"}),
    "singular-adjoint": frozenset({"expression", "function", "argument", "reachable", "active"}),
    "severed-path": frozenset({"cause", "function", "argument", "part", "expression", "active"}),
    # kernels: what older versions get wrong
    "conditional-element": frozenset({"target", "operator"}),
    "element-component-stored": frozenset({"target", "operator"}),
    "struct-member-stored": frozenset({"target", "operator"}),
    "element-component-updated": frozenset({"target", "operator"}),
    "element-stored-over": frozenset({"target", "operator"}),
    "func-compiled-without-adjoint": frozenset({"kernel", "function", "argument"}),
    # kernels: adjoints that people wrote, and effects that the reverse sweep repeats
    "adjoint-assigned": frozenset({"function", "forward", "parameter", "shared", "statement"}),
    "adjoint-missing": frozenset({"function", "forward", "parameter"}),
    "custom-adjoint": frozenset({"function", "forward", "purpose"}),
    "custom-signature": frozenset({"function", "forward", "role", "reason"}),
    "counter-slot": frozenset({"counter", "use", "active"}),
    "repeated-effect": frozenset({"function", "array", "needed"}),
    # kernels: what the compiler refuses, or treats otherwise
    "constant-mutated-in-loop": frozenset({"code", "reason"}),
    "element-race": frozenset({"what", "target", "read", "reason"}),
    "adjoint-unreached": frozenset({"kernel"}),
    "launch-contract": frozenset({"kernel", "what", "reason"}),
    "option-conflict": frozenset({"kernel", "what", "reason"}),
    "python-semantics": frozenset({"what", "code", "reason"}),
    "unsupported-in-kernel": frozenset({"code", "what", "reason"}),
    "volume-gradient-shape": frozenset({"code", "reason"}),
    "volume-sampling-mode": frozenset({"what", "function", "reason"}),
    # tapes
    "adjoint-dropped": frozenset({"state", "other"}),
    "backward-disabled": frozenset({"kernel", "level", "source", "target", "input"}),
    "backward-twice": frozenset({"parameter", "loss"}),
    "duplicate-launch": frozenset({"kernel", "array", "retained"}),
    "checker-blind-spot": frozenset({"checker", "kernel", "why"}),
    "clone-as-allocator": frozenset({"array", "source", "by"}),
    "copy-before-reader": frozenset({"source", "target", "reader"}),
    "flag-set-after-struct": frozenset({"array", "field", "kernel"}),
    "gradient-not-zeroed": frozenset({"parameter", "loss", "used"}),
    "host-round-trip": frozenset({"array", "source", "input"}),
    "housekeeping-on-tape": frozenset({"kernel", "array", "purpose", "loss", "erases"}),
    "launch-not-recorded": frozenset({"kernel", "source", "target", "input"}),
    "loss-not-on-tape": frozenset({"loss", "input", "cause"}),
    "missing-requires-grad": frozenset({"array", "allocator", "input", "loss", "writer", "reader", "explicit"}),
    "overwritten-before-sweep": frozenset({"array", "reader", "writer", "by", "loss", "during"}),
    "retained-gradient": frozenset({"array", "first", "second"}),
    "seed-mismatch": frozenset({"array", "reported", "input", "seeds"}),
    "state-alias": frozenset({"array", "reader"}),
    "stale-gradient": frozenset({"parameter", "loss", "cause"}),
    "tape-re-entered": frozenset({"parameter", "loss"}),
    "unconverged-solver": frozenset({"kernel", "array", "rounds"}),
    "uninitialised-read": frozenset({"array", "kernel"}),
    "utility-not-recorded": frozenset({"function", "source", "target", "input"}),
    "window-backward": frozenset({"state", "parameter", "windows", "loss"}),
    # comments
    "malformed-suppression": frozenset({"problem"}),
    "unused-suppression": frozenset({"rules", "form"}),
}
