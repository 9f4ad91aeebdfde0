/**
 * `postgresJournal` implements the journal on PostgreSQL.
 *
 * Invariant: a journal write is one statement that locks the session, compares its epoch and adds the entries. Archiving
 * takes the same lock, so both fit into one transaction in any order.
 */
import { sql } from "kysely";
import type { Journal } from "../ports/running.ts";
import type { SessionRef } from "../../util/refs.ts";
import { checkRetainedTurns, checkShortened } from "../rules/running.ts";
import { periodOf } from "./archive-periods.ts";
import type { Db } from "./database.ts";
import { withSessionLock, ofSession } from "./session-row.ts";
import { writeJournal } from "./write-archive.ts";

export function postgresJournal(db: Db): Journal {
  const rowsOf = (ref: SessionRef) =>
    ofSession(db.selectFrom("turn_journal"), ref).where("period", "=", periodOf(ref)).orderBy("n");
  return {
    write: async (ref, ...entries) => ((await writeJournal(db, ref, entries)) > 0 ? "written" : "already"),
    read: (ref, turn) => rowsOf(ref).select(["key", "value"]).where("turn", "=", turn).execute(),
    retained: (ref, turns) =>
      rowsOf(ref)
        .select(["turn", "key", "value"])
        .where("turn", "=", sql<string>`any(${[...checkRetainedTurns(turns)]}::text[])`)
        .where("kept", "=", true)
        .execute(),
    async close(ref, turn, shortened = []) {
      const entries = checkShortened(shortened);
      const { numDeletedRows } = await withSessionLock(db, ref)
        .with("shortened", (qb) =>
          qb
            .updateTable("turn_journal")
            .from(
              sql<{ key: string; value: string }>`unnest(
                ${entries.map(({ key }) => key)}::text[], ${entries.map(({ value }) => value)}::json[]
              )`.as<"short">(sql`short(key, value)`),
            )
            .from("held")
            .set((eb) => ({ value: eb.ref("short.value") }))
            .whereRef("turn_journal.tenant_id", "=", "held.tenant_id")
            .whereRef("turn_journal.session_id", "=", "held.id")
            .where("period", "=", periodOf(ref))
            .where("turn", "=", turn)
            .where("kept", "=", true)
            .whereRef("turn_journal.key", "=", "short.key"),
        )
        .deleteFrom("turn_journal")
        .using("held")
        .whereRef("turn_journal.tenant_id", "=", "held.tenant_id")
        .whereRef("turn_journal.session_id", "=", "held.id")
        .where("period", "=", periodOf(ref))
        .where("turn", "=", turn)
        .where("kept", "=", false)
        .executeTakeFirst();
      return Number(numDeletedRows);
    },
  };
}
