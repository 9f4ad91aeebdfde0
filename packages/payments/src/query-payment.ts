/**
 * `applyReport` applies a provider's report, from a notification or a query. `queryPayment` asks the provider and
 * applies the answer, and `refreshPayment` does it on a user's request.
 *
 * Invariant: only authenticated reports arrive here, and each is compared with the stored order before anything
 * changes. Raw bodies are hashed and not stored. Queries are bounded: each has a time limit, and users can't cause more
 * than one every three seconds per payment.
 */
import { paymentsOf } from "./store/payments-of.ts";
import { createHash } from "node:crypto";
import { truncateText } from "@turnstream/protocol/writer";
import { PaymentError, type PaymentProvider, type ProviderReport } from "./provider.ts";
import { type CommandBackend, isStoreError, type SessionRef } from "@turnstream/server/internal";
import { type ApplyResult, MAX_REASON_LENGTH, type Payment } from "./store/payments-part.ts";
import { applyPayment, type PaymentBackend, requireKnown } from "./apply-payment.ts";
import { readPayment } from "./read-payments.ts";

const QUERY_TIMEOUT_MS = 10_000;
/** The shortest time between two queries that users cause. */
const REFRESH_MS = 3_000;

/** @param evidence the raw bytes of the notification; null for the answer to a query */
export function applyReport(
  backend: CommandBackend,
  { orderNo, status, paid, providerRef, event, reason }: ProviderReport,
  { provider, evidence }: { readonly provider: string; readonly evidence: Uint8Array | null },
): Promise<ApplyResult> {
  return applyPayment(backend, orderNo, {
    type: status,
    provider,
    paid,
    providerRef,
    event,
    reason: reason === null ? null : truncateText(reason, MAX_REASON_LENGTH),
    evidenceHash: evidence === null ? null : createHash("sha256").update(evidence).digest("hex"),
  });
}

/** @throws PaymentError UNAVAILABLE if this process doesn't have the payment's provider */
export function findProvider(
  { payments }: Pick<PaymentBackend, "payments">,
  { id, provider: name }: Pick<Payment, "id" | "provider">,
): PaymentProvider {
  const found = payments.providers.find((provider) => provider.name === name);
  if (found !== undefined) return found;
  throw new PaymentError("UNAVAILABLE", `payment ${id} needs the provider ${name}, which is not configured`);
}

/**
 * Asks the provider about the payment and applies the answer.
 * @returns the payment as it is then
 * @throws PaymentError UNAVAILABLE or NOT_AUTHENTIC
 */
export async function queryPayment(backend: PaymentBackend, payment: Payment): Promise<Payment> {
  const provider = findProvider(backend, payment);
  const report = await provider.query(payment, { signal: AbortSignal.timeout(QUERY_TIMEOUT_MS) });
  if (report === null) return payment;
  const { orderNo } = payment;
  if (report.orderNo !== orderNo)
    throw new PaymentError("NOT_AUTHENTIC", `${provider.name} answered about another order than ${orderNo}`);
  const result = await applyReport(backend, report, { provider: provider.name, evidence: null });
  return requireKnown(result, payment.id).payment;
}

/**
 * Asks the provider at most every three seconds per payment, over all processes. Also asks about succeeded payments,
 * because some providers report refunds only when they are asked. If the provider doesn't answer, the stored payment is
 * returned.
 * @throws StoreError NOT_FOUND
 */
export async function refreshPayment(backend: PaymentBackend, ref: SessionRef, id: string): Promise<Payment> {
  const payment = await readPayment(backend, ref, id);
  // The provider doesn't know an order whose checkout was never opened.
  if (payment.status === "pending" || payment.status === "cancelled") return payment;
  if (!(await paymentsOf(backend.store).claimQuery(ref, id, REFRESH_MS))) return payment;
  try {
    return await queryPayment(backend, payment);
  } catch (error) {
    if (isStoreError(error)) throw error;
    backend.onError(error, { during: `the query of payment ${id}` });
    return payment;
  }
}
