"""The built wheel, installed in a fresh virtual environment, lints and finds its rules."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

from programs import IN_PLACE

import warplint
from warplint.catalogue.loading import load_catalogue


def run(*command: object, cwd: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    return subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        capture_output=True,
        text=True,
        env={**environment, **variables},
        timeout=300,
        check=False,
    )


def test_a_wheel_in_a_fresh_environment(tmp_path: Path, checkout: Path, dependencies: Path) -> None:
    built = run(
        sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", tmp_path, cwd=checkout,
        PYTHONPATH=os.pathsep.join(filter(None, sys.path)),
    )  # fmt: skip
    assert built.returncode == 0, built.stdout + built.stderr
    (wheel,) = tmp_path.glob("*.whl")
    assert wheel.name == f"warplint-{warplint.__version__}-py3-none-any.whl"
    names = zipfile.ZipFile(wheel).namelist()
    rules = load_catalogue()[0].rules
    assert {f"warplint/rules/{rule.id}.yaml" for rule in rules} <= set(names)
    assert "warplint/rules/measured.json" in names  # which `explain` reads
    assert {f"warplint/schemas/{kind}.schema.json" for kind in ("audit", "configuration", "rule")} <= set(names)
    assert {name.split("/")[0] for name in names} == {"warplint", f"warplint-{warplint.__version__}.dist-info"}

    fresh = tmp_path / "fresh"
    assert run(sys.executable, "-m", "venv", fresh, cwd=tmp_path).returncode == 0
    python = fresh / "bin/python"
    installed = run(python, "-m", "pip", "install", "--no-deps", "--no-index", wheel, cwd=tmp_path)
    assert installed.returncode == 0, installed.stdout + installed.stderr
    (site,) = fresh.glob("lib/python*/site-packages")
    (site / "dependencies.pth").write_text(f"{dependencies}\n")

    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "light.py").write_text(IN_PLACE)
    found = run(python, "-c", "import warplint; print(warplint.__file__)", cwd=elsewhere)
    assert Path(found.stdout.strip()).is_relative_to(fresh)

    done = run(fresh / "bin/warplint", "--no-probe", "--output-format", "json", "light.py", cwd=elsewhere)
    assert done.returncode == 1, done.stdout + done.stderr
    document = json.loads(done.stdout)
    assert [(finding["rule"], finding["line"]) for finding in document["findings"]] == [("WP101", 7)]
    explained = run(fresh / "bin/warplint", "explain", cwd=elsewhere)
    assert explained.stdout.count("\n") == len(rules)
    assert "Measured on cpu" in run(fresh / "bin/warplint", "explain", "WP104", cwd=elsewhere).stdout
