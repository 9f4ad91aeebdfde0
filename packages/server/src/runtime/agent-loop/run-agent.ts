/**
 * `runAgent` runs the loop of one agent: it calls the model and runs the requested tools, until the model requests none
 * or a form.
 *
 * Invariant: steps and tool results come from the journal if they are there, so a later attempt repeats no finished
 * work. The calls of a step run in parallel; questions follow one at a time, and forms last.
 */
import type { Prompt, PromptMessage } from "../../models/model.ts";
import { executeToolCall } from "../tool-calls/execute-call.ts";
import { type RunResult, runSubAgent } from "./run-sub-agent.ts";
import { estimateTokens, trimToBudget } from "../prompt/trim-to-budget.ts";
import { ASK_USER, REQUEST_FORM } from "../define/agent.ts";
import { type ToolCallRecord, callKey } from "../attempt/journal-entries.ts";
import { writeForm } from "../interactions/form-ending-turn.ts";
import { runModelStep } from "./model-step.ts";
import { RuntimeError } from "../errors.ts";
import { RestartAttempt } from "../attempt/outcomes.ts";
import { modelText } from "../attempt/reference-pool.ts";
import { FormSlot, type RunContext, toModelTools } from "../attempt/run-context.ts";
import { Semaphore } from "../../util/semaphore.ts";
import type { StepCall } from "../events/step-writer.ts";
import { allOrAbort } from "../../util/concurrency.ts";

const callSubAgent = (scope: RunContext, call: StepCall): Promise<ToolCallRecord> =>
  runSubAgent(scope, call, runAgent);

/** Returns when the model requests no more tools, or when a tool requests a form. */
export async function runAgent(scope: RunContext, start: Prompt): Promise<RunResult> {
  const { agent, pinned } = scope;
  if (agent.model === null) throw new RuntimeError("NO_MODEL", `the agent ${agent.name}`);
  const prompt: Prompt = [...start];
  const tokens = agent.compaction.afterTokens - estimateTokens(toModelTools(pinned));
  for (let n = 0; ; n++) {
    const step = await runModelStep(scope, n, agent.model, () =>
      trimToBudget([...prompt], start.length, tokens),
    );
    if (step.calls.length === 0) return { text: step.text, form: null };
    const records = await runCalls(scope, step.calls);
    for (const { pool } of records) scope.pool.add(pool);
    const asked = records.find(asksForm)?.form;
    if (asked !== undefined && asked !== null) return { text: step.text, form: asked.form };
    prompt.push({ role: "assistant", content: step.content }, resultsOf(step.calls, records));
  }
}

/**
 * Runs the calls of one step in parallel. Questions run after the other calls, one at a time, because they are outside
 * of groups. Forms run last.
 */
async function runCalls(outer: RunContext, calls: readonly StepCall[]): Promise<ToolCallRecord[]> {
  const { attempt, agent } = outer;
  const known = calls.find(({ call }) => asksForm(attempt.fromJournal(callKey(call))));
  // The explicit type makes a misspelled property a compile error.
  const scope: RunContext & { readonly formSlot: FormSlot } = {
    ...outer,
    formSlot: new FormSlot(known?.call ?? null),
  };
  const slots = new Semaphore(agent.limits.maxParallelCalls);
  const work = calls.filter(({ name }) => name !== ASK_USER && name !== REQUEST_FORM);
  const branches = work.map((call) =>
    slots.run(attempt.signal, () => executeToolCall(scope, call, callSubAgent)),
  );
  const done = await allOrAbort(branches, (error) => {
    // If another attempt follows, wait for tools that can't run again. Their outcome would be unknown otherwise.
    attempt.abort(error, error instanceof RestartAttempt ? Infinity : 0);
  });
  const records = new Map(work.map((call, n) => [call, done[n]]));
  for (const name of [ASK_USER, REQUEST_FORM])
    for (const call of calls.filter((one) => one.name === name)) {
      // A sub-agent already requested a form, and a step can have only one.
      const [asked] = work.filter((_, n) => asksForm(done[n]));
      if (name === REQUEST_FORM && asked !== undefined) scope.formSlot.take(asked.call);
      records.set(call, await executeToolCall(scope, call, callSubAgent));
    }
  for (const [call, record] of records) {
    const asked = record?.form ?? null;
    if (asked !== null && asked.schema !== null) await writeForm(scope, call, asked.form, asked.schema);
  }
  return calls.flatMap((call) => records.get(call) ?? []);
}

/** Journal entries from before forms existed have no `form` field. */
function asksForm(record: ToolCallRecord | undefined): boolean {
  return (record?.form ?? null) !== null;
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
  const { status, content, pool = [] } = record;
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
