"""Files that the server writes for people to read: pages of rules, and scripts that show a finding."""

from __future__ import annotations

import tempfile
from pathlib import Path

from warplint.catalogue.rule import Rule
from warplint.report.texts import markdown_page


class Pages:
    """A folder that goes when the server does."""

    def __init__(self) -> None:
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._pages: dict[str, str] = {}

    @property
    def folder(self) -> Path:
        """Where they are."""
        if self._folder is None:
            self._folder = tempfile.TemporaryDirectory(prefix="warplint-")
        return Path(self._folder.name)

    def of(self, rule: Rule) -> str:
        """The URI of a rule's page, which is written when it is first asked for."""
        if rule.id not in self._pages:
            path = self.folder / f"{rule.id}.md"
            path.write_text(markdown_page(rule), encoding="utf-8")
            self._pages[rule.id] = path.as_uri()
        return self._pages[rule.id]

    def remove(self) -> None:
        """Take everything away."""
        if self._folder is not None:
            self._folder.cleanup()
