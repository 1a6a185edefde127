"""What the tests of the probe share: findings made from marked source, and one kernel cache for the whole run."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from warplint.frontend.fast import read
from warplint.ir.facts import Evidence, Fact, Finding
from warplint.ir.programs import Check, DefinitionRef, KernelProgram, Program
from warplint.ir.spans import Location, Span
from warplint.probe import ProbeOptions, probe
from warplint.source.project import Project

CORPUS = Path(__file__).parent / "corpus"

_FLAGGED = re.compile(r"# flagged ?(\S*)")


_START = Span(1, 1, 1, 2)


def finding(path: Path, program: Program, check: Check = "gradient", span: Span = _START) -> Finding:
    """A finding that only its program matters of."""
    fact = Fact("test", Location(path, span), {}, (), "", program=program)
    return Finding("WP999", "test", "", "error", "high", fact, check=check)


def marked(path: Path) -> Iterator[tuple[str, Finding]]:
    """One finding for each line that ends in ``# flagged``, named after its function."""
    name = ""
    for number, line in enumerate(path.read_text().split("\n"), 1):
        header = re.match(r"def (\w+)", line)
        name = header[1] if header else name
        mark = _FLAGGED.search(line)
        if mark and name:
            start = len(line) - len(line.lstrip()) + 1
            span = Span(number, start, number, len(line[: mark.start()].rstrip()) + 1)
            program = KernelProgram(DefinitionRef(path, name), (Location(path, span),))
            yield name, finding(path, program, mark[1] or "gradient", span)  # type: ignore[arg-type]


@pytest.fixture(scope="session")
def kernel_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for compiled kernels, shared by the tests."""
    return tmp_path_factory.mktemp("kernels")


@pytest.fixture
def run(kernel_cache: Path) -> Callable[..., list[Evidence]]:
    """Probes findings on the CPU device; keyword arguments override options."""

    def probe_all(findings: list[Finding], **options: object) -> list[Evidence]:
        chosen = {"device": "cpu", "cache_dir": kernel_cache, **options}
        return probe(findings, Project(read), ProbeOptions(**chosen))  # type: ignore[arg-type]

    return probe_all
