"""Establishes by experiment which versions of Warp have which defects.

For each version an environment is made outside the checkout (``--folder``; the wheels are about 130 MB each). Seven
parts are run in it, and what was run before is not run again unless its text has changed:

- ``names``: what this Warp has in ``wp``;
- ``experiments``: small programs on what Warp is known to have changed (``tools/versions_experiments.py``);
- ``contracts``: the kernels in ``tests/fixtures/contracts``, whether this Warp's code generator takes them;
- ``wrong``, ``right``: such examples of the rule files, gradients against differences, without warplint;
- ``probe``: the wrong examples whose defect that does not show, with warplint's own probe, whose worker runs beside
  that Warp;
- ``fixtures``: the kernels in ``tests/fixtures/kernels``, as the examples.

Everything runs in one process at a time.

``--write`` then makes ``docs/versions.json``, which the tests hold against the ranges in the rule files, and
``docs/versions.md``, and ``warplint/kernels/names.json``. What was not run is told as such.
"""

from __future__ import annotations

import argparse
import ast
import json
import re
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

from measure import write_examples
from versions_experiments import QUESTIONS
from versions_page import page
from versions_running import ROOT, VERSIONS, Kept, Worker, environment, key
from versions_table import contract, fixture, names, shown, table

from warplint.analysis import analyse_files
from warplint.catalogue.loading import load_catalogue
from warplint.catalogue.matching import Matcher
from warplint.catalogue.rule import Rule
from warplint.frontend import open_project
from warplint.ir.facts import Finding
from warplint.probe import ProbeOptions, probe
from warplint.source.files import default_cache

FIXTURES = ROOT / "tests" / "fixtures" / "kernels"
CONTRACTS = ROOT / "tests" / "fixtures" / "contracts"
PARTS = ("names", "experiments", "contracts", "wrong", "probe", "right", "fixtures")
#: Where results are kept.
FILES = ("names", "experiments", "contracts", "examples", "probe", "fixtures")
_MARKED = re.compile(r"# (todo-expect|expect|wrong):")
#: Older versions have no precompiled headers, and take longer for every program.
_SECONDS = 240.0
#: So many findings are probed by one worker.
_TOGETHER = 6

Results = dict[str, dict[str, Kept]]  # by version and part


def main() -> None:
    """Run what is asked for, and write the table."""
    parser = argparse.ArgumentParser(description="Establishes which versions of Warp have which defects.")
    parser.add_argument("--folder", type=Path, default=default_cache() / "versions", help="environments and results")
    parser.add_argument("--warp", nargs="*", choices=VERSIONS, default=list(VERSIONS), help="the versions to run")
    parser.add_argument("--parts", nargs="*", choices=PARTS, default=list(PARTS), help="what to run; nothing: no part")
    parser.add_argument("--most", type=int, default=10_000, help="so many marked kernels of each fixture at most")
    parser.add_argument("--only", nargs="*", help="only these rules' examples, and these experiments")
    parser.add_argument("--write", action="store_true", help="write docs/versions.json and docs/versions.md")
    given = parser.parse_args()
    results = read(given.folder)
    runs: dict[str, Callable[..., None]] = {
        "names": run_names,
        "experiments": run_experiments,
        "contracts": run_contracts,
        "wrong": partial(run_examples, bad=True),
        "right": partial(run_examples, bad=False),
        "probe": run_probe,
        "fixtures": run_fixtures,
    }
    for version in given.warp:
        for part in given.parts:
            python = environment(version, given.folder / "environments")
            scratch = given.folder / "scratch" / version
            scratch.mkdir(parents=True, exist_ok=True)
            runs[part](results[version]["examples" if part in ("wrong", "right") else part], python, scratch, given)
            print(f"Warp {version}: {part} done", flush=True)
    if given.write:
        known = rules()
        found = table(known, results, QUESTIONS, FIXTURES, CONTRACTS)
        text = json.dumps(names(results), indent=1) + "\n"
        (ROOT / "warplint" / "kernels" / "names.json").write_text(text, encoding="utf-8")
        (ROOT / "docs" / "versions.json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
        (ROOT / "docs" / "versions.md").write_text(page(known, found), encoding="utf-8")


def rules() -> tuple[Rule, ...]:
    """All rules."""
    return load_catalogue()[0].rules


def run_names(kept: Kept, python: Path, scratch: Path, given: argparse.Namespace) -> None:
    """The names in ``wp``, if they are not known yet."""
    script = ROOT / "tools" / "versions_names.py"
    known = key(script.read_text(encoding="utf-8"))
    if known not in kept.rows:
        done = subprocess.run([python, script], capture_output=True, check=True, text=True)
        kept.add(known, {"names": json.loads(done.stdout.splitlines()[-1])})


def run_experiments(kept: Kept, python: Path, scratch: Path, given: argparse.Namespace) -> None:
    """Those whose answers are not known yet."""
    names = [
        name
        for name, question in QUESTIONS.items()
        if key(question.program) not in kept.rows and (not given.only or name in given.only)
    ]
    if not names:
        return
    script = ROOT / "tools" / "versions_experiments.py"
    command = [str(python), str(script), *names]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            said = json.loads(line)
            kept.add(key(QUESTIONS[said["experiment"]].program), said)


def run_fixtures(kept: Kept, python: Path, scratch: Path, given: argparse.Namespace) -> None:
    """The kernels of the fixtures, file by file."""
    worker = Worker(python, scratch)
    try:
        for path in sorted(FIXTURES.glob("*.py")):
            text = path.read_text(encoding="utf-8")
            marked, unmarked = kernels(text)
            wanted = [*marked[: given.most], *unmarked[: max(2, given.most // 2)]]
            skip = [
                name
                for name in (*marked, *unmarked)
                if name not in wanted or fixture(path.name, text, name) in kept.rows
            ]
            if len(skip) == len(marked) + len(unmarked):
                continue
            for row in worker.rows({"kind": "kernels", "path": str(path), "skip": skip}):
                kept.add(fixture(path.name, text, row.get("kernel", "")), {"file": path.name, **row})
    finally:
        worker.stop()


def kernels(text: str) -> tuple[list[str], list[str]]:
    """The kernels at the top of a fixture: those with a mark of something wrong in their own lines, and the others."""
    lines = text.split("\n")
    marked: list[str] = []
    unmarked: list[str] = []
    for node in ast.parse(text).body:
        if (
            isinstance(node, ast.FunctionDef)
            and node.decorator_list
            and "kernel" in ast.unparse(node.decorator_list[0])
        ):
            own = "\n".join(lines[node.lineno - 1 : node.end_lineno])
            (marked if _MARKED.search(own) else unmarked).append(node.name)
    return marked, unmarked


def run_contracts(kept: Kept, python: Path, scratch: Path, given: argparse.Namespace) -> None:
    """The kernels of each file of contracts, as far as they are not known to be taken or refused."""
    worker = Worker(python, scratch)
    try:
        for path in sorted(CONTRACTS.glob("*.py")):
            text = path.read_text(encoding="utf-8")
            names = [name for part in kernels(text) for name in part]
            skip = [name for name in names if contract(text, name) in kept.rows]
            if len(skip) < len(names):
                for row in worker.rows({"kind": "contracts", "path": str(path), "skip": skip}):
                    kept.add(contract(text, row.get("kernel", "")), {"file": path.name, **row})
    finally:
        worker.stop()


def run_examples(kept: Kept, python: Path, scratch: Path, given: argparse.Namespace, bad: bool) -> None:
    """The wrong or the right examples, together."""
    programs = {
        key(rule.id, example.code): (rule.id, example)
        for rule in rules()
        for example in rule.examples
        if example.bad == bad
        and key(rule.id, example.code) not in kept.rows
        and (not given.only or rule.id in given.only)
    }
    if not programs:
        return
    worker = Worker(python, scratch)
    task = {"kind": "examples", "programs": {known: example.code for known, (_, example) in programs.items()}}
    try:
        for row in worker.rows(task):
            if "program" in row:
                known = row.pop("program")
                rule, example = programs[known]
                kept.add(known, {"rule": rule, "bad": example.bad, **row})
    finally:
        worker.stop()


def run_probe(kept: Kept, python: Path, scratch: Path, given: argparse.Namespace) -> None:
    """The examples that are wrong and do not show it by themselves (``versions_table.shown``), by warplint's probe
    beside that Warp; as if every rule held for every version."""
    measured = {version: parts["examples"].rows for version, parts in read(given.folder, ["examples"]).items()}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        written = write_examples(rules(), folder)
        found = {
            folder / file: (key(rule.id, example.code), rule)
            for file, (rule, example) in written.items()
            if example.bad and key(rule.id, example.code) not in kept.rows and (not given.only or rule.id in given.only)
            # a rule that no probe is for is about no wrong gradient
            if rule.probe.kind == "recording"
            or (rule.probe.kind != "none" and not shown(measured, key(rule.id, example.code)))
        }
        project = open_project((folder,))
        waiting = list(_findings(found))
        options = ProbeOptions(device="cpu", cache_dir=scratch / "probe", python=python, timeout_s=_SECONDS, parallel=1)
        while waiting:
            part, waiting = waiting[:_TOGETHER], waiting[_TOGETHER:]
            for finding, seen in zip(part, probe(part, project, options), strict=True):
                known, rule = found[finding.location.path]
                if seen.detail.startswith("not run") or "time limit" in seen.detail:
                    continue  # that says nothing of Warp
                kept.add(
                    known, {"rule": rule.id, "outcome": _outcome(seen.verdict, seen.detail), "detail": seen.detail}
                )


def _findings(found: dict[Path, tuple[str, Rule]]) -> Iterator[Finding]:
    """The findings of each example's own rule that can be probed."""
    if not found:
        return
    matcher = Matcher((replace(rule, warp=">=0") for rule in rules()), None)
    ids = frozenset(rule.id for rule in rules())
    analyses = analyse_files(list(found), open_project((next(iter(found)).parent,)), {}, jobs=1)
    facts = [fact for analysis in analyses for fact in analysis.facts]
    for finding in matcher.findings(facts, ids, ids):
        if finding.rule == found[finding.location.path][1].id and finding.check is not None:
            yield finding


def _outcome(verdict: str, detail: str) -> str:
    """What the probe's verdict says of that Warp."""
    if verdict in ("confirmed", "refuted"):
        return "wrong" if verdict == "confirmed" else "right"
    if "does not compile" in detail or "Warp refuses" in detail or "has no instance" in detail:
        return (
            "missing"
            if re.search(r"has no attribute|undefined symbol|no instance|not subscriptable", detail)
            else "refused"
        )
    return "unclear"


def read(folder: Path, parts: Iterable[str] = FILES) -> Results:
    """Results of earlier runs."""
    return {
        version: {part: Kept(folder / "results" / version / f"{part}.jsonl") for part in parts} for version in VERSIONS
    }


if __name__ == "__main__":
    main()
