/**
 * `createEvaluate` runs scripts on the Redis of the log, and fails fast while Redis does not answer.
 * Invariant: after a timeout every call fails at once for some seconds. So a Redis that hangs delays one request in that
 * time and not all of them. A failed call may have been executed.
 */
import type { Log } from "../../log/log.ts";
import { withTimeout } from "../../util/with-timeout.ts";

export type Evaluate = NonNullable<Log["evaluate"]>;

const TIMEOUT_MS = 2_000;
const AWAY_MS = 5_000;

/** @returns null if the log has no Redis */
export function createEvaluate(log: Pick<Log, "evaluate">, now: () => number): Evaluate | null {
  const { evaluate } = log;
  if (evaluate === undefined) return null;
  let awayUntil = 0;
  return async (script, keys, args) => {
    if (now() < awayUntil) throw new Error("Redis did not answer in time.");
    return withTimeout(evaluate(script, keys, args), {
      ms: TIMEOUT_MS,
      onTimeout: () => {
        awayUntil = now() + AWAY_MS;
        throw new Error("Redis did not answer in time.");
      },
    });
  };
}
