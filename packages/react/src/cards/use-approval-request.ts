/** An approval without its looks: what is asked, and what can be said to it. */
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
  /** What will be done: as asked for, or as it was edited. */
  readonly actions: readonly ApprovalAction[];
  /**
   * Where all of the arguments are, when they are too large to be shown: `input` is a text then, how they begin. Null for
   * others, and for those that the call itself tells in full.
   */
  readonly fullContent: FullContent | null;
  readonly isPending: boolean;
  /** Only what is one action can be edited. */
  readonly canEdit: boolean;
  readonly approve: () => void;
  /** Also every later call of the tool in this session; only where that is offered. */
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
  // Binds what is decided to what was shown.
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

/** The call that waits has it. */
function findFullInput(turn: Turn, block: ApprovalBlock | null): FullContent | null {
  if (block?.actions.some(({ input }) => typeof input === "string") !== true) return null;
  const call = listBlocks(turn).find(
    (candidate) => candidate.kind === "tool_call" && candidate.call === block.call,
  );
  return call?.kind === "tool_call" ? call.whole : null;
}
