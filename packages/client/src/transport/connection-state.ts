/**
 * `ConnectionState` is the state of a client's connection, with the inputs and effects of its state machine.
 * `connection-machine.ts` has the rules.
 * Invariant: only `stepConnection` creates a new state. The results of an effect carry its `attempt`, so that the
 * machine can ignore late ones. `isUp` alone decides whether frames can be sent.
 */
import type { ClientError } from "../errors.ts";

export type ChannelName = "websocket" | "sse";

export interface ConnectionState {
  readonly phase:
    | "idle"
    | "authorizing"
    | "opening"
    | "open"
    | "probing"
    | "waiting"
    | "offline"
    | "hidden"
    | "closed";
  readonly attempt: number;
  readonly channel: ChannelName | null;
  /** Failed attempts since the connection was last live. */
  readonly failures: number;
  /** How often in a row the connection was lost soon after it opened. */
  readonly drops: number;
  readonly openedAt: number;
  /** Whether this channel has received anything, and whether a session has become live over it. */
  readonly hasReceived: boolean;
  readonly isLive: boolean;
  /** Whether to request new credentials, and whether that was done since the connection was last live. */
  readonly needsNewCredentials: boolean;
  readonly hasRenewed: boolean;
  /** How many sockets in a row did not open although authorized, or were lost before they received anything. */
  readonly failedSockets: number;
  readonly retrySocketsAt: number;
  readonly isOnline: boolean;
  /** Since when the page is hidden; null while it is visible. */
  readonly hiddenSince: number | null;
  readonly isFrozen: boolean;
  /** Since when the page is hidden and doesn't need its open connection; null while it does. */
  readonly unneededSince: number | null;
  readonly timerAt: number | null;
  readonly error: ClientError | null;
}

export type ConnectionInput =
  | { readonly type: "start" | "stop" }
  /** The result of `mayClose` may have changed. */
  | { readonly type: "activity" }
  /** Retry requested by the user: skip the backoff. */
  | { readonly type: "reconnect" }
  | { readonly type: "authorized" | "opened" | "live" | "received"; readonly attempt: number }
  | { readonly type: "rejected"; readonly attempt: number; readonly error: ClientError }
  | {
      readonly type: "closed";
      readonly attempt: number;
      readonly code: number;
      readonly retryAfterMs?: number;
      /** The cause, if the channel reported one. */
      readonly error?: ClientError;
    }
  /** @param receivedAt when the channel last received anything */
  | {
      readonly type: "page";
      readonly isOnline: boolean;
      readonly isHidden: boolean;
      readonly isFrozen: boolean;
      readonly receivedAt: number;
    }
  | { readonly type: "timer"; readonly receivedAt: number };

export type ConnectionEffect =
  /** Results in `authorized` or `rejected`. */
  | { readonly type: "authorize"; readonly attempt: number; readonly renew: boolean }
  | { readonly type: "open"; readonly attempt: number; readonly channel: ChannelName }
  | { readonly type: "probe" }
  /** Aborts the authorization and closes the channel. Nothing more is received from them. */
  | { readonly type: "drop" };

export interface ConnectionStep {
  readonly state: ConnectionState;
  readonly effects: readonly ConnectionEffect[];
}

export interface StepContext {
  readonly now: number;
  /** From 0 to 1. */
  readonly random: number;
  readonly channels: readonly ChannelName[];
  /** Whether the server has another dialect and may lack Turnstream's additions. */
  readonly isOtherDialect?: boolean;
  /** Whether a hidden page needs no connection now. */
  readonly mayClose?: boolean;
}

export const INITIAL_STATE: ConnectionState = {
  phase: "idle",
  attempt: 0,
  channel: null,
  failures: 0,
  drops: 0,
  openedAt: 0,
  hasReceived: false,
  isLive: false,
  needsNewCredentials: false,
  hasRenewed: false,
  failedSockets: 0,
  retrySocketsAt: 0,
  isOnline: true,
  hiddenSince: null,
  isFrozen: false,
  unneededSince: null,
  timerAt: null,
  error: null,
};

/** Returns true while frames can be sent and received. */
export function isUp({ phase }: ConnectionState): boolean {
  return phase === "open" || phase === "probing";
}
