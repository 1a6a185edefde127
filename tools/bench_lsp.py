"""How long an editor waits for ``warplint server``, on a generated file of 2,000 lines with 60 kernels.

    python -m tools.bench_lsp [--edits 500] [--kernels 60] [--seed 1]

Prints milliseconds from the opening, and from each change, to the diagnostics of that version, the processor time that
the server took for that (Linux only), and its memory. On a machine that is busy, only the processor time means much.
The edits are single ones, each waited for: in kernels, funcs and host code, new lines, and syntax that is broken and
then repaired.
"""

from __future__ import annotations

import argparse
import contextlib
import random
import statistics
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests"), str(ROOT / "tests" / "server")]

from client import Client  # noqa: E402

LINES, FUNCS = 2000, 20


def source(kernels: int) -> str:
    """A module as people write it: most kernels are right, every tenth overwrites what it reads."""
    out = ["import warp as wp", "", "SCALE = wp.constant(2.0)", ""]
    for number in range(FUNCS):
        out += ["", "@wp.func", f"def shade{number}(x: float, k: float):", "    y = x * k", "    if y > SCALE:"]
        out += ["        y = y - SCALE", "    return y * wp.sin(x)", ""]
    for number in range(kernels):
        out += ["", "@wp.kernel", f"def render{number}(", "    light: wp.array(dtype=float),"]
        out += ["    normal: wp.array(dtype=wp.vec3),", "    lamps: wp.array(dtype=wp.vec3),"]
        out += ["    image: wp.array(dtype=float),", "):", "    i = wp.tid()", "    n = normal[i]"]
        out += [
            "    total = float(0.0)",
            "    for j in range(4):",
            "        total += wp.dot(n, lamps[j]) * light[i]",
        ]
        out += [f"    tone = shade{number % FUNCS}(total, light[i])", "    size = wp.length(n) + 1.0"]
        out += ["    up = wp.cross(n, wp.vec3(0.0, 1.0, 0.0))", "    mix = wp.dot(up, n) + tone / size"]
        if number % 10 == 3:
            out += ["    light[i] *= light[i]"]
        out += ["    image[i] = mix * 0.5", ""]
    out += ["", "def fit():", "    n = 128", "    light = wp.ones(n, dtype=float, requires_grad=True)"]
    out += ["    normal = wp.ones(n, dtype=wp.vec3)", "    lamps = wp.ones(4, dtype=wp.vec3)"]
    out += ["    image = wp.zeros(n, dtype=float, requires_grad=True)", "    tape = wp.Tape()", "    with tape:"]
    for number in range(0, kernels, 6):
        out += [f"        wp.launch(render{number}, dim=n, inputs=[light, normal, lamps], outputs=[image])"]
    out += ["    tape.backward(grads={image: wp.ones(n, dtype=float)})", "    return light.grad.numpy()", ""]
    number = 0
    while len(out) < LINES:
        out += ["", f"def table{number}(path, names=None):", '    """Reads what is there."""', "    found = {}"]
        out += ["    for name in names or []:", "        found[name] = path + name", "    return found", ""]
        number += 1
    return "\n".join(out[:LINES]) + "\n"


def memory_mb(process: int) -> float:
    """What a process has in memory; 0 where that cannot be told."""
    try:
        lines = Path(f"/proc/{process}/status").read_text(encoding="utf-8").splitlines()
    except OSError:
        return 0.0
    return next((int(line.split()[1]) / 1024 for line in lines if line.startswith("VmRSS")), 0.0)


def processor_ms(process: int) -> float:
    """Milliseconds of processor time that all threads of a process have had; 0 where that cannot be told."""
    times = 0
    for path in Path(f"/proc/{process}/task").glob("*/schedstat"):
        with contextlib.suppress(OSError):  # a thread that has just ended
            times += int(path.read_text().split()[0])
    return times / 1e6


def waited(editor: Client, uri: str) -> tuple[float, float]:
    """Milliseconds until the diagnostics of the newest version are there, and of processor time in the server."""
    started, used = time.perf_counter(), processor_ms(editor.process.pid)
    editor.diagnostics(uri)
    return (time.perf_counter() - started) * 1000, processor_ms(editor.process.pid) - used


def edit(editor: Client, uri: str, chance: random.Random, kernels: int) -> str:
    """Make one change; returns what sort it was."""
    number = chance.randrange(kernels)
    kind = chance.choice(["kernel", "kernel", "kernel", "line", "func", "host", "tape"])
    text = editor.texts[uri]
    value = f"{chance.random():.4f}"
    if kind in ("kernel", "line"):
        start = text.index("    image[i] =", text.index(f"def render{number}("))
        old = text[start : text.index("\n", start)]
        new = f"    image[i] = mix * {value}" if kind == "kernel" else f"    # {value}\n{old}"
    elif kind == "func":
        start = text.index("    return", text.index(f"def shade{number % FUNCS}("))
        old = text[start : text.index("\n", start)]
        new = f"    return y * wp.sin(x * {value})"
    elif kind == "host":
        start = text.index("    found = ", text.index(f"def table{number % 30}("))
        old = text[start : text.index("\n", start)]
        new = f"    found = {{0: {value}}}"
    else:
        start = text.index("    n = ")
        if not text.startswith("    n = 1", start):
            start = text.index("    n = 1")
        old = text[start : text.index("\n", start)]
        new = f"    n = 1{chance.randrange(10, 99)}"
    editor.replace_at(uri, start, old, new)
    return kind


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--edits", type=int, default=500)
    parser.add_argument("--kernels", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    chance = random.Random(given.seed)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "renderer.py"
        path.write_text(source(given.kernels), encoding="utf-8")
        with Client(Path(folder), settings={"probe": "off"}) as editor:
            time.sleep(3)  # an editor starts the server before a person has found the file
            uri = editor.open(path)
            wall, used = waited(editor, uri)
            found = len(editor.diagnostics(uri))
            print(f"opening: {wall:.0f} ms, {used:.0f} ms of processor time, {found} diagnostics")
            times: dict[str, list[tuple[float, float]]] = {}
            for number in range(given.edits):
                kind = edit(editor, uri, chance, given.kernels)
                times.setdefault(kind, []).append(waited(editor, uri))
                if number % 10 == 9:
                    text = editor.texts[uri]
                    start = text.index("    i = wp.tid()", chance.randrange(len(text) // 2))
                    editor.replace_at(uri, start, "    i = wp.tid()", "    i = wp.tid((")
                    times.setdefault("broken", []).append(waited(editor, uri))
                    editor.replace_at(uri, start, "    i = wp.tid((", "    i = wp.tid()")
                    times.setdefault("repaired", []).append(waited(editor, uri))
            for kind, some in sorted(times.items()):
                print(f"{kind:9} {told(some)}")
            every = [one for some in times.values() for one in some]
            print(f"all       {told(every)}")
            print(f"memory after {len(every)} edits: {memory_mb(editor.process.pid):.0f} MB")


def told(times: list[tuple[float, float]]) -> str:
    """Quantiles as text."""
    parts = [f"{len(times):4} edits"]
    for name, some in zip(("", "processor "), zip(*times, strict=True), strict=True):
        p95 = statistics.quantiles(some, n=20)[-1] if len(some) > 1 else some[0]
        parts.append(f"{name}p50 {statistics.median(some):4.0f} ms, p95 {p95:4.0f} ms, worst {max(some):4.0f} ms")
    return "; ".join(parts)


if __name__ == "__main__":
    main()
