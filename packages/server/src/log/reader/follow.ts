/**
 * Following a log, as a pure machine: what a reader does with pages, news and doubts, so that it delivers every
 * entry once and in order, or ends with a reason.
 *
 *              page, more            page, nothing buffered
 *            ┌───────────┐         ┌───────────────────▶ live ──┐ news that fit: deliver
 *   start ──▶│  reading  │─────────┘                       │    │
 *            └───────────┘◀────────────────────────────────┘◀───┘
 *              │  batches are buffered  batches that don't fit, or doubt: read again
 *              └──▶ ended: the position is not in the log
 *
 * It subscribes before it reads; so whatever a page doesn't hold is among the batches buffered meanwhile. Never reads,
 * waits or subscribes itself: it says what to do.
 */
import type { Position } from "@turnstream/protocol";
import type { PublishedBatch } from "../engine.ts";
import type { LogEntry } from "../entry.ts";
import type { FollowEndReason } from "../log.ts";

export interface FollowState {
  readonly phase: "reading" | "live" | "ended";
  readonly last: Position;
  /** Batches that were published while reading. */
  readonly buffered: readonly PublishedBatch[];
  readonly bufferedSize: number;
  /** Something may be missing from the page under way and from the buffered batches: read once more after it. */
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

/** How much is buffered while reading, roughly in bytes; beyond that it is cheaper to read again. */
const MAX_BUFFERED = 500_000;

const NOTHING: readonly FollowEffect[] = [];

/** Subscribed, and about to read. */
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
      // What came before the doubt may be of a timeline that is lost by now.
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
    // The batch itself is dropped: what was published is in the log, so that reading on will find it, or tell.
    if (fresh === null) return reading(next, delivered);
    const last = fresh.at(-1);
    if (last !== undefined) {
      delivered.push({ type: "deliver", entries: fresh });
      next = { ...next, last };
    }
  }
  return { state: { ...next, phase: "live" }, effects: delivered };
}

/** The entries of a batch that come right after a position; none when all are known, null when they don't join. */
function unseen(last: Position, { before, entries }: PublishedBatch): readonly LogEntry[] | null {
  const [first] = entries;
  if (first === undefined) return [];
  if (first.epoch === last.epoch) {
    // One epoch is one timeline: what stands at or before the last position was delivered.
    const skip = last.seq + 1 - first.seq;
    if (skip < 0) return null;
    return skip === 0 ? entries : entries.slice(skip);
  }
  if (first.epoch < last.epoch) return [];
  // A claim joins only what it says it followed: with the same seq on a lost timeline it would seem to fit.
  return before !== null && before.epoch === last.epoch && before.seq === last.seq ? entries : null;
}

function sizeOf({ entries }: PublishedBatch): number {
  return entries.reduce((sum, { size }) => sum + size, 0);
}
