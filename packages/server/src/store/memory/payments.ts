/**
 * `memoryPayments` implements payments in memory, with the rules of `rules/payments.ts`.
 *
 * Invariant: the payment, its interaction and its rows change in one `tables.run`, so a check stays valid until the
 * change.
 */
import type { Env } from "../../util/env.ts";
import { StoreError } from "../errors.ts";
import type { Interaction, InteractionChange } from "../ports/interactions.ts";
import {
  type ApplyResult,
  MAX_PAYMENT_CHANGES,
  type NewPayment,
  type Payment,
  type PaymentChange,
  type PaymentPage,
  type Payments,
} from "../ports/payments.ts";
import { type SessionRef, sessionKey } from "../../util/refs.ts";
import { checkCount, checkDuration } from "../rules/arguments.ts";
import {
  checkFlagResolution,
  checkPage,
  checkPayment,
  checkPaymentInput,
} from "../rules/ledger-arguments.ts";
import { describeChanges } from "../rules/payment-changes.ts";
import { checkAfterChange, nextCheck } from "../rules/payment-checks.ts";
import { type PaymentInput, resolvePayment } from "../rules/payments.ts";
import { findInteraction, putChange } from "./interaction-rows.ts";
import { requireSession } from "./session-rows.ts";
import { type MemoryTables, type Rows, sessionTable } from "./tables.ts";

interface PaymentRow {
  readonly payment: Payment;
  readonly tokenHash: string;
  readonly checkMs: number;
  readonly nextCheckAt: number | null;
  readonly queriedAt: number | null;
}

const PAYMENTS = sessionTable<PaymentRow>("payments");
const CHANGES = sessionTable<{ readonly id: string; readonly change: PaymentChange }>("payment_changes");

const changeKey = (id: string, n: number) => JSON.stringify([id, n]);

export function memoryPayments(tables: MemoryTables, env: Env): Payments {
  return {
    create: (ref, wanted) =>
      tables.run((rows) => {
        checkPayment(wanted);
        requireSession(rows, ref);
        const asked = findInteraction(rows, ref, wanted.id);
        if (asked === undefined) throw new StoreError("NOT_FOUND", "interaction of the payment");
        if (asked.kind !== "payment")
          throw new StoreError("INVALID", "interaction of the payment (of another kind)");
        const there = rows.all(PAYMENTS).find((row) => collides(row, ref, wanted));
        if (there !== undefined) {
          if (!isSame(there, ref, wanted)) throw new StoreError("EXISTS", "payment");
          return { created: false, payment: there.payment };
        }
        const payment = newPayment(ref, wanted, rows.next("payments"), env.now());
        const { tokenHash, queryAfterMs: checkMs } = wanted;
        put(rows, { payment, tokenHash, checkMs, nextCheckAt: payment.expiresAt, queriedAt: null });
        return { created: true, payment };
      }),

    apply: (orderNo, input) =>
      tables.run((rows) => {
        checkPaymentInput(input);
        const row = rows.all(PAYMENTS).find(({ payment }) => payment.orderNo === orderNo);
        return row === undefined ? { outcome: "unknown" } : apply(rows, row, input, env.now());
      }),

    get: (ref, id) => tables.run((rows) => find(rows, ref, id)?.payment ?? null),
    getInTenant: (tenant, id) => tables.run((rows) => inTenant(rows, tenant, id)?.payment ?? null),
    byToken: (hash) =>
      tables.run((rows) => rows.all(PAYMENTS).find((row) => row.tokenHash === hash)?.payment ?? null),
    byOrderNo: (orderNo) =>
      tables.run(
        (rows) => rows.all(PAYMENTS).find(({ payment }) => payment.orderNo === orderNo)?.payment ?? null,
      ),

    list: (ref, page) => tables.run((rows) => paged(rows.of(PAYMENTS, ref), page)),

    changes: (ref, id) =>
      tables.run((rows) =>
        find(rows, ref, id) === undefined ? [] : changesOf(rows, ref, id).slice(0, MAX_PAYMENT_CHANGES),
      ),

    flagged: (tenant, page) =>
      tables.run((rows) =>
        paged(
          rows.all(PAYMENTS).filter(({ payment }) => payment.tenant === tenant && isFlagged(payment)),
          page,
        ),
      ),

    resolveFlag: (tenant, id, resolution) =>
      tables.run((rows) => {
        checkFlagResolution(resolution);
        const { by, note } = resolution;
        const row = inTenant(rows, tenant, id);
        if (row === undefined) return null;
        if (!isFlagged(row.payment)) return { resolved: false, payment: row.payment };
        const resolved = { flagResolvedAt: env.now(), flagResolvedBy: by, flagNote: note };
        const payment = { ...row.payment, ...resolved };
        put(rows, { ...row, payment });
        return { resolved: true, payment };
      }),

    due: ({ limit }) =>
      tables.run((rows) => {
        const now = env.now();
        const picked = rows
          .all(PAYMENTS)
          .filter(({ nextCheckAt }) => nextCheckAt !== null && nextCheckAt <= now)
          .toSorted((a, b) => (a.nextCheckAt ?? 0) - (b.nextCheckAt ?? 0) || a.payment.n - b.payment.n)
          .slice(0, checkPage(limit));
        for (const row of picked) {
          const { status, expiresAt } = row.payment;
          put(rows, {
            ...row,
            ...nextCheck({ status, expiresAt, checkMs: row.checkMs }, now),
            queriedAt: now,
          });
        }
        return picked
          .map(({ payment }) => ({ ...payment, overdue: payment.expiresAt <= now }))
          .toSorted((a, b) => a.n - b.n);
      }),

    claimQuery: (ref, id, everyMs) =>
      tables.run((rows) => {
        const row = find(rows, ref, id);
        const before = env.now() - checkDuration(everyMs, "everyMs");
        if (row === undefined || (row.queriedAt ?? -Infinity) > before) return false;
        put(rows, { ...row, queriedAt: env.now() });
        return true;
      }),

    setProviderRef: (ref, id, providerRef) =>
      tables.run((rows) => {
        const row = find(rows, ref, id);
        if (row === undefined || row.payment.providerRef !== null) return;
        put(rows, { ...row, payment: { ...row.payment, providerRef } });
      }),
  };
}

function put(rows: Rows, row: PaymentRow): void {
  rows.put(PAYMENTS, row.payment, row.payment.id, row);
}

function find(rows: Rows, ref: SessionRef, id: string): PaymentRow | undefined {
  return rows.get(PAYMENTS, ref, id);
}

function inTenant(rows: Rows, tenant: string, id: string): PaymentRow | undefined {
  return rows.all(PAYMENTS).find(({ payment }) => payment.tenant === tenant && payment.id === id);
}

function changesOf(rows: Rows, ref: SessionRef, id: string): PaymentChange[] {
  return rows
    .of(CHANGES, ref)
    .filter((row) => row.id === id)
    .map(({ change }) => change)
    .toSorted((a, b) => a.n - b.n);
}

function paged(found: readonly PaymentRow[], { before, limit = 100 }: PaymentPage = {}): Payment[] {
  const end = before === undefined ? Infinity : checkCount(before, "before");
  return found
    .map(({ payment }) => payment)
    .filter(({ n }) => n < end)
    .toSorted((a, b) => b.n - a.n)
    .slice(0, checkPage(limit));
}

function isFlagged({ flag, flagResolvedAt }: Payment): boolean {
  return flag !== null && flagResolvedAt === null;
}

function collides({ payment, tokenHash }: PaymentRow, ref: SessionRef, wanted: NewPayment): boolean {
  return (
    payment.orderNo === wanted.orderNo ||
    tokenHash === wanted.tokenHash ||
    (payment.tenant === ref.tenant && payment.id === wanted.id)
  );
}

function isSame({ payment, tokenHash }: PaymentRow, ref: SessionRef, wanted: NewPayment): boolean {
  const names = ["id", "orderNo", "amount", "currency", "provider"] as const;
  return (
    sessionKey(payment) === sessionKey(ref) &&
    tokenHash === wanted.tokenHash &&
    names.every((name) => payment[name] === wanted[name])
  );
}

function newPayment(ref: SessionRef, wanted: NewPayment, n: number, now: number): Payment {
  const { id, orderNo, amount, currency, provider, description, locale } = wanted;
  return {
    tenant: ref.tenant,
    session: ref.session,
    id,
    n,
    orderNo,
    amount,
    currency,
    provider,
    providerRef: null,
    description,
    locale,
    continues: wanted.continues,
    agent: wanted.agent,
    mode: wanted.mode,
    status: "pending",
    refundedAmount: 0,
    createdAt: now,
    changedAt: null,
    expiresAt: now + wanted.expiresMs,
    flag: null,
    flaggedAt: null,
    flagResolvedAt: null,
    flagResolvedBy: null,
    flagNote: null,
  };
}

function apply(rows: Rows, row: PaymentRow, input: PaymentInput, at: number): ApplyResult {
  const { payment } = row;
  const { id } = payment;
  const earlier = changesOf(rows, payment, id);
  if ("event" in input && earlier.some((c) => c.provider === input.provider && c.event === input.event))
    return { outcome: "unchanged", payment };
  const resolution = resolvePayment({ ...payment, isOverdue: payment.expiresAt <= at }, input);
  if (resolution.outcome === "unchanged") return { outcome: "unchanged", payment };
  const { recorded, changed } = describeChanges(payment, input, resolution, {
    n: (earlier.at(-1)?.n ?? 0) + 1,
    at,
  });
  const check = checkAfterChange(payment, changed, row.checkMs, at);
  put(rows, { ...row, ...check, payment: changed });
  for (const change of recorded) rows.put(CHANGES, payment, changeKey(id, change.n), { id, change });
  let interaction = findInteraction(rows, payment, id) as Interaction;
  const changes: InteractionChange[] = [];
  for (const { outcome, to: status, by } of recorded) {
    if (outcome !== "changed") continue;
    const made = putChange(rows, interaction, { status, by, reason: null, body: null, at });
    interaction = made.interaction;
    changes.push(made.change);
  }
  const fields = resolution.outcome === "mismatch" ? resolution.fields : [];
  const outcome = recorded.at(-1)?.outcome ?? "changed";
  return { outcome, payment: changed, interaction, recorded, changes, fields };
}

/** Removes the user's id from the changes of payments. */
export function clearPaymentAuthor(rows: Rows, ref: SessionRef, user: string): void {
  for (const { id, change } of rows.of(CHANGES, ref))
    if (change.by === user)
      rows.put(CHANGES, ref, changeKey(id, change.n), { id, change: { ...change, by: null } });
}
