/**
 * `reduceSubscription` is the pure state machine of one subscription. It does not read, send or wait itself: it returns
 * effects, which `SubscriptionController` executes.
 * Invariant: the subscriber receives every event after its start once and in order, or is notified that the
 * subscription restarts. Answers to outdated requests are ignored.
 *
 *               started                 caughtUp
 *   starting ──────────▶ catchingUp ───────────────▶ live ─── live: send
 *      ▲  ▲                │  ▲  │                   │  │
 *      │  │ invalidPosition│  │  │ page: send        │  │ feedReset: read from the current position
 *      │  └────────────────┘  └──┴───────────────────│──┘
 *      │ drained                                     │
 *      └──────────────── degraded ◀──────────────────┘ dropped, evicted (from any phase)
 *
 * `position` is the last position that the sink received, `flushedPosition` the last one that its transport received. A
 * slow client can lose the frames between them.
 *
 * While catching up, a subscription gets no live frames, and reads the next page only after the last one was flushed.
 * So it never fills its own queue and does not delay others.
 */
import type { Position } from "@turnstream/protocol";
import type { SendResult } from "../connection/frame-sink.ts";
import type { SubscribedInfo, SubscriptionEndReason } from "./subscription.ts";

export interface SubscriptionState {
  readonly phase: "starting" | "catchingUp" | "live" | "degraded" | "closed";
  readonly position: Position | null;
  readonly flushedPosition: Position | null;
  /** The newest request to the feed. Answers to earlier requests are ignored. */
  readonly requestId: number;
  /** Frames that the sink has not received yet, the position after them, and whether the subscription ends there. */
  readonly chunks: readonly Uint8Array[];
  readonly chunksPosition: Position | null;
  readonly isComplete: boolean;
  /**
   * While degraded: the frames were dropped in favor of others on the same connection. The subscription itself is
   * not slow.
   */
  readonly wasEvicted: boolean;
  /** While catching up: `flush` waits until the sent frames are flushed, `data` until the log has more entries. */
  readonly waitingFor: "flush" | "data" | null;
}

/**
 * How a subscription starts: as requested, again from the current state, or from its last position after its frames
 * were dropped.
 */
export type StartMode =
  | { readonly type: "requested" }
  | { readonly type: "restart" }
  | { readonly type: "slow" | "evicted"; readonly since: Position | null };

export type SubscriptionInput =
  | {
      readonly type: "started";
      readonly requestId: number;
      /** Null if the subscription continues without a gap. */
      readonly info: SubscribedInfo | null;
      readonly position: Position;
      readonly chunks: readonly Uint8Array[];
    }
  | {
      readonly type: "page";
      readonly requestId: number;
      readonly position: Position;
      readonly chunks: readonly Uint8Array[];
      readonly isComplete: boolean;
    }
  /** The subscription has reached the position of the feed: live frames follow. */
  | { readonly type: "caughtUp"; readonly requestId: number }
  /** The log has no entries after the position yet, but the feed has not reached the position either. */
  | { readonly type: "noData"; readonly requestId: number }
  /** The position is not in the log. */
  | { readonly type: "invalidPosition"; readonly requestId: number }
  | { readonly type: "sent"; readonly result: SendResult }
  | {
      readonly type: "live";
      readonly position: Position;
      /** Null if the dialect has no frame for the event. */
      readonly result: SendResult | null;
      readonly isLastFrame: boolean;
    }
  | { readonly type: "dataAvailable" }
  | { readonly type: "feedReset" }
  | { readonly type: "flushed" }
  | { readonly type: "drained" }
  /** The queued frames were dropped. `position` is the client's position, or null if the subscription is slow. */
  | { readonly type: "evicted"; readonly position: Position | null }
  | { readonly type: "end"; readonly reason: SubscriptionEndReason }
  | { readonly type: "closed" };

export type SubscriptionEffect =
  | { readonly type: "start"; readonly requestId: number; readonly mode: StartMode }
  | { readonly type: "notify"; readonly info: SubscribedInfo }
  /** Followed immediately by the input `sent`. */
  | { readonly type: "send"; readonly bytes: Uint8Array }
  | { readonly type: "read"; readonly requestId: number; readonly after: Position }
  | { readonly type: "end"; readonly reason: SubscriptionEndReason };

export interface SubscriptionStep {
  readonly state: SubscriptionState;
  readonly effects: readonly SubscriptionEffect[];
}

const NO_EFFECTS: readonly SubscriptionEffect[] = [];
const NO_CHUNKS: readonly Uint8Array[] = [];

export const initialSubscription: SubscriptionState = {
  phase: "starting",
  position: null,
  flushedPosition: null,
  requestId: 0,
  chunks: NO_CHUNKS,
  chunksPosition: null,
  isComplete: false,
  wasEvicted: false,
  waitingFor: null,
};

/** The first step: requests the start from the feed. */
export function startSubscription(state: SubscriptionState): SubscriptionStep {
  return start(state, { type: "requested" });
}

export function reduceSubscription(state: SubscriptionState, input: SubscriptionInput): SubscriptionStep {
  if (state.phase === "closed") return { state, effects: NO_EFFECTS };
  // Ignore the answer to an outdated request.
  if (
    "requestId" in input &&
    (input.requestId !== state.requestId || state.phase === "live" || state.phase === "degraded")
  )
    return { state, effects: NO_EFFECTS };
  switch (input.type) {
    case "started": {
      const { info, position: chunksPosition, chunks } = input;
      const started: SubscriptionState = {
        ...state,
        phase: "catchingUp",
        chunks,
        chunksPosition,
        isComplete: false,
      };
      // Unless the client resumes, its previous position is no longer valid: the chunks replace everything.
      const from: SubscriptionState =
        info?.resumed === false ? { ...started, position: null, flushedPosition: null } : started;
      return sendNext(from, info === null ? NO_EFFECTS : [{ type: "notify", info }]);
    }
    case "page": {
      const { chunks, position: chunksPosition, isComplete } = input;
      return sendNext({ ...state, chunks, chunksPosition, isComplete }, NO_EFFECTS);
    }
    case "caughtUp":
      return { state: { ...state, phase: "live" }, effects: NO_EFFECTS };
    case "noData":
      return { state: { ...state, waitingFor: "data" }, effects: NO_EFFECTS };
    case "invalidPosition":
      return start(state, { type: "restart" });
    case "sent":
      return onSent(state, input.result);
    case "live":
      return onLive(state, input);
    case "dataAvailable":
      return state.waitingFor === "data" ? read(state, NO_EFFECTS) : { state, effects: NO_EFFECTS };
    case "feedReset":
      return state.phase === "live" || state.waitingFor === "data"
        ? read({ ...state, phase: "catchingUp" }, NO_EFFECTS)
        : { state, effects: NO_EFFECTS };
    case "flushed":
      return onFlushed(state);
    case "drained":
      return isFlushed(state)
        ? { state, effects: NO_EFFECTS }
        : start(state, { type: state.wasEvicted ? "evicted" : "slow", since: state.flushedPosition });
    case "evicted":
      return onEvicted(state, input.position);
    case "end":
      return end(state, NO_EFFECTS, input.reason);
    case "closed":
      return { state: { ...state, phase: "closed", chunks: NO_CHUNKS }, effects: NO_EFFECTS };
  }
}

/** Returns true if no frame that the sink received can be lost. */
function isFlushed({ phase, position, flushedPosition, waitingFor }: SubscriptionState): boolean {
  return (
    phase === "starting" || (phase !== "degraded" && position === flushedPosition && waitingFor !== "flush")
  );
}

function start(state: SubscriptionState, mode: StartMode): SubscriptionStep {
  const requestId = state.requestId + 1;
  return {
    state: {
      ...state,
      phase: "starting",
      requestId,
      chunks: NO_CHUNKS,
      chunksPosition: null,
      wasEvicted: false,
      waitingFor: null,
    },
    effects: [{ type: "start", requestId, mode }],
  };
}

function read(state: SubscriptionState, effects: readonly SubscriptionEffect[]): SubscriptionStep {
  const requestId = state.requestId + 1;
  // Before the first frame there is no position to continue from.
  if (state.position === null) return start(state, { type: "restart" });
  return {
    state: { ...state, requestId, waitingFor: null },
    effects: [...effects, { type: "read", requestId, after: state.position }],
  };
}

function end(
  state: SubscriptionState,
  effects: readonly SubscriptionEffect[],
  reason: SubscriptionEndReason,
): SubscriptionStep {
  return {
    state: { ...state, phase: "closed", chunks: NO_CHUNKS },
    effects: [...effects, { type: "end", reason }],
  };
}

/** Sends the next chunk, or reads the next page if there is none. */
function sendNext(state: SubscriptionState, effects: readonly SubscriptionEffect[]): SubscriptionStep {
  const [bytes, ...chunks] = state.chunks;
  if (bytes !== undefined)
    return { state: { ...state, chunks, waitingFor: null }, effects: [...effects, { type: "send", bytes }] };
  const position = state.chunksPosition ?? state.position;
  // Nothing was sent, so if all was flushed before, all is flushed at the new position.
  const flushedPosition = state.flushedPosition === state.position ? position : state.flushedPosition;
  const arrived: SubscriptionState = { ...state, position, flushedPosition, chunksPosition: null };
  return state.isComplete ? end(arrived, effects, "complete") : read(arrived, effects);
}

function onSent(state: SubscriptionState, result: SendResult): SubscriptionStep {
  if (result === "dropped") return degrade(state);
  const isLast = state.chunks.length === 0;
  const position = isLast ? (state.chunksPosition ?? state.position) : state.position;
  const chunksPosition = isLast ? null : state.chunksPosition;
  const next: SubscriptionState = { ...state, position, chunksPosition };
  if (isLast && state.isComplete) return end(next, NO_EFFECTS, "complete");
  if (result === "queued") return { state: { ...next, waitingFor: "flush" }, effects: NO_EFFECTS };
  return isLast ? read({ ...next, flushedPosition: position }, NO_EFFECTS) : sendNext(next, NO_EFFECTS);
}

function onLive(state: SubscriptionState, input: SubscriptionInput & { type: "live" }): SubscriptionStep {
  const { position, result, isLastFrame } = input;
  if (state.phase !== "live") return { state, effects: NO_EFFECTS };
  if (result === "dropped") return degrade(state);
  const isStillFlushed =
    result === "written" || (result === null && state.flushedPosition === state.position);
  const flushedPosition = isStillFlushed ? position : state.flushedPosition;
  const next: SubscriptionState = { ...state, position, flushedPosition };
  return isLastFrame ? end(next, NO_EFFECTS, "complete") : { state: next, effects: NO_EFFECTS };
}

function onFlushed(state: SubscriptionState): SubscriptionStep {
  if (state.phase === "degraded" || state.phase === "starting") return { state, effects: NO_EFFECTS };
  const isLast = state.chunks.length === 0 && state.chunksPosition === null;
  const flushed: SubscriptionState = isLast ? { ...state, flushedPosition: state.position } : state;
  if (state.waitingFor !== "flush") return { state: flushed, effects: NO_EFFECTS };
  return isLast ? read(flushed, NO_EFFECTS) : sendNext(flushed, NO_EFFECTS);
}

/** Ignored while starting: nothing has been sent yet, so no data can be lost. */
function onEvicted(state: SubscriptionState, position: Position | null): SubscriptionStep {
  if (state.phase === "starting") return { state, effects: NO_EFFECTS };
  return degrade(
    position === null ? state : { ...state, position, flushedPosition: position, wasEvicted: true },
  );
}

function degrade(state: SubscriptionState): SubscriptionStep {
  return {
    state: { ...state, phase: "degraded", chunks: NO_CHUNKS, chunksPosition: null, waitingFor: null },
    effects: NO_EFFECTS,
  };
}
