/**
 * Prepares every test file. Properties without a seed use that of the run. Tests in quarantine run only at night. A warning of Node fails the file
 * that emits it. There is no list of accepted warnings: fix the code that causes one.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, beforeEach } from "vitest";
import { SEED } from "./cases.ts";

fc.configureGlobal({ ...fc.readConfigureGlobal(), seed: SEED });

interface Quarantined {
  readonly file: string;
  readonly title: string;
}

const path = join(import.meta.dirname, "../../../scripts/quarantine.json");
const quarantine = JSON.parse(readFileSync(path, "utf8")) as readonly Quarantined[];
// At night they run, so that a repair is noticed.
if (process.env["TURNSTREAM_NIGHTLY"] !== "1" && quarantine.length > 0)
  beforeEach(({ task, skip }) => {
    const isOut = quarantine.some(({ file, title }) => task.file.name.endsWith(file) && task.name === title);
    skip(isOut, "in quarantine");
  });

const warnings: Error[] = [];
const note = (warning: Error): void => {
  // A test that provokes a warning has its own listener.
  if (process.listenerCount("warning") === listeners) warnings.push(warning);
};
process.on("warning", note);
const listeners = process.listenerCount("warning");

afterAll(async () => {
  // Node emits a warning in the next tick.
  await new Promise((resolve) => setImmediate(resolve));
  process.off("warning", note);
  const [first] = warnings;
  if (first !== undefined) throw new Error(`Node warned: ${first.name}: ${first.message}`, { cause: first });
});
