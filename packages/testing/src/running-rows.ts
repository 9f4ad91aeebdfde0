/**
 * `RUNNING` is the table of running turns in memory, `QUEUE` that of the queue, and `WAITING` that of queued messages. The
 * functions read and change their rows.
 *
 * Invariant: a session has one row of the first two, under one key. A turn runs in a process (`executor`), is queued
 * (`rank` without `executor`) or waits for a user (neither). A taken message keeps its row without a body, so that a
 * repeat is not queued again.
 */
import type {
  QueuedMessageBody,
  RunningTurn,
  SessionRef,
  StoredTurnCaller,
} from "@turnstream/server/internal";
import type { Json, UserMessage } from "@turnstream/protocol";
import { requireSession } from "./session-rows.ts";
import { type Rows, sessionTable } from "./tables.ts";

/** JSON is stored as text; see `session-rows.ts`. */
export interface RunningRow
  extends Omit<RunningTurn, "user" | "message" | "options" | "usageLimits" | "deaths">, StoredTurnCaller {
  readonly message: UserMessage | null;
  readonly options: string | null;
  readonly used: { readonly tokens: number; readonly micros: number };
  /** True from `park` until the next start. */
  readonly isParked: boolean;
  readonly wakeAt: number | null;
}

export interface QueueRow extends SessionRef {
  /** The turn that runs, waits for a user, or is queued again. */
  readonly turn: string | null;
  /** The number of the message that the next turn answers, while no turn runs. */
  readonly nextMessage: number | null;
  readonly agent: string | null;
  readonly rank: number | null;
  readonly queuedAt: number;
  /** Not to be started before. */
  readonly dueAt: number;
  readonly executor: string | null;
  readonly deaths: number;
}

export const RUNNING = sessionTable<RunningRow>("running_turns");
export const QUEUE = sessionTable<QueueRow>("turn_queue");
/** A session has one row of each table, under this key. */
const ONLY = "only";

export function runningOf(rows: Rows, ref: SessionRef): RunningRow | undefined {
  return rows.get(RUNNING, ref, ONLY);
}

export function putRunning(rows: Rows, row: RunningRow): RunningRow {
  rows.put(RUNNING, row, ONLY, row);
  return row;
}

export function removeRunning(rows: Rows, ref: SessionRef): void {
  rows.remove(RUNNING, ref, ONLY);
}

const IDLE = {
  turn: null,
  nextMessage: null,
  agent: null,
  rank: null,
  queuedAt: 0,
  dueAt: 0,
  executor: null,
  deaths: 0,
} as const;

export function queueRow(rows: Rows, { tenant, session }: SessionRef): QueueRow {
  return rows.get(QUEUE, { tenant, session }, ONLY) ?? { tenant, session, ...IDLE };
}

export function changeQueue(rows: Rows, row: QueueRow, change: Partial<QueueRow>): QueueRow {
  const changed = { ...row, ...change };
  rows.put(QUEUE, row, ONLY, changed);
  return changed;
}

export function toTurn(rows: Rows, row: RunningRow): RunningTurn {
  const { user } = requireSession(rows, row);
  const { deaths } = queueRow(rows, row);
  const { tenant, session, turn, message, retries, startedAt, stop, apiKey } = row;
  const { attempts, attemptsWithoutProgress } = row;
  const counts = { attempts, attemptsWithoutProgress, deaths };
  const limits = parseJson(row.usageLimits) as RunningTurn["usageLimits"];
  const caller = { apiKey, usageLimits: limits };
  const options = parseJson(row.options);
  return { tenant, session, turn, user, message, retries, options, startedAt, ...counts, stop, ...caller };
}

function parseJson(json: string | null): Json {
  return json === null ? null : (JSON.parse(json) as Json);
}

/** A queued message. Without a body it is no longer queued. */
interface WaitingRow extends StoredTurnCaller {
  readonly ref: SessionRef;
  readonly id: string;
  readonly n: number;
  readonly body: string | null;
  readonly by: string | null;
  readonly at: number;
  /** As JSON. */
  readonly options: string | null;
  readonly agent: string | null;
}

export const WAITING = sessionTable<WaitingRow>("waiting_messages");

/** Returns the queued messages of a session, the oldest first. */
export function waitingOf(rows: Rows, ref: SessionRef): (WaitingRow & { readonly message: UserMessage })[] {
  return rows
    .of(WAITING, ref)
    .filter(({ body }) => body !== null)
    .toSorted((a, b) => a.n - b.n)
    .map((row) => ({ ...row, message: messageOf(row) }));
}

function messageOf({ id, body, by, at }: WaitingRow): UserMessage {
  return { id, ...(JSON.parse(body ?? "{}") as QueuedMessageBody), by, at };
}

/** Takes the message out of the queue. Returns false if it is not queued. */
export function settle(rows: Rows, ref: SessionRef, id: string): boolean {
  const row = rows.get(WAITING, ref, id);
  if (row === undefined || row.body === null) return false;
  rows.put(WAITING, ref, id, { ...row, body: null, by: null, options: null, usageLimits: null });
  return true;
}
