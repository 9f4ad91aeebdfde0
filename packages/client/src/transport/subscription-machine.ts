/**
 * `stepSubscription` is the pure state machine of one session on the connection. It decides when to subscribe, which
 * frames to pass on, and when the session is live.
 *
 *   off ──connected──▶ requested ──subscribed──▶ replaying ──at the head──▶ live
 *    ▲                  ▲  ▲                         │ resync                │ resync; or restarted by the server (slow)
 *    │ disconnected     │  └─────────────────────────┴───────────────────────┘
 *   (from any)          └── waiting ◀── the log is unavailable, or several resyncs     ended: deleted, or no access
 *
 * Invariant: between a resync request and its reply, incoming frames belong to the previous subscription and are
 * dropped.
 */
import { comparePositions, parseCursor, type Position } from "@turnstream/protocol";
import { ClientError } from "../errors.ts";
import { backoffMs } from "./timing.ts";

/** The worker of the running turn was lost and another one will continue it, or no worker is running. */
type Stalled = "resuming" | "no_worker";

export interface SubscriptionState {
  readonly phase: "off" | "requested" | "replaying" | "live" | "waiting" | "ended";
  /** Whether the shown state is being replaced. */
  readonly isResync: boolean;
  /** The number of the pending request. */
  readonly request: number;
  readonly head: Position | null;
  /** How often it restarted since it was last live. */
  readonly retries: number;
  readonly retryAt: number | null;
  readonly error: ClientError | null;
  /** Why the session doesn't progress; null otherwise. The next event ends this state. */
  readonly stalled: Stalled | null;
}

export type SubscriptionInput =
  | { readonly type: "connected" | "disconnected" | "resync" | "timer" }
  | {
      readonly type: "subscribed";
      /** Null if the server restarts the subscription by itself. */
      readonly request: number | null;
      readonly resumed: boolean;
      readonly head: string | null;
      /** The position of this client. */
      readonly cursor: string | null;
    }
  | { readonly type: "position"; readonly cursor: string }
  | { readonly type: Stalled }
  | { readonly type: "ended"; readonly reason: string }
  | { readonly type: "rejected"; readonly request: number; readonly error: ClientError };

export interface SubscriptionStep {
  readonly state: SubscriptionState;
  /** Send a subscribe request now, with `state.request`. */
  readonly subscribe: boolean;
  /** Pass the frame to the subscriber. */
  readonly pass: boolean;
}

export const INITIAL_SUBSCRIPTION: SubscriptionState = {
  phase: "off",
  isResync: false,
  request: 0,
  head: null,
  retries: 0,
  retryAt: null,
  error: null,
  stalled: null,
};

export function stepSubscription(
  state: SubscriptionState,
  input: SubscriptionInput,
  { now, random }: { readonly now: number; readonly random: number },
): SubscriptionStep {
  switch (input.type) {
    case "connected":
      return state.phase === "ended" ? stay(state) : requestSubscription(state);
    case "disconnected":
      return state.phase === "ended" ? stay(state) : stay({ ...state, phase: "off", retryAt: null });
    case "resync": {
      if (state.phase === "off") return stay({ ...state, isResync: true });
      if (state.phase === "ended")
        return requestSubscription({ ...state, isResync: true, retries: 0, error: null });
      // While waiting, no frames arrive that could be wrong, and the user requested an immediate retry.
      if (state.phase === "waiting") return requestSubscription({ ...state, isResync: true });
      const again = { ...state, isResync: true, retries: state.retries + 1 };
      // Retry immediately once. Back off after that, because the cause may persist.
      return again.retries === 1
        ? requestSubscription(again)
        : waitFor(again, now, backoffMs(again.retries - 1, random));
    }
    case "timer":
      return state.phase === "waiting" ? requestSubscription(state) : stay(state);
    case "subscribed": {
      if (state.phase === "requested" ? input.request !== state.request : !isReceiving(state))
        return stay(state);
      if (input.request !== null && input.request !== state.request) return stay(state);
      const head = input.head === null ? null : parseCursor(input.head);
      const isResync = state.isResync || (!input.resumed && input.cursor !== null);
      const subscribed: SubscriptionState = {
        ...state,
        phase: "replaying",
        head,
        isResync,
        error: null,
        stalled: null,
      };
      // After a restart the state is not loaded yet, so it can't be at the head.
      return pass(input.resumed ? checkHead(subscribed, input.cursor) : subscribed);
    }
    case "position":
      if (state.phase === "live") return pass(resumed(state));
      return state.phase === "replaying" ? pass(checkHead(state, input.cursor)) : stay(state);
    case "resuming":
    case "no_worker":
      return stay(state.phase === "live" ? { ...state, stalled: input.type } : state);
    case "ended":
      // Also while it waits for the reply: a server whose log is unreachable ends the subscription before it starts.
      if (!isReceiving(state) && state.phase !== "requested") return stay(state);
      if (input.reason === "gone")
        return stay(end(state, new ClientError("NOT_FOUND", "The session was deleted.")));
      return unavailable(state, now, random, null);
    case "rejected": {
      if (state.phase !== "requested" || input.request !== state.request) return stay(state);
      const { error } = input;
      return error.canRetry ? unavailable(state, now, random, error) : stay(end(state, error));
    }
  }
}

function stay(state: SubscriptionState): SubscriptionStep {
  return { state, subscribe: false, pass: false };
}

function pass(state: SubscriptionState): SubscriptionStep {
  return { state, subscribe: false, pass: true };
}

function resumed(state: SubscriptionState): SubscriptionState {
  return state.stalled === null ? state : { ...state, stalled: null };
}

function isReceiving({ phase }: SubscriptionState): boolean {
  return phase === "replaying" || phase === "live";
}

function requestSubscription(state: SubscriptionState): SubscriptionStep {
  const request = state.request + 1;
  return {
    state: { ...state, phase: "requested", request, head: null, retryAt: null },
    subscribe: true,
    pass: false,
  };
}

function waitFor(state: SubscriptionState, now: number, ms: number): SubscriptionStep {
  return stay({ ...state, phase: "waiting", retryAt: now + ms });
}

function unavailable(
  state: SubscriptionState,
  now: number,
  random: number,
  cause: ClientError | null,
): SubscriptionStep {
  const error =
    cause ?? new ClientError("SERVER_ERROR", "The session is currently unavailable.", { canRetry: true });
  const retries = state.retries + 1;
  const ms = backoffMs(retries, random) + (error.retryAfterSeconds ?? 0) * 1_000;
  return waitFor({ ...state, retries, error }, now, ms);
}

function end(state: SubscriptionState, error: ClientError): SubscriptionState {
  return { ...state, phase: "ended", retryAt: null, error };
}

/** The subscription is live once it has reached the head of its start. */
function checkHead(state: SubscriptionState, cursor: string | null): SubscriptionState {
  const position = cursor === null ? null : parseCursor(cursor);
  const isAtHead = state.head === null || (position !== null && comparePositions(position, state.head) >= 0);
  return isAtHead ? { ...state, phase: "live", isResync: false, retries: 0 } : state;
}

/**
 * Returns the id of a subscribe request, which the reply repeats. @param key identifies the session on this connection
 */
export function formatRequestId(key: string, request: number): string {
  return `${key}.${request}`;
}

export function parseRequestId(id: string): { readonly key: string; readonly request: number } {
  const dot = id.indexOf(".");
  return { key: id.slice(0, dot), request: Number(id.slice(dot + 1)) };
}
