/** The event of a message and the key it is committed under: what sending, and going on from a form, share. Pure. */
import { createHash } from "node:crypto";
import type { EventDraft } from "@turnstream/protocol/writer";
import { type LogBlob, splitOversized } from "../log/writer/oversize.ts";
import type { NewMessage } from "../store/ports/running.ts";

type MessageDraft = Extract<EventDraft, { type: "message.add" }>;

/** A text that is too long for an event goes into a blob. */
export function messageEvent(message: NewMessage): {
  readonly draft: MessageDraft;
  readonly blobs: readonly LogBlob[];
} {
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
  const { drafts, blobs } = splitOversized(draft, () => `text.${digest(text)}`);
  return { draft: (drafts[0] ?? draft) as MessageDraft, blobs };
}

/** Ids are anything, the keys of an outbox are not. */
export function messageKey(kind: "m" | "w", id: string): string {
  return /^[\w.:@-]{1,200}$/.test(id) ? `${kind}/${id}` : `${kind}//${digest(id)}`;
}

function digest(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}
