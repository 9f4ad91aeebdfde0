/**
 * `createThreadStore` distributes one session subscription to many listeners.
 * Invariant: a listener is notified only about its topic, so a delta runs the selectors of one turn. Independent of
 * React and of rendering.
 */
import type { SessionState, ToolItem, Turn } from "@turnstream/protocol";
import type { Session, SessionView } from "../session/session.ts";
import { type LayoutState, updateLayout, EMPTY_LAYOUT, type TurnLayout } from "./turn-layout.ts";

/** "view": any change. "turns": the list of turns. `turn:…`: that turn. */
export type ThreadTopic = "view" | "turns" | `turn:${string}`;

export interface ThreadStore {
  readonly session: Session;
  readonly getView: () => SessionView;
  subscribe(topic: ThreadTopic, listener: () => void): () => void;
  /** Oldest first; the same array while the list is unchanged. */
  getTurnIds(): readonly string[];
  getTurn(id: string): Turn | null;
  /** Returns the layout of a run, or of the turn's main run. */
  getLayout(turn: string, runId?: string): TurnLayout;
  /** Returns a tool call with everything that belongs to it, by its block index. */
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

  /** Updates the list from the state; keeps the same array while the list is unchanged. */
  const list = (): void => {
    const { turns } = view().state;
    if (turns === listedTurns) return;
    listedTurns = turns;
    let n = 0;
    let isSame = turns.length === ids.length;
    for (const turn of turns.toArray()) isSame &&= ids[n++] === turn.id;
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

/** The turns that changed. Compares references, because the fold shares unchanged turns. */
interface TurnChanges {
  /** Whether turns were added, removed or moved. */
  readonly isListChanged: boolean;
  readonly turns: readonly string[];
}

const NONE: TurnChanges = { isListChanged: false, turns: [] };

function findChangedTurns(before: SessionState, after: SessionState): TurnChanges {
  if (before.turns === after.turns) return NONE;
  const turns: string[] = [];
  if (before.turns.length === after.turns.length) {
    let isListChanged = false;
    const old = before.turns.toArray();
    for (const [slot, turn] of after.turns.toArray().entries()) {
      const was = old[slot] as Turn;
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

/** Splits a long list into chunks that stay the same when turns are added before or after them. Pure. */
export interface TurnChunk {
  readonly key: number;
  readonly ids: readonly string[];
}

export const TURNS_PER_CHUNK = 16;

/**
 * @param getNumber returns a number that increases through the list; an id with a lower number stays in the chunk
 * before it
 */
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

export function isSameList(one: readonly unknown[], other: readonly unknown[]): boolean {
  return one.length === other.length && one.every((id, n) => id === other[n]);
}
