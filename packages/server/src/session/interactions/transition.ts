/**
 * `transitionInteraction` changes the status of an approval, question or form, if the change is allowed. It is the only
 * caller of `interactions.change`, for decisions, answers, timeouts and withdrawals.
 *
 * Invariant: it runs in the caller's transaction, so the change, its event, its webhooks and the audit entry are one
 * commit. A parked turn of the session is queued again in the same commit. Only the entry of a rejection or withdrawal
 * may be missing, if the audit can't be written. If the change is refused, it writes nothing. It does not publish the
 * event.
 */
import type { Json } from "@turnstream/protocol";
import type { EventDraft } from "@turnstream/protocol/writer";
import type { AuditEntry } from "../../store/audit.ts";
import type { AuditAction } from "../../store/rules/audit-actions.ts";
import type { TransitionResult, Interaction } from "../../store/interactions.ts";
import type { SessionRef } from "../../util/refs.ts";
import type { Store } from "../../store/store.ts";
import { enqueueInteractionEvent } from "../webhooks/enqueue-events.ts";
import { defined } from "../../util/defined.ts";

/** The user who decides, and the client that sent the decision. */
export interface DecisionSource {
  readonly userId?: string;
  /** For the audit log: the id of a connection, a key or a device. It must not contain the user's address. */
  readonly clientId?: string;
}

export function decisionSource({ userId, clientId }: DecisionSource): DecisionSource {
  return defined({ userId, clientId });
}

export interface InteractionTransition extends DecisionSource {
  readonly to: string;
  /** Additional fields of the event: edited actions, answers, or the message that was the answer. */
  readonly fields?: { readonly [field: string]: Json };
  readonly reason?: string;
  readonly digest?: string;
  /** Runs if this change wins, before the audit log is locked. @returns an additional audit entry */
  readonly also?: () => Promise<Pick<AuditEntry, "action" | "subject">>;
}

export async function transitionInteraction(
  tx: Store,
  ref: SessionRef,
  interaction: Interaction,
  { to, fields = {}, userId, clientId, reason, digest, also }: InteractionTransition,
): Promise<TransitionResult> {
  const { id, kind } = interaction;
  const result = await tx.interactions.change(ref, {
    id,
    to,
    body: fields,
    ...defined({ by: userId, reason, expectDigest: digest }),
  });
  if (!result.applied) return result;
  const { version, change } = result;
  const draft = { ...updateEvent(interaction, change), turn: interaction.turn } as EventDraft;
  await tx.outbox.add(ref, { key: `i/${id}/${version}`, draft });
  await enqueueInteractionEvent(tx, ref, result.interaction);
  await tx.queue.wake(ref);
  const more = await also?.();
  const actor = userId ?? null;
  const subject = { session: ref.session, interaction: id };
  const detail = { version, ...defined({ from: clientId }) };
  await tx.audit.add(ref.tenant, { actor, action: `${kind}.${to}` as AuditAction, subject, detail });
  if (more !== undefined) {
    const { action } = more;
    await tx.audit.add(ref.tenant, { actor, action, subject: { ...subject, ...more.subject } });
  }
  return result;
}

type Change = Extract<TransitionResult, { applied: true }>["change"];

/** Returns the event of a change, without its turn. */
export function updateEvent(
  { kind, run, block, index }: Pick<Interaction, "kind" | "run" | "block" | "index">,
  { version, status, by, reason, body }: Change,
): object {
  return {
    type: `${kind}.update`,
    run,
    block,
    index,
    version,
    status,
    ...(body as { readonly [field: string]: Json } | null),
    ...(by === null ? {} : { by }),
    ...(reason === null ? {} : { reason }),
  };
}
