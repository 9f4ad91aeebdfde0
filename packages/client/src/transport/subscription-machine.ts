/**
 * One session on the connection, as a pure machine: when to subscribe, what of what comes is meant, and how far it is.
 *
 *   off ──wire──▶ asked ──subscribed──▶ replaying ──at the head──▶ live
 *    ▲             ▲  ▲                     │ again                 │ again; or begun anew, by the server (slow)
 *    │ lost        │  └─────────────────────┴───────────────────────┘
 *  (from any)      └── waiting ◀── the log can't be reached, or again and again      over: it is gone, or not ours
 *
 * Between a wish to begin again and its answer, what comes belongs to the beginning before, and is not passed on.
 */
import { comparePositions, parseCursor, type Position } from "@turnstream/protocol";
import { ClientError } from "../errors.ts";
import { backOff } from "./timing.ts";

export interface SubscriptionState {
  readonly phase: "off" | "asked" | "replaying" | "live" | "waiting" | "over";
  /** Whether what is shown is being replaced. */
  readonly isAnew: boolean;
  /** Which answer is waited for. */
  readonly request: number;
  readonly head: Position | null;
  /** How often it began again since it was live. */
  readonly retries: number;
  readonly retryAt: number | null;
  readonly error: ClientError | null;
}

export type SubscriptionInput =
  | { readonly type: "wire" | "lost" | "again" | "timer" }
  | {
      readonly type: "subscribed";
      /** Null when the server begins anew by itself. */
      readonly request: number | null;
      readonly resumed: boolean;
      readonly head: string | null;
      /** Where this client stands. */
      readonly cursor: string | null;
    }
  | { readonly type: "at"; readonly cursor: string }
  | { readonly type: "ended"; readonly reason: string }
  | { readonly type: "refused"; readonly request: number; readonly error: ClientError };

export interface SubscriptionStep {
  readonly state: SubscriptionState;
  /** Ask for it now, with `state.request`. */
  readonly subscribe: boolean;
  /** What came is for whoever watches. */
  readonly pass: boolean;
}

export const OFF: SubscriptionState = {
  phase: "off",
  isAnew: false,
  request: 0,
  head: null,
  retries: 0,
  retryAt: null,
  error: null,
};

export function stepSubscription(
  state: SubscriptionState,
  input: SubscriptionInput,
  { now, random }: { readonly now: number; readonly random: number },
): SubscriptionStep {
  switch (input.type) {
    case "wire":
      return state.phase === "over" ? quiet(state) : ask(state);
    case "lost":
      return state.phase === "over" ? quiet(state) : quiet({ ...state, phase: "off", retryAt: null });
    case "again": {
      if (state.phase === "off") return quiet({ ...state, isAnew: true });
      if (state.phase === "over") return ask({ ...state, isAnew: true, retries: 0, error: null });
      // Nothing comes meanwhile that could be wrong: a person says "now".
      if (state.phase === "waiting") return ask({ ...state, isAnew: true });
      const again = { ...state, isAnew: true, retries: state.retries + 1 };
      // Once at once: whatever was wrong may be so again.
      return again.retries === 1 ? ask(again) : wait(again, now, backOff(again.retries - 1, random));
    }
    case "timer":
      return state.phase === "waiting" ? ask(state) : quiet(state);
    case "subscribed": {
      if (state.phase === "asked" ? input.request !== state.request : !isHeard(state)) return quiet(state);
      if (input.request !== null && input.request !== state.request) return quiet(state);
      const head = input.head === null ? null : parseCursor(input.head);
      const isAnew = state.isAnew || (!input.resumed && input.cursor !== null);
      const begun: SubscriptionState = { ...state, phase: "replaying", head, isAnew, error: null };
      // Anew, there is nothing yet to be up to date with.
      return passed(input.resumed ? arrive(begun, input.cursor) : begun);
    }
    case "at":
      if (state.phase === "live") return passed(state);
      return state.phase === "replaying" ? passed(arrive(state, input.cursor)) : quiet(state);
    case "ended":
      if (!isHeard(state)) return quiet(state);
      if (input.reason === "gone")
        return quiet(over(state, new ClientError("NOT_FOUND", "The session is gone.")));
      return unavailable(state, now, random, null);
    case "refused": {
      if (state.phase !== "asked" || input.request !== state.request) return quiet(state);
      const { error } = input;
      return error.canRetry ? unavailable(state, now, random, error) : quiet(over(state, error));
    }
  }
}

function quiet(state: SubscriptionState): SubscriptionStep {
  return { state, subscribe: false, pass: false };
}

function passed(state: SubscriptionState): SubscriptionStep {
  return { state, subscribe: false, pass: true };
}

function isHeard({ phase }: SubscriptionState): boolean {
  return phase === "replaying" || phase === "live";
}

function ask(state: SubscriptionState): SubscriptionStep {
  const request = state.request + 1;
  return {
    state: { ...state, phase: "asked", request, head: null, retryAt: null },
    subscribe: true,
    pass: false,
  };
}

function wait(state: SubscriptionState, now: number, ms: number): SubscriptionStep {
  return quiet({ ...state, phase: "waiting", retryAt: now + ms });
}

function unavailable(
  state: SubscriptionState,
  now: number,
  random: number,
  why: ClientError | null,
): SubscriptionStep {
  const error =
    why ?? new ClientError("SERVER_ERROR", "The session can't be reached just now.", { canRetry: true });
  const retries = state.retries + 1;
  const ms = Math.max(backOff(retries, random), (error.retryAfterSeconds ?? 0) * 1_000);
  return wait({ ...state, retries, error }, now, ms);
}

function over(state: SubscriptionState, error: ClientError): SubscriptionState {
  return { ...state, phase: "over", retryAt: null, error };
}

/** Live as soon as it has seen all that was there when it began. */
function arrive(state: SubscriptionState, cursor: string | null): SubscriptionState {
  const at = cursor === null ? null : parseCursor(cursor);
  const isThere = state.head === null || (at !== null && comparePositions(at, state.head) >= 0);
  return isThere ? { ...state, phase: "live", isAnew: false, retries: 0 } : state;
}
