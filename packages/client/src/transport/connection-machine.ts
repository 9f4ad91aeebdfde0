/**
 * The one connection of a client, as a pure machine. It says what to do, and does nothing.
 *
 *   idle ──start──▶ asking ──admitted──▶ opening ──opened──▶ open ◀──heard── probing
 *    ▲ stop           ▲ │                   │                 │ quiet: asks ──▶ │
 *    │ (from any)     │ │ refused           │ closed          │ closed          │ no answer
 *                     │ ▼                   ▼                 ▼                 ▼
 *     timer, woken ─ waiting, or offline while the machine has no network; closed when there is no use in trying
 *
 * `asking` gets credentials and a ticket, so that a refusal has words and a socket that doesn't open, or over which nothing
 * comes, is known to be one that doesn't pass: after the second, event streams are used for a while. What is late, of
 * another attempt than the last, is not heard. There is one timer, `timerAt`.
 */
import { ClientError } from "../errors.ts";
import { backOff, PACE, spread } from "./timing.ts";

export type WireName = "socket" | "stream";

export interface ConnectionState {
  readonly phase: "idle" | "asking" | "opening" | "open" | "probing" | "waiting" | "offline" | "closed";
  readonly attempt: number;
  readonly wire: WireName | null;
  /** Attempts that have failed since it was last live. */
  readonly failures: number;
  /** How often in a row it was lost soon after it had opened. */
  readonly drops: number;
  readonly openedAt: number;
  /** Whether anything has come over this wire; and whether a session has come up to date over it. */
  readonly hasHeard: boolean;
  readonly isLive: boolean;
  /** Credentials are to be asked anew; and whether they were since it was last live. */
  readonly isRefused: boolean;
  readonly isRenewed: boolean;
  /** How many sockets in a row were admitted and didn't open, or were lost before anything came. */
  readonly shutSockets: number;
  readonly socketsAgainAt: number;
  readonly isOnline: boolean;
  readonly isHidden: boolean;
  readonly timerAt: number | null;
  readonly error: ClientError | null;
}

export type ConnectionInput =
  | { readonly type: "start" | "stop" }
  /** A person says: now. */
  | { readonly type: "again" }
  | { readonly type: "admitted" | "opened" | "live" | "heard"; readonly attempt: number }
  | { readonly type: "refused"; readonly attempt: number; readonly error: ClientError }
  | {
      readonly type: "closed";
      readonly attempt: number;
      readonly code: number;
      readonly retryAfterMs?: number;
    }
  /** @param heardAt when the wire last said anything */
  | {
      readonly type: "outside";
      readonly isOnline: boolean;
      readonly isHidden: boolean;
      readonly heardAt: number;
    }
  | { readonly type: "timer"; readonly heardAt: number };

export type ConnectionEffect =
  /** Answered by `admitted` or `refused`. */
  | { readonly type: "ask"; readonly attempt: number; readonly renew: boolean }
  | { readonly type: "open"; readonly attempt: number; readonly wire: WireName }
  | { readonly type: "probe" }
  /** Lets go of what was asked or opened: nothing more is heard of it. */
  | { readonly type: "drop" };

export interface ConnectionStep {
  readonly state: ConnectionState;
  readonly effects: readonly ConnectionEffect[];
}

export interface Moment {
  readonly now: number;
  /** From 0 to 1. */
  readonly random: number;
  readonly wires: readonly WireName[];
  /** Whether the server may be one that knows only the documents. */
  readonly isForeign?: boolean;
}

export const IDLE: ConnectionState = {
  phase: "idle",
  attempt: 0,
  wire: null,
  failures: 0,
  drops: 0,
  openedAt: 0,
  hasHeard: false,
  isLive: false,
  isRefused: false,
  isRenewed: false,
  shutSockets: 0,
  socketsAgainAt: 0,
  isOnline: true,
  isHidden: false,
  timerAt: null,
  error: null,
};

const NONE: readonly ConnectionEffect[] = [];
const DROP: readonly ConnectionEffect[] = [{ type: "drop" }];

export function stepConnection(
  state: ConnectionState,
  input: ConnectionInput,
  moment: Moment,
): ConnectionStep {
  if ("attempt" in input && input.attempt !== state.attempt) return only(state);
  switch (input.type) {
    case "start":
      return state.phase === "idle" ? ask(state, moment, NONE) : only(state);
    case "stop":
      return {
        state: { ...state, phase: "idle", wire: null, timerAt: null, failures: 0, error: null },
        effects: hasWork(state) ? DROP : NONE,
      };
    case "again":
      return isIdleWait(state.phase) || state.phase === "closed"
        ? ask({ ...state, failures: 0, isRenewed: false }, moment, NONE)
        : only(state);
    case "admitted":
      return state.phase === "asking" ? open(state, moment) : only(state);
    case "refused":
      return state.phase === "asking" ? refused(state, input.error, moment) : only(state);
    case "opened":
      if (state.phase !== "opening") return only(state);
      return only({ ...state, phase: "open", openedAt: moment.now, ...quiet(state, moment) });
    case "live":
      return isUp(state) && !state.isLive ? live(state, moment) : only(state);
    case "heard":
      return isUp(state) ? heard(state, moment) : only(state);
    case "closed":
      return closed(state, input, moment);
    case "outside":
      return outside(state, input, moment);
    case "timer":
      return timer({ ...state, timerAt: null }, input.heardAt, moment);
  }
}

function only(state: ConnectionState): ConnectionStep {
  return { state, effects: NONE };
}

/** Whether frames come and go. */
export function isUp({ phase }: ConnectionState): boolean {
  return phase === "open" || phase === "probing";
}

function hasWork(state: ConnectionState): boolean {
  return state.phase === "asking" || state.phase === "opening" || isUp(state);
}

function isIdleWait(phase: ConnectionState["phase"]): boolean {
  return phase === "waiting" || phase === "offline";
}

/** For how long a wire may say nothing. */
function quietMs({ wire, hasHeard }: ConnectionState, { isForeign = false }: Moment): number {
  if (wire === "socket") return hasHeard ? PACE.quietMs : PACE.firstWordMs;
  return isForeign ? PACE.foreignQuietMs : PACE.streamQuietMs;
}

/** While quiet, the next time to look. */
function quiet(state: ConnectionState, moment: Moment): { readonly timerAt: number } {
  return { timerAt: moment.now + quietMs(state, moment) };
}

function ask(state: ConnectionState, { now }: Moment, before: readonly ConnectionEffect[]): ConnectionStep {
  const attempt = state.attempt + 1;
  const { isRefused: renew } = state;
  return {
    state: {
      ...state,
      phase: "asking",
      attempt,
      wire: null,
      hasHeard: false,
      isLive: false,
      isRefused: false,
      isRenewed: state.isRenewed || renew,
      timerAt: now + PACE.askMs,
    },
    effects: [...before, { type: "ask", attempt, renew }],
  };
}

function open(state: ConnectionState, moment: Moment): ConnectionStep {
  const { now, wires } = moment;
  const isShut = state.shutSockets >= 2 && now < state.socketsAgainAt;
  const wire = wires.find((name) => name !== "socket" || !isShut) ?? wires[0] ?? "socket";
  return {
    state: { ...state, phase: "opening", wire, timerAt: now + PACE.openMs },
    effects: [{ type: "open", attempt: state.attempt, wire }],
  };
}

function live(before: ConnectionState, moment: Moment): ConnectionStep {
  const { state } = heard(before, moment);
  const shutSockets = state.wire === "socket" ? 0 : state.shutSockets;
  return only({ ...state, isLive: true, shutSockets, failures: 0, isRenewed: false, error: null });
}

function heard(state: ConnectionState, moment: Moment): ConnectionStep {
  if (state.phase === "open" && state.hasHeard) return only(state);
  const next: ConnectionState = { ...state, phase: "open", hasHeard: true };
  return only({ ...next, ...quiet(next, moment) });
}

function refused(state: ConnectionState, error: ClientError, moment: Moment): ConnectionStep {
  switch (error.code) {
    case "UNAUTHENTICATED":
      if (state.isRenewed) return shut(state, error, NONE);
      return ask({ ...state, isRefused: true }, moment, NONE);
    case "FORBIDDEN":
    case "NOT_FOUND":
    case "BAD_REQUEST":
      return shut(state, error, NONE);
    default: {
      const waitMs = (error.retryAfterSeconds ?? 0) * 1_000;
      return fail({ ...state, error }, moment, NONE, waitMs);
    }
  }
}

/** There is no use in trying again by itself. */
function shut(
  state: ConnectionState,
  error: ClientError,
  effects: readonly ConnectionEffect[],
): ConnectionStep {
  return { state: { ...state, phase: "closed", wire: null, timerAt: null, error }, effects };
}

/** An attempt led to nothing. */
function fail(
  state: ConnectionState,
  moment: Moment,
  effects: readonly ConnectionEffect[],
  leastMs = 0,
): ConnectionStep {
  const failures = state.failures + 1;
  return wait({ ...state, failures }, moment, effects, Math.max(leastMs, backOff(failures, moment.random)));
}

function wait(
  state: ConnectionState,
  { now }: Moment,
  effects: readonly ConnectionEffect[],
  ms: number,
): ConnectionStep {
  const { isOnline } = state;
  const timerAt = now + (isOnline ? ms : Math.max(ms, PACE.offlineMs));
  return { state: { ...state, phase: isOnline ? "waiting" : "offline", wire: null, timerAt }, effects };
}

/** It was open, and is gone. */
function lost(
  state: ConnectionState,
  moment: Moment,
  effects: readonly ConnectionEffect[],
  leastMs = 0,
): ConnectionStep {
  const isShort = moment.now - state.openedAt < PACE.shortMs;
  const drops = isShort ? state.drops + 1 : 0;
  if (!state.isLive) return fail({ ...state, drops }, moment, effects, leastMs);
  // Quick once; but a server that lets everybody in and drops them is not stormed.
  const ms = Math.max(leastMs, backOff(Math.max(0, drops - 2), moment.random));
  return wait({ ...state, drops }, moment, effects, ms);
}

function closed(
  state: ConnectionState,
  { code, retryAfterMs = 0 }: ConnectionInput & { readonly type: "closed" },
  moment: Moment,
): ConnectionStep {
  if (state.phase === "opening" && code !== 4401) return notOpened(state, moment, NONE);
  if (state.phase !== "opening" && !isUp(state)) return only(state);
  switch (code) {
    case 4401:
      if (state.isRenewed && !state.isLive)
        return shut(state, new ClientError("UNAUTHENTICATED", "Sign in again."), NONE);
      return lost({ ...state, isRefused: true }, moment, NONE);
    case 4400:
    case 1003:
      return shut(
        state,
        new ClientError("BAD_REQUEST", "The server can't read what this client sends. Reload the page."),
        NONE,
      );
    case 1009:
      return shut(
        state,
        new ClientError("TOO_LARGE", "What was sent is over the server's limit. Send less."),
        NONE,
      );
    case 1012:
      return lost(state, moment, NONE, Math.max(retryAfterMs, spread(moment.random)));
    case 4429:
      return lost(state, moment, NONE, 5_000 + spread(moment.random));
    default:
      return lost(state.hasHeard ? state : unpassed(state, moment), moment, NONE, retryAfterMs);
  }
}

/** It was let in, and yet nothing came: sockets may not pass here. */
function unpassed(state: ConnectionState, { now }: Moment): ConnectionState {
  if (state.wire !== "socket" || state.isLive) return state;
  return { ...state, shutSockets: state.shutSockets + 1, socketsAgainAt: now + PACE.streamsForMs };
}

function notOpened(
  state: ConnectionState,
  moment: Moment,
  effects: readonly ConnectionEffect[],
): ConnectionStep {
  const error = new ClientError("OFFLINE", "The connection could not be opened.", { canRetry: true });
  return fail({ ...unpassed(state, moment), error }, moment, effects);
}

function outside(
  before: ConnectionState,
  { isOnline, isHidden, heardAt }: ConnectionInput & { readonly type: "outside" },
  moment: Moment,
): ConnectionStep {
  const state = { ...before, isOnline, isHidden };
  const isBack = isOnline && !before.isOnline;
  const isSeen = !isHidden && before.isHidden;
  if (!isOnline && before.isOnline) {
    if (hasWork(state)) return wait(state, moment, DROP, 0);
    return state.phase === "waiting" ? wait(state, moment, NONE, 0) : only(state);
  }
  if (!isBack && !isSeen) return only(state);
  // Another network may let sockets pass.
  const woken = isBack ? { ...state, shutSockets: 0 } : state;
  if (isIdleWait(state.phase)) return isOnline ? ask(woken, moment, NONE) : only(state);
  if (state.phase !== "open") return only(woken);
  if (state.wire === "stream") {
    const isDue = woken.shutSockets < 2 || moment.now >= state.socketsAgainAt;
    const isSilent = moment.now - heardAt >= quietMs(state, moment);
    return (isDue && moment.wires.includes("socket")) || isSilent ? ask(woken, moment, DROP) : only(woken);
  }
  return moment.now - heardAt >= PACE.freshMs || isBack ? probe(woken, moment) : only(woken);
}

function probe(state: ConnectionState, { now, isForeign = false }: Moment): ConnectionStep {
  const answerMs = isForeign ? PACE.foreignQuietMs - PACE.quietMs : PACE.answerMs;
  return {
    state: { ...state, phase: "probing", timerAt: now + answerMs },
    effects: [{ type: "probe" }],
  };
}

const SILENT = "The server has not answered for a while.";

function timer(state: ConnectionState, heardAt: number, moment: Moment): ConnectionStep {
  switch (state.phase) {
    case "idle":
    case "closed":
      return only(state);
    case "asking": {
      const error = new ClientError("OFFLINE", SILENT, { canRetry: true });
      return fail({ ...state, error }, moment, DROP);
    }
    case "opening":
      return notOpened(state, moment, DROP);
    case "probing": {
      const error = new ClientError("OFFLINE", SILENT, { canRetry: true });
      return lost({ ...unpassed(state, moment), error }, moment, DROP);
    }
    case "waiting":
    case "offline":
      return ask(state, moment, NONE);
    case "open": {
      const limitMs = quietMs(state, moment);
      // Heard later than now, the clock was put back: nobody knows since when it is quiet.
      if (heardAt <= moment.now && moment.now - heardAt < limitMs)
        return only({ ...state, timerAt: heardAt + limitMs });
      // Nobody looks, and a phone that sleeps would wake for it: who looks again asks first.
      if (state.isHidden)
        return only({ ...state, timerAt: moment.now + quietMs({ ...state, hasHeard: true }, moment) });
      if (state.wire === "socket") return probe(state, moment);
      return lost({ ...state, error: new ClientError("OFFLINE", SILENT, { canRetry: true }) }, moment, DROP);
    }
  }
}
