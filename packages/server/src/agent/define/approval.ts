/**
 * `resolveApproval` decides from a tool's `approval` option whether a call needs approval, and with which settings. It
 * does not ask the user.
 *
 * Invariant: only `false` means that no approval is needed. Timeouts are whole seconds, because events and the journal
 * count in seconds. A stored allowance doesn't override a policy function unless its options allow it.
 */
import type { PromptMessage } from "../../models/model.ts";
import { z } from "zod";
import { type OptionsInput, type OptionsOutput, parseOptions } from "../../util/parse-options.ts";
import { isTimeout, TIMEOUT_RULE, toSeconds } from "./answer-timeout.ts";

const approvalShape = {
  /**
   * How long the call waits for a decision, in milliseconds (a multiple of 1,000). If the user doesn't decide in this
   * time, the call fails with the text `strings.notApproved`, and the agent continues. With `null` it waits without a
   * deadline.
   * @default 300000
   */
  timeoutMs: z
    .custom<number | null>((value) => value === null || isTimeout(value), TIMEOUT_RULE)
    .default(300_000),
  /** Lets the user change the arguments before the call runs. @default false */
  editable: z.boolean().default(false),
  /**
   * Lets the user allow the tool for the rest of the session. The default is `false` if `approval` is a function.
   * @default true
   */
  canRemember: z.boolean().optional(),
};

export interface ApprovalOptions extends OptionsInput<typeof approvalShape> {}

export const approvalOptions: z.ZodType<
  OptionsOutput<typeof approvalShape>,
  ApprovalOptions
> = z.strictObject(approvalShape);

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

/** Returns null if the call needs no approval. */
export async function resolveApproval(
  approval: Approval<unknown>,
  input: unknown,
  context: ApprovalContext,
): Promise<ApprovalRequirement | null> {
  const isPolicy = typeof approval === "function";
  const needed = isPolicy ? await approval(input, context) : approval;
  if (needed === false) return null;
  const { timeoutMs, editable, canRemember } = parseOptions(
    approvalOptions,
    needed === true ? {} : needed,
    "an approval",
    (problem) => new TypeError(problem),
  );
  return {
    timeoutSeconds: timeoutMs === null ? null : toSeconds(timeoutMs),
    editable,
    always: canRemember ?? !isPolicy,
  };
}
