/**
 * What people have allowed for the rest of a session: seen and taken back. It is given with a decision, in decide.ts. A call
 * that waits already is not touched by either. Never decides on a call.
 */
import type { Allowance } from "../../store/ports/interactions.ts";
import type { SessionRef } from "../../store/refs.ts";
import type { Backend } from "../backend.ts";

/** The oldest first. */
export function listAllowances({ store }: Pick<Backend, "store">, ref: SessionRef): Promise<Allowance[]> {
  return store.allowances.list(ref);
}

export interface RevokeAllowanceInput {
  readonly agent: string;
  readonly tool: string;
  readonly userId?: string;
  /** For the audit: the id of a connection, a key or a device, say. Never a person's address. */
  readonly clientId?: string;
}

/** From the next call on, a person is asked again. False when there was nothing to take back. */
export function revokeAllowance(
  { store }: Pick<Backend, "store">,
  ref: SessionRef,
  { agent, tool, userId, clientId }: RevokeAllowanceInput,
): Promise<boolean> {
  return store.transaction(async (tx) => {
    if (!(await tx.allowances.remove(ref, agent, tool))) return false;
    const actor = userId === undefined ? null : await tx.userNumbers.numberOf(ref.tenant, userId);
    const subject = { session: ref.session, agent, tool };
    const detail = clientId === undefined ? {} : { detail: { from: clientId } };
    await tx.audit.add(ref.tenant, { actor, action: "approval.revoked", subject, ...detail });
    return true;
  });
}
