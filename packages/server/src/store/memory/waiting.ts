/** Waiting messages in memory. A row without a body waits no longer. */
import type { UserMessage } from "@turnstream/protocol";
import type { Env } from "../env.ts";
import type { Ref } from "../refs.ts";
import { MAX_BATCH } from "../ports/sessions.ts";
import { checkMessage, type Waiting, waitingBody, type WaitingBody } from "../ports/waiting.ts";
import { requireSession, sessionRow } from "./session-rows.ts";
import { type MemoryTables, type Rows, table } from "./tables.ts";

interface WaitingRow {
  readonly id: string;
  readonly n: number;
  readonly body: string | null;
  readonly by: string | null;
  readonly at: number;
}

const WAITING = table<WaitingRow>("waiting_messages", "session");

export function memoryWaiting(tables: MemoryTables, env: Env): Waiting {
  return {
    add: (ref, message) =>
      tables.run((rows) => {
        const { id, by } = checkMessage(message);
        requireSession(rows, ref);
        if (rows.get(WAITING, ref.session, id) !== undefined) return "already";
        const body = JSON.stringify(waitingBody(message));
        rows.put(WAITING, ref.session, id, { id, n: rows.next("waiting"), body, by, at: env.now() });
        return "added";
      }),
    remove: (ref, id) =>
      tables.run((rows) => {
        requireSession(rows, ref);
        return settle(rows, ref, id);
      }),
    list: (ref) => tables.run((rows) => waitingOf(rows, ref).slice(0, MAX_BATCH)),
    take: (ref) =>
      tables.run((rows) => {
        requireSession(rows, ref);
        const [message] = waitingOf(rows, ref);
        if (message === undefined) return null;
        settle(rows, ref, message.id);
        return message;
      }),
  };
}

function waitingOf(rows: Rows, ref: Ref): UserMessage[] {
  if (sessionRow(rows, ref) === undefined) return [];
  return rows
    .of(WAITING, ref.session)
    .toSorted((a, b) => a.n - b.n)
    .flatMap(({ id, body, by, at }) =>
      body === null ? [] : [{ id, ...(JSON.parse(body) as WaitingBody), by, at }],
    );
}

/** Whoever sent it, nobody is named any more. */
export function forgetSender(rows: Rows, session: string, user: string): void {
  for (const row of rows.of(WAITING, session))
    if (row.by === user) rows.put(WAITING, session, row.id, { ...row, by: null });
}

function settle(rows: Rows, ref: Ref, id: string): boolean {
  const row = rows.get(WAITING, ref.session, id);
  if (row === undefined || row.body === null) return false;
  rows.put(WAITING, ref.session, id, { ...row, body: null, by: null });
  return true;
}
