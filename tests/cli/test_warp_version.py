"""The version of Warp that is linted for: given, told, and kept apart from the one that runs the probe."""

from __future__ import annotations

import json
from importlib.metadata import version
from pathlib import Path

from command import Command

from warplint.catalogue.loading import load_catalogue

HERE = version("warp-lang")


def copied(folder: Path) -> None:
    """A program that only a Warp before 1.17 gets wrong: what WP206 is about."""
    rule = load_catalogue()[0].find("WP206")
    assert rule is not None
    (folder / "copied.py").write_text(next(example.code for example in rule.examples if example.bad))


def rules_found(document: dict[str, object]) -> list[str]:
    """The rules of the findings in JSON output."""
    return [finding["rule"] for finding in document["findings"]]  # type: ignore[index,attr-defined]


def test_a_rule_fires_only_where_its_range_holds(warplint: Command, tmp_path: Path) -> None:
    copied(tmp_path)
    for asked, expected in (("1.16", ["WP206"]), ("1.16.0", ["WP206"]), ("1.17", []), ("1.17.0", []), (HERE, [])):
        done = warplint("--no-probe", "--warp-version", asked, "--output-format", "json", "copied.py")
        assert rules_found(json.loads(done.stdout)) == expected, asked


def test_the_message_says_until_when(lint: Command, tmp_path: Path) -> None:
    copied(tmp_path)
    assert "(before Warp 1.17)" in lint("--warp-version", "1.16", "copied.py").stdout


def test_the_report_says_which_and_why(warplint: Command, tmp_path: Path) -> None:
    copied(tmp_path)
    arguments = ("--no-probe", "--output-format", "json", "copied.py")
    document = json.loads(warplint(*arguments).stdout)
    assert (document["warp_version"], document["warp_version_source"]) == (HERE, "installed beside warplint")
    (tmp_path / "warplint.toml").write_text('warp-version = "1.16"\n')
    document = json.loads(warplint(*arguments).stdout)
    assert document["warp_version"] == "1.16"
    assert document["warp_version_source"] == "`warp-version` in warplint.toml says so"
    said = warplint("--no-probe", "--verbose", "copied.py").stderr
    assert "1 of the files linted for Warp 1.16 (`warp-version` in warplint.toml says so)" in said
    document = json.loads(warplint("--warp-version", "1.18", *arguments).stdout)
    assert (document["warp_version"], document["warp_version_source"]) == ("1.18", "`--warp-version` says so")


def test_reports_with_room_for_it_say_so(warplint: Command, tmp_path: Path) -> None:
    copied(tmp_path)
    source = "`warp-version` in warplint.toml says so"
    for configured in (True, False):
        if configured:
            (tmp_path / "warplint.toml").write_text('warp-version = "1.16"\n')
        else:
            (tmp_path / "warplint.toml").unlink()
        outputs = [part for name in ("jsonl", "sarif", "html", "markdown") for part in ("--output", f"{name}={name}")]
        done = warplint("--no-probe", *outputs, "copied.py")
        said = f"for Warp 1.16 ({source})" if configured else f"for Warp {HERE} (installed beside warplint)"
        # A terminal is told what is not as one expects it.
        assert (f"Linted {said}" in done.stdout) is configured
        for name in ("html", "markdown"):
            assert said in (tmp_path / name).read_text(), name
        last = json.loads((tmp_path / "jsonl").read_text().splitlines()[-1])
        properties = json.loads((tmp_path / "sarif").read_text())["runs"][0]["properties"]
        told = ("1.16", source) if configured else (HERE, "installed beside warplint")
        assert (last["warp_version"], last["warp_version_source"]) == told
        assert (properties["warpVersion"], properties["warpVersionSource"]) == told


def test_files_under_other_configurations_are_for_other_versions(lint: Command, tmp_path: Path) -> None:
    for name, asked in (("old", "1.16"), ("new", "1.18")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "warplint.toml").write_text(f'warp-version = "{asked}"\n')
        copied(tmp_path / name)
    done = lint("--verbose", ".")
    assert "old/copied.py" in done.stdout and "new/copied.py" not in done.stdout
    assert "1 of the files linted for Warp 1.16" in done.stderr and "1 of the files linted for Warp 1.18" in done.stderr


def test_the_environment_pointed_at(lint: Command, tmp_path: Path) -> None:
    copied(tmp_path)
    (tmp_path / "env/lib/python3.11/site-packages/warp_lang-1.16.0.dist-info").mkdir(parents=True)
    done = lint("--verbose", "--python", "env", "copied.py")
    assert "WP206" in done.stdout and "linted for Warp 1.16.0 (installed for `env`)" in done.stderr


def test_mistakes_are_told_in_a_sentence(lint: Command, tmp_path: Path) -> None:
    copied(tmp_path)
    done = lint("--warp-version", "newest", "copied.py")
    assert done.returncode == 2
    assert "must be a version, as 1.16 or 1.16.0, not 'newest'" in done.stderr
    done = lint("--python", "nowhere", "copied.py")
    assert done.returncode == 2
    assert "--python: `nowhere` does not exist; name the interpreter of an environment, or its folder" in done.stderr
    (tmp_path / "warplint.toml").write_text('warp-version = "latest"\n')
    done = lint("copied.py")
    assert done.returncode == 2
    assert "warplint.toml:1: `warp-version` must be a version, as `1.16`, not 'latest'" in done.stderr


def test_what_the_warp_of_the_probe_gets_right_is_not_run(warplint: Command, tmp_path: Path) -> None:
    copied(tmp_path)
    done = warplint("--warp-version", "1.16", "--device", "cpu", "--output-format", "json", "copied.py")
    (finding,) = json.loads(done.stdout)["findings"]
    assert finding["evidence"]["verdict"] == "unprobed"
    said = f"not probed: Warp {HERE}, which runs the probe, does not have this defect; the code is linted for Warp 1.16"
    assert finding["evidence"]["detail"].startswith(said)


def test_evidence_of_another_warp_says_so(warplint: Command, project: Path) -> None:
    arguments = ("--device", "cpu", "--output-format", "json", "light.py")
    for asked, said in (("1.16", True), (HERE, False)):
        (finding,) = json.loads(warplint("--warp-version", asked, *arguments).stdout)["findings"]
        assert finding["evidence"]["verdict"] == "confirmed"
        assert finding["evidence"]["warp_version"] == HERE
        assert finding["evidence"]["detail"].endswith("(the code is linted for Warp 1.16)") is said
