/**
 * `splitOversized` makes drafts fit the log. It cuts long deltas into several. It moves other large content into a
 * blob; the event then carries a preview, the size, the media type and the blob id. Pure: it does not store the blobs.
 *
 * Invariant: the pieces of a delta together equal the delta, and citations and `done` are on the last one. So a replay
 * equals the live stream. A draft that can't be reduced fails with TOO_LARGE.
 */
import type { Json, FullContent } from "@turnstream/protocol";
import { truncateText, type EventDraft } from "@turnstream/protocol/writer";
import type { SessionRef } from "../../util/refs.ts";
import { isJsonLongerThan } from "../../util/json.ts";
import { MAX_EVENT_BYTES } from "../entry.ts";
import { LogError } from "../errors.ts";

export interface LogBlob {
  readonly id: string;
  readonly mediaType: string;
  readonly body: Uint8Array;
}

/** Stores blobs. A blob must be durable before an event references it. */
export interface BlobSink {
  put(ref: SessionRef, blob: LogBlob): Promise<void>;
}

export interface SplitDrafts {
  readonly drafts: readonly EventDraft[];
  readonly blobs: readonly LogBlob[];
}

/** Maximum length of a delta in UTF-16 units. Each takes at most three bytes, or six if JSON escapes it. */
export const MAX_DELTA = 10_000;
/** How much of the content stays in the event, in UTF-16 units. */
const PREVIEW = 4_096;
/** Leaves 512 bytes for the key of the append and the `v` and `at` fields. */
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
    detail: `The ${draft.type} event can't be reduced to ${MAX_EVENT_BYTES} bytes`,
  });
}

function fits(draft: EventDraft): boolean {
  return !isJsonLongerThan(draft, MAX_DRAFT_BYTES);
}

function cut(text: string): string[] {
  if (text.length <= MAX_DELTA) return [text];
  const pieces: string[] = [];
  for (let rest = text; rest !== ""; rest = rest.slice(pieces.at(-1)?.length))
    pieces.push(truncateText(rest, MAX_DELTA));
  return pieces;
}

/** The last piece gets the citations: a citation may follow only after its marker is complete. */
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
