/**
 * What a tab wants of the one who leads, be that itself: the sessions it watches and the commands it has given. Pure.
 * It keeps the position of each watch, so that no event reaches a session twice, and asks again where one is missing.
 *
 *   watch:    asked ──begun──▶ joined ──a gap, or another leader──▶ asked
 *   command:  held ──there is a leader──▶ given ──reply──▶ settled
 *               └── none for a while: OFFLINE    └── another leader: UNSURE
 */
import {
  comparePositions,
  type Cursor,
  type SessionEvent,
  parseCursor,
  classifyEvent,
  type Position,
} from "@turnstream/protocol";
import { type ConnectionView, NOT_CONNECTED } from "../transport/status.ts";
import { ClientError } from "../errors.ts";
import type { LinkCommand } from "../transport/transport.ts";
import {
  type Acked,
  type Beginning,
  type FromLeader,
  isSameReign,
  readError,
  readView,
  type Reign,
} from "./messages.ts";

interface Watching {
  readonly session: string;
  readonly isJoined: boolean;
  readonly askedAt: number;
  readonly position: Position | null;
}

interface Commanding {
  readonly command: LinkCommand;
  readonly at: number;
  readonly isGiven: boolean;
}

export interface MemberState {
  readonly me: string;
  readonly leader: Reign | null;
  readonly watches: ReadonlyMap<number, Watching>;
  readonly commands: ReadonlyMap<string, Commanding>;
  /** The last word of the leader on each session's connection. */
  readonly views: ReadonlyMap<string, ConnectionView>;
}

export type MemberInput =
  | { readonly type: "watch"; readonly watch: number; readonly session: string }
  | { readonly type: "again" | "unwatch"; readonly watch: number }
  | { readonly type: "command"; readonly request: string; readonly command: LinkCommand }
  | { readonly type: "follow"; readonly leader: Reign | null }
  | { readonly type: "rejoin" | "tick" }
  | { readonly type: "heard"; readonly message: FromLeader };

export type MemberEffect =
  /** Asks the leader for a watch, after the cursor that its session has now. */
  | { readonly type: "ask"; readonly watch: number; readonly session: string; readonly isWish: boolean }
  | { readonly type: "part"; readonly watch: number }
  | { readonly type: "give"; readonly request: string; readonly command: LinkCommand }
  | { readonly type: "connection"; readonly watch: number; readonly view: ConnectionView }
  | { readonly type: "begun"; readonly watch: number; readonly beginning: Beginning }
  | { readonly type: "events"; readonly watch: number; readonly events: readonly SessionEvent[] }
  | { readonly type: "clock"; readonly skewMs: number }
  | { readonly type: "settle"; readonly request: string; readonly outcome: Acked | ClientError };

export interface MemberStep {
  readonly state: MemberState;
  readonly effects: readonly MemberEffect[];
}

/** How long a command waits for somebody to lead. */
const NO_LEADER_MS = 10_000;
/** Longer than any command takes; a leader that is there and never answers has lost it. */
const NO_REPLY_MS = 60_000;

/** Beyond the time at which the leader meant to connect again. */
const STALLED_MS = 3_000;

/** An answer that takes longer than that was lost, or the question was. */
const ASK_AGAIN_MS = 5_000;

export function newMember(me: string): MemberState {
  return { me, leader: null, watches: new Map(), commands: new Map(), views: new Map() };
}

export function stepMember(state: MemberState, input: MemberInput, now: number): MemberStep {
  switch (input.type) {
    case "watch": {
      const watching = { session: input.session, isJoined: false, position: null, askedAt: now };
      const watches = withEntry(state.watches, input.watch, watching);
      return ask({ ...state, watches }, [input.watch], now, true);
    }
    case "again":
      return ask(state, [input.watch], now, true);
    case "rejoin":
      return ask(state, [...state.watches.keys()], now, true);
    case "unwatch":
      return {
        state: { ...state, watches: withEntry(state.watches, input.watch, null) },
        effects: state.leader === null ? [] : [{ type: "part", watch: input.watch }],
      };
    case "command": {
      const { request, command } = input;
      const isGiven = state.leader !== null;
      return {
        state: { ...state, commands: withEntry(state.commands, request, { command, at: now, isGiven }) },
        effects: isGiven ? [{ type: "give", request, command }] : [],
      };
    }
    case "follow":
      return follow(state, input.leader, now);
    case "tick":
      return giveUp(state, now);
    case "heard":
      return isSameReign(input.message.by, state.leader)
        ? heard(state, input.message, now)
        : { state, effects: [] };
  }
}

/** @param isWish somebody has come, looks or says "now": not only a tab that has missed something */
function ask(state: MemberState, watches: readonly number[], now: number, isWish = false): MemberStep {
  const effects: MemberEffect[] = [];
  let next = state.watches;
  for (const watch of watches) {
    const watching = next.get(watch);
    if (watching === undefined) continue;
    next = withEntry(next, watch, { ...watching, isJoined: false, askedAt: now });
    if (state.leader !== null) effects.push({ type: "ask", watch, session: watching.session, isWish });
  }
  return { state: { ...state, watches: next }, effects };
}

function follow(state: MemberState, leader: Reign | null, now: number): MemberStep {
  const effects: MemberEffect[] = [];
  const commands = new Map(state.commands);
  for (const [request, { command, isGiven, at }] of state.commands) {
    if (isGiven) {
      const words = "The connection was lost before the answer came. Look whether it took effect.";
      effects.push({ type: "settle", request, outcome: new ClientError("UNSURE", words) });
      commands.delete(request);
    } else if (leader !== null) {
      effects.push({ type: "give", request, command });
      commands.set(request, { command, at, isGiven: true });
    }
  }
  const asked = ask({ ...state, leader, commands, views: new Map() }, [...state.watches.keys()], now);
  return { state: asked.state, effects: [...effects, ...asked.effects] };
}

function giveUp(state: MemberState, now: number): MemberStep {
  const effects: MemberEffect[] = [];
  const commands = new Map(state.commands);
  for (const [request, { at, isGiven }] of state.commands) {
    if (now - at < (isGiven ? NO_REPLY_MS : NO_LEADER_MS)) continue;
    commands.delete(request);
    const outcome = isGiven
      ? new ClientError("UNSURE", "No answer came. Look whether it took effect.")
      : new ClientError("OFFLINE", "There is no connection. It was not sent; try again.", { canRetry: true });
    effects.push({ type: "settle", request, outcome });
  }
  return effects.length === 0 ? { state, effects } : { state: { ...state, commands }, effects };
}

function heard(state: MemberState, message: FromLeader, now: number): MemberStep {
  switch (message.type) {
    case "connection": {
      const view = readView(message.view);
      return each(
        { ...state, views: withEntry(state.views, message.session, view) },
        watchesOf(state, message.session, null, 0),
        (watching, watch) => ({
          watching,
          effects: [{ type: "connection", watch, view: shownTo(watching, view) }],
        }),
      );
    }
    case "clock":
      return { state, effects: [{ type: "clock", skewMs: message.skewMs }] };
    case "begun":
      return each(state, watchesOf(state, message.session, message.to, message.watch), (watching, watch) =>
        begin(state, watching, watch, message),
      );
    case "events":
      return each(state, watchesOf(state, message.session, message.to, message.watch), (watching, watch) =>
        goOn(watching, watch, message.events, now),
      );
    case "reply":
      return reply(state, message);
    case "lead":
      return ask(state, lostBehind(state, message.heads, now), now);
    case "resign":
      return { state, effects: [] };
  }
}

/** Browsers drop what is said to a page that doesn't run. What was said before these heads has come, or never will. */
function lostBehind(state: MemberState, heads: Readonly<Record<string, Cursor>>, now: number): number[] {
  return [...state.watches].flatMap(([watch, { session, isJoined, position, askedAt }]) => {
    if (!isJoined) return now - askedAt > ASK_AGAIN_MS ? [watch] : [];
    const head = parseCursor(heads[session]);
    return head !== null && position !== null && comparePositions(position, head) < 0 ? [watch] : [];
  });
}

type Begun = Extract<FromLeader, { readonly type: "begun" }>;

interface Changed {
  readonly watching: Watching;
  readonly effects: readonly MemberEffect[];
}

function begin(state: MemberState, watching: Watching, watch: number, { beginning }: Begun): Changed {
  const { snapshot } = beginning;
  // An answer to what was asked before: another one follows.
  if (snapshot === null && watching.position === null) return { watching, effects: [] };
  const position = snapshot === null ? watching.position : parseCursor(snapshot.cursor);
  const view = state.views.get(watching.session) ?? NOT_CONNECTED;
  return {
    watching: { ...watching, isJoined: true, position },
    effects: [
      { type: "begun", watch, beginning },
      { type: "connection", watch, view },
    ],
  };
}

function goOn(watching: Watching, watch: number, events: readonly SessionEvent[], now: number): Changed {
  if (!watching.isJoined || watching.position === null) return { watching, effects: [] };
  let { position } = watching;
  const next: SessionEvent[] = [];
  let isBroken = false;
  for (const event of events) {
    const place = classifyEvent(position, event);
    isBroken = place === "gap" || place === "diverged";
    if (isBroken) break;
    if (place !== "next") continue;
    next.push(event);
    position = parseCursor(event.id) ?? position;
  }
  const effects: MemberEffect[] = next.length === 0 ? [] : [{ type: "events", watch, events: next }];
  if (isBroken) effects.push({ type: "ask", watch, session: watching.session, isWish: false });
  return { watching: { ...watching, position, isJoined: !isBroken, askedAt: now }, effects };
}

function reply(state: MemberState, message: Extract<FromLeader, { readonly type: "reply" }>): MemberStep {
  const { to, request, ack, error } = message;
  if (to !== state.me || !state.commands.has(request)) return { state, effects: [] };
  const outcome = ack ?? (error === null ? {} : readError(error));
  return {
    state: { ...state, commands: withEntry(state.commands, request, null) },
    effects: [{ type: "settle", request, outcome }],
  };
}

/** Who hasn't got what is there yet isn't live, whatever the connection is. */
function shownTo(watching: Watching, view: ConnectionView): ConnectionView {
  return watching.isJoined || view.phase !== "live" ? view : { ...view, phase: "replaying" };
}

function watchesOf(state: MemberState, session: string, to: string | null, watch: number): number[] {
  if (to !== null && to !== state.me) return [];
  return [...state.watches].flatMap(([id, watching]) =>
    watching.session === session && (to === null || id === watch) ? [id] : [],
  );
}

function each(
  state: MemberState,
  watches: readonly number[],
  how: (watching: Watching, watch: number) => Changed,
): MemberStep {
  let next = state.watches;
  const effects: MemberEffect[] = [];
  for (const watch of watches) {
    const watching = next.get(watch);
    if (watching === undefined) continue;
    const changed = how(watching, watch);
    next = withEntry(next, watch, changed.watching);
    effects.push(...changed.effects);
  }
  return { state: { ...state, watches: next }, effects };
}

/** @param value null takes it out */
function withEntry<Key, Value>(map: ReadonlyMap<Key, Value>, key: Key, value: Value | null): Map<Key, Value> {
  const copy = new Map(map);
  if (value === null) copy.delete(key);
  else copy.set(key, value);
  return copy;
}

/** Whether the leader meant to connect again and didn't get to it, as a tab whose timers are held back. */
export function isStalled({ views }: MemberState, now: number): boolean {
  return [...views.values()].some(
    ({ phase, retryAt }) => phase === "waiting" && retryAt !== null && now > retryAt + STALLED_MS,
  );
}

/** Where a watch stands after its session said where it is. */
export function positioned(state: MemberState, watch: number, cursor: Cursor | null): MemberState {
  const watching = state.watches.get(watch);
  if (watching === undefined) return state;
  return {
    ...state,
    watches: withEntry(state.watches, watch, { ...watching, position: parseCursor(cursor) }),
  };
}
