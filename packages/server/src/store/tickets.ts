/**
 * `Tickets` is the part of the store for single-use tickets, and `postgresTickets` its implementation.
 *
 * Invariant: a ticket is redeemed once, by the caller that inserts its row, so the row must outlive the ticket.
 */
import { sql } from "kysely";
import type { Db } from "./database/database.ts";
import { ago } from "./database/session-row.ts";
import { existingTenant } from "./database/tenant-row.ts";
import { checkTime, checkLimit, MAX_BATCH } from "./rules/arguments.ts";

/**
 * The part of the store for redeemed tickets: each ticket opens one connection. It does not see the permissions of a ticket. They
 * are signed, and the process that redeems the ticket reads them.
 */
export interface Tickets {
  /**
   * Redeems a ticket. Returns false if it was redeemed before.
   * @param expiresAt milliseconds since 1970. The caller has checked that it is not past.
   * @throws StoreError with NOT_FOUND if the tenant does not exist.
   */
  redeem(tenant: string, id: string, expiresAt: number): Promise<boolean>;
  /**
   * Deletes tickets that expired more than `TICKET_GRACE_MS` ago.
   * @returns how many, at most `limit`
   */
  sweep(limit: number): Promise<number>;
}

/** Longer than any expected clock difference. A ticket that is deleted too early could be redeemed again. */
export const TICKET_GRACE_MS = 60 * 60 * 1_000;

export function postgresTickets(db: Db): Tickets {
  return {
    async redeem(tenant, id, expiresAt) {
      const expires_at = new Date(checkTime(expiresAt, "expiresAt"));
      const { numInsertedOrUpdatedRows } = await db
        .insertInto("redeemed_tickets")
        .values({ tenant_id: existingTenant(tenant), id, expires_at })
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
