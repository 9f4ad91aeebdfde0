/**
 * `memoryJournal` and `memoryLeases` implement the journal and executor leases in memory.
 *
 * Invariant: a journal write compares the epoch first.
 */
import {
  checkDuration,
  checkFence,
  checkJournalEntries,
  checkLimit,
  checkRetainedTurns,
  checkShortened,
  type Env,
  fencedError,
  type Journal,
  type Leases,
  MAX_BATCH,
  type NewJournalEntry,
  type SessionRef,
} from "@turnstream/server/internal";
import type { Json } from "@turnstream/protocol";
import { putRunning, QUEUE, queueRow, runningOf } from "./running-rows.ts";
import { compareText, requireSession } from "./session-rows.ts";
import { createPart, type MemoryTables, type Rows, sessionTable, table } from "./tables.ts";

interface JournalRow {
  readonly turn: string;
  readonly key: string;
  readonly n: number;
  /** As JSON. */
  readonly value: string;
  readonly isRetained: boolean;
}

const JOURNAL = sessionTable<JournalRow>("turn_journal");

export function memoryJournal(tables: MemoryTables): Journal {
  return createPart<Journal>(tables, {
    write: (rows, ref, ...entries) => (addEntries(rows, ref, entries) > 0 ? "written" : "already"),
    read: (rows, ref, turn) =>
      journalOf(rows, ref)
        .filter((row) => row.turn === turn)
        .map(({ key, value }) => ({ key, value: JSON.parse(value) as Json })),
    retained(rows, ref, turns) {
      const wanted = new Set(checkRetainedTurns(turns));
      return journalOf(rows, ref)
        .filter(({ turn, isRetained }) => isRetained && wanted.has(turn))
        .map(({ turn, key, value }) => ({ turn, key, value: JSON.parse(value) as Json }));
    },
    close(rows, ref, turn, shortened = []) {
      for (const { key, value } of checkShortened(shortened)) {
        const row = rows.get(JOURNAL, ref, rowKey({ turn, key }));
        if (row?.isRetained === true) rows.put(JOURNAL, ref, rowKey(row), { ...row, value });
      }
      const dropped = journalOf(rows, ref).filter((row) => row.turn === turn && !row.isRetained);
      for (const row of dropped) rows.remove(JOURNAL, ref, rowKey(row));
      return dropped.length;
    },
  });
}

/** @returns how many are new */
export function addEntries(rows: Rows, ref: SessionRef, given: readonly NewJournalEntry[]): number {
  const checked = checkJournalEntries(given);
  if (checked === null) return 0;
  const { turn, after, entries } = checked;
  checkFence(ref, fenceOf(rows, ref), checked);
  if (after.some((key) => rows.get(JOURNAL, ref, rowKey({ turn, key })) === undefined))
    throw fencedError(ref, checked.epoch);
  const added = entries.filter(({ key }) => rows.get(JOURNAL, ref, rowKey({ turn, key })) === undefined);
  for (const { key, value, isRetained, used } of added) {
    const n = rows.next("turn_journal");
    rows.put(JOURNAL, ref, rowKey({ turn, key }), { turn, key, n, value, isRetained });
    const row = runningOf(rows, ref);
    if (row?.turn !== turn) continue;
    const sum = {
      tokens: row.used.tokens + (used?.tokens ?? 0),
      micros: row.used.micros + (used?.micros ?? 0),
    };
    putRunning(rows, { ...row, used: sum, attemptsWithoutProgress: 0 });
  }
  return added.length;
}

export function fenceOf(rows: Rows, ref: SessionRef) {
  return { epoch: requireSession(rows, ref).epoch, executor: queueRow(rows, ref).executor };
}

/** NUL is a safe separator because ids can't contain it. */
function rowKey({ turn, key }: { readonly turn: string; readonly key: string }): string {
  return `${turn}\0${key}`;
}

function journalOf(rows: Rows, ref: SessionRef): JournalRow[] {
  return rows.of(JOURNAL, ref).toSorted((a, b) => a.n - b.n);
}

interface Lease {
  readonly executor: string;
  readonly until: number;
  readonly takenBy: string | null;
  readonly logReachedAt: number | null;
}

const LEASES = table<Lease>("leases");

/** True if the executor's lease has not expired and was not taken over. */
export function hasValidLease(rows: Rows, executor: string, now: number): boolean {
  const lease = rows.get(LEASES, "", executor);
  return lease !== undefined && lease.takenBy === null && lease.until >= now;
}

/** @returns false if the executor does not have the lease */
export function endLease(rows: Rows, executor: string): boolean {
  return rows.get(LEASES, "", executor)?.takenBy === null && rows.remove(LEASES, "", executor);
}

export function memoryLeases(tables: MemoryTables, env: Env): Leases {
  const extend = (
    rows: Rows,
    executor: string,
    ttlMs: number,
    begin: boolean,
    reachesLog = false,
  ): boolean => {
    const until = env.now() + checkDuration(ttlMs, "ttlMs");
    const lease = rows.get(LEASES, "", executor);
    if (lease === undefined ? !begin : lease.takenBy !== null) return false;
    const logReachedAt = reachesLog ? env.now() : (lease?.logReachedAt ?? null);
    rows.put(LEASES, "", executor, { executor, until, takenBy: null, logReachedAt });
    return true;
  };
  return createPart<Leases>(tables, {
    clock: (_) => env.now(),
    take: (rows, executor, ttlMs) => extend(rows, executor, ttlMs, true),
    renew: (rows, executor, ttlMs, { reachesLog = true } = {}) =>
      extend(rows, executor, ttlMs, false, reachesLog),
    otherReachesLog(rows, executor, withinMs) {
      const now = env.now();
      const since = now - checkDuration(withinMs, "withinMs");
      return rows
        .all(LEASES)
        .some(
          (lease) =>
            lease.executor !== executor &&
            lease.takenBy === null &&
            lease.until >= now &&
            lease.logReachedAt !== null &&
            lease.logReachedAt >= since,
        );
    },
    // The store ends with the process.
    hold: (_) => false,
    expired: (rows, limit) =>
      rows
        .all(LEASES)
        .filter((lease) => isDead(rows, lease, env.now()))
        .toSorted((a, b) => a.until - b.until || compareText(a.executor, b.executor))
        .slice(0, checkLimit(limit, MAX_BATCH))
        .map((lease) => lease.executor),
    status(rows) {
      const [leases, now] = [rows.all(LEASES), env.now()];
      return {
        anyLive: leases.some(({ until }) => until >= now),
        anyExpired: leases.some(({ until }) => until < now),
      };
    },
    takeDead(rows, executor, by) {
      const lease = rows.get(LEASES, "", executor);
      if (executor === by || lease === undefined) return false;
      if (lease.takenBy !== by && !isDead(rows, lease, env.now())) return false;
      rows.put(LEASES, "", executor, { ...lease, takenBy: by });
      return true;
    },
    release(rows, executor, by) {
      const lease = rows.get(LEASES, "", executor);
      const holder = by === executor ? null : by;
      if (rows.all(QUEUE).some((row) => row.executor === executor)) return false;
      return lease?.takenBy === holder && rows.remove(LEASES, "", executor);
    },
  });
}

/** True if the executor's lease has expired, taken over or not. */
export function isExpired(rows: Rows, executor: string, now: number): boolean {
  const lease = rows.get(LEASES, "", executor);
  return lease !== undefined && lease.until < now;
}

/** True if the lease has expired, and no live process has taken it over. */
function isDead(rows: Rows, lease: Lease, now: number): boolean {
  if (lease.until >= now) return false;
  const taker = lease.takenBy === null ? undefined : rows.get(LEASES, "", lease.takenBy);
  return taker === undefined || taker.until < now || taker.takenBy !== null;
}
