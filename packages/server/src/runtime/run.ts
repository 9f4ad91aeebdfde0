/**
 * The loop of one agent: ask the model, run what it asks for, tell it the results, until it asks for nothing more.
 * Calls of one step run side by side. Everything it has done is found in the journal again.
 */
import type { Prompt, PromptMessage } from "../models/model.ts";
import { runCall } from "./call.ts";
import { ASK_USER } from "./define/agent.ts";
import type { CallFact } from "./facts.ts";
import { modelStep } from "./model-step.ts";
import { RuntimeError } from "./errors.ts";
import { BeginAgain } from "./outcomes.ts";
import { modelText } from "./references/pool.ts";
import type { RunScope } from "./run-scope.ts";
import { Semaphore } from "./semaphore.ts";
import type { StepCall } from "./step-writer.ts";
import { together } from "./together.ts";

/** @returns what it said last */
export async function runAgent(scope: RunScope, start: Prompt): Promise<string> {
  const { agent } = scope;
  if (agent.model === null) throw new RuntimeError("NO_MODEL", `the agent ${agent.name}`);
  const prompt: Prompt = [...start];
  for (let n = 0; ; n++) {
    const step = await modelStep(scope, n, agent.model, [...prompt]);
    if (step.calls.length === 0) return step.text;
    const facts = await runCalls(scope, step.calls);
    for (const { pool } of facts) scope.pool.add(pool);
    prompt.push({ role: "assistant", content: step.content }, resultsOf(step.calls, facts));
  }
}

/** Side by side; questions come after the rest, one after the other, for they stand outside groups. */
async function runCalls(scope: RunScope, calls: readonly StepCall[]): Promise<CallFact[]> {
  const { attempt, agent } = scope;
  const slots = new Semaphore(agent.limits.width);
  const work = calls.filter(({ name }) => name !== ASK_USER);
  const branches = work.map((call) => slots.run(attempt.signal, () => runCall(scope, call, runAgent)));
  const done = await together(branches, (error) => {
    // Another attempt can wait for a tool that may not be run again: its outcome would be unknown otherwise.
    attempt.abort(error, error instanceof BeginAgain ? Infinity : 0);
  });
  const facts = new Map(work.map((call, n) => [call, done[n]]));
  for (const call of calls) if (!facts.has(call)) facts.set(call, await runCall(scope, call, runAgent));
  return calls.flatMap((call) => facts.get(call) ?? []);
}

function resultsOf(calls: readonly StepCall[], facts: readonly CallFact[]): PromptMessage {
  return {
    role: "tool",
    content: calls.flatMap(({ call, name }, n) => {
      const fact = facts[n];
      return fact === undefined
        ? []
        : [{ type: "tool-result" as const, toolCallId: call, toolName: name, output: outputOf(fact) }];
    }),
  };
}

function outputOf(fact: CallFact) {
  const { status, content, pool } = fact;
  const isText = typeof content === "string";
  if (status === "error") {
    return { type: "error-text" as const, value: isText ? content : JSON.stringify(content) };
  }
  // As text, for some providers would write the parts of a list as JSON.
  if (pool.length > 0) return { type: "text" as const, value: modelText(fact) };
  return isText
    ? { type: "text" as const, value: content }
    : { type: "json" as const, value: content as never };
}
