"""The JSON schemas that are shipped: fresh, and of one mind with what reads the files."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from command import environment

import warplint
from warplint.catalogue.places import built_in_folder
from warplint.catalogue.rule import Rule
from warplint.catalogue.validating import build_rule
from warplint.settings.keys import KEYS

ROOT = Path(__file__).parent.parent.parent
FOLDER = Path(warplint.__file__).parent / "schemas"


def checker(name: str) -> Any:
    schema = json.loads((FOLDER / f"{name}.schema.json").read_text(encoding="utf-8"))
    validator = jsonschema.Draft202012Validator
    validator.check_schema(schema)
    return validator(schema)


def test_they_are_what_the_source_says() -> None:
    done = subprocess.run(
        [sys.executable, "tools/schemas.py", "--check"],
        cwd=ROOT,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


SAMPLES: dict[str, tuple[object, object]] = {  # a good value and a bad one
    "extend": ("../base.toml", ""),
    "select": (["WP1"], "WP1"),
    "extend-select": (["WP1"], [1]),
    "ignore": ([], True),
    "per-file-ignores": ({"tests/": ["WP1"]}, {"tests/": "WP1"}),
    "severity": ({"WP104": "info"}, {"WP104": "bad"}),
    "extend-rules": (["rules"], "rules"),
    "exclude": (["old/"], [["old"]]),
    "extend-exclude": (["old/"], 1),
    "src": (["src"], "src"),
    "warp-version": ("1.16.0", "1.x"),
    "probe": (False, "no"),
    "device": ("cuda:0", "gpu"),
    "probe-import": (True, "yes"),
    "probe-native": (False, 0),
    "reach": (["taped", "library"], ["everywhere"]),
    "fail-on": ("never", "none"),
}


def test_there_is_a_sample_of_every_key() -> None:
    assert set(SAMPLES) == set(KEYS)


@pytest.mark.parametrize("key", KEYS)
def test_schema_and_reader_agree_about_a_key(key: str) -> None:
    for value, good in zip(SAMPLES[key], (True, False), strict=True):
        assert checker("configuration").is_valid({key: value}) is good
        assert (KEYS[key].form.read(value) is not None) is good


def test_an_unknown_key_is_refused() -> None:
    assert not checker("configuration").is_valid({"selec": []})


def rule_documents() -> list[Any]:
    return [yaml.safe_load(path.read_text(encoding="utf-8")) for path in sorted(built_in_folder().glob("*.yaml"))]


@pytest.mark.parametrize("document", rule_documents(), ids=lambda document: str(document["id"]))
def test_every_rule_file_passes(document: Any) -> None:
    assert list(checker("rule").iter_errors(document)) == []


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("id", "wp104"),
        ("id", None),
        ("name", "Loop"),
        ("family", "lost-love"),
        ("severity", "bad"),
        ("confidence", "sure"),
        ("warp", "1.16"),
        ("select", {"facts": "x"}),
        ("select", {"fact": "x", "where": {"a": {"mni": 1}}}),
        ("select", {"fact": "x", "where": {"a": {}}}),
        ("select", {"fact": "x", "where": {"A B": 1}}),
        ("message", " "),
        ("fix", {"kind": "manual"}),
        ("probe", "none"),
        ("probe", {"none": ""}),
        ("references", []),
        ("examples", [{"bad": "x = 1"}]),
        ("examples", [{"bad": "x = 1", "good": "y"}]),
        ("enabled", "yes"),
        ("symptoms", ["ugly"]),
        ("cases", {"where": {}}),
        ("cases", [{"enabled": False}]),
        ("cases", [{"where": {"a": 1}}]),
        ("cases", [{"where": {"a": 1}, "severity": "bad"}]),
        ("colour", "red"),
    ],
)
def test_schema_and_reader_refuse_the_same_rules(key: str, value: object) -> None:
    document = dict(rule_documents()[0])
    assert isinstance(build_rule(document, Path("a.yaml")), Rule)
    document[key] = value
    assert not checker("rule").is_valid(document)
    assert not isinstance(build_rule(document, Path("a.yaml")), Rule)
