/**
 * `applyPayment` applies an input to a payment. Every other function of this folder changes payments through it.
 * `PaymentBackend` is what they need.
 *
 * Invariant: the new status, its events in the outbox, the webhooks, the audit entries and the message that starts the
 * next turn are one commit. Nothing is published before the commit. A repeated input writes nothing.
 */
import type { EventDraft } from "@turnstream/protocol/writer";
import type { ResolvedPaymentOptions } from "../../payments/payment-options.ts";
import type { ApplyResult, Payment } from "../../store/payments.ts";
import type { PaymentChange } from "../../store/rules/payments.ts";
import type { SessionRef } from "../../util/refs.ts";
import type { AuditAction } from "../../store/rules/audit-actions.ts";
import { isFinalPayment, type PaymentInput } from "../../store/rules/payments.ts";
import type { Store } from "../../store/store.ts";
import type { Env } from "../../util/env.ts";
import type { ErrorHandler } from "../../util/error-handler.ts";
import { publishOutbox } from "../archive/publish-outbox.ts";
import type { CommandBackend } from "../backend.ts";
import { isLastTurn } from "../interactions/is-last-turn.ts";
import { updateEvent } from "../interactions/transition.ts";
import { MESSAGE_RELAY_MS } from "../archive/relay-outbox.ts";
import { messageEvent, messageKey } from "../message-event.ts";
import { hintTurn } from "../messages/hint-turn.ts";
import { enqueueInteractionEvent, enqueuePaymentEvent } from "../webhooks/enqueue-events.ts";
import { defined } from "../../util/defined.ts";

export interface PaymentBackend extends CommandBackend {
  /** Null if the process has no payments. Payments can then be read and cancelled, but not paid. */
  readonly payments: Pick<ResolvedPaymentOptions, "providers" | "publicUrl"> | null;
  readonly env: Env;
  readonly onError: ErrorHandler;
}

/** An outcome that changed or recorded something. */
type Recorded = Exclude<ApplyResult, { readonly outcome: "unchanged" | "unknown" }>;

/** @param clientId for the audit: the connection or key that sent the input */
export async function applyPayment(
  backend: CommandBackend,
  orderNo: string,
  input: PaymentInput,
  clientId?: string,
): Promise<ApplyResult> {
  const result = await backend.store.transaction(async (tx) => {
    const applied = await tx.payments.apply(orderNo, input);
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

/** Adds the empty message that starts the next turn. Its id is derived from the payment, so it is added only once. */
async function addNextMessage(
  tx: Store,
  ref: SessionRef,
  payment: Payment,
  by: string | null,
): Promise<void> {
  const { id, agent, mode, locale } = payment;
  const options = { ...(agent === null ? {} : { agent }), ...(mode === null ? {} : { mode }), locale };
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
      action: AUDIT_ACTIONS[outcome] ?? (`payment.${to}` as AuditAction),
      subject: { session, interaction: id },
      detail: {
        n,
        ...(evidenceHash === null ? {} : { evidence: evidenceHash }),
        ...defined({ from: clientId }),
      },
    });
}

const AUDIT_ACTIONS: Readonly<Record<PaymentChange["outcome"], AuditAction | null>> = {
  changed: null,
  flagged: "payment.flagged",
  mismatch: "payment.flagged",
  refunded: "payment.refunded",
};
