/**
 * A session for many small readers: one subscription to it, and each listener is told only of what it looks at, so that a
 * delta runs the selectors of one turn. Knows nothing of React, and nothing of what is drawn.
 */
import type { ToolItem, Turn } from "@turnstream/protocol";
import { changedTurns } from "./changed-turns.ts";
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
