/**
 * `runAgent` runs the loop of one agent: it calls the model and runs the requested tools, until the model requests none
 * or one of them ends the turn.
 *
 * Invariant: steps and tool results come from the journal if they are there, so a later attempt repeats no finished
 * work. The calls of a step run in parallel, except those that can't stand beside the others: they follow, then
 * questions one at a time, and requests last. A refused call ends its group.
 */
import type { Prompt, PromptMessage } from "../../models/model.ts";
import { executeToolCall } from "../tool-calls/execute-call.ts";
import { callPhases, writeDeferredCall } from "../tool-calls/deferred-calls.ts";
import { closeOpenGroup } from "../attempt/close-open-group.ts";
import { isInOpenGroup } from "../events/groups.ts";
import { type RunResult, runSubAgent } from "./run-sub-agent.ts";
import { estimateTokens, trimToBudget } from "../prompt/trim-to-budget.ts";
import { type ToolCallRecord, callKey } from "../attempt/journal-entries.ts";
import { writeRequest } from "../interactions/ending-request.ts";
import { runModelStep } from "./model-step.ts";
import { RuntimeError } from "../errors.ts";
import { RestartAttempt } from "../attempt/outcomes.ts";
import { resultImages } from "../prompt/images.ts";
import { modelText } from "../attempt/reference-pool.ts";
import { RequestSlot, type RunContext, type RuntimeTool, toModelTools } from "../attempt/run-context.ts";
import { FairSemaphore } from "../../util/fair-semaphore.ts";
import type { StepCall } from "../events/step-writer.ts";
import { allOrAbort } from "../../util/concurrency.ts";

const callSubAgent = (scope: RunContext, call: StepCall): Promise<ToolCallRecord> =>
  runSubAgent(scope, call, runAgent);

/** Returns when the model requests no more tools, or when a call ends the turn. */
export async function runAgent(scope: RunContext, start: Prompt): Promise<RunResult> {
  const { agent, pinned } = scope;
  if (agent.model === null) throw new RuntimeError("NO_MODEL", `the agent ${agent.name}`);
  const prompt: Prompt = [...start];
  const tokens = agent.compaction.afterTokens - estimateTokens(toModelTools(pinned));
  for (let n = 0; ; n++) {
    const step = await runModelStep(scope, n, agent.model, () =>
      trimToBudget([...prompt], start.length, tokens),
    );
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
  // The explicit type makes a misspelled property a compile error.
  const scope: RunContext & { readonly requestSlot: RequestSlot } = {
    ...outer,
    requestSlot: new RequestSlot(known?.call ?? null),
  };
  const callsOf = (phase: RuntimeTool["phase"]) =>
    calls.filter(({ name }) => (scope.runtimeTools.get(name)?.phase ?? "work") === phase);
  const work = callsOf("work");
  const records = new Map<StepCall, ToolCallRecord>();
  for (const phase of callPhases(scope, work)) await runPhase(scope, phase, records);
  // A sub-agent may have requested a request, and a step can have only one.
  const asked = work.find((call) => endsTurn(records.get(call)));
  if (asked !== undefined) scope.requestSlot.take(asked.call);
  for (const call of [...callsOf("question"), ...callsOf("request")])
    records.set(call, await executeToolCall(scope, call, callSubAgent));
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
  const runAll = () => {
    const branches = calls.map((call) =>
      slots.run(attempt.row, attempt.signal, () =>
        attempt.branches.run(async () => {
          records.set(call, await executeToolCall(scope, call, callSubAgent));
        }),
      ),
    );
    return allOrAbort(branches, (error) => {
      // If another attempt follows, wait for tools that can't run again. Their outcome would be unknown otherwise.
      attempt.abort(error, error instanceof RestartAttempt ? Infinity : 0);
    });
  };
  await attempt.branches.join(runAll);
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
  if (status === "error") {
    return { type: "error-text" as const, value: isText ? content : JSON.stringify(content) };
  }
  // As text, because some providers send the parts of a list as JSON.
  if (pool.length > 0) return { type: "text" as const, value: modelText(record) };
  return isText
    ? { type: "text" as const, value: content }
    : { type: "json" as const, value: content as never };
}
