/**
 * `postgresPayments` implements orders and payment notices on PostgreSQL.
 *
 * Invariant: all work on one order number runs one at a time. An advisory lock does this, because a notice may arrive
 * before its order's row exists. Order, interaction and notice change in one transaction.
 */
import { type Selectable, sql } from "kysely";
import type { Json } from "@turnstream/protocol";
import { StoreError } from "../errors.ts";
import type { InteractionChange } from "../ports/interactions.ts";
import type {
  ApplyResult,
  NewOrder,
  PaymentNotice,
  Order,
  OrderTransition,
  Payments,
} from "../ports/payments.ts";
import type { SessionRef } from "../refs.ts";
import { checkDuration } from "../rules/arguments.ts";
import { checkOrderTransition, checkOrder, checkPage } from "../rules/ledger-arguments.ts";
import { isFinalPayment, resolvePayment, type PaymentStatus } from "../rules/payments.ts";
import type { Db } from "./database.ts";
import { interactionOf } from "./interactions.ts";
import type { LedgerTables } from "./schema-ledger.ts";
import { ago, clock, clockPlus, lockSessionRow, inTransaction } from "./session-row.ts";

export function postgresPayments(db: Db): Payments {
  return {
    async create(ref, order) {
      checkOrder(order);
      return await inTransaction(db, async (tx) => {
        await lockOrderNo(tx, ref.tenant, order.orderNo);
        await lockSessionRow(tx, ref);
        const made = await insert(tx, ref, order);
        if (made === undefined) {
          return { created: false, order: await requireSame(tx, ref, order), early: [] };
        }
        return { created: true, order: orderOf(made), early: await claimNotices(tx, ref, order.orderNo) };
      });
    },

    async apply(tenant, move) {
      checkOrderTransition(move);
      return await inTransaction(db, async (tx) => {
        await lockOrderNo(tx, tenant, move.orderNo);
        const order = await find(tx, tenant, move.orderNo, "held");
        if (move.notice !== undefined && !(await saveNotice(tx, tenant, move.orderNo, move.notice))) {
          return { outcome: "repeated", order };
        }
        const result: ApplyResult = order === null ? { outcome: "unknown" } : await step(tx, order, move);
        if (move.notice !== undefined && order !== null) {
          await resolveNotice(tx, order, move.notice, result.outcome);
        }
        return result;
      });
    },

    async get({ tenant, session }, id) {
      const row = await db
        .selectFrom("payments")
        .selectAll()
        .where("session_id", "=", session)
        .where("id", "=", id)
        .where("tenant_id", "=", tenant)
        .executeTakeFirst();
      return row === undefined ? null : orderOf(row);
    },

    byOrderNo: (tenant, orderNo) => find(db, tenant, orderNo),
    notices: (ref, orderNo) => noticesOf(db, ref, orderNo),

    async stale({ limit, againMs }) {
      const rows = await db
        .with("picked", (with_) =>
          with_
            .selectFrom("payments")
            .select(["session_id", "id"])
            .where("next_check_at", "<=", ago(0))
            .orderBy("next_check_at")
            .limit(checkPage(limit))
            .forUpdate()
            .skipLocked(),
        )
        .updateTable("payments as p")
        .from("picked")
        .set({ next_check_at: clockPlus(checkDuration(againMs, "againMs")) })
        .whereRef("p.session_id", "=", "picked.session_id")
        .whereRef("p.id", "=", "picked.id")
        .returningAll("p")
        .returning(sql<boolean>`coalesce(p.expires_at <= clock_timestamp(), false)`.as("overdue"))
        .execute();
      return rows
        .map((row) => ({ ...orderOf(row), overdue: row.overdue }))
        .toSorted((a, b) => a.createdAt - b.createdAt);
    },

    pruneNotices: (page) => pruneNotices(db, page),
  };
}

async function lockOrderNo(tx: Db, tenant: string, orderNo: string): Promise<void> {
  const name = JSON.stringify(["order", tenant, orderNo]);
  await sql`select pg_advisory_xact_lock(hashtextextended(${name}, 0))`.execute(tx);
}

async function insert(tx: Db, ref: SessionRef, order: NewOrder) {
  const asked = await tx
    .selectFrom("interactions")
    .select(["kind", "status"])
    .where("session_id", "=", ref.session)
    .where("id", "=", order.interaction)
    .executeTakeFirst();
  if (asked === undefined) throw new StoreError("NOT_FOUND", "interaction of the order");
  if (asked.kind !== "payment") throw new StoreError("INVALID", "interaction of the order (not a payment)");
  const made = await tx
    .insertInto("payments")
    .values({
      session_id: ref.session,
      tenant_id: ref.tenant,
      id: order.id,
      interaction_id: order.interaction,
      order_no: order.orderNo,
      amount: order.amount,
      currency: order.currency,
      gateway: order.gateway,
      description: JSON.stringify(order.description),
      expires_at: order.expiresMs === undefined ? null : clockPlus(order.expiresMs),
      next_check_at: clockPlus(order.checkMs),
    })
    .onConflict((conflict) => conflict.doNothing())
    .returningAll()
    .executeTakeFirst();
  if (made !== undefined) await markOrdered(tx, ref, order.interaction);
  return made;
}

/** From now on only the order changes the request. A cancelled request can't get an order. */
async function markOrdered(tx: Db, ref: SessionRef, interaction: string): Promise<void> {
  const { numUpdatedRows } = await tx
    .updateTable("interactions")
    .set({ ordered: true })
    .where("session_id", "=", ref.session)
    .where("id", "=", interaction)
    .where("status", "=", "pending")
    .executeTakeFirst();
  if (numUpdatedRows === 0n) throw new StoreError("CONFLICT", "interaction of the order (cancelled)");
}

async function requireSame(tx: Db, ref: SessionRef, order: NewOrder): Promise<Order> {
  const there = await find(tx, ref.tenant, order.orderNo);
  const same =
    there?.session === ref.session &&
    there.id === order.id &&
    there.interaction === order.interaction &&
    there.amount === order.amount &&
    there.currency === order.currency &&
    there.gateway === order.gateway;
  if (!same) throw new StoreError("EXISTS", "order");
  return there;
}

/** @param lock prevents that the session is erased, before any of its rows is changed */
async function find(db: Db, tenant: string, orderNo: string, lock?: "held"): Promise<Order | null> {
  let query = db
    .selectFrom("payments")
    .innerJoin("sessions", "sessions.id", "payments.session_id")
    .selectAll("payments")
    .where("payments.tenant_id", "=", tenant)
    .where("order_no", "=", orderNo);
  if (lock !== undefined) query = query.forKeyShare("sessions");
  const row = await query.executeTakeFirst();
  return row === undefined ? null : orderOf(row);
}

async function step(tx: Db, order: Order, move: OrderTransition): Promise<ApplyResult> {
  const gateway = move.gateway ?? move.notice?.gateway;
  const verdict = resolvePayment(order, { ...move, ...(gateway === undefined ? {} : { gateway }) });
  if (verdict.outcome === "lost") return { outcome: "lost", order };
  if (verdict.outcome === "mismatch") return { outcome: "mismatch", order, fields: verdict.fields };
  const moved = await tx
    .updateTable("payments")
    .set({
      status: move.to,
      changed_at: clock,
      ...(move.gatewayRef === undefined ? {} : { gateway_ref: move.gatewayRef }),
      ...(isFinalPayment(move.to) ? { next_check_at: null } : {}),
    })
    .where("session_id", "=", order.session)
    .where("id", "=", order.id)
    // The advisory lock guarantees this status. If it ever doesn't, nothing may change.
    .where("status", "=", order.status)
    .returningAll()
    .executeTakeFirst();
  if (moved === undefined) throw new StoreError("CONFLICT", "order");
  return {
    outcome: "won",
    order: orderOf(moved),
    ...(await moveInteraction(tx, orderOf(moved), verdict.steps, move)),
  };
}

async function moveInteraction(tx: Db, order: Order, steps: readonly PaymentStatus[], move: OrderTransition) {
  const at = new Date(order.changedAt ?? 0);
  const row = await tx
    .updateTable("interactions")
    .set((eb) => ({ status: move.to, version: eb("version", "+", steps.length), changed_at: at }))
    .where("session_id", "=", order.session)
    .where("id", "=", order.interaction)
    .returningAll()
    .executeTakeFirstOrThrow();
  const interaction = interactionOf(row);
  const changes = steps.map((status, index): InteractionChange => ({
    version: interaction.version - steps.length + index + 1,
    status,
    by: move.by ?? null,
    reason: move.reason ?? null,
    body: JSON.parse(JSON.stringify(move.body ?? null)) as Json,
    at: at.getTime(),
  }));
  await tx
    .insertInto("interaction_changes")
    .values(
      changes.map(({ version, status, by, reason, body }) => ({
        session_id: order.session,
        interaction_id: order.interaction,
        version,
        status,
        by_user: by,
        reason: reason === null ? null : JSON.stringify(reason),
        body: JSON.stringify(body),
        at,
      })),
    )
    .execute();
  return { interaction, changes };
}

function orderOf(row: Selectable<LedgerTables["payments"]>): Order {
  return {
    tenant: row.tenant_id,
    session: row.session_id,
    id: row.id,
    interaction: row.interaction_id,
    orderNo: row.order_no,
    amount: row.amount,
    currency: row.currency,
    gateway: row.gateway,
    description: row.description,
    status: row.status,
    gatewayRef: row.gateway_ref,
    createdAt: row.created_at,
    changedAt: row.changed_at,
    expiresAt: row.expires_at,
  };
}

/** A notice as the gateway sent it. */
type Sent = NonNullable<OrderTransition["notice"]>;

/** Returns false if the notice was processed before. A notice whose order was missing counts as not processed. */
async function saveNotice(tx: Db, tenant: string, orderNo: string, sent: Sent): Promise<boolean> {
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
    // The update changes nothing. It makes the statement return an existing row, unless the notice was processed.
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

async function resolveNotice(
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

/** Assigns notices that arrived before their order to its session. */
async function claimNotices(tx: Db, ref: SessionRef, orderNo: string): Promise<PaymentNotice[]> {
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

async function noticesOf(db: Db, { tenant, session }: SessionRef, orderNo: string): Promise<PaymentNotice[]> {
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

async function pruneNotices(
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

function noticeOf(row: Selectable<LedgerTables["payment_notices"]>): PaymentNotice {
  return {
    gateway: row.gateway,
    event: row.event_id,
    orderNo: row.order_no,
    outcome: row.outcome as ApplyResult["outcome"],
    body: row.body,
    receivedAt: row.received_at,
  };
}
