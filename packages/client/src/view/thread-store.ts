/**
 * A session for many small readers: one subscription to it, and each listener is told only of what it looks at, so that a
 * delta runs the selectors of one turn. Knows nothing of React, and nothing of what is drawn.
 */
import type { SessionState, ToolItem, Turn } from "@turnstream/protocol";
import type { Session, SessionView } from "../session/session.ts";
import { type Digest, digest, NOTHING, type Outline } from "./turn-layout.ts";

/** "view": anything at all. "turns": which turns there are. `turn:…`: that turn. */
export type Channel = "view" | "turns" | `turn:${string}`;

export interface ThreadStore {
  readonly session: Session;
  readonly view: () => SessionView;
  subscribe(channel: Channel, listener: () => void): () => void;
  /** Oldest first; the same array while the same turns are there. */
  turnIds(): readonly string[];
  turn(id: string): Turn | null;
  /** What a run shows; without a run, what the turn's main one does. */
  outline(turn: string, run?: string): Outline;
  /** A call with all that belongs to it, by its place. */
  tool(turn: string, index: number): ToolItem | null;
}

export function createThreadStore(session: Session): ThreadStore {
  const view = session.getSnapshot;
  const listeners = new Map<Channel, Set<() => void>>();
  const digests = new Map<string, Digest>();
  let ids: readonly string[] = [];
  let slots = new Map<string, number>();
  let listed: SessionView["state"]["turns"] | null = null;
  let seen = view();
  let leave: (() => void) | null = null;

  const tell = (channel: Channel): void => {
    for (const listener of listeners.get(channel) ?? []) listener();
  };
  const onChange = (): void => {
    const before = seen;
    seen = view();
    if (before === seen) return;
    const { isListChanged, turns } = changedTurns(before.state, seen.state);
    if (isListChanged) tell("turns");
    for (const turn of turns) tell(`turn:${turn}`);
    tell("view");
  };

  /** Keeps the list in step with the state; the same array while nothing came or went. */
  const list = (): void => {
    const { turns } = view().state;
    if (turns === listed) return;
    listed = turns;
    let n = 0;
    let isSame = turns.length === ids.length;
    for (const turn of turns) isSame &&= ids[n++] === turn.id;
    if (isSame) return;
    ids = turns.toArray().map(({ id }) => id);
    slots = new Map(ids.map((id, slot) => [id, slot]));
    for (const id of digests.keys()) if (!slots.has(id)) digests.delete(id);
  };
  const turnOf = (id: string): Turn | null => {
    list();
    return view().state.turns.get(slots.get(id) ?? -1) ?? null;
  };
  const digestOf = (id: string): Digest | null => {
    const turn = turnOf(id);
    if (turn === null) return null;
    const known = digests.get(id) ?? null;
    if (known?.turn === turn) return known;
    const fresh = digest(turn, known);
    digests.set(id, fresh);
    return fresh;
  };

  return {
    session,
    view,
    subscribe(channel, listener) {
      const set = listeners.get(channel) ?? new Set();
      listeners.set(channel, set.add(listener));
      if (leave === null) {
        seen = view();
        leave = session.subscribe(onChange);
      }
      return () => {
        set.delete(listener);
        if (set.size === 0 && listeners.get(channel) === set) listeners.delete(channel);
        if (listeners.size > 0) return;
        leave?.();
        leave = null;
      };
    },
    turnIds() {
      list();
      return ids;
    },
    turn: turnOf,
    outline(turn, run) {
      const known = digestOf(turn);
      return known?.outlines.get(run ?? known.main ?? "") ?? NOTHING;
    },
    tool: (turn, index) => digestOf(turn)?.tools.get(index) ?? null,
  };
}

/** Which turns of a session are other ones than before. Pure; compares references, as the fold shares what it keeps. */
export interface TurnChanges {
  /** Whether turns came, went or moved. */
  readonly isListChanged: boolean;
  readonly turns: readonly string[];
}

const NONE: TurnChanges = { isListChanged: false, turns: [] };

export function changedTurns(before: SessionState, after: SessionState): TurnChanges {
  if (before.turns === after.turns) return NONE;
  const turns: string[] = [];
  if (before.turns.length === after.turns.length) {
    let isListChanged = false;
    const old = before.turns[Symbol.iterator]();
    for (const turn of after.turns) {
      const was = old.next().value as Turn;
      if (was === turn) continue;
      turns.push(turn.id);
      if (was.id === turn.id) continue;
      turns.push(was.id);
      isListChanged = true;
    }
    return { isListChanged, turns };
  }
  const known = new Map<string, Turn>();
  for (const turn of before.turns) known.set(turn.id, turn);
  for (const turn of after.turns) {
    if (known.get(turn.id) !== turn) turns.push(turn.id);
    known.delete(turn.id);
  }
  return { isListChanged: true, turns: [...turns, ...known.keys()] };
}

/**
 * A long list in portions that stay as they are when something is put in front of it or behind it. Pure.
 */
export interface Portion {
  readonly key: number;
  readonly ids: readonly string[];
}

export const PORTION = 16;

/** @param numberOf rises through the list; where it doesn't, what comes stays with what is before it */
export function portionsOf(ids: readonly string[], numberOf: (id: string) => number): Portion[] {
  const portions: { key: number; ids: string[] }[] = [];
  for (const id of ids) {
    const key = Math.floor(numberOf(id) / PORTION);
    const last = portions.at(-1);
    if (last !== undefined && key <= last.key) last.ids.push(id);
    else portions.push({ key, ids: [id] });
  }
  return portions;
}

export function isSameList(one: readonly string[], other: readonly string[]): boolean {
  return one.length === other.length && one.every((id, n) => id === other[n]);
}
