/**
 * `createApprovalStore` sends the decision of the user about an approval.
 * Invariant: every decision carries the digest of the request that the user saw, so the server can reject a changed
 * one. Arguments that are too long to show can be approved only after `markOpened`.
 */
import type { ApprovalBlock, Json } from "@turnstream/protocol";
import type { ApprovalDecision, Session } from "../session/session.ts";
import { createValueStore, type ReadableStore } from "./value-store.ts";

export interface ApprovalView {
  /** True until `markOpened`, if `input` is only the start of the arguments. Nothing can be approved before. */
  readonly mustOpen: boolean;
}

export interface ApprovalStore extends ReadableStore<ApprovalView> {
  /** Only a request with exactly one action can be edited. */
  readonly canEdit: boolean;
  /** Call it when the user has opened the full arguments. */
  readonly markOpened: () => void;
  readonly approve: () => Promise<void>;
  /** Also approves every later call of the tool in this session. Only if the request offers it. */
  readonly approveAlways: () => Promise<void>;
  readonly edit: (args: Json) => Promise<void>;
  readonly reject: (reason?: string) => Promise<void>;
}

export function createApprovalStore(
  session: Pick<Session, "decideApproval">,
  block: ApprovalBlock,
): ApprovalStore {
  const { get, set, subscribe } = createValueStore<ApprovalView>({ mustOpen: hasTruncatedInput(block) });
  const digest = block.digest === null ? {} : { digest: block.digest };
  const decide = (decision: ApprovalDecision): Promise<void> =>
    session.decideApproval(block.key, { ...decision, ...digest });
  const approve = async (always: { readonly always?: true }): Promise<void> => {
    if (!get().mustOpen) await decide({ decision: "approve", ...always });
  };
  return {
    get,
    subscribe,
    canEdit: block.editable && block.actions.length === 1,
    markOpened: () => set({ mustOpen: false }),
    approve: () => approve({}),
    approveAlways: () => approve({ always: true }),
    edit: (args) => decide({ decision: "edit", args }),
    reject: (reason = "") => decide({ decision: "reject", ...(reason === "" ? {} : { reason }) }),
  };
}

/** Arguments are an object, so a text is the start of their JSON. */
export function hasTruncatedInput({ actions }: ApprovalBlock): boolean {
  return actions.some(({ input }) => typeof input === "string");
}
