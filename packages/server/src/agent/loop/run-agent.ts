/**
 * `runAgent` runs the loop of one agent: it calls the model and runs the requested tools, until the model requests none
 * or one of them ends the turn. `runSubAgent` does the same inside the open result of a call.
 *
 * Invariant: steps and tool results come from the journal if they are there, so a later attempt repeats no finished
 * work. The calls of a step run in parallel, except those that can't stand beside the others: they follow, then
 * questions one at a time, and requests last. A refused call ends its group. A failure or limit of a sub-agent becomes
 * an error result for the calling agent. A stop, a limit of the turn and an error that needs a new attempt are thrown.
 */
import { findToolCall, findToolResult, toolLabel } from "@turnstream/protocol";
import type { Prompt, PromptMessage } from "../../models/model.ts";
import { allOrAbort } from "../../util/concurrency.ts";
import { FairSemaphore } from "../../util/fair-semaphore.ts";
import { stringField } from "../../util/json.ts";
import { closeOpenGroup, startGroup } from "../run/close-open-group.ts";
import { callKey, type StepCall, type ToolCallRecord } from "../run/journal-entries.ts";
import {
  LimitReached,
  outcomeFor,
  RestartAttempt,
  UsageLimitReached,
} from "../../engine/attempt/outcomes.ts";
import { modelText } from "../run/reference-pool.ts";
import {
  callLabel,
  displayOf,
  RequestSlot,
  type RunContext,
  type RuntimeTool,
  subAgentContext,
  systemPrompt,
  toModelTools,
} from "../run/run-context.ts";
import { failedResult, successResult } from "../run/tool-result.ts";
import { findSubAgent } from "../define/agent.ts";
import type { TurnOutcome } from "../../engine/events/closing-events.ts";
import { ModelError } from "../../models/errors.ts";
import type { RuntimeStrings } from "../../strings/runtime-strings.ts";
import { outcomeOfModelError } from "./model-outcome.ts";
import { RuntimeError } from "../errors.ts";
import { markersIn } from "../events/citation-markers.ts";
import { isInOpenGroup } from "../../engine/events/groups.ts";
import { writeRequest } from "../interactions/ending-request.ts";
import { resultImages } from "../prompt/images.ts";
import { estimateTokens, trimToBudget } from "../prompt/trim-to-budget.ts";
import { describeMissingTool, executeToolCall } from "../tool-calls/execute-call.ts";
import { findThought, sharedThought } from "../tool-calls/share-thought.ts";
import { startToolResult } from "../tool-calls/write-result.ts";
import { runModelStep } from "./model-step.ts";
import { pinAgent } from "./pinned-agent.ts";

/** The last text of an agent, and the request that ends its turn. The next turn continues from the request. */
interface RunResult {
  readonly text: string;
  readonly ending: ToolCallRecord["ending"];
}

/** Returns when the model requests no more tools, or when a call ends the turn. */
export async function runAgent(scope: RunContext, start: Prompt): Promise<RunResult> {
  const { agent, pinned } = scope;
  if (agent.model === null) throw new RuntimeError("NO_MODEL", `the agent ${agent.name}`);
  const prompt: Prompt = [...start];
  const tokens = agent.compaction.afterTokens - estimateTokens(toModelTools(pinned));
  for (let n = 0; ; n++) {
    const trimmed = (): Prompt => trimToBudget([...prompt], start.length, tokens);
    const step = await runModelStep({ scope, n, model: agent.model, prompt: trimmed });
    if (step.calls.length === 0) return { text: step.text, ending: null };
    const messages = prompt.filter(({ role }) => role !== "system");
    const records = await runCalls({ ...scope, messages }, step.calls);
    for (const { pool } of records) scope.pool.add(pool);
    const asking = records.find(endsTurn);
    if (asking !== undefined) return { text: step.text, ending: asking.ending };
    prompt.push({ role: "assistant", content: step.content }, resultsOf(step.calls, records));
    prompt.push(...resultImages(step.calls.map(({ name }, i) => ({ name, images: records[i]?.images }))));
  }
}

/**
 * Runs the calls of one step in parallel. Calls that the step could not write follow, then questions, one at a time,
 * because they are outside of groups. Requests run last.
 */
async function runCalls(outer: RunContext, calls: readonly StepCall[]): Promise<ToolCallRecord[]> {
  const { attempt } = outer;
  const known = calls.find(({ call }) => endsTurn(attempt.fromJournal(callKey(call))));
  const requestSlot = new RequestSlot(known?.call ?? null);
  const scope: RunContext = { ...outer, requestSlot };
  const callsOf = (phase: RuntimeTool["phase"]) =>
    calls.filter(({ name }) => (scope.runtimeTools.get(name)?.phase ?? "work") === phase);
  const work = callsOf("work");
  const records = new Map<StepCall, ToolCallRecord>();
  for (const phase of callPhases(scope, work)) await runPhase(scope, phase, records);
  // A sub-agent may have requested a request, and a step can have only one.
  const asked = work.find((call) => endsTurn(records.get(call)));
  if (asked !== undefined) requestSlot.take(asked.call);
  for (const call of [...callsOf("question"), ...callsOf("request")])
    records.set(call, await executeToolCall(scope, call, runSubAgent));
  for (const [call, { ending }] of records)
    if (ending !== null && ending.request !== null)
      await writeRequest(scope, call, ending.id, ending.request);
  return calls.flatMap((call) => records.get(call) ?? []);
}

/** Runs calls in parallel and adds their records. If the user refused one of them, its group ends. */
async function runPhase(
  scope: RunContext,
  calls: readonly StepCall[],
  records: Map<StepCall, ToolCallRecord>,
): Promise<void> {
  const { attempt, agent } = scope;
  const slots = new FairSemaphore(agent.limits.maxParallelCalls);
  for (const call of calls) await writeDeferredCall(scope, call);
  const run = async (call: StepCall): Promise<void> => {
    records.set(call, await executeToolCall(scope, call, runSubAgent));
  };
  await attempt.branches.join(() => {
    const branches = calls.map((call) =>
      slots.run(attempt.row, attempt.signal, () => attempt.branches.run(() => run(call))),
    );
    // If another attempt follows, wait for tools that can't run again. Their outcome would be unknown otherwise.
    return allOrAbort(branches, (error) =>
      attempt.abort(error, error instanceof RestartAttempt ? Infinity : 0),
    );
  });
  // A later attempt repeats this for finished steps, and must not end the group of a newer step.
  const refused = calls.filter((call) => records.get(call)?.isRefusal === true);
  if (refused.some(({ call }) => isInOpenGroup(attempt.turn, call))) await closeOpenGroup(scope);
}

/** Returns true if the call requested a request, itself or through its sub-agent. */
function endsTurn(record: ToolCallRecord | undefined): boolean {
  return record !== undefined && record.ending !== null;
}

function resultsOf(calls: readonly StepCall[], records: readonly ToolCallRecord[]): PromptMessage {
  return {
    role: "tool",
    content: calls.flatMap(({ call, name }, n) => {
      const record = records[n];
      return record === undefined
        ? []
        : [{ type: "tool-result" as const, toolCallId: call, toolName: name, output: outputOf(record) }];
    }),
  };
}

function outputOf(record: ToolCallRecord) {
  const { status, content, pool } = record;
  const isText = typeof content === "string";
  if (status === "error")
    return { type: "error-text" as const, value: isText ? content : JSON.stringify(content) };
  // As text, because some providers send the parts of a list as JSON.
  if (pool.length > 0) return { type: "text" as const, value: modelText(record) };
  return isText
    ? { type: "text" as const, value: content }
    : { type: "json" as const, value: content as never };
}

/** Runs a sub-agent. Its last text becomes the result of the call. */
async function runSubAgent(scope: RunContext, call: StepCall): Promise<ToolCallRecord> {
  const { attempt, agent, depth, root } = scope;
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
  const pinned = await pinAgent(scope, call.call, sub);
  const inner = await subAgentContext(scope, call.call, sub, pinned);
  const prompt: Prompt = [...systemPrompt(pinned), { role: "user", content: [{ type: "text", text: task }] }];
  const name = toolLabel({ label: sub.label, name: sub.name });
  try {
    const { text: answer, ending } = await runAgent(inner, prompt);
    const none =
      ending === null ? `${name} gave no answer.` : `${name} asks the user to fill in a form or to pay.`;
    const record = successResult({ content: answer === "" ? none : answer }, 0);
    const cited = new Set(markersIn(answer, inner.pool.has).map(({ reference }) => reference));
    const pool = inner.pool.exportCited(cited, scope.agent.limits.maxResultChars);
    const asked = ending === null ? null : { ...ending, request: null };
    return { ...record, pool, ending: asked, usage: attempt.usage.of(call.call).usage };
  } catch (error) {
    // The calling agent handles a failure of the sub-agent. Errors that end the turn are thrown.
    const end = attempt.signal.aborted ? null : failureOf(error, attempt.strings);
    const endsWholeTurn = error instanceof LimitReached ? error.isOfTurn : error instanceof UsageLimitReached;
    if (end?.reason !== "error" || endsWholeTurn) throw error;
    attempt.context.onError(error, { during: `the sub-agent ${sub.name}` });
    const record = failedResult(`${name} could not finish: ${end.text}`);
    return { ...record, usage: attempt.usage.of(call.call).usage };
  }
}

/** The agent that called reads the text, so it has no message of a provider. */
function failureOf(error: unknown, strings: RuntimeStrings): TurnOutcome | null {
  return error instanceof ModelError
    ? outcomeOfModelError(error, strings, false)
    : outcomeFor(error, strings);
}

/**
 * Returns lists of calls: those that are in the log, then those that the step did not write. The calls of one list run in
 * parallel, and each list waits for the previous one. The lists follow from the log and the step alone, so a later attempt
 * finds the same ones.
 */
function callPhases(scope: RunContext, calls: readonly StepCall[]): StepCall[][] {
  const deferred = calls.filter((call) => isDeferred(scope, call));
  const phases = [calls.filter((call) => !deferred.includes(call))];
  let lastKind: string | null = null;
  for (const call of deferred) {
    const kind = kindOf(scope, call);
    // Thoughts follow one another, so that their order stays.
    if (kind === lastKind && kind !== "thought") phases.at(-1)?.push(call);
    else phases.push([call]);
    lastKind = kind;
  }
  return phases;
}

function isDeferred(scope: RunContext, call: StepCall): boolean {
  const { turn } = scope.attempt;
  if (sharedThought(scope, call) !== null) return findThought(turn, call.call) === undefined;
  return findToolCall(turn, call.call) === undefined;
}

function kindOf(scope: RunContext, call: StepCall): "thought" | "standalone" | "grouped" {
  if (sharedThought(scope, call) !== null) return "thought";
  return displayOf(scope, call.name).isStandalone ? "standalone" : "grouped";
}

/** Writes a call if it is not in the log, while no other visible call waits. */
async function writeDeferredCall(scope: RunContext, { call, name, input }: StepCall): Promise<void> {
  const { attempt, run } = scope;
  const { writer } = attempt;
  if (findToolCall(writer.turn, call) !== undefined) return;
  const { isHidden, isStandalone } = displayOf(scope, name);
  if (isStandalone) await closeOpenGroup(scope);
  else if (!isHidden) await startGroup(scope);
  const label = callLabel(scope, name, input);
  const hidden = isHidden ? { hidden: true } : {};
  const place = await writer.start({ type: "tool_call.start", run, call, name, label, ...hidden });
  await writer.write({ type: "tool_call.end", ...place, input });
}
