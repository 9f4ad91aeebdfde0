/**
 * A session for many small readers: one subscription to it, and each listener is told only of what it looks at, so that a
 * delta runs the selectors of one turn. Knows nothing of React, and nothing of what is drawn.
 */
import type { SessionState, ToolItem, Turn } from "@turnstream/protocol";
import type { Session, SessionView } from "../session/session.ts";
import { type LayoutState, updateLayout, EMPTY_LAYOUT, type TurnLayout } from "./turn-layout.ts";

/** "view": anything at all. "turns": which turns there are. `turn:…`: that turn. */
export type ThreadTopic = "view" | "turns" | `turn:${string}`;

export interface ThreadStore {
  readonly session: Session;
  readonly getView: () => SessionView;
  subscribe(topic: ThreadTopic, listener: () => void): () => void;
  /** Oldest first; the same array while the same turns are there. */
  getTurnIds(): readonly string[];
  getTurn(id: string): Turn | null;
  /** What a run shows; without a run, what the turn's main one does. */
  getLayout(turn: string, runId?: string): TurnLayout;
  /** A call with all that belongs to it, by its place. */
  getToolCall(turn: string, blockIndex: number): ToolItem | null;
}

export function createThreadStore(session: Session): ThreadStore {
  const view = session.getSnapshot;
  const listeners = new Map<ThreadTopic, Set<() => void>>();
  const layouts = new Map<string, LayoutState>();
  let ids: readonly string[] = [];
  let slots = new Map<string, number>();
  let listedTurns: SessionView["state"]["turns"] | null = null;
  let lastView = view();
  let unsubscribe: (() => void) | null = null;

  const notify = (topic: ThreadTopic): void => {
    for (const listener of listeners.get(topic) ?? []) listener();
  };
  const onChange = (): void => {
    const before = lastView;
    lastView = view();
    if (before === lastView) return;
    const { isListChanged, turns } = findChangedTurns(before.state, lastView.state);
    if (isListChanged) notify("turns");
    for (const turn of turns) notify(`turn:${turn}`);
    notify("view");
  };

  /** Keeps the list in step with the state; the same array while nothing came or went. */
  const list = (): void => {
    const { turns } = view().state;
    if (turns === listedTurns) return;
    listedTurns = turns;
    let n = 0;
    let isSame = turns.length === ids.length;
    for (const turn of turns) isSame &&= ids[n++] === turn.id;
    if (isSame) return;
    ids = turns.toArray().map(({ id }) => id);
    slots = new Map(ids.map((id, slot) => [id, slot]));
    for (const id of layouts.keys()) if (!slots.has(id)) layouts.delete(id);
  };
  const getTurn = (id: string): Turn | null => {
    list();
    return view().state.turns.get(slots.get(id) ?? -1) ?? null;
  };
  const layoutOf = (id: string): LayoutState | null => {
    const turn = getTurn(id);
    if (turn === null) return null;
    const previous = layouts.get(id) ?? null;
    if (previous?.turn === turn) return previous;
    const next = updateLayout(turn, previous);
    layouts.set(id, next);
    return next;
  };

  return {
    session,
    getView: view,
    subscribe(topic, listener) {
      const set = listeners.get(topic) ?? new Set();
      listeners.set(topic, set.add(listener));
      if (unsubscribe === null) {
        lastView = view();
        unsubscribe = session.subscribe(onChange);
      }
      return () => {
        set.delete(listener);
        if (set.size === 0 && listeners.get(topic) === set) listeners.delete(topic);
        if (listeners.size > 0) return;
        unsubscribe?.();
        unsubscribe = null;
      };
    },
    getTurnIds() {
      list();
      return ids;
    },
    getTurn,
    getLayout(turn, runId) {
      const previous = layoutOf(turn);
      return previous?.layouts.get(runId ?? previous.mainRunId ?? "") ?? EMPTY_LAYOUT;
    },
    getToolCall: (turn, blockIndex) => layoutOf(turn)?.toolCalls.get(blockIndex) ?? null,
  };
}

/** Which turns of a session are other ones than before. Pure; compares references, as the fold shares what it keeps. */
interface TurnChanges {
  /** Whether turns came, went or moved. */
  readonly isListChanged: boolean;
  readonly turns: readonly string[];
}

const NONE: TurnChanges = { isListChanged: false, turns: [] };

function findChangedTurns(before: SessionState, after: SessionState): TurnChanges {
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
  const previous = new Map<string, Turn>();
  for (const turn of before.turns) previous.set(turn.id, turn);
  for (const turn of after.turns) {
    if (previous.get(turn.id) !== turn) turns.push(turn.id);
    previous.delete(turn.id);
  }
  return { isListChanged: true, turns: [...turns, ...previous.keys()] };
}

/**
 * A long list in chunks that stay as they are when something is put in front of it or behind it. Pure.
 */
export interface TurnChunk {
  readonly key: number;
  readonly ids: readonly string[];
}

export const TURNS_PER_CHUNK = 16;

/** @param getNumber rises through the list; where it doesn't, what comes stays with what is before it */
export function chunkTurns(ids: readonly string[], getNumber: (id: string) => number): TurnChunk[] {
  const chunks: { key: number; ids: string[] }[] = [];
  for (const id of ids) {
    const key = Math.floor(getNumber(id) / TURNS_PER_CHUNK);
    const last = chunks.at(-1);
    if (last !== undefined && key <= last.key) last.ids.push(id);
    else chunks.push({ key, ids: [id] });
  }
  return chunks;
}

export function isSameList(one: readonly string[], other: readonly string[]): boolean {
  return one.length === other.length && one.every((id, n) => id === other[n]);
}
