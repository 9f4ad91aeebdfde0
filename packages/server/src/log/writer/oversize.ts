/**
 * Makes drafts fit the log. Long deltas are cut into several; content that is too large for an event goes into a
 * blob, and the event keeps its beginning, its size, its type and where the whole is. Replay is then the same as
 * live. Pure: says what to store, and never stores it.
 */
import type { Json, FullContent } from "@turnstream/protocol";
import { truncateText, type EventDraft } from "@turnstream/protocol/writer";
import { MAX_EVENT_BYTES } from "../entry.ts";
import { LogError } from "../errors.ts";

export interface LogBlob {
  readonly id: string;
  readonly mediaType: string;
  readonly body: Uint8Array;
}

/** Where blobs go. Each has to be safe before an event refers to it. */
export interface BlobSink {
  put(session: string, blob: LogBlob): Promise<void>;
}

export interface SplitDrafts {
  readonly drafts: readonly EventDraft[];
  readonly blobs: readonly LogBlob[];
}

/** How long a delta may get, in UTF-16 units: three bytes each at the most, or six where JSON escapes them. */
export const MAX_DELTA = 10_000;
/** How much of the content stays in the event, in UTF-16 units. */
const PREVIEW = 4_096;
/** Room for the key of the append and the stamp. */
const MAX_DRAFT_BYTES = MAX_EVENT_BYTES - 512;

export function splitOversized(draft: EventDraft, newBlobId: () => string): SplitDrafts {
  switch (draft.type) {
    case "thinking.delta":
    case "text.delta":
      return cutProse(draft);
    case "tool_call.delta":
      return { drafts: cut(draft.args).map((args) => ({ ...draft, args })), blobs: [] };
    case "tool_result.delta":
      if (draft.media !== "text") return fits(draft) ? whole(draft) : tooLarge(draft);
      return cutResult(draft);
    case "message.add":
      if (fits(draft)) return whole(draft);
      return refer(draft.text, "text/plain", newBlobId, (preview, at) => ({
        ...draft,
        text: preview,
        whole: at,
      }));
    case "tool_call.end": {
      if (fits(draft) || draft.input === undefined) return whole(draft);
      return refer(draft.input, "application/json", newBlobId, (preview, at) => ({
        ...draft,
        input: preview,
        whole: at,
      }));
    }
    case "tool_result.end": {
      const { artifact } = draft;
      if (fits(draft) || artifact === null) return whole(draft);
      return refer(artifact.data, "application/json", newBlobId, (data, at) => ({
        ...draft,
        artifact: { ...artifact, data, whole: at },
      }));
    }
    default:
      return fits(draft) ? whole(draft) : tooLarge(draft);
  }
}

function whole(draft: EventDraft): SplitDrafts {
  return { drafts: [draft], blobs: [] };
}

function refer(
  content: Json,
  mediaType: string,
  newBlobId: () => string,
  withReference: (preview: string, at: FullContent) => EventDraft,
): SplitDrafts {
  const text = typeof content === "string" ? content : JSON.stringify(content);
  const body = Buffer.from(mediaType === "text/plain" ? text : JSON.stringify(content));
  const id = newBlobId();
  const draft = withReference(truncateText(text, PREVIEW), {
    blob: id,
    size: body.byteLength,
    media_type: mediaType,
  });
  return fits(draft) ? { drafts: [draft], blobs: [{ id, mediaType, body }] } : tooLarge(draft);
}

function tooLarge(draft: EventDraft): never {
  throw new LogError("TOO_LARGE", {
    detail: `A ${draft.type} can't be made smaller than ${MAX_EVENT_BYTES} bytes`,
  });
}

function fits(draft: EventDraft): boolean {
  const text = JSON.stringify(draft);
  return text.length * 3 <= MAX_DRAFT_BYTES || Buffer.byteLength(text) <= MAX_DRAFT_BYTES;
}

function cut(text: string): string[] {
  if (text.length <= MAX_DELTA) return [text];
  const pieces: string[] = [];
  for (let rest = text; rest !== ""; rest = rest.slice(pieces.at(-1)?.length))
    pieces.push(truncateText(rest, MAX_DELTA));
  return pieces;
}

/** Citations go with the last piece: a marker must be complete before it is cited. */
function cutProse(draft: Extract<EventDraft, { type: "text.delta" | "thinking.delta" }>): SplitDrafts {
  const pieces = cut(draft.text);
  if (draft.type === "thinking.delta")
    return { drafts: pieces.map((text) => ({ ...draft, text })), blobs: [] };
  const { annotations, ...bare } = draft;
  const drafts = pieces.map((text, n) => {
    const isLast = n === pieces.length - 1;
    return { ...bare, text, ...(isLast && annotations !== undefined ? { annotations } : {}) };
  });
  return { drafts, blobs: [] };
}

function cutResult(draft: Extract<EventDraft, { type: "tool_result.delta" }>): SplitDrafts {
  const pieces = cut(draft.data);
  const drafts = pieces.map((data, n) => ({ ...draft, data, done: draft.done && n === pieces.length - 1 }));
  return { drafts, blobs: [] };
}
