/**
 * `AUDIT_ACTIONS` lists the actions that the audit notes, and whether an action fails without its entry. Pure.
 *
 * Invariant: an action that grants something is `required`: a consent, a key, a token, a share. An action that ends or
 * restricts something is `optional`, so that an audit that can't be written never keeps a stop, a rejection or an erasure
 * from happening. docs/audit.md describes each action, and a test compares both. Features have further actions. Every final
 * status of an interaction has an action.
 */

type Need = "required" | "optional";

export const AUDIT_ACTIONS = {
  "approval.approved": "required",
  "approval.edited": "required",
  "approval.rejected": "optional",
  "approval.timed_out": "optional",
  "approval.cancelled": "optional",
  "approval.always": "required",
  "approval.passed": "required",
  "approval.revoked": "optional",
  "approval.mismatch": "optional",
  "approval.lapsed": "optional",
  "question.answered": "required",
  "question.dismissed": "optional",
  "question.timed_out": "optional",
  "question.cancelled": "optional",
  "form.submitted": "required",
  "form.declined": "optional",
  "form.cancelled": "optional",
  "form.expired": "optional",
  "memory.edit": "required",
  "memory.erase": "optional",
  "memory.erase_all": "optional",
  "key.created": "required",
  "key.revoked": "optional",
  "token.issued": "required",
  "share.opened": "required",
  "share.read": "optional",
  "share.revoked": "optional",
  "session.forked": "required",
  "session.erased": "optional",
  "user.erased": "optional",
  "limits.set": "required",
  "sign_in.refused": "optional",
} as const satisfies Readonly<Record<string, Need>>;

export type AuditAction = keyof typeof AUDIT_ACTIONS;

/** True if the action must fail when its entry can't be written. */
export function needsAudit({
  action,
  isOptional = false,
}: {
  readonly action: string;
  readonly isOptional?: boolean;
}): boolean {
  const needs: Readonly<Record<string, Need>> = AUDIT_ACTIONS;
  return (Object.hasOwn(needs, action) ? needs[action] : isOptional ? "optional" : "required") === "required";
}
