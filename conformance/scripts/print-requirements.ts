/**
 * Prints the numbered requirements with the tests of each level, and the statements of the documents with their proofs.
 * Fails if the tests, the requirements and the documents don't agree. The last line is the count of requirements.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";

import { measureCoverage } from "../coverage.ts";
import {
  checkRows,
  describeRow,
  DOCUMENT_ROWS,
  readDifferences,
  type RowContext,
} from "../document-rows/check-rows.ts";
import { type Requirement, REQUIREMENTS } from "../requirements.ts";
import { readTestSources } from "../support/test-sources.ts";

const coverage = measureCoverage(REQUIREMENTS, readTestSources());
const { missing, provedButPending, unknown } = coverage;
const context: RowContext = {
  requirements: REQUIREMENTS,
  coverage,
  differences: readDifferences(readFileSync(join(import.meta.dirname, "../../DIALECTS.md"), "utf8")),
};

const pending = REQUIREMENTS.filter((each) => each.pending !== undefined);
const proved = REQUIREMENTS.filter(
  ({ id, pending: why }) => why === undefined && !missing.some((key) => key.startsWith(`${id} at `)),
);

function stateOf(requirement: Requirement): string {
  if (requirement.pending !== undefined) return "pending";
  return proved.includes(requirement) ? "proved" : "NO TEST";
}

/** The number of test files at each level, for example `encoder 3, gateway 0`. */
function describeLevels({ id, levels }: Requirement): string {
  return levels.map((level) => `${level} ${coverage.citedIn(id, level).length}`).join(", ");
}

function printTable(rows: readonly (readonly string[])[]): void {
  const widths =
    rows[0]?.map((_, column) => Math.max(...rows.map((each) => each[column]?.length ?? 0))) ?? [];
  for (const cells of rows)
    console.log(
      cells.map((cell, n) => cell.padEnd(n === cells.length - 1 ? 0 : (widths[n] ?? 0))).join("  "),
    );
}

console.log("Requirements, with the number of test files at each level:");
printTable(REQUIREMENTS.map((each) => [each.id, stateOf(each), describeLevels(each), each.text]));

for (const [document, rows] of Object.entries(DOCUMENT_ROWS)) {
  const states = rows.map((each) => ({ ...each, ...describeRow(each, context) }));
  const count = (wanted: string) => states.filter(({ state }) => state === wanted).length;
  console.log(
    `\nDocument ${document}: ${count("proved")} proved, ${count("different")} different on purpose, ${count("pending")} pending`,
  );
  printTable(states.map(({ number, lines, state, by, item }) => [String(number), lines, state, by, item]));
}

console.log("\nPending:");
for (const { id, pending: why } of pending) console.log(`  ${id} ${why}`);

const wrong = [
  ...missing.map((key) => `No test proves ${key}.`),
  ...provedButPending.map((id) => `${id} is proved at all its levels. Delete its \`pending\`.`),
  ...unknown.map((citation) => `There is no requirement ${citation}.`),
  ...checkRows(DOCUMENT_ROWS, context),
];
for (const line of wrong) console.error(line);
process.exitCode = wrong.length > 0 ? 1 : 0;

console.log(`\n${proved.length} proved, ${pending.length} pending`);
