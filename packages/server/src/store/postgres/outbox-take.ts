/**
 * Which sessions a relay takes: those whose first undelivered row is due and with nobody else. Taking puts the row
 * off for the time of the lease; no lock outlives the statement.
 */
import { sql } from "kysely";
import { checkCount, checkLimit } from "../rules/arguments.ts";
import type { TakeQuery } from "../ports/outbox.ts";
import type { Ref } from "../refs.ts";
import { MAX_BATCH } from "../ports/sessions.ts";
import type { Db } from "./database.ts";
import { ago, clockPlus } from "./session-row.ts";

export async function takeSessions(db: Db, { limit, olderThanMs, leaseMs }: TakeQuery): Promise<Ref[]> {
  const first = db
    .selectFrom("outbox")
    .select("outbox.id")
    .where("delivered_at", "is", null)
    .where("next_attempt_at", "<=", ago(0))
    .where("outbox.created_at", "<=", ago(checkCount(olderThanMs, "olderThanMs")))
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
    .limit(checkLimit(limit, MAX_BATCH))
    .forUpdate()
    .skipLocked();
  const rows = await db
    .with("first", () => first)
    .updateTable("outbox")
    .from("sessions")
    .set({ next_attempt_at: clockPlus(checkCount(leaseMs, "leaseMs")) })
    .whereRef("sessions.id", "=", "outbox.session_id")
    .where("outbox.id", "in", sql<number>`(select id from first)`)
    .returning(["sessions.tenant_id", "outbox.session_id"])
    .execute();
  return rows.map((row) => ({ tenant: row.tenant_id, session: row.session_id }));
}
