/**
 * `reduceFollow` is the pure state machine of a reader that follows a log. It handles pages, published batches and
 * possible gaps.
 *
 *              page, more            last page, batches join
 *            ┌───────────┐         ┌───────────────────▶ live ──┐ batch that joins: deliver
 *   start ──▶│  reading  │─────────┘                       │    │
 *            └───────────┘◀────────────────────────────────┘◀───┘
 *              │  batches are buffered   batch that doesn't join, or possible gap: read again
 *              └──▶ ended: the position is not in the log
 *
 * Invariant: it delivers every entry once and in order, or ends with a reason. The caller subscribes before it reads,
 * so an entry that a page doesn't contain is in a batch that was buffered meanwhile. Does not read, wait or subscribe
 * itself: it returns effects.
 */
import type { Position } from "@turnstream/protocol";
import type { PublishedBatch } from "../engine.ts";
import type { LogEntry } from "../entry.ts";
import type { FollowEndReason } from "../log.ts";

export interface FollowState {
  readonly phase: "reading" | "live" | "ended";
  readonly last: Position;
  readonly buffered: readonly PublishedBatch[];
  readonly bufferedSize: number;
  /**
   * True if entries may be missing from both the current page and the buffered batches. The machine then reads once
   * more.
   */
  readonly again: boolean;
}

export type FollowInput =
  | { readonly type: "page"; readonly entries: readonly LogEntry[]; readonly more: boolean }
  | { readonly type: "written"; readonly batch: PublishedBatch }
  | { readonly type: "possible-gap" }
  | { readonly type: "over"; readonly reason: FollowEndReason };

export type FollowEffect =
  | { readonly type: "read"; readonly after: Position }
  | { readonly type: "deliver"; readonly entries: readonly LogEntry[] }
  | { readonly type: "end"; readonly reason: FollowEndReason };

export interface FollowStep {
  readonly state: FollowState;
  readonly effects: readonly FollowEffect[];
}

/** How many bytes, roughly, are buffered while reading. Beyond this it is cheaper to read again. */
const MAX_BUFFERED = 500_000;

const NOTHING: readonly FollowEffect[] = [];

/** The state after the caller has subscribed and before it reads the first page. */
export function initialFollowState(after: Position): FollowState {
  return { phase: "reading", last: after, buffered: [], bufferedSize: 0, again: false };
}

export function reduceFollow(state: FollowState, input: FollowInput): FollowStep {
  if (state.phase === "ended") return { state, effects: NOTHING };
  switch (input.type) {
    case "written":
      return state.phase === "live" ? takeBatch(state, input.batch) : bufferBatch(state, input.batch);
    case "page":
      return takePage(state, input.entries, input.more);
    case "possible-gap":
      if (state.phase === "live") return reading(state, []);
      // Batches from before the gap may belong to a timeline that is lost by now.
      return { state: { ...state, buffered: [], bufferedSize: 0, again: true }, effects: NOTHING };
    case "over":
      return {
        state: { ...state, phase: "ended", buffered: [], bufferedSize: 0 },
        effects: [{ type: "end", reason: input.reason }],
      };
  }
}

function reading(state: FollowState, before: readonly FollowEffect[]): FollowStep {
  return {
    state: { ...state, phase: "reading", again: false },
    effects: [...before, { type: "read", after: state.last }],
  };
}

function takeBatch(state: FollowState, batch: PublishedBatch): FollowStep {
  const fresh = unseen(state.last, batch);
  if (fresh === null) return reading(state, []);
  const last = fresh.at(-1);
  if (last === undefined) return { state, effects: NOTHING };
  return { state: { ...state, last }, effects: [{ type: "deliver", entries: fresh }] };
}

function bufferBatch(state: FollowState, batch: PublishedBatch): FollowStep {
  const bufferedSize = state.bufferedSize + sizeOf(batch);
  if (bufferedSize > MAX_BUFFERED) {
    return { state: { ...state, buffered: [], bufferedSize: 0, again: true }, effects: NOTHING };
  }
  return { state: { ...state, buffered: [...state.buffered, batch], bufferedSize }, effects: NOTHING };
}

function takePage(state: FollowState, entries: readonly LogEntry[], more: boolean): FollowStep {
  const delivered: FollowEffect[] = entries.length === 0 ? [] : [{ type: "deliver", entries }];
  let next: FollowState = { ...state, last: entries.at(-1) ?? state.last };
  if (more || next.again) return reading(next, delivered);
  while (next.buffered.length > 0) {
    const [batch, ...buffered] = next.buffered as [PublishedBatch, ...PublishedBatch[]];
    next = { ...next, buffered, bufferedSize: next.bufferedSize - sizeOf(batch) };
    const fresh = unseen(next.last, batch);
    // The batch can be dropped: its entries are in the log, so the next read finds them or ends with a reason.
    if (fresh === null) return reading(next, delivered);
    const last = fresh.at(-1);
    if (last !== undefined) {
      delivered.push({ type: "deliver", entries: fresh });
      next = { ...next, last };
    }
  }
  return { state: { ...next, phase: "live" }, effects: delivered };
}

/** Returns the entries of a batch that are new and follow `last`: none if all are known, null if there is a gap. */
function unseen(last: Position, { before, entries }: PublishedBatch): readonly LogEntry[] | null {
  const [first] = entries;
  if (first === undefined) return [];
  if (first.epoch === last.epoch) {
    // One epoch is one timeline, so everything up to the last position was delivered.
    const skip = last.seq + 1 - first.seq;
    if (skip < 0) return null;
    return skip === 0 ? entries : entries.slice(skip);
  }
  if (first.epoch < last.epoch) return [];
  // Compare the whole position that the claim follows. A position with the same seq on a lost timeline must not match.
  return before !== null && before.epoch === last.epoch && before.seq === last.seq ? entries : null;
}

function sizeOf({ entries }: PublishedBatch): number {
  return entries.reduce((sum, { size }) => sum + size, 0);
}
