/**
 * `runSubAgent` runs a sub-agent inside the open result of its call. The sub-agent's last text becomes the result.
 *
 * Invariant: a failure or limit of the sub-agent becomes an error result for the calling agent. A stop, a limit of the
 * turn and an error that needs a new attempt are thrown. Nesting is bounded by the main agent's `maxDepth`.
 */
import { findToolResult, toolLabel } from "@turnstream/protocol";
import type { Prompt } from "../../models/model.ts";
import { stringField } from "../../util/json.ts";
import type { ToolCallRecord } from "../attempt/journal-entries.ts";
import { LimitReached, outcomeFor, UsageLimitReached } from "../attempt/outcomes.ts";
import { type RunContext, subAgentContext } from "../attempt/run-context.ts";
import { failedResult, successResult } from "../attempt/tool-result.ts";
import { findSubAgent } from "../define/agent.ts";
import { markersIn } from "../events/citation-markers.ts";
import type { StepCall } from "../events/step-writer.ts";
import { describeMissingTool } from "../tool-calls/execute-call.ts";
import { startToolResult } from "../tool-calls/write-result.ts";
import { pinAgent } from "./pinned-agent.ts";

/**
 * The last text of an agent, and the request that it requested. A request ends the run; the next turn continues
 * it.
 */
export interface RunResult {
  readonly text: string;
  readonly ending: ToolCallRecord["ending"];
}

type RunAgent = (scope: RunContext, prompt: Prompt) => Promise<RunResult>;

/** @param runAgent the agent loop, passed in because it calls this function */
export async function runSubAgent(
  scope: RunContext,
  call: StepCall,
  runAgent: RunAgent,
): Promise<ToolCallRecord> {
  const { attempt, agent, depth, root, runtimeTools } = scope;
  const sub = findSubAgent(agent, call.name, call.input);
  const task = stringField(call.input, "task");
  if (sub === undefined)
    return failedResult(
      `There is no such agent. Call one of these: ${Object.keys(agent.subAgents).join(", ")}.`,
    );
  if (task === null) return failedResult("`task` is missing.");
  if (depth >= root.limits.maxDepth)
    return failedResult(`Sub-agents can be nested at most ${root.limits.maxDepth} deep.`);
  await startToolResult(scope, call);
  // The call is hidden, because a tool of this name was hidden when it was called. A sub-agent must be visible.
  if (findToolResult(attempt.turn, call.call)?.hidden === true)
    return failedResult(describeMissingTool(call.name, true));
  const pinned = await pinAgent(attempt, call.call, sub, runtimeTools);
  const inner = await subAgentContext(scope, call.call, sub, pinned);
  const prompt: Prompt = [
    ...(pinned.instructions === "" ? [] : [{ role: "system" as const, content: pinned.instructions }]),
    { role: "user", content: [{ type: "text", text: task }] },
  ];
  const name = toolLabel({ label: sub.label, name: sub.name });
  try {
    const { text: answer, ending } = await runAgent(inner, prompt);
    const none =
      ending === null ? `${name} gave no answer.` : `${name} asks the user to fill in a form or to pay.`;
    const record = successResult({ content: answer === "" ? none : answer }, 0);
    const cited = new Set(markersIn(answer, inner.pool.has).map(({ reference }) => reference));
    const pool = inner.pool.exportCited(cited, scope.agent.limits.maxResultChars);
    const asked = ending === null ? null : { ...ending, request: null };
    return { ...record, pool, ending: asked, usage: attempt.usage.of(call.call) };
  } catch (error) {
    // The calling agent handles a failure of the sub-agent. Errors that end the turn are thrown.
    const end = attempt.signal.aborted ? null : outcomeFor(error, attempt.strings);
    const endsTurn = error instanceof LimitReached ? error.isOfTurn : error instanceof UsageLimitReached;
    if (end?.reason !== "error" || endsTurn) throw error;
    attempt.context.onError(error, { during: `the sub-agent ${sub.name}` });
    return {
      ...failedResult(`${name} could not finish: ${end.text}`),
      usage: attempt.usage.of(call.call),
    };
  }
}
