/**
 * `openGroup` and `closeGroup` return the events that start or end a group of blocks. `groupSummary` returns its default
 * label, and `groupBlocks` its blocks. Pure.
 *
 * Invariant: a group starts or ends only while no block is open and no visible call waits for its result.
 */
import {
  type Block,
  findToolCall,
  isBlock,
  toolLabel,
  mainRun,
  type ToolCallBlock,
  type Turn,
} from "@turnstream/protocol";
import { unansweredCalls } from "@turnstream/protocol/writer";
import type { TurnEventDraft } from "./turn-writer.ts";

/**
 * Returns the event that starts a group for the next block of the main run, or null if a group is open or can't start.
 */
export function openGroup(turn: Turn): TurnEventDraft | null {
  const main = mainRun(turn);
  if (main === undefined || turn.group !== null || !isFree(turn)) return null;
  const index = turn.items.length;
  return { type: "group.start", run: main.id, group: `g${index}`, index };
}

/** Returns the event that ends the open group, or null if there is none or it can't end yet. */
export function closeGroup(turn: Turn, summary: string): TurnEventDraft | null {
  const main = mainRun(turn);
  if (main === undefined || turn.group === null || !isFree(turn)) return null;
  return { type: "group.end", run: main.id, group: turn.group, index: turn.items.length, summary };
}

/** Returns true between complete blocks, where group markers are allowed. */
export function isFree(turn: Turn): boolean {
  return turn.open === 0 && !unansweredCalls(turn).some((call) => !call.hidden);
}

/** Returns true if the call is in the group that is open now. */
export function isInOpenGroup(turn: Turn, call: string): boolean {
  const block = findToolCall(turn, call);
  return block !== undefined && turn.group !== null && groupBlocks(turn, turn.group).includes(block);
}

/** Returns the blocks of the main run in a group. */
export function groupBlocks(turn: Turn, group: string): Block[] {
  const main = mainRun(turn)?.id;
  const blocks: Block[] = [];
  let isInside = false;
  for (const item of turn.items) {
    if (item?.kind === "group_start") isInside = item.id === group;
    else if (item?.kind === "group_end") isInside = false;
    else if (isInside && isBlock(item) && item.run === main) blocks.push(item);
  }
  return blocks;
}

/**
 * Returns the summary of a group: the label of its last visible call, or `thought` without calls. The header of the
 * running group shows the same label, so it doesn't change at the end.
 */
export function groupSummary(turn: Turn, group: string, thought: string): string {
  const last = groupBlocks(turn, group).findLast(isShownCall);
  return last === undefined ? thought : toolLabel(last);
}

export function isShownCall(block: Block): block is ToolCallBlock {
  return block.kind === "tool_call" && !block.hidden;
}
