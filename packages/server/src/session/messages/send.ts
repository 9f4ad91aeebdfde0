/**
 * `sendMessage` and `withdrawMessage` add a message to a session's queue or remove it. They do not start turns.
 *
 * Invariant: the message, its event and the form or question that it decides are one commit. A message id is accepted
 * once, and only if the agent that it names is registered. Publishing and signalling follow; if they fail, relays and
 * polling repeat them.
 */
import type { Json } from "@turnstream/protocol";
import { checkMessage, type NewMessage } from "../../store/queued-messages.ts";
import type { SessionRef } from "../../util/refs.ts";
import type { Store } from "../../store/store.ts";
import { stringField } from "../../util/json.ts";
import { answerByMessage } from "../interactions/answer-question.ts";
import type { DecisionSource } from "../interactions/transition.ts";
import { MESSAGE_RELAY_MS, publishOutbox } from "../archive/relay-outbox.ts";
import { resumeForm, withFormFiles } from "../interactions/submit-form.ts";
import { type OwnerLimits, requireTurnLimits, toTurnCaller } from "../limit-exceeded.ts";
import { messageEvent, messageKey } from "../message-event.ts";
import type { CommandBackend, Backend } from "../backend.ts";
import { InputValidationError } from "../validation-error.ts";
import { hintTurn, signalDecision } from "../signal-channels.ts";
import { defined } from "../../util/defined.ts";

export interface SendMessageInput extends Omit<NewMessage, "by">, DecisionSource {
  /** Only with `resumes`: the values of the form. */
  readonly formValues?: Json;
  /**
   * Refuses the message beyond these limits, unless it decides a form or a question. The turn ends at those of tokens
   * and cost. @default no limits
   */
  readonly limits?: OwnerLimits;
  /**
   * False leaves a pending question as it is, for a sender who may not decide. The message then waits for the next
   * turn.
   * @default true
   */
  readonly decidesQuestion?: boolean;
}

/**
 * Sends a message. Returns "already" if the session has or had a message with this id; the first one stays.
 *
 * A pending question is answered by the message, which then starts no turn, or is dismissed if the message can't be an
 * answer. With `decidesQuestion: false` the question stays pending. With `resumes` the message continues from a form. A
 * pending form is submitted with `formValues`, or else declined with the text as the reason. A text that is too long
 * for an event is stored as a blob.
 * @throws StoreError NOT_FOUND if the session or form doesn't exist, INVALID for invalid values and for an agent that
 * is not registered, or CONFLICT (`FormClosedError`) if the form is already decided. LimitExceededError beyond
 * `limits`. It throws nothing after the commit
 */
export async function sendMessage(
  backend: CommandBackend,
  ref: SessionRef,
  { formValues, userId, clientId, limits, decidesQuestion = true, ...input }: SendMessageInput,
): Promise<"sent" | "already"> {
  const { store } = backend;
  const sent: NewMessage = { ...input, by: userId ?? null };
  checkMessage(sent);
  const message = await withFormFiles(store, ref, sent, formValues);
  const { draft, blobs } = messageEvent(message);
  // Store the blobs before an event refers to them.
  for (const blob of blobs) await store.blobs.put(ref, blob);
  const { text, whole = null } = draft;
  const resumes = message.resumes ?? null;
  const source: DecisionSource = defined({ userId, clientId });
  let isDecided = false;
  let isAnswer = false;
  const added = await store.transaction(async (tx) => {
    [isDecided, isAnswer] = [false, false];
    const result = await tx.queuedMessages.add(ref, { ...message, ...toTurnCaller(limits), text, whole });
    if (result === "added") {
      await requireKnownAgent(tx, stringField(message.options ?? null, "agent"));
      // The form's event must come before the message that continues from it.
      if (resumes !== null)
        isDecided = await resumeForm(tx, ref, { ...message, ...source, text, resumes, formValues });
      await tx.outbox.add(ref, { key: messageKey("m", message.id), draft, relayAfterMs: MESSAGE_RELAY_MS });
      const became = decidesQuestion ? await answerByMessage(tx, ref, { ...message, ...source }) : null;
      isDecided ||= became !== null;
      isAnswer = became === "answered";
      // A decision adds no work that was not allowed before, and must always be possible.
      if (limits !== undefined && !isDecided) await requireTurnLimits(tx, limits);
    }
    return result;
  });
  await publishOutbox(backend, ref);
  if (isDecided) await signalDecision(backend, ref);
  if (!isAnswer) hintTurn(backend, message.options ?? null);
  return added === "added" ? "sent" : "already";
}

/** How many names an error lists. */
const MAX_NAMES = 20;

/** @throws InputValidationError if no worker has registered the agent */
async function requireKnownAgent(store: Store, name: string | null): Promise<void> {
  if (name === null || (await store.agents.isKnown(name))) return;
  const names = (await store.agents.list()).map((agent) => agent.name);
  if (names.length === 0)
    throw new InputValidationError(
      "message",
      "no worker has registered its agents yet. Start a worker, then send the message again",
    );
  const more = names.length > MAX_NAMES ? ` and ${names.length - MAX_NAMES} more` : "";
  const known = `${names.slice(0, MAX_NAMES).join(", ")}${more}`;
  throw new InputValidationError(
    "message",
    `agent_id must be the name of a registered agent (${known}), got ${JSON.stringify(name.slice(0, 64))}`,
  );
}

/** Returns false if the message is no longer queued: a turn answers it, or it was already withdrawn. */
export async function withdrawMessage(backend: Backend, ref: SessionRef, id: string): Promise<boolean> {
  const removed = await backend.store.transaction(async (tx) => {
    const wasWaiting = await tx.queuedMessages.remove(ref, id);
    const draft = { type: "message.remove", message: id } as const;
    if (wasWaiting) await tx.outbox.add(ref, { key: messageKey("w", id), draft });
    return wasWaiting;
  });
  if (removed) await publishOutbox(backend, ref);
  return removed;
}
