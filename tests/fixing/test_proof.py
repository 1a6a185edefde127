"""Fixes are safe if a probe saw the gradient wrong before and right after, and only then."""

from __future__ import annotations

from pathlib import Path

import pytest
from measure import write_examples

from warplint import fixing
from warplint.catalogue.loading import load_catalogue
from warplint.fixing.places import Place, Plan
from warplint.ir.facts import Finding
from warplint.ir.fixes import Fix
from warplint.ir.spans import Span
from warplint.pipeline import run
from warplint.settings.options import Options
from warplint.source.edits import edited

#: The rules whose recipe is proved on their bad example.
PROVED = ("WP102", "WP108", "WP202", "WP301", "WP402", "WP403", "WP404", "WP409", "WP501", "WP502", "WP601")


def findings(folder: Path) -> dict[str, list[Finding]]:
    """What is found in the files of a folder, on the CPU, by file name."""
    found: dict[str, list[Finding]] = {path.name: [] for path in sorted(folder.glob("*.py"))}
    options = Options((str(folder),), isolated=True, device="cpu", output_format="json")
    for finding in run(options).report.findings:
        found[finding.location.path.name].append(finding)
    return found


def fix_of(finding: Finding) -> Fix:
    assert finding.evidence.verdict == "confirmed"
    assert finding.fix is not None
    return finding.fix


@pytest.fixture(scope="module")
def examples(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("examples")
    written = write_examples([rule for rule in load_catalogue()[0].rules if rule.id in PROVED], folder)
    for name, (_, example) in written.items():
        if not example.bad:
            (folder / name).unlink()
    return folder


def test_the_bad_examples_are_mended(examples: Path, tmp_path: Path) -> None:
    found = findings(examples)
    assert len(found) >= len(PROVED)
    for name, (finding,) in found.items():
        fix = fix_of(finding)
        assert fix.applicability == "safe", (name, fix)
        (tmp_path / name).write_text(edited((examples / name).read_text(), fix.edits))
    # Nothing is left to be found, on what is then in the files.
    assert findings(tmp_path) == dict.fromkeys(found, [])


def test_what_may_be_meant_is_never_safe(tmp_path: Path) -> None:
    seen = set()
    for name, (rule, example) in write_examples(load_catalogue()[0].rules, tmp_path).items():
        if not example.bad or rule.id not in ("WP302", "WP309", "WP406"):
            (tmp_path / name).unlink()
    for name, (finding,) in findings(tmp_path).items():
        fix = fix_of(finding)
        assert fix.applicability == "unsafe", name
        assert "the gradient is right with it" in fix.message, name
        seen.add(finding.rule)
    assert seen == {"WP302", "WP309", "WP406"}


def _nothing(place: Place, recipe: str) -> list[Plan]:
    """A blank after the last line of the finding."""
    line = place.span.end_line
    at = (line, len(place.module.lines[line - 1]) + 1)
    return [Plan("Do nothing", (place.edit(Span(*at, *at), " "),))]


def _wrong(place: Place, recipe: str) -> list[Plan]:
    """Edits that look as if they helped."""
    texts = {
        "guard-root": "wp.sqrt(2.0 * wp.dot(d, d))",
        "guard-operand": "wp.where(h > 0.0, wp.pow(h, 0.5), 0.0)",
        "rebuild-composite": "v[1] = restitution[i] * v[1]",
        "index-form": "p.z -= rise[i]",
        "accumulate-adjoint": "wp.adjoint[x] += x * adj_ret",
        "add-requires-grad": "wp.zeros(len(lengths), dtype=wp.float32)",
        "read-then-zero": "stretch.grad.numpy().copy()",
        "loss-inside-tape": "tape.backward(loss=out)",
        "rebind-instead-of-copy": "size.assign(grown)",
        "close-the-tape": "wp.launch(clear, dim=(1,), inputs=[out])",
    }
    if recipe == "zero-after-use":
        before = Span(place.span.line, 1, place.span.line, 1)  # where a new tape knows no gradients yet
        return [Plan("Do something else", (place.edit(before, "        tape.zero()\n"),))]
    return [Plan("Do something else", (place.edit(place.span, texts[recipe]),))]


@pytest.mark.parametrize("plans", [_nothing, _wrong])
def test_what_mends_nothing_is_not_safe(examples: Path, monkeypatch: pytest.MonkeyPatch, plans: object) -> None:
    monkeypatch.setattr(fixing, "plans", plans)
    for name, (finding,) in findings(examples).items():
        fix = fix_of(finding)
        assert fix.applicability == "unsafe", name
        assert fix.message.endswith("(not proved: the gradient is still wrong with it)"), name


def test_what_does_not_parse_is_not_offered(examples: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(place: Place, recipe: str) -> list[Plan]:
        return [Plan("Break it", (place.edit(place.span, "wp.where("),))]

    monkeypatch.setattr(fixing, "plans", broken)
    assert all(finding.fix is None for found in findings(examples).values() for finding in found)


TWICE = """\
import warp as wp


@wp.kernel
def lift(place: wp.array(dtype=wp.vec3), rise: wp.array(dtype=float), out: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    p = place[i]
    q = place[i] * rise[i]
    p.x += rise[i]
    q.y += rise[i]
    out[i] = p + q
"""

UNMENDED = """\
import warp as wp


@wp.kernel
def lift(place: wp.array(dtype=wp.vec3), rise: wp.array(dtype=float), out: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    p = place[i]
    p.x += rise[i]
    rise[i] *= p[0]
    out[i] = p * rise[i]
"""

DOUBLE = """\
import warp as wp


@wp.kernel
def lift(place: wp.array(dtype=wp.vec3d), rise: wp.array(dtype=wp.float64), out: wp.array(dtype=wp.vec3d)):
    i = wp.tid()
    p = place[i]
    p[1] *= rise[i]
    out[i] = p
"""


IN_FUNC = """\
import warp as wp


@wp.func
def without_drift(v: wp.vec3, keel: float):
    v[1] = v[0] * keel
    return v


@wp.kernel
def made_good(v: wp.array(dtype=wp.vec3), keel: wp.array(dtype=float), out: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    out[i] = without_drift(v[i], keel[i]) * keel[i]
"""

SQUARES = """\
import warp as wp


@wp.kernel
def far(x: wp.array(dtype=float), y: wp.array(dtype=float), flat: wp.array(dtype=float), deep: wp.array(dtype=float)):
    i = wp.tid()
    flat[i] = wp.sqrt(x[i] * x[i])
    deep[i] = wp.sqrt(x[i] * x[i] + y[i] * y[i])
"""


def test_defects_of_one_kernel_and_types(tmp_path: Path) -> None:
    for name, code in (
        ("twice", TWICE),
        ("unmended", UNMENDED),
        ("double", DOUBLE),
        ("func", IN_FUNC),
        ("squares", SQUARES),
    ):
        (tmp_path / f"{name}.py").write_text(code)
    found = findings(tmp_path)
    # Neither is right without the other.
    first, second = (fix_of(finding) for finding in found["twice.py"])
    assert first.edits == second.edits
    assert (first.applicability, second.applicability) == ("safe", "safe")
    assert edited(TWICE, first.edits) == TWICE.replace("p.x", "p[0]").replace("q.y", "q[1]")
    # The other defect has no recipe, so that the kernel stays wrong.
    fixes = {finding.rule: finding.fix for finding in found["unmended.py"]}
    assert fixes.keys() == {"WP101", "WP108"}
    assert fixes["WP101"] is None
    assert fixes["WP108"] is not None
    assert fixes["WP108"].applicability == "unsafe"
    # A constructor that fits the type is found by trying.
    (double,) = found["double.py"]
    assert fix_of(double).applicability == "safe"
    assert "type(p)(p[0], p[1] * rise[i], p[2])" in edited(DOUBLE, fix_of(double).edits)
    # Warp hands arguments of funcs over by value, so that they can be built anew.
    (in_func,) = found["func.py"]
    assert fix_of(in_func).applicability == "safe"
    assert "v = wp.vec3(v[0], v[0] * keel, v[2])" in edited(IN_FUNC, fix_of(in_func).edits)
    assert [fix_of(finding).applicability for finding in found["squares.py"]] == ["safe", "safe"]


GROWTH = """\
import warp as wp


@wp.kernel
def grow(size: wp.array(dtype=float), rate: wp.array(dtype=float), grown: wp.array(dtype=float)):
    i = wp.tid()
    grown[i] = size[i] + rate[0] * size[i] * (1.0 - size[i])


@wp.kernel
def total(size: wp.array(dtype=float), out: wp.array(dtype=float)):
    wp.atomic_add(out, 0, size[wp.tid()])


def rate_gradient(n, start):
    rate = wp.array([0.3], dtype=float, requires_grad=True)
    size = wp.full(n, 0.2, dtype=float, requires_grad=True)
    grown = GROWN
    tape = wp.Tape()
    with tape:
        for step in range(3):
            wp.launch(grow, dim=n, inputs=[size, rate], outputs=[grown])
            wp.copy(size, grown)
        out = wp.zeros(1, dtype=float, requires_grad=True)
        wp.launch(total, dim=n, inputs=[LAST], outputs=[out])
    tape.backward(out)
    return rate.grad.numpy()
"""


@pytest.mark.parametrize(
    ("grown", "last", "applicability"),
    [
        ("wp.zeros(n, dtype=float, requires_grad=True)", "size", "safe"),
        ("wp.empty_like(size)", "size", "safe"),
        ("wp.empty_like(size)", "grown", "safe"),  # then the last copy matters to nobody
        # An array that may be shorter is copied over a part of the other, and a clone of it would be shorter.
        ("wp.zeros(len(start), dtype=float, requires_grad=True)", "size", "unsafe"),
    ],
)
def test_a_name_gets_a_fresh_array(tmp_path: Path, grown: str, last: str, applicability: str) -> None:
    code = GROWTH.replace("GROWN", grown).replace("LAST", last)
    (tmp_path / "growth.py").write_text(code)
    (finding,) = findings(tmp_path)["growth.py"]
    assert fix_of(finding).applicability == applicability
    assert edited(code, fix_of(finding).edits) == code.replace("wp.copy(size, grown)", "size = wp.clone(grown)")


def test_an_array_that_is_reached_otherwise_would_be_stale(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def rebound(place: Place, recipe: str) -> list[Plan]:
        return [Plan("Rebind the name", (place.edit(place.span, "size = wp.clone(grown)"),))]

    monkeypatch.setattr(fixing, "plans", rebound)
    code = GROWTH.replace("GROWN", "wp.zeros_like(size)\n    seen = size").replace("LAST", "seen")
    (tmp_path / "growth.py").write_text(code)
    (finding,) = findings(tmp_path)["growth.py"]
    # The loss would be another one; that its gradient is right proves nothing.
    assert fix_of(finding).message.endswith(
        "(not proved: what runs with it could not be compared with what ran before)"
    )


LOOPS = """\
import warp as wp

FOUR = 4


@wp.kernel
def product(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    p = float(1.0)
    for i in range(FOUR - 1):
        p *= x[i]
    out[0] = p


@wp.kernel
def norm(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    s = float(0.0)
    for i in wp.range(FOUR):
        s += x[i] * x[i]
    out[0] = wp.sqrt(s)


@wp.kernel
def squares(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    k = int(0)
    for i in range(FOUR // 2):
        out[i] = x[k] * x[k]
        k += 1


@wp.kernel
def powers(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    p = float(1.0)
    for j in range(FOUR - 2):
        for i in range(2 + 1):
            p *= x[i]
    out[0] = p


@wp.kernel
def steps(x: wp.array(dtype=float), n: int, out: wp.array(dtype=float)):
    p = float(1.0)
    for j in range(n):
        for i in range(2 + 1):
            p *= x[i]
    out[0] = p
"""


def test_loops_are_unrolled(tmp_path: Path) -> None:
    (tmp_path / "loops.py").write_text(LOOPS)
    found = findings(tmp_path)["loops.py"]
    assert [finding.rule for finding in found] == ["WP104", "WP105", "WP106", "WP104", "WP104"]
    fixes = [fix_of(finding) for finding in found]
    # The last one is carried through a loop that no edit unrolls.
    assert [fix.applicability for fix in fixes] == ["safe"] * 4 + ["unsafe"]
    assert fixes[4].message.endswith("(not proved: the gradient is still wrong with it)")
    expected = LOOPS.replace("range(FOUR - 1)", "range(wp.static(FOUR - 1))").replace("wp.range(", "range(")
    expected = expected.replace("range(FOUR // 2)", "range(wp.static(FOUR // 2))")
    # What is carried through two loops needs both.
    expected = expected.replace("range(FOUR - 2)", "range(wp.static(FOUR - 2))")
    expected = expected.replace("range(2 + 1)", "range(wp.static(2 + 1))", 1)
    assert edited(LOOPS, [edit for fix in fixes[:4] for edit in fix.edits]) == expected


SETTLE = """\
import warp as wp


@wp.kernel
def settle(height: wp.array(dtype=float), sand: wp.array(dtype=float)):
    i = wp.tid()
    height[i] *= sand[i]


def settled(n, height, sand):
    wp.launch(settle, dim=n, inputs=[height, sand])
"""

ELSEWHERE = """\
import warp as wp
from settle import settle as other


class Basin:
    def step(self):
        wp.launch(kernel=other, dim=3, inputs=[self.height, self.sand])
"""


def test_what_leaves_launches_to_be_changed_is_never_safe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "settle.py").write_text(SETTLE)
    (tmp_path / "elsewhere.py").write_text(ELSEWHERE)
    for _ in range(2):  # what is remembered of a file does not hide the launches in it
        (finding,) = findings(tmp_path)["settle.py"]
        fix = fix_of(finding)
        assert fix.applicability == "unsafe"
        assert "(the gradient of the kernel is right with it); where `settle` is launched" in fix.message
        assert fix.message.endswith(": elsewhere.py:7, settle.py:11")
    assert "    height_out[i] = height[i] * sand[i]\n" in edited(SETTLE, fix.edits)


#: What a person would write: a gradient that is wrong because an element is overwritten.
OVERWRITING = """import warp as wp


@wp.kernel
def damp(v: wp.array(dtype=wp.vec3), dt: float, drag: wp.array(dtype=float)):
    i = wp.tid()
    v[i] *= wp.exp(-drag[i] * dt)


@wp.kernel
def integrate(
    x: wp.array(dtype=wp.vec3),
    v: wp.array(dtype=wp.vec3),
    f: wp.array(dtype=wp.vec3),
    inv_mass: wp.array(dtype=float),
    gravity: wp.vec3,
    dt: float,
):
    tid = wp.tid()
    a = f[tid] * inv_mass[tid] + gravity
    speed = wp.length(v[tid])
    v[tid] = v[tid] + (a - v[tid] * speed) * dt


@wp.kernel
def relax(u: wp.array2d(dtype=float), k: wp.array2d(dtype=float), rate: float):
    i, j = wp.tid()
    u[i, j] = u[i, j] * (1.0 - rate * k[i, j] * u[i, j])


@wp.kernel
def normalize_rotations(q: wp.array(dtype=wp.quat)):
    i = wp.tid()
    q[i] = wp.normalize(q[i])


@wp.kernel
def activate(
    z: wp.array(dtype=float), w: wp.array(dtype=float),  # weights
):
    i = wp.tid()
    z[i] = wp.tanh(z[i] * w[i])


def step(x, v, f, m, u, k, q, z, w, drag):
    tape = wp.Tape()
    with tape:
        wp.launch(damp, dim=v.shape[0], inputs=[v, 0.1, drag])
        wp.launch(integrate, dim=v.shape[0], inputs=[x, v, f, m, wp.vec3(0.0, -9.8, 0.0), 0.1])
        wp.launch(relax, dim=u.shape, inputs=[u, k, 0.1])
        wp.launch(normalize_rotations, dim=q.shape[0], inputs=[q])
        wp.launch(activate, dim=z.shape[0], inputs=[z, w])
    return tape
"""


def test_kernels_that_overwrite_get_an_array_of_their_own(tmp_path: Path) -> None:
    """All five are wrong, and right with the edit; launches are listed."""
    path = tmp_path / "kernels.py"
    path.write_text(OVERWRITING)
    found = findings(tmp_path)[path.name]
    assert len(found) == 5
    for finding in found:
        fix = fix_of(finding)
        assert fix.applicability == "unsafe"
        assert "the gradient of the kernel is right with it" in fix.message
        assert "launches in these files: " in fix.message
