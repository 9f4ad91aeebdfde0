/**
 * `enforceLimits` checks the limits of a run before each step, and the limits of the main agent for the whole turn.
 * `enforceUsageLimits` checks those of the user, the API key and the tenant.
 *
 * Invariant: the main agent's tokens and cost count all runs, and reaching them ends the turn. A sub-agent's limits
 * count its own run only, and end only that. One step of each run can exceed a limit. `TurnAttempt.setDeadline` enforces the time
 * limit.
 */
import type { Agent } from "../define/agent.ts";
import { MAIN_RUN } from "../../engine/events/turn-writer.ts";
import type { TurnAttempt } from "../../engine/attempt/attempt.ts";
import { LimitReached, UsageLimitReached } from "../../engine/attempt/outcomes.ts";
import { retryStore } from "../../engine/attempt/retry-store.ts";
import type { RunContext } from "../run/run-context.ts";
import type { Spent } from "../../engine/attempt/usage.ts";

/** @param n number of steps that the run has made */
export function enforceLimits({ attempt, agent, root, path }: RunContext, n: number): void {
  check(root, attempt.usage.total, true);
  const isOfTurn = path === MAIN_RUN;
  if (n >= agent.limits.maxSteps)
    throw new LimitReached({ limit: "steps", value: agent.limits.maxSteps }, { isOfTurn });
  if (!isOfTurn) check(agent, attempt.usage.of(path), false);
}

/**
 * Compares what the user, the key and the tenant have used today and in this month, including their other running turns.
 * One query before each model call.
 * @throws UsageLimitReached
 */
export async function enforceUsageLimits({ context, row }: TurnAttempt): Promise<void> {
  const { usageLimits } = row;
  if (usageLimits === null) return;
  const exceeded = await retryStore(context, () => context.store.limits.findExceededUsage(row, usageLimits));
  if (exceeded !== null) throw new UsageLimitReached(exceeded);
}

function check({ limits, pricing }: Agent, { usage, cost }: Spent, isOfTurn: boolean): void {
  const { maxTokens, maxCost } = limits;
  if (usage.total_tokens >= maxTokens)
    throw new LimitReached({ limit: "tokens", value: maxTokens }, { isOfTurn });
  const isPriced = pricing !== null || cost > 0;
  if (isPriced && cost >= maxCost) throw new LimitReached({ limit: "cost", value: maxCost }, { isOfTurn });
}
