/**
 * `startTurn`, `endTurn`, `takeOver` and the functions for runs and groups fold the structure of a turn.
 * Invariant: the end of a turn closes everything in it that is still open. A turn that still runs when another starts
 * ends with an error. A superseded item keeps its index and output number, so later items keep theirs.
 */
import type { EventOf } from "../events/index.ts";
import { Sequence } from "../sequence.ts";
import {
  type Block,
  isBlock,
  isVisible,
  type Item,
  type SessionState,
  type Superseded,
  type Turn,
} from "../state.ts";
import { abort, opened } from "./block.ts";
import { changeRun, changeTurn, findRun, isFree, placeItem, showItem, turnSlot } from "./edit.ts";
import { withdraw } from "./interaction.ts";

export function startTurn(state: SessionState, event: EventOf<"turn.start">, seq: number): SessionState {
  if (turnSlot(state, event.turn) >= 0) return state;
  const message = state.waiting.find((waiting) => waiting.id === event.message) ?? null;
  const turn: Turn = {
    id: event.turn,
    number: event.number,
    message,
    message_number: event.message_number,
    agent: event.agent,
    model: event.model ?? null,
    mode: event.mode,
    from_share: event.from_share,
    resumes: event.resumes ?? null,
    retries: event.retries ?? null,
    locale: event.locale ?? null,
    start: seq,
    end: null,
    started_at: event.at,
    status: "running",
    duration_ms: null,
    usage: null,
    runs: [],
    items: Sequence.empty<Item | null>(),
    group: null,
    open: 0,
    half_shown: 0,
    shown_count: 0,
  };
  // A session runs one turn at a time, so a turn that was left running ends when the next one starts.
  const before = state.turns.last();
  const alone =
    before?.status === "running"
      ? changeTurn(state, before.id, (t) => closeTurn(t, "error", seq, event.at))
      : state;
  return {
    ...alone,
    waiting: message === null ? alone.waiting : alone.waiting.filter((waiting) => waiting !== message),
    turns: alone.turns.push(turn),
  };
}

export function endTurn(turn: Turn, event: EventOf<"turn.end">, seq: number): Turn {
  if (turn.status !== "running") return turn;
  const closed = closeTurn(turn, event.reason, seq, event.at);
  return { ...closed, duration_ms: event.duration_ms, usage: event.usage ?? null };
}

function closeTurn(turn: Turn, status: Exclude<Turn["status"], "running">, seq: number, at: number): Turn {
  let items = turn.items;
  for (const item of turn.items) {
    if (isBlock(item)) items = items.with(item.index, closeBlock(item, seq, at));
  }
  const runs = turn.runs.map((run) =>
    run.status === "running" ? { ...run, status: "cancelled" as const } : run,
  );
  return { ...turn, status, end: seq, items, runs, group: null, open: 0, half_shown: 0 };
}

function closeBlock(block: Block, seq: number, at: number): Block {
  if ("version" in block) return withdraw(block, seq, at);
  return block.end === null ? abort(block, seq, at) : block;
}

export function takeOver(turn: Turn, event: EventOf<"turn.takeover">): Turn {
  if (turn.status !== "running") return turn;
  const blocks = new Set(event.blocks);
  const groups = new Set(event.groups);
  let next = turn;
  for (const item of turn.items) {
    if (item === null || item.kind === "superseded") continue;
    const isMarker = item.kind === "group_start" || item.kind === "group_end";
    if (!(isMarker ? groups : blocks).has(item.id)) continue;
    next = { ...next, items: next.items.with(item.index, superseded(turn, item)) };
    if (!isMarker && item.end === null) next = opened(next, item, -1);
  }
  for (const id of event.runs) {
    const run = findRun(next, id);
    if (run !== undefined && run.status !== "superseded")
      next = changeRun(next, id, (r) => ({ ...r, status: "superseded" }));
  }
  return next.group !== null && groups.has(next.group) ? { ...next, group: null } : next;
}

function superseded(turn: Turn, item: Exclude<Item, Superseded>): Superseded {
  const { id, run, index, start, started_at } = item;
  const output = "output" in item && isVisible(turn, item) ? item.output : null;
  const call = "call" in item ? item.call : null;
  const name = "name" in item ? item.name : null;
  return {
    kind: "superseded",
    was: item.kind,
    id,
    run,
    index,
    start,
    started_at,
    shown: null,
    output,
    call,
    name,
  };
}

export function startRun(turn: Turn, event: EventOf<"run.start">): Turn {
  if (turn.status !== "running" || findRun(turn, event.run) !== undefined) return turn;
  const run = {
    id: event.run,
    parent: event.parent ?? null,
    call: event.call ?? null,
    agent: event.agent,
    label: event.label ?? null,
    started_at: event.at,
    status: "running" as const,
    usage: null,
    outputs: 0,
  };
  return { ...turn, runs: [...turn.runs, run] };
}

export function endRun(turn: Turn, event: EventOf<"run.end">): Turn {
  if (turn.status !== "running" || findRun(turn, event.run)?.status !== "running") return turn;
  return changeRun(turn, event.run, (run) => ({ ...run, status: event.status, usage: event.usage ?? null }));
}

export function startGroup(turn: Turn, event: EventOf<"group.start">, seq: number): Turn {
  if (turn.status !== "running" || !isFree(turn, event.index)) return turn;
  const { group: id, run, index, at: started_at } = event;
  const marker = { kind: "group_start", id, run, index, start: seq, started_at, shown: null } as const;
  return { ...showItem(placeItem(turn, marker), marker), group: id };
}

export function endGroup(turn: Turn, event: EventOf<"group.end">, seq: number): Turn {
  if (turn.status !== "running" || turn.group !== event.group || !isFree(turn, event.index)) return turn;
  const { group: id, run, index, at: started_at, summary } = event;
  const marker = { kind: "group_end", id, run, index, start: seq, started_at, shown: null, summary } as const;
  return { ...showItem(placeItem(turn, marker), marker), group: null };
}
