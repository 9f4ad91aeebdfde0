/**
 * `reportUncaught` makes a program that doesn't catch an error print its message alone. Node would print lines of our
 * code and a stack, which do not help with a wrong setting. Invariant: it changes nothing for an error that is caught,
 * nor for a program that handles uncaught errors itself. With DEBUG, Node prints everything. It imports nothing of
 * ours, because `require-node.ts` runs before all other files.
 */
import { inspect } from "node:util";

const reported = new WeakSet<object>();

/** @returns the error, to be thrown */
export function reportUncaught<E extends Error>(error: E): E {
  if (process.env["DEBUG"] !== undefined) return error;
  reported.add(error);
  if (process.listenerCount("uncaughtException") === 0) process.once("uncaughtException", report);
  return error;
}

function report(error: unknown): void {
  // The program has added its own listener since.
  if (process.listenerCount("uncaughtException") > 0) return;
  const isReported = error instanceof Error && reported.has(error);
  process.stderr.write(`${isReported ? error.message : inspect(error)}\n`);
  process.exit(1);
}
