/** The option tables in docs/ are those that their declarations make. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createOptionTable, HEADER, OPTION_TABLES, replaceTable } from "./option-tables.ts";
import { root } from "./run-command.ts";

test.each(OPTION_TABLES)("$page has the table of options under $heading", (table) => {
  const page = readFileSync(join(root, "docs", table.page), "utf8");
  const rows = createOptionTable(table);
  expect(rows.split("\n").length).toBeGreaterThan(4);
  expect(replaceTable(page, table, rows), "run `npm run option-tables`").toBe(page);
});

test("replaces only the table under its heading", () => {
  const table = { page: "a.md", heading: "## B", from: [] };
  const page = `# A\n\n${HEADER}\n| a |\n\n## B\n\nText.\n\n${HEADER}\n| b |\n\n# C\n`;
  expect(replaceTable(page, table, "new")).toBe(`# A\n\n${HEADER}\n| a |\n\n## B\n\nText.\n\nnew\n\n# C\n`);
  expect(() => replaceTable(page, { ...table, heading: "# C" }, "new")).toThrow(RangeError);
});
