/** What gateways have sent, on PostgreSQL: each notice once, with what became of it. Never moves an order. */
import type { Selectable } from "kysely";
import { checkDuration } from "../rules/arguments.ts";
import { checkPage } from "../rules/ledger-arguments.ts";
import type { ApplyResult, Notice, Order, OrderMove } from "../ports/payments.ts";
import type { Ref } from "../refs.ts";
import type { Db } from "./database.ts";
import type { LedgerTables } from "./schema-ledger.ts";
import { ago } from "./session-row.ts";

type Sent = NonNullable<OrderMove["notice"]>;

/** False when it was dealt with before. One whose order wasn't there yet was not. */
export async function keepNotice(tx: Db, tenant: string, orderNo: string, sent: Sent): Promise<boolean> {
  const row = await tx
    .insertInto("payment_notices")
    .values({
      tenant_id: tenant,
      gateway: sent.gateway,
      event_id: sent.event,
      order_no: orderNo,
      session_id: null,
      outcome: "unknown",
      body: JSON.stringify(sent.body),
    })
    // The update changes nothing; it is how a row that is there is returned, unless it was dealt with.
    .onConflict((conflict) =>
      conflict
        .columns(["tenant_id", "gateway", "event_id"])
        .doUpdateSet({ outcome: "unknown" })
        .where("payment_notices.outcome", "=", "unknown")
        .where("payment_notices.order_no", "=", orderNo),
    )
    .returning("event_id")
    .executeTakeFirst();
  return row !== undefined;
}

export async function settleNotice(
  tx: Db,
  order: Order,
  sent: Sent,
  outcome: ApplyResult["outcome"],
): Promise<void> {
  await tx
    .updateTable("payment_notices")
    .set({ outcome, session_id: order.session })
    .where("tenant_id", "=", order.tenant)
    .where("gateway", "=", sent.gateway)
    .where("event_id", "=", sent.event)
    .execute();
}

/** Those that came before their order now go with its session. */
export async function claimNotices(tx: Db, ref: Ref, orderNo: string): Promise<Notice[]> {
  const rows = await tx
    .updateTable("payment_notices")
    .set({ session_id: ref.session })
    .where("tenant_id", "=", ref.tenant)
    .where("order_no", "=", orderNo)
    .where("session_id", "is", null)
    .returningAll()
    .execute();
  return rows.map(noticeOf).toSorted((a, b) => a.receivedAt - b.receivedAt);
}

export async function noticesOf(db: Db, { tenant, session }: Ref, orderNo: string): Promise<Notice[]> {
  const rows = await db
    .selectFrom("payment_notices")
    .selectAll()
    .where("tenant_id", "=", tenant)
    .where("order_no", "=", orderNo)
    .where("session_id", "=", session)
    .orderBy("received_at", "desc")
    .limit(1000)
    .execute();
  return rows.toReversed().map(noticeOf);
}

export async function pruneNotices(
  db: Db,
  { olderThanMs, limit }: { readonly olderThanMs: number; readonly limit: number },
): Promise<number> {
  const { numDeletedRows } = await db
    .deleteFrom("payment_notices")
    .where((eb) =>
      eb(
        eb.refTuple("tenant_id", "gateway", "event_id"),
        "in",
        eb
          .selectFrom("payment_notices")
          .select(["tenant_id", "gateway", "event_id"])
          .where("session_id", "is", null)
          .where("received_at", "<=", ago(checkDuration(olderThanMs, "olderThanMs")))
          .orderBy("received_at")
          .limit(checkPage(limit))
          .$asTuple("tenant_id", "gateway", "event_id"),
      ),
    )
    .executeTakeFirst();
  return Number(numDeletedRows);
}

function noticeOf(row: Selectable<LedgerTables["payment_notices"]>): Notice {
  return {
    gateway: row.gateway,
    event: row.event_id,
    orderNo: row.order_no,
    outcome: row.outcome as ApplyResult["outcome"],
    body: row.body,
    receivedAt: row.received_at,
  };
}
