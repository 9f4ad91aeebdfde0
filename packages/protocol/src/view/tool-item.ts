/**
 * `toolItem` merges a tool call, its result, its approvals and the sub-agent that it started into one item to show
 * (requirements U01, U02).
 * Invariant: it is a pure function of the turn. A result counts only after its own end, not if it was aborted. A call
 * without such a result is pending while the turn runs and stopped afterwards.
 */
import { currentInput } from "../fold/block.ts";
import type { Json } from "../json.ts";
import {
  type ApprovalBlock,
  type Artifact,
  listBlocks,
  type Run,
  type ToolCallBlock,
  type ToolResultBlock,
  type Turn,
} from "../state.ts";

/** Shown as amber and spinning, green, red, grey. */
export type ToolStatus = "pending" | "done" | "error" | "stopped";

export interface ToolItem {
  readonly type: "tool";
  readonly call: ToolCallBlock;
  readonly result: ToolResultBlock | null;
  readonly approvals: readonly ApprovalBlock[];
  /** The sub-agent that the call started. */
  readonly run: Run | null;
  readonly status: ToolStatus;
  /** The arguments as far as they have streamed, or as the user edited them. */
  readonly input: Json;
  readonly edited: boolean;
  readonly resultText: string | null;
  readonly isError: boolean;
  readonly artifact: Artifact | null;
  /** The structured output, if the tool publishes it and has ended with it. */
  readonly output: Json;
}

/** "done" means that the tool ran. A call without a result in a turn that has ended was stopped (requirement H05). */
function toolStatus(turn: Turn, result: ToolResultBlock | null): ToolStatus {
  if (result !== null && result.end !== null && !result.aborted)
    return result.status === "success" ? "done" : "error";
  const isOver = turn.status !== "running" || turn.items.last()?.kind === "notice";
  return isOver ? "stopped" : "pending";
}

/** Results, approvals and runs by call, so that the view of a long turn scans it once. */
export interface CallIndex {
  readonly results: ReadonlyMap<string, ToolResultBlock>;
  readonly approvals: ReadonlyMap<string, readonly ApprovalBlock[]>;
  readonly runs: ReadonlyMap<string, Run>;
  /** Calls that are visible. */
  readonly shown: ReadonlySet<string>;
}

export function indexCalls(turn: Turn): CallIndex {
  const results = new Map<string, ToolResultBlock>();
  const approvals = new Map<string, ApprovalBlock[]>();
  const runs = new Map<string, Run>();
  const shown = new Set<string>();
  for (const block of listBlocks(turn)) {
    if (block.kind === "tool_call" && !block.hidden) shown.add(block.call);
    if (block.kind === "tool_result") results.set(block.call, block);
    if (block.kind === "approval" && block.call !== null) {
      approvals.set(block.call, [...(approvals.get(block.call) ?? []), block]);
    }
  }
  for (const run of turn.runs) if (run.call !== null && run.status !== "superseded") runs.set(run.call, run);
  return { results, approvals, runs, shown };
}

export function toolItem(turn: Turn, call: ToolCallBlock, calls: CallIndex = indexCalls(turn)): ToolItem {
  const result = calls.results.get(call.call) ?? null;
  const approvals = calls.approvals.get(call.call) ?? [];
  const edited = approvals.findLast((approval) => approval.edited !== null)?.edited ?? null;
  const isThere = result !== null && result.end !== null && !result.aborted;
  return {
    type: "tool",
    call,
    result,
    approvals,
    run: calls.runs.get(call.call) ?? null,
    status: toolStatus(turn, result),
    input: edited?.[0]?.input ?? currentInput(call),
    edited: edited !== null,
    resultText: isThere ? result.preview : null,
    isError: isThere && result.status !== "success",
    artifact: isThere ? result.artifact : null,
    output: isThere ? (result.structured ?? null) : null,
  };
}
