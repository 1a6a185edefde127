"""Random edits against the real server process: text that breaks and is repaired, renames, changes of the configuration
and of the settings, saving, closing and opening. What it says in the end is what a fresh run says."""

from __future__ import annotations

import os
import random
import re
import warnings
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from client import Client
from edits import edited

from warplint.pipeline import run
from warplint.settings.options import Options, Selectors

FIXTURES = Path(__file__).parent.parent / "fixtures"

CONFIGURATIONS = (
    "[tool.warplint]\n",
    '[tool.warplint]\nignore = ["WP1"]\n',
    '[tool.warplint]\nextend-select = ["WP7"]\n',
    '[tool.warplint.severity]\nWP101 = "info"\n',
    '[tool.warplint]\nignore = ["WP999"]\n',  # there is no such rule
    "[tool.warplint\n",
)
SETTINGS: tuple[Mapping[str, Any], ...] = (
    {"probe": "off"},
    {"probe": "off", "ignore": ["WP2"]},
    {"probe": "off", "minSeverity": "info"},
)
_DEFINED = re.compile(r"^\s*def (\w+)\(", re.MULTILINE)

#: Rule, first line and column, counted as the protocol does.
Place = tuple[str, int, int]


def _parses(text: str) -> bool:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(text, "<text>", "exec")
    except (SyntaxError, ValueError):
        return False
    return True


class Soak:
    """Some files of a folder, in an editor that does not wait for answers."""

    def __init__(self, root: Path, files: Mapping[str, str], seed: int) -> None:
        self.root, self._chance = root, random.Random(seed)
        self._good = {root / name: text for name, text in files.items()}
        self._parsed = dict(self._good)
        for path, text in self._good.items():
            path.write_text(text, encoding="utf-8")
        self._settings = SETTINGS[0]
        self._config = root / "pyproject.toml"
        self._config.write_text(CONFIGURATIONS[0])
        self.editor = Client(root, settings=self._settings)
        self.uris = {path: self.editor.open(path) for path in self._good}
        self.done: Counter[str] = Counter()

    def step(self) -> None:
        """Make one change, and sometimes look at what comes of it."""
        path = self._change()
        if self._chance.random() < 0.1:
            self.editor.diagnostics(self.uris[path])
            self.done["pause"] += 1

    def _change(self) -> Path:
        path = self._chance.choice(list(self.uris))
        uri, kind = self.uris[path], self._chance.random()
        text = self.editor.texts[uri]
        if not _parses(text):
            self.done["broken"] += 1
            # nobody leaves it so for long
            back = self._chance.random() < 0.4
            self._say("repair" if back else "edit", path, self._parsed[path] if back else edited(text, self._chance))
            return path
        self._parsed[path] = text
        if kind < 0.90:
            self._say("edit", path, edited(text, self._chance))
        elif kind < 0.925:
            names = _DEFINED.findall(text)
            name = self._chance.choice(names) if names else "nothing"
            self._say("rename", path, re.sub(rf"\b{name}\b", f"{name}_{self._chance.randrange(3)}", text))
        elif kind < 0.94:
            self._say("begin again", path, self._good[path])
        elif kind < 0.96:
            self._config.write_text(self._chance.choice(CONFIGURATIONS))
            if self._chance.random() < 0.5:  # else it is to be noticed without
                change = {"uri": self._config.as_uri(), "type": 2}
                self.editor.notify("workspace/didChangeWatchedFiles", {"changes": [change]})
            self.done["configuration"] += 1
        elif kind < 0.975:
            self._settings = self._chance.choice(SETTINGS)
            settings = {"settings": {"warplint": self._settings}}
            self.editor.notify("workspace/didChangeConfiguration", settings)
            self.done["settings"] += 1
        elif kind < 0.987:
            self.editor.save(uri, path)
            self.done["save"] += 1
        else:
            self.editor.close(uri)
            self.editor.open(path, text)
            self.done["close"] += 1
        return path

    def _say(self, kind: str, path: Path, new: str) -> None:
        """Go to ``new`` by one change of the part that differs."""
        uri = self.uris[path]
        old = self.editor.texts[uri]
        same = len(os.path.commonprefix([old, new]))
        tail = len(os.path.commonprefix([old[same:][::-1], new[same:][::-1]]))
        self.editor.replace_at(uri, same, old[same : len(old) - tail], new[same : len(new) - tail])
        self.done[kind] += 1

    def compare(self) -> None:
        """Save everything, and see that the server comes to say what fresh runs say."""
        for path, uri in self.uris.items():
            self.editor.save(uri, path)
            self._say("edit", path, self.editor.texts[uri] + "\n")
        wanted = self._fresh()
        try:
            self.editor.wait(lambda: self._told() == wanted, "the answer of fresh runs", 120)
        except AssertionError as error:
            raise AssertionError(f"fresh runs say {wanted}, and the server {self._told()}") from error
        assert not any("internal error" in str(one) for one in self.editor.told)
        assert not any("Traceback" in line for line in self.editor.errors), "".join(self.editor.errors)

    def _told(self) -> dict[str, list[Place]]:
        found = {}
        for uri in self.uris.values():
            version, told = self.editor.pushed.get(uri, (None, []))
            places = [self._place(one) for one in told]
            found[uri] = sorted(places) if version == self.editor.versions[uri] else [("none yet", 0, 0)]
        return found

    @staticmethod
    def _place(one: Mapping[str, Any]) -> Place:
        start = one["range"]["start"]
        return one["code"], start["line"], -1 if one["code"] == "unread" else start["character"]

    def _fresh(self) -> dict[str, list[Place]]:
        """What ``warplint FILE`` says of each of the open texts."""
        found: dict[str, set[Place]] = {uri: set() for uri in self.uris.values()}
        before = Path.cwd()
        os.chdir(self.root)
        try:
            for path, uri in self.uris.items():
                options = Options(
                    paths=("-",),
                    stdin_filename=str(path),
                    probe=False,
                    jobs=1,
                    selectors=Selectors(ignore=tuple(self._settings.get("ignore", ()))),
                    min_severity=self._settings.get("minSeverity", "warning"),
                )
                report = run(options, self.editor.texts[uri].encode()).report
                own = [problem for problem in report.problems if Path(problem.path).resolve() == path.resolve()]
                if own:
                    line = min((own[0].line or 1) - 1, self.editor.texts[uri].count("\n"))
                    found[uri].add(("unread", line, -1))
                for one in report.findings:
                    span = one.location.span
                    if one.location.path in self.uris:
                        found[self.uris[one.location.path]].add((one.rule, span.line - 1, span.column - 1))
        finally:
            os.chdir(before)
        return {uri: sorted(places) for uri, places in found.items()}


def files() -> dict[str, str]:
    """A program, and a module that it takes a func from."""
    library = (
        "import warp as wp\n\n\n@wp.func\ndef shade(x: float, k: float):\n    y = x * k\n    return y * wp.sin(x)\n"
    )
    program = (FIXTURES / "programs" / "cloth_adam.py").read_text(encoding="utf-8")
    kernel = """

@wp.kernel
def render(light: wp.array(dtype=float), image: wp.array(dtype=float)):
    i = wp.tid()
    light[i] *= shade(light[i], 2.0)
    image[i] = light[i]
"""
    head, found, rest = program.partition("import warp as wp\n")
    assert found
    return {"library.py": library, "program.py": f"{head}{found}from library import shade\n{rest}{kernel}"}
