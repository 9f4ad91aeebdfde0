/**
 * One session in the leading tab: what its connection says goes to every tab that watches. Pure. It folds nothing: it
 * keeps the newest events, so that who comes back can go on, and has a snapshot fetched for who can't.
 *
 *   a watch:  asked ──its cursor is where the feed stands, or among the newest──▶ joined
 *               │  the feed hasn't begun: waits for it ───────────────────────────▲ ▲
 *               └──otherwise: fetch ──▶ fetching ──a snapshot that the newest events go on from──┘
 *
 * What is told to all is told once. Each tab keeps its own position and leaves out what it has, so nothing here has to
 * count what each of them got.
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
import type { Beginning } from "./messages.ts";

export interface Watcher {
  readonly tab: string;
  readonly watch: number;
}

interface Watching extends Watcher {
  readonly cursor: Cursor | null;
  readonly phase: "waiting" | "fetching" | "joined";
}

export interface FeedState {
  /** Where the connection goes on from; null: it begins with a snapshot. */
  readonly cursor: Cursor | null;
  /** Whether the connection has begun at least once. */
  readonly hasBegun: boolean;
  /** A beginning whose snapshot is still to come. */
  readonly fresh: Beginning["reason"] | null;
  /** Where a gap was seen last: the same again is not mended by asking for what comes after it. */
  readonly gapAt: Cursor | null;
  /** The newest events, dense, the first of them right after `since`. */
  readonly newest: readonly SessionEvent[];
  readonly since: Cursor | null;
  readonly watchers: readonly Watching[];
}

export type FeedInput =
  | { readonly type: "join"; readonly who: Watcher; readonly cursor: Cursor | null }
  | { readonly type: "part"; readonly who: Watcher }
  | { readonly type: "part all"; readonly tab: string }
  | { readonly type: "begun"; readonly resumed: boolean; readonly reason: Beginning["reason"] }
  | { readonly type: "snapshot"; readonly snapshot: Snapshot; readonly cursor: Cursor }
  | { readonly type: "events"; readonly events: readonly SessionEvent[] }
  | { readonly type: "fetched"; readonly who: Watcher; readonly snapshot: Snapshot; readonly cursor: Cursor }
  /** A snapshot can't be had by itself. */
  | { readonly type: "unfetchable" };

export type FeedEffect =
  /** @param to null: everybody */
  | { readonly type: "begin"; readonly to: Watcher | null; readonly beginning: Beginning }
  | { readonly type: "events"; readonly to: Watcher | null; readonly events: readonly SessionEvent[] }
  /** Wants a snapshot, as long as it is `fetching`; said again where one may be under way. */
  | { readonly type: "fetch"; readonly who: Watcher }
  /** Something is missing: let the connection begin again, after `cursor`. */
  | { readonly type: "again" };

export interface FeedStep {
  readonly state: FeedState;
  readonly effects: readonly FeedEffect[];
}

/** How many of the newest events are kept: about ten seconds of a fast answer. */
const KEPT = 2_000;

/** @param cursor of the first one who watches */
export function newFeed(cursor: Cursor | null): FeedState {
  return { cursor, hasBegun: false, fresh: null, gapAt: null, newest: [], since: cursor, watchers: [] };
}

export function stepFeed(state: FeedState, input: FeedInput): FeedStep {
  switch (input.type) {
    case "join":
      return join(state, input.who, input.cursor);
    case "part":
      return {
        state: { ...state, watchers: state.watchers.filter((one) => !isSame(one, input.who)) },
        effects: [],
      };
    case "part all":
      return {
        state: { ...state, watchers: state.watchers.filter(({ tab }) => tab !== input.tab) },
        effects: [],
      };
    case "begun":
      return input.resumed
        ? resumed(state, input.reason)
        : { state: { ...state, fresh: input.reason }, effects: [] };
    case "snapshot":
      return anew(state, input.snapshot, input.cursor);
    case "events":
      return goOn(state, input.events);
    case "fetched":
      return fetched(state, input.who, input.snapshot, input.cursor);
    case "unfetchable": {
      // The connection brings one for everybody, or says why it can't.
      const watchers = state.watchers.map((one): Watching => ({ ...one, phase: "waiting" }));
      return { state: { ...newFeed(null), watchers }, effects: [{ type: "again" }] };
    }
  }
}

function join(state: FeedState, who: Watcher, cursor: Cursor | null): FeedStep {
  const others = state.watchers.filter((one) => !isSame(one, who));
  // Somebody can't read snapshots, and asks for every event there ever was: the connection begins again for that.
  if (cursor === START_CURSOR && state.since !== START_CURSOR) {
    const watchers: Watching[] = [...others, { ...who, cursor, phase: "waiting" }];
    return { state: { ...newFeed(cursor), watchers }, effects: [{ type: "again" }] };
  }
  const as = (phase: Watching["phase"]): FeedState => ({
    ...state,
    watchers: [...others, { ...who, cursor, phase }],
  });
  // Before its first word, a connection may still bring a snapshot for all.
  if (!state.hasBegun && (cursor === state.cursor || state.cursor === null))
    return { state: as("waiting"), effects: [] };
  const after = state.hasBegun ? eventsAfter(state, cursor) : null;
  if (after === null) return { state: as("fetching"), effects: [{ type: "fetch", who }] };
  const beginning: Beginning = { resumed: true, reason: "cursor", snapshot: null };
  return { state: as("joined"), effects: [{ type: "begin", to: who, beginning }, ...caughtUp(who, after)] };
}

/** The connection goes on: so does everybody who has what it has. */
function resumed(state: FeedState, reason: Beginning["reason"]): FeedStep {
  const beginning: Beginning = { resumed: true, reason, snapshot: null };
  const effects: FeedEffect[] = [];
  const watchers = state.watchers.map((one): Watching => {
    const who = { tab: one.tab, watch: one.watch };
    const canGoOn = one.phase === "joined" || (one.phase === "waiting" && one.cursor === state.cursor);
    effects.push(canGoOn ? { type: "begin", to: who, beginning } : { type: "fetch", who });
    return { ...one, phase: canGoOn ? "joined" : "fetching" };
  });
  return { state: { ...state, hasBegun: true, fresh: null, watchers }, effects };
}

/** The connection begins anew, for everybody. */
function anew(state: FeedState, snapshot: Snapshot, cursor: Cursor): FeedStep {
  const beginning: Beginning = {
    resumed: false,
    reason: state.fresh ?? "fresh",
    snapshot: { snapshot, cursor },
  };
  const watchers = state.watchers.map((one): Watching => ({ ...one, phase: "joined" }));
  const next: FeedState = { ...newFeed(cursor), hasBegun: true, watchers };
  return { state: next, effects: [{ type: "begin", to: null, beginning }] };
}

function goOn(state: FeedState, events: readonly SessionEvent[]): FeedStep {
  let last = parseCursor(state.cursor);
  if (last === null) return { state, effects: [] };
  const next: SessionEvent[] = [];
  let isBroken: "gap" | "diverged" | null = null;
  for (const event of events) {
    const place = classifyEvent(last, event);
    if (place === "gap" || place === "diverged") {
      isBroken = place;
      break;
    }
    if (place !== "next") continue;
    next.push(event);
    last = parseCursor(event.id) ?? last;
  }
  const newest = [...state.newest, ...next];
  const dropped = newest.splice(0, Math.max(0, newest.length - KEPT));
  const since = dropped.at(-1)?.id ?? state.since;
  const told: FeedEffect[] = next.length === 0 ? [] : [{ type: "events", to: null, events: next }];
  const at = formatCursor(last);
  const isLost = isBroken === "diverged" || (isBroken === "gap" && state.gapAt === at);
  const gapAt = isBroken === "gap" ? at : state.gapAt;
  return {
    state: { ...state, newest, since, gapAt, cursor: isLost ? null : at },
    effects: isBroken === null ? told : [...told, { type: "again" }],
  };
}

function fetched(state: FeedState, who: Watcher, snapshot: Snapshot, cursor: Cursor): FeedStep {
  const watching = state.watchers.find((one) => isSame(one, who));
  // It may have left, or the connection may have begun anew for everybody meanwhile.
  if (watching?.phase !== "fetching") return { state, effects: [] };
  const [there, here] = [parseCursor(cursor), parseCursor(state.cursor)];
  // A snapshot may be ahead of the connection: it then waits for what comes after.
  const isAhead = there !== null && here !== null && there.seq > here.seq;
  const after = isAhead ? [] : eventsAfter(state, cursor);
  // Older than what is kept: another one is needed.
  if (after === null) return { state, effects: [] };
  const beginning: Beginning = {
    resumed: false,
    reason: watching.cursor === null ? "fresh" : "expired",
    snapshot: { snapshot, cursor },
  };
  const watchers = state.watchers.map((one): Watching =>
    one === watching ? { ...one, phase: "joined" } : one,
  );
  return {
    state: { ...state, watchers },
    effects: [{ type: "begin", to: who, beginning }, ...caughtUp(who, after)],
  };
}

function caughtUp(who: Watcher, events: readonly SessionEvent[]): FeedEffect[] {
  return events.length === 0 ? [] : [{ type: "events", to: who, events }];
}

/** What came after a cursor; null where that isn't known. */
function eventsAfter(state: FeedState, cursor: Cursor | null): readonly SessionEvent[] | null {
  if (cursor === null) return null;
  if (cursor === state.cursor) return [];
  if (cursor === state.since) return state.newest;
  const at = state.newest.findLastIndex(({ id }) => id === cursor);
  return at < 0 ? null : state.newest.slice(at + 1);
}

function isSame(a: Watcher, b: Watcher): boolean {
  return a.tab === b.tab && a.watch === b.watch;
}
