/**
 * Prepares every test file. Properties without a seed use the fresh seed of the run. A warning of Node fails the file
 * that emits it. There is no list of accepted warnings: fix the code that causes one.
 */
import fc from "fast-check";
import { afterAll } from "vitest";
import { SEED } from "./cases.ts";

fc.configureGlobal({ ...fc.readConfigureGlobal(), seed: SEED });

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
