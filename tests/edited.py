"""A folder of files that are edited and linted again and again, with what is kept and without."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from warplint import pipeline
from warplint.settings.options import Options


class Edited:
    """Some files in a folder; ``done`` is what a test has noted of the work of the last run that kept anything."""

    def __init__(self, folder: Path, files: Mapping[str, str]) -> None:
        self.folder = folder
        self.done: list[str] = []
        self._files = files
        self.restore()

    def restore(self) -> None:
        """The files as they were."""
        for name, text in self._files.items():
            (self.folder / name).write_text(text)

    def lint(self, *names: str, cache: bool = True, jobs: int = 1) -> tuple[object, ...]:
        """All that is told of some files, or all."""
        self.done.clear()
        paths = tuple(str(self.folder / name) for name in names) or (str(self.folder),)
        kept = str(self.folder.parent / "kept")
        report = pipeline.run(
            Options(paths, probe=False, cache=cache, cache_dir=kept, jobs=jobs, min_severity="info")
        ).report
        return report.findings, report.problems, report.suppressed, report.unlisted

    def fresh(self, *names: str) -> tuple[object, ...]:
        """The same without anything that was kept."""
        done = list(self.done)
        found = self.lint(*names, cache=False)
        self.done[:] = done
        return found

    def change(self, name: str, old: str, new: str) -> None:
        """Replace a text that stands in a file once."""
        path = self.folder / name
        text = path.read_text()
        assert text.count(old) == 1
        path.write_text(text.replace(old, new))

    def rules(self, found: tuple[object, ...], name: str) -> set[str]:
        """The rules of what was found in a file."""
        return {one.rule for one in found[0] if one.location.path.name == name}  # type: ignore[attr-defined]
