/**
 * `defineStreamAgent` defines an agent whose turns run a developer's own loop. It validates the options and does not
 * run the loop.
 *
 * Invariant: unknown options throw BAD_AGENT when the program starts. The agent has a `body` and no model, and can't be
 * a sub-agent.
 */
import { z } from "zod";
import { func, type OptionsInput } from "../../util/parse-options.ts";
import { type Agent, type AgentOptions, agentSchema, createAgent, parseAgent } from "./agent.ts";
import { type Limits, limits } from "./limits.ts";
import type { StreamBody } from "./stream-body.ts";

const bodyShape = {
  /** Upper bounds for the turn. */
  limits: (
    limits as z.ZodType<Limits, Partial<Pick<Limits, "maxSteps" | "maxTokens" | "maxCost" | "timeoutMs">>>
  ).prefault({}),
  /** Returns the result of the AI SDK's `streamText`, or an async iterable of events: see `StreamBodyEvent`. */
  run: func<StreamBody["run"]>(),
  /** True if the whole body may run again after its worker died. @default false */
  idempotent: z.boolean().default(false),
};

/** Options that both kinds of agents have. */
const SHARED = {
  name: true,
  title: true,
  attachments: true,
  images: true,
  displayMode: true,
  pricing: true,
  label: true,
  description: true,
  summarizeGroup: true,
} as const satisfies Partial<Record<keyof AgentOptions, true>>;

const schema = agentSchema.pick(SHARED).extend(bodyShape);

export interface StreamAgentOptions
  extends Pick<AgentOptions, keyof typeof SHARED>, OptionsInput<typeof bodyShape> {}

/**
 * The turns get the log, all dialects, exact resume for readers, stop, history, and one turn at a time.
 *
 * The steps of the loop are not journaled, so a turn can't continue in the middle after its worker died. With
 * `idempotent: false` (the default) the turn ends with an error that can be retried. With `idempotent: true` the whole
 * loop runs again, and its earlier output is superseded. Tools run inside the loop and are not protected against
 * running twice.
 *
 * For a `streamText` result, `maxSteps`, `maxTokens` and `maxCost` are checked at the start of each step. An iterable
 * of events reports no steps and no usage: it may yield at most `maxTokens` events.
 */
export function defineStreamAgent(given: StreamAgentOptions): Agent {
  const { run, idempotent, ...options } = parseAgent(schema, given);
  const { model: _, ...defaults } = agentSchema.parse({ name: options.name, model: null });
  return createAgent({ ...defaults, ...options }, null, { run, idempotent });
}
