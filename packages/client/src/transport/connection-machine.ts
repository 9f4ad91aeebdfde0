/**
 * `stepConnection` is the pure state machine of a client's one connection. It returns effects and executes none.
 *
 *   idle ──start──▶ authorizing ──authorized──▶ opening ──opened──▶ open ◀──received── probing
 *    ▲ stop           ▲ │                          │                 │ idle: probe ───▶ │
 *    │ (from any)     │ │ rejected                 │ closed          │ closed           │ no reply
 *                     │ ▼                          ▼                 ▼                  ▼
 *     timer, woken ─ waiting, or offline without a network; closed if a retry is useless
 *
 *   open ──hidden for a minute, not needed──▶ hidden ──shown, or needed again──▶ authorizing
 *   (any but idle and closed) ──frozen──▶ hidden ──resumed, and shown or needed──▶ authorizing
 *
 * `authorizing` gets credentials and a ticket, so that a rejection has an error code. A socket that then does not open,
 * or that receives nothing, counts as blocked. After the second blocked socket, SSE is used for a while. `hidden` is no
 * failure: it has no error, no timer and no channel.
 * Invariant: inputs of an earlier attempt are ignored, and there is one timer, `timerAt`. Whether the connection is
 * `hidden` follows from the page and from `mayClose` after each input, so no input can be missed.
 */
import { ClientError } from "../errors.ts";
import {
  type ConnectionEffect,
  type ConnectionInput,
  type ConnectionState,
  type ConnectionStep,
  isUp,
  type StepContext,
} from "./connection-state.ts";
import { backoffMs, jitterMs, TIMING } from "./timing.ts";

const NO_EFFECTS: readonly ConnectionEffect[] = [];
const CLOSE_CHANNEL: readonly ConnectionEffect[] = [{ type: "drop" }];

export function stepConnection(
  state: ConnectionState,
  input: ConnectionInput,
  context: StepContext,
): ConnectionStep {
  if ("attempt" in input && input.attempt !== state.attempt) return stay(state);
  return followVisibility(apply(state, input, context), context);
}

function apply(state: ConnectionState, input: ConnectionInput, context: StepContext): ConnectionStep {
  switch (input.type) {
    case "start":
      // A session that is new to a hidden page is not loaded yet.
      return state.phase === "idle" || state.phase === "hidden"
        ? authorize(state, context, NO_EFFECTS)
        : stay(state);
    case "stop":
      return {
        state: { ...state, phase: "idle", channel: null, timerAt: null, failures: 0, error: null },
        effects: isConnecting(state) ? CLOSE_CHANNEL : NO_EFFECTS,
      };
    case "activity":
      return stay(state);
    case "reconnect":
      return isWaiting(state.phase) || state.phase === "hidden" || state.phase === "closed"
        ? authorize({ ...state, failures: 0, hasRenewed: false }, context, NO_EFFECTS)
        : stay(state);
    case "authorized":
      return state.phase === "authorizing" ? open(state, context) : stay(state);
    case "rejected":
      return state.phase === "authorizing" ? rejected(state, input.error, context) : stay(state);
    case "opened":
      if (state.phase !== "opening") return stay(state);
      return stay({ ...state, phase: "open", openedAt: context.now, ...idleTimer(state, context) });
    case "live":
      return isUp(state) && !state.isLive ? live(state, context) : stay(state);
    case "received":
      return isUp(state) ? receive(state, context) : stay(state);
    case "closed":
      return closed(state, input, context);
    case "page":
      return pageChanged(state, input, context);
    case "timer":
      return timer({ ...state, timerAt: null }, input.receivedAt, context);
  }
}

function stay(state: ConnectionState): ConnectionStep {
  return { state, effects: NO_EFFECTS };
}

function isConnecting(state: ConnectionState): boolean {
  return state.phase === "authorizing" || state.phase === "opening" || isUp(state);
}

function isWaiting(phase: ConnectionState["phase"]): boolean {
  return phase === "waiting" || phase === "offline";
}

/** Closes the connection of a hidden page, or opens it again. */
function followVisibility({ state, effects }: ConnectionStep, context: StepContext): ConnectionStep {
  const { phase, hiddenSince, isFrozen } = state;
  const { now, mayClose = false } = context;
  if (phase === "idle" || phase === "closed") return { state, effects };
  if (phase === "hidden") {
    if (isFrozen || (hiddenSince !== null && mayClose)) return { state, effects };
    return state.isOnline ? authorize(state, context, effects) : wait(state, context, effects, 0);
  }
  // The scripts of a frozen page don't run, and an open socket keeps a page out of the back/forward cache.
  if (isFrozen) return hide(state, effects);
  if (!isUp(state) || hiddenSince === null || !mayClose) {
    return { state: state.unneededSince === null ? state : { ...state, unneededSince: null }, effects };
  }
  const unneededSince = state.unneededSince ?? now;
  const closeAt = Math.max(hiddenSince + TIMING.hiddenMs, unneededSince + TIMING.unneededMs);
  if (now >= closeAt) return hide(state, effects);
  // The timer of a probe waits for its reply.
  const timerAt = phase === "probing" ? state.timerAt : Math.min(state.timerAt ?? closeAt, closeAt);
  return { state: { ...state, unneededSince, timerAt }, effects };
}

function hide(state: ConnectionState, effects: readonly ConnectionEffect[]): ConnectionStep {
  return {
    state: {
      ...state,
      phase: "hidden",
      channel: null,
      failures: 0,
      drops: 0,
      isLive: false,
      unneededSince: null,
      timerAt: null,
      error: null,
    },
    effects: isConnecting(state) ? [...effects, ...CLOSE_CHANNEL] : effects,
  };
}

/** Returns how long a channel may receive nothing. */
function idleLimitMs(
  { channel, hasReceived }: ConnectionState,
  { isOtherDialect = false }: StepContext,
): number {
  if (channel === "websocket") return hasReceived ? TIMING.websocketIdleMs : TIMING.firstFrameMs;
  return isOtherDialect ? TIMING.dialectIdleMs : TIMING.sseIdleMs;
}

/** Returns the time of the next idle check. */
function idleTimer(state: ConnectionState, context: StepContext): { readonly timerAt: number } {
  return { timerAt: context.now + idleLimitMs(state, context) };
}

function authorize(
  state: ConnectionState,
  { now }: StepContext,
  before: readonly ConnectionEffect[],
): ConnectionStep {
  const attempt = state.attempt + 1;
  const { needsNewCredentials: renew } = state;
  return {
    state: {
      ...state,
      phase: "authorizing",
      attempt,
      channel: null,
      hasReceived: false,
      isLive: false,
      needsNewCredentials: false,
      hasRenewed: state.hasRenewed || renew,
      timerAt: now + TIMING.authorizeMs,
    },
    effects: [...before, { type: "authorize", attempt, renew }],
  };
}

function open(state: ConnectionState, context: StepContext): ConnectionStep {
  const { now, channels } = context;
  const isSocketBlocked = state.failedSockets >= 2 && now < state.retrySocketsAt;
  const channel =
    channels.find((name) => name !== "websocket" || !isSocketBlocked) ?? channels[0] ?? "websocket";
  return {
    state: { ...state, phase: "opening", channel, timerAt: now + TIMING.openMs },
    effects: [{ type: "open", attempt: state.attempt, channel }],
  };
}

function live(before: ConnectionState, context: StepContext): ConnectionStep {
  const { state } = receive(before, context);
  const failedSockets = state.channel === "websocket" ? 0 : state.failedSockets;
  return stay({
    ...state,
    isLive: true,
    failedSockets,
    failures: 0,
    hasRenewed: false,
    error: null,
  });
}

function receive(state: ConnectionState, context: StepContext): ConnectionStep {
  if (state.phase === "open" && state.hasReceived) return stay(state);
  const next: ConnectionState = { ...state, phase: "open", hasReceived: true };
  return stay({ ...next, ...idleTimer(next, context) });
}

function rejected(state: ConnectionState, error: ClientError, context: StepContext): ConnectionStep {
  switch (error.code) {
    case "UNAUTHENTICATED":
      if (state.hasRenewed) return close(state, error, NO_EFFECTS);
      return authorize({ ...state, needsNewCredentials: true }, context, NO_EFFECTS);
    case "FORBIDDEN":
    case "NOT_FOUND":
    case "BAD_REQUEST":
      return close(state, error, NO_EFFECTS);
    default: {
      const waitMs = (error.retryAfterSeconds ?? 0) * 1_000;
      return fail({ ...state, error }, context, NO_EFFECTS, waitMs);
    }
  }
}

/** Closes the connection, because an automatic retry is useless. */
function close(
  state: ConnectionState,
  error: ClientError,
  effects: readonly ConnectionEffect[],
): ConnectionStep {
  return { state: { ...state, phase: "closed", channel: null, timerAt: null, error }, effects };
}

/** Handles a failed attempt. */
function fail(
  state: ConnectionState,
  context: StepContext,
  effects: readonly ConnectionEffect[],
  minMs = 0,
): ConnectionStep {
  const failures = state.failures + 1;
  // Added, so that clients that wait for the same time don't retry together.
  return wait({ ...state, failures }, context, effects, minMs + backoffMs(failures, context.random));
}

function wait(
  state: ConnectionState,
  { now }: StepContext,
  effects: readonly ConnectionEffect[],
  ms: number,
): ConnectionStep {
  const { isOnline } = state;
  const timerAt = now + (isOnline ? ms : Math.max(ms, TIMING.offlineRetryMs));
  return { state: { ...state, phase: isOnline ? "waiting" : "offline", channel: null, timerAt }, effects };
}

/** Handles the loss of an open connection. */
function disconnected(
  state: ConnectionState,
  context: StepContext,
  effects: readonly ConnectionEffect[],
  minMs = 0,
): ConnectionStep {
  const isShort = context.now - state.openedAt < TIMING.shortConnectionMs;
  const drops = isShort ? state.drops + 1 : 0;
  if (!state.isLive) return fail({ ...state, drops }, context, effects, minMs);
  // Reconnect quickly at first. Back off after repeated drops, so that a server that accepts and drops all clients is
  // not flooded.
  const ms = Math.max(minMs, backoffMs(Math.max(0, drops - 2), context.random));
  return wait({ ...state, drops }, context, effects, ms);
}

function closed(
  before: ConnectionState,
  { code, retryAfterMs = 0, error }: ConnectionInput & { readonly type: "closed" },
  context: StepContext,
): ConnectionStep {
  if (before.phase === "opening" && code !== 4401) return openFailed(before, context, NO_EFFECTS, error);
  const state = error === undefined ? before : { ...before, error };
  if (state.phase !== "opening" && !isUp(state)) return stay(state);
  switch (code) {
    case 4401:
      if (state.hasRenewed && !state.isLive)
        return close(state, new ClientError("UNAUTHENTICATED", "Sign in again."), NO_EFFECTS);
      return disconnected({ ...state, needsNewCredentials: true }, context, NO_EFFECTS);
    case 4400:
    case 1003:
      return close(
        state,
        new ClientError("BAD_REQUEST", "The server rejected a malformed frame. Reload the page."),
        NO_EFFECTS,
      );
    case 1009:
      return close(
        state,
        new ClientError("TOO_LARGE", "A message exceeds the server's size limit. Send less."),
        NO_EFFECTS,
      );
    case 1012:
      return disconnected(state, context, NO_EFFECTS, Math.max(retryAfterMs, jitterMs(context.random)));
    case 4429:
      return disconnected(state, context, NO_EFFECTS, 5_000 + jitterMs(context.random));
    default:
      return disconnected(
        state.hasReceived ? state : countFailedSocket(state, context),
        context,
        NO_EFFECTS,
        retryAfterMs,
      );
  }
}

/** The server accepted the ticket, but the socket received nothing: the network may block sockets. */
function countFailedSocket(state: ConnectionState, { now }: StepContext): ConnectionState {
  if (state.channel !== "websocket" || state.isLive) return state;
  return { ...state, failedSockets: state.failedSockets + 1, retrySocketsAt: now + TIMING.sseFallbackMs };
}

function openFailed(
  state: ConnectionState,
  context: StepContext,
  effects: readonly ConnectionEffect[],
  cause?: ClientError,
): ConnectionStep {
  const error = new ClientError("OFFLINE", "The connection could not be opened.", { canRetry: true, cause });
  return fail({ ...countFailedSocket(state, context), error }, context, effects);
}

function pageChanged(
  before: ConnectionState,
  { isOnline, isHidden, isFrozen, receivedAt }: ConnectionInput & { readonly type: "page" },
  context: StepContext,
): ConnectionStep {
  const hiddenSince = isHidden ? (before.hiddenSince ?? context.now) : null;
  const state = { ...before, isOnline, hiddenSince, isFrozen };
  const isBack = isOnline && !before.isOnline;
  const isShown = !isHidden && before.hiddenSince !== null;
  if (!isOnline && before.isOnline) {
    if (isConnecting(state)) return wait(state, context, CLOSE_CHANNEL, 0);
    return state.phase === "waiting" ? wait(state, context, NO_EFFECTS, 0) : stay(state);
  }
  if (!isBack && !isShown) return stay(state);
  // Another network may not block sockets.
  const woken = isBack ? { ...state, failedSockets: 0 } : state;
  if (isWaiting(state.phase)) return isOnline ? authorize(woken, context, NO_EFFECTS) : stay(state);
  if (state.phase !== "open") return stay(woken);
  if (state.channel === "sse") {
    const isDue = woken.failedSockets < 2 || context.now >= state.retrySocketsAt;
    const isSilent = context.now - receivedAt >= idleLimitMs(state, context);
    return (isDue && context.channels.includes("websocket")) || isSilent
      ? authorize(woken, context, CLOSE_CHANNEL)
      : stay(woken);
  }
  return context.now - receivedAt >= TIMING.recentMs || isBack ? probe(woken, context) : stay(woken);
}

function probe(state: ConnectionState, { now, isOtherDialect = false }: StepContext): ConnectionStep {
  const answerMs = isOtherDialect ? TIMING.dialectIdleMs - TIMING.websocketIdleMs : TIMING.pongMs;
  return {
    state: { ...state, phase: "probing", timerAt: now + answerMs },
    effects: [{ type: "probe" }],
  };
}

const NO_RESPONSE = "The server has not responded for a while.";

function timer(state: ConnectionState, receivedAt: number, context: StepContext): ConnectionStep {
  switch (state.phase) {
    case "idle":
    case "hidden":
    case "closed":
      return stay(state);
    case "authorizing": {
      const error = new ClientError("OFFLINE", NO_RESPONSE, { canRetry: true });
      return fail({ ...state, error }, context, CLOSE_CHANNEL);
    }
    case "opening":
      return openFailed(state, context, CLOSE_CHANNEL);
    case "probing": {
      const error = new ClientError("OFFLINE", NO_RESPONSE, { canRetry: true });
      return disconnected({ ...countFailedSocket(state, context), error }, context, CLOSE_CHANNEL);
    }
    case "waiting":
    case "offline":
      return authorize(state, context, NO_EFFECTS);
    case "open": {
      const limitMs = idleLimitMs(state, context);
      // If the last frame is later than now, the clock was set back and the idle time is unknown.
      if (receivedAt <= context.now && context.now - receivedAt < limitMs)
        return stay({ ...state, timerAt: receivedAt + limitMs });
      // Don't probe a hidden page, because that would wake a sleeping phone. The page is probed when it is visible
      // again.
      if (state.hiddenSince !== null)
        return stay({
          ...state,
          timerAt: context.now + idleLimitMs({ ...state, hasReceived: true }, context),
        });
      if (state.channel === "websocket") return probe(state, context);
      return disconnected(
        { ...state, error: new ClientError("OFFLINE", NO_RESPONSE, { canRetry: true }) },
        context,
        CLOSE_CHANNEL,
      );
    }
  }
}
