/**
 * `paymentOf`, `paymentChangeOf`, `paymentColumns` and `changeRow` convert payments and their changes from and to rows.
 *
 * Invariant: texts that a user, a model or a provider wrote are JSON, because `text` refuses NUL. No query is run here.
 */
import type { Insertable, Selectable, Updateable } from "kysely";
import type { Payment, PaymentChange } from "../ports/payments.ts";
import type { PaymentCheck } from "../rules/payment-checks.ts";
import type { LedgerTables } from "./schema-ledger.ts";
import { rowOf } from "./session-row.ts";

export function paymentOf(row: Selectable<LedgerTables["payments"]>): Payment {
  return {
    tenant: row.tenant_id,
    session: row.session_id,
    id: row.id,
    n: row.n,
    orderNo: row.order_no,
    amount: row.amount,
    currency: row.currency,
    provider: row.provider,
    providerRef: row.provider_ref,
    description: row.description,
    locale: row.locale,
    continues: row.continues,
    agent: row.agent,
    mode: row.mode,
    status: row.status,
    refundedAmount: row.refunded_amount,
    createdAt: row.created_at,
    changedAt: row.changed_at,
    expiresAt: row.expires_at,
    flag: row.flag,
    flaggedAt: row.flagged_at,
    flagResolvedAt: row.flag_resolved_at,
    flagResolvedBy: row.flag_resolved_by,
    flagNote: row.flag_note,
  };
}

/** Returns the columns that an input can change. A check of null stays as it is. */
export function paymentColumns(
  payment: Payment,
  check: PaymentCheck | null,
): Updateable<LedgerTables["payments"]> {
  return {
    status: payment.status,
    changed_at: toDate(payment.changedAt),
    provider_ref: payment.providerRef,
    refunded_amount: payment.refundedAmount,
    flag: payment.flag,
    flagged_at: toDate(payment.flaggedAt),
    flag_resolved_at: toDate(payment.flagResolvedAt),
    flag_resolved_by: payment.flagResolvedBy,
    flag_note: payment.flagNote === null ? null : JSON.stringify(payment.flagNote),
    ...(check === null ? {} : { check_ms: check.checkMs, next_check_at: toDate(check.nextCheckAt) }),
  };
}

function toDate(time: number | null): Date | null {
  return time === null ? null : new Date(time);
}

export function paymentChangeOf(row: Selectable<LedgerTables["payment_changes"]>): PaymentChange {
  const { paid_amount: amount, paid_currency: currency } = row;
  return {
    n: row.n,
    actor: row.actor,
    by: row.by_user,
    input: row.input,
    outcome: row.outcome,
    from: row.from_status,
    to: row.to_status,
    at: row.at,
    evidenceHash: row.evidence_hash,
    provider: row.provider,
    event: row.event,
    paid: amount === null || currency === null ? null : { amount, currency },
    providerRef: row.provider_ref,
    reason: row.reason,
  };
}

export function changeRow(
  payment: Payment,
  change: PaymentChange,
): Insertable<LedgerTables["payment_changes"]> {
  return {
    ...rowOf(payment),
    payment_id: payment.id,
    n: change.n,
    actor: change.actor,
    by_user: change.by,
    input: change.input,
    outcome: change.outcome,
    from_status: change.from,
    to_status: change.to,
    at: new Date(change.at),
    evidence_hash: change.evidenceHash,
    provider: change.provider,
    event: change.event,
    paid_amount: change.paid?.amount ?? null,
    paid_currency: change.paid?.currency ?? null,
    provider_ref: change.providerRef,
    reason: change.reason === null ? null : JSON.stringify(change.reason),
  };
}
