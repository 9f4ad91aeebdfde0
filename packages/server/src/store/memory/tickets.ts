/** Redeemed tickets in memory. */
import type { Env } from "../../util/env.ts";
import { MAX_BATCH } from "../ports/sessions.ts";
import { TICKET_GRACE_MS, type Tickets } from "../ports/tickets.ts";
import { checkLimit, checkTime } from "../rules/arguments.ts";
import { requireTenant } from "./ledger-rows.ts";
import { type MemoryTables, table } from "./tables.ts";

interface TicketRow {
  readonly tenant: string;
  readonly id: string;
  readonly expiresAt: number;
}

const TICKETS = table<TicketRow>("redeemed_tickets", "tenant");

export function memoryTickets(tables: MemoryTables, env: Env): Tickets {
  return {
    redeem: (tenant, id, expiresAt) =>
      tables.run((rows) => {
        checkTime(expiresAt, "expiresAt");
        requireTenant(rows, tenant);
        if (rows.get(TICKETS, tenant, id) !== undefined) return false;
        rows.put(TICKETS, tenant, id, { tenant, id, expiresAt });
        return true;
      }),
    sweep: (limit) =>
      tables.run((rows) => {
        const before = env.now() - TICKET_GRACE_MS;
        const old = rows.all(TICKETS).filter((row) => row.expiresAt < before);
        const gone = old.slice(0, checkLimit(limit, MAX_BATCH));
        for (const { tenant, id } of gone) rows.remove(TICKETS, tenant, id);
        return gone.length;
      }),
  };
}
