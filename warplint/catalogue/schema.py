"""The JSON schema of a rule file, for editors. What a schema cannot say is checked when the file is read."""

from __future__ import annotations

from warplint.catalogue.rule import CONFIDENCES, FAMILIES, FIX_KINDS, FIX_SAFETIES, PROBES, SEVERITIES, SYMPTOMS
from warplint.catalogue.validating import ATTRIBUTE, ID, KEBAB, OPTIONAL, REQUIRED

_TEXT = {"type": "string", "pattern": r"\S"}
_CLAUSE = r"\s*(>=|<=|==|!=|>|<)\s*\d+(\.\d+)*\s*"
_SCALARS = {
    "anyOf": [
        {"type": ["string", "number", "boolean"]},
        {"type": "array", "items": {"type": ["string", "number", "boolean"]}},
    ]
}


def _whole(pattern: str) -> dict[str, object]:
    return {"type": "string", "pattern": f"^({pattern})$"}


def _mapping(properties: dict[str, object], required: tuple[str, ...] | None = None) -> dict[str, object]:
    return {
        "type": "object",
        "additionalProperties": False,
        "required": list(properties if required is None else required),
        "properties": properties,
    }


_CONDITION = {
    "anyOf": [
        *_SCALARS["anyOf"],
        {
            **_mapping({"is": _SCALARS, "not": _SCALARS, "min": {"type": "number"}, "max": {"type": "number"}}, ()),
            "minProperties": 1,
        },
    ]
}

_WHERE: dict[str, object] = {
    "type": "object",
    "propertyNames": _whole(ATTRIBUTE.pattern),
    "additionalProperties": _CONDITION,
}

_PROPERTIES: dict[str, object] = {
    "id": {
        "description": "Capital letters and three digits; WP is taken.",
        **_whole(ID.pattern),
    },
    "name": {"description": "What the code does, as in `allow NAME`.", **_whole(KEBAB.pattern)},
    "family": {"enum": list(FAMILIES.values())},
    "severity": {"description": "How bad it is where a tape runs the code.", "enum": list(SEVERITIES)},
    "confidence": {"description": "How sure the analysis is.", "enum": list(CONFIDENCES)},
    "warp": {"description": "The versions of Warp that have the defect.", **_whole(f"{_CLAUSE}(,{_CLAUSE})*")},
    "select": {
        "description": "Which facts are findings.",
        **_mapping(
            {
                "fact": _whole(KEBAB.pattern),
                "where": _WHERE,
            },
            ("fact",),
        ),
    },
    "message": {"description": "One sentence; {name} quotes an attribute of the fact.", **_TEXT},
    "why": {"description": "What goes wrong, and why nobody sees it.", **_TEXT},
    "fix": {
        "description": "How it is repaired.",
        **_mapping(
            {
                "kind": {"enum": list(FIX_KINDS)},
                "safety": {"enum": list(FIX_SAFETIES)},
                "recipe": _whole(KEBAB.pattern),
                "help": _TEXT,
            }
        ),
    },
    "probe": {
        "description": "What a probe compares, or `none: the reason why nothing can be run`.",
        "anyOf": [{"enum": [probe for probe in PROBES if probe != "none"]}, _mapping({"none": _TEXT})],
    },
    "references": {"type": "array", "minItems": 1, "items": {"type": "string"}},
    "examples": {
        "description": "Whole programs: bad ones are findings, good ones are not.",
        "type": "array",
        "items": {"anyOf": [_mapping({"bad": _TEXT}), _mapping({"good": _TEXT})]},
        "allOf": [{"contains": {"required": ["bad"]}}, {"contains": {"required": ["good"]}}],
    },
    "enabled": {"description": "Whether the rule applies without being selected.", "type": "boolean"},
    "cases": {
        "description": "What is different where more is known of the fact; the first case that holds counts.",
        "type": "array",
        "items": {
            **_mapping(
                {
                    "where": _WHERE,
                    "warp": _whole(f"{_CLAUSE}(,{_CLAUSE})*"),
                    "severity": {"enum": list(SEVERITIES)},
                    "confidence": {"enum": list(CONFIDENCES)},
                    "enabled": {"type": "boolean"},
                },
                ("where",),
            ),
            "anyOf": [{"required": [word]} for word in ("severity", "confidence", "enabled")],
        },
    },
    "symptoms": {
        "description": "What a person sees who has the defect.",
        "type": "array",
        "uniqueItems": True,
        "items": {"enum": list(SYMPTOMS)},
    },
    "only-confirmed": {
        "description": "Whether what is selected is only asked about, and a finding if a probe confirms it.",
        "type": "boolean",
    },
}


def rule_schema() -> dict[str, object]:
    """The schema of a rule file."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Rule of warplint",
        **_mapping({key: _PROPERTIES[key] for key in (*REQUIRED, *OPTIONAL)}, REQUIRED),
    }
