/**
 * What a writer has not sent yet: deltas of one block are joined, everything else keeps its place. Deltas of
 * blocks that stream side by side are independent, so that joining may take one past the other; nothing is ever
 * moved past an event that is not a delta. No clock, no log.
 */
import { type EventDraft, joinDeltas } from "@turnstream/protocol";
import { type Blob, type Fitted, MAX_DELTA } from "./oversize.ts";

export interface PendingBatch {
  readonly drafts: readonly EventDraft[];
  readonly blobs: readonly Blob[];
  readonly size: number;
}

/** Room in a batch for what is not text. */
const PER_EVENT = 200;

export class Pending {
  #drafts: EventDraft[] = [];
  #blobs: Blob[] = [];
  /** Where the newest delta of a block stands, since the last event that was not a delta. */
  #deltas = new Map<string, number>();
  /** Roughly how much memory waits, in characters and bytes. */
  #size = 0;

  get size(): number {
    return this.#size;
  }

  get isEmpty(): boolean {
    return this.#drafts.length === 0;
  }

  get events(): number {
    return this.#drafts.length;
  }

  add({ drafts, blobs }: Fitted): void {
    for (const draft of drafts) this.#addDraft(draft);
    this.#blobs.push(...blobs);
    for (const { body } of blobs) this.#size += body.byteLength;
  }

  /** Takes everything, or the oldest `most` events. */
  take(most: number): PendingBatch {
    const drafts = this.#drafts.slice(0, most);
    const blobs = this.#blobs;
    const taken = this.#size;
    this.#drafts = this.#drafts.slice(most);
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
    const joined = before === undefined ? null : joinDeltas(before, draft, MAX_DELTA);
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

function sizeOf(draft: EventDraft): number {
  if ("text" in draft) return PER_EVENT + draft.text.length;
  if ("args" in draft) return PER_EVENT + draft.args.length;
  if (draft.type === "tool_result.delta") return PER_EVENT + draft.data.length;
  return isDelta(draft) ? PER_EVENT : PER_EVENT + JSON.stringify(draft).length;
}
