/**
 * Which tab leads. Pure. The lock decides: whoever has it leads, and the browser gives it on when a tab is gone. What the
 * lock can't see is a tab that is there and frozen, as phones do with hidden ones: a tab that somebody looks at and that
 * hears nothing for some seconds takes the lock away.
 *
 *   away ──start──▶ following ──the lock is given──▶ taking over ──what was under way is heard──▶ leading
 *     ▲                 ▲  │ silence while visible: steal          │                                 │
 *     │                 │  └──────────────▶ ───────────────────────┘                                 │
 *     │                 └──────── the lock was taken away, or a later reign was heard ◀──────────────┤
 *     └── the page is left (kept by the browser to come back to, or closed) ◀────────────────────────┘
 */
import { isLaterReign, isSameReign, type Reign } from "./messages.ts";

export interface RoleState {
  readonly me: string;
  readonly role: "away" | "following" | "taking over" | "leading";
  /** Who leads, as far as this tab knows. */
  readonly leader: Reign | null;
  readonly isVisible: boolean;
  /** When the leader was last heard, or this tab last had a reason to be patient. */
  readonly heardAt: number;
  readonly tickedAt: number;
}

export type RoleInput =
  | { readonly type: "start" | "leave" | "granted" | "taken" | "drained" | "tick" }
  /** The leader waits to connect, longer than it meant to: its timers are held back. */
  | { readonly type: "stalled" }
  | { readonly type: "visible"; readonly isVisible: boolean }
  | { readonly type: "lead" | "resign"; readonly by: Reign }
  | { readonly type: "asked" };

export type RoleEffect =
  | { readonly type: "request lock" | "steal lock" | "release lock" }
  | { readonly type: "say"; readonly what: "hello" | "ping" | "bye" }
  | { readonly type: "announce"; readonly what: "lead" | "resign"; readonly by: Reign }
  | { readonly type: "drain" }
  /** Have a connection from now on, and no longer. */
  | { readonly type: "reign"; readonly by: Reign }
  | { readonly type: "abdicate" }
  /** Who leads is another one: what was under way is lost, and watches begin again there. */
  | { readonly type: "follow"; readonly leader: Reign | null };

export interface RoleStep {
  readonly state: RoleState;
  readonly effects: readonly RoleEffect[];
}

export const TICK_MS = 1_000;
const SILENCE_MS = 4_000;
const PING_AFTER = 1_500;
/** A tick that comes so late says that this tab was asleep itself. */
const LATE_MS = 3_000;

export function newRole(me: string, isVisible: boolean, now: number): RoleState {
  return { me, role: "away", leader: null, isVisible, heardAt: now, tickedAt: now };
}

/** @param spread from 0 to 1: so that two windows side by side don't steal at once */
export function stepRole(state: RoleState, input: RoleInput, now: number, spread: number): RoleStep {
  if (state.role === "away" && input.type !== "start" && input.type !== "visible")
    return { state, effects: [] };
  switch (input.type) {
    case "start":
      if (state.role !== "away") return { state, effects: [] };
      return {
        state: { ...state, role: "following", leader: null, heardAt: now, tickedAt: now },
        effects: [{ type: "request lock" }, { type: "say", what: "hello" }],
      };
    case "leave":
      return leave(state);
    case "granted":
      if (state.role !== "following") return { state, effects: [] };
      // The old leader's last words may still be on their way here. Without one, there are none.
      if (state.leader === null) return reign(state, now);
      return { state: { ...state, role: "taking over" }, effects: [{ type: "drain" }] };
    case "drained":
      return state.role === "taking over" ? reign(state, now) : { state, effects: [] };
    case "taken":
      return demote(state, null, now);
    case "lead":
      return heard(state, input.by, now);
    case "resign":
      if (!isSameReign(input.by, state.leader) || state.role === "leading") return { state, effects: [] };
      return { state: { ...state, leader: null, heardAt: now }, effects: [{ type: "follow", leader: null }] };
    case "asked":
      return state.role === "leading" && state.leader !== null
        ? { state, effects: [{ type: "announce", what: "lead", by: state.leader }] }
        : { state, effects: [] };
    case "visible": {
      const next = { ...state, isVisible: input.isVisible, heardAt: now, tickedAt: now };
      const isAsking = input.isVisible && state.role === "following";
      return { state: next, effects: isAsking ? [{ type: "say", what: "hello" }] : [] };
    }
    case "stalled":
      return state.isVisible && state.role === "following" ? steal(state, now) : { state, effects: [] };
    case "tick":
      return tick(state, now, spread);
  }
}

function tick(before: RoleState, now: number, spread: number): RoleStep {
  const wasAsleep = now - before.tickedAt > LATE_MS;
  const state = { ...before, tickedAt: now, heardAt: wasAsleep ? now : before.heardAt };
  if (state.role !== "following" || !state.isVisible) return { state, effects: [] };
  const silence = now - state.heardAt;
  if (silence > SILENCE_MS * (1 + spread / 2)) return steal(state, now);
  return { state, effects: silence >= PING_AFTER || wasAsleep ? [{ type: "say", what: "ping" }] : [] };
}

function steal(state: RoleState, now: number): RoleStep {
  return { state: { ...state, heardAt: now }, effects: [{ type: "steal lock" }] };
}

function heard(state: RoleState, by: Reign, now: number): RoleStep {
  if (isSameReign(by, state.leader)) return { state: { ...state, heardAt: now }, effects: [] };
  if (!isLaterReign(by, state.leader)) return { state, effects: [] };
  if (state.role === "leading") return demote(state, by, now);
  return {
    state: { ...state, leader: by, heardAt: now },
    effects: [{ type: "follow", leader: by }],
  };
}

function reign(state: RoleState, now: number): RoleStep {
  const by: Reign = { term: Math.max(now, (state.leader?.term ?? 0) + 1), tab: state.me };
  return {
    state: { ...state, role: "leading", leader: by },
    effects: [
      { type: "reign", by },
      { type: "announce", what: "lead", by },
      { type: "follow", leader: by },
    ],
  };
}

/** Gives way, and waits for its turn again. */
function demote(state: RoleState, to: Reign | null, now: number): RoleStep {
  const { leader } = state;
  const hadConnection = state.role === "leading";
  const effects: RoleEffect[] = [{ type: "release lock" }];
  if (hadConnection) effects.push({ type: "abdicate" });
  if (hadConnection && leader !== null) effects.push({ type: "announce", what: "resign", by: leader });
  const next = to ?? (hadConnection ? null : leader);
  if (!isSameReign(next, leader)) effects.push({ type: "follow", leader: next });
  effects.push({ type: "request lock" }, { type: "say", what: "hello" });
  return { state: { ...state, role: "following", leader: next, heardAt: now }, effects };
}

function leave(state: RoleState): RoleStep {
  const effects: RoleEffect[] = [{ type: "release lock" }];
  if (state.role === "leading" && state.leader !== null)
    effects.push({ type: "abdicate" }, { type: "announce", what: "resign", by: state.leader });
  else effects.push({ type: "say", what: "bye" });
  effects.push({ type: "follow", leader: null });
  return { state: { ...state, role: "away", leader: null }, effects };
}
