"""What a run costs after one file was edited, against a cold run and one over unchanged files.

    python tools/bench_edits.py FOLDER --kernels FILE --host FILE

Works on a copy of the folder, in one process a run and without the probe. Prints seconds of the processor. The files
are relative to the folder: in the first, the body of a kernel gets another line, in the second, the end of the file.
"""

from __future__ import annotations

import argparse
import re
import resource
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

_THREAD = re.compile(r"^(?P<indent>[ \t]+)[\w, ]+ = \w+\.tid\(\)[ \t]*\n", re.MULTILINE)


def main() -> int:
    """Measures, and prints a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--kernels", required=True, help="a file with a kernel that calls `tid`")
    parser.add_argument("--host", required=True, help="a file with host code")
    arguments = parser.parse_args()
    for name in (arguments.kernels, arguments.host):
        if not (arguments.folder / name).is_file():
            parser.error(f"{name} is no file of {arguments.folder}")
    with tempfile.TemporaryDirectory() as place:
        folder, kept = Path(place) / arguments.folder.resolve().name, Path(place) / "kept"
        shutil.copytree(arguments.folder, folder)
        print(f"cold                    {seconds(folder, kept):>7.2f} s", flush=True)
        print(f"nothing changed         {seconds(folder, kept):>7.2f} s", flush=True)
        text = (folder / arguments.kernels).read_text(encoding="utf-8")
        found = _THREAD.search(text)
        if found is None:
            parser.error(f"no kernel of {arguments.kernels} calls `tid`")
        edited = f"{text[: found.end()]}{found['indent']}edited = 1.0\n{text[found.end() :]}"
        (folder / arguments.kernels).write_text(edited, encoding="utf-8")
        print(f"a kernel changed        {seconds(folder, kept):>7.2f} s", flush=True)
        with open(folder / arguments.host, "a", encoding="utf-8") as file:
            file.write("\n\nedited = 1.0\n")
        print(f"host code changed       {seconds(folder, kept):>7.2f} s", flush=True)
    return 0


def seconds(folder: Path, kept: Path) -> float:
    """Processor seconds of one run, its process included."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-m", "warplint", "check", str(folder), "--no-probe", "--jobs", "1", "--exit-zero"]
    subprocess.run([*command, "--cache-dir", str(kept), "--quiet"], check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


if __name__ == "__main__":
    sys.exit(main())
