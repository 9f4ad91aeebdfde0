/**
 * `postgresOutbox` implements the outbox on PostgreSQL.
 *
 * Invariant: rows of a session get their ids with the session locked, so the order of ids is the order of commits.
 * `take` leases a session by its first undelivered row, and no lock outlives the statement.
 */
import { type SelectQueryBuilder, sql } from "kysely";
import { formatCursor } from "@turnstream/protocol";
import { backoffMs, type Outbox, type OutboxRow, type TakeQuery } from "../ports/archive.ts";
import { MAX_BATCH } from "../ports/sessions.ts";
import { sessionKey, type SessionRef } from "../../util/refs.ts";
import { checkOutboxRow } from "../rules/archive.ts";
import { checkCount, checkCursor, checkDuration, checkLimit } from "../rules/arguments.ts";
import type { Database, Db } from "./database.ts";
import { ago, clock, clockPlus, inTransaction, ofSession, sessionNotFound } from "./session-row.ts";

/** Before every position. */
const START = { epoch: 0, seq: 0 };

export function postgresOutbox(db: Db): Outbox {
  const rowsOf = (ref: SessionRef) => ofSession(outboxRows(db), ref);
  return {
    async add(ref, row) {
      const draft = checkOutboxRow(row);
      const since = row.since === undefined ? START : checkCursor(row.since, "since");
      const dueIn = checkDuration(row.relayAfterMs ?? 0, "relayAfterMs");
      // One statement, so that a single row needs no transaction. The id is assigned under the lock: no row with a higher
      // id is visible before this one.
      const { rows } = await sql<{ is_added: boolean }>`
        with held as materialized (
          select tenant_id, id, archived_epoch, archived_seq,
            (archived_epoch, archived_seq) < (${since.epoch}::bigint, ${since.seq}::bigint) as is_later
          from sessions where tenant_id = ${ref.tenant} and id = ${ref.session} for no key update
        ), added as (
          insert into outbox (tenant_id, session_id, key, draft, since_epoch, since_seq, next_attempt_at)
          select tenant_id, id, ${row.key}::text, ${draft}::json,
            case when is_later then ${since.epoch}::bigint else archived_epoch end,
            case when is_later then ${since.seq}::bigint else archived_seq end,
            case when ${dueIn} = 0 or exists (select from running_turns r
              where r.tenant_id = held.tenant_id and r.session_id = held.id)
            then clock_timestamp() else ${clockPlus(dueIn)} end
          from held
          on conflict (tenant_id, session_id, key) do nothing
          returning id
        )
        select exists (select from added) as is_added from held`.execute(db);
      const [added] = rows;
      if (added === undefined) throw sessionNotFound(ref);
      return added.is_added ? "added" : "already";
    },
    async undelivered(ref, limit) {
      const rows = await rowsOf(ref)
        .where("delivered_at", "is", null)
        .orderBy("id")
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
    takeUnarchived: (query) => takeUnarchived(db, query),
    async delivered(ref, key, cursor) {
      const { epoch, seq } = checkCursor(cursor, "cursor");
      const { numUpdatedRows } = await ofSession(db.updateTable("outbox"), ref)
        .set({ delivered_at: clock, cursor_epoch: epoch, cursor_seq: seq })
        .where("key", "=", key)
        .where("delivered_at", "is", null)
        .executeTakeFirst();
      return numUpdatedRows === 1n;
    },
    postpone: (ref) =>
      inTransaction(db, async (tx) => {
        const [first] = await ofSession(outboxRows(tx), ref)
          .where("delivered_at", "is", null)
          .orderBy("id")
          .limit(1)
          .execute();
        if (first === undefined) return;
        const attempts = first.attempts + 1;
        // Later rows wait for the first one anyway. Delaying them too keeps `takeSessions` from scanning them each
        // time.
        await ofSession(tx.updateTable("outbox"), ref)
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
        .where("created_at", "<=", ago(checkCount(olderThanMs, "olderThanMs")))
        .where((eb) => eb.or([eb("attempts", ">", 0), eb("next_attempt_at", "<=", ago(0))]))
        .orderBy("id")
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

/** Makes rows due again that were delivered but not archived. */
export function reopened(db: Pick<Db, "updateTable">, ref: SessionRef) {
  return ofSession(db.updateTable("outbox"), ref)
    .set({
      delivered_at: null,
      cursor_epoch: null,
      cursor_seq: null,
      next_attempt_at: sql<Date>`clock_timestamp()`,
    })
    .where("delivered_at", "is not", null)
    .where("archived_at", "is", null);
}

function outboxRows(db: Db) {
  return db
    .selectFrom("outbox")
    .select([
      "id",
      "tenant_id",
      "session_id",
      "key",
      "draft",
      "since_epoch",
      "since_seq",
      "attempts",
      "created_at",
    ]);
}

type Row = Awaited<ReturnType<ReturnType<typeof outboxRows>["execute"]>>[number];

function outboxRowOf(row: Row): OutboxRow {
  return {
    id: row.id,
    tenant: row.tenant_id,
    session: row.session_id,
    key: row.key,
    draft: row.draft,
    since: formatCursor({ epoch: row.since_epoch, seq: row.since_seq }),
    attempts: row.attempts,
    createdAt: row.created_at,
  };
}

/**
 * Leases sessions whose first undelivered row is due and not leased. It delays the row by the length of the lease, so
 * no lock outlives the statement.
 */
async function takeSessions(db: Db, { limit, olderThanMs, leaseMs }: TakeQuery): Promise<SessionRef[]> {
  const first = db
    .selectFrom("outbox")
    .select("id")
    .where("delivered_at", "is", null)
    .where("next_attempt_at", "<=", ago(0))
    .where("created_at", "<=", ago(checkCount(olderThanMs, "olderThanMs")))
    .where((eb) =>
      eb.not(
        eb.exists(
          eb
            .selectFrom("outbox as earlier")
            .select("earlier.id")
            .whereRef("earlier.tenant_id", "=", "outbox.tenant_id")
            .whereRef("earlier.session_id", "=", "outbox.session_id")
            .whereRef("earlier.id", "<", "outbox.id")
            .where("earlier.delivered_at", "is", null),
        ),
      ),
    )
    .orderBy("next_attempt_at")
    .orderBy("id")
    .limit(checkLimit(limit, MAX_BATCH))
    .forUpdate()
    .skipLocked();
  return lease(db, first, leaseMs);
}

/** Moves the next attempt at the chosen rows. @returns their sessions */
async function lease(
  db: Db,
  chosen: SelectQueryBuilder<Database, "outbox", { id: number }>,
  leaseMs: number,
): Promise<SessionRef[]> {
  const rows = await db
    .with("chosen", () => chosen)
    .updateTable("outbox")
    .set({ next_attempt_at: clockPlus(checkCount(leaseMs, "leaseMs")) })
    .where("id", "in", sql<number>`(select id from chosen)`)
    .returning(["tenant_id", "session_id"])
    .execute();
  return rows.map((row) => ({ tenant: row.tenant_id, session: row.session_id }));
}

/** Leases by the time of the next attempt, which a delivered row doesn't use otherwise. */
async function takeUnarchived(db: Db, { limit, olderThanMs, leaseMs }: TakeQuery): Promise<SessionRef[]> {
  const due = db
    .selectFrom("outbox")
    .select("id")
    .where("delivered_at", "<=", ago(checkCount(olderThanMs, "olderThanMs")))
    // Literals instead of parameters, so that the planner can use the partial index.
    .where(sql<boolean>`delivered_at is not null and archived_at is null`)
    .where("next_attempt_at", "<=", ago(0))
    .orderBy("delivered_at")
    .limit(checkLimit(limit, MAX_BATCH))
    .forUpdate()
    .skipLocked();
  const refs = await lease(db, due, leaseMs);
  return [...new Map(refs.map((ref) => [sessionKey(ref), ref])).values()];
}
