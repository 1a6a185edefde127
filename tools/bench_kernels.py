"""How long the analysis of all kernels and funcs of some folders takes, against LibCST parsing these and nothing else.

    python tools/bench_kernels.py FOLDER...

Seconds of the processor, in one process. LibCST gets the source of every kernel and func by itself, and, with
``--modules``, the whole modules that hold them. Reading and parsing the modules is no part of the analysis, and is not
measured.
"""

from __future__ import annotations

import argparse
import sys
import textwrap
import time
from pathlib import Path

import libcst

from warplint import kernels
from warplint.frontend import fast
from warplint.ir.spans import Span
from warplint.source.project import Module, Project


def main() -> int:
    """Measures, and prints a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--profile", type=int, default=0, metavar="N", help="show the N most costly functions")
    parser.add_argument("--modules", action="store_true", help="let LibCST parse the whole modules too")
    arguments = parser.parse_args()
    files = sorted({path for folder in arguments.folders for path in python_files(folder)})
    project = Project(fast.read)
    modules = [module for module in map(project.load, files) if isinstance(module, Module)]
    texts: list[str] = []
    holders: list[Module] = []
    decorations = kernels.analysis(project).knowledge.decorations
    for module in modules:
        own = [
            definition
            for region in module.regions
            for definition in module.within(region)
            if decorations.role(definition) in ("kernel", "func")
        ]
        texts.extend(text_of(definition.node.span, module) for definition in own)
        holders.extend([module] if own else [])
    if not texts:
        parser.error("no kernels in these folders")
    lines = sum(text.count("\n") + 1 for text in texts)
    print(f"kernels and funcs  {len(texts):>8,}  {lines:>8,} lines")

    profile = None
    if arguments.profile:
        import cProfile

        profile = cProfile.Profile()
        profile.enable()
    start = time.process_time()
    facts = [fact for module in modules for fact in kernels.analyse(project, module)]
    analysis = time.process_time() - start
    if profile is not None:
        import pstats

        profile.disable()
        pstats.Stats(profile).sort_stats("tottime").print_stats(arguments.profile)
    own_time = parsing(texts)
    print(f"analysis           {analysis:>8.2f} s  {len(facts):,} facts")
    print(f"libcst, kernels    {own_time:>8.2f} s  {own_time / analysis:.2f} times the analysis")
    if arguments.modules:
        whole_time = parsing([module.text for module in holders])
        print(f"libcst, modules    {whole_time:>8.2f} s  {whole_time / analysis:.2f} times the analysis")
    return 0


def python_files(folder: Path) -> list[Path]:
    """The Python files in a folder, or the file itself."""
    return [folder] if folder.is_file() else [path for path in folder.rglob("*.py") if path.is_file()]


def text_of(span: Span, module: Module) -> str:
    """The source of a definition, with its decorators."""
    return textwrap.dedent("\n".join(module.lines[span[0] - 1 : span[2]]))


def parsing(texts: list[str]) -> float:
    """Processor seconds that LibCST takes to parse texts."""
    start = time.process_time()
    for text in texts:
        try:
            libcst.parse_module(text)
        except libcst.ParserSyntaxError:
            continue
    return time.process_time() - start


if __name__ == "__main__":
    sys.exit(main())
