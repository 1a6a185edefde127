// A test without VS Code: its client library starts the server, and a finding arrives.
//
//     WARPLINT="python -m warplint server" npm test

import { strict as assert } from "node:assert";
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import {
  CodeAction,
  CodeActionRequest,
  createProtocolConnection,
  DidOpenTextDocumentNotification,
  ExitNotification,
  InitializedNotification,
  InitializeRequest,
  PublishDiagnosticsNotification,
  PublishDiagnosticsParams,
  ShutdownRequest,
  StreamMessageReader,
  StreamMessageWriter,
  TextDocumentEdit,
  TextEdit,
} from "vscode-languageserver-protocol/node";

import { located } from "./command";

const SOURCE = `import warp as wp


@wp.kernel
def attenuate(light: wp.array(dtype=float), passed: wp.array(dtype=float)):
    i = wp.tid()
    light[i] *= passed[i]
`;

async function main(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "warplint-"));
  const path = join(folder, "light.py");
  writeFileSync(path, SOURCE);
  const [command, ...args] = located((process.env["WARPLINT"] ?? "").split(" ").filter(Boolean), folder);
  const server = spawn(command, args, { cwd: folder, stdio: ["pipe", "pipe", "inherit"] });
  const connection = createProtocolConnection(
    new StreamMessageReader(server.stdout),
    new StreamMessageWriter(server.stdin),
  );
  const published = new Promise<PublishDiagnosticsParams>((resolve) => {
    connection.onNotification(PublishDiagnosticsNotification.type, resolve);
  });
  connection.listen();
  const rootUri = pathToFileURL(folder).toString();
  const answer = await connection.sendRequest(InitializeRequest.type, {
    processId: process.pid,
    rootUri,
    workspaceFolders: [{ uri: rootUri, name: "light" }],
    capabilities: { workspace: { workspaceEdit: { documentChanges: true } } },
    initializationOptions: { probe: "off" },
  });
  assert.equal(answer.serverInfo?.name, "warplint");
  await connection.sendNotification(InitializedNotification.type, {});
  const uri = pathToFileURL(path).toString();
  const textDocument = { uri, languageId: "python", version: 1, text: SOURCE };
  await connection.sendNotification(DidOpenTextDocumentNotification.type, { textDocument });
  const found = await published;
  assert.deepEqual(
    found.diagnostics.map((one) => [one.code, one.range.start.line]),
    [["WP101", 6]],
  );
  const range = found.diagnostics[0].range;
  const context = { diagnostics: found.diagnostics };
  const actions = await connection.sendRequest(CodeActionRequest.type, { textDocument: { uri }, range, context });
  const suppress = (actions ?? []).find((one) => one.title.startsWith("Suppress")) as CodeAction;
  const change = suppress.edit?.documentChanges?.[0] as TextDocumentEdit;
  assert.deepEqual(change.textDocument, { uri, version: 1 });
  assert.match((change.edits[0] as TextEdit).newText, /# warplint: ignore\[WP101\]/);
  await connection.sendRequest(ShutdownRequest.type);
  await connection.sendNotification(ExitNotification.type);
  await new Promise((resolve) => server.once("exit", resolve));
  connection.dispose();
  rmSync(folder, { recursive: true });
  console.log("the server starts, and finds what it should");
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
