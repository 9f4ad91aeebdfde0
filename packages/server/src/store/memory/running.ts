/**
 * `memoryRunning`, `memoryJournal`, `memoryLeases` and `memoryWaiting` implement running turns, the journal, leases and
 * queued messages in memory.
 *
 * Invariant: a session has one running turn, under one key; `begin` takes its message in the same `tables.run`. A taken
 * message keeps its row without a body, so that a repeat is not queued again. A journal write compares the epoch first.
 */
import type { Json, UserMessage } from "@turnstream/protocol";
import type { Env } from "../../util/env.ts";
import { StoreError } from "../errors.ts";
import {
  checkMessage,
  type Journal,
  type Leases,
  type RunningTurns,
  type RunningTurn,
  type QueuedMessages,
  queuedMessageBody,
  type QueuedMessageBody,
} from "../ports/running.ts";
import { MAX_BATCH } from "../ports/sessions.ts";
import type { SessionRef } from "../../util/refs.ts";
import { checkDuration, checkLimit } from "../rules/arguments.ts";
import {
  checkJournalEntry,
  checkRetainedTurns,
  checkNewTurn,
  checkOptions,
  checkSessions,
  checkStop,
  checkTurnCaller,
  checkUsed,
  type StoredTurnCaller,
} from "../rules/running.ts";
import { compareText, EPOCHS, refOf, requireSession, sessionRow, SESSIONS } from "./session-rows.ts";
import { type MemoryTables, type Rows, sessionTable, table } from "./tables.ts";

/** JSON is stored as text; see `session-rows.ts`. */
interface RunningRow
  extends Omit<RunningTurn, "user" | "message" | "options" | "usageLimits">, StoredTurnCaller {
  readonly message: UserMessage | null;
  readonly options: string | null;
  readonly used: { readonly tokens: number; readonly micros: number };
  /** The newest entry of its journal at its last attempt. */
  readonly journaled: number;
}

export const RUNNING = sessionTable<RunningRow>("running_turns");
/** A session has at most one running turn, under this key. */
const ONLY = "running";

export function memoryRunning(tables: MemoryTables, env: Env): RunningTurns {
  return {
    begin: (ref, turn) =>
      tables.run((rows) => {
        const checked = checkNewTurn(turn);
        requireSession(rows, ref);
        if (running(rows, ref) !== undefined) return null;
        const taken = checked.retries === null ? takeWaiting(rows, ref) : { message: null };
        if (taken === null) return null;
        const { tenant, session } = ref;
        const unattempted = { attempts: 0, attemptsWithoutProgress: 0, journaled: 0, stop: null };
        const started = { startedAt: env.now(), used: { tokens: 0, micros: 0 }, ...unattempted };
        return turnOf(rows, put(rows, { tenant, session, ...checked, ...taken, ...started }));
      }),
    get: (ref) =>
      tables.run((rows) => {
        const row = running(rows, ref);
        return row === undefined ? null : turnOf(rows, row);
      }),
    attempt: (ref, turn) =>
      tables.run((rows) => {
        const row = running(rows, ref);
        if (row?.turn !== turn) return null;
        const journaled = newestEntry(rows, ref, turn);
        const attemptsWithoutProgress = journaled > row.journaled ? 1 : row.attemptsWithoutProgress + 1;
        return turnOf(
          rows,
          put(rows, { ...row, attempts: row.attempts + 1, attemptsWithoutProgress, journaled }),
        );
      }),
    forgive: (ref, { turn, attempts }) =>
      tables.run((rows) => {
        const row = running(rows, ref);
        if (row?.turn === turn && row.attempts === attempts && row.attemptsWithoutProgress > 0)
          put(rows, { ...row, attemptsWithoutProgress: row.attemptsWithoutProgress - 1 });
      }),
    requestStop: (ref, stop) =>
      tables.run((rows) => {
        const { turn, by } = checkStop(stop);
        const row = running(rows, ref);
        if (row === undefined || (turn !== null && row.turn !== turn)) return { receipt: "over", turn: null };
        if (row.stop !== null) return { receipt: "already", turn: row.turn };
        put(rows, { ...row, stop: { by, at: env.now() } });
        return { receipt: "stopping", turn: row.turn };
      }),
    end: (ref, turn) =>
      tables.run((rows) => running(rows, ref)?.turn === turn && rows.remove(RUNNING, ref, ONLY)),
    unattempted: ({ olderThanMs, limit }) =>
      tables.run((rows) => {
        const before = env.now() - checkDuration(olderThanMs, "olderThanMs");
        return rows
          .all(RUNNING)
          .filter(({ attempts, startedAt }) => attempts === 0 && startedAt <= before)
          .toSorted((a, b) => a.startedAt - b.startedAt)
          .slice(0, checkLimit(limit, MAX_BATCH))
          .map((row) => turnOf(rows, row));
      }),
    stopping: ({ limit }) =>
      tables.run((rows) =>
        rows
          .all(RUNNING)
          .filter(({ stop }) => stop !== null)
          .toSorted((a, b) => (a.stop?.at ?? 0) - (b.stop?.at ?? 0))
          .slice(0, checkLimit(limit, MAX_BATCH))
          .map((row) => turnOf(rows, row)),
      ),
    interrupted: (sessions) =>
      tables.run((rows) => {
        checkSessions(sessions);
        return sessions
          .flatMap((ref) => running(rows, ref) ?? [])
          .filter((row) => isInterrupted(rows, row, env.now()))
          .map(({ tenant, session, turn }) => ({ tenant, session, turn }));
      }),
    startable: ({ olderThanMs, limit }) =>
      tables.run((rows) => {
        const before = env.now() - checkDuration(olderThanMs, "olderThanMs");
        return rows
          .all(SESSIONS)
          .map(refOf)
          .filter((ref) => running(rows, ref) === undefined)
          .flatMap((ref) => {
            const since = waitingSince(rows, ref);
            return since === null || since.at > before ? [] : [{ ref, since }];
          })
          .toSorted((a, b) => a.since.at - b.since.at || a.since.n - b.since.n)
          .slice(0, checkLimit(limit, MAX_BATCH))
          .map(({ ref }) => ref);
      }),
  };
}

/** True if the lease of the executor that made the last attempt has expired. An older epoch is of an earlier turn. */
function isInterrupted(rows: Rows, row: RunningRow, now: number): boolean {
  const epoch = rows.get(EPOCHS, row, String(requireSession(rows, row).epoch));
  if (epoch === undefined || epoch.at < row.startedAt) return false;
  const lease = rows.get(LEASES, "", epoch.by);
  return lease !== undefined && lease.until < now;
}

function running(rows: Rows, ref: SessionRef): RunningRow | undefined {
  return sessionRow(rows, ref) === undefined ? undefined : rows.get(RUNNING, ref, ONLY);
}

function addUsed(one: RunningRow["used"], other: RunningRow["used"]): RunningRow["used"] {
  return { tokens: one.tokens + other.tokens, micros: one.micros + other.micros };
}

function put(rows: Rows, row: RunningRow): RunningRow {
  rows.put(RUNNING, row, ONLY, row);
  return row;
}

function turnOf(rows: Rows, row: RunningRow): RunningTurn {
  const { user } = requireSession(rows, row);
  const { journaled: _, used: __, options, usageLimits, ...turn } = row;
  const limits = parseJson(usageLimits) as RunningTurn["usageLimits"];
  return { ...turn, user, options: parseJson(options), usageLimits: limits };
}

function parseJson(json: string | null): Json {
  return json === null ? null : (JSON.parse(json) as Json);
}

/** Removes the user's id from the message and from the stop request. */
export function clearRunningTurnUser(rows: Rows, ref: SessionRef, user: string): void {
  const row = rows.get(RUNNING, ref, ONLY);
  if (row === undefined) return;
  const message = row.message?.by === user ? { ...row.message, by: null } : row.message;
  const stop = row.stop?.by === user ? { ...row.stop, by: null } : row.stop;
  put(rows, { ...row, message, stop });
}

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
  return {
    write: (ref, entry) =>
      tables.run((rows) => {
        const value = checkJournalEntry(entry);
        const { turn, key, epoch, isRetained = false } = entry;
        if (requireSession(rows, ref).epoch > epoch)
          throw new StoreError("FENCED", `session ${ref.session}, epoch ${epoch}`);
        if (rows.get(JOURNAL, ref, rowKey(entry)) !== undefined) return "already";
        const n = rows.next("turn_journal");
        rows.put(JOURNAL, ref, rowKey(entry), { turn, key, n, value, isRetained });
        const [used, row] = [checkUsed(entry), running(rows, ref)];
        if (used !== null && row?.turn === turn) put(rows, { ...row, used: addUsed(row.used, used) });
        return "written";
      }),
    read: (ref, turn) =>
      tables.run((rows) =>
        journalOf(rows, ref)
          .filter((row) => row.turn === turn)
          .map(({ key, value }) => ({ key, value: JSON.parse(value) as Json })),
      ),
    retained: (ref, turns) =>
      tables.run((rows) => {
        const wanted = new Set(checkRetainedTurns(turns));
        return journalOf(rows, ref)
          .filter(({ turn, isRetained }) => isRetained && wanted.has(turn))
          .map(({ turn, key, value }) => ({ turn, key, value: JSON.parse(value) as Json }));
      }),
    close: (ref, turn) =>
      tables.run((rows) => {
        const dropped = journalOf(rows, ref).filter((row) => row.turn === turn && !row.isRetained);
        for (const row of dropped) rows.remove(JOURNAL, ref, rowKey(row));
        return dropped.length;
      }),
  };
}

/** NUL is a safe separator because ids can't contain it. */
function rowKey({ turn, key }: { readonly turn: string; readonly key: string }): string {
  return `${turn}\0${key}`;
}

function journalOf(rows: Rows, ref: SessionRef): JournalRow[] {
  if (sessionRow(rows, ref) === undefined) return [];
  return rows.of(JOURNAL, ref).toSorted((a, b) => a.n - b.n);
}

/** Returns the number of the newest entry of a turn, or 0. */
function newestEntry(rows: Rows, ref: SessionRef, turn: string): number {
  return journalOf(rows, ref).findLast((row) => row.turn === turn)?.n ?? 0;
}

interface Lease {
  readonly executor: string;
  readonly until: number;
  readonly takenBy: string | null;
  readonly logReachedAt: number | null;
}

const LEASES = table<Lease>("leases", "none");

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
  return {
    take: (executor, ttlMs) => tables.run((rows) => extend(rows, executor, ttlMs, true)),
    renew: (executor, ttlMs, { reachesLog = true } = {}) =>
      tables.run((rows) => extend(rows, executor, ttlMs, false, reachesLog)),
    clock: async () => env.now(),
    otherReachesLog: (executor, withinMs) =>
      tables.run((rows) => {
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
      }),
    expired: (limit) =>
      tables.run((rows) =>
        rows
          .all(LEASES)
          .filter((lease) => isDead(rows, lease, env.now()))
          .toSorted((a, b) => a.until - b.until || compareText(a.executor, b.executor))
          .slice(0, checkLimit(limit, MAX_BATCH))
          .map((lease) => lease.executor),
      ),
    status: () =>
      tables.run((rows) => {
        const [leases, now] = [rows.all(LEASES), env.now()];
        return {
          anyLive: leases.some(({ until }) => until >= now),
          anyExpired: leases.some(({ until }) => until < now),
        };
      }),
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

/** True if the lease has expired, and no live process has taken it over. */
function isDead(rows: Rows, lease: Lease, now: number): boolean {
  if (lease.until >= now) return false;
  const taker = lease.takenBy === null ? undefined : rows.get(LEASES, "", lease.takenBy);
  return taker === undefined || taker.until < now || taker.takenBy !== null;
}

/** A queued message. Without a body it is no longer queued. */
interface WaitingRow extends StoredTurnCaller {
  readonly id: string;
  readonly n: number;
  readonly body: string | null;
  readonly by: string | null;
  readonly at: number;
  /** As JSON. */
  readonly options: string | null;
}

export const WAITING = sessionTable<WaitingRow>("waiting_messages");

export function memoryWaiting(tables: MemoryTables, env: Env): QueuedMessages {
  return {
    add: (ref, message) =>
      tables.run((rows) => {
        const { id, by } = checkMessage(message);
        const options = checkOptions(message.options);
        requireSession(rows, ref);
        if (rows.get(WAITING, ref, id) !== undefined) return "already";
        const body = JSON.stringify(queuedMessageBody(message));
        const n = rows.next("waiting");
        const caller = checkTurnCaller(message);
        rows.put(WAITING, ref, id, { id, n, body, by, at: env.now(), options, ...caller });
        return "added";
      }),
    remove: (ref, id) =>
      tables.run((rows) => {
        requireSession(rows, ref);
        return settle(rows, ref, id);
      }),
    list: (ref) => tables.run((rows) => waitingOf(rows, ref).slice(0, MAX_BATCH).map(messageOf)),
    take: (ref) =>
      tables.run((rows) => {
        requireSession(rows, ref);
        return takeWaiting(rows, ref)?.message ?? null;
      }),
  };
}

/** Takes the oldest message out of the queue, with its options and limits as JSON. */
function takeWaiting(rows: Rows, ref: SessionRef) {
  const [row] = waitingOf(rows, ref);
  if (row === undefined) return null;
  settle(rows, ref, row.id);
  const { options, apiKey, usageLimits } = row;
  return { message: messageOf(row), options, apiKey, usageLimits };
}

function waitingOf(rows: Rows, ref: SessionRef): WaitingRow[] {
  if (sessionRow(rows, ref) === undefined) return [];
  return rows
    .of(WAITING, ref)
    .filter(({ body }) => body !== null)
    .toSorted((a, b) => a.n - b.n);
}

/** Returns when the oldest message of a session was queued, or null. */
function waitingSince(rows: Rows, ref: SessionRef): { readonly at: number; readonly n: number } | null {
  return waitingOf(rows, ref)[0] ?? null;
}

function messageOf({ id, body, by, at }: WaitingRow): UserMessage {
  return { id, ...(JSON.parse(body ?? "{}") as QueuedMessageBody), by, at };
}

/** Removes the sender's id. */
export function clearMessageAuthor(rows: Rows, ref: SessionRef, user: string): void {
  for (const row of rows.of(WAITING, ref))
    if (row.by === user) rows.put(WAITING, ref, row.id, { ...row, by: null });
}

function settle(rows: Rows, ref: SessionRef, id: string): boolean {
  const row = rows.get(WAITING, ref, id);
  if (row === undefined || row.body === null) return false;
  rows.put(WAITING, ref, id, { ...row, body: null, by: null, options: null, usageLimits: null });
  return true;
}
