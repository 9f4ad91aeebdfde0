/**
 * `useApprovalRequest` returns an approval and its actions, without any UI.
 * Invariant: `createApprovalStore` enforces the rules of decisions.
 */
import {
  type ApprovalView,
  createApprovalStore,
  type EditField,
  hasTruncatedInput,
} from "@turnstream/client/view";
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
import { useMemo } from "react";
import { useThreadContext } from "../context.ts";
import { useBlock, useTurnSelector } from "../hooks/use-turn.ts";
import { type ActionState, useCardAction, useReadableStore } from "./use-card-action.ts";

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
  /** The arguments as fields to edit; null if they can be edited only as one JSON text, or not at all. */
  readonly editFields: readonly EditField[] | null;
  readonly approve: () => void;
  /** Also approves every later call of the tool in this session. Only if the request offers it. */
  readonly approveAlways: () => void;
  readonly edit: (args: Json) => void;
  readonly reject: (reason?: string) => void;
}

const OPENED: ApprovalView = { mustOpen: false };

export function useApprovalRequest(turnId: string, blockIndex: number): ApprovalRequest | null {
  const { session } = useThreadContext();
  const block = useBlock(turnId, blockIndex, "approval");
  const call = useTurnSelector(turnId, (turn) => (turn === null ? null : findTruncatedCall(turn, block)));
  const { run, isSending, problem } = useCardAction();
  // A new snapshot has other objects for the same request.
  const store = useMemo(
    () => (block === null ? null : createApprovalStore(session, block)),
    [session, block?.key, block?.digest],
  );
  const { mustOpen } = useReadableStore(store, OPENED);
  if (block === null || store === null) return null;
  const approve = (command: () => Promise<void>): void => {
    if (!mustOpen) run(command);
  };
  return {
    block,
    actions: block.edited ?? block.actions,
    fullContent: call?.whole ?? null,
    fullInput: call === null || call.whole !== null ? null : call.input,
    mustOpen,
    markOpened: store.markOpened,
    isPending: isPending(block),
    canEdit: store.canEdit,
    editFields: store.editFields,
    isSending,
    problem,
    approve: () => approve(store.approve),
    approveAlways: () => approve(store.approveAlways),
    edit: (args) => run(() => store.edit(args)),
    reject: (reason) => run(() => store.reject(reason)),
  };
}

/** The pending call has the full arguments. */
function findTruncatedCall(turn: Turn, block: ApprovalBlock | null): ToolCallBlock | null {
  if (block === null || block.call === null || !hasTruncatedInput(block)) return null;
  return findToolCall(turn, block.call) ?? null;
}
