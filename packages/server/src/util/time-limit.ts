/**
 * Runs code that can't be interrupted, such as a check by somebody else's schema, for a limited time. Holds up the process
 * for that long at the most. Never waits: it is for what is done at once.
 */
import { createContext, Script } from "node:vm";

const CALL = new Script("work()");
const globals: { work: (() => unknown) | null } = { work: null };
const context = createContext(globals);

/** Throws when it takes longer, also out of the middle of a regular expression. */
export function runWithTimeLimit<T>(ms: number, work: () => T): T {
  globals.work = work;
  try {
    return CALL.runInContext(context, { timeout: ms }) as T;
  } finally {
    globals.work = null;
  }
}
