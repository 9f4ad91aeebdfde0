/** Holds a run to the limits of its agent before each step. Time is watched elsewhere, by a timer. */
import { LimitReached } from "./outcomes.ts";
import type { RunScope } from "./run-scope.ts";

const MILLION = 1_000_000;

/** @param n how many steps the run has made */
export function checkLimits({ attempt, agent }: RunScope, n: number): void {
  const { limits, prices } = agent;
  if (n >= limits.steps) throw new LimitReached(`${limits.steps} steps`);
  const { input_tokens, output_tokens, total_tokens } = attempt.usage;
  if (total_tokens >= limits.tokens) throw new LimitReached(`${limits.tokens} tokens`);
  if (prices === null) return;
  const cost = (input_tokens * prices.input + output_tokens * prices.output) / MILLION;
  if (cost >= limits.cost) throw new LimitReached(`a cost of ${limits.cost}`);
}
