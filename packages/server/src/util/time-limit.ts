/**
 * `runWithTimeLimit` runs synchronous code that can't be interrupted otherwise, such as validation with a schema from
 * a third party.
 * Invariant: it blocks the process for at most `ms` and throws if the work takes longer, even inside a regular
 * expression. Work that was interrupted may leave its data incomplete, so use it for pure functions only. It limits
 * time, not access.
 */
import { createContext, Script } from "node:vm";

const CALL = new Script("work()");
const globals: { work: (() => unknown) | null } = { work: null };
const context = createContext(globals);

/** Throws if the work takes longer, even in the middle of a regular expression. */
export function runWithTimeLimit<T>(ms: number, work: () => T): T {
  globals.work = work;
  try {
    return CALL.runInContext(context, { timeout: ms }) as T;
  } finally {
    globals.work = null;
  }
}
