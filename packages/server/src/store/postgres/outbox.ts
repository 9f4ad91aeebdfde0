/** The outbox on PostgreSQL: adding, marking and pruning rows. Relaying them is in outbox-relay.ts. */
import type { Cursor } from "@turnstream/protocol";
import { checkCount, checkCursor, checkId, checkLimit } from "../check.ts";
import type { Outbox } from "../outbox.ts";
import { MAX_BATCH } from "../sessions.ts";
import type { Db } from "./database.ts";
import { relay } from "./outbox-relay.ts";
import { outboxRowOf, outboxRows } from "./outbox-rows.ts";
import { ago, clock, inTransaction, lockSession } from "./session-row.ts";

export function postgresOutbox(db: Db): Outbox {
  return {
    add: (ref, { key, draft, since }) =>
      inTransaction(db, async (tx) => {
        const after = since === undefined ? null : checkCursor(since, "since");
        // Numbers are drawn with the lock held: a row with a higher one is never visible before this one.
        await lockSession(tx, ref);
        const { numInsertedOrUpdatedRows } = await tx
          .insertInto("outbox")
          .values({
            session_id: ref.session,
            key: checkId(key, "outbox key"),
            draft: JSON.stringify(draft),
            since_epoch: after?.epoch ?? null,
            since_seq: after?.seq ?? null,
          })
          .onConflict((oc) => oc.columns(["session_id", "key"]).doNothing())
          .executeTakeFirst();
        return numInsertedOrUpdatedRows === 1n ? "added" : "already";
      }),
    async pending({ limit, olderThanMs }) {
      const rows = await outboxRows(db)
        .where("delivered_at", "is", null)
        .where("outbox.created_at", "<=", ago(checkCount(olderThanMs, "olderThanMs")))
        .orderBy("outbox.id")
        .limit(checkLimit(limit, MAX_BATCH))
        .execute();
      return rows.map(outboxRowOf);
    },
    deliver: (query, append) => relay(db, query, append),
    delivered: (ref, key, cursor) => markRow(db, ref, key, cursor),
    async prune({ olderThanMs, limit }) {
      const old = db
        .selectFrom("outbox")
        .select("id")
        .where("delivered_at", "<=", ago(checkCount(olderThanMs, "olderThanMs")))
        .orderBy("delivered_at")
        .limit(checkLimit(limit, MAX_BATCH));
      const { numDeletedRows } = await db.deleteFrom("outbox").where("id", "in", old).executeTakeFirst();
      return Number(numDeletedRows);
    },
  };
}

async function markRow(db: Db, ref: { tenant: string; session: string }, key: string, cursor: Cursor) {
  const { epoch, seq } = checkCursor(cursor, "cursor");
  const { numUpdatedRows } = await db
    .updateTable("outbox")
    .from("sessions")
    .set({ delivered_at: clock, cursor_epoch: epoch, cursor_seq: seq })
    .whereRef("sessions.id", "=", "outbox.session_id")
    .where("tenant_id", "=", ref.tenant)
    .where("session_id", "=", ref.session)
    .where("key", "=", key)
    .where("delivered_at", "is", null)
    .executeTakeFirst();
  return numUpdatedRows === 1n;
}
