/**
 * The journal on PostgreSQL. A write is one statement: it locks the session, compares its epoch and adds the entry.
 * The lock is the one that archiving takes too, so that both fit into one transaction in any order.
 */
import { sql } from "kysely";
import { StoreError } from "../errors.ts";
import type { Journal, NewJournalEntry } from "../ports/journal.ts";
import type { Ref } from "../refs.ts";
import { checkJournalEntry, checkKeptTurns } from "../rules/running.ts";
import type { Db } from "./database.ts";
import { holding, isTenants, noSession } from "./session-row.ts";

export function postgresJournal(db: Db): Journal {
  const rowsOf = (ref: Ref) =>
    db.selectFrom("turn_journal").where("session_id", "=", ref.session).where(isTenants(ref)).orderBy("n");
  return {
    write: (ref, entry) => write(db, ref, entry),
    read: (ref, turn) => rowsOf(ref).select(["key", "value"]).where("turn", "=", turn).execute(),
    kept: (ref, turns) =>
      rowsOf(ref)
        .select(["turn", "key", "value"])
        .where("turn", "=", sql<string>`any(${[...checkKeptTurns(turns)]}::text[])`)
        .where("kept", "=", true)
        .execute(),
    async close(ref, turn) {
      const { numDeletedRows } = await holding(db, ref)
        .deleteFrom("turn_journal")
        .using("held")
        .whereRef("session_id", "=", "held.id")
        .where("turn", "=", turn)
        .where("kept", "=", false)
        .executeTakeFirst();
      return Number(numDeletedRows);
    },
  };
}

async function write(db: Db, ref: Ref, entry: NewJournalEntry): Promise<"written" | "already"> {
  const value = checkJournalEntry(entry);
  const { turn, key, epoch, kept = false } = entry;
  const row = await db
    .with(
      (cte) => cte("held").materialized(),
      (qb) =>
        qb
          .selectFrom("sessions")
          .select(["id", "epoch"])
          .where("id", "=", ref.session)
          .where("tenant_id", "=", ref.tenant)
          // Whoever had to wait for it sees the epoch as it is then, not as it was when the statement began.
          .forNoKeyUpdate(),
    )
    .with("added", (qb) =>
      qb
        .insertInto("turn_journal")
        .columns(["session_id", "turn", "key", "value", "kept"])
        .expression((eb) =>
          eb
            .selectFrom("held")
            .select([
              "id",
              sql<string>`${turn}::text`.as("turn"),
              sql<string>`${key}::text`.as("key"),
              sql<string>`${value}::json`.as("value"),
              sql<boolean>`${kept}::boolean`.as("kept"),
            ])
            .where("epoch", "<=", epoch),
        )
        .onConflict((oc) => oc.columns(["session_id", "turn", "key"]).doNothing())
        .returning("key"),
    )
    .selectFrom("held")
    .leftJoin("added", (join) => join.onTrue())
    .select(["held.epoch", "added.key"])
    .executeTakeFirst();
  if (row === undefined) throw noSession(ref);
  if (row.epoch > epoch) throw new StoreError("FENCED", `session ${ref.session}, epoch ${epoch}`);
  return row.key === null ? "already" : "written";
}
