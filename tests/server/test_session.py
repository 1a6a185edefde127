"""A day in an editor, against the real server process."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

pytest.importorskip("pygls")

from client import PULLED, PUSHED, Client
from command import environment, run_warplint
from programs import CARRIED, CLEAN, IN_PLACE

HEAD = "import warp as wp\n"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "pyproject.toml").write_text("[tool.warplint]\n")
    (tmp_path / "light.py").write_text(IN_PLACE)
    (tmp_path / "growth.py").write_text(CARRIED)
    (tmp_path / "lib.py").write_text("import warp as wp\n\n\n@wp.func\ndef twice(x: float):\n    return 2.0 * x\n")
    return tmp_path


def test_a_long_session(project: Path) -> None:
    path, config = project / "light.py", project / "pyproject.toml"
    with Client(project, WARP_CACHE_PATH=str(project / "warp-cache")) as editor:
        # open
        uri = editor.open(path)
        (found,) = editor.diagnostics(uri)
        assert (found["code"], found["range"]["start"]) == ("WP101", {"line": 6, "character": 4})
        assert found["severity"] == 2 and found["source"] == "warplint"
        assert found["data"]["evidence"]["verdict"] == "unprobed"
        page = Path(found["codeDescription"]["href"].removeprefix("file://"))
        assert page.read_text().startswith("# WP101 ")
        assert found["relatedInformation"] and found["relatedInformation"][0]["location"]["uri"] == uri
        assert editor.lenses(uri) == ["adjoint: not probed"]

        # lines move it, in every direction
        editor.replace(uri, HEAD, "# eins\n# zwei\n" + HEAD)
        assert editor.codes(uri) == [("WP101", 9)]
        editor.replace(uri, "# eins\n# zwei\n", "")
        assert editor.codes(uri) == [("WP101", 7)]
        editor.replace(uri, "i = wp.tid()", "i = wp.tid()  # \U0001f600 wide")
        assert editor.codes(uri) == [("WP101", 7)]

        # break, and break again, and repair
        editor.replace(uri, "passed[i]\n", "passed[i\n")
        assert [code for code, _ in editor.codes(uri)] == ["unread"]
        assert editor.diagnostics(uri)[0]["severity"] == 3
        editor.replace(uri, "def attenuate(", "def attenuate((")
        assert [code for code, _ in editor.codes(uri)] == ["unread"]
        editor.replace(uri, "def attenuate((", "def attenuate(")
        editor.replace(uri, "passed[i\n", "passed[i]\n")
        assert editor.codes(uri) == [("WP101", 7)]

        # rename
        editor.replace(uri, "def attenuate(", "def darken(")
        assert editor.codes(uri) == [("WP101", 7)]
        assert "darken" in editor.hover(uri, "darken(") and "`light`" in editor.hover(uri, "darken(")

        # the defect goes and comes back
        editor.replace(uri, "light[i] *= passed[i]", "light[i] = passed[i]")
        assert editor.codes(uri) == []
        editor.replace(uri, "light[i] = passed[i]", "light[i] *= passed[i]")
        assert editor.codes(uri) == [("WP101", 7)]

        # save: the evidence arrives, with progress shown
        editor.save(uri, path)
        editor.wait(
            lambda: any(one["data"]["evidence"]["verdict"] == "confirmed" for one in editor.pushed[uri][1]),
            "evidence",
            120,
        )

        def kinds() -> list[str]:
            return [one["params"]["value"]["kind"] for one in editor.told if one["method"] == "$/progress"]

        editor.wait(lambda: kinds()[-1] == "end", "the end of the probe")
        assert kinds()[0] == "begin" and "report" in kinds()
        (found,) = editor.diagnostics(uri)
        assert "by finite differences" in found["message"]
        assert editor.lenses(uri) == ["adjoint: wrong"]
        assert "by finite differences" in editor.hover(uri, "light[i] *=")

        # the evidence moves with the kernel and stays through changes elsewhere
        editor.replace(uri, HEAD, HEAD + "\n\ndef host(path):\n    return path\n")
        (found,) = editor.diagnostics(uri)
        assert found["range"]["start"]["line"] == 10 and found["data"]["evidence"]["verdict"] == "confirmed"
        # and goes when what it is about changes
        editor.replace(uri, "*= passed[i]", "*= wp.sin(passed[i])")
        (found,) = editor.diagnostics(uri)
        assert found["code"] == "WP101" and found["data"]["evidence"]["verdict"] == "unprobed"
        editor.replace(uri, "*= wp.sin(passed[i])", "*= passed[i]")
        assert editor.diagnostics(uri)[0]["data"]["evidence"]["verdict"] == "confirmed"

        # a second kernel, right: probed by its lens
        editor.retype(uri, editor.texts[uri] + CLEAN.removeprefix(HEAD).replace("attenuate", "other"))
        assert [code for code, _ in editor.codes(uri)] == ["WP101"]
        assert editor.lenses(uri) == ["adjoint: wrong", "adjoint: not probed"]
        line = editor.texts[uri][: editor.texts[uri].index("def other")].count("\n") + 1
        editor.run(editor.actions(uri, line)["Probe the kernel `other`"])
        assert editor.lenses(uri) == ["adjoint: wrong", "adjoint: proved"]
        assert "Adjoint: proved" in editor.hover(uri, "other(")

        # suppress: the comment takes it away, and tells what it is about
        line = editor.codes(uri)[0][1]
        actions = editor.actions(uri, line)
        editor.apply(actions["Suppress WP101 here, with a reason"]["edit"])
        assert editor.codes(uri) == []
        assert "WP101" in editor.hover(uri, "warplint: ignore")
        editor.replace(uri, "  # warplint: ignore[WP101] TODO: say why", "  # warplint: ignore[WP104] as agreed")
        assert sorted(code for code, _ in editor.codes(uri)) == ["WP001", "WP101"]
        editor.replace(uri, "  # warplint: ignore[WP104] as agreed", "")
        assert [code for code, _ in editor.codes(uri)] == ["WP101"]

        # explain
        editor.run(next(one for title, one in actions.items() if title.startswith("Explain WP101")))
        shown = [one for one in editor.asked if one["method"] == "window/showDocument"]
        assert shown[-1]["params"]["uri"].endswith("/WP101.md")

        # the configuration changes on disk, is broken, and is repaired
        config.write_text('[tool.warplint]\nignore = ["WP101"]\n')
        editor.notify("workspace/didChangeWatchedFiles", {"changes": [{"uri": config.as_uri(), "type": 2}]})
        editor.replace(uri, "def host(path)", "def host(name)")
        assert editor.codes(uri) == []
        config.write_text('[tool.warplint]\nignore = ["WP999"]\n')
        editor.replace(uri, "def host(name)", "def host(folder)")  # noticed without being told
        assert [code for code, _ in editor.codes(uri)] == ["WP101"]
        editor.wait(lambda: any("WP999" in str(one) for one in editor.told), "a word about the configuration")
        config.write_text("[tool.warplint]\n")

        # the editor's own settings
        editor.notify("workspace/didChangeConfiguration", {"settings": {"warplint": {"ignore": ["WP1"]}}})
        editor.replace(uri, "def host(folder)", "def host(path)")
        assert editor.codes(uri) == []
        editor.notify("workspace/didChangeConfiguration", {"settings": {"warplint": {}}})
        editor.replace(uri, "def host(path)", "def host(where)")
        assert [code for code, _ in editor.codes(uri)] == ["WP101"]

        # a second file, which imports a third
        other = editor.open(project / "growth.py")
        assert editor.codes(other) == [("WP104", 8)]
        editor.replace(other, HEAD, HEAD + "from lib import twice\n")
        assert editor.codes(other) == [("WP104", 9)]
        editor.replace(other, "(1.0 + rate[year])", "twice(rate[year])")
        assert editor.codes(other) == [("WP104", 9)]
        library = editor.open(project / "lib.py")
        editor.replace(library, "def twice(", "def thrice(")
        # what is not there any more is unknown, and never a finding
        editor.wait(lambda: editor.pushed[other][1] == [], "the importing file's diagnostics to go")
        editor.replace(library, "def thrice(", "def twice(")
        assert editor.codes(library) == []
        editor.wait(lambda: [one["code"] for one in editor.pushed[other][1]] == ["WP104"], "them to come back")
        editor.close(library)
        editor.close(other)
        editor.wait(lambda: editor.pushed[other][1] == [], "the closed file's diagnostics to go")

        assert editor.steps >= 40

        # many keys in a row: only the last version counts
        for digit in range(30):
            editor.replace(uri, "def host(where", f"def host(where, x{digit}=0")
            editor.replace(uri, f"def host(where, x{digit}=0", "def host(where")
        assert [code for code, _ in editor.codes(uri)] == ["WP101"]
        editor.close(uri)
        editor.wait(lambda: editor.pushed[uri][1] == [], "the closed file's diagnostics to go")
        uri = editor.open(path)
        assert editor.codes(uri) == [("WP101", 7)]


def test_pulled_diagnostics(project: Path) -> None:
    with Client(project, PULLED, WARP_CACHE_PATH=str(project / "warp-cache")) as editor:
        assert editor.server["diagnosticProvider"]["interFileDependencies"] is True
        uri = editor.open(project / "light.py")
        asked = {"textDocument": {"uri": uri}}
        report = editor.request("textDocument/diagnostic", asked)
        assert report["kind"] == "full" and [one["code"] for one in report["items"]] == ["WP101"]
        again = editor.request("textDocument/diagnostic", {**asked, "previousResultId": report["resultId"]})
        assert again == {"kind": "unchanged", "resultId": report["resultId"]}
        editor.replace(uri, "light[i] *= passed[i]", "light[i] = passed[i]")
        assert editor.request("textDocument/diagnostic", asked)["items"] == []
        editor.replace(uri, "light[i] = passed[i]", "light[i] *= passed[i]")
        editor.save(uri, project / "light.py")
        refreshed = "workspace/diagnostic/refresh"
        editor.wait(lambda: any(one["method"] == refreshed for one in editor.asked), "a call to ask again", 120)
        (found,) = editor.request("textDocument/diagnostic", asked)["items"]
        assert found["data"]["evidence"]["verdict"] == "confirmed"
        whole = editor.request("workspace/diagnostic", {"previousResultIds": []})
        assert [one["uri"] for one in whole["items"]] == [uri]
        assert editor.pushed == {}


@pytest.mark.parametrize(("encoding", "width"), [("utf-8", 4), ("utf-16", 2), ("utf-32", 1)])
def test_columns_are_counted_as_agreed(project: Path, encoding: str, width: int) -> None:
    text = IN_PLACE.replace("    light[i] *=", "    '\U0001f600'; light[i] *=")
    with Client(project, {**PUSHED, "general": {"positionEncodings": [encoding]}}) as editor:
        assert editor.server["positionEncoding"] == encoding
        uri = editor.open(project / "light.py", text)
        (found,) = editor.diagnostics(uri)
        assert found["range"]["start"] == {"line": 6, "character": 4 + 2 + width + 2}


def test_without_the_libraries_there_is_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "pygls.py").write_text("raise ModuleNotFoundError('No module named pygls', name='pygls')\n")
    path = os.pathsep.join([str(tmp_path), environment()["PYTHONPATH"]])
    done = run_warplint("server", cwd=tmp_path, PYTHONPATH=path)
    assert (done.returncode, done.stdout) == (2, "")
    assert "pip install 'warplint[lsp]'" in done.stderr


def test_a_script_that_reproduces_it(project: Path) -> None:
    with Client(project, WARP_CACHE_PATH=str(project / "warp-cache")) as editor:
        uri = editor.open(project / "light.py")
        (line,) = [line for _, line in editor.codes(uri)]
        editor.run(editor.actions(uri, line)["Write a script that shows WP101"])
        (shown,) = [one for one in editor.asked if one["method"] == "window/showDocument"]
        script = Path(shown["params"]["uri"].removeprefix("file://")).read_text()
        assert "import warp" in script and script.startswith("# WP101 at ")


def test_other_line_ends(project: Path) -> None:
    """A form feed ends no line for the editor, and a carriage return stays where it is."""
    text = IN_PLACE.replace("import warp as wp\n", "import warp as wp\n\x0c\n").replace("\n", "\r\n")
    with Client(project, settings={"probe": "off"}) as editor:
        uri = editor.open(project / "light.py", text)
        assert editor.codes(uri) == [("WP101", 8)]
        editor.replace(uri, "def attenuate(", "def darken(")
        (found,) = editor.diagnostics(uri)
        assert found["range"] == {"start": {"line": 7, "character": 4}, "end": {"line": 7, "character": 25}}
        edit = editor.actions(uri, 8)["Suppress WP101 here, with a reason"]["edit"]
        (change,) = edit["documentChanges"][0]["edits"]
        assert change["range"] == {"start": {"line": 7, "character": 0}, "end": {"line": 7, "character": 25}}
        assert change["newText"] == "    light[i] *= passed[i]  # warplint: ignore[WP101] TODO: say why"


def test_the_configuration_may_forbid_the_probe(project: Path) -> None:
    (project / "pyproject.toml").write_text("[tool.warplint]\nprobe = false\n")
    path = project / "light.py"
    with Client(project, WARP_CACHE_PATH=str(project / "warp-cache")) as editor:
        uri = editor.open(path)
        editor.save(uri, path)
        editor.run(editor.actions(uri, 4)["Probe the kernel `attenuate`"])  # a command is obeyed all the same
        assert (
            sum(one["params"]["value"]["kind"] == "begin" for one in editor.told if one["method"] == "$/progress") == 2
        )
        assert editor.lenses(uri) == ["adjoint: wrong"]


CUSTOM = """import warp as wp


@wp.func
def cube(x: float):
    return x * x * x


@wp.func_grad(cube)
def adj_cube(x: float, adj_ret: float):
    wp.adjoint[x] += {} * x * x * adj_ret
"""


def test_what_is_only_asked_about_is_shown_once_it_is_confirmed(project: Path) -> None:
    path = project / "cube.py"
    path.write_text(CUSTOM.format("2.0"))
    with Client(project, WARP_CACHE_PATH=str(project / "warp-cache")) as editor:
        uri = editor.open(path)
        assert editor.codes(uri) == []
        editor.save(uri, path)
        editor.wait(lambda: [one["code"] for one in editor.pushed[uri][1]] == ["WP602"], "a proof", 120)
        (found,) = editor.diagnostics(uri)
        assert found["data"]["evidence"]["verdict"] == "confirmed"
        editor.replace(uri, "2.0 * x", "3.0 * x")
        assert editor.codes(uri) == []
        assert not any("taken afresh" in str(one) for one in editor.told)


def test_an_editor_that_goes_away(project: Path) -> None:
    editor = Client(project)
    editor.open(project / "light.py")
    assert editor.process.stdin is not None
    editor.process.stdin.close()
    editor.process.wait(20)
