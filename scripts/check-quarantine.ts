/**
 * Checks scripts/quarantine.json, the list of tests that fail at random: `{ "file", "title", "reason", "until" }`. They
 * run only at night until their date. Fails if a date has passed, is too far ahead, or if there are too many.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";

const MAX_TESTS = 10;
const MAX_DAYS = 14;
const DAY_MS = 24 * 60 * 60 * 1_000;

interface Quarantined {
  readonly file: string;
  readonly title: string;
  readonly reason: string;
  readonly until: string;
}

const text = readFileSync(join(import.meta.dirname, "quarantine.json"), "utf8");
const tests = JSON.parse(text) as readonly Quarantined[];
const problems = tests.flatMap(({ file, title, reason, until }) => {
  const days = (Date.parse(until) - Date.now()) / DAY_MS;
  if (!reason) return [`${file}: ${title}: there is no reason`];
  if (!(days <= MAX_DAYS)) return [`${file}: ${title}: ${until} must be a date within ${MAX_DAYS} days`];
  return days < 0 ? [`${file}: ${title}: its time ended on ${until}. Mend it or delete it.`] : [];
});
if (tests.length > MAX_TESTS)
  problems.push(`There are ${tests.length} tests, at most ${MAX_TESTS} are allowed`);
for (const problem of problems) console.error(problem);
process.exitCode = problems.length === 0 ? 0 : 1;
