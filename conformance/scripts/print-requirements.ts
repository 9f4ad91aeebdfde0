/**
 * Prints the numbered requirements: a table, then the proved and the pending ones. Fails if the tests and the
 * requirements don't agree. The last line is the count.
 */
import { coverageOf } from "../coverage.ts";
import { isPending, type Requirement, REQUIREMENTS } from "../requirements.ts";
import { readTestSources } from "../support/test-sources.ts";

const { citedIn, uncited, unknown } = coverageOf(REQUIREMENTS, readTestSources());

function stateOf(requirement: Requirement): string {
  if (isPending(requirement)) return "pending";
  if (uncited.includes(requirement.id)) return "NO TEST";
  return requirement.later === undefined ? "proved" : "proved in part";
}

function whereOf(requirement: Requirement): string {
  if (isPending(requirement)) return requirement.pending;
  const files = citedIn.get(requirement.id)?.length ?? 0;
  return `${files} test file${files === 1 ? "" : "s"}`;
}

const rows = REQUIREMENTS.map((r) => ({ id: r.id, state: stateOf(r), where: whereOf(r), text: r.text }));
const width = (column: "state" | "where") => Math.max(...rows.map((row) => row[column].length));
for (const { id, state, where, text } of rows) {
  console.log(`${id}  ${state.padEnd(width("state"))}  ${where.padEnd(width("where"))}  ${text}`);
}

const proved = REQUIREMENTS.filter((r) => !isPending(r) && !uncited.includes(r.id));
const pending = REQUIREMENTS.filter(isPending);

console.log("\nProved:");
for (const requirement of proved) {
  const later = "later" in requirement ? requirement.later : undefined;
  const rest = later === undefined ? "" : `; later, ${later.package}: ${later.text}`;
  console.log(`  ${requirement.id} ${citedIn.get(requirement.id)?.join(", ")}${rest}`);
}
console.log("\nPending:");
for (const { id, pending: where, why } of pending) console.log(`  ${id} ${where}: ${why}`);

for (const id of uncited) console.error(`No test cites ${id}.`);
for (const citation of unknown) console.error(`There is no requirement ${citation}.`);
process.exitCode = uncited.length + unknown.length > 0 ? 1 : 0;

console.log(`\n${proved.length} proved, ${pending.length} pending`);
