/**
 * `memoryPayments` implements orders and payment notices in memory, with the rules of `rules/payments.ts`.
 *
 * Invariant: order, interaction and notice change in one `tables.run`. A processed notice is never processed again. A
 * notice without an order belongs to the tenant, and with one to the order's session, so that it is erased with it.
 */
import { checkDuration } from "../rules/arguments.ts";
import type { Env } from "../../util/env.ts";
import { StoreError } from "../errors.ts";
import type { Interaction, InteractionChange } from "../ports/interactions.ts";
import { checkOrderTransition, checkOrder, checkPage } from "../rules/ledger-arguments.ts";
import { isFinalPayment, resolvePayment } from "../rules/payments.ts";
import type {
  ApplyResult,
  NewOrder,
  PaymentNotice,
  Order,
  OrderTransition,
  Payments,
} from "../ports/payments.ts";
import type { SessionRef } from "../refs.ts";
import { findInteraction, type OrderRow, ORDERS, putChange } from "./interaction-rows.ts";
import { copyJson, requireTenant } from "./tenants.ts";
import { requireSession } from "./session-rows.ts";
import { type MemoryTables, type Rows, table } from "./tables.ts";

interface NoticeRow extends PaymentNotice {
  readonly tenant: string;
}

/** As in PostgreSQL, a notice without an order belongs to the tenant, and a notice with one to the order's session. */
const UNCLAIMED = table<NoticeRow>("payment_notices_unclaimed", "tenant");
const CLAIMED = table<NoticeRow>("payment_notices", "session");

const keyOf = (sent: { readonly gateway: string; readonly event: string }) =>
  JSON.stringify([sent.gateway, sent.event]);

export function memoryPayments(tables: MemoryTables, env: Env): Payments {
  return {
    create: (ref, wanted) =>
      tables.run((rows) => {
        checkOrder(wanted);
        requireSession(rows, ref);
        const asked = findInteraction(rows, ref, wanted.interaction);
        if (asked === undefined) throw new StoreError("NOT_FOUND", "interaction of the order");
        if (asked.kind !== "payment") {
          throw new StoreError("INVALID", "interaction of the order (not a payment)");
        }
        const others = rows.all(ORDERS).map(({ order }) => order);
        const there = others.find((order) => collides(order, ref, wanted));
        if (there !== undefined) {
          if (!isSame(there, ref, wanted)) throw new StoreError("EXISTS", "order");
          return { created: false, order: there, early: [] };
        }
        if (asked.status !== "pending") {
          throw new StoreError("CONFLICT", "interaction of the order (cancelled)");
        }
        const order = newOrder(ref, wanted, env.now());
        rows.put(ORDERS, ref.session, order.id, { order, nextCheckAt: env.now() + wanted.checkMs });
        return { created: true, order, early: claim(rows, order) };
      }),

    apply: (tenant, move) =>
      tables.run((rows) => {
        checkOrderTransition(move);
        const row = find(rows, tenant, move.orderNo);
        const { notice } = move;
        if (notice !== undefined && !keep(rows, tenant, move.orderNo, notice, env.now())) {
          return { outcome: "repeated", order: row?.order ?? null };
        }
        if (row === undefined) return { outcome: "unknown" };
        const result = step(rows, row, move, env.now());
        if (notice !== undefined) settle(rows, row.order, notice, result.outcome);
        return result;
      }),

    get: ({ tenant, session }, id) =>
      tables.run((rows) => {
        const order = rows.get(ORDERS, session, id)?.order;
        return order?.tenant === tenant ? order : null;
      }),

    byOrderNo: (tenant, orderNo) => tables.run((rows) => find(rows, tenant, orderNo)?.order ?? null),

    notices: ({ tenant, session }, orderNo) =>
      tables.run((rows) =>
        rows
          .of(CLAIMED, session)
          .filter((notice) => notice.tenant === tenant && notice.orderNo === orderNo)
          .map(noticeOf)
          .toSorted((a, b) => a.receivedAt - b.receivedAt)
          .slice(-1000),
      ),

    stale: ({ limit, againMs }) =>
      tables.run((rows) => {
        checkDuration(againMs, "againMs");
        const picked = rows
          .all(ORDERS)
          .filter(({ nextCheckAt }) => nextCheckAt !== null && nextCheckAt <= env.now())
          .toSorted((a, b) => (a.nextCheckAt ?? 0) - (b.nextCheckAt ?? 0))
          .slice(0, checkPage(limit));
        for (const row of picked) {
          rows.put(ORDERS, row.order.session, row.order.id, { ...row, nextCheckAt: env.now() + againMs });
        }
        return picked
          .map(({ order }) => ({
            ...order,
            overdue: order.expiresAt !== null && order.expiresAt <= env.now(),
          }))
          .toSorted((a, b) => a.createdAt - b.createdAt);
      }),

    pruneNotices: ({ olderThanMs, limit }) =>
      tables.run((rows) => {
        const before = env.now() - checkDuration(olderThanMs, "olderThanMs");
        const old = rows
          .all(UNCLAIMED)
          .filter(({ receivedAt }) => receivedAt <= before)
          .slice(0, checkPage(limit));
        for (const notice of old) rows.remove(UNCLAIMED, notice.tenant, keyOf(notice));
        return old.length;
      }),
  };
}

function find(rows: Rows, tenant: string, orderNo: string): OrderRow | undefined {
  return rows.all(ORDERS).find(({ order }) => order.tenant === tenant && order.orderNo === orderNo);
}

function collides(order: Order, ref: SessionRef, wanted: NewOrder): boolean {
  const inSession = order.session === ref.session;
  return (
    (order.tenant === ref.tenant && order.orderNo === wanted.orderNo) ||
    (inSession && (order.id === wanted.id || order.interaction === wanted.interaction))
  );
}

function isSame(order: Order, ref: SessionRef, wanted: NewOrder): boolean {
  const names = ["id", "interaction", "orderNo", "amount", "currency", "gateway"] as const;
  return order.session === ref.session && names.every((name) => order[name] === wanted[name]);
}

function newOrder(ref: SessionRef, wanted: NewOrder, now: number): Order {
  const { id, interaction, orderNo, amount, currency, gateway, description, expiresMs } = wanted;
  const expiresAt = expiresMs === undefined ? null : now + expiresMs;
  return {
    tenant: ref.tenant,
    session: ref.session,
    id,
    interaction,
    orderNo,
    amount,
    currency,
    gateway,
    description,
    status: "pending",
    gatewayRef: null,
    createdAt: now,
    changedAt: null,
    expiresAt,
  };
}

function step(rows: Rows, row: OrderRow, move: OrderTransition, now: number): ApplyResult {
  const { order } = row;
  const gateway = move.gateway ?? move.notice?.gateway;
  const verdict = resolvePayment(order, { ...move, ...(gateway === undefined ? {} : { gateway }) });
  if (verdict.outcome === "lost") return { outcome: "lost", order };
  if (verdict.outcome === "mismatch") return { outcome: "mismatch", order, fields: verdict.fields };
  const moved: Order = {
    ...order,
    status: move.to,
    changedAt: now,
    gatewayRef: move.gatewayRef ?? order.gatewayRef,
  };
  const nextCheckAt = isFinalPayment(move.to) ? null : row.nextCheckAt;
  rows.put(ORDERS, order.session, order.id, { order: moved, nextCheckAt });
  let interaction = findInteraction(rows, order, order.interaction) as Interaction;
  const { by = null, reason = null } = move;
  const body = copyJson(move.body ?? null);
  const changes: InteractionChange[] = [];
  for (const status of verdict.steps) {
    const put = putChange(rows, interaction, { status, by, reason, body, at: now });
    interaction = put.interaction;
    changes.push(put.change);
  }
  return { outcome: "won", order: moved, interaction, changes };
}

type Sent = NonNullable<OrderTransition["notice"]>;

/** Returns false if the notice was processed before. A notice whose order was missing counts as not processed. */
function keep(rows: Rows, tenant: string, orderNo: string, sent: Sent, now: number): boolean {
  requireTenant(rows, tenant);
  const key = keyOf(sent);
  const settled = rows.all(CLAIMED).find((other) => other.tenant === tenant && keyOf(other) === key);
  const there = settled ?? rows.get(UNCLAIMED, tenant, key);
  if (there !== undefined) return there.outcome === "unknown" && there.orderNo === orderNo;
  rows.put(UNCLAIMED, tenant, key, {
    gateway: sent.gateway,
    event: sent.event,
    body: copyJson(sent.body),
    tenant,
    orderNo,
    outcome: "unknown",
    receivedAt: now,
  });
  return true;
}

function settle(rows: Rows, order: Order, sent: Sent, outcome: PaymentNotice["outcome"]): void {
  const key = keyOf(sent);
  const there = rows.get(UNCLAIMED, order.tenant, key) ?? rows.get(CLAIMED, order.session, key);
  if (there === undefined) return;
  rows.remove(UNCLAIMED, order.tenant, key);
  rows.put(CLAIMED, order.session, key, { ...there, outcome });
}

function claim(rows: Rows, { tenant, session, orderNo }: Order): PaymentNotice[] {
  const early = rows
    .of(UNCLAIMED, tenant)
    .filter((notice) => notice.orderNo === orderNo)
    .toSorted((a, b) => a.receivedAt - b.receivedAt);
  for (const notice of early) {
    rows.remove(UNCLAIMED, tenant, keyOf(notice));
    rows.put(CLAIMED, session, keyOf(notice), notice);
  }
  return early.map(noticeOf);
}

function noticeOf({ tenant: _, ...notice }: NoticeRow): PaymentNotice {
  return notice;
}
