/**
 * A tool call and its result as one thing to show (U01, U02), with its approvals and the sub-agent it started.
 */
import { inputOf } from "../fold/block.ts";
import { runOfCall } from "../legal/turn-facts.ts";
import type { Json } from "../json.ts";
import {
  type ApprovalBlock,
  type Artifact,
  blocksOf,
  type Run,
  type ToolCallBlock,
  type ToolResultBlock,
  type Turn,
} from "../state.ts";

/** amber and spinning, green, red, grey */
export type StatusDot = "pending" | "done" | "error" | "stopped";

export interface ToolItem {
  readonly type: "tool";
  readonly call: ToolCallBlock;
  readonly result: ToolResultBlock | null;
  readonly approvals: readonly ApprovalBlock[];
  /** The sub-agent that the call started. */
  readonly run: Run | null;
  readonly dot: StatusDot;
  /** The arguments, as far as they have streamed; as edited, when a person edited them. */
  readonly input: Json;
  readonly edited: boolean;
  readonly toolResult: string | null;
  readonly toolResultError: boolean;
  readonly artifact: Artifact | null;
}

/** A check mark means that the tool ran; no result in a turn that is over means that it was stopped (H05). */
export function statusDot(turn: Turn, result: ToolResultBlock | null): StatusDot {
  if (result !== null && result.end !== null && !result.aborted)
    return result.status === "success" ? "done" : "error";
  return turn.status === "running" ? "pending" : "stopped";
}

export function toolItem(turn: Turn, call: ToolCallBlock): ToolItem {
  const blocks = blocksOf(turn);
  const result =
    blocks.find((b): b is ToolResultBlock => b.kind === "tool_result" && b.call === call.call) ?? null;
  const approvals = blocks.filter((b): b is ApprovalBlock => b.kind === "approval" && b.call === call.call);
  const edited = approvals.findLast((approval) => approval.edited !== null)?.edited ?? null;
  const isThere = result !== null && result.end !== null && !result.aborted;
  return {
    type: "tool",
    call,
    result,
    approvals,
    run: runOfCall(turn, call.call) ?? null,
    dot: statusDot(turn, result),
    input: edited?.[0]?.input ?? inputOf(call),
    edited: edited !== null,
    toolResult: isThere ? result.preview : null,
    toolResultError: isThere && result.status !== "success",
    artifact: isThere ? result.artifact : null,
  };
}
