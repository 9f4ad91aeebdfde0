/**
 * `mainRun`, `findToolCall`, `findToolResult` and other queries read a turn, for rules, dialects and views.
 * Invariant: they never change the turn. Most of them scan all its items, so code that runs for every delta must not
 * call those. None returns a superseded block.
 */
import { isPending } from "./fold/interaction.ts";
import {
  type ApprovalBlock,
  type Block,
  listBlocks,
  type FormBlock,
  type InteractionBlock,
  isBlock,
  type Run,
  type SessionState,
  type ToolCallBlock,
  type ToolResultBlock,
  type Turn,
} from "./state.ts";

export function mainRun(turn: Turn): Run | undefined {
  return turn.runs.find((run) => run.parent === null);
}

export function isMain(turn: Turn, run: string): boolean {
  return mainRun(turn)?.id === run;
}

/** Returns the status of the main run for the reason of its turn's end. */
export function mainRunStatus(
  reason: Exclude<Turn["status"], "running">,
): "completed" | "failed" | "cancelled" {
  if (reason === "error") return "failed";
  return reason === "user_stopped" ? "cancelled" : "completed";
}

/** Returns the newest block that passes a test, down to an index. Fast if the block is among the last ones. */
function findBlock<B extends Block>(
  turn: Turn,
  test: (block: Block) => block is B,
  downTo = 0,
): B | undefined {
  for (let index = turn.items.length - 1; index >= downTo; index--) {
    const item = turn.items.get(index) ?? null;
    if (isBlock(item) && test(item)) return item;
  }
  return undefined;
}

export function findToolCall(turn: Turn, call: string): ToolCallBlock | undefined {
  return findBlock(
    turn,
    (block): block is ToolCallBlock => block.kind === "tool_call" && block.call === call,
  );
}

/** Returns the result of a call. It always comes after the call. */
export function findToolResult(turn: Turn, call: string): ToolResultBlock | undefined {
  const isIt = (block: Block): block is ToolResultBlock =>
    block.kind === "tool_result" && block.call === call;
  return findBlock(turn, isIt, findToolCall(turn, call)?.index);
}

/** Returns the pending interactions in the order of their requests. */
export function listPendingInteractions(turn: Turn): InteractionBlock[] {
  const pending: InteractionBlock[] = [];
  for (const item of turn.items)
    if (item !== null && "version" in item && isPending(item)) pending.push(item);
  return pending;
}

export function findPendingApproval(turn: Turn, call: string): ApprovalBlock | undefined {
  return findBlock(
    turn,
    (block): block is ApprovalBlock => block.kind === "approval" && block.call === call && isPending(block),
  );
}

/** Returns the pending form that the tool of a call waits for. */
export function findWaitingForm(turn: Turn, call: string): FormBlock | undefined {
  return findBlock(
    turn,
    (block): block is FormBlock =>
      block.kind === "form" && block.call === call && block.waits && isPending(block),
  );
}

/** Returns the last approval of a call if it was not granted. */
export function findRefusal(turn: Turn, call: string): ApprovalBlock | undefined {
  const last = findBlock(
    turn,
    (block): block is ApprovalBlock => block.kind === "approval" && block.call === call,
  );
  return last === undefined || last.status === "approved" || last.status === "edited" ? undefined : last;
}

/** Returns the tool calls without a finished result, of one run or of the whole turn. */
export function unansweredCalls(turn: Turn, run?: string): ToolCallBlock[] {
  const blocks = listBlocks(turn);
  const answered = new Set<string>();
  for (const block of blocks)
    if (block.kind === "tool_result" && block.end !== null) answered.add(block.call);
  return blocks.filter(
    (block): block is ToolCallBlock =>
      block.kind === "tool_call" && !answered.has(block.call) && (run === undefined || block.run === run),
  );
}

export function findSubAgentRun(turn: Turn, call: string): Run | undefined {
  return turn.runs.find((run) => run.call === call && run.status !== "superseded");
}

/** Returns the turn that was still running when another turn started, before and after that; usually null. */
export function leftRunning(before: SessionState, after: SessionState): { was: Turn; turn: Turn } | null {
  const was = before.turns.last();
  const turn = after.turns.get(before.turns.length - 1);
  return was?.status === "running" && turn !== undefined && turn.status !== "running" ? { was, turn } : null;
}
