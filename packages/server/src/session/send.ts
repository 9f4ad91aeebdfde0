/**
 * Sending a message and taking it back: committed in the store first, together with the event that tells of it, then
 * brought to the log, then signalled. Whatever fails after the commit is left to relays and sweeps. Never starts a turn.
 */
import { createHash } from "node:crypto";
import type { EventDraft } from "@turnstream/protocol";
import { isLogError } from "../log/errors.ts";
import { fit } from "../log/oversize.ts";
import { isStoreError } from "../store/errors.ts";
import { checkMessage, type NewMessage } from "../store/ports/waiting.ts";
import type { Ref } from "../store/refs.ts";
import { answerByMessage } from "./answer.ts";
import { reopenIdle } from "./create.ts";
import type { CommandParts, Parts } from "./parts.ts";
import { deliverCommitted } from "./relay.ts";
import { DECISIONS_CHANNEL, formatRef, TURNS_CHANNEL } from "./wake.ts";

/**
 * A question that waits is answered by it, and then it begins no turn.
 * "already" when the session has or had a message of this id: the first stays. A text that is too long for an event is
 * kept as a blob. Throws NOT_FOUND without the session, and nothing once the message is committed.
 */
export async function sendMessage(
  parts: CommandParts,
  ref: Ref,
  message: NewMessage,
): Promise<"sent" | "already"> {
  const { store, signals } = parts;
  checkMessage(message);
  const { draft, blobs } = fitted(message);
  // Safe before anything refers to them.
  for (const blob of blobs) await store.blobs.put(ref, blob);
  const { text, whole = null } = draft;
  let isAnswer = false;
  const added = await store.transaction(async (tx) => {
    const result = await tx.waiting.add(ref, { ...message, text, whole });
    if (result === "added") {
      await tx.outbox.add(ref, { key: keyOf("m", message.id), draft });
      isAnswer = await answerByMessage(tx, ref, { ...message, text });
    }
    return result;
  });
  await deliver(parts, ref);
  signals.send(isAnswer ? DECISIONS_CHANNEL : TURNS_CHANNEL, formatRef(ref));
  return added === "added" ? "sent" : "already";
}

/** False when it doesn't wait (any more): a turn has it, or it was taken back before. */
export async function withdrawMessage(parts: Parts, ref: Ref, id: string): Promise<boolean> {
  const removed = await parts.store.transaction(async (tx) => {
    const wasWaiting = await tx.waiting.remove(ref, id);
    const draft = { type: "message.remove", message: id } as const;
    if (wasWaiting) await tx.outbox.add(ref, { key: keyOf("w", id), draft });
    return wasWaiting;
  });
  if (removed) await deliver(parts, ref);
  return removed;
}

/** The commit stands: what can't be told now, a relay tells later. */
async function deliver(parts: Parts, ref: Ref): Promise<void> {
  try {
    const { failure } = await deliverCommitted(parts, ref);
    if (failure === null || !isLogError(failure, "UNCLAIMED")) return;
    await reopenIdle(parts, ref);
    await deliverCommitted(parts, ref);
  } catch (error) {
    if (!isLogError(error) && !isStoreError(error)) throw error;
  }
}

type MessageDraft = Extract<EventDraft, { type: "message.add" }>;

function fitted(message: NewMessage) {
  const { id, text, files, by, resumes, whole } = message;
  const draft: MessageDraft = {
    type: "message.add",
    message: id,
    text,
    ...(files === undefined || files.length === 0 ? {} : { files: [...files] }),
    ...(by === undefined || by === null ? {} : { by }),
    ...(resumes === undefined || resumes === null ? {} : { resumes }),
    ...(whole === undefined || whole === null ? {} : { whole }),
  };
  // By its content: who repeats the call finds the same blob, and another text never finds this one.
  const { drafts, blobs } = fit(draft, () => `text.${digest(text)}`);
  return { draft: (drafts[0] ?? draft) as MessageDraft, blobs };
}

/** Ids are anything, the keys of an outbox are not. */
function keyOf(kind: string, id: string): string {
  return /^[\w.:@-]{1,200}$/.test(id) ? `${kind}/${id}` : `${kind}//${digest(id)}`;
}

function digest(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}
