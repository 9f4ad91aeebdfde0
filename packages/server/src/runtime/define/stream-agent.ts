/**
 * An agent whose turns are the output of a loop that a team has already. What Turnstream gives it: one log, every dialect,
 * exact resume for readers, stop, history, one turn at a time.
 *
 * What it can't give: going on in the middle. The loop's own steps are not journaled, so when the worker dies the turn
 * either ends as an error that can be tried again (`idempotent: false`, the default), or the whole loop runs again and what
 * it had said is made void (`idempotent: true`). Its tools run inside the loop: nobody guards them against running twice.
 *
 * Of what streamText streams, `steps`, `tokens` and `cost` are checked whenever a step begins. An iterable of events tells
 * no steps and no usage: it may yield as many events as it has `tokens`.
 */
import { type Agent, type AgentOptions, createAgent } from "./agent.ts";
import type { StreamBody } from "./stream-body.ts";
import type { Limits } from "./limits.ts";
import { assertKnownOptions, type OptionKeys } from "./check-options.ts";

export interface StreamAgentOptions extends Pick<
  AgentOptions,
  "name" | "title" | "attachments" | "pricing" | "label" | "description"
> {
  readonly limits?: Partial<Pick<Limits, "maxSteps" | "maxTokens" | "maxCost" | "timeoutMs">>;
  /** Returns what `streamText` of the AI SDK returns, or yields events: see StreamBodyEvent. */
  readonly run: StreamBody["run"];
  /** Whether the whole body may run again after its worker died. @default false */
  readonly idempotent?: boolean;
}

const NAMES: OptionKeys<StreamAgentOptions> = {
  name: true,
  run: true,
  idempotent: false,
  title: false,
  attachments: false,
  pricing: false,
  label: false,
  description: false,
  limits: false,
};

export function defineStreamAgent(given: StreamAgentOptions): Agent {
  assertKnownOptions(given, NAMES, "an agent of a stream");
  const { run, idempotent = false, ...options } = given;
  return createAgent(options, null, { run, idempotent });
}
