/** The state of a client's connection, and the inputs and effects of its machine. The rules are in connection-machine.ts. */
import type { ClientError } from "../errors.ts";

export type ChannelName = "websocket" | "sse";

export interface ConnectionState {
  readonly phase: "idle" | "authorizing" | "opening" | "open" | "probing" | "waiting" | "offline" | "closed";
  readonly attempt: number;
  readonly channel: ChannelName | null;
  /** Attempts that have failed since it was last live. */
  readonly failures: number;
  /** How often in a row it was lost soon after it had opened. */
  readonly drops: number;
  readonly openedAt: number;
  /** Whether anything has come over this channel; and whether a session has come up to date over it. */
  readonly hasReceived: boolean;
  readonly isLive: boolean;
  /** Credentials are to be asked anew; and whether they were since it was last live. */
  readonly needsNewCredentials: boolean;
  readonly hasRenewed: boolean;
  /** How many sockets in a row were admitted and didn't open, or were lost before anything came. */
  readonly failedSockets: number;
  readonly retrySocketsAt: number;
  readonly isOnline: boolean;
  readonly isHidden: boolean;
  readonly timerAt: number | null;
  readonly error: ClientError | null;
}

export type ConnectionInput =
  | { readonly type: "start" | "stop" }
  /** Retry requested by the user: skip the backoff. */
  | { readonly type: "reconnect" }
  | { readonly type: "authorized" | "opened" | "live" | "received"; readonly attempt: number }
  | { readonly type: "rejected"; readonly attempt: number; readonly error: ClientError }
  | {
      readonly type: "closed";
      readonly attempt: number;
      readonly code: number;
      readonly retryAfterMs?: number;
    }
  /** @param receivedAt when the channel last received anything */
  | {
      readonly type: "page";
      readonly isOnline: boolean;
      readonly isHidden: boolean;
      readonly receivedAt: number;
    }
  | { readonly type: "timer"; readonly receivedAt: number };

export type ConnectionEffect =
  /** Answered by `authorized` or `rejected`. */
  | { readonly type: "authorize"; readonly attempt: number; readonly renew: boolean }
  | { readonly type: "open"; readonly attempt: number; readonly channel: ChannelName }
  | { readonly type: "probe" }
  /** Closes what was requested or opened: nothing more is received from it. */
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
  /** Whether the server may be one that knows only the documents. */
  readonly isOtherDialect?: boolean;
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
  isHidden: false,
  timerAt: null,
  error: null,
};

/** Whether frames come and go. */
export function isUp({ phase }: ConnectionState): boolean {
  return phase === "open" || phase === "probing";
}
