/**
 * `useApprovalRequest` returns an approval and its actions, without any UI.
 * Invariant: every decision carries the digest of the request that the user saw, so the server can reject a changed
 * one. Only a request with exactly one action can be edited.
 */
import {
  type ApprovalAction,
  type ApprovalBlock,
  listBlocks,
  isPending,
  type Json,
  type Turn,
  type FullContent,
} from "@turnstream/protocol";
import type { ApprovalDecision } from "@turnstream/client";
import { useThreadContext } from "../context.ts";
import { useBlock, useTurnSelector } from "../hooks/use-turn.ts";
import { type ActionState, useCardAction } from "./use-card-action.ts";

export interface ApprovalRequest extends ActionState {
  readonly block: ApprovalBlock;
  /** The actions as requested, or as the user edited them. */
  readonly actions: readonly ApprovalAction[];
  /**
   * Where the full arguments are stored if they are too large to show. `input` is then the start of their JSON as text.
   * Null otherwise.
   */
  readonly fullContent: FullContent | null;
  readonly isPending: boolean;
  /** Only a request with exactly one action can be edited. */
  readonly canEdit: boolean;
  readonly approve: () => void;
  /** Also approves every later call of the tool in this session. Only if the request offers it. */
  readonly approveAlways: () => void;
  readonly edit: (args: Json) => void;
  readonly reject: (reason?: string) => void;
}

export function useApprovalRequest(turnId: string, blockIndex: number): ApprovalRequest | null {
  const { session } = useThreadContext();
  const block = useBlock(turnId, blockIndex, "approval");
  const fullContent = useTurnSelector(turnId, (turn) => (turn === null ? null : findFullInput(turn, block)));
  const { run, isSending, problem } = useCardAction();
  if (block === null) return null;
  // Binds the decision to the request that the user saw.
  const digest = block.digest === null ? {} : { digest: block.digest };
  const decide = (decision: ApprovalDecision): void =>
    run(() => session.decideApproval(block.key, { ...decision, ...digest }));
  return {
    block,
    actions: block.edited ?? block.actions,
    fullContent,
    isPending: isPending(block),
    canEdit: block.editable && block.actions.length === 1,
    isSending,
    problem,
    approve: () => decide({ decision: "approve" }),
    approveAlways: () => decide({ decision: "approve", always: true }),
    edit: (args) => decide({ decision: "edit", args }),
    reject: (reason = "") => decide({ decision: "reject", ...(reason === "" ? {} : { reason }) }),
  };
}

/** The pending call has the full arguments. */
function findFullInput(turn: Turn, block: ApprovalBlock | null): FullContent | null {
  if (block?.actions.some(({ input }) => typeof input === "string") !== true) return null;
  const call = listBlocks(turn).find(
    (candidate) => candidate.kind === "tool_call" && candidate.call === block.call,
  );
  return call?.kind === "tool_call" ? call.whole : null;
}
