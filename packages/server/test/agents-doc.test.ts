/**
 * The tables of docs/agents.md list exactly the options of the types. conformance/docs.test.ts runs the program of the page.
 */
import { readFileSync } from "node:fs";
import { readCode, readSection, readTables } from "@turnstream/conformance/support/markdown.ts";
import { expect, test } from "vitest";

const read = (path: string) => readFileSync(new URL(path, import.meta.url), "utf8");
const page = read("../../../docs/agents.md");

/** The names of an interface's own members, as our formatter writes them. */
function membersOf(file: string, name: string): string[] {
  const [, body = ""] =
    new RegExp(`^export interface ${name}\\b[^\\n]*\\{\\n(.*?)^\\}`, "ms").exec(
      read(`../src/runtime/${file}`),
    ) ?? [];
  return [...body.matchAll(/^ {2}(?:readonly )?(\w+)\??[:(]/gm)].map((match) => match[1] ?? "");
}

test.each([
  ["## `defineAgent(options)`", "Option", "define/agent.ts", "AgentOptions"],
  ["### Limits", "Option", "define/limits.ts", "Limits"],
  ["## `tool(options)`", "Option", "define/tool.ts", "ToolOptions"],
  ["### `approval`", "Option", "define/approval.ts", "ApprovalOptions"],
  ["### `context`", "Field", "define/tool.ts", "ToolContext"],
  ["## `startWorker(options)`", "Option", "worker/options.ts", "WorkerOptions"],
  ["### Strings", "String", "strings.ts", "RuntimeStrings"],
])("the table under '%s' lists what its type has", (heading, column, file, name) => {
  const [rows = []] = readTables(readSection(page, heading), column);
  const written = rows.flatMap(([cell = ""]) => readCode(cell));
  const real = membersOf(file, name);
  expect(real.length).toBeGreaterThan(2);
  expect(written.toSorted()).toEqual(real.toSorted());
});
