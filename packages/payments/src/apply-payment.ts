/**
 * `applyPayment` applies an input to a payment. Every other function of this folder changes payments through it.
 * `PaymentBackend` is what they need.
 *
 * Invariant: the new status, its events in the outbox, the webhooks, the audit entries and the message that starts the
 * next turn are one commit. Nothing is published before the commit. A repeated input writes nothing.
 */
import { paymentsOf } from "./store/payments-of.ts";
import type { EventDraft } from "@turnstream/protocol/writer";
import type { ResolvedPaymentOptions } from "./payment-options.ts";
import type { ApplyResult, Payment } from "./store/payments-part.ts";
import type { PaymentChange } from "./store/payment-transitions.ts";
import {
  type CommandBackend,
  defined,
  enqueueInteractionEvent,
  type Env,
  type ErrorHandler,
  hintTurn,
  isLastTurn,
  MESSAGE_RELAY_MS,
  messageEvent,
  messageKey,
  publishOutbox,
  type SessionRef,
  type Store,
  StoreError,
  updateEvent,
} from "@turnstream/server/internal";
import { isFinalPayment, type PaymentInput } from "./store/payment-transitions.ts";

export interface PaymentBackend extends CommandBackend {
  readonly payments: Pick<ResolvedPaymentOptions, "providers" | "publicUrl">;
  readonly env: Env;
  readonly onError: ErrorHandler;
}

/** An outcome that changed or recorded something. */
type Recorded = Extract<ApplyResult, { readonly recorded: unknown }>;

/** @param clientId for the audit: the connection or key that sent the input */
export async function applyPayment(
  backend: CommandBackend,
  orderNo: string,
  input: PaymentInput,
  clientId?: string,
): Promise<ApplyResult> {
  const result = await backend.store.transaction(async (tx) => {
    const applied = await paymentsOf(tx).apply(orderNo, input);
    if ("recorded" in applied) await commitEffects(tx, applied, clientId);
    return applied;
  });
  if (!("recorded" in result) || result.changes.length === 0) return result;
  const { tenant, session, status } = result.payment;
  const ref = { tenant, session };
  await publishOutbox(backend, ref);
  if (isFinalPayment(status)) hintTurn(backend, { agent: result.payment.agent });
  return result;
}

/** @throws StoreError NOT_FOUND if the payment was erased meanwhile */
export function requireKnown(result: ApplyResult, id: string): Exclude<ApplyResult, { outcome: "unknown" }> {
  if (result.outcome === "unknown") throw new StoreError("NOT_FOUND", `payment ${id}`);
  return result;
}

async function commitEffects(tx: Store, result: Recorded, clientId: string | undefined): Promise<void> {
  const { payment, interaction, recorded, changes } = result;
  const { tenant, session, id, status } = payment;
  const ref = { tenant, session };
  const { turn } = interaction;
  // Asked before the message is added, which follows the turn.
  const startsTurn =
    changes.length > 0 &&
    payment.continues &&
    isFinalPayment(status) &&
    (status !== "expired" || (await isLastTurn(tx, ref, turn)));
  for (const change of changes) {
    const draft = { ...updateEvent(interaction, change), turn } as EventDraft;
    await tx.outbox.add(ref, { key: `i/${id}/${change.version}`, draft });
    await enqueueInteractionEvent(tx, ref, {
      ...interaction,
      status: change.status,
      version: change.version,
    });
  }
  for (const change of recorded)
    if (change.outcome !== "changed") await enqueuePaymentEvent(tx, ref, turn, payment, change);
  if (startsTurn) await addNextMessage(tx, ref, payment, recorded.at(-1)?.by ?? null);
  await audit(tx, payment, recorded, clientId);
}

/** Tells webhooks about what was recorded while the status stayed: a flag or a refund. The data has only ids and states. */
async function enqueuePaymentEvent(
  tx: Store,
  ref: SessionRef,
  turn: string,
  { id, status, refundedAmount, amount, currency }: Payment,
  { n, outcome }: PaymentChange,
): Promise<void> {
  const ids = { turn_id: turn, interaction_id: id, kind: "payment", state: status };
  // One delivery for each record, however often it is committed.
  const key = `p${n}/${id}`;
  const what =
    outcome === "refunded"
      ? { amount, currency, refunded_amount: refundedAmount }
      : { flag: outcome === "mismatch" ? "mismatch" : "late_success" };
  await tx.webhooks.enqueue(ref, { type: eventOf(outcome), key, data: { ...ids, ...what } });
}

/** Names what was recorded while the status stayed, for webhooks and the audit. */
function eventOf(outcome: PaymentChange["outcome"]) {
  return outcome === "refunded" ? "payment.refunded" : "payment.flagged";
}

/** Adds the empty message that starts the next turn. Its id is derived from the payment, so it is added only once. */
async function addNextMessage(
  tx: Store,
  ref: SessionRef,
  payment: Payment,
  by: string | null,
): Promise<void> {
  const { id, agent, mode, locale } = payment;
  const options = defined({ agent: agent ?? undefined, mode: mode ?? undefined, locale });
  const message = { id: `after.${id}`, text: "", resumes: id, by, options };
  if ((await tx.queuedMessages.add(ref, message)) !== "added") return;
  const { draft } = messageEvent(message);
  await tx.outbox.add(ref, { key: messageKey("m", message.id), draft, relayAfterMs: MESSAGE_RELAY_MS });
}

/** Last, because it locks the end of the tenant's audit. */
async function audit(
  tx: Store,
  { tenant, session, id }: Payment,
  recorded: readonly PaymentChange[],
  clientId: string | undefined,
): Promise<void> {
  const actor = recorded.at(-1)?.by ?? null;
  for (const { n, outcome, to, evidenceHash } of recorded)
    await tx.audit.add(tenant, {
      actor,
      action: outcome === "changed" ? `payment.${to}` : eventOf(outcome),
      isOptional: OPTIONAL.includes(to) && outcome === "changed",
      subject: { session, interaction: id },
      detail: { n, ...defined({ evidence: evidenceHash ?? undefined, from: clientId }) },
    });
}

/** What ends a payment without money never waits for the audit. */
const OPTIONAL: readonly string[] = ["failed", "cancelled", "expired"];
