/**
 * `stepFollower` runs a tab's subscriptions and commands at the leader, which can be the tab itself. Pure.
 * Invariant: it tracks the position of each subscription. So no event reaches a session twice, and a gap leads to a new
 * subscription.
 *
 *   subscription:  requested ──subscribed──▶ joined ──a gap, or another leader──▶ requested
 *   command:       waiting ──there is a leader──▶ sent ──reply──▶ settled
 *                    └── no leader in time: OFFLINE     └── another leader, or no reply in time: UNSURE
 */
import {
  comparePositions,
  type Cursor,
  type SessionEvent,
  parseCursor,
  classifyEvent,
  type Position,
} from "@turnstream/protocol";
import { type ConnectionView, INITIAL_CONNECTION } from "../transport/status.ts";
import { ClientError, errorFromJson } from "../errors.ts";
import type { TransportCommand } from "../transport/transport.ts";
import {
  type CommandAck,
  type SubscriptionStart,
  type FromLeader,
  isSameTerm,
  deserializeView,
  type LeaderTerm,
} from "./messages.ts";

interface FollowedSession {
  readonly session: string;
  readonly isJoined: boolean;
  readonly requestedAt: number;
  readonly position: Position | null;
}

interface FollowerCommand {
  readonly command: TransportCommand;
  readonly at: number;
  readonly isSent: boolean;
}

export interface FollowerState {
  readonly tabId: string;
  readonly leader: LeaderTerm | null;
  readonly subscriptions: ReadonlyMap<number, FollowedSession>;
  readonly commands: ReadonlyMap<string, FollowerCommand>;
  /** The leader's latest view of the connection of each session. */
  readonly views: ReadonlyMap<string, ConnectionView>;
}

export type FollowerInput =
  | { readonly type: "subscribe"; readonly subscriptionId: number; readonly session: string }
  | { readonly type: "resync" | "unsubscribe"; readonly subscriptionId: number }
  | { readonly type: "command"; readonly request: string; readonly command: TransportCommand }
  | { readonly type: "follow"; readonly leader: LeaderTerm | null }
  | { readonly type: "rejoin" | "tick" }
  | { readonly type: "message"; readonly message: FromLeader };

export type FollowerEffect =
  /** Subscribes at the leader, from the current cursor of the session. */
  | {
      readonly type: "request subscription";
      readonly subscriptionId: number;
      readonly session: string;
      readonly isUserInitiated: boolean;
    }
  | { readonly type: "leave"; readonly subscriptionId: number }
  | { readonly type: "send command"; readonly request: string; readonly command: TransportCommand }
  | { readonly type: "connection"; readonly subscriptionId: number; readonly view: ConnectionView }
  | { readonly type: "subscribed"; readonly subscriptionId: number; readonly start: SubscriptionStart }
  | { readonly type: "events"; readonly subscriptionId: number; readonly events: readonly SessionEvent[] }
  | { readonly type: "clock"; readonly skewMs: number }
  | { readonly type: "settle"; readonly request: string; readonly outcome: CommandAck | ClientError };

export interface FollowerStep {
  readonly state: FollowerState;
  readonly effects: readonly FollowerEffect[];
}

/** How long a command waits for a leader. */
const NO_LEADER_MS = 10_000;
/** Longer than any command takes. A leader that has not replied by then has lost the command. */
const NO_REPLY_MS = 60_000;

/** How long after its planned reconnect the leader counts as stalled. */
const STALLED_MS = 3_000;

/** After this long without a reply, the request or the reply was lost. */
const RESUBSCRIBE_MS = 5_000;

export function createFollower(tabId: string): FollowerState {
  return { tabId, leader: null, subscriptions: new Map(), commands: new Map(), views: new Map() };
}

export function stepFollower(state: FollowerState, input: FollowerInput, now: number): FollowerStep {
  switch (input.type) {
    case "subscribe": {
      const entry = { session: input.session, isJoined: false, position: null, requestedAt: now };
      const subscriptions = withEntry(state.subscriptions, input.subscriptionId, entry);
      return requestSubscriptions({ ...state, subscriptions }, [input.subscriptionId], now, true);
    }
    case "resync":
      return requestSubscriptions(state, [input.subscriptionId], now, true);
    case "rejoin":
      return requestSubscriptions(state, [...state.subscriptions.keys()], now, true);
    case "unsubscribe":
      return {
        state: { ...state, subscriptions: withEntry(state.subscriptions, input.subscriptionId, null) },
        effects: state.leader === null ? [] : [{ type: "leave", subscriptionId: input.subscriptionId }],
      };
    case "command": {
      const { request, command } = input;
      const isSent = state.leader !== null;
      return {
        state: {
          ...state,
          commands: withEntry(state.commands, request, { command, at: now, isSent }),
        },
        effects: isSent ? [{ type: "send command", request, command }] : [],
      };
    }
    case "follow":
      return follow(state, input.leader, now);
    case "tick":
      return giveUp(state, now);
    case "message":
      return isSameTerm(input.message.leader, state.leader)
        ? receive(state, input.message, now)
        : { state, effects: [] };
  }
}

/** @param isUserInitiated false if the tab only missed messages */
function requestSubscriptions(
  state: FollowerState,
  ids: readonly number[],
  now: number,
  isUserInitiated = false,
): FollowerStep {
  const effects: FollowerEffect[] = [];
  let next = state.subscriptions;
  for (const subscriptionId of ids) {
    const entry = next.get(subscriptionId);
    if (entry === undefined) continue;
    next = withEntry(next, subscriptionId, { ...entry, isJoined: false, requestedAt: now });
    if (state.leader !== null)
      effects.push({
        type: "request subscription",
        subscriptionId,
        session: entry.session,
        isUserInitiated,
      });
  }
  return { state: { ...state, subscriptions: next }, effects };
}

function follow(state: FollowerState, leader: LeaderTerm | null, now: number): FollowerStep {
  const effects: FollowerEffect[] = [];
  const commands = new Map(state.commands);
  for (const [request, { command, isSent, at }] of state.commands) {
    if (isSent) {
      const message = "The connection was lost before the reply. Check whether the command took effect.";
      effects.push({ type: "settle", request, outcome: new ClientError("UNSURE", message) });
      commands.delete(request);
    } else if (leader !== null) {
      effects.push({ type: "send command", request, command });
      commands.set(request, { command, at, isSent: true });
    }
  }
  const requested = requestSubscriptions(
    { ...state, leader, commands, views: new Map() },
    [...state.subscriptions.keys()],
    now,
  );
  return { state: requested.state, effects: [...effects, ...requested.effects] };
}

function giveUp(state: FollowerState, now: number): FollowerStep {
  const effects: FollowerEffect[] = [];
  const commands = new Map(state.commands);
  for (const [request, { at, isSent }] of state.commands) {
    if (now - at < (isSent ? NO_REPLY_MS : NO_LEADER_MS)) continue;
    commands.delete(request);
    const outcome = isSent
      ? new ClientError(
          "UNSURE",
          "The connection was lost before the reply. Check whether the command took effect.",
        )
      : new ClientError("OFFLINE", "There is no connection. The command was not sent; try again.", {
          canRetry: true,
        });
    effects.push({ type: "settle", request, outcome });
  }
  return effects.length === 0 ? { state, effects } : { state: { ...state, commands }, effects };
}

function receive(state: FollowerState, message: FromLeader, now: number): FollowerStep {
  switch (message.type) {
    case "connection": {
      const view = deserializeView(message.view);
      return updateEach(
        { ...state, views: withEntry(state.views, message.session, view) },
        findSubscriptions(state, message.session, null, 0),
        (entry, subscriptionId) => ({
          entry,
          effects: [{ type: "connection", subscriptionId, view: viewFor(entry, view) }],
        }),
      );
    }
    case "clock":
      return { state, effects: [{ type: "clock", skewMs: message.skewMs }] };
    case "subscribed":
      return updateEach(
        state,
        findSubscriptions(state, message.session, message.to, message.subscriptionId),
        (entry, subscriptionId) => startSession(state, entry, subscriptionId, message),
      );
    case "events":
      return updateEach(
        state,
        findSubscriptions(state, message.session, message.to, message.subscriptionId),
        (entry, subscriptionId) => applyEvents(entry, subscriptionId, message.events, now),
      );
    case "reply":
      return reply(state, message);
    case "lead":
      return requestSubscriptions(state, findBehind(state, message.heads, now), now);
    case "resign":
      return { state, effects: [] };
  }
}

/**
 * Browsers drop messages to a page that does not run. Messages sent before these heads have arrived by now, or never
 * will.
 */
function findBehind(state: FollowerState, heads: Readonly<Record<string, Cursor>>, now: number): number[] {
  return [...state.subscriptions].flatMap(
    ([subscriptionId, { session, isJoined, position, requestedAt }]) => {
      if (!isJoined) return now - requestedAt > RESUBSCRIBE_MS ? [subscriptionId] : [];
      const head = parseCursor(heads[session]);
      return head !== null && position !== null && comparePositions(position, head) < 0
        ? [subscriptionId]
        : [];
    },
  );
}

type SubscribedMessage = Extract<FromLeader, { readonly type: "subscribed" }>;

interface SessionChange {
  readonly entry: FollowedSession;
  readonly effects: readonly FollowerEffect[];
}

function startSession(
  state: FollowerState,
  entry: FollowedSession,
  subscriptionId: number,
  { start }: SubscribedMessage,
): SessionChange {
  const { snapshot } = start;
  // This is the reply to an earlier request; another reply follows.
  if (snapshot === null && entry.position === null) return { entry, effects: [] };
  const position = snapshot === null ? entry.position : parseCursor(snapshot.cursor);
  const view = state.views.get(entry.session) ?? INITIAL_CONNECTION;
  return {
    entry: { ...entry, isJoined: true, position },
    effects: [
      { type: "subscribed", subscriptionId, start },
      { type: "connection", subscriptionId, view },
    ],
  };
}

function applyEvents(
  entry: FollowedSession,
  subscriptionId: number,
  events: readonly SessionEvent[],
  now: number,
): SessionChange {
  if (!entry.isJoined || entry.position === null) return { entry, effects: [] };
  let { position } = entry;
  const next: SessionEvent[] = [];
  let isOutOfSync = false;
  for (const event of events) {
    const place = classifyEvent(position, event);
    isOutOfSync = place === "gap" || place === "diverged";
    if (isOutOfSync) break;
    if (place !== "next") continue;
    next.push(event);
    position = parseCursor(event.id) ?? position;
  }
  const effects: FollowerEffect[] =
    next.length === 0 ? [] : [{ type: "events", subscriptionId, events: next }];
  if (isOutOfSync)
    effects.push({
      type: "request subscription",
      subscriptionId,
      session: entry.session,
      isUserInitiated: false,
    });
  return { entry: { ...entry, position, isJoined: !isOutOfSync, requestedAt: now }, effects };
}

function reply(state: FollowerState, message: Extract<FromLeader, { readonly type: "reply" }>): FollowerStep {
  const { to, request, ack, error } = message;
  if (to !== state.tabId || !state.commands.has(request)) return { state, effects: [] };
  const outcome = ack ?? (error === null ? {} : errorFromJson(error));
  return {
    state: { ...state, commands: withEntry(state.commands, request, null) },
    effects: [{ type: "settle", request, outcome }],
  };
}

/** A tab that has not caught up is not live, even if the connection is. */
function viewFor(entry: FollowedSession, view: ConnectionView): ConnectionView {
  return entry.isJoined || view.phase !== "live" ? view : { ...view, phase: "replaying" };
}

function findSubscriptions(
  state: FollowerState,
  session: string,
  to: string | null,
  subscriptionId: number,
): number[] {
  if (to !== null && to !== state.tabId) return [];
  return [...state.subscriptions].flatMap(([id, entry]) =>
    entry.session === session && (to === null || id === subscriptionId) ? [id] : [],
  );
}

function updateEach(
  state: FollowerState,
  ids: readonly number[],
  update: (entry: FollowedSession, subscriptionId: number) => SessionChange,
): FollowerStep {
  let next = state.subscriptions;
  const effects: FollowerEffect[] = [];
  for (const subscriptionId of ids) {
    const entry = next.get(subscriptionId);
    if (entry === undefined) continue;
    const changed = update(entry, subscriptionId);
    next = withEntry(next, subscriptionId, changed.entry);
    effects.push(...changed.effects);
  }
  return { state: { ...state, subscriptions: next }, effects };
}

/** @param value null removes the entry */
function withEntry<Key, Value>(map: ReadonlyMap<Key, Value>, key: Key, value: Value | null): Map<Key, Value> {
  const copy = new Map(map);
  if (value === null) copy.delete(key);
  else copy.set(key, value);
  return copy;
}

/** Returns true if the leader is overdue to reconnect, like a tab whose timers are throttled. */
export function isStalled({ views }: FollowerState, now: number): boolean {
  return [...views.values()].some(
    ({ phase, retryAt }) => phase === "waiting" && retryAt !== null && now > retryAt + STALLED_MS,
  );
}

/** Returns the state after a session reported its cursor. */
export function withPosition(
  state: FollowerState,
  subscriptionId: number,
  cursor: Cursor | null,
): FollowerState {
  const entry = state.subscriptions.get(subscriptionId);
  if (entry === undefined) return state;
  return {
    ...state,
    subscriptions: withEntry(state.subscriptions, subscriptionId, {
      ...entry,
      position: parseCursor(cursor),
    }),
  };
}
