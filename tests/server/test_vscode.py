"""The extension for VS Code: it compiles, is packaged, and VS Code's client library starts the server."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from command import environment

from warplint.server.wishes import WISHES, Wish

EXTENSION = Path(__file__).parent.parent.parent / "editors/vscode"
NPM = shutil.which("npm")


def test_its_settings_are_the_servers() -> None:
    found = json.loads((EXTENSION / "package.json").read_text(encoding="utf-8"))
    properties = found["contributes"]["configuration"]["properties"]
    del properties["warplint.command"]
    assert properties == {f"warplint.{wish.key}": property_of(wish) for wish in WISHES}


def property_of(wish: Wish) -> dict[str, object]:
    kinds = {list: {"type": "array", "items": {"type": "string"}}, bool: {"type": "boolean"}, str: {"type": "string"}}
    if isinstance(wish.values, tuple):
        kind: dict[str, object] = {"type": "string", "enum": list(wish.values)}
    else:
        kind = dict(kinds[wish.values])
    return {**kind, **({} if wish.default is None else {"default": wish.default}), "description": wish.means}


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the extension beside its packages."""
    pytest.importorskip("pygls")
    if NPM is None:
        pytest.skip("Node is not installed (`npm` on the path)")
    if not (EXTENSION / "node_modules").is_dir():
        pytest.skip("the packages of the extension are not installed (`npm install` in editors/vscode)")
    folder = tmp_path_factory.mktemp("vscode") / "extension"
    shutil.copytree(EXTENSION, folder, ignore=shutil.ignore_patterns("node_modules", "out", "*.vsix"))
    (folder / "node_modules").symlink_to(EXTENSION / "node_modules", target_is_directory=True)
    return folder


def npm(folder: Path, *arguments: str, **variables: str) -> str:
    assert NPM is not None
    done = subprocess.run(
        [NPM, *arguments],
        cwd=folder,
        env={**environment(), **variables},
        capture_output=True,
        text=True,
        timeout=400,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_client_library_starts_the_server(built: Path) -> None:
    words = [sys.executable, "-m", "warplint", "server"]
    assert not any(set(word) & set(" \t") for word in words), "the test takes no words with spaces"
    assert "the server starts" in npm(built, "test", WARPLINT=shlex.join(words))


def test_it_is_packaged(built: Path) -> None:
    npm(built, "run", "package")
    with zipfile.ZipFile(built / "warplint.vsix") as packed:
        names = {os.path.basename(name) for name in packed.namelist()}
        assert {"extension.js", "package.json"} <= names
        # the client library is inside
        assert b"vscode-languageclient" in packed.read("extension/out/extension.js")
