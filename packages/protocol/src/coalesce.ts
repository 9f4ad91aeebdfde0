/**
 * `coalesce` merges adjacent deltas of one block, for replays and the archive, and `joinDeltas` joins two of them.
 * Invariant: the merged events fold to the same state, and the end of each is a position of the log. Events are never
 * reordered, so a client that stops between two events has exactly a prefix of the log. No merge crosses a gap, an
 * epoch, a schema version or the length limit. Events of a newer version stay as they are, because a merge would drop
 * fields that this version doesn't know.
 */
import { parseCursor, seqOf } from "./cursor.ts";
import type { SessionEvent, EventDraft } from "./events/index.ts";
import { SCHEMA_VERSION } from "./version.ts";

/**
 * Maximum length of a merged delta, in UTF-16 code units. Longer events would block the event loop or make a frame too
 * large.
 */
const MAX_MERGED = 32_768;

export function coalesce(events: readonly SessionEvent[], maxLength = MAX_MERGED): SessionEvent[] {
  const out: SessionEvent[] = [];
  for (const event of events) {
    const merged = merge(out.at(-1), event, maxLength);
    if (merged === null) out.push(event);
    else out[out.length - 1] = merged;
  }
  return out;
}

function merge(a: SessionEvent | undefined, b: SessionEvent, maxLength: number): SessionEvent | null {
  // A merged event across a gap or an epoch change would hide that events are missing.
  if (a === undefined || !follows(a, b)) return null;
  if (a.v !== b.v || a.v > SCHEMA_VERSION) return null;
  const joined = joinDeltas(a, b, maxLength);
  if (joined === null) return null;
  return { ...joined, first: a.first ?? seqOf(a.id), id: b.id, at: b.at };
}

/** Joins two consecutive deltas of the same block into one. Returns null if they can't be joined. */
export function joinDeltas<T extends EventDraft>(a: T, b: T, maxLength = MAX_MERGED): T | null {
  if (!("block" in a) || !("block" in b) || a.block !== b.block || a.turn !== b.turn) return null;
  if (a.type === "thinking.delta" && b.type === "thinking.delta") {
    const text = a.text + b.text;
    return text.length > maxLength ? null : { ...a, text };
  }
  if (a.type === "text.delta" && b.type === "text.delta") {
    const text = a.text + b.text;
    if (text.length > maxLength) return null;
    const annotations = [...(a.annotations ?? []), ...(b.annotations ?? [])];
    return { ...a, text, ...(annotations.length > 0 ? { annotations } : {}) };
  }
  if (a.type === "tool_call.delta" && b.type === "tool_call.delta") {
    const args = a.args + b.args;
    return args.length > maxLength ? null : { ...a, args };
  }
  if (a.type === "tool_result.delta" && b.type === "tool_result.delta") {
    if (a.part !== b.part || a.media !== "text" || b.media !== "text" || a.done) return null;
    const data = a.data + b.data;
    return data.length > maxLength ? null : { ...a, ...b, data, ...referenceOf(a, b) };
  }
  return null;
}

function follows(a: SessionEvent, b: SessionEvent): boolean {
  const before = parseCursor(a.id);
  const after = parseCursor(b.id);
  return before?.epoch === after?.epoch && before?.seq === (b.first ?? after?.seq ?? 0) - 1;
}

type ResultDelta = Extract<EventDraft, { type: "tool_result.delta" }>;

function referenceOf(a: ResultDelta, b: ResultDelta): Pick<ResultDelta, "reference"> {
  const reference = b.reference ?? a.reference;
  return reference === undefined ? {} : { reference };
}
