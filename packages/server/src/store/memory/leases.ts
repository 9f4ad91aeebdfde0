/** Executor leases in memory. */
import { checkDuration, checkLimit } from "../rules/arguments.ts";
import type { Env } from "../../util/env.ts";
import type { Leases } from "../ports/leases.ts";
import { MAX_BATCH } from "../ports/sessions.ts";
import { compareText } from "./session-rows.ts";
import { type MemoryTables, type Rows, table } from "./tables.ts";

interface Lease {
  readonly executor: string;
  readonly until: number;
  readonly takenBy: string | null;
}

const LEASES = table<Lease>("leases", "none");

export function memoryLeases(tables: MemoryTables, env: Env): Leases {
  const extend = (rows: Rows, executor: string, ttlMs: number, begin: boolean): boolean => {
    const until = env.now() + checkDuration(ttlMs, "ttlMs");
    const lease = rows.get(LEASES, "", executor);
    if (lease === undefined ? !begin : lease.takenBy !== null) return false;
    rows.put(LEASES, "", executor, { executor, until, takenBy: null });
    return true;
  };
  return {
    take: (executor, ttlMs) => tables.run((rows) => extend(rows, executor, ttlMs, true)),
    renew: (executor, ttlMs) => tables.run((rows) => extend(rows, executor, ttlMs, false)),
    expired: (limit) =>
      tables.run((rows) =>
        rows
          .all(LEASES)
          .filter((lease) => isDead(rows, lease, env.now()))
          .toSorted((a, b) => a.until - b.until || compareText(a.executor, b.executor))
          .slice(0, checkLimit(limit, MAX_BATCH))
          .map((lease) => lease.executor),
      ),
    takeDead: (executor, by) =>
      tables.run((rows) => {
        const lease = rows.get(LEASES, "", executor);
        if (executor === by || lease === undefined) return false;
        if (lease.takenBy !== by && !isDead(rows, lease, env.now())) return false;
        rows.put(LEASES, "", executor, { ...lease, takenBy: by });
        return true;
      }),
    unknown: (executors) =>
      tables.run((rows) => executors.filter((executor) => rows.get(LEASES, "", executor) === undefined)),
    leave: (executor) =>
      tables.run((rows) => {
        const lease = rows.get(LEASES, "", executor);
        if (lease === undefined || lease.takenBy !== null) return false;
        rows.put(LEASES, "", executor, { ...lease, until: Math.min(lease.until, env.now() - 1) });
        return true;
      }),
    release: (executor, by) =>
      tables.run((rows) => {
        const lease = rows.get(LEASES, "", executor);
        const holder = by === executor ? null : by;
        return lease?.takenBy === holder && rows.remove(LEASES, "", executor);
      }),
  };
}

/** Run out, and taken by nobody or by one that is dead too. */
function isDead(rows: Rows, lease: Lease, now: number): boolean {
  if (lease.until >= now) return false;
  const taker = lease.takenBy === null ? undefined : rows.get(LEASES, "", lease.takenBy);
  return taker === undefined || taker.until < now || taker.takenBy !== null;
}
