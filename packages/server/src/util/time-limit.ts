/**
 * `runWithTimeLimit` runs synchronous code that can't be interrupted otherwise, such as validation with a schema from
 * a third party.
 * Invariant: it uses at most about twice `ms` of CPU time and throws if the work needs more, even inside a regular
 * expression. Work that was interrupted may leave its data incomplete, so use it for pure functions only. It limits
 * time, not access.
 */
import { createContext, Script } from "node:vm";

const CALL = new Script("work()");
const globals: { work: (() => unknown) | null } = { work: null };
const context = createContext(globals);
const MAX_TRIES = 10;

/**
 * Node can only limit the time on the clock. If the machine is busy, the work may have had little CPU time until then,
 * so it runs again. It also runs again after a try that used all of `ms`, because that try may have spent it on
 * compiling the code.
 */
export function runWithTimeLimit<T>(ms: number, work: () => T): T {
  let left = 2 * ms;
  for (let tries = 1; ; tries++) {
    const before = process.threadCpuUsage();
    globals.work = work;
    try {
      return CALL.runInContext(context, { timeout: Math.ceil(Math.min(left, ms)) }) as T;
    } catch (error) {
      const { user, system } = process.threadCpuUsage(before);
      // The clock of a virtual machine may jump.
      left -= Math.min((user + system) / 1_000, ms);
      if (!isTimeout(error) || left < 1 || tries >= MAX_TRIES) throw error;
    } finally {
      globals.work = null;
    }
  }
}

function isTimeout(error: unknown): boolean {
  return (error as { readonly code?: unknown } | null)?.code === "ERR_SCRIPT_EXECUTION_TIMEOUT";
}
