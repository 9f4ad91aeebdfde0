/** When a tool needs a person's approval, as a developer says it. Types and one reading; never asks anybody. */
import type { OptionKeys } from "./check-options.ts";

export interface ApprovalOptions {
  /** How long to wait for a decision, in whole seconds; after that the call counts as rejected. */
  readonly timeoutMs?: number;
  /** Whether the person may change the arguments. */
  readonly editable?: boolean;
  /**
   * Whether the person may allow the tool for the rest of the session, and whether that then counts. True when absent;
   * false for what a policy returns without saying so, for a rule must not outvote a policy.
   */
  readonly canRemember?: boolean;
}

export const APPROVAL_NAMES: OptionKeys<ApprovalOptions> = {
  timeoutMs: false,
  editable: false,
  canRemember: false,
};

/** The call that a policy decides on. */
export interface ApprovalContext {
  readonly tenant: string;
  readonly session: string;
  readonly turn: string;
  readonly call: string;
  /** The owner of the session. */
  readonly user: string;
}

/** True, options, or a policy that decides for each input. */
export type Approval<Input> =
  | boolean
  | ApprovalOptions
  | ((input: Input, context: ApprovalContext) => Needed | Promise<Needed>);

type Needed = boolean | ApprovalOptions;

/** Stored in the journal as it is. */
export interface ApprovalRequirement {
  readonly timeoutSeconds: number;
  readonly editable: boolean;
  readonly always: boolean;
}

const TIMEOUT_MS = 300_000;
const SECOND_MS = 1_000;
const MAX_TIMEOUT_MS = 10 * 366 * 24 * 60 * 60 * SECOND_MS;

/** Throws a TypeError for a timeout that is not a whole number of seconds: events and the journal count in seconds. */
export function checkApproval({ timeoutMs = TIMEOUT_MS }: ApprovalOptions): void {
  const isWhole = Number.isSafeInteger(timeoutMs) && timeoutMs % SECOND_MS === 0;
  if (!isWhole || timeoutMs < 0 || timeoutMs > MAX_TIMEOUT_MS)
    throw new TypeError(
      `\`approval.timeoutMs\` must be a whole number of seconds in milliseconds, from 0 to ${MAX_TIMEOUT_MS} (ten years), got ${timeoutMs}.`,
    );
}

/** Null when none is needed. */
export async function resolveApproval(
  approval: Approval<unknown>,
  input: unknown,
  context: ApprovalContext,
): Promise<ApprovalRequirement | null> {
  const isPolicy = typeof approval === "function";
  const needed = isPolicy ? await approval(input, context) : approval;
  if (needed === false) return null;
  const options = needed === true ? {} : needed;
  checkApproval(options);
  return {
    timeoutSeconds: (options.timeoutMs ?? TIMEOUT_MS) / SECOND_MS,
    editable: options.editable ?? false,
    always: options.canRemember ?? !isPolicy,
  };
}
