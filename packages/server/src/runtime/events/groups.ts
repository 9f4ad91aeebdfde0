/**
 * Groups of steps, by the rules of W14 and W15: when one may begin or end, and what it is called. Pure: reads the folded
 * turn.
 */
import { isBlock, toolLabel, mainRun, type ToolCallBlock, type Turn } from "@turnstream/protocol";
import { unansweredCalls } from "@turnstream/protocol/writer";
import type { TurnEventDraft } from "./turn-writer.ts";

/** What has to be written so that a step of the main run stands in a group; null when nothing, or it can't be. */
export function openGroup(turn: Turn): TurnEventDraft | null {
  const main = mainRun(turn);
  if (main === undefined || turn.group !== null || !isFree(turn)) return null;
  const index = turn.items.length;
  return { type: "group.start", run: main.id, group: `g${index}`, index };
}

/**
 * What has to be written so that no group is open; null when none is, or it can't be ended yet.
 * @param thought what to call a group without calls
 */
export function closeGroup(turn: Turn, thought: string): TurnEventDraft | null {
  const main = mainRun(turn);
  if (main === undefined || turn.group === null || !isFree(turn)) return null;
  const { group } = turn;
  const summary = groupSummary(turn, group, thought);
  return { type: "group.end", run: main.id, group, index: turn.items.length, summary };
}

/** Markers stand only where nothing is half told. */
function isFree(turn: Turn): boolean {
  return turn.open === 0 && !unansweredCalls(turn).some((call) => !call.hidden);
}

/**
 * What a group did, for people. As in 004 it is the label of its last call, which the group's header has shown before it
 * ended; so the header stays as it is.
 */
export function groupSummary(turn: Turn, group: string, thought: string): string {
  const main = mainRun(turn)?.id;
  let summary = thought;
  let isInside = false;
  for (const item of turn.items) {
    if (item?.kind === "group_start") isInside = item.id === group;
    else if (item?.kind === "group_end") isInside = false;
    else if (isInside && isBlock(item) && item.run === main && isShownCall(item)) summary = toolLabel(item);
  }
  return summary;
}

function isShownCall(block: { readonly kind: string; readonly hidden?: boolean }): block is ToolCallBlock {
  return block.kind === "tool_call" && block.hidden !== true;
}
