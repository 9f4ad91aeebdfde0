/**
 * `cancelPayment` cancels a payment for the owner of its session.
 *
 * Invariant: only a `pending` payment can be cancelled. Once its checkout is open, the provider decides.
 */
import {
  type CommandBackend,
  type DecisionSource,
  defined,
  type SessionRef,
  StoreError,
  type TransitionResult,
  waitForInteraction,
} from "@turnstream/server/internal";
import { applyPayment, requireKnown } from "./apply-payment.ts";
import { readPayment } from "./read-payments.ts";

export interface CancelPaymentInput extends DecisionSource {
  /** `payment_request_id` */
  readonly payment: string;
}

/**
 * If it is opened, expires or is cancelled at the same time, one wins.
 * @throws StoreError NOT_FOUND
 */
export async function cancelPayment(
  backend: CommandBackend,
  ref: SessionRef,
  { payment: id, userId, clientId }: CancelPaymentInput,
): Promise<TransitionResult> {
  const { store } = backend;
  // The request reaches clients shortly before it is committed.
  await waitForInteraction(store, ref, id);
  const payment = await readPayment(backend, ref, id);
  const input = { type: "cancel", ...defined({ by: userId }) } as const;
  const result = requireKnown(await applyPayment(backend, payment.orderNo, input, clientId), id);
  if ("changes" in result) {
    const [change] = result.changes;
    if (change !== undefined)
      return { applied: true, version: change.version, interaction: result.interaction, change };
  }
  const current = await store.interactions.get(ref, id);
  if (current === null) throw new StoreError("NOT_FOUND", `payment ${id}`);
  const changes = await store.interactions.changes(ref, id);
  const at = result.payment.changedAt ?? payment.createdAt;
  return { applied: false, reason: "status", current, change: changes.at(-1) ?? null, at };
}
