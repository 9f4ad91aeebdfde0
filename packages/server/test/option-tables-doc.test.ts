/** The option tables in docs/ that no script writes list exactly the options of the types. */
import { readFileSync } from "node:fs";
import { readCode, readSection, readTables } from "@turnstream/conformance/support/markdown.ts";
import { expect, test } from "vitest";

const read = (path: string) => readFileSync(new URL(path, import.meta.url), "utf8");

/** The names of an interface's own members, as our formatter writes them. */
function membersOf(file: string, name: string): string[] {
  const [, body = ""] =
    new RegExp(`^export interface ${name}\\b[^{]*\\{\\n(.*?)^\\}`, "ms").exec(read(`../src/${file}`)) ?? [];
  return [...body.matchAll(/^ {2}(?:readonly )?(\w+)\??[:(]/gm)].map((match) => match[1] ?? "");
}

/** The names in the first column of a table, sorted. */
function namesIn(page: string, heading: string, column: string): string[] {
  const [rows = []] = readTables(readSection(read(`../../../docs/${page}`), heading), column);
  return rows.flatMap(([cell = ""]) => readCode(cell)).toSorted();
}

test.each([
  ["agents.md", "## `tool(options)`", "Option", "agent/define/tool.ts", "ToolOptions"],
  ["agents.md", "### `context`", "Field", "agent/define/tool.ts", "ToolContext"],
  ["agents.md", "### Strings", "String", "strings/runtime-strings.ts", "RuntimeStrings"],
  ["built-in-tools.md", "## `builtInTools(options)`", "Option", "agent/built-in/tools.ts", "BuiltInOptions"],
  ["built-in-tools.md", "## `webTools(options)`", "Option", "../../tools/src/web-tools.ts", "WebToolOptions"],
  [
    "knowledge.md",
    "# Knowledge bases",
    "Option",
    "../../knowledge/src/knowledge-tools.ts",
    "KnowledgeOptions",
  ],
  [
    "payments.md",
    "#### `stripe(options)`",
    "Option",
    "../../payments/src/providers/stripe.ts",
    "StripeOptions",
  ],
  ["client.md", "### Options of `createClient`", "Option", "../../client/src/options.ts", "ClientOptions"],
])("%s: the table under '%s' lists what its type has", (page, heading, column, file, name) => {
  const inherited = name === "ClientOptions" ? membersOf("../../client/src/report.ts", "ReportOptions") : [];
  const members = [...membersOf(file, name), ...inherited].toSorted();
  expect(members.length).toBeGreaterThan(1);
  expect(namesIn(page, heading, column)).toEqual(members);
});

test("payments.md: the tables of newebPay and the sandbox list what their types have", () => {
  const keys = membersOf("../../payments/src/providers/newebpay-cipher.ts", "NewebPayKeys");
  const own = membersOf("../../payments/src/providers/newebpay.ts", "NewebPayOptions");
  const sandbox = membersOf(
    "../../payments/src/providers/sandbox/start-payment-sandbox.ts",
    "PaymentSandboxOptions",
  );
  expect(namesIn("payments.md", "#### `newebPay(options)`", "Option")).toEqual([...keys, ...own].toSorted());
  expect(namesIn("payments.md", "#### `startPaymentSandbox(options)`", "Option")).toEqual(
    [...keys, ...sandbox].toSorted(),
  );
});

test("payments.md: the table of the sandbox lists its members", () => {
  const rows =
    readTables(
      readSection(read("../../../docs/payments.md"), "#### `startPaymentSandbox(options)`"),
      "Member",
    )[0] ?? [];
  const names = rows.flatMap(([cell = ""]) => readCode(cell).map((code) => code.replace(/[(].*/, "")));
  expect(names.toSorted()).toEqual(
    membersOf("../../payments/src/providers/sandbox/start-payment-sandbox.ts", "PaymentSandbox").toSorted(),
  );
});
