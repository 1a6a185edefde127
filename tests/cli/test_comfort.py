"""What makes the command pleasant: statistics, quiet and verbose runs, colours, links, progress, help."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from command import Command, environment
from linting import LIGHT, PLAN, hits
from programs import CARRIED, IN_PLACE
from terminals import on_a_terminal

from warplint import __version__
from warplint.terminal import PATIENCE

pytestmark = pytest.mark.skipif(os.name != "posix", reason="needs terminals and signals as POSIX has them")


class TestStatistics:
    def test_counts_instead_of_findings(self, project: Path, lint: Command) -> None:
        (project / "more.py").write_text(CARRIED)
        done = lint("--statistics", ".")
        assert done.stdout.splitlines() == [
            "2  WP104  loop-carried-value   2 unprobed",
            "1  WP101  in-place-array-math  1 unprobed",
            "Found 3 findings (3 unprobed); 4 files",
        ]
        assert done.returncode == 1

    def test_json(self, project: Path, warplint: Command) -> None:
        done = warplint("--no-probe", "--output-format", "json", "--statistics", "sub")
        assert json.loads(done.stdout) == [
            {
                "rule": "WP104",
                "name": "loop-carried-value",
                "count": 1,
                "confirmed": 0,
                "inconclusive": 0,
                "unprobed": 1,
                "refuted": 0,
            }
        ]

    def test_other_formats_have_none(self, project: Path, warplint: Command) -> None:
        assert warplint("--statistics", "--output-format", "sarif", ".").returncode == 2


def test_findings_without_a_failure(project: Path, lint: Command) -> None:
    done = lint("--exit-zero", ".")
    assert (hits(done), done.returncode) == ([LIGHT, PLAN], 0)
    assert lint("--exit-zero", ".", "nowhere.py").returncode == 2


def test_quiet(project: Path, lint: Command) -> None:
    done = lint("-q", ".")
    assert (len(done.stdout.splitlines()), hits(done), done.stderr) == (2, [LIGHT, PLAN], "")
    (project / "empty").mkdir()
    nothing = lint("--quiet", "empty")
    assert (nothing.stdout, nothing.stderr, nothing.returncode) == ("", "", 0)
    assert lint("--quiet", "nowhere.py").stderr != ""


def test_verbose(project: Path, lint: Command) -> None:
    (project / "sub/warplint.toml").write_text("")
    lines = lint("-v", ".").stderr.splitlines()
    assert lines[:2] == [
        "warplint: no configuration governs 2 of the files",
        "warplint: sub/warplint.toml governs 1 of the files",
    ]
    assert lines[2].startswith("warplint: 3 of the files linted for Warp ")
    assert [line.split(" took ")[0] for line in lines[-2:]] == ["warplint: reading", "warplint: probing"]
    assert lint("-q", "-v", ".").returncode == 2


class TestColors:
    @pytest.mark.parametrize(
        ("variables", "expected"),
        [
            ({"FORCE_COLOR": "1"}, True),
            ({"FORCE_COLOR": "0"}, False),
            ({"FORCE_COLOR": ""}, False),
            ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, False),
            ({"NO_COLOR": ""}, False),
        ],
    )
    def test_in_a_pipe(self, project: Path, lint: Command, variables: dict[str, str], expected: bool) -> None:
        assert ("\x1b[" in lint("light.py", **variables).stdout) == expected

    def test_an_option_comes_before_the_environment(self, project: Path, lint: Command) -> None:
        assert "\x1b[" in lint("--color", "always", "light.py", NO_COLOR="1").stdout
        assert "\x1b[" not in lint("--color", "never", "light.py", FORCE_COLOR="1").stdout


class TestLinks:
    def test_where_the_terminal_has_them(self, project: Path) -> None:
        target = f"\x1b]8;;{(project / 'light.py').as_uri()}\x1b\\"
        for output_format, variables in (("full", {"WT_SESSION": "1"}), ("concise", {"TERM_PROGRAM": "vscode"})):
            arguments = ("--no-probe", "--output-format", output_format, "light.py")
            assert target in on_a_terminal(*arguments, cwd=project, **variables)[1]
            assert "\x1b]8" not in on_a_terminal(*arguments, cwd=project, NO_COLOR="1", **variables)[1]
        assert "\x1b]8" not in on_a_terminal("--no-probe", "light.py", cwd=project)[1]

    def test_on_request(self, project: Path, lint: Command) -> None:
        assert "\x1b]8" in lint("light.py", FORCE_HYPERLINK="1").stdout
        assert "\x1b]8" not in lint("light.py").stdout


#: A run whose reading takes a while, without asking for it.
SLOW = """
import sys, time
import warplint.analysis as analysis
import warplint.terminal as terminal
terminal.PATIENCE = 0.3
analyse = analysis.analyse_files
def slowly(*arguments):
    end = time.monotonic() + 0.9
    while time.monotonic() < end:
        time.sleep(0.1)
    return analyse(*arguments)
analysis.analyse_files = slowly
from warplint.cli import main
raise SystemExit(main())
"""


class TestProgress:
    def test_it_is_shown_after_a_while_and_then_taken_away(self, project: Path) -> None:
        status, output = on_a_terminal("--no-probe", "--color", "never", ".", cwd=project, script=SLOW)
        assert status == 1
        drawn = [line.partition("\x1b[K")[2] for line in output.split("\r") if line.startswith("\x1b[K")]
        assert "reading 3 files" in drawn
        assert drawn[-1].startswith("warning[WP101]")  # the line was emptied before

    def test_a_short_run_shows_none(self, project: Path) -> None:
        patient = SLOW.replace("PATIENCE = 0.3", "PATIENCE = 60.0")
        assert "\x1b[K" not in on_a_terminal("--no-probe", "light.py", cwd=project, script=patient)[1]

    def test_a_second_is_short(self) -> None:
        assert PATIENCE == 1.0

    @pytest.mark.parametrize(("option", "variables"), [("-q", {}), ("-v", {"TERM": "dumb"})])
    def test_nor_a_quiet_run_or_a_dumb_terminal(self, project: Path, option: str, variables: dict[str, str]) -> None:
        assert "\x1b[K" not in on_a_terminal("--no-probe", option, ".", cwd=project, script=SLOW, **variables)[1]


class TestDevice:
    @pytest.mark.skipif(any(Path(p).exists() for p in ("/dev/nvidiactl", "/dev/dxg")), reason="there may be a GPU")
    def test_one_that_is_not_there_is_a_sentence(self, project: Path, warplint: Command) -> None:
        sentence = (
            "warplint: the device `cuda:0` cannot be used: Warp finds no such device here; "
            "`--device auto` uses what there is\n"
        )
        done = warplint("--device", "cuda:0", ".")
        assert (done.returncode, done.stdout, done.stderr) == (2, "", sentence)
        (project / "warplint.toml").write_text('device = "cuda:0"\n')
        assert warplint("light.py").stderr == sentence
        # Where nothing is to be probed, nothing needs it.
        assert warplint("clean.py").returncode == 0
        assert warplint("--no-probe", ".").returncode == 1


class TestCache:
    def test_it_is_kept_where_it_is_said(self, tmp_path: Path, warplint: Command) -> None:
        (tmp_path / "a.py").write_text(IN_PLACE)
        home = tmp_path / "home"
        done = warplint("--device", "cpu", "--cache-dir", "kept", "a.py", XDG_CACHE_HOME=str(home))
        assert "= confirmed on cpu" in done.stdout
        assert list((tmp_path / "kept").rglob("*.o")) != []
        assert not home.exists()

    def test_or_nowhere(self, tmp_path: Path, warplint: Command) -> None:
        (tmp_path / "a.py").write_text(IN_PLACE)
        scratch = tmp_path / "scratch"
        scratch.mkdir()
        done = warplint(
            "--device", "cpu", "--no-cache", "a.py", XDG_CACHE_HOME=str(tmp_path / "home"), TMPDIR=str(scratch)
        )
        assert "= confirmed on cpu" in done.stdout
        assert not (tmp_path / "home").exists()
        assert list(scratch.iterdir()) == []
        assert warplint("--no-cache", "--cache-dir", "x", "a.py").returncode == 2


def test_a_folder_is_no_name_for_standard_input(project: Path, lint: Command) -> None:
    done = lint("-", "--stdin-filename", "sub", stdin=IN_PLACE)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("warplint: --stdin-filename 'sub' is a folder; name a Python file; ")


#: An interrupt that comes while a certain module is looked for.
INTERRUPTED = """
import sys
class Interrupt:
    def find_spec(self, name, path=None, target=None):
        if name == MODULE:
            raise KeyboardInterrupt
sys.meta_path.insert(0, Interrupt())
from warplint.__main__ import run
raise SystemExit(run())
"""


@pytest.mark.parametrize(
    "module", ["warplint.cli", "argparse", "warplint.settings.options", "warplint.pipeline", "warplint.report.full"]
)
def test_an_interrupt_is_quiet_from_the_first_moment_on(project: Path, module: str) -> None:
    script = INTERRUPTED.replace("MODULE", repr(module))
    done = subprocess.run(
        [sys.executable, "-S", "-c", script, "--no-probe", "."],
        cwd=project, capture_output=True, text=True, env=environment(), timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 130
    assert done.stdout == "" and done.stderr in ("", "warplint: interrupted\n")


class TestHelp:
    def test_it_is_grouped_and_short(self, warplint: Command) -> None:
        text = warplint("--help", COLUMNS="80").stdout
        groups = [
            line.rstrip(":") for line in text.splitlines() if line and not line.startswith(" ") and line.endswith(":")
        ]
        assert groups == ["commands", "rules", "probe", "findings", "output", "files", "other"]
        assert len(text.splitlines()) < 90

    @pytest.mark.parametrize("command", ["explain", "rules", "config", "completion"])
    def test_every_command_has_its_own(self, warplint: Command, command: str) -> None:
        done = warplint(command, "-h", COLUMNS="80")
        assert done.returncode == 0
        assert done.stdout.startswith(f"usage: warplint {command} ")
        assert command in warplint("-h").stdout

    def test_a_command_prints_it_too(self, warplint: Command) -> None:
        for command in ("check", "explain", "help", "server"):
            asked = warplint("help", command)
            assert (asked.returncode, asked.stdout) == (0, warplint(command, "--help").stdout)
        assert warplint("help").stdout == warplint("--help").stdout

    def test_the_version(self, warplint: Command) -> None:
        assert warplint("-V").stdout == warplint("--version").stdout == f"warplint {__version__}\n"

    def test_every_option_is_explained(self) -> None:
        from warplint.arguments import check_parser

        for action in check_parser()._actions:
            if action.option_strings:
                assert action.help and len(action.help) <= 75, action.option_strings
                assert not action.help.endswith(".")
