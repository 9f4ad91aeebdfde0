/**
 * Prepares every test file: properties that name no seed take the fresh seed of the run, and a warning of Node fails
 * the file in which it is emitted. Excuses no warning: it is fixed where it comes from.
 */
import fc from "fast-check";
import { afterAll } from "vitest";
import { FRESH_SEED } from "./cases.ts";

fc.configureGlobal({ ...fc.readConfigureGlobal(), seed: FRESH_SEED });

const warnings: Error[] = [];
const note = (warning: Error): void => {
  // A test that provokes a warning listens for it itself.
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
