/**
 * One tool call: finds out what it does, journals its outcome, then tells it. The outcome is journaled before it is told,
 * so that what people have seen stands, whoever goes on. A tool begins only once its start is in the log under this
 * attempt's epoch: a worker that was superseded finds out there.
 */
import { type Json, toolLabel, findToolResult, findSubAgentRun } from "@turnstream/protocol";
import { parseInput } from "../../models/tool-schema.ts";
import { type ToolCallRecord, callKey, type PinnedTool, startKey } from "../attempt/journal-entries.ts";
import {
  ASK_USER,
  CALL_AGENT,
  findSubAgent,
  LOOKUP_ATTACHMENTS,
  REQUEST_FORM,
  SHARE_THOUGHT,
} from "../define/agent.ts";
import { lookupAttachments } from "../files/lookup-tool.ts";
import type { Tool } from "../define/tool.ts";
import type { TurnAttempt } from "../attempt/attempt.ts";
import { nextRunClosingEvents, runSubtree } from "../events/closing-events.ts";
import { stringField } from "../../util/json.ts";
import { outcomeFor, LimitReached } from "../attempt/outcomes.ts";
import { requestApproval } from "../interactions/approval.ts";
import { askQuestion } from "../interactions/question.ts";
import { requestForm } from "../interactions/form-ending-turn.ts";
import { withdrawPending } from "../interactions/withdraw.ts";
import { markersIn } from "../events/citation-markers.ts";
import { escapeReferenceTagsIn } from "../attempt/reference-pool.ts";
import { pinAgent } from "../agent-loop/pinned-agent.ts";
import type { Prompt } from "../../models/model.ts";
import { failedResult, successResult } from "../attempt/tool-result.ts";
import { type RunContext, findToolSource, subAgentContext } from "../attempt/run-context.ts";
import type { StepCall } from "../events/step-writer.ts";
import { startToolResult, writeToolResult } from "./write-result.ts";
import { runTool } from "./run-tool.ts";

/** What an agent said last, and the form that it has asked for, if it has: then it goes on in another turn. */
export interface RunResult {
  readonly text: string;
  readonly form: string | null;
}

type RunAgent = (scope: RunContext, prompt: Prompt) => Promise<RunResult>;

export async function executeToolCall(
  scope: RunContext,
  call: StepCall,
  runAgent: RunAgent,
): Promise<ToolCallRecord> {
  const { attempt } = scope;
  let fact = attempt.fromJournal(callKey(call.call));
  if (fact === undefined) {
    const performed = await perform(scope, call, runAgent);
    fact = { ...performed, content: escapeReferenceTagsIn(performed.content) };
    await attempt.journal(callKey(call.call), fact, { kept: true });
  }
  await closeWithin(attempt, call.call);
  await writeToolResult(scope, call, fact);
  return fact;
}

/**
 * What a call that is over has left open: a tool that gave up before the person answered asks no longer, and a sub-agent
 * may have failed, or be gone since a deploy.
 */
async function closeWithin(attempt: TurnAttempt, call: string): Promise<void> {
  const { pen, spending } = attempt;
  const run = findSubAgentRun(pen.turn, call);
  const isOpen = run?.status === "running";
  const runs = isOpen ? runSubtree(pen.turn, run.id).map(({ id }) => id) : [];
  await withdrawPending(attempt, (block) => block.call === call || runs.includes(block.run));
  if (isOpen) await pen.writeAll((turn) => nextRunClosingEvents(turn, run.id, spending.byRun));
}

async function perform(scope: RunContext, call: StepCall, runAgent: RunAgent): Promise<ToolCallRecord> {
  const { attempt, agent, pinned } = scope;
  const { name, input, problem } = call;
  if (problem !== undefined) return failedResult(problem);
  const isOffered = pinned.tools.some((offered) => offered.name === name);
  const sourced = findToolSource(scope, name);
  if (sourced !== undefined) return performSourced(scope, call, sourced);
  if (isOffered && name === SHARE_THOUGHT) return shareThought(input);
  if (isOffered && name === ASK_USER) return askQuestion(scope, call);
  if (isOffered && name === REQUEST_FORM) return requestForm(scope, call);
  const hasBegun = attempt.fromJournal(startKey(call.call)) !== undefined;
  if (isOffered && !hasBegun && (name === CALL_AGENT || agent.subAgents[name] !== undefined))
    return runSubAgent(scope, call, runAgent);
  const tool = name === LOOKUP_ATTACHMENTS ? lookupAttachments : agent.tools[name];
  // Whatever became of the tool: what was begun may have taken effect.
  if (hasBegun && tool === undefined) return interrupted(scope, call);
  const wasAgent = findSubAgentRun(attempt.turn, call.call) !== undefined;
  if (!isOffered || tool === undefined || wasAgent) return failedResult(missing(name, isOffered));
  return checkAndPerform(scope, call, tool);
}

function missing(name: string, wasOffered: boolean): string {
  return `There is no tool ${name}${wasOffered ? " any more" : ""}.`;
}

/** The tool of a source is looked for again at every call: since the run began it may have changed or gone. */
async function performSourced(
  scope: RunContext,
  call: StepCall,
  { name, tool: toolName }: NonNullable<PinnedTool["source"]>,
): Promise<ToolCallRecord> {
  const { attempt, agent } = scope;
  const { words, sources } = attempt.parts;
  // Whatever became of the source: what was begun may have taken effect.
  if (attempt.fromJournal(startKey(call.call)) !== undefined) return interrupted(scope, call);
  const source = agent.toolSources.find((one) => one.name === name);
  const offered = source === undefined ? {} : await sources.list(source);
  if (offered === null)
    return failedResult(
      `${name}, where the tool ${call.name} comes from, is not available now.`,
      words.toolFailed,
    );
  const tool = Object.hasOwn(offered, toolName) ? offered[toolName] : undefined;
  if (tool === undefined) return failedResult(`There is no tool ${call.name} any more.`, words.toolFailed);
  return checkAndPerform(scope, call, tool);
}

async function checkAndPerform(scope: RunContext, call: StepCall, tool: Tool): Promise<ToolCallRecord> {
  const { name, input } = call;
  const { parts } = scope.attempt;
  const parsed = await parseInput(tool.input, input).catch((error: unknown) => {
    parts.onError(error, `the schema of the tool ${name}`);
    return null;
  });
  if (parsed === null)
    return failedResult(`The arguments of ${name} could not be checked.`, parts.words.toolFailed);
  if (!parsed.ok) return failedResult(`The arguments don't fit the tool ${name}: ${parsed.problem}`);
  return performTool(scope, call, tool, parsed.value);
}

async function performTool(
  scope: RunContext,
  call: StepCall,
  tool: Tool,
  input: unknown,
): Promise<ToolCallRecord> {
  const { attempt } = scope;
  const { parts } = attempt;
  if (wasInterrupted(scope, call, tool, input)) return interrupted(scope, call);
  const approved = await requestApproval(scope, call, tool, input);
  if (!approved.ok) return approved.fact;
  // It may be another input now, of a call that may not be run again.
  if (wasInterrupted(scope, call, tool, approved.input)) return interrupted(scope, call);
  const isOnce = tool.rerun(approved.input) === "never";
  return parts.toolSlots.run(attempt.signal, async () => {
    attempt.signal.throwIfAborted();
    if (isOnce) await attempt.journal(startKey(call.call), true, { kept: true });
    const result = await startToolResult(scope, call);
    await attempt.pen.flush();
    // Once its start is noted it is run, as long as it may: otherwise nobody would know that it was not.
    (isOnce ? attempt.toolSignal : attempt.signal).throwIfAborted();
    return runTool(scope, call, tool, approved.input, result);
  });
}

/** Whether an earlier attempt had begun to run it, and nobody may do so again. */
function wasInterrupted({ attempt }: RunContext, { call }: StepCall, tool: Tool, input: unknown): boolean {
  return attempt.fromJournal(startKey(call)) !== undefined && tool.rerun(input) === "never";
}

function interrupted({ attempt }: RunContext, { name }: StepCall): ToolCallRecord {
  return failedResult(
    `The tool ${name} was interrupted while it ran, and may not be run again. Nobody knows whether it took effect: find out before you try again.`,
    attempt.parts.words.errors.OUTCOME_UNKNOWN,
  );
}

function shareThought(input: Json): ToolCallRecord {
  const thought = stringField(input, "thought");
  if (thought === null) return failedResult("`thought` is missing.");
  return { ...successResult({ content: "Shown to the person." }, 0), preview: "", thought };
}

async function runSubAgent(scope: RunContext, call: StepCall, runAgent: RunAgent): Promise<ToolCallRecord> {
  const { attempt, agent, depth, root } = scope;
  const sub = findSubAgent(agent, call.name, call.input);
  const task = stringField(call.input, "task");
  if (sub === undefined)
    return failedResult(
      `There is no such agent. Call one of these: ${Object.keys(agent.subAgents).join(", ")}.`,
    );
  if (task === null) return failedResult("`task` is missing.");
  if (depth >= root.limits.maxDepth)
    return failedResult(`Sub-agents may not go deeper than ${root.limits.maxDepth} here.`);
  await startToolResult(scope, call);
  // It was a hidden tool when it was called, and a sub-agent works where people see it.
  if (findToolResult(attempt.turn, call.call)?.hidden === true) return failedResult(missing(call.name, true));
  const pinned = await pinAgent(attempt, call.call, sub);
  const inner = await subAgentContext(scope, call.call, sub, pinned);
  const prompt: Prompt = [
    ...(pinned.instructions === "" ? [] : [{ role: "system" as const, content: pinned.instructions }]),
    { role: "user", content: [{ type: "text", text: task }] },
  ];
  const name = toolLabel({ label: sub.label, name: sub.name });
  try {
    const { text: answer, form } = await runAgent(inner, prompt);
    const none = form === null ? `${name} gave no answer.` : `${name} asks the person to fill in a form.`;
    const fact = successResult({ content: answer === "" ? none : answer }, 0);
    const cited = new Set(markersIn(answer, inner.pool.has).map(({ reference }) => reference));
    const pool = inner.pool.exportCited(cited, scope.agent.limits.maxResultChars);
    const asked = form === null ? null : { form, schema: null };
    return { ...fact, pool, form: asked, usage: attempt.spending.of(call.call) };
  } catch (error) {
    // What ends a sub-agent is for the agent that called it to deal with; what ends the turn is not.
    const end = attempt.signal.aborted ? null : outcomeFor(error, attempt.parts.words);
    if (end?.reason !== "error" || (error instanceof LimitReached && error.isOfTurn)) throw error;
    attempt.parts.onError(error, `the sub-agent ${sub.name}`);
    return {
      ...failedResult(`${name} could not finish: ${end.text}`),
      usage: attempt.spending.of(call.call),
    };
  }
}
