"""The GitHub action and the blocks in docs/ci.md, run as far as they can be run here."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from command import environment
from programs import CLEAN, IN_PLACE

ROOT = Path(__file__).parent.parent.parent
DOCUMENT = (ROOT / "docs/ci.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", DOCUMENT, re.DOTALL)


PRE_COMMIT, WORKFLOW, GITLAB = (yaml.safe_load(block) for block in blocks("yaml"))
ACTION = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    (folder / "src").mkdir(parents=True)
    (folder / "src/light.py").write_text(IN_PLACE)
    (folder / "clean.py").write_text(CLEAN)
    return folder


def shell(script: str, folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", "-c", script],
        cwd=folder,
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


class Runner:
    """Runs the steps of the action as GitHub would, as far as that takes no GitHub."""

    def __init__(self, folder: Path, project: Path, path: str) -> None:
        self.project = project
        self.outputs: dict[str, dict[str, str]] = {}
        self.path = path
        self.files = {name: folder / name for name in ("GITHUB_OUTPUT", "GITHUB_PATH", "GITHUB_STEP_SUMMARY")}
        self.temp = folder / "temp"
        self.temp.mkdir()

    def value(self, text: str, inputs: dict[str, str]) -> str:
        def replaced(match: re.Match[str]) -> str:
            parts = match[1].split(".")
            if parts[0] == "inputs":
                return inputs.get(parts[1], str(ACTION["inputs"][parts[1]]["default"]))
            if parts[0] == "steps":
                return self.outputs[parts[1]].get(parts[3], "")
            assert match[1] == "github.action_path"
            return str(ROOT)

        return re.sub(r"\$\{\{ (.*?) \}\}", replaced, str(text))

    def step(self, name: str, variables: dict[str, str], **inputs: str) -> subprocess.CompletedProcess[str]:
        (step,) = [step for step in ACTION["runs"]["steps"] if step["name"] == name]
        assert "${{" not in step["run"], "an input in a script can be code"
        for file in self.files.values():
            file.write_text("")
        own = {key: self.value(text, inputs) for key, text in step.get("env", {}).items()}
        files = {key: str(path) for key, path in self.files.items()}
        done = shell(step["run"], self.project, RUNNER_TEMP=str(self.temp), PATH=self.path, **files, **own, **variables)
        lines = self.files["GITHUB_OUTPUT"].read_text().splitlines()
        self.outputs[step.get("id", name)] = dict(line.split("=", 1) for line in lines)
        self.path = os.pathsep.join([*self.files["GITHUB_PATH"].read_text().split(), self.path])
        return done


@pytest.fixture
def command_path(tmp_path: Path) -> str:
    """A PATH with a ``warplint`` that is this one."""
    folder = tmp_path / "bin"
    folder.mkdir()
    script = folder / "warplint"
    script.write_text(
        f'#!/bin/sh\nPYTHONPATH="{environment()["PYTHONPATH"]}" exec "{sys.executable}" -m warplint "$@"\n'
    )
    script.chmod(0o755)
    return os.pathsep.join([str(folder), os.environ["PATH"]])


class TestAction:
    def test_findings(self, tmp_path: Path, project: Path, command_path: str) -> None:
        runner = Runner(tmp_path, project, command_path)
        done = runner.step("Lint", {}, paths="src clean.py", args="--fail-on warning")
        assert done.returncode == 0, done.stderr
        assert done.stdout.startswith("::warning title=warplint (WP101 in-place-array-math),file=src/light.py,line=7,")
        assert runner.outputs["lint"]["status"] == "1"
        document = json.loads(Path(runner.outputs["lint"]["sarif"]).read_text())
        assert [result["ruleId"] for result in document["runs"][0]["results"]] == ["WP101"]
        assert "| src/light.py:7 | WP101" in runner.files["GITHUB_STEP_SUMMARY"].read_text()
        assert runner.step("Finish", {}).returncode == 1

    def test_no_findings_and_text_that_is_no_code(self, tmp_path: Path, project: Path, command_path: str) -> None:
        runner = Runner(tmp_path, project, command_path)
        assert runner.step("Lint", {}, paths="clean.py").returncode == 0
        assert runner.outputs["lint"]["status"] == "0"
        assert runner.step("Finish", {}).returncode == 0
        runner.step("Lint", {}, paths="$(touch$IFS/evil) `touch evil`", args="; touch evil")
        assert runner.outputs["lint"]["status"] == "2"
        assert not (project / "evil").exists()
        assert runner.step("Finish", {}).returncode == 2

    def test_a_wrong_option_uploads_nothing(self, tmp_path: Path, project: Path, command_path: str) -> None:
        runner = Runner(tmp_path, project, command_path)
        runner.step("Lint", {}, args="--nope")
        assert runner.outputs["lint"] == {"status": "2"}

    @pytest.mark.parametrize(
        ("inputs", "uploaded"),
        [
            ({"paths": "src"}, True),
            ({"paths": "clean.py"}, True),  # an empty report closes what was open
            ({"paths": "src", "upload": "false"}, False),
            ({"args": "--nope"}, False),
        ],
    )
    def test_what_is_uploaded(
        self, tmp_path: Path, project: Path, command_path: str, inputs: dict[str, str], uploaded: bool
    ) -> None:
        runner = Runner(tmp_path, project, command_path)
        runner.step("Lint", {}, **inputs)
        (step,) = [step for step in ACTION["runs"]["steps"] if step["name"] == "Upload"]
        assert set(step) == {"name", "if", "uses", "with"}
        values = []
        for clause in step["if"].split(" && "):
            name, comparison, literal = re.fullmatch(r"(\S+) (==|!=) '(\w*)'", clause).groups()  # type: ignore[union-attr]
            values.append((runner.value(f"${{{{ {name} }}}}", inputs) == literal) == (comparison == "=="))
        assert all(values) == uploaded
        if uploaded:
            report = json.loads(Path(runner.value(step["with"]["sarif_file"], inputs)).read_text(encoding="utf-8"))
            assert (report["version"], len(report["runs"])) == ("2.1.0", 1)

    def test_its_steps_are_those_of_a_composite_action(self) -> None:
        assert ACTION["runs"]["using"] == "composite"
        assert set(ACTION) == {"name", "description", "inputs", "outputs", "runs"}
        for step in ACTION["runs"]["steps"]:
            assert ("run" in step) != ("uses" in step), step["name"]
            assert ("run" in step) == ("shell" in step), "each script of a composite action names its shell"
            assert set(step) <= {"name", "id", "if", "shell", "env", "run", "uses", "with"}
        steps = {step["id"] for step in ACTION["runs"]["steps"] if "id" in step}
        assert set(re.findall(r"steps\.(\w+)\.", json.dumps(ACTION))) <= steps

    def test_it_installs_itself(self, tmp_path: Path, project: Path, checkout: Path, dependencies: Path) -> None:
        runner = Runner(tmp_path, project, os.environ["PATH"])
        runner.value = lambda text, inputs: str(checkout)  # type: ignore[method-assign]
        # pip finds all that warplint needs here, and downloads nothing.
        offline = {"PYTHONPATH": str(dependencies), "PIP_NO_BUILD_ISOLATION": "0", "PIP_NO_INDEX": "1"}
        done = runner.step("Install", offline)
        assert done.returncode == 0, done.stdout + done.stderr
        assert (Path(runner.path.split(os.pathsep)[0]) / "warplint").exists()

    def test_it_says_what_its_inputs_are(self) -> None:
        assert all(entry["description"].endswith(".") for entry in ACTION["inputs"].values())


def test_the_workflow_uses_the_action_as_it_is() -> None:
    (step,) = [step for step in WORKFLOW["jobs"]["warplint"]["steps"] if "warplint" in step["uses"]]
    assert set(step["with"]) <= set(ACTION["inputs"])
    assert WORKFLOW["permissions"]["security-events"] == "write"


def test_the_gitlab_job(project: Path, command_path: str) -> None:
    install, lint = GITLAB["warplint"]["script"]
    assert install == 'pip install --quiet "$WARPLINT"'
    done = shell(lint, project, PATH=command_path, CI_PROJECT_DIR=str(project))
    assert done.returncode == 1
    (entry,) = json.loads((project / GITLAB["warplint"]["artifacts"]["reports"]["codequality"]).read_text())
    assert (entry["check_name"], entry["location"]["path"]) == ("WP101", "src/light.py")


def test_the_other_block(project: Path, command_path: str) -> None:
    (script,) = blocks("sh")
    assert shell(script, project, PATH=command_path).returncode == 1
    assert (project / "warplint.xml").exists() and (project / "warplint.html").exists()


def test_the_hooks_of_the_document_exist() -> None:
    hooks: list[Any] = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
    named = {hook["id"] for repository in PRE_COMMIT["repos"] for hook in repository["hooks"]}
    assert named <= {hook["id"] for hook in hooks}
    assert all(f"`{hook['id']}`" in DOCUMENT for hook in hooks)
