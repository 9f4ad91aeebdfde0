/**
 * `viewTurn` returns a turn as users see it: blocks grouped by markers, results merged into their calls, sub-agents
 * inside the call that started them.
 * Invariant: it is a pure function of the folded turn. Whether a group is expanded on the screen is not part of it.
 */
import { isMain, mainRun } from "../turn-queries.ts";
import { type Block, isBlock, type Turn, isVisible } from "../state.ts";
import { toolLabel } from "../tool-label.ts";
import { type CallIndex, indexCalls, type ToolItem, toolItem } from "./tool-item.ts";

interface BlockItem {
  readonly type: "block";
  readonly block: Block;
}

export interface GroupItem {
  readonly type: "group";
  readonly id: string;
  /** Whether more blocks can follow. */
  readonly open: boolean;
  /** The summary once the group has ended, before that the label of the last tool; "" if there is neither. */
  readonly header: string;
  readonly items: readonly (BlockItem | ToolItem)[];
}

export type ViewItem = BlockItem | ToolItem | GroupItem;

/** Returns the items of the main run in order, or those of a sub-agent run inside its tool call. */
export function viewRun(turn: Turn, run: string): ViewItem[] {
  const view: ViewItem[] = [];
  const calls = indexCalls(turn);
  let group: { id: string; items: (BlockItem | ToolItem)[] } | null = null;
  const close = (summary: string | null): void => {
    if (group === null) return;
    const { id, items } = group;
    const open = summary === null && turn.status === "running";
    view.push({ type: "group", id, items, open, header: summary || lastLabel(items) });
    group = null;
  };
  for (const item of turn.items) {
    if (item === null || item.kind === "superseded" || item.run !== run) continue;
    if (item.kind === "group_start") {
      close("");
      group = { id: item.id, items: [] };
    } else if (item.kind === "group_end") close(item.summary);
    else if (isBlock(item)) {
      const shown = viewBlock(turn, item, calls);
      if (shown === null) continue;
      if (endsGroup(turn, item)) close("");
      (group?.items ?? view).push(shown);
    }
  }
  close(null);
  return view;
}

export function viewTurn(turn: Turn): ViewItem[] {
  const main = mainRun(turn);
  return main === undefined ? [] : viewRun(turn, main.id);
}

/** A merged result is not shown again. The approval of a visible call is part of the item of that call. */
function viewBlock(turn: Turn, block: Block, calls: CallIndex): BlockItem | ToolItem | null {
  if (!isVisible(turn, block) || block.kind === "tool_result") return null;
  if (block.kind === "tool_call") return toolItem(turn, block, calls);
  if (block.kind === "approval" && block.call !== null && calls.shown.has(block.call)) return null;
  return { type: "block", block };
}

/** Requirement W14: text that is not a part ends an open group if the end marker is missing. */
function endsGroup(turn: Turn, block: Block): boolean {
  return block.kind === "text" && !block.part && isMain(turn, block.run);
}

function lastLabel(items: readonly (BlockItem | ToolItem)[]): string {
  const last = items.findLast((item): item is ToolItem => item.type === "tool");
  return last === undefined ? "" : toolLabel(last.call);
}

/** Returns the first block that the main run shows. The UI puts the header of the agent above it (requirement U06). */
export function firstVisibleBlock(turn: Turn): string | null {
  const main = mainRun(turn);
  for (const item of turn.items) {
    if (isBlock(item) && item.run === main?.id && isVisible(turn, item)) return item.id;
  }
  return null;
}
