/** The outbox in memory. A row that a relay holds is noted in the process, since no transaction stays open. */
import { type EventDraft } from "@turnstream/protocol";
import { checkCount, checkCursor, checkId, checkLimit } from "../check.ts";
import type { Env } from "../env.ts";
import { backoffMs, type DeliveryQuery, type Outbox, type OutboxRow } from "../outbox.ts";
import { MAX_BATCH } from "../sessions.ts";
import { markDelivered, OUTBOX, type StoredOutboxRow } from "./outbox-rows.ts";
import { requireSession } from "./session-rows.ts";
import type { MemoryTables, Rows } from "./tables.ts";

export function memoryOutbox(tables: MemoryTables, env: Env, held: Set<string>): Outbox {
  return {
    add: (ref, { key, draft, since }) =>
      tables.run((rows) => {
        if (since !== undefined) checkCursor(since, "since");
        checkId(key, "outbox key");
        requireSession(rows, ref);
        if (rows.get(OUTBOX, ref.session, key) !== undefined) return "already";
        const now = env.now();
        rows.put(OUTBOX, ref.session, key, {
          tenant: ref.tenant,
          session: ref.session,
          id: rows.next("outbox"),
          key,
          draft: JSON.stringify(draft),
          since: since ?? null,
          attempts: 0,
          createdAt: now,
          nextAttemptAt: now,
          deliveredAt: null,
          cursor: null,
        });
        return "added";
      }),
    pending: (query) =>
      tables.run((rows) => {
        const { limit, createdBy } = read(query, env);
        return undelivered(rows)
          .filter((row) => row.createdAt <= createdBy)
          .slice(0, limit)
          .map(outboxRowOf);
      }),
    async deliver(query, append) {
      const { limit, createdBy } = read(query, env);
      let delivered = 0;
      let failed = 0;
      while (delivered + failed < limit) {
        const row = await tables.run((rows) => firstDue(rows, createdBy, env.now(), held));
        if (row === null) break;
        try {
          const cursor = await appended(row, append);
          await tables.run((rows) => settle(rows, row, cursor, env.now()));
          if (cursor === null) failed += 1;
          else delivered += 1;
        } finally {
          held.delete(row.session);
        }
      }
      return { delivered, failed };
    },
    delivered: async (ref, key, cursor) => {
      checkCursor(cursor, "cursor");
      return tables.run((rows) => markDelivered(rows, ref, key, cursor, env.now()));
    },
    prune: ({ olderThanMs, limit }) =>
      tables.run((rows) => {
        const before = env.now() - checkCount(olderThanMs, "olderThanMs");
        const old = rows
          .all(OUTBOX)
          .filter((row) => row.deliveredAt !== null && row.deliveredAt <= before)
          .toSorted((a, b) => (a.deliveredAt ?? 0) - (b.deliveredAt ?? 0))
          .slice(0, checkLimit(limit, MAX_BATCH));
        for (const row of old) rows.remove(OUTBOX, row.session, row.key);
        return old.length;
      }),
  };
}

function read(query: DeliveryQuery, env: Env) {
  const createdBy = env.now() - checkCount(query.olderThanMs, "olderThanMs");
  return { limit: checkLimit(query.limit, MAX_BATCH), createdBy };
}

function undelivered(rows: Rows): StoredOutboxRow[] {
  return rows
    .all(OUTBOX)
    .filter((row) => row.deliveredAt === null)
    .toSorted((a, b) => a.id - b.id);
}

function outboxRowOf(stored: StoredOutboxRow): OutboxRow {
  const { draft, nextAttemptAt: _n, deliveredAt: _d, cursor: _c, ...row } = stored;
  return { ...row, draft: JSON.parse(draft) as EventDraft };
}

/** The first undelivered row of a session that nobody holds; holds that session. */
function firstDue(rows: Rows, createdBy: number, now: number, held: Set<string>): OutboxRow | null {
  const seen = new Set(held);
  for (const row of undelivered(rows)) {
    if (seen.has(row.session)) continue;
    seen.add(row.session);
    if (row.nextAttemptAt > now || row.createdAt > createdBy) continue;
    held.add(row.session);
    return outboxRowOf(row);
  }
  return null;
}

async function appended(row: OutboxRow, append: (row: OutboxRow) => Promise<string>): Promise<string | null> {
  try {
    const cursor = await append(row);
    checkCursor(cursor, "cursor");
    return cursor;
  } catch {
    return null;
  }
}

function settle(rows: Rows, row: OutboxRow, cursor: string | null, now: number): void {
  if (cursor !== null) {
    markDelivered(rows, row, row.key, cursor, now);
    return;
  }
  const stored = rows.get(OUTBOX, row.session, row.key);
  if (stored === undefined) return;
  const attempts = row.attempts + 1;
  rows.put(OUTBOX, row.session, row.key, { ...stored, attempts, nextAttemptAt: now + backoffMs(attempts) });
}
