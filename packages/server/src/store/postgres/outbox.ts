/** The outbox on PostgreSQL. Which sessions a relay takes is in outbox-take.ts. */
import { sql } from "kysely";
import { checkCount, checkCursor, checkLimit } from "../rules/arguments.ts";
import { backoffMs, type Outbox } from "../ports/outbox.ts";
import { checkOutboxRow, sinceOf } from "../rules/outbox-check.ts";
import type { Ref } from "../refs.ts";
import { MAX_BATCH } from "../ports/sessions.ts";
import type { Db } from "./database.ts";
import { outboxRowOf, outboxRows } from "./outbox-rows.ts";
import { takeSessions } from "./outbox-take.ts";
import { ago, clock, clockPlus, inTransaction, lockSession } from "./session-row.ts";

export function postgresOutbox(db: Db): Outbox {
  const rowsOf = (ref: Ref) =>
    outboxRows(db).where("tenant_id", "=", ref.tenant).where("session_id", "=", ref.session);
  return {
    add: (ref, row) =>
      inTransaction(db, async (tx) => {
        const draft = checkOutboxRow(row);
        // Numbers are drawn with the lock held: a row with a higher one is never visible before this one.
        const { archived_epoch: epoch, archived_seq: seq } = await lockSession(tx, ref);
        const since = sinceOf(row.since, { epoch, seq });
        const { numInsertedOrUpdatedRows } = await tx
          .insertInto("outbox")
          .values({
            session_id: ref.session,
            key: row.key,
            draft,
            since_epoch: since.epoch,
            since_seq: since.seq,
          })
          .onConflict((oc) => oc.columns(["session_id", "key"]).doNothing())
          .executeTakeFirst();
        return numInsertedOrUpdatedRows === 1n ? "added" : "already";
      }),
    async undelivered(ref, limit) {
      const rows = await rowsOf(ref)
        .where("delivered_at", "is", null)
        .orderBy("outbox.id")
        .limit(checkLimit(limit, MAX_BATCH))
        .execute();
      return rows.map(outboxRowOf);
    },
    async isUndelivered(ref, key) {
      const row = await rowsOf(ref)
        .where("key", "=", key)
        .where("delivered_at", "is", null)
        .executeTakeFirst();
      return row !== undefined;
    },
    take: (query) => takeSessions(db, query),
    async delivered(ref, key, cursor) {
      const { epoch, seq } = checkCursor(cursor, "cursor");
      const { numUpdatedRows } = await changeRows(db, ref)
        .set({ delivered_at: clock, cursor_epoch: epoch, cursor_seq: seq })
        .where("key", "=", key)
        .where("delivered_at", "is", null)
        .executeTakeFirst();
      return numUpdatedRows === 1n;
    },
    postpone: (ref) =>
      inTransaction(db, async (tx) => {
        const [first] = await outboxRows(tx)
          .where("tenant_id", "=", ref.tenant)
          .where("session_id", "=", ref.session)
          .where("delivered_at", "is", null)
          .orderBy("outbox.id")
          .limit(1)
          .execute();
        if (first === undefined) return;
        const attempts = first.attempts + 1;
        // The rows behind it wait as well; put off with it, they don't have to be passed over on every look.
        await changeRows(tx, ref)
          .set({ next_attempt_at: clockPlus(backoffMs(attempts)) })
          .where("delivered_at", "is", null)
          .execute();
        await tx.updateTable("outbox").set({ attempts }).where("id", "=", first.id).execute();
      }),
    async reopen(ref) {
      const { numUpdatedRows } = await reopened(db, ref).executeTakeFirst();
      return Number(numUpdatedRows);
    },
    async pending({ limit, olderThanMs }) {
      const rows = await outboxRows(db)
        .where("delivered_at", "is", null)
        .where("outbox.created_at", "<=", ago(checkCount(olderThanMs, "olderThanMs")))
        .orderBy("outbox.id")
        .limit(checkLimit(limit, MAX_BATCH))
        .execute();
      return rows.map(outboxRowOf);
    },
    async prune({ olderThanMs, limit }) {
      const old = db
        .selectFrom("outbox")
        .select("id")
        .where("archived_at", "<=", ago(checkCount(olderThanMs, "olderThanMs")))
        .orderBy("archived_at")
        .limit(checkLimit(limit, MAX_BATCH));
      const { numDeletedRows } = await db.deleteFrom("outbox").where("id", "in", old).executeTakeFirst();
      return Number(numDeletedRows);
    },
  };
}

function changeRows(db: Db, ref: Ref) {
  return db
    .updateTable("outbox")
    .from("sessions")
    .whereRef("sessions.id", "=", "outbox.session_id")
    .where("tenant_id", "=", ref.tenant)
    .where("session_id", "=", ref.session);
}

/** Delivered, but not archived: due again. */
export function reopened(db: Db, ref: Ref) {
  return changeRows(db, ref)
    .set({
      delivered_at: null,
      cursor_epoch: null,
      cursor_seq: null,
      next_attempt_at: sql<Date>`clock_timestamp()`,
    })
    .where("delivered_at", "is not", null)
    .where("archived_at", "is", null);
}
