/**
 * `snapshot` converts a folded state to plain JSON, including open blocks, and `restore` converts it back.
 * Invariant: `restore(snapshot(state))` folds further events exactly like `state`. Does not read a log.
 */
import { endCall } from "./fold/block.ts";
import { isPending, outlivesTurn } from "./fold/interaction.ts";
import { emptyPartialJson, pushJson } from "./partial-json.ts";
import { Sequence } from "./sequence.ts";
import { listBlocks, type Item, type SessionState, type ToolCallBlock, type Turn } from "./state.ts";
import { SCHEMA_VERSION } from "./version.ts";

/** Omits the parser and the arguments that it returns, because both follow from `args`. */
type CallSnapshot = Omit<ToolCallBlock, "parsed" | "input"> & Partial<Pick<ToolCallBlock, "input">>;
type ItemSnapshot = Exclude<Item, ToolCallBlock> | CallSnapshot | null;
export interface TurnSnapshot extends Omit<Turn, "items"> {
  readonly items: readonly ItemSnapshot[];
}
export interface Snapshot extends Omit<SessionState, "turns"> {
  /** The schema version of the writer. `upgradeSnapshot` converts other versions. */
  readonly v: number;
  readonly turns: readonly TurnSnapshot[];
}

/**
 * @param turns how many of the newest turns to include. An older turn is included only if a form or payment in it is
 * pending, so that its updates can be applied. `earlier` counts the others.
 */
export function snapshot(state: SessionState, turns = Infinity): Snapshot {
  const all = state.turns.toArray();
  const included = all.filter((turn, n) => n >= all.length - turns || hasOpenEnds(turn));
  return {
    v: SCHEMA_VERSION,
    ...state,
    earlier: state.earlier + all.length - included.length,
    turns: included.map(turnSnapshot),
  };
}

function hasOpenEnds(turn: Turn): boolean {
  return listBlocks(turn).some((block) => "version" in block && outlivesTurn(block) && isPending(block));
}

/** Returns one turn in the same form, for pages of older turns. */
export function turnSnapshot(turn: Turn): TurnSnapshot {
  return { ...turn, items: turn.items.toArray().map(itemSnapshot) };
}

function itemSnapshot(item: Item | null): ItemSnapshot {
  if (item?.kind !== "tool_call") return item;
  const { parsed: _, input, ...rest } = item;
  return item.given ? { ...rest, input } : rest;
}

export function restore(from: Snapshot): SessionState {
  const { v: _, ...state } = from;
  return { ...state, turns: Sequence.from(from.turns.map(restoreTurn)) };
}

export function restoreTurn(from: TurnSnapshot): Turn {
  return { ...from, items: Sequence.from(from.items.map(restoreItem)) };
}

const KINDS: Readonly<Record<Item["kind"], true>> = {
  thinking: true,
  text: true,
  tool_call: true,
  tool_result: true,
  files: true,
  notice: true,
  approval: true,
  question: true,
  form: true,
  payment: true,
  group_start: true,
  group_end: true,
  superseded: true,
};

function restoreItem(item: ItemSnapshot): Item | null {
  // The fold ignores the events of a kind that only a newer version has, so its index stays free.
  if (item !== null && !Object.hasOwn(KINDS, item.kind)) return null;
  if (item?.kind !== "tool_call") return item;
  const parsed = item.given ? emptyPartialJson : pushJson(emptyPartialJson, item.args);
  const block = { ...item, parsed, input: null };
  if (item.end === null) return block;
  return endCall(block, item.given ? item.input : undefined, item.aborted);
}
