/**
 * `stepLeaderSession` runs one session in the leading tab: it passes everything that the connection receives to all
 * subscribed tabs. Pure. It buffers recent events, so that a tab can resume, and loads a snapshot for a tab that can't.
 *
 *   a tab:  joins ──its cursor is the current one, or among the recent events──▶ joined
 *             │  the connection hasn't started: waiting ────────────────────────▲ ▲
 *             └──otherwise: load snapshot ──▶ loading ──a snapshot that the recent events follow──┘
 *
 * Invariant: a message to all tabs is posted once, and the leader does not track what each tab received. Each tab
 * tracks its own position and skips known events. The leader does not fold events.
 */
import {
  type Cursor,
  type SessionEvent,
  formatCursor,
  parseCursor,
  classifyEvent,
  type Snapshot,
  START_CURSOR,
} from "@turnstream/protocol";
import type { SubscriptionStart } from "./messages.ts";

export interface TabSubscriber {
  readonly tabId: string;
  readonly subscriptionId: number;
}

interface TabSubscription extends TabSubscriber {
  readonly cursor: Cursor | null;
  readonly phase: "waiting" | "loading" | "joined";
}

export interface LeaderSessionState {
  /** Where the connection resumes from; null: it starts with a snapshot. */
  readonly cursor: Cursor | null;
  /** Whether the connection has started at least once. */
  readonly hasStarted: boolean;
  /** The reason of a start whose snapshot has not arrived yet. */
  readonly pendingReason: SubscriptionStart["reason"] | null;
  /** The position of the last gap. A second gap there can't be closed by a resync from the same position. */
  readonly gapAt: Cursor | null;
  /** The newest events without gaps. The first of them directly follows `recentSince`. */
  readonly recentEvents: readonly SessionEvent[];
  readonly recentSince: Cursor | null;
  readonly subscribers: readonly TabSubscription[];
}

export type LeaderSessionInput =
  | { readonly type: "join"; readonly subscriber: TabSubscriber; readonly cursor: Cursor | null }
  | { readonly type: "leave"; readonly subscriber: TabSubscriber }
  | { readonly type: "leave all"; readonly tabId: string }
  | { readonly type: "subscribed"; readonly resumed: boolean; readonly reason: SubscriptionStart["reason"] }
  | { readonly type: "snapshot"; readonly snapshot: Snapshot; readonly cursor: Cursor }
  | { readonly type: "events"; readonly events: readonly SessionEvent[] }
  | {
      readonly type: "snapshot loaded";
      readonly subscriber: TabSubscriber;
      readonly snapshot: Snapshot;
      readonly cursor: Cursor;
    }
  /** The snapshot request failed. */
  | { readonly type: "snapshot failed" };

export type LeaderSessionEffect =
  /** @param to null: all tabs */
  | { readonly type: "start"; readonly to: TabSubscriber | null; readonly start: SubscriptionStart }
  | { readonly type: "events"; readonly to: TabSubscriber | null; readonly events: readonly SessionEvent[] }
  /** The subscriber needs a snapshot while it is `loading`. Repeated even if a request is in flight. */
  | { readonly type: "load snapshot"; readonly subscriber: TabSubscriber }
  /** Events are missing: restart the connection from `cursor`. */
  | { readonly type: "resync" };

export interface LeaderSessionStep {
  readonly state: LeaderSessionState;
  readonly effects: readonly LeaderSessionEffect[];
}

/** Maximum number of buffered events: about ten seconds of a fast answer. */
const MAX_RECENT_EVENTS = 2_000;

/** @param cursor the cursor of the first subscriber */
export function createLeaderSession(cursor: Cursor | null): LeaderSessionState {
  return {
    cursor,
    hasStarted: false,
    pendingReason: null,
    gapAt: null,
    recentEvents: [],
    recentSince: cursor,
    subscribers: [],
  };
}

export function stepLeaderSession(state: LeaderSessionState, input: LeaderSessionInput): LeaderSessionStep {
  switch (input.type) {
    case "join":
      return join(state, input.subscriber, input.cursor);
    case "leave":
      return {
        state: {
          ...state,
          subscribers: state.subscribers.filter((entry) => !isSame(entry, input.subscriber)),
        },
        effects: [],
      };
    case "leave all":
      return {
        state: {
          ...state,
          subscribers: state.subscribers.filter(({ tabId }) => tabId !== input.tabId),
        },
        effects: [],
      };
    case "subscribed":
      return input.resumed
        ? resume(state, input.reason)
        : { state: { ...state, pendingReason: input.reason }, effects: [] };
    case "snapshot":
      return restart(state, input.snapshot, input.cursor);
    case "events":
      return appendEvents(state, input.events);
    case "snapshot loaded":
      return snapshotLoaded(state, input.subscriber, input.snapshot, input.cursor);
    case "snapshot failed": {
      // The connection delivers a snapshot for all tabs, or an error.
      const subscribers = state.subscribers.map((entry): TabSubscription => ({ ...entry, phase: "waiting" }));
      return {
        state: { ...createLeaderSession(null), subscribers },
        effects: [{ type: "resync" }],
      };
    }
  }
}

function join(
  state: LeaderSessionState,
  subscriber: TabSubscriber,
  cursor: Cursor | null,
): LeaderSessionStep {
  const others = state.subscribers.filter((entry) => !isSame(entry, subscriber));
  // A tab that can't read snapshots requests all events, so the connection restarts.
  if (cursor === START_CURSOR && state.recentSince !== START_CURSOR) {
    const subscribers: TabSubscription[] = [...others, { ...subscriber, cursor, phase: "waiting" }];
    return {
      state: { ...createLeaderSession(cursor), subscribers },
      effects: [{ type: "resync" }],
    };
  }
  const withPhase = (phase: TabSubscription["phase"]): LeaderSessionState => ({
    ...state,
    subscribers: [...others, { ...subscriber, cursor, phase }],
  });
  // Before its first frame, the connection may still deliver a snapshot for all tabs.
  if (!state.hasStarted && (cursor === state.cursor || state.cursor === null))
    return { state: withPhase("waiting"), effects: [] };
  const after = state.hasStarted ? eventsAfter(state, cursor) : null;
  if (after === null)
    return { state: withPhase("loading"), effects: [{ type: "load snapshot", subscriber }] };
  const start: SubscriptionStart = { resumed: true, reason: "cursor", snapshot: null };
  return {
    state: withPhase("joined"),
    effects: [{ type: "start", to: subscriber, start }, ...catchUpEffects(subscriber, after)],
  };
}

/** The connection resumes, and so does every tab at its position. */
function resume(state: LeaderSessionState, reason: SubscriptionStart["reason"]): LeaderSessionStep {
  const start: SubscriptionStart = { resumed: true, reason, snapshot: null };
  const effects: LeaderSessionEffect[] = [];
  const subscribers = state.subscribers.map((entry): TabSubscription => {
    const subscriber = { tabId: entry.tabId, subscriptionId: entry.subscriptionId };
    const canResume =
      entry.phase === "joined" || (entry.phase === "waiting" && entry.cursor === state.cursor);
    effects.push(
      canResume ? { type: "start", to: subscriber, start } : { type: "load snapshot", subscriber },
    );
    return { ...entry, phase: canResume ? "joined" : "loading" };
  });
  return { state: { ...state, hasStarted: true, pendingReason: null, subscribers }, effects };
}

/** The connection restarts from a snapshot, for all tabs. */
function restart(state: LeaderSessionState, snapshot: Snapshot, cursor: Cursor): LeaderSessionStep {
  const start: SubscriptionStart = {
    resumed: false,
    reason: state.pendingReason ?? "fresh",
    snapshot: { snapshot, cursor },
  };
  const subscribers = state.subscribers.map((entry): TabSubscription => ({ ...entry, phase: "joined" }));
  const next: LeaderSessionState = {
    ...createLeaderSession(cursor),
    hasStarted: true,
    subscribers,
  };
  return { state: next, effects: [{ type: "start", to: null, start }] };
}

function appendEvents(state: LeaderSessionState, events: readonly SessionEvent[]): LeaderSessionStep {
  let last = parseCursor(state.cursor);
  if (last === null) return { state, effects: [] };
  const next: SessionEvent[] = [];
  let problem: "gap" | "diverged" | null = null;
  for (const event of events) {
    const place = classifyEvent(last, event);
    if (place === "gap" || place === "diverged") {
      problem = place;
      break;
    }
    if (place !== "next") continue;
    next.push(event);
    last = parseCursor(event.id) ?? last;
  }
  const recentEvents = [...state.recentEvents, ...next];
  const dropped = recentEvents.splice(0, Math.max(0, recentEvents.length - MAX_RECENT_EVENTS));
  const recentSince = dropped.at(-1)?.id ?? state.recentSince;
  const effects: LeaderSessionEffect[] =
    next.length === 0 ? [] : [{ type: "events", to: null, events: next }];
  const position = formatCursor(last);
  const needsSnapshot = problem === "diverged" || (problem === "gap" && state.gapAt === position);
  const gapAt = problem === "gap" ? position : state.gapAt;
  return {
    state: {
      ...state,
      recentEvents,
      recentSince,
      gapAt,
      cursor: needsSnapshot ? null : position,
    },
    effects: problem === null ? effects : [...effects, { type: "resync" }],
  };
}

function snapshotLoaded(
  state: LeaderSessionState,
  subscriber: TabSubscriber,
  snapshot: Snapshot,
  cursor: Cursor,
): LeaderSessionStep {
  const entry = state.subscribers.find((other) => isSame(other, subscriber));
  // The tab may have left, or the connection may have restarted for all tabs in the meantime.
  if (entry?.phase !== "loading") return { state, effects: [] };
  const [loaded, current] = [parseCursor(cursor), parseCursor(state.cursor)];
  // A snapshot can be ahead of the connection. The tab then waits for the events after it.
  const isAhead = loaded !== null && current !== null && loaded.seq > current.seq;
  const after = isAhead ? [] : eventsAfter(state, cursor);
  // The snapshot is older than the buffered events, so the tab needs another one.
  if (after === null) return { state, effects: [] };
  const start: SubscriptionStart = {
    resumed: false,
    reason: entry.cursor === null ? "fresh" : "expired",
    snapshot: { snapshot, cursor },
  };
  const subscribers = state.subscribers.map((other): TabSubscription =>
    other === entry ? { ...other, phase: "joined" } : other,
  );
  return {
    state: { ...state, subscribers },
    effects: [{ type: "start", to: subscriber, start }, ...catchUpEffects(subscriber, after)],
  };
}

function catchUpEffects(subscriber: TabSubscriber, events: readonly SessionEvent[]): LeaderSessionEffect[] {
  return events.length === 0 ? [] : [{ type: "events", to: subscriber, events }];
}

/** Returns the events after a cursor, or null if they are not buffered. */
function eventsAfter(state: LeaderSessionState, cursor: Cursor | null): readonly SessionEvent[] | null {
  if (cursor === null) return null;
  if (cursor === state.cursor) return [];
  if (cursor === state.recentSince) return state.recentEvents;
  const index = state.recentEvents.findLastIndex(({ id }) => id === cursor);
  return index < 0 ? null : state.recentEvents.slice(index + 1);
}

function isSame(a: TabSubscriber, b: TabSubscriber): boolean {
  return a.tabId === b.tabId && a.subscriptionId === b.subscriptionId;
}
