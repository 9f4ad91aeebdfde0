/**
 * `Tickets` is the part of the store for single-use tickets, and `postgresTickets` its implementation.
 *
 * Invariant: a ticket is redeemed once, by the caller that inserts its row, so the row must outlive the ticket.
 */
import { sql } from "kysely";
import type { Db } from "./database/database.ts";
import { deleteOldest } from "./database/delete-oldest.ts";
import { ago } from "./database/session-row.ts";
import { existingTenant } from "./database/tenant-row.ts";
import { checkTime } from "./rules/arguments.ts";

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
      const isOld = sql`expires_at < ${ago(TICKET_GRACE_MS)}`;
      return deleteOldest(db, "redeemed_tickets", {
        key: ["tenant_id", "id"],
        isOld,
        by: sql`expires_at`,
        limit,
      });
    },
  };
}
