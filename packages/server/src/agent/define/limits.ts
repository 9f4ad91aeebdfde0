/**
 * `Limits` bounds one turn of an agent, `ImageLimits` the images of one model call, and `Pricing` is what a model costs.
 *
 * Invariant: reaching `maxSteps`, `maxTokens`, `timeoutMs` or `maxCost` ends the turn with LIMIT_REACHED and a text
 * that names the limit. The limits of a sub-agent only end its own run, and its `timeoutMs` and `maxDepth` have no
 * effect. Beyond a limit of images, the model gets the text form of an image, and the turn continues.
 */
import { z } from "zod";
import { amount, integer, type OptionsInput, type OptionsOutput } from "../../util/parse-options.ts";

const limitShape = {
  /** Steps per run. @default 50 */
  maxSteps: amount(1).default(50),
  /**
   * Input and output tokens per turn, including those of sub-agents. For a sub-agent: tokens of its own run.
   * @default 2000000
   */
  maxTokens: amount().default(2_000_000),
  /** Duration of a turn. The time that the turn spends waiting for the user doesn't count. @default 3600000 */
  timeoutMs: amount(1).default(60 * 60 * 1_000),
  /** Duration of one tool call. A longer call fails. `timeoutMs` of the tool overrides this limit. @default 600000 */
  toolTimeoutMs: amount(1).default(10 * 60 * 1_000),
  /**
   * Characters of a tool result that the model reads. The worker truncates a longer result, and adds a note for the
   * model.
   * @default 100000
   */
  maxResultChars: amount().default(100_000),
  /**
   * Maximum nesting of sub-agents. With `1`, the main agent can call sub-agents, but they can't call others. A deeper
   * call fails. `0` disables sub-agents.
   * @default 5
   */
  maxDepth: amount().default(5),
  /** Tool calls of one step that run at the same time. Further calls wait. @default 50 */
  maxParallelCalls: amount(1).default(50),
  /**
   * Cost of a turn, including its sub-agents. Each model call counts at the `pricing` of its own agent, and as free if
   * that agent has no `pricing`.
   * @default Infinity
   */
  maxCost: amount().default(Infinity),
};

export interface LimitOptions extends OptionsInput<typeof limitShape> {}

export interface Limits extends OptionsOutput<typeof limitShape> {}

export const limits: z.ZodType<Limits, LimitOptions> = z.strictObject(limitShape);

const pricingShape = {
  /** Cost of a million input tokens. */
  inputPerMillion: amount(),
  /** Cost of a million output tokens. */
  outputPerMillion: amount(),
};

export interface Pricing extends OptionsOutput<typeof pricingShape> {}

export const pricing: z.ZodType<Pricing, Pricing> = z.strictObject(pricingShape);

const imageLimitShape = {
  /** Images of one model call. @default 20 */
  maxImages: integer().default(20),
  /** Size of one image. A larger image is not sent. @default 5000000 */
  maxImageBytes: integer(1).default(5_000_000),
  /** Size of all images of one model call. @default 20000000 */
  maxTotalBytes: integer(1).default(20_000_000),
};

export interface ImageLimitOptions extends OptionsInput<typeof imageLimitShape> {}

export interface ImageLimits extends OptionsOutput<typeof imageLimitShape> {}

export const imageLimits: z.ZodType<ImageLimits, ImageLimitOptions> = z.strictObject(imageLimitShape);
