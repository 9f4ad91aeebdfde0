/**
 * `listAllowances` and `revokeAllowance` manage the tools that a user allowed for the rest of a session.
 *
 * Invariant: a removal and its audit entry are one commit. Only `decideApproval` adds allowances. Pending approvals are
 * not affected by either.
 */
import type { Allowance } from "../../store/allowances.ts";
import type { SessionRef } from "../../util/refs.ts";
import type { Backend } from "../backend.ts";

/** Oldest first. */
export function listAllowances({ store }: Pick<Backend, "store">, ref: SessionRef): Promise<Allowance[]> {
  return store.allowances.list(ref);
}

export interface RevokeAllowanceInput {
  readonly agent: string;
  readonly tool: string;
  readonly userId?: string;
  /** For the audit log: the id of a connection, a key or a device. It must not contain the user's address. */
  readonly clientId?: string;
}

/** The next call needs approval again. Returns false if there was no such allowance. */
export function revokeAllowance(
  { store }: Pick<Backend, "store">,
  ref: SessionRef,
  { agent, tool, userId, clientId }: RevokeAllowanceInput,
): Promise<boolean> {
  return store.transaction(async (tx) => {
    if (!(await tx.allowances.remove(ref, agent, tool))) return false;
    const actor = userId ?? null;
    const subject = { session: ref.session, agent, tool };
    const detail = clientId === undefined ? {} : { detail: { from: clientId } };
    await tx.audit.add(ref.tenant, { actor, action: "approval.revoked", subject, ...detail });
    return true;
  });
}
