/**
 * `defineStreamAgent` defines an agent whose turns run a developer's own loop. It validates the options and does not
 * run the loop.
 *
 * Invariant: unknown options throw BAD_AGENT when the program starts. The agent has a `body` and no model, and can't be
 * a sub-agent.
 */
import { type Agent, type AgentOptions, createAgent } from "./agent.ts";
import type { StreamBody } from "./stream-body.ts";
import type { Limits } from "./limits.ts";
import { assertKnownOptions, type OptionKeys } from "./check-options.ts";

export interface StreamAgentOptions extends Pick<
  AgentOptions,
  | "name"
  | "title"
  | "attachments"
  | "images"
  | "displayMode"
  | "pricing"
  | "label"
  | "description"
  | "summarizeGroup"
> {
  readonly limits?: Partial<Pick<Limits, "maxSteps" | "maxTokens" | "maxCost" | "timeoutMs">>;
  /** Returns the result of the AI SDK's `streamText`, or an async iterable of events: see `StreamBodyEvent`. */
  readonly run: StreamBody["run"];
  /** True if the whole body may run again after its worker died. @default false */
  readonly idempotent?: boolean;
}

const NAMES: OptionKeys<StreamAgentOptions> = {
  name: true,
  run: true,
  idempotent: false,
  title: false,
  attachments: false,
  images: false,
  displayMode: false,
  pricing: false,
  label: false,
  description: false,
  summarizeGroup: false,
  limits: false,
};

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
  assertKnownOptions(given, NAMES, "a stream agent");
  const { run, idempotent = false, ...options } = given;
  return createAgent(options, null, { run, idempotent });
}
