"""``warplint check``: paths, rules, exit status, and what bad input gets."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from command import Command, environment, run_cheaply, run_warplint
from linting import LIGHT, PLAN, hits
from programs import CARRIED, CLEAN, IN_PLACE
from terminals import on_a_terminal


@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        (["--no-probe", "."], 1),
        (["--no-probe", "--output-format", "json", "-"], 1),
        (["--no-probe", "clean.py", "missing.py"], 2),
        (["--no-probe", "--nope"], 2),
        (["rules"], 0),
        (["config", "--output-format", "json"], 0),
        (["explain", "WP1x"], 2),
    ],
)
def test_runs_in_the_process_of_the_tests_are_like_real_ones(project: Path, arguments: list[str], status: int) -> None:
    (project / "warplint.toml").write_text('exclude = ["sub/"]\n')
    variables = {"FORCE_COLOR": "1", "PYTHONHASHSEED": "0"}
    real, cheap = (run(*arguments, cwd=project, stdin=IN_PLACE, **variables) for run in (run_warplint, run_cheaply))
    assert real.returncode == status
    assert (cheap.returncode, cheap.stdout, cheap.stderr) == (real.returncode, real.stdout, real.stderr)
    assert Path.cwd() != project and "FORCE_COLOR" not in os.environ


class TestPaths:
    def test_a_folder(self, project: Path, lint: Command) -> None:
        done = lint(".")
        assert (hits(done), done.returncode, done.stderr) == ([LIGHT, PLAN], 1, "")
        assert done.stdout.endswith("Found 2 findings (2 unprobed); 3 files\n")

    def test_files(self, project: Path, lint: Command) -> None:
        assert hits(lint("sub/plan.py", "clean.py")) == [PLAN]

    def test_the_word_check_may_stand_in_front(self, project: Path, lint: Command) -> None:
        assert hits(lint("check", ".")) == [LIGHT, PLAN]

    def test_paths_are_shown_relative_to_the_current_folder(self, project: Path, lint: Command) -> None:
        assert hits(lint(project / "sub/plan.py")) == [PLAN]
        assert hits(lint(".", cwd=project / "sub")) == ["plan.py:8 WP104"]
        assert hits(lint("../light.py", cwd=project / "sub")) == [f"{project}/light.py:7 WP101"]

    def test_none_is_the_current_folder(self, project: Path, lint: Command, warplint: Command) -> None:
        assert hits(lint()) == hits(lint(".")) == [LIGHT, PLAN]
        assert warplint("check", "--no-probe").stdout == warplint("check", "--no-probe", ".").stdout

    def test_arguments_from_a_file(self, project: Path, lint: Command) -> None:
        (project / "some.txt").write_text("light.py\n\nclean.py\n--select\nWP1\n")
        done = lint("@some.txt")
        assert (hits(done), "2 files" in done.stdout) == ([LIGHT], True)
        (project / "@odd.py").write_text(IN_PLACE)
        assert hits(lint("@odd.py")) == ["@odd.py:7 WP101"]
        (project / "bad.txt").write_bytes(b"\xff\n")
        done = lint("@bad.txt")
        assert (done.returncode, done.stderr.count("\n")) == (2, 1)
        assert done.stderr.startswith("warplint: the file of arguments cannot be read: ")
        assert lint("@none.txt").stderr == "warplint: @none.txt: no such file or folder; check the path\n"

    def test_they_are_shown(self, project: Path, warplint: Command) -> None:
        (project / "warplint.toml").write_text('exclude = ["sub/"]\n')
        done = warplint("check", "--no-probe", "--show-files")
        assert (done.returncode, done.stdout, done.stderr) == (0, "clean.py\nlight.py\n", "")
        assert warplint("check", "--no-probe", "--show-files", "sub/plan.py").stdout == "sub/plan.py\n"
        done = warplint("--no-probe", "--show-files", "gone", "clean.py")
        assert (done.returncode, done.stdout) == (2, "clean.py\n")
        assert "gone: no such file" in done.stderr

    def test_clean(self, project: Path, lint: Command) -> None:
        done = lint("clean.py")
        assert (done.stdout, done.stderr, done.returncode) == ("No findings; 1 file\n", "", 0)

    def test_a_folder_without_python(self, tmp_path: Path, lint: Command) -> None:
        done = lint(".")
        assert (done.returncode, done.stderr) == (0, "warplint: no Python files found under the given paths\n")


class TestStandardInput:
    def test_text(self, lint: Command) -> None:
        assert hits(lint("-", stdin=IN_PLACE)) == ["-:7 WP101"]

    def test_under_a_name(self, project: Path, lint: Command) -> None:
        assert hits(lint("-", "--stdin-filename", "sub/new.py", stdin=IN_PLACE)) == ["sub/new.py:7 WP101"]

    def test_it_stands_for_the_file_of_that_name(self, project: Path, lint: Command) -> None:
        assert hits(lint(".", "-", "--stdin-filename", "light.py", stdin=CLEAN)) == [PLAN]

    def test_its_configuration_is_that_of_the_name(self, project: Path, lint: Command) -> None:
        (project / "sub/warplint.toml").write_text('ignore = ["WP101"]\n')
        assert hits(lint("-", "--stdin-filename", "sub/new.py", stdin=IN_PLACE)) == []

    def test_a_broken_text(self, lint: Command) -> None:
        done = lint("-", stdin="def f(:\n")
        assert done.returncode == 2
        assert done.stderr.startswith("warplint: -:1:")

    def test_a_name_alone(self, lint: Command) -> None:
        assert hits(lint("--stdin-filename", "sub/new.py", stdin=IN_PLACE)) == ["sub/new.py:7 WP101"]

    def test_a_file_that_is_left_out(self, project: Path, lint: Command) -> None:
        (project / "warplint.toml").write_text('exclude = ["sub/"]\n')
        named = ("-", "--stdin-filename", "sub/new.py")
        assert hits(lint(*named, stdin=IN_PLACE)) == ["sub/new.py:7 WP101"]
        done = lint(*named, "--force-exclude", stdin=IN_PLACE)
        assert (done.returncode, hits(done)) == (0, [])
        assert (
            hits(lint("-", "--force-exclude", "--exclude", "new.py", "--stdin-filename", "new.py", stdin=IN_PLACE))
            == []
        )
        assert hits(lint("-", "--stdin-filename", "stub.pyi", stdin=IN_PLACE)) == []

    def test_a_name_without_standard_input(self, lint: Command) -> None:
        done = lint("a.py", "--stdin-filename", "b.py")
        assert (done.returncode, "goes with the path `-`" in done.stderr) == (2, True)


class TestRules:
    @pytest.mark.parametrize(
        ("options", "expected"),
        [
            (["--select", "WP101"], [LIGHT]),
            (["--select", "loop-carried-value"], [PLAN]),
            (["--select", "WP101,WP104"], [LIGHT, PLAN]),
            (["--select", "WP101", "--select=WP104"], [LIGHT, PLAN]),
            (["--select", "WP1"], [LIGHT, PLAN]),
            (["--select", "lost-value", "--ignore", "WP104"], [LIGHT]),
            (["--select", "WP3", "--extend-select", "WP101"], [LIGHT]),
            (["--ignore", "WP1"], []),
            (["--ignore", "WP1", "--extend-select", "WP104"], [PLAN]),
            (["--select", "WP5"], []),
        ],
    )
    def test_selection(self, project: Path, lint: Command, options: list[str], expected: list[str]) -> None:
        done = lint(*options, ".")
        assert hits(done) == expected
        assert done.returncode == (1 if expected else 0)

    @pytest.mark.parametrize("option", ["--select", "--extend-select", "--ignore"])
    def test_an_unknown_rule(self, project: Path, lint: Command, option: str) -> None:
        done = lint(option, "loop-carried-valeu", ".")
        message = "warplint: unknown rule `loop-carried-valeu`; did you mean `loop-carried-value`?\n"
        assert (done.returncode, done.stdout, done.stderr) == (2, "", message)

    def test_configuration(self, project: Path, lint: Command) -> None:
        (project / "pyproject.toml").write_text('[tool.warplint]\nselect = ["WP101"]\n')
        (project / "sub/warplint.toml").write_text('exclude = ["nothing"]\n')
        assert hits(lint(".")) == [LIGHT, PLAN]
        (project / "sub/warplint.toml").unlink()
        assert hits(lint(".")) == [LIGHT]
        assert hits(lint(".", "--select", "WP104")) == [PLAN]
        assert hits(lint(".", "--extend-select", "WP104")) == [LIGHT, PLAN]

    def test_what_the_configuration_ignores_stays_ignored_unless_it_is_asked_for_by_name(
        self, project: Path, lint: Command
    ) -> None:
        (project / "warplint.toml").write_text('ignore = ["WP104"]\n')
        assert hits(lint(".", "--select", "WP1")) == [LIGHT]
        assert hits(lint(".", "--select", "WP104")) == [PLAN]

    def test_an_unknown_rule_in_a_configuration(self, project: Path, lint: Command) -> None:
        (project / "warplint.toml").write_text('ignore = ["WP1O4", "WP101"]\n')
        done = lint(".")
        assert (hits(done), done.returncode) == ([PLAN], 2)
        assert done.stderr == "warplint: warplint.toml:1: `ignore`: unknown rule `WP1O4`; did you mean `WP104`?\n"

    def test_exclude_and_force_exclude(self, project: Path, lint: Command) -> None:
        (project / "warplint.toml").write_text('exclude = ["sub/"]\n')
        assert hits(lint(".")) == [LIGHT]
        assert hits(lint("sub/plan.py")) == [PLAN]
        done = lint("--force-exclude", "sub/plan.py")
        assert (hits(done), done.returncode) == ([], 0)


class TestBadInput:
    """Each gets one line on standard error, the rest is linted, and the exit status is 2."""

    def refused(self, done: subprocess.CompletedProcess[str], start: str, *words: str) -> None:
        assert hits(done) == [LIGHT]
        assert done.returncode == 2
        (line,) = done.stderr.splitlines()
        assert line.startswith(f"warplint: {start}"), line
        for word in words:
            assert word in line

    @pytest.fixture(autouse=True)
    def _good_file(self, tmp_path: Path) -> None:
        (tmp_path / "light.py").write_text(IN_PLACE)

    def test_a_missing_path(self, lint: Command) -> None:
        self.refused(lint(".", "nowhere"), "nowhere: no such file or folder")

    def test_a_syntax_error(self, tmp_path: Path, lint: Command) -> None:
        (tmp_path / "bad.py").write_text("import warp as wp\n\ndef f(:\n")
        self.refused(lint("."), "bad.py:3:7: syntax error")

    def test_a_null_byte(self, tmp_path: Path, lint: Command) -> None:
        (tmp_path / "bad.py").write_bytes(b"import warp\nx = '\0'\n")
        self.refused(lint("."), "bad.py:2: ", "null byte")

    def test_a_wrong_encoding(self, tmp_path: Path, lint: Command) -> None:
        (tmp_path / "bad.py").write_bytes(b"import warp\n# caf\xe9\n")
        self.refused(lint("."), "bad.py:2: ", "decode")

    def test_an_unknown_encoding(self, tmp_path: Path, lint: Command) -> None:
        (tmp_path / "bad.py").write_bytes(b"# coding: klingon\nimport warp\n")
        self.refused(lint("."), "bad.py:1: ", "klingon")

    def test_a_huge_file(self, tmp_path: Path, lint: Command) -> None:
        (tmp_path / "bad.py").write_text("import warp\n" + "x = 1\n" * 900_000)
        self.refused(lint("."), "bad.py: ", "5,400,012 bytes")

    def test_a_recursive_link(self, tmp_path: Path, lint: Command) -> None:
        (tmp_path / "here").mkdir()
        (tmp_path / "here" / "loop").symlink_to("..")
        self.refused(lint("here", "."), "here/loop: the symbolic link leads back")

    def test_deep_nesting(self, tmp_path: Path, lint: Command) -> None:
        (tmp_path / "bad.py").write_text("import warp\nx = " + "(" * 5000 + ")" * 5000 + "\n")
        self.refused(lint("."), "bad.py:")

    def test_a_broken_configuration(self, tmp_path: Path, lint: Command) -> None:
        (tmp_path / "pyproject.toml").write_text("[tool.warplint\n")
        self.refused(lint("."), "pyproject.toml:1:15: broken TOML")

    @pytest.mark.skipif(os.geteuid() == 0, reason="root can read everything")
    def test_an_unreadable_folder_and_file(self, tmp_path: Path, lint: Command) -> None:
        (tmp_path / "closed").mkdir(mode=0)
        self.refused(lint("."), "closed: cannot list the folder: permission denied")
        (tmp_path / "closed").rmdir()
        (tmp_path / "closed.py").touch(mode=0)
        self.refused(lint("."), "closed.py: cannot read the file")

    def test_a_name_that_is_no_text(self, tmp_path: Path, lint: Command) -> None:
        (tmp_path / os.fsdecode(b"caf\xe9.py")).write_text("x = (\n")
        self.refused(lint("."), "caf\\udce9.py:1:")
        assert lint("--output-format", "json", ".").returncode == 2

    def test_an_empty_path_is_not_the_current_folder(self, tmp_path: Path, lint: Command) -> None:
        done = lint("")
        assert (hits(done), done.returncode) == ([], 2)
        assert done.stderr == "warplint: a path is empty; name a file or folder, or `.` for the current folder\n"

    def test_many_at_once_are_listed_in_order(self, tmp_path: Path, lint: Command) -> None:
        for name in ("c.py", "a.py", "b.py"):
            (tmp_path / name).write_text("(\n")
        done = lint(".")
        assert [line.split(":")[1].strip() for line in done.stderr.splitlines()] == ["a.py", "b.py", "c.py"]
        assert done.stdout.endswith("3 errors\n")


class TestUsage:
    @pytest.mark.parametrize(
        ("arguments", "words"),
        [
            ([], "no path given"),
            (["--device", "gpu", "."], "no device; write auto, cpu or cuda:N"),
            (["--jobs", "0", "."], "no number of processes"),
            (["--select", "WP1,", "."], "no list of rules"),
            (["--output-format", "xml", "."], "invalid choice: 'xml'"),
            (["--nope", "."], "unrecognized arguments: --nope"),
            (["--selec", "WP1", "."], "unrecognized arguments: --selec; did you mean `--select`?"),
            (["--format=json", "."], "; did you mean `--output-format`?"),
            (["--add-noqa", "."], "; did you mean `--add-ignore`?"),
            (["chekc", "."], "`chekc` is neither a command nor a file or folder; did you mean `warplint check`?"),
            (["rules", "--output-fromat", "json"], "; did you mean `--output-format`?"),
            (["help", "me"], "invalid choice: 'me'"),
            (["--watch", "--show-files", "."], "--show-files goes with neither"),
            (["explain", "WP104", "extra"], "unknown rule `extra`"),
        ],
    )
    def test_a_wrong_call_is_one_line_and_exit_status_2(
        self, warplint: Command, arguments: list[str], words: str
    ) -> None:
        done = warplint(*arguments)
        assert (done.returncode, done.stdout) == (2, "")
        (line,) = done.stderr.splitlines()
        assert line.startswith("warplint: ") and words in line

    def test_help_names_every_option_and_fits_a_terminal(self, warplint: Command) -> None:
        done = warplint("-h", COLUMNS="80")
        assert done.returncode == 0
        assert max(len(line) for line in done.stdout.splitlines()) <= 80
        for option in (
            "--select",
            "--extend-select",
            "--ignore",
            "--no-probe",
            "--device",
            "--show-refuted",
            "--output-format",
            "--color",
            "--jobs",
            "--verbose",
            "--version",
            "--stdin-filename",
        ):
            assert option in done.stdout

    def test_version(self, warplint: Command) -> None:
        import warplint as package

        assert warplint("--version").stdout == f"warplint {package.__version__}\n"


class TestColor:
    def test_only_on_request_into_a_file(self, project: Path, lint: Command) -> None:
        assert "\x1b[" not in lint(".").stdout
        assert "\x1b[" not in lint(".", "--color", "never").stdout
        assert "\x1b[" in lint(".", "--color", "always").stdout

    @pytest.mark.parametrize(
        ("variables", "colored"), [({}, True), ({"NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False)]
    )
    def test_on_a_terminal(self, project: Path, variables: dict[str, str], colored: bool) -> None:
        pytest.importorskip("pty")
        status, output = on_a_terminal("--no-probe", "light.py", cwd=project, **variables)
        assert status == 1
        assert (re.search(r"\x1b\[[\d;]+m", output) is not None) == colored


class TestManyFiles:
    """From 64 files on, several processes share the work."""

    @pytest.fixture
    def many(self, tmp_path: Path) -> Path:
        for number in range(100):
            text = (IN_PLACE, CARRIED, CLEAN)[number % 3]
            (tmp_path / f"m{number:03}.py").write_text(text)
        (tmp_path / "m050.py").write_text("(\n")
        return tmp_path

    def test_one_process_or_three_give_the_same_report(self, many: Path, lint: Command) -> None:
        one, three = lint("--jobs", "1", "."), lint("--jobs", "3", ".")
        assert (one.stdout, one.stderr, one.returncode) == (three.stdout, three.stderr, three.returncode)
        assert len(hits(one)) == 67
        assert one.returncode == 2

    def test_an_interrupt_is_quiet_and_leaves_no_process_behind(self, many: Path) -> None:
        for number in range(3000):
            (many / f"more{number}.py").write_text(CARRIED)
        command = [sys.executable, "-m", "warplint", "--no-probe", "--jobs", "3", "."]
        with subprocess.Popen(
            command,
            cwd=many,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment(),
            start_new_session=True,
        ) as process:
            time.sleep(1.5)
            os.killpg(process.pid, signal.SIGINT)
            out, err = process.communicate(timeout=120)
        assert (process.returncode, out, err) == (130, b"", b"warplint: interrupted\n")
        with pytest.raises(ProcessLookupError):
            os.killpg(process.pid, 0)


def test_json(project: Path, warplint: Command) -> None:
    done = warplint("--no-probe", "--output-format", "json", ".", "nowhere.py")
    document = json.loads(done.stdout)
    assert done.returncode == 2
    places = [
        (found["rule"], found["path"], found["line"], found["evidence"]["verdict"]) for found in document["findings"]
    ]
    assert places == [("WP101", "light.py", 7, "unprobed"), ("WP104", "sub/plan.py", 8, "unprobed")]
    assert document["errors"][0]["path"] == "nowhere.py"
    assert document["summary"] == {
        "files": 3,
        "findings": 2,
        "confirmed": 0,
        "inconclusive": 0,
        "unprobed": 2,
        "refuted": 0,
        "unlisted": 0,
        "suppressed": 0,
        "baselined": 0,
        "errors": 1,
    }


def test_lsp_has_a_line_for_clean_files_too(project: Path, warplint: Command) -> None:
    done = warplint("--no-probe", "--output-format", "lsp", ".")
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert [line["uri"].rpartition("/")[2] for line in lines] == ["clean.py", "light.py", "plan.py"]
    assert [[found["code"] for found in line["diagnostics"]] for line in lines] == [[], ["WP101"], ["WP104"]]


def test_a_reader_that_goes_away_is_no_error(project: Path) -> None:
    command = [sys.executable, "-m", "warplint", "--no-probe", "."]
    with subprocess.Popen(
        command, cwd=project, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment()
    ) as process:
        assert process.stdout is not None and process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 1


class TestStreams:
    """What the standard streams are is the caller's choice, and no traceback comes of it."""

    def run(self, folder: Path, *arguments: str, shell: str) -> subprocess.CompletedProcess[str]:
        command = ["sh", "-c", f'exec "$@" {shell}', "sh", sys.executable, "-m", "warplint", "--no-probe", *arguments]
        return subprocess.run(
            command, cwd=folder, capture_output=True, text=True, env=environment(), timeout=120, check=False
        )

    @pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a device that is always full")
    @pytest.mark.parametrize("output_format", ["full", "json"])
    def test_a_full_disk_is_a_sentence(self, project: Path, output_format: str) -> None:
        done = self.run(project, "--output-format", output_format, ".", shell="> /dev/full")
        assert (done.returncode, done.stderr) == (2, "warplint: cannot write the output: No space left on device\n")

    @pytest.mark.skipif(os.name != "posix", reason="closes streams as a shell does")
    @pytest.mark.parametrize(("path", "shell", "status"), [(".", ">&-", 1), ("nowhere", "2>&-", 2), ("-", "<&-", 0)])
    def test_a_closed_stream(self, project: Path, path: str, shell: str, status: int) -> None:
        done = self.run(project, path, shell=shell)
        assert (done.returncode, done.stderr) == (status, "")


@pytest.mark.parametrize("package", ["yaml", "libcst"])
def test_a_missing_dependency_is_a_sentence(project: Path, package: str) -> None:
    script = f"import sys; sys.modules[{package!r}] = None; from warplint.cli import main; sys.exit(main())"
    done = subprocess.run(
        [sys.executable, "-c", script, "--no-probe", "."],
        cwd=project, capture_output=True, text=True, env=environment(), timeout=120, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"warplint: the package `{package}` is missing from {sys.prefix}; ")


def test_a_finding_that_was_not_probed_says_why(project: Path, warplint: Command) -> None:
    assert "\n  = unprobed: the probe is turned off\n" in warplint("--no-probe", "sub").stdout


def test_an_interrupt_is_quiet(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "warplint", "--no-probe", "-"]
    with subprocess.Popen(
        command, cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment()
    ) as process:
        time.sleep(1.0)  # it now waits for standard input
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=120)
    # Python ends itself by the signal where that came during an `exec`, as of `dataclass`; shells say 130 to both.
    assert process.returncode in (130, -signal.SIGINT)
    assert (out, err) == (b"", b"warplint: interrupted\n")


SEEDED = """\
import warp as wp


@wp.kernel
def square(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = x[i] * x[i]


@wp.kernel
def double(x: wp.array(dtype=float)):
    i = wp.tid()
    x[i] = x[i] * 2.0


def gradient(start):
    x = wp.array(start, dtype=float, requires_grad=True)
    y = wp.zeros_like(x)
    with wp.Tape() as tape:
        wp.launch(square, dim=4, inputs=[x], outputs=[y])
        wp.launch(double, dim=4, inputs=[x])
    SWEEP
    return x.grad
"""


@pytest.mark.parametrize(
    "sweep",
    [
        "tape.backward(grads={y: wp.ones_like(y)})",
        "y.grad.fill_(1.0)\n    tape.backward()",
        "tape.backward(grads={y: seed(y)})",
    ],
)
def test_an_overwritten_array_is_proved_where_gradients_are_given(
    tmp_path: Path, warplint: Command, sweep: str
) -> None:
    (tmp_path / "a.py").write_text(SEEDED.replace("SWEEP", sweep))
    done = warplint("--device", "cpu", "--output-format", "json", "a.py")
    (found,) = json.loads(done.stdout)["findings"]
    assert (found["rule"], found["evidence"]["verdict"]) == ("WP201", "confirmed")
    # The tape reads the doubled value: twice the derivative.
    told = re.search(r"gradient is (\S+), finite differences give (\S+)$", found["evidence"]["detail"])
    assert told is not None and float(told[1]) == pytest.approx(2.0 * float(told[2]), rel=1.0e-3)
