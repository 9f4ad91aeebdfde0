/**
 * `resolveApproval` decides from a tool's `approval` option whether a call needs approval, and with which settings. It
 * does not ask the user.
 *
 * Invariant: only `false` means that no approval is needed. Timeouts are whole seconds, because events and the journal
 * count in seconds. A stored allowance doesn't override a policy function unless its options allow it.
 */
import type { PromptMessage } from "../../models/model.ts";
import { checkTimeout, toSeconds } from "./answer-timeout.ts";
import type { OptionKeys } from "./check-options.ts";

export interface ApprovalOptions {
  /**
   * How long the call waits for a decision, in milliseconds (a multiple of 1,000). Without a decision in this time, the
   * call counts as rejected. Null: it waits without a deadline.
   * @default 300000
   */
  readonly timeoutMs?: number | null;
  /** Lets the user change the arguments. @default false */
  readonly editable?: boolean;
  /**
   * Lets the user allow the tool for the rest of the session; later calls then skip the approval.
   * Default: true, but false for options that a function returns. A stored allowance must not override a policy that
   * decides per input.
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
  /** The messages that the model read before it made the call, without the instructions. */
  readonly messages: readonly PromptMessage[];
  /** The owner of the session. */
  readonly user: string;
}

/** True, options, or a function that decides per input. */
export type Approval<Input> =
  | boolean
  | ApprovalOptions
  | ((input: Input, context: ApprovalContext) => Needed | Promise<Needed>);

type Needed = boolean | ApprovalOptions;

/** The resolved settings. The journal stores them in this form. */
export interface ApprovalRequirement {
  /** Null: no deadline. */
  readonly timeoutSeconds: number | null;
  readonly editable: boolean;
  readonly always: boolean;
}

const TIMEOUT_MS = 300_000;

/** Throws a TypeError for an invalid timeout. */
export function checkApproval({ timeoutMs = TIMEOUT_MS }: ApprovalOptions): void {
  if (timeoutMs !== null) checkTimeout(timeoutMs, "approval.timeoutMs");
}

/** Returns null if the call needs no approval. */
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
  const { timeoutMs = TIMEOUT_MS } = options;
  return {
    timeoutSeconds: timeoutMs === null ? null : toSeconds(timeoutMs),
    editable: options.editable ?? false,
    always: options.canRemember ?? !isPolicy,
  };
}
