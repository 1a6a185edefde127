// Starts `warplint server` and leaves everything else to it.

import { commands, ExtensionContext, window, workspace } from "vscode";
import { LanguageClient, LanguageClientOptions, ServerOptions } from "vscode-languageclient/node";

import { located } from "./command";

let client: LanguageClient | undefined;

async function start(): Promise<void> {
  const settings = workspace.getConfiguration("warplint");
  const folder = workspace.workspaceFolders?.[0]?.uri.fsPath;
  const [command, ...args] = located(settings.get<string[]>("command") ?? [], folder);
  const server: ServerOptions = { command, args, options: { cwd: folder } };
  const options: LanguageClientOptions = {
    documentSelector: [
      { scheme: "file", language: "python" },
      { notebook: "jupyter-notebook", language: "python" },
    ],
    initializationOptions: settings,
    synchronize: { configurationSection: "warplint" },
  };
  client = new LanguageClient("warplint", "warplint", server, options);
  try {
    await client.start();
  } catch (error) {
    client = undefined;
    const hint = "install it with `pip install 'warplint[lsp]'`, or name it in `warplint.command`";
    void window.showErrorMessage(`warplint: \`${command}\` does not start (${String(error)}); ${hint}`);
  }
}

async function stop(): Promise<void> {
  const running = client;
  client = undefined;
  await running?.stop();
}

export async function activate(context: ExtensionContext): Promise<void> {
  const restart = commands.registerCommand("warplint.restart", async () => {
    await stop();
    await start();
  });
  context.subscriptions.push(restart);
  await start();
}

export async function deactivate(): Promise<void> {
  await stop();
}
