"""After any edit, the findings are those that a fresh start would give."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from edits import edited

from warplint.server.checking import Asked, Checked, Checker
from warplint.settings.warp import WarpVersions

FIXTURES = Path(__file__).parent.parent / "fixtures"
FILES = sorted(path for path in FIXTURES.rglob("*.py") if path.name != "__init__.py")


def told(checked: Checked) -> list[object]:
    found: list[object] = [
        # What programs hold is left out: two runs of the same analysis give some hints in them other numbers.
        (one.rule, one.severity, one.message, one.location, one.fact.labels, one.fact.reach, type(one.fact.program))
        for one in checked.findings
    ]
    return [*found, *((problem.message, problem.line) for problem in checked.problems)]


def compared(path: Path, seed: int, steps: int) -> None:
    chance = random.Random(seed)
    original = path.read_text(encoding="utf-8")
    asked = Asked(min_severity="info")
    kept = Checker(path.parent, asked)
    text, broken = original, 0
    for step in range(steps):
        new = edited(text, chance)
        checked = kept.check(path, new, {})
        fresh = Checker(path.parent, asked).check(path, new, {})
        assert told(checked) == told(fresh), f"{path} after step {step} of seed {seed}:\n{new}"
        # A file that does not parse stays so for a while, and is then repaired.
        broken = broken + 1 if checked.problems else 0
        if broken > 2:
            broken = 0
        else:
            text = new if not checked.problems or chance.random() < 0.3 else text


@pytest.mark.parametrize("path", FILES[:: max(1, len(FILES) // 10)], ids=lambda path: path.stem)
def test_random_edits(path: Path) -> None:
    compared(path, seed=len(path.stem), steps=8)


def test_a_module_that_was_broken_for_a_while(tmp_path: Path) -> None:
    program, library = tmp_path / "program.py", tmp_path / "library.py"
    code = "import warp as wp\n\n\n@wp.func\ndef shade(x: float):\n    return x * x\n"
    library.write_text(code)
    text = (
        "import warp as wp\nfrom library import shade\n\n\n@wp.kernel\n"
        "def render(light: wp.array(dtype=float)):\n    i = wp.tid()\n    light[i] *= shade(light[i])\n"
    )
    kept = Checker(tmp_path, Asked())
    for contents in (code, code.replace("def shade(", "def shade(("), code, code.replace("shade", "tone"), code):
        unsaved = {library: contents.encode()}
        assert told(kept.check(program, text, unsaved)) == told(
            Checker(tmp_path, Asked()).check(program, text, unsaved)
        )
        assert kept.uses(program, library)


LAUNCHED = """import warp as wp

WIDTH = 4


@wp.kernel
def shade(light: wp.array(dtype=float), gain: float):
    i = wp.tid()
    light[i] = gain


def render(light):
    wp.launch(shade, dim=WIDTH, inputs=[light, 2.0])
    wp.launch(shade, dim=(4, 4), inputs=[light])
"""


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("    light[i] = gain", "    light[i] = gain * 2.0"),
        ("    light[i] = gain", "    light[i] = gain\n    # brighter"),
        ("    i = wp.tid()", "    i, j = wp.tid()"),
        ("    i = wp.tid()", "    i, j = (\n        wp.tid()\n    )"),
        (", gain: float", ""),
        ("gain: float", "gain: wp.array(dtype=int)"),
        ("inputs=[light]", "inputs=[light, wp.zeros(3, dtype=int)]"),
        ("@wp.kernel", "@wp.kernel(enable_backward=False)"),
        ("WIDTH = 4", "WIDTH = (4, 4)"),
        ("import warp as wp", "import warp as wp\n\ncast = wp.launch"),
        ("    wp.launch(", "    wp.launch = print\n    wp.launch("),
        ("@wp.kernel", "@wp.func"),
    ],
)
def test_launches_after_an_edit(tmp_path: Path, old: str, new: str) -> None:
    program = tmp_path / "program.py"
    program.write_text(LAUNCHED)
    asked = Asked(min_severity="info")
    kept = Checker(tmp_path, asked)
    before = kept.check(program, LAUNCHED, {})
    assert [one.rule for one in before.findings] == ["WP708"]
    text = LAUNCHED.replace(old, new, 1)
    assert told(kept.check(program, text, {})) == told(Checker(tmp_path, asked).check(program, text, {}))
    assert told(kept.check(program, LAUNCHED, {})) == told(before)


@pytest.mark.parametrize(
    ("name", "old"),
    [
        ("pylock.gpu.toml", '[[packages]]\nname = "warp-lang"\nversion = "1.7.0"\n'),
        ("uv.lock", '[[package]]\nname = "warp-lang"\nversion = "1.7.0"\n'),
        ("requirements-gpu.txt", "warp-lang==1.7.0\n"),
    ],
)
def test_what_says_for_which_warp_the_code_is_is_watched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, old: str
) -> None:
    monkeypatch.setattr(WarpVersions, "_in_environment", lambda versions: None)  # which would count before
    path = tmp_path / "program.py"
    text = (
        "import warp as wp\n\n\n@wp.kernel\ndef stored(x: wp.array(dtype=float), y: wp.array(dtype=wp.vec3)):\n"
        "    i = wp.tid()\n    v = wp.vec3(x[i], x[i], x[i])\n    v[0] = v[1] * v[0]\n    y[i] = v\n"
    )
    path.write_text(text)
    kept = Checker(tmp_path, Asked())

    def rules() -> set[str]:
        return {one.rule for one in kept.check(path, text, {}).findings}

    newest = rules()
    assert "WP102" in newest  # there since Warp 1.8
    (tmp_path / name).write_text(old)
    assert "WP102" not in rules()
    (tmp_path / name).write_text(old.replace("1.7.0", "1.19.0"))
    assert rules() == newest
