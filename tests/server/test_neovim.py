"""A real editor: Neovim, without a screen, with the set-up that docs/editors.md has for its older versions."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from command import environment
from programs import IN_PLACE

pytest.importorskip("pygls")
NEOVIM = shutil.which("nvim")
pytestmark = pytest.mark.skipif(NEOVIM is None, reason="Neovim is not installed (`nvim` on the path)")

EDITORS = Path(__file__).parent.parent.parent / "docs/editors.md"

#: Opens a file, waits for the finding, saves, waits for the evidence, and suppresses the finding by a code action.
SCRIPT = """
local done, problem = pcall(function()
local seen = {}
local function diagnostics()
  return vim.diagnostic.get(0)
end
local function await(what, met)
  if not vim.wait(60000, met, 50) then
    table.insert(seen, "waited in vain for " .. what)
  end
end
vim.cmd("edit light.py")
vim.bo.filetype = "python"
vim.api.nvim_exec_autocmds("FileType", { pattern = "python" })
await("a diagnostic", function() return #diagnostics() == 1 end)
table.insert(seen, diagnostics()[1].message)
table.insert(seen, diagnostics()[1].lnum)
vim.cmd("write")
await("evidence", function()
  local found = diagnostics()
  return #found == 1 and found[1].message:find("confirmed", 1, true) ~= nil
end)
table.insert(seen, diagnostics()[1].message)
local client = vim.lsp.get_active_clients()[1]
local here = { line = diagnostics()[1].lnum, character = 0 }
local answer = vim.lsp.buf_request_sync(0, "textDocument/codeAction", {
  textDocument = vim.lsp.util.make_text_document_params(),
  range = { start = here, ["end"] = here },
  context = { diagnostics = {} },
}, 60000)
for _, action in ipairs(answer[client.id].result) do
  if action.title:find("Suppress", 1, true) then
    if action.edit == nil then  -- it is asked for once it is wanted, as vim.lsp.buf.code_action does it
      action = vim.lsp.buf_request_sync(0, "codeAction/resolve", action, 10000)[client.id].result
    end
    vim.lsp.util.apply_workspace_edit(action.edit, client.offset_encoding)
  end
end
await("silence", function() return #diagnostics() == 0 end)
table.insert(seen, vim.api.nvim_buf_get_lines(0, 6, 7, false)[1])
local file = io.open("seen.json", "w")
file:write(vim.fn.json_encode(seen))
file:close()
end)
if not done then print(problem) end
vim.cmd("qall!")
"""


def test_neovim(tmp_path: Path) -> None:
    (tmp_path / "light.py").write_text(IN_PLACE)
    blocks = re.findall(r"```lua\n(.*?)```", EDITORS.read_text(encoding="utf-8"), re.DOTALL)
    (setup,) = [block for block in blocks if "start_client" in block]
    command = ", ".join(json.dumps(word) for word in (sys.executable, "-m", "warplint", "server"))
    (tmp_path / "init.lua").write_text(setup.replace('"warplint", "server"', command))
    (tmp_path / "drive.lua").write_text(SCRIPT)
    assert NEOVIM is not None
    done = subprocess.run(
        [NEOVIM, "--headless", "-n", "-i", "NONE", "-u", "init.lua", "-c", "luafile drive.lua"],
        cwd=tmp_path,
        env={
            **environment(),
            "XDG_STATE_HOME": str(tmp_path / "state"),
            "XDG_CACHE_HOME": str(tmp_path / "cache"),
            "WARP_CACHE_PATH": str(tmp_path / "warp"),
        },
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    assert (tmp_path / "seen.json").is_file(), done.stdout + done.stderr
    seen = json.loads((tmp_path / "seen.json").read_text())
    assert seen[0].endswith("\nunprobed: not probed") and seen[1] == 6
    assert "by finite differences" in seen[2]
    assert seen[3] == "    light[i] *= passed[i]  # warplint: ignore[WP101] TODO: say why"
