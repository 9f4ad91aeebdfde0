/**
 * `PendingDeltas` buffers what a writer has not sent yet, and joins the deltas of each block.
 *
 * Invariant: joining may move a delta past deltas of other blocks, which are independent, but never past an event that
 * is not a delta. `take` returns all pending blobs, so no event precedes its blob. Uses no clock and no log.
 */
import { type EventDraft, joinDeltas } from "@turnstream/protocol/writer";
import { type LogBlob, type SplitDrafts, MAX_DELTA } from "./oversize.ts";

export interface PendingBatch {
  readonly drafts: readonly EventDraft[];
  readonly blobs: readonly LogBlob[];
  readonly size: number;
}

/** Estimated size of the other fields of an event, and of one citation. */
const PER_EVENT = 200;
const PER_ANNOTATION = 60;
/** Limits of one append. */
const MAX_EVENTS = 500;
const MAX_SIZE = 500_000;
/** Citations don't count toward the length of a joined delta, but must fit its event too. */
const MAX_ANNOTATIONS = 50;

export class PendingDeltas {
  #drafts: EventDraft[] = [];
  #blobs: LogBlob[] = [];
  /** Index of the newest delta of each block, since the last event that is not a delta. */
  #deltas = new Map<string, number>();
  /** Approximate size of the buffer, in characters and bytes. */
  #size = 0;

  get size(): number {
    return this.#size;
  }

  get isEmpty(): boolean {
    return this.#drafts.length === 0;
  }

  add({ drafts, blobs }: SplitDrafts): void {
    for (const draft of drafts) this.#addDraft(draft);
    this.#blobs.push(...blobs);
    for (const { body } of blobs) this.#size += body.byteLength;
  }

  /** Takes everything, or the oldest events up to the limits of one append. */
  take(): PendingBatch {
    let [count, size] = [0, 0];
    for (const draft of this.#drafts) {
      if (count === MAX_EVENTS || (count > 0 && size + sizeOf(draft) > MAX_SIZE)) break;
      size += sizeOf(draft);
      count++;
    }
    const drafts = this.#drafts.slice(0, count);
    const blobs = this.#blobs;
    const taken = this.#size;
    this.#drafts = this.#drafts.slice(count);
    this.#blobs = [];
    this.#deltas = new Map();
    this.#size = this.#drafts.reduce((sum, draft) => sum + sizeOf(draft), 0);
    return { drafts, blobs, size: taken - this.#size };
  }

  #addDraft(draft: EventDraft): void {
    this.#size += sizeOf(draft);
    if (!isDelta(draft)) {
      this.#deltas.clear();
      this.#drafts.push(draft);
      return;
    }
    const key = `${draft.turn}/${draft.block}`;
    const at = this.#deltas.get(key);
    const before = at === undefined ? undefined : this.#drafts[at];
    const joined =
      before === undefined || !mayJoin(before, draft) ? null : joinDeltas(before, draft, MAX_DELTA);
    if (joined !== null && at !== undefined) {
      this.#drafts[at] = joined;
      this.#size -= PER_EVENT;
      return;
    }
    this.#deltas.set(key, this.#drafts.length);
    this.#drafts.push(draft);
  }
}

type Delta = Extract<EventDraft, { type: `${string}.delta` }>;

export function isDelta(draft: EventDraft): draft is Delta {
  return draft.type.endsWith(".delta");
}

function mayJoin(a: EventDraft, b: EventDraft): boolean {
  return annotationsOf(a) + annotationsOf(b) <= MAX_ANNOTATIONS;
}

function annotationsOf(draft: EventDraft): number {
  return draft.type === "text.delta" ? (draft.annotations?.length ?? 0) : 0;
}

function sizeOf(draft: EventDraft): number {
  if ("text" in draft) return PER_EVENT + draft.text.length + PER_ANNOTATION * annotationsOf(draft);
  if ("args" in draft) return PER_EVENT + draft.args.length;
  if (draft.type === "tool_result.delta") return PER_EVENT + draft.data.length;
  return isDelta(draft) ? PER_EVENT : PER_EVENT + JSON.stringify(draft).length;
}
