/**
 * `useApprovalRequest` returns an approval and its actions, without any UI.
 * Invariant: every decision carries the digest of the request that the user saw, so the server can reject a changed
 * one. Only a request with exactly one action can be edited. Arguments that are too long to show can be approved only
 * after `markOpened`.
 */
import {
  type ApprovalAction,
  type ApprovalBlock,
  findToolCall,
  isPending,
  type Json,
  type Turn,
  type FullContent,
  type ToolCallBlock,
} from "@turnstream/protocol";
import type { ApprovalDecision } from "@turnstream/client";
import { useState } from "react";
import { useThreadContext } from "../context.ts";
import { useBlock, useTurnSelector } from "../hooks/use-turn.ts";
import { type ActionState, useCardAction } from "./use-card-action.ts";

export interface ApprovalRequest extends ActionState {
  readonly block: ApprovalBlock;
  /** The actions as requested, or as the user edited them. */
  readonly actions: readonly ApprovalAction[];
  /**
   * Where the full arguments are stored if they are too large for an event. `input` is then the start of their JSON as
   * text. Null otherwise.
   */
  readonly fullContent: FullContent | null;
  /** The full arguments, if `input` is only their start and the call has them. Null otherwise. */
  readonly fullInput: Json;
  /** True until `markOpened`, if `input` is only the start of the arguments. Nothing can be approved before. */
  readonly mustOpen: boolean;
  /** Call it when the user has opened the full arguments. */
  readonly markOpened: () => void;
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
  const call = useTurnSelector(turnId, (turn) => (turn === null ? null : findTruncatedCall(turn, block)));
  const { run, isSending, problem } = useCardAction();
  const [isOpened, setOpened] = useState(false);
  if (block === null) return null;
  // Binds the decision to the request that the user saw.
  const digest = block.digest === null ? {} : { digest: block.digest };
  const decide = (decision: ApprovalDecision): void =>
    run(() => session.decideApproval(block.key, { ...decision, ...digest }));
  const mustOpen = isTruncated(block) && !isOpened;
  const approve = (always: { readonly always?: true }): void => {
    if (!mustOpen) decide({ decision: "approve", ...always });
  };
  return {
    block,
    actions: block.edited ?? block.actions,
    fullContent: call?.whole ?? null,
    fullInput: call === null || call.whole !== null ? null : call.input,
    mustOpen,
    markOpened: () => setOpened(true),
    isPending: isPending(block),
    canEdit: block.editable && block.actions.length === 1,
    isSending,
    problem,
    approve: () => approve({}),
    approveAlways: () => approve({ always: true }),
    edit: (args) => decide({ decision: "edit", args }),
    reject: (reason = "") => decide({ decision: "reject", ...(reason === "" ? {} : { reason }) }),
  };
}

/** Arguments are an object, so a text is the start of their JSON. */
function isTruncated({ actions }: ApprovalBlock): boolean {
  return actions.some(({ input }) => typeof input === "string");
}

/** The pending call has the full arguments. */
function findTruncatedCall(turn: Turn, block: ApprovalBlock | null): ToolCallBlock | null {
  if (block === null || block.call === null || !isTruncated(block)) return null;
  return findToolCall(turn, block.call) ?? null;
}
