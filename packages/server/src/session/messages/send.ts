/**
 * Sending a message and taking it back: committed in the store first, together with the event that tells of it, then
 * brought to the log, then signalled. Whatever fails after the commit is left to relays and sweeps. Never starts a turn.
 */
import type { Json } from "@turnstream/protocol";
import { checkMessage, type NewMessage } from "../../store/ports/running.ts";
import type { SessionRef } from "../../store/refs.ts";
import { answerByMessage } from "../interactions/answer-question.ts";
import { type DecisionSource, decisionSource } from "../interactions/transition.ts";
import { publishOutbox } from "../archive/publish-outbox.ts";
import { resumeForm, withFormFiles } from "../interactions/submit-form.ts";
import { messageEvent, messageKey } from "../message-event.ts";
import type { CommandBackend, Backend } from "../backend.ts";
import { DECISIONS_CHANNEL, encodeSessionRef, TURNS_CHANNEL } from "../signal-channels.ts";

export interface SendMessageInput extends Omit<NewMessage, "by">, DecisionSource {
  /** With `resumes`: what the person filled in. */
  readonly formValues?: Json;
}

/**
 * A question that waits is answered by it, and then it begins no turn; or dismissed, where it can be no answer. With
 * `resumes` it goes on from a form: one that waits is submitted with `formValues`, or else declined with the text as the
 * reason.
 * "already" when the session has or had a message of this id: the first stays. A text that is too long for an event is
 * kept as a blob. Throws NOT_FOUND without the session or the form, INVALID for values that don't fit it and CONFLICT
 * (FormClosedError) for values of one that is done, and nothing once the message is committed.
 */
export async function sendMessage(
  backend: CommandBackend,
  ref: SessionRef,
  { formValues, userId, clientId, ...input }: SendMessageInput,
): Promise<"sent" | "already"> {
  const { store, signals } = backend;
  const sent: NewMessage = { ...input, by: userId ?? null };
  checkMessage(sent);
  const message = await withFormFiles(store, ref, sent, formValues);
  const { draft, blobs } = messageEvent(message);
  // Safe before anything refers to them.
  for (const blob of blobs) await store.blobs.put(ref, blob);
  const { text, whole = null } = draft;
  const resumes = message.resumes ?? null;
  const source = decisionSource({ userId: userId ?? null, ...(clientId === undefined ? {} : { clientId }) });
  let isDecided = false;
  let isAnswer = false;
  const added = await store.transaction(async (tx) => {
    [isDecided, isAnswer] = [false, false];
    const result = await tx.queuedMessages.add(ref, { ...message, text, whole });
    if (result === "added") {
      // What became of the form comes before what goes on from it.
      if (resumes !== null)
        isDecided = await resumeForm(tx, ref, { ...message, ...source, text, resumes, formValues });
      await tx.outbox.add(ref, { key: messageKey("m", message.id), draft });
      const became = await answerByMessage(tx, ref, { ...message, ...source });
      isDecided ||= became !== null;
      isAnswer = became === "answered";
    }
    return result;
  });
  await publishOutbox(backend, ref);
  if (isDecided) signals.send(DECISIONS_CHANNEL, encodeSessionRef(ref));
  if (!isAnswer) signals.send(TURNS_CHANNEL, encodeSessionRef(ref));
  return added === "added" ? "sent" : "already";
}

/** False when it doesn't wait (any more): a turn has it, or it was taken back before. */
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
