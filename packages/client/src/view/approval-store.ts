/**
 * `createApprovalStore` sends the decision of the user about an approval.
 * Invariant: every decision carries the digest of the request that the user saw, so the server can reject a changed
 * one. Arguments that are too long to show can be approved only after `markOpened`.
 */
import type { ApprovalBlock, Json } from "@turnstream/protocol";
import type { ApprovalDecision, Session } from "../session/session.ts";
import { type EditField, toEditFields } from "./edit-arguments.ts";
import { createValueStore, type ReadableStore } from "./value-store.ts";

export interface ApprovalView {
  /** True until `markOpened`, if `input` is only the start of the arguments. `approve` does nothing before. */
  readonly mustOpen: boolean;
}

export interface ApprovalStore extends ReadableStore<ApprovalView> {
  /** Only a request with exactly one action can be edited. */
  readonly canEdit: boolean;
  /** The arguments as fields to edit; null if they can be edited only as one JSON text, or not at all. */
  readonly editFields: readonly EditField[] | null;
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
  const [action] = block.actions;
  const canEdit = block.editable && block.actions.length === 1;
  return {
    get,
    subscribe,
    canEdit,
    editFields: canEdit && action !== undefined ? toEditFields(action.input, action.fields) : null,
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
