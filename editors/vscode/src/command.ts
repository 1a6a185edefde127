// What starts the server.

const DEFAULT = ["warplint", "server"];

/** The words of the command, with the folder of the workspace filled in. */
export function located(words: readonly string[], folder: string | undefined): string[] {
  const given = words.length > 0 ? words : DEFAULT;
  return given.map((word) => word.replace("${workspaceFolder}", folder ?? "."));
}
