"""Keeps README.md and the folder ``docs`` to what the program says and prints.

``python tools/docs.py`` writes anew what is generated, and the outputs that are shown. ``--check`` says what is stale,
``--measure`` also measures the examples of the rules (``docs/measured.json``).

In a page that a person writes there may be::

    <!-- generated: NAME -->       a table follows, up to <!-- end -->
    <!-- output: COMMAND -->       a block follows with what the command prints
    <!-- error: COMMAND -->        the same for a command that ends with status 2
    <!-- file: PATH -->            a block follows with what is in this file
    <!-- run: COMMAND -->          this is run, and its output not shown

The commands of a page run one after the other in one folder, with a copy of ``examples`` and the files that the page
has shown so far.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from contextlib import redirect_stdout
from pathlib import Path

from pages import Stale, generated, tables

from warplint.catalogue.loading import load_catalogue

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
SITE = ROOT / "mkdocs.yml"
MEASURED = DOCS / "measured.json"
TABLE = re.compile(r"(<!-- generated: (?P<name>[\w-]+) -->\n).*?(<!-- end -->\n)", re.DOTALL)
BLOCK = re.compile(
    r"<!-- (?P<what>output|error|file|run): (?P<which>[^\n]*) -->\n((?P<open>```\w+\n)(?P<body>.*?)^```\n)?",
    re.DOTALL | re.MULTILINE,
)

# Probes run on the CPU, so that the pages do not depend on who has which GPU.
_COMMAND = """\
#!/bin/sh
case " $* " in *" --device "*|" rules "*|" explain "*|" config "*|" completion "*|" new-rule "*|" server "*) device= ;;
*) device="--device cpu" ;; esac
exec "{python}" -m warplint "$@" $device
"""


def written_pages() -> list[Path]:
    """The pages that people write."""
    whole = {DOCS / name for name in generated_pages()}
    return [ROOT / "README.md", *(path for path in sorted(DOCS.rglob("*.md")) if path not in whole)]


def generated_pages() -> dict[str, str]:
    """The pages that are generated as a whole, by their paths in ``docs``."""
    return generated(load_catalogue()[0].rules, json.loads(MEASURED.read_text(encoding="utf-8")))


def with_tables(text: str) -> str:
    """``text`` with the generated tables renewed."""
    made = tables(load_catalogue()[0].rules)
    return TABLE.sub(lambda found: found[1] + made[found["name"]] + found[3], text)


def site(text: str) -> str:
    """``text``, the configuration of the site, with all rules in its navigation."""
    rules = load_catalogue()[0].rules
    lines = "".join(f"      - {rule.id} {rule.name}: rules/{rule.id}.md\n" for rule in rules)
    return re.sub(r"(?<=- rules/index\.md\n)(      - .*\n)*", lines, text)


def with_outputs(text: str) -> str:
    """``text`` with the shown outputs renewed."""
    if not BLOCK.search(text):
        return text
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "project"
        shutil.copytree(ROOT / "examples", folder / "examples")
        program = Path(name) / "bin/warplint"
        program.parent.mkdir()
        program.write_text(_COMMAND.format(python=sys.executable))
        program.chmod(0o755)

        def renew(block: re.Match[str]) -> str:
            if block["what"] == "file":
                path = folder / block["which"]
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(block["body"], encoding="utf-8")
                return block[0]
            if block["what"] == "run":
                run(block["which"], folder, program.parent, fails=False)
                return block[0]
            printed = run(block["which"], folder, program.parent, block["what"] == "error")
            return f"<!-- {block['what']}: {block['which']} -->\n{block['open']}{printed}```\n"

        return BLOCK.sub(renew, text)


def run(command: str, folder: Path, programs: Path, fails: bool) -> str:
    """What a command prints, on standard output and standard error together."""
    variables = {
        **os.environ,
        "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": os.pathsep.join([str(ROOT), *filter(None, sys.path)]),
        "NO_COLOR": "1",
    }
    done = subprocess.run(
        ["bash", "--noprofile", "--norc", "-o", "pipefail", "-c", command],
        cwd=folder,
        env=variables,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if (done.returncode == 2) != fails or done.returncode > 2:
        raise SystemExit(f"{command}: status {done.returncode}\n{done.stdout}")
    return done.stdout


def normalized(text: str) -> str:
    """``text`` without what differs between machines: measured numbers, Warp's version, and where lines are wrapped."""
    text = re.sub(r"Warp \d+(\.\d+)*", "Warp N", text)
    text = re.sub(r"-?\d+(\.\d+)?e[+-]?\d+|-?\d+\.\d+", "N", text)
    return " ".join(text.split())


def stale_pages() -> list[str]:
    """What is not as the catalogue, the keys and the measured numbers have it. Runs nothing."""
    try:
        pages = generated_pages()
    except Stale as error:
        return [str(error)]
    stale = [name for name, text in pages.items() if not _says(DOCS / name, text)]
    stale += [path.name for path in (DOCS / "rules").iterdir() if f"rules/{path.name}" not in pages]
    for path in written_pages():
        text = path.read_text(encoding="utf-8")
        if with_tables(text) != text:
            stale.append(path.name)
    if not _says(SITE, site(SITE.read_text(encoding="utf-8"))):
        stale.append(SITE.name)
    return stale


def stale_outputs(path: Path) -> bool:
    """Whether a page shows what is not printed any more."""
    text = path.read_text(encoding="utf-8")
    return normalized(with_outputs(text)) != normalized(text)


def _says(path: Path, text: str) -> bool:
    return path.exists() and path.read_text(encoding="utf-8") == text


def main() -> int:
    """Renew or check everything."""
    if "--check" in sys.argv[1:]:
        stale = stale_pages()
        stale += [path.name for path in written_pages() if stale_outputs(path)] if not stale else []
        if stale:
            print(f"stale: {', '.join(stale)}; run python tools/docs.py")
        return 1 if stale else 0
    if "--measure" in sys.argv[1:]:
        from measure import measured

        rules = load_catalogue()[0].rules
        with redirect_stdout(sys.stderr):  # Warp tells of every module
            found = measured(rules)
        MEASURED.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    for name, text in generated_pages().items():
        path = DOCS / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    SITE.write_text(site(SITE.read_text(encoding="utf-8")), encoding="utf-8")
    for path in written_pages():
        text = path.read_text(encoding="utf-8")
        path.write_text(with_outputs(with_tables(text)), encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
