/**
 * `agentBody` makes an agent the body of a turn: it pins the agent's definition, reads the files of the message, builds
 * the prompt, and runs the loop of the agent or the body of a stream agent.
 */
import { MAIN_RUN } from "../../engine/events/turn-writer.ts";
import type { TurnBody } from "../../engine/turn-body.ts";
import { ModelError } from "../../models/errors.ts";
import { sleep } from "../../util/sleep.ts";
import type { Agent } from "../define/agent.ts";
import { readFiles } from "../files/read-files.ts";
import { buildPrompt } from "../prompt/build-prompt.ts";
import { type AgentHost, type AgentTurn, openAgentTurn } from "../run/agent-turn.ts";
import { closeOpenGroup } from "../run/close-open-group.ts";
import { stepKey, STREAM_STARTED_KEY } from "../run/journal-entries.ts";
import { mainRunContext } from "../run/run-context.ts";
import { toUsageRecord } from "../run/usage-record.ts";
import { enforceUsageLimits } from "./enforce-limits.ts";
import { outcomeOfModelError } from "./model-outcome.ts";
import { pinAgent, runtimeTools } from "./pinned-agent.ts";
import { runAgent } from "./run-agent.ts";
import { runStreamAgent } from "./stream-agent.ts";
import { generateTitle } from "./title.ts";

/** How long a finished turn waits for the title of its session. */
const TITLE_MS = 3_000;

export function agentBody(host: AgentHost, agent: Agent): TurnBody {
  return {
    displayMode: agent.displayMode,
    model: agent.model?.modelId,
    timeoutMs: agent.limits.timeoutMs,
    run: (attempt) => runTurnOfAgent(openAgentTurn(attempt, host), agent),
    outcomeFor: (error, { strings }) =>
      error instanceof ModelError ? outcomeOfModelError(error, strings, host.showsProviderErrors) : null,
    costOf: (usage) => toUsageRecord(agent, "", usage).cost,
  };
}

async function runTurnOfAgent(turn: AgentTurn, agent: Agent): Promise<void> {
  const { attempt } = turn;
  if (!hasStarted(turn)) await enforceUsageLimits(attempt);
  const pinned = await pinAgent(turn, MAIN_RUN, agent);
  const scope = mainRunContext(turn, agent, pinned, runtimeTools(attempt.context));
  await readFiles(scope);
  let isTitled = false;
  const title = attempt.branches.run(() => generateTitle(turn, agent)).finally(() => (isTitled = true));
  const prompt = await buildPrompt(scope);
  if (agent.body === null) await runAgent(scope, prompt);
  else await runStreamAgent(scope, agent.body, prompt);
  const isHookCalled = agent.summarizeGroup !== null && attempt.turn.group !== null;
  // Both take longer than a commit.
  if (isHookCalled || !isTitled) await attempt.commitLastStep();
  await closeOpenGroup(scope);
  await Promise.race([title, sleep(TITLE_MS, { signal: attempt.signal })]);
}

function hasStarted({ attempt, modelCalls }: AgentTurn): boolean {
  const firstStep = stepKey(MAIN_RUN, 0);
  const known = [firstStep, STREAM_STARTED_KEY].map((key) => attempt.fromJournal<unknown>(key));
  return modelCalls.has(firstStep) || known.some((entry) => entry !== undefined);
}
