"""An editor's side of the protocol: plain JSON over pipes, and none of the libraries that the server uses."""

from __future__ import annotations

import json
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from command import environment

#: What a modern editor can do, but for pulling diagnostics.
PUSHED: dict[str, Any] = {
    "general": {"positionEncodings": ["utf-16"]},
    "textDocument": {"publishDiagnostics": {"relatedInformation": True, "versionSupport": True}},
    "workspace": {
        "codeLens": {"refreshSupport": True},
        "workspaceEdit": {"documentChanges": True},
        "applyEdit": True,
    },
    "notebookDocument": {"synchronization": {}},
    "window": {"workDoneProgress": True, "showDocument": {"support": True}},
}
PULLED: dict[str, Any] = {
    **PUSHED,
    "textDocument": {"diagnostic": {}},
    "workspace": {**PUSHED["workspace"], "diagnostics": {"refreshSupport": True}},
}


class Client:
    """One running server, and the texts that are open in it."""

    def __init__(
        self,
        root: Path,
        capabilities: Mapping[str, Any] = PUSHED,
        settings: Mapping[str, Any] | None = None,
        **variables: str,
    ) -> None:
        self.root = root
        self.texts: dict[str, str] = {}
        self.versions: dict[str, int] = {}
        #: The newest diagnostics of each text with their version.
        self.pushed: dict[str, tuple[int | None, list[dict[str, Any]]]] = {}
        self.asked: list[dict[str, Any]] = []
        self.told: list[dict[str, Any]] = []
        #: How much was said to the server.
        self.steps = 0
        self._number = 0
        self._answers: dict[int, queue.Queue[dict[str, Any]]] = {}
        self._changed = threading.Condition()
        self.process = subprocess.Popen(
            [sys.executable, "-m", "warplint", "server"],
            cwd=root,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**environment(), **variables},
        )
        self.errors: list[str] = []
        threading.Thread(target=self._read, daemon=True).start()
        threading.Thread(target=self._read_errors, daemon=True).start()
        folder = root.as_uri()
        self.server = self.request(
            "initialize",
            {
                "processId": None,
                "rootUri": folder,
                "workspaceFolders": [{"uri": folder, "name": root.name}],
                "capabilities": capabilities,
                "initializationOptions": settings or {},
            },
        )["capabilities"]
        self.notify("initialized", {})

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        try:
            if self.process.poll() is None:
                self.request("shutdown", None)
                self.notify("exit", None)
                assert self.process.wait(120) == 0
            assert not any("Traceback" in line for line in self.errors), "".join(self.errors)
        finally:
            if self.process.poll() is None:
                self.process.kill()
                self.process.wait()

    # --- messages ---

    def _send(self, message: Mapping[str, Any]) -> None:
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        assert self.process.stdin is not None
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        self.process.stdin.flush()

    def notify(self, method: str, params: object) -> None:
        self.steps += 1
        self._send({"method": method, "params": params})

    def request(self, method: str, params: object, timeout: float = 180) -> Any:
        self._number += 1
        self.steps += 1
        answers = self._answers[self._number] = queue.Queue()
        self._send({"id": self._number, "method": method, "params": params})
        answer = answers.get(timeout=timeout)
        assert "error" not in answer, answer["error"]
        return answer["result"]

    def _read(self) -> None:
        stream = self.process.stdout
        assert stream is not None
        while True:
            length = 0
            while (line := stream.readline().strip()) != b"":
                if line.lower().startswith(b"content-length:"):
                    length = int(line.split(b":")[1])
            if not length:
                return
            self._take(json.loads(stream.read(length)))

    def _read_errors(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.errors.append(line.decode("utf-8", "replace"))

    def _take(self, message: dict[str, Any]) -> None:
        if "method" not in message:
            self._answers.pop(message["id"]).put(message)
            return
        with self._changed:
            if message["method"] == "textDocument/publishDiagnostics":
                params = message["params"]
                self.pushed[params["uri"]] = (params.get("version"), params["diagnostics"])
            (self.asked if "id" in message else self.told).append(message)
            self._changed.notify_all()
        if "id" in message:
            result: object = None
            if message["method"] == "workspace/configuration":
                result = [None for _ in message["params"]["items"]]
            elif message["method"] == "window/showDocument":
                result = {"success": True}
            self._send({"id": message["id"], "result": result})

    def wait(self, met: Any, what: str, timeout: float = 180) -> None:
        """Until ``met()``."""
        end = time.monotonic() + timeout
        with self._changed:
            while not met():
                assert self.process.poll() is None, "".join(self.errors)
                assert time.monotonic() < end, f"{what}: {self.pushed}"
                self._changed.wait(0.5)

    # --- what a person does ---

    def open(self, path: Path, text: str | None = None) -> str:
        uri = path.as_uri()
        self.texts[uri] = path.read_text(encoding="utf-8") if text is None else text
        self.versions[uri] = 1
        document = {"uri": uri, "languageId": "python", "version": 1, "text": self.texts[uri]}
        self.notify("textDocument/didOpen", {"textDocument": document})
        return uri

    def replace(self, uri: str, old: str, new: str) -> None:
        """Replace the only place of ``old``, as typing does: a range, in UTF-16."""
        text = self.texts[uri]
        assert text.count(old) == 1, (old, text.count(old))
        self.replace_at(uri, text.index(old), old, new)

    def replace_at(self, uri: str, start: int, old: str, new: str) -> None:
        """Replace ``old``, which stands at an offset."""
        text = self.texts[uri]
        assert text.startswith(old, start)
        change = {"range": {"start": place(text, start), "end": place(text, start + len(old))}, "text": new}
        self._change(uri, text[:start] + new + text[start + len(old) :], [change])

    def retype(self, uri: str, text: str) -> None:
        """All of a text anew."""
        self._change(uri, text, [{"text": text}])

    def _change(self, uri: str, text: str, changes: list[dict[str, Any]]) -> None:
        self.texts[uri] = text
        self.versions[uri] += 1
        document = {"uri": uri, "version": self.versions[uri]}
        self.notify("textDocument/didChange", {"textDocument": document, "contentChanges": changes})

    def save(self, uri: str, path: Path) -> None:
        path.write_text(self.texts[uri], encoding="utf-8")
        self.notify("textDocument/didSave", {"textDocument": {"uri": uri}})

    def close(self, uri: str) -> None:
        self.notify("textDocument/didClose", {"textDocument": {"uri": uri}})
        del self.texts[uri]

    def apply(self, edit: Mapping[str, Any]) -> None:
        """Carry out a workspace edit."""
        for change in edit["documentChanges"]:
            uri = change["textDocument"]["uri"]
            assert change["textDocument"]["version"] == self.versions[uri]
            # from the last to the first, each being one change of its own
            for one in sorted(change["edits"], key=lambda one: -one["range"]["start"]["line"]):
                lines = self.texts[uri].split("\n")
                start, end = one["range"]["start"], one["range"]["end"]
                assert start["line"] == end["line"]
                line = lines[start["line"]].encode("utf-16-le")
                first, last = line[: 2 * start["character"]], line[2 * end["character"] :]
                lines[start["line"]] = first.decode("utf-16-le") + one["newText"] + last.decode("utf-16-le")
                self._change(uri, "\n".join(lines), [{"range": one["range"], "text": one["newText"]}])

    def diagnostics(self, uri: str) -> list[dict[str, Any]]:
        """Those of the newest version, once they are there."""
        version = self.versions[uri]
        self.wait(lambda: self.pushed.get(uri, (None,))[0] == version, f"diagnostics of version {version}")
        return self.pushed[uri][1]

    def codes(self, uri: str) -> list[tuple[str, int]]:
        """Rules and lines (from 1) of the newest version."""
        return [(one["code"], one["range"]["start"]["line"] + 1) for one in self.diagnostics(uri)]

    def at(self, uri: str, word: str, after: int = 0) -> dict[str, Any]:
        """The place of the first ``word``."""
        return {"textDocument": {"uri": uri}, "position": place(self.texts[uri], self.texts[uri].index(word) + after)}

    def hover(self, uri: str, word: str) -> str:
        found = self.request("textDocument/hover", self.at(uri, word))
        return found["contents"]["value"] if found else ""

    def actions(self, uri: str, line: int, only: list[str] | None = None) -> dict[str, dict[str, Any]]:
        """The code actions on a line (from 1), by their titles; ``only`` those of some kinds."""
        here = {"line": line - 1, "character": 0}
        context: dict[str, Any] = {"diagnostics": [], **({} if only is None else {"only": only})}
        params = {"textDocument": {"uri": uri}, "range": {"start": here, "end": here}, "context": context}
        return {one["title"]: one for one in self.request("textDocument/codeAction", params)}

    def lenses(self, uri: str) -> list[str]:
        found = self.request("textDocument/codeLens", {"textDocument": {"uri": uri}})
        return [one["command"]["title"] for one in found]

    def run(self, action: Mapping[str, Any], timeout: float = 120) -> None:
        command = action["command"]
        params = {"command": command["command"], "arguments": command["arguments"]}
        self.request("workspace/executeCommand", params, timeout)


def place(text: str, offset: int) -> dict[str, int]:
    """An offset as a position in UTF-16."""
    before = text[:offset]
    start = before.rfind("\n") + 1
    return {"line": before.count("\n"), "character": len(before[start:].encode("utf-16-le")) // 2}
