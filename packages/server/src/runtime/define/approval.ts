/** When a tool needs a person's approval, as a developer says it. Types and one reading; never asks anybody. */
import type { OptionKeys } from "./check-options.ts";
import type { ToolContext } from "./tool.ts";

export interface ApprovalOptions {
  /** How long to wait for a person, in whole seconds; after that the call counts as rejected. */
  readonly timeoutSeconds?: number;
  /** Whether the person may change the arguments. */
  readonly editable?: boolean;
  /**
   * Whether the person may allow the tool for the rest of the session, and whether that then counts. True when absent;
   * false for what a policy returns without saying so, for a rule must not outvote a policy.
   */
  readonly canRemember?: boolean;
}

export const APPROVAL_NAMES: OptionKeys<ApprovalOptions> = {
  timeoutSeconds: false,
  editable: false,
  canRemember: false,
};

/** What a policy is told about the call. */
export type ApprovalContext = Pick<ToolContext, "tenant" | "session" | "turn" | "call" | "user">;

/** True, options, or a policy that decides for each input. */
export type Approval<Input> =
  | boolean
  | ApprovalOptions
  | ((input: Input, context: ApprovalContext) => Needed | Promise<Needed>);

type Needed = boolean | ApprovalOptions;

export interface ApprovalRequirement {
  readonly timeoutSeconds: number;
  readonly editable: boolean;
  readonly always: boolean;
}

const TIMEOUT_SECONDS = 300;
const MAX_SECONDS = 10 * 366 * 24 * 60 * 60;

/** Throws for a time to wait that no clock can count. */
export function checkApproval({ timeoutSeconds = TIMEOUT_SECONDS }: ApprovalOptions): void {
  if (!Number.isSafeInteger(timeoutSeconds) || timeoutSeconds < 0 || timeoutSeconds > MAX_SECONDS)
    throw new TypeError(
      `approval.timeoutSeconds is ${timeoutSeconds}: it has to be a whole number of seconds, 0 to ${MAX_SECONDS} (ten years)`,
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
    timeoutSeconds: options.timeoutSeconds ?? TIMEOUT_SECONDS,
    editable: options.editable ?? false,
    always: options.canRemember ?? !isPolicy,
  };
}
