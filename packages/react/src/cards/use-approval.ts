/** An approval without its looks: what is asked, and what can be said to it. */
import { type Action, type ApprovalBlock, isPending, type Json } from "@turnstream/protocol";
import type { Decision } from "@turnstream/client";
import { useShared } from "../context.ts";
import { useBlock } from "../hooks/use-block.ts";
import { type CommandState, useCardCommand } from "./use-card-command.ts";

export interface Approval extends CommandState {
  readonly block: ApprovalBlock;
  /** What will be done: as asked for, or as it was edited. */
  readonly actions: readonly Action[];
  readonly isPending: boolean;
  /** Only what is one action can be edited. */
  readonly canEdit: boolean;
  readonly approve: () => void;
  /** Also every later call of the tool in this session; only where that is offered. */
  readonly approveAlways: () => void;
  readonly edit: (args: Json) => void;
  readonly reject: (reason?: string) => void;
}

export function useApproval(turn: string, index: number): Approval | null {
  const { session } = useShared();
  const block = useBlock(turn, index, "approval");
  const { run, isSending, problem } = useCardCommand();
  if (block === null) return null;
  // Binds what is decided to what was shown.
  const digest = block.digest === null ? {} : { digest: block.digest };
  const decide = (decision: Decision): void =>
    run(() => session.decide(block.key, { ...decision, ...digest }));
  return {
    block,
    actions: block.edited ?? block.actions,
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
