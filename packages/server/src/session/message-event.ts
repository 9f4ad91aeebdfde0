/**
 * `messageEvent` and `messageKey` build the event of a message and its outbox key, for sent messages and for forms.
 * Pure.
 *
 * Invariant: the same message always gives the same key and blob id, so a repeated command adds nothing. The event fits
 * the log, because a longer text becomes a blob.
 */
import { hash } from "node:crypto";
import type { EventDraft } from "@turnstream/protocol/writer";
import { type LogBlob, splitOversized } from "../log/writer/oversize.ts";
import type { NewMessage } from "../store/queued-messages.ts";

type MessageDraft = Extract<EventDraft, { type: "message.add" }>;

/** Moves a text that is too long for an event into a blob. */
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
  // The blob id is a digest of the text: a repeated call finds the same blob, and another text never does.
  const { drafts, blobs } = splitOversized(draft, () => `text.${hash("sha256", text)}`);
  return { draft: (drafts[0] ?? draft) as MessageDraft, blobs };
}

/** Message ids can contain any characters, but outbox keys can't. Other ids are replaced with a digest. */
export function messageKey(kind: "m" | "w", id: string): string {
  return /^[\w.:@-]{1,200}$/.test(id) ? `${kind}/${id}` : `${kind}//${hash("sha256", id)}`;
}
