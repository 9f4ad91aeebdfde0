/**
 * `stepElection` elects the leading tab. Pure. The tab that has the lock leads, and the browser passes the lock on when
 * that tab closes. A frozen tab (phones freeze hidden tabs) keeps the lock, so a visible tab steals it after some
 * seconds without messages.
 *
 *   away ──start──▶ following ──lock granted──▶ taking over ──old messages have arrived──▶ leading
 *     ▲                 ▲  │ silence while visible: steal          │                            │
 *     │                 │  └──────────────▶ ───────────────────────┘                            │
 *     │                 └──────── the lock was stolen, or a tab with a later term leads ◀───────┤
 *     └── the page is left (cached by the browser, or closed) ◀─────────────────────────────────┘
 *
 * Invariant: a tab has a connection only while it leads.
 */
import { isLaterTerm, isSameTerm, type LeaderTerm } from "./messages.ts";

export interface ElectionState {
  readonly tabId: string;
  readonly role: "away" | "following" | "taking over" | "leading";
  /** The leader as far as this tab knows. */
  readonly leader: LeaderTerm | null;
  readonly isVisible: boolean;
  /** When this tab last received a message of the leader, or last started to wait for one. */
  readonly leaderSeenAt: number;
  readonly tickedAt: number;
}

export type ElectionInput =
  | { readonly type: "start" | "leave" | "granted" | "taken" | "drained" | "tick" }
  /** The leader has not reconnected in time, because the browser throttles its timers. */
  | { readonly type: "stalled" }
  | { readonly type: "visible"; readonly isVisible: boolean }
  | { readonly type: "lead" | "resign"; readonly term: LeaderTerm }
  | { readonly type: "leader requested" };

export type ElectionEffect =
  | { readonly type: "request lock" | "steal lock" | "release lock" }
  | { readonly type: "send"; readonly what: "hello" | "ping" | "bye" }
  | { readonly type: "announce"; readonly what: "lead" | "resign"; readonly term: LeaderTerm }
  | { readonly type: "drain" }
  /** Open the connection, or close it. */
  | { readonly type: "become leader"; readonly term: LeaderTerm }
  | { readonly type: "step down" }
  /** Another tab leads: commands in flight are lost, and subscriptions restart there. */
  | { readonly type: "follow"; readonly leader: LeaderTerm | null };

export interface ElectionStep {
  readonly state: ElectionState;
  readonly effects: readonly ElectionEffect[];
}

export const TICK_MS = 1_000;
const LEADER_TIMEOUT_MS = 4_000;
const PING_AFTER_MS = 1_500;
/** A tick that is later than this means that this tab itself was asleep. */
const LATE_TICK_MS = 3_000;

export function createElection(tabId: string, isVisible: boolean, now: number): ElectionState {
  return { tabId, role: "away", leader: null, isVisible, leaderSeenAt: now, tickedAt: now };
}

/** @param spread from 0 to 1: jitter, so that two visible windows don't steal at the same time */
export function stepElection(
  state: ElectionState,
  input: ElectionInput,
  now: number,
  spread: number,
): ElectionStep {
  if (state.role === "away" && input.type !== "start" && input.type !== "visible")
    return { state, effects: [] };
  switch (input.type) {
    case "start":
      if (state.role !== "away") return { state, effects: [] };
      return {
        state: { ...state, role: "following", leader: null, leaderSeenAt: now, tickedAt: now },
        effects: [{ type: "request lock" }, { type: "send", what: "hello" }],
      };
    case "leave":
      return leave(state);
    case "granted":
      if (state.role !== "following") return { state, effects: [] };
      // Messages of the previous leader may still arrive. Without a previous leader there are none.
      if (state.leader === null) return becomeLeader(state, now);
      return { state: { ...state, role: "taking over" }, effects: [{ type: "drain" }] };
    case "drained":
      return state.role === "taking over" ? becomeLeader(state, now) : { state, effects: [] };
    case "taken":
      return stepDown(state, null, now);
    case "lead":
      return receiveLeader(state, input.term, now);
    case "resign":
      if (!isSameTerm(input.term, state.leader) || state.role === "leading") return { state, effects: [] };
      return {
        state: { ...state, leader: null, leaderSeenAt: now },
        effects: [{ type: "follow", leader: null }],
      };
    case "leader requested":
      return state.role === "leading" && state.leader !== null
        ? { state, effects: [{ type: "announce", what: "lead", term: state.leader }] }
        : { state, effects: [] };
    case "visible": {
      const next = { ...state, isVisible: input.isVisible, leaderSeenAt: now, tickedAt: now };
      const isAsking = input.isVisible && state.role === "following";
      return { state: next, effects: isAsking ? [{ type: "send", what: "hello" }] : [] };
    }
    case "stalled":
      return state.isVisible && state.role === "following" ? steal(state, now) : { state, effects: [] };
    case "tick":
      return tick(state, now, spread);
  }
}

function tick(before: ElectionState, now: number, spread: number): ElectionStep {
  const wasAsleep = now - before.tickedAt > LATE_TICK_MS;
  const state = { ...before, tickedAt: now, leaderSeenAt: wasAsleep ? now : before.leaderSeenAt };
  if (state.role !== "following" || !state.isVisible) return { state, effects: [] };
  const silenceMs = now - state.leaderSeenAt;
  if (silenceMs > LEADER_TIMEOUT_MS * (1 + spread / 2)) return steal(state, now);
  return { state, effects: silenceMs >= PING_AFTER_MS || wasAsleep ? [{ type: "send", what: "ping" }] : [] };
}

function steal(state: ElectionState, now: number): ElectionStep {
  return { state: { ...state, leaderSeenAt: now }, effects: [{ type: "steal lock" }] };
}

function receiveLeader(state: ElectionState, term: LeaderTerm, now: number): ElectionStep {
  if (isSameTerm(term, state.leader)) return { state: { ...state, leaderSeenAt: now }, effects: [] };
  if (!isLaterTerm(term, state.leader)) return { state, effects: [] };
  if (state.role === "leading") return stepDown(state, term, now);
  return {
    state: { ...state, leader: term, leaderSeenAt: now },
    effects: [{ type: "follow", leader: term }],
  };
}

function becomeLeader(state: ElectionState, now: number): ElectionStep {
  const term: LeaderTerm = { term: Math.max(now, (state.leader?.term ?? 0) + 1), tabId: state.tabId };
  return {
    state: { ...state, role: "leading", leader: term },
    effects: [
      { type: "become leader", term },
      { type: "announce", what: "lead", term },
      { type: "follow", leader: term },
    ],
  };
}

/** Lets another tab lead and requests the lock again. */
function stepDown(state: ElectionState, to: LeaderTerm | null, now: number): ElectionStep {
  const { leader } = state;
  const hadConnection = state.role === "leading";
  const effects: ElectionEffect[] = [{ type: "release lock" }];
  if (hadConnection) effects.push({ type: "step down" });
  if (hadConnection && leader !== null) effects.push({ type: "announce", what: "resign", term: leader });
  const next = to ?? (hadConnection ? null : leader);
  if (!isSameTerm(next, leader)) effects.push({ type: "follow", leader: next });
  effects.push({ type: "request lock" }, { type: "send", what: "hello" });
  return { state: { ...state, role: "following", leader: next, leaderSeenAt: now }, effects };
}

function leave(state: ElectionState): ElectionStep {
  const effects: ElectionEffect[] = [{ type: "release lock" }];
  if (state.role === "leading" && state.leader !== null)
    effects.push({ type: "step down" }, { type: "announce", what: "resign", term: state.leader });
  else effects.push({ type: "send", what: "bye" });
  effects.push({ type: "follow", leader: null });
  return { state: { ...state, role: "away", leader: null }, effects };
}
