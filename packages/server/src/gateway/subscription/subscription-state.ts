/**
 * One viewer of a session, as a pure machine: what to give its outlet, so that it gets every event after where it began
 * once and in order, or is told that it begins anew.
 *
 *               begun                  at the head
 *   starting ──────────▶ catching up ──────────────▶ live ─── piece: send
 *      ▲  ▲                │  ▲  │                   │  │
 *      │  │ bad position   │  │  │ page: send        │  │ the feed began anew: read on from here
 *      │  └────────────────┘  └──┴───────────────────│──┘
 *      │ drained                                     │
 *      └──────────────── degraded ◀──────────────────┘ dropped, set back (from any state)
 *
 * `position` is what the outlet was given, `safe` what its transport has: the first may be lost to a client that is slow,
 * the second not. While it catches up it takes no pieces, and reads on only when what it was given has left: so it never
 * fills its own queue, and nobody waits for it. Never reads, sends or waits itself: it says what to do.
 */
import type { Position } from "@turnstream/protocol";
import type { SubscriptionEndReason, SubscribedInfo } from "./subscription.ts";
import type { SendResult } from "../connection/frame-sink.ts";

export interface SubscriptionState {
  readonly phase: "starting" | "catching up" | "live" | "degraded" | "closed";
  readonly position: Position | null;
  readonly flushedPosition: Position | null;
  /** Which answer is waited for; others are too late. */
  readonly requestId: number;
  /** What is still to be given to the outlet, to where it brings the client, and whether that is all. */
  readonly chunks: readonly Uint8Array[];
  readonly to: Position | null;
  readonly over: boolean;
  /** While degraded: for the sake of others on the same connection, and by no fault of its own. */
  readonly wasEvicted: boolean;
  /** While catching up: until what was given has left, or until there is something to read. */
  readonly waitingFor: "flush" | "news" | null;
}

/** How a viewer begins: where it says it was, anew, or where it was when it turned out too slow or was set back. */
export type StartMode =
  | { readonly type: "asked" }
  | { readonly type: "anew" }
  | { readonly type: "slow" | "set back"; readonly since: Position | null };

export type SubscriptionInput =
  | {
      readonly type: "begun";
      readonly ask: number;
      /** Null when it goes on as if nothing had been. */
      readonly told: SubscribedInfo | null;
      readonly at: Position;
      readonly chunks: readonly Uint8Array[];
    }
  | {
      readonly type: "page";
      readonly ask: number;
      readonly to: Position;
      readonly chunks: readonly Uint8Array[];
      readonly isComplete: boolean;
    }
  /** It stands where the feed stands: what comes next is a piece. */
  | { readonly type: "joined"; readonly ask: number }
  /** There is nothing after its position yet, but the feed isn't there either. */
  | { readonly type: "nothing"; readonly ask: number }
  /** Its position is not in the log. */
  | { readonly type: "bad"; readonly ask: number }
  | { readonly type: "sent"; readonly sent: SendResult }
  | {
      readonly type: "piece";
      readonly to: Position;
      readonly sent: SendResult | null;
      readonly over: boolean;
    }
  | { readonly type: "news" }
  | { readonly type: "lost" }
  | { readonly type: "flushed" }
  | { readonly type: "drained" }
  /** What was queued is gone. @param at where the client stands, if that is known and near */
  | { readonly type: "set back"; readonly at: Position | null }
  | { readonly type: "end"; readonly reason: SubscriptionEndReason }
  | { readonly type: "closed" };

type SubscriptionEffect =
  | { readonly type: "begin"; readonly ask: number; readonly how: StartMode }
  | { readonly type: "tell"; readonly told: SubscribedInfo }
  /** Answered by `sent`, at once. */
  | { readonly type: "send"; readonly bytes: Uint8Array }
  | { readonly type: "read"; readonly ask: number; readonly after: Position }
  | { readonly type: "end"; readonly reason: SubscriptionEndReason };

export interface SubscriptionStep {
  readonly state: SubscriptionState;
  readonly effects: readonly SubscriptionEffect[];
}

const NOTHING: readonly SubscriptionEffect[] = [];
const NO_CHUNKS: readonly Uint8Array[] = [];

export const initialSubscription: SubscriptionState = {
  phase: "starting",
  position: null,
  flushedPosition: null,
  requestId: 0,
  chunks: NO_CHUNKS,
  to: null,
  over: false,
  wasEvicted: false,
  waitingFor: null,
};

/** The first step: asks how to begin. */
export function startSubscription(state: SubscriptionState): SubscriptionStep {
  return begin(state, { type: "asked" });
}

export function reduceSubscription(state: SubscriptionState, input: SubscriptionInput): SubscriptionStep {
  if (state.phase === "closed") return { state, effects: NOTHING };
  // An answer to what nobody waits for any more.
  if (
    "ask" in input &&
    (input.ask !== state.requestId || state.phase === "live" || state.phase === "degraded")
  )
    return { state, effects: NOTHING };
  switch (input.type) {
    case "begun": {
      const { told, at: to, chunks } = input;
      const begun: SubscriptionState = { ...state, phase: "catching up", chunks, to, over: false };
      // What was there before is told anew, or is where it goes on from.
      const from = told?.resumed === false ? { ...begun, position: null, flushedPosition: null } : begun;
      return giveNext(from, told === null ? NOTHING : [{ type: "tell", told }]);
    }
    case "page":
      return giveNext({ ...state, chunks: input.chunks, to: input.to, over: input.isComplete }, NOTHING);
    case "joined":
      return { state: { ...state, phase: "live" }, effects: NOTHING };
    case "nothing":
      return { state: { ...state, waitingFor: "news" }, effects: NOTHING };
    case "bad":
      return begin(state, { type: "anew" });
    case "sent":
      return takeSent(state, input.sent);
    case "piece":
      return takePiece(state, input);
    case "news":
      return state.waitingFor === "news" ? read(state, NOTHING) : { state, effects: NOTHING };
    case "lost":
      return state.phase === "live" || state.waitingFor === "news"
        ? read({ ...state, phase: "catching up" }, NOTHING)
        : { state, effects: NOTHING };
    case "flushed":
      return takeFlushed(state);
    case "drained":
      return isSafe(state)
        ? { state, effects: NOTHING }
        : begin(state, { type: state.wasEvicted ? "set back" : "slow", since: state.flushedPosition });
    case "set back":
      return setBack(state, input.at);
    case "end":
      return end(state, NOTHING, input.reason);
    case "closed":
      return { state: { ...state, phase: "closed", chunks: NO_CHUNKS }, effects: NOTHING };
  }
}

/** Whether nothing that the outlet was given can be lost by now. */
function isSafe({ phase, position, flushedPosition, waitingFor }: SubscriptionState): boolean {
  return (
    phase === "starting" || (phase !== "degraded" && position === flushedPosition && waitingFor !== "flush")
  );
}

function begin(state: SubscriptionState, how: StartMode): SubscriptionStep {
  const ask = state.requestId + 1;
  return {
    state: {
      ...state,
      phase: "starting",
      requestId: ask,
      chunks: NO_CHUNKS,
      to: null,
      wasEvicted: false,
      waitingFor: null,
    },
    effects: [{ type: "begin", ask, how }],
  };
}

function read(state: SubscriptionState, before: readonly SubscriptionEffect[]): SubscriptionStep {
  const ask = state.requestId + 1;
  // Only what was given to an outlet has a position; who has none begins anew.
  if (state.position === null) return begin(state, { type: "anew" });
  return {
    state: { ...state, requestId: ask, waitingFor: null },
    effects: [...before, { type: "read", ask, after: state.position }],
  };
}

function end(
  state: SubscriptionState,
  before: readonly SubscriptionEffect[],
  reason: SubscriptionEndReason,
): SubscriptionStep {
  return {
    state: { ...state, phase: "closed", chunks: NO_CHUNKS },
    effects: [...before, { type: "end", reason }],
  };
}

/** Gives the outlet the next chunk, or goes on once there is none. */
function giveNext(state: SubscriptionState, before: readonly SubscriptionEffect[]): SubscriptionStep {
  const [bytes, ...chunks] = state.chunks;
  if (bytes !== undefined)
    return { state: { ...state, chunks, waitingFor: null }, effects: [...before, { type: "send", bytes }] };
  const { position, to } = state;
  // With nothing to send, what was safe before is as safe at the new position.
  const there = to ?? position;
  const safe = state.flushedPosition === position ? there : state.flushedPosition;
  const arrived: SubscriptionState = { ...state, position: there, flushedPosition: safe, to: null };
  return state.over ? end(arrived, before, "over") : read(arrived, before);
}

function takeSent(state: SubscriptionState, sent: SendResult): SubscriptionStep {
  if (sent === "dropped") return degrade(state);
  const isLast = state.chunks.length === 0;
  const position = isLast ? (state.to ?? state.position) : state.position;
  const given: SubscriptionState = { ...state, position, to: isLast ? null : state.to };
  if (isLast && state.over) return end(given, NOTHING, "over");
  if (sent === "queued") return { state: { ...given, waitingFor: "flush" }, effects: NOTHING };
  return isLast ? read({ ...given, flushedPosition: position }, NOTHING) : giveNext(given, NOTHING);
}

function takePiece(state: SubscriptionState, input: SubscriptionInput & { type: "piece" }): SubscriptionStep {
  const { to, sent, over } = input;
  if (state.phase !== "live") return { state, effects: NOTHING };
  if (sent === "dropped") return degrade(state);
  const isSafeStill = sent === "written" || (sent === null && state.flushedPosition === state.position);
  const next: SubscriptionState = {
    ...state,
    position: to,
    flushedPosition: isSafeStill ? to : state.flushedPosition,
  };
  return over ? end(next, NOTHING, "over") : { state: next, effects: NOTHING };
}

function takeFlushed(state: SubscriptionState): SubscriptionStep {
  if (state.phase === "degraded" || state.phase === "starting") return { state, effects: NOTHING };
  const isLast = state.chunks.length === 0 && state.to === null;
  const flushed = isLast ? { ...state, flushedPosition: state.position } : state;
  if (state.waitingFor !== "flush") return { state: flushed, effects: NOTHING };
  return isLast ? read(flushed, NOTHING) : giveNext(flushed, NOTHING);
}

/** Who begins has lost nothing that it will not be given again. */
function setBack(state: SubscriptionState, at: Position | null): SubscriptionStep {
  if (state.phase === "starting") return { state, effects: NOTHING };
  return degrade(at === null ? state : { ...state, position: at, flushedPosition: at, wasEvicted: true });
}

function degrade(state: SubscriptionState): SubscriptionStep {
  return {
    state: { ...state, phase: "degraded", chunks: NO_CHUNKS, to: null, waitingFor: null },
    effects: NOTHING,
  };
}
