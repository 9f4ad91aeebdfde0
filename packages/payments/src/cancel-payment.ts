/**
 * `cancelPayment` cancels a payment for the owner of its session.
 *
 * Invariant: only a `pending` payment can be cancelled. Once its checkout is open, the provider decides.
 */
import { paymentsOf } from "./store/payments-of.ts";
import {
  type CommandBackend,
  type DecisionSource,
  defined,
  type SessionRef,
  StoreError,
  type TransitionResult,
  waitForInteraction,
} from "@turnstream/server/internal";
import { applyPayment } from "./apply-payment.ts";

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
  const interaction = await waitForInteraction(store, ref, id);
  const payment = interaction?.kind === "payment" ? await paymentsOf(store).get(ref, interaction.id) : null;
  if (payment === null) throw new StoreError("NOT_FOUND", `payment ${id}`);
  const input = { type: "cancel", ...defined({ by: userId }) } as const;
  const result = await applyPayment(backend, payment.orderNo, input, clientId);
  if (result.outcome === "unknown") throw new StoreError("NOT_FOUND", `payment ${id}`);
  const [change] = "changes" in result ? result.changes : [];
  if (change !== undefined && "interaction" in result)
    return { applied: true, version: change.version, interaction: result.interaction, change };
  const current = await store.interactions.get(ref, payment.id);
  if (current === null) throw new StoreError("NOT_FOUND", `payment ${id}`);
  const changes = await store.interactions.changes(ref, payment.id);
  const at = result.payment.changedAt ?? payment.createdAt;
  return { applied: false, reason: "status", current, change: changes.at(-1) ?? null, at };
}
