/** The outbox in memory. */
import { formatCursor, parseCursor, type EventDraft } from "@turnstream/protocol";
import { checkCount, checkCursor, checkLimit } from "../rules/arguments.ts";
import type { Env } from "../../util/env.ts";
import { backoffMs, type Outbox, type OutboxRow } from "../ports/outbox.ts";
import { checkOutboxRow, sinceOf } from "../rules/outbox-check.ts";
import type { Ref } from "../refs.ts";
import { MAX_BATCH } from "../ports/sessions.ts";
import { changeOutboxRow, OUTBOX, outboxOf, reopenRows, type StoredOutboxRow } from "./outbox-rows.ts";
import { requireSession } from "./session-rows.ts";
import type { MemoryTables, Rows } from "./tables.ts";

export function memoryOutbox(tables: MemoryTables, env: Env): Outbox {
  return {
    add: (ref, row) =>
      tables.run((rows) => {
        const draft = checkOutboxRow(row);
        const { archived } = requireSession(rows, ref);
        const since = sinceOf(row.since, parseCursor(archived) ?? { epoch: 0, seq: 0 });
        if (rows.get(OUTBOX, ref.session, row.key) !== undefined) return "already";
        const now = env.now();
        rows.put(OUTBOX, ref.session, row.key, {
          tenant: ref.tenant,
          session: ref.session,
          id: rows.next("outbox"),
          key: row.key,
          draft,
          since: formatCursor(since),
          attempts: 0,
          createdAt: now,
          nextAttemptAt: now,
          deliveredAt: null,
          cursor: null,
          archivedAt: null,
        });
        return "added";
      }),
    undelivered: (ref, limit) =>
      tables.run((rows) =>
        outboxOf(rows, ref).filter(isUndelivered).slice(0, checkLimit(limit, MAX_BATCH)).map(outboxRowOf),
      ),
    isUndelivered: (ref, key) =>
      tables.run((rows) => outboxOf(rows, ref).some((row) => row.key === key && isUndelivered(row))),
    take: ({ limit, olderThanMs, leaseMs }) =>
      tables.run((rows) => {
        const now = env.now();
        const createdBy = now - checkCount(olderThanMs, "olderThanMs");
        const due = firstRows(rows)
          .filter((row) => row.nextAttemptAt <= now && row.createdAt <= createdBy)
          .toSorted((a, b) => a.nextAttemptAt - b.nextAttemptAt || a.id - b.id)
          .slice(0, checkLimit(limit, MAX_BATCH));
        const nextAttemptAt = now + checkCount(leaseMs, "leaseMs");
        for (const row of due) changeOutboxRow(rows, row, { nextAttemptAt });
        return due.map(({ tenant, session }): Ref => ({ tenant, session }));
      }),
    delivered: async (ref, key, cursor) => {
      checkCursor(cursor, "cursor");
      return tables.run((rows) => {
        const row = outboxOf(rows, ref).find((one) => one.key === key && isUndelivered(one));
        if (row !== undefined) changeOutboxRow(rows, row, { deliveredAt: env.now(), cursor });
        return row !== undefined;
      });
    },
    postpone: (ref) =>
      tables.run((rows) => {
        const waiting = outboxOf(rows, ref).filter(isUndelivered);
        const attempts = (waiting[0]?.attempts ?? 0) + 1;
        const nextAttemptAt = env.now() + backoffMs(attempts);
        waiting.forEach((row, n) =>
          changeOutboxRow(rows, row, n === 0 ? { attempts, nextAttemptAt } : { nextAttemptAt }),
        );
      }),
    reopen: (ref) => tables.run((rows) => reopenRows(rows, ref, env.now(), null)),
    pending: ({ limit, olderThanMs }) =>
      tables.run((rows) => {
        const createdBy = env.now() - checkCount(olderThanMs, "olderThanMs");
        return rows
          .all(OUTBOX)
          .filter((row) => isUndelivered(row) && row.createdAt <= createdBy)
          .toSorted((a, b) => a.id - b.id)
          .slice(0, checkLimit(limit, MAX_BATCH))
          .map(outboxRowOf);
      }),
    prune: ({ olderThanMs, limit }) =>
      tables.run((rows) => {
        const before = env.now() - checkCount(olderThanMs, "olderThanMs");
        const old = rows
          .all(OUTBOX)
          .filter((row) => row.archivedAt !== null && row.archivedAt <= before)
          .toSorted((a, b) => (a.archivedAt ?? 0) - (b.archivedAt ?? 0))
          .slice(0, checkLimit(limit, MAX_BATCH));
        for (const row of old) rows.remove(OUTBOX, row.session, row.key);
        return old.length;
      }),
  };
}

function isUndelivered(row: StoredOutboxRow): boolean {
  return row.deliveredAt === null;
}

/** The first undelivered row of every session. */
function firstRows(rows: Rows): StoredOutboxRow[] {
  const first = new Map<string, StoredOutboxRow>();
  for (const row of rows.all(OUTBOX)) {
    if (isUndelivered(row) && row.id < (first.get(row.session)?.id ?? Infinity)) first.set(row.session, row);
  }
  return [...first.values()];
}

function outboxRowOf(stored: StoredOutboxRow): OutboxRow {
  const { draft, nextAttemptAt: _n, deliveredAt: _d, cursor: _c, archivedAt: _a, ...row } = stored;
  return { ...row, draft: JSON.parse(draft) as EventDraft };
}
