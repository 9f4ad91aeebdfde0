/**
 * `openGroup` and `closeGroup` return the events that start or end a group of steps; `groupSummary` returns its label.
 * Pure.
 *
 * Invariant: a group starts or ends only while no block is open and no visible call waits for its result.
 */
import { isBlock, toolLabel, mainRun, type ToolCallBlock, type Turn } from "@turnstream/protocol";
import { unansweredCalls } from "@turnstream/protocol/writer";
import type { TurnEventDraft } from "./turn-writer.ts";

/**
 * Returns the event that starts a group for the next step of the main run, or null if a group is open or can't start.
 */
export function openGroup(turn: Turn): TurnEventDraft | null {
  const main = mainRun(turn);
  if (main === undefined || turn.group !== null || !isFree(turn)) return null;
  const index = turn.items.length;
  return { type: "group.start", run: main.id, group: `g${index}`, index };
}

/**
 * Returns the event that ends the open group, or null if there is none or it can't end yet.
 * @param thought label of a group without calls
 */
export function closeGroup(turn: Turn, thought: string): TurnEventDraft | null {
  const main = mainRun(turn);
  if (main === undefined || turn.group === null || !isFree(turn)) return null;
  const { group } = turn;
  const summary = groupSummary(turn, group, thought);
  return { type: "group.end", run: main.id, group, index: turn.items.length, summary };
}

/** Group markers are allowed only between complete blocks. */
function isFree(turn: Turn): boolean {
  return turn.open === 0 && !unansweredCalls(turn).some((call) => !call.hidden);
}

/**
 * Returns the summary of a group: the label of its last visible call, or `thought` without calls. The header of the
 * running group shows the same label, so it doesn't change at the end.
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
