/**
 * Moves an interaction on, if it may: the change, the event that tells of it and the note in the audit are one commit. The
 * one place where a decision, an answer, a time-out and a withdrawal become events. Never brings them to the log.
 */
import type { EventDraft, Json } from "@turnstream/protocol";
import type { AuditEntry } from "../../store/ports/audit.ts";
import type { TransitionResult, Interaction } from "../../store/ports/interactions.ts";
import type { SessionRef } from "../../store/refs.ts";
import type { Store } from "../../store/store.ts";

/** Who decides, and where it came from. */
export interface DecisionSource {
  readonly by?: string;
  /** For the audit: the id of a connection, a key or a device, say. Never a person's address. */
  readonly from?: string;
}

export function decisionSource({
  by = null,
  from,
}: {
  readonly by?: string | null;
  readonly from?: string;
}): DecisionSource {
  return { ...(by === null ? {} : { by }), ...(from === undefined ? {} : { from }) };
}

export interface InteractionTransition extends DecisionSource {
  readonly to: string;
  /** What comes with it, as the event has it: edited actions, answers, the message that was the answer. */
  readonly fields?: { readonly [field: string]: Json };
  readonly reason?: string;
  readonly digest?: string;
  /** What else is done if it wins, before the audit is locked. @returns what the audit says of it */
  readonly also?: () => Promise<Pick<AuditEntry, "action" | "subject">>;
}

export async function transitionInteraction(
  tx: Store,
  ref: SessionRef,
  interaction: Interaction,
  { to, fields = {}, by, from, reason, digest, also }: InteractionTransition,
): Promise<TransitionResult> {
  const { id, kind } = interaction;
  const result = await tx.interactions.change(ref, {
    id,
    to,
    body: fields,
    ...(by === undefined ? {} : { by }),
    ...(reason === undefined ? {} : { reason }),
    ...(digest === undefined ? {} : { expectDigest: digest }),
  });
  if (!result.won) return result;
  const { version, change } = result;
  const draft = { ...updateEvent(interaction, change), turn: interaction.turn } as EventDraft;
  await tx.outbox.add(ref, { key: `i/${id}/${version}`, draft });
  const more = await also?.();
  const actor = by === undefined ? null : await tx.people.numberOf(ref.tenant, by);
  const subject = { session: ref.session, interaction: id };
  const detail = { version, ...(from === undefined ? {} : { from }) };
  await tx.audit.add(ref.tenant, { actor, action: `${kind}.${to}`, subject, detail });
  if (more !== undefined) {
    const { action } = more;
    await tx.audit.add(ref.tenant, { actor, action, subject: { ...subject, ...more.subject } });
  }
  return result;
}

type Change = Extract<TransitionResult, { won: true }>["change"];

/** The event of a change, without its turn. */
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
