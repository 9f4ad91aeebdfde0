/** Redeemed tickets on PostgreSQL. */
import { sql } from "kysely";
import { MAX_BATCH } from "../ports/sessions.ts";
import { TICKET_GRACE_MS, type Tickets } from "../ports/tickets.ts";
import { checkLimit, checkTime } from "../rules/arguments.ts";
import type { Db } from "./database.ts";
import { ago } from "./session-row.ts";

export function postgresTickets(db: Db): Tickets {
  return {
    async redeem(tenant, id, expiresAt) {
      const expires_at = new Date(checkTime(expiresAt, "expiresAt"));
      const { numInsertedOrUpdatedRows } = await db
        .insertInto("redeemed_tickets")
        .values({ tenant_id: tenant, id, expires_at })
        .onConflict((conflict) => conflict.doNothing())
        .executeTakeFirst();
      return numInsertedOrUpdatedRows === 1n;
    },
    async sweep(limit) {
      const most = checkLimit(limit, MAX_BATCH);
      const { numAffectedRows } = await sql`
        delete from redeemed_tickets where (tenant_id, id) in (
          select tenant_id, id from redeemed_tickets where expires_at < ${ago(TICKET_GRACE_MS)}
          order by expires_at limit ${most} for update skip locked)`.execute(db);
      return Number(numAffectedRows ?? 0n);
    },
  };
}
