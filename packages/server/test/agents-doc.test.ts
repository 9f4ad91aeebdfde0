/**
 * Checks that the tables of docs/agents.md list exactly the options of the types. Another test runs the program of the
 * page.
 */
import { readFileSync } from "node:fs";
import { readCode, readTables } from "@turnstream/conformance/support/markdown.ts";
import { expect, test } from "vitest";

const read = (path: string) => readFileSync(new URL(path, import.meta.url), "utf8");
const page = read("../../../docs/agents.md");

/** Returns the names of an interface's own members. It relies on the layout that the formatter writes. */
function membersOf(file: string, name: string): string[] {
  const [, body = ""] =
    new RegExp(`^export interface ${name}\\b[^\\n]*\\{\\n(.*?)^\\}`, "ms").exec(
      read(`../src/runtime/${file}`),
    ) ?? [];
  return [...body.matchAll(/^ {2}(?:readonly )?(\w+)\??[:(]/gm)].map((match) => match[1] ?? "");
}

test.each([
  ["option of `defineAgent`", "define/agent.ts", "AgentOptions"],
  ["limit", "define/limits.ts", "Limits"],
  ["option of `tool`", "define/tool.ts", "ToolOptions"],
  ["option of `approval`", "define/approval.ts", "ApprovalOptions"],
  ["in `context`", "define/tool.ts", "ToolContext"],
  ["option of `startWorker`", "worker/options.ts", "WorkerOptions"],
])("the table '%s' lists what %s declares in %s", (column, file, name) => {
  const written = readTables(page, column).flatMap((rows) => rows.flatMap(([cell = ""]) => readCode(cell)));
  const real = membersOf(file, name);
  expect(real.length).toBeGreaterThan(2);
  expect(written.toSorted()).toEqual(real.toSorted());
});

test("lists every field of RuntimeStrings", () => {
  const [sentence = ""] = /^`strings` replaces.*$/m.exec(page) ?? [];
  const written = readCode(sentence).filter((name) => name !== "strings" && name !== "DEFAULT_STRINGS");
  expect(written.toSorted()).toEqual(membersOf("strings.ts", "RuntimeStrings").toSorted());
});
