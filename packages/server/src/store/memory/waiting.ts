/** Waiting messages in memory. A row without a body waits no longer. */
import type { UserMessage } from "@turnstream/protocol";
import type { Env } from "../../util/env.ts";
import type { Ref } from "../refs.ts";
import { MAX_BATCH } from "../ports/sessions.ts";
import { checkMessage, type Waiting, waitingBody, type WaitingBody } from "../ports/waiting.ts";
import { checkOptions } from "../rules/running.ts";
import { requireSession, sessionRow } from "./session-rows.ts";
import { type MemoryTables, type Rows, table } from "./tables.ts";

interface WaitingRow {
  readonly id: string;
  readonly n: number;
  readonly body: string | null;
  readonly by: string | null;
  readonly at: number;
  /** As JSON. */
  readonly options: string | null;
}

const WAITING = table<WaitingRow>("waiting_messages", "session");

export function memoryWaiting(tables: MemoryTables, env: Env): Waiting {
  return {
    add: (ref, message) =>
      tables.run((rows) => {
        const { id, by } = checkMessage(message);
        const options = checkOptions(message.options);
        requireSession(rows, ref);
        if (rows.get(WAITING, ref.session, id) !== undefined) return "already";
        const body = JSON.stringify(waitingBody(message));
        const n = rows.next("waiting");
        rows.put(WAITING, ref.session, id, { id, n, body, by, at: env.now(), options });
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

/** The oldest, which waits no longer then, and its options as JSON. */
export function takeWaiting(
  rows: Rows,
  ref: Ref,
): { readonly message: UserMessage; readonly options: string | null } | null {
  const [row] = waitingOf(rows, ref);
  if (row === undefined) return null;
  settle(rows, ref, row.id);
  return { message: messageOf(row), options: row.options };
}

function waitingOf(rows: Rows, ref: Ref): WaitingRow[] {
  if (sessionRow(rows, ref) === undefined) return [];
  return rows
    .of(WAITING, ref.session)
    .filter(({ body }) => body !== null)
    .toSorted((a, b) => a.n - b.n);
}

/** When the oldest that waits in a session came; null when none does. */
export function waitingSince(rows: Rows, ref: Ref): { readonly at: number; readonly n: number } | null {
  return waitingOf(rows, ref)[0] ?? null;
}

function messageOf({ id, body, by, at }: WaitingRow): UserMessage {
  return { id, ...(JSON.parse(body ?? "{}") as WaitingBody), by, at };
}

/** Whoever sent it, nobody is named any more. */
export function forgetSender(rows: Rows, session: string, user: string): void {
  for (const row of rows.of(WAITING, session))
    if (row.by === user) rows.put(WAITING, session, row.id, { ...row, by: null });
}

function settle(rows: Rows, ref: Ref, id: string): boolean {
  const row = rows.get(WAITING, ref.session, id);
  if (row === undefined || row.body === null) return false;
  rows.put(WAITING, ref.session, id, { ...row, body: null, by: null, options: null });
  return true;
}
