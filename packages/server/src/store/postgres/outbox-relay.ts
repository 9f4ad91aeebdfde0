/**
 * How relays share the outbox: each takes the first undelivered row of some sessions, locked against the
 * others, and the next row of a session can be taken only after the first is marked.
 * Never appends anything itself.
 */
import type { Cursor } from "@turnstream/protocol";
import { checkCount, checkCursor, checkLimit } from "../check.ts";
import { backoffMs, type Delivered, type DeliveryQuery, type OutboxRow } from "../outbox.ts";
import { MAX_BATCH } from "../sessions.ts";
import type { Db } from "./database.ts";
import { outboxRowOf, outboxRows } from "./outbox-rows.ts";
import { ago, clock, clockPlus, inTransaction } from "./session-row.ts";

/** Sessions per transaction: their rows are held while they are appended, so few enough to be done soon. */
const AT_ONCE = 20;

type Append = (row: OutboxRow) => Promise<Cursor>;

export async function relay(db: Db, query: DeliveryQuery, append: Append): Promise<Delivered> {
  const limit = checkLimit(query.limit, MAX_BATCH);
  const olderThanMs = checkCount(query.olderThanMs, "olderThanMs");
  let delivered = 0;
  let failed = 0;
  while (delivered + failed < limit) {
    const take = Math.min(AT_ONCE, limit - delivered - failed);
    const batch = await inTransaction(db, async (tx) => {
      const rows = (await firstRows(tx, take, olderThanMs).execute()).map(outboxRowOf);
      return { taken: rows.length, delivered: await deliverAll(tx, rows, append) };
    });
    if (batch.taken === 0) break;
    delivered += batch.delivered;
    failed += batch.taken - batch.delivered;
  }
  return { delivered, failed };
}

/** The first undelivered row of each session, of those that are due and with nobody else. */
function firstRows(tx: Db, limit: number, olderThanMs: number) {
  return outboxRows(tx)
    .where("delivered_at", "is", null)
    .where("next_attempt_at", "<=", ago(0))
    .where("outbox.created_at", "<=", ago(olderThanMs))
    .where((eb) =>
      eb.not(
        eb.exists(
          eb
            .selectFrom("outbox as earlier")
            .select("earlier.id")
            .whereRef("earlier.session_id", "=", "outbox.session_id")
            .whereRef("earlier.id", "<", "outbox.id")
            .where("earlier.delivered_at", "is", null),
        ),
      ),
    )
    .orderBy("next_attempt_at")
    .orderBy("outbox.id")
    .limit(limit)
    .forUpdate("outbox")
    .skipLocked();
}

async function deliverAll(tx: Db, rows: readonly OutboxRow[], append: Append): Promise<number> {
  let delivered = 0;
  for (const row of rows) {
    const at = await appended(row, append);
    if (at === null) await postpone(tx, row);
    else {
      await tx
        .updateTable("outbox")
        .set({ delivered_at: clock, cursor_epoch: at.epoch, cursor_seq: at.seq })
        .where("id", "=", row.id)
        .execute();
      delivered += 1;
    }
  }
  return delivered;
}

/** Null when the append failed: its caller knows why and says so; here it only counts. */
async function appended(row: OutboxRow, append: Append) {
  try {
    return checkCursor(await append(row), "cursor");
  } catch {
    return null;
  }
}

/** The rows behind it wait as well; put off with it, they don't have to be passed over on every look. */
async function postpone(tx: Db, row: OutboxRow): Promise<void> {
  await tx
    .updateTable("outbox")
    .set({ next_attempt_at: clockPlus(backoffMs(row.attempts + 1)) })
    .where("session_id", "=", row.session)
    .where("delivered_at", "is", null)
    .execute();
  await tx
    .updateTable("outbox")
    .set({ attempts: row.attempts + 1 })
    .where("id", "=", row.id)
    .execute();
}
