/**
 * Questions about a turn that rules, dialects and views ask: who is the main run, which result belongs to a
 * call. Reads only; most are linear in the turn's items, so none is on the path of a delta.
 */
import { isPending } from "./fold/interaction.ts";
import {
  type ApprovalBlock,
  type Block,
  blocksOf,
  type Run,
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

export function callOf(turn: Turn, call: string): ToolCallBlock | undefined {
  return blocksOf(turn).find((block) => block.kind === "tool_call" && block.call === call) as
    | ToolCallBlock
    | undefined;
}

export function resultOf(turn: Turn, call: string): ToolResultBlock | undefined {
  const isResult = (block: Block): boolean => block.kind === "tool_result" && block.call === call;
  return blocksOf(turn).find(isResult) as ToolResultBlock | undefined;
}

export function pendingApprovalOf(turn: Turn, call: string): ApprovalBlock | undefined {
  const isIt = (block: Block): boolean =>
    block.kind === "approval" && block.call === call && isPending(block);
  return blocksOf(turn).find(isIt) as ApprovalBlock | undefined;
}

/** The last approval of a call, when it was not given. */
export function refusalOf(turn: Turn, call: string): ApprovalBlock | undefined {
  const isIt = (block: Block): boolean => block.kind === "approval" && block.call === call;
  const last = blocksOf(turn).findLast(isIt) as ApprovalBlock | undefined;
  return last === undefined || last.status === "approved" || last.status === "edited" ? undefined : last;
}

/** Tool calls that have no finished result yet, of one run or of the whole turn. */
export function unansweredCalls(turn: Turn, run?: string): ToolCallBlock[] {
  const blocks = blocksOf(turn);
  const answered = new Set<string>();
  for (const block of blocks)
    if (block.kind === "tool_result" && block.end !== null) answered.add(block.call);
  return blocks.filter(
    (block): block is ToolCallBlock =>
      block.kind === "tool_call" && !answered.has(block.call) && (run === undefined || block.run === run),
  );
}

export function runOfCall(turn: Turn, call: string): Run | undefined {
  return turn.runs.find((run) => run.call === call && run.status !== "superseded");
}
