"""Measures the examples of the rule files, for the documentation: what warplint says of the wrong ones, and how well
the tape's gradient of the right ones agrees with differences that are taken here, without warplint.

``measured()`` takes half a minute, so that ``tools/docs.py`` keeps what it returns in ``docs/measured.json``.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from importlib.metadata import version
from pathlib import Path
from typing import Any

from measure_kernels import compared_kernels
from measure_tapes import sweep_errors

from warplint.catalogue.loading import load_catalogue
from warplint.catalogue.rule import Example, Rule
from warplint.catalogue.versions import VersionRange
from warplint.report.measured import digest

ROOT = Path(__file__).resolve().parent.parent


def write_examples(rules: Iterable[Rule], folder: Path) -> dict[str, tuple[Rule, Example]]:
    """Every example as a file of its own; the rule and the example by file name."""
    written = {}
    for rule in rules:
        for number, example in enumerate(rule.examples):
            name = f"{rule.id.lower()}_{number}_{'bad' if example.bad else 'good'}.py"
            (folder / name).write_text(example.code, encoding="utf-8")
            written[name] = (rule, example)
    return written


def has_defect(rule: Rule) -> bool:
    """Whether the installed Warp has the defect that a rule is about."""
    return version("warp-lang") in VersionRange.parse(rule.warp)


def findings(folder: Path) -> dict[str, Any]:
    """What warplint says, as JSON, of all files in a folder on the CPU, the refuted and the harmless included."""
    off = ",".join(rule.id for rule in load_catalogue()[0].rules if not rule.enabled)
    command = [sys.executable, "-m", "warplint", "--device", "cpu", "--show-refuted", "--min-severity", "info"]
    command += ["--extend-select", off] if off else []
    variables = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *filter(None, sys.path)])}
    done = subprocess.run(
        [*command, "--output-format", "json", "."],
        cwd=folder,
        env=variables,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode not in (0, 1):
        raise SystemExit(done.stderr)
    document: dict[str, Any] = json.loads(done.stdout)
    # A rule that is off says nothing about the examples of others.
    document["findings"] = [
        finding
        for finding in document["findings"]
        if finding["rule"] not in off.split(",") or finding["path"].startswith(finding["rule"].lower())
    ]
    return document


def measured(rules: Iterable[Rule]) -> dict[str, Any]:
    """For every example of every rule: its digest and, of a wrong one, what was found in it; of a right one, the
    number of derivatives that were compared (of its kernels, or of its sweeps) and by how much the worst was off."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        written = write_examples(rules, folder)
        document = findings(folder)
        found: dict[str, list[dict[str, Any]]] = {}
        for finding in document["findings"]:
            found.setdefault(finding["path"], []).append(finding)
        by_rule: dict[str, list[dict[str, Any]]] = {}
        for path, (rule, example) in written.items():
            entry: dict[str, Any] = {"example": digest(example), "bad": example.bad}
            if example.bad and not has_defect(rule):
                entry |= {"line": None, "message": None, "verdict": "unprobed"}
                entry |= {"detail": f"not measured: Warp {document['warp_version']} does not have this defect"}
            elif example.bad:
                (finding,) = found[path]
                entry |= {key: finding[key] for key in ("line", "message")}
                entry |= {key: finding["evidence"][key] for key in ("verdict", "detail")}
            elif path in found:
                raise SystemExit(f"{rule.id}: {found[path][0]['rule']} is found in what the rule file says is right")
            else:
                # Where the host code is what counts, the kernels by themselves say nothing.
                taped = "wp.Tape(" in example.code
                kernels = [] if taped else compared_kernels(folder / path)
                errors = [error for kernel in kernels for error in kernel.errors]
                errors += sweep_errors(folder / path) if taped else []
                entry |= {"taped": taped, "compared": len(errors), "worst": float(f"{max(errors, default=0.0):.1e}")}
            by_rule.setdefault(rule.id, []).append(entry)
    return {"warp": document["warp_version"], "device": "cpu", "rules": by_rule}
