/** Holds a run to its limits before each step, and the turn to those of its main agent. Time is watched elsewhere. */
import type { Usage } from "@turnstream/protocol";
import type { Agent } from "./define/agent.ts";
import { MAIN } from "./facts.ts";
import { LimitReached } from "./outcomes.ts";
import type { RunScope } from "./run-scope.ts";

const MILLION = 1_000_000;

/** @param n how many steps the run has made */
export function checkLimits({ attempt, agent, root, path }: RunScope, n: number): void {
  check(root, attempt.spending.total, { isOfTurn: true });
  const isOfTurn = path === MAIN;
  if (n >= agent.limits.steps) throw new LimitReached(`${agent.limits.steps} steps`, { isOfTurn });
  if (!isOfTurn) check(agent, attempt.spending.of(path), { isOfTurn });
}

function check({ limits, prices }: Agent, usage: Usage, of: { isOfTurn: boolean }): void {
  const { input_tokens, output_tokens, total_tokens } = usage;
  if (total_tokens >= limits.tokens) throw new LimitReached(`${limits.tokens} tokens`, of);
  if (prices === null) return;
  const cost = (input_tokens * prices.input + output_tokens * prices.output) / MILLION;
  if (cost >= limits.cost) throw new LimitReached(`a cost of ${limits.cost}`, of);
}
