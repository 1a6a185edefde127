"""The JSON schema of a configuration, for editors: made from the keys."""

from __future__ import annotations

from warplint.settings.keys import KEYS


def configuration_schema() -> dict[str, object]:
    """The schema of a ``warplint.toml``, and of the ``[tool.warplint]`` table."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Configuration of warplint",
        "type": "object",
        "additionalProperties": False,
        "properties": {
            name: {"description": f"{key.purpose} Default: {key.default}.", **key.form.schema}
            for name, key in KEYS.items()
        },
    }
