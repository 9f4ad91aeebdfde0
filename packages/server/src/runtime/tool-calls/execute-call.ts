/**
 * One tool call: finds out what it does, journals its outcome, then tells it. The outcome is journaled before it is told,
 * so that what people have seen stands, whoever goes on. A tool begins only once its start is in the log under this
 * attempt's epoch: a worker that was superseded finds out there.
 */
import { type Json, labelOf, resultOf, runOfCall } from "@turnstream/protocol";
import { parseInput } from "../../models/tool-schema.ts";
import { type CallFact, callKey, type PinnedTool, startKey } from "../attempt/journal-entries.ts";
import {
  ASK_USER,
  CALL_AGENT,
  calledAgent,
  LOOKUP_ATTACHMENTS,
  REQUEST_FORM,
  SHARE_THOUGHT,
} from "../define/agent.ts";
import { lookupAttachments } from "../files/lookup-tool.ts";
import type { Tool } from "../define/tool.ts";
import type { Attempt } from "../attempt/attempt.ts";
import { nextWithin, runsFrom } from "../events/closing-events.ts";
import { textField } from "../../util/json.ts";
import { endFor, LimitReached } from "../attempt/outcomes.ts";
import { askApproval } from "../interactions/approval.ts";
import { askQuestion } from "../interactions/question.ts";
import { requestForm } from "../interactions/form-ending-turn.ts";
import { withdrawAsked } from "../interactions/withdraw.ts";
import { markersIn } from "../events/citation-markers.ts";
import { unforgedContent } from "../attempt/reference-pool.ts";
import { pinnedFor } from "../agent-loop/pinned-agent.ts";
import type { Prompt } from "../../models/model.ts";
import { failed, succeeded } from "../attempt/tool-result.ts";
import { type RunScope, sourcedTool, subScope } from "../attempt/run-context.ts";
import type { StepCall } from "../events/step-writer.ts";
import { startResult, tellResult } from "./write-result.ts";
import { runTool } from "./run-tool.ts";

/** What an agent said last, and the form that it has asked for, if it has: then it goes on in another turn. */
export interface RunEnd {
  readonly text: string;
  readonly form: string | null;
}

type RunAgent = (scope: RunScope, prompt: Prompt) => Promise<RunEnd>;

export async function runCall(scope: RunScope, call: StepCall, runAgent: RunAgent): Promise<CallFact> {
  const { attempt } = scope;
  let fact = attempt.recall(callKey(call.call));
  if (fact === undefined) {
    const performed = await perform(scope, call, runAgent);
    fact = { ...performed, content: unforgedContent(performed.content) };
    await attempt.note(callKey(call.call), fact, { kept: true });
  }
  await closeWithin(attempt, call.call);
  await tellResult(scope, call, fact);
  return fact;
}

/**
 * What a call that is over has left open: a tool that gave up before the person answered asks no longer, and a sub-agent
 * may have failed, or be gone since a deploy.
 */
async function closeWithin(attempt: Attempt, call: string): Promise<void> {
  const { pen, spending } = attempt;
  const run = runOfCall(pen.turn, call);
  const isOpen = run?.status === "running";
  const runs = isOpen ? runsFrom(pen.turn, run.id).map(({ id }) => id) : [];
  await withdrawAsked(attempt, (block) => block.call === call || runs.includes(block.run));
  if (isOpen) await pen.writeUntilDone((turn) => nextWithin(turn, run.id, spending.byRun));
}

async function perform(scope: RunScope, call: StepCall, runAgent: RunAgent): Promise<CallFact> {
  const { attempt, agent, pinned } = scope;
  const { name, input, problem } = call;
  if (problem !== undefined) return failed(problem);
  const isOffered = pinned.tools.some((offered) => offered.name === name);
  const sourced = sourcedTool(scope, name);
  if (sourced !== undefined) return performSourced(scope, call, sourced);
  if (isOffered && name === SHARE_THOUGHT) return shareThought(input);
  if (isOffered && name === ASK_USER) return askQuestion(scope, call);
  if (isOffered && name === REQUEST_FORM) return requestForm(scope, call);
  const hasBegun = attempt.recall(startKey(call.call)) !== undefined;
  if (isOffered && !hasBegun && (name === CALL_AGENT || agent.agents[name] !== undefined))
    return runSubAgent(scope, call, runAgent);
  const tool = name === LOOKUP_ATTACHMENTS ? lookupAttachments : agent.tools[name];
  // Whatever became of the tool: what was begun may have taken effect.
  if (hasBegun && tool === undefined) return interrupted(scope, call);
  const wasAgent = runOfCall(attempt.turn, call.call) !== undefined;
  if (!isOffered || tool === undefined || wasAgent) return failed(missing(name, isOffered));
  return checkAndPerform(scope, call, tool);
}

function missing(name: string, wasOffered: boolean): string {
  return `There is no tool ${name}${wasOffered ? " any more" : ""}.`;
}

/** The tool of a source is looked for again at every call: since the run began it may have changed or gone. */
async function performSourced(
  scope: RunScope,
  call: StepCall,
  { name, tool: toolName }: NonNullable<PinnedTool["source"]>,
): Promise<CallFact> {
  const { attempt, agent } = scope;
  const { words, sources } = attempt.parts;
  // Whatever became of the source: what was begun may have taken effect.
  if (attempt.recall(startKey(call.call)) !== undefined) return interrupted(scope, call);
  const source = agent.sources.find((one) => one.name === name);
  const offered = source === undefined ? {} : await sources.list(source);
  if (offered === null)
    return failed(`${name}, where the tool ${call.name} comes from, is not available now.`, words.toolFailed);
  const tool = Object.hasOwn(offered, toolName) ? offered[toolName] : undefined;
  if (tool === undefined) return failed(`There is no tool ${call.name} any more.`, words.toolFailed);
  return checkAndPerform(scope, call, tool);
}

async function checkAndPerform(scope: RunScope, call: StepCall, tool: Tool): Promise<CallFact> {
  const { name, input } = call;
  const { parts } = scope.attempt;
  const parsed = await parseInput(tool.input, input).catch((error: unknown) => {
    parts.onError(error, `the schema of the tool ${name}`);
    return null;
  });
  if (parsed === null)
    return failed(`The arguments of ${name} could not be checked.`, parts.words.toolFailed);
  if (!parsed.ok) return failed(`The arguments don't fit the tool ${name}: ${parsed.problem}`);
  return performTool(scope, call, tool, parsed.value);
}

async function performTool(scope: RunScope, call: StepCall, tool: Tool, input: unknown): Promise<CallFact> {
  const { attempt } = scope;
  const { parts } = attempt;
  if (wasInterrupted(scope, call, tool, input)) return interrupted(scope, call);
  const approved = await askApproval(scope, call, tool, input);
  if (!approved.ok) return approved.fact;
  // It may be another input now, of a call that may not be run again.
  if (wasInterrupted(scope, call, tool, approved.input)) return interrupted(scope, call);
  const isOnce = tool.rerun(approved.input) === "never";
  return parts.toolSlots.run(attempt.signal, async () => {
    attempt.signal.throwIfAborted();
    if (isOnce) await attempt.note(startKey(call.call), true, { kept: true });
    const result = await startResult(scope, call);
    await attempt.pen.flush();
    // Once its start is noted it is run, as long as it may: otherwise nobody would know that it was not.
    (isOnce ? attempt.toolSignal : attempt.signal).throwIfAborted();
    return runTool(scope, call, tool, approved.input, result);
  });
}

/** Whether an earlier attempt had begun to run it, and nobody may do so again. */
function wasInterrupted({ attempt }: RunScope, { call }: StepCall, tool: Tool, input: unknown): boolean {
  return attempt.recall(startKey(call)) !== undefined && tool.rerun(input) === "never";
}

function interrupted({ attempt }: RunScope, { name }: StepCall): CallFact {
  return failed(
    `The tool ${name} was interrupted while it ran, and may not be run again. Nobody knows whether it took effect: find out before you try again.`,
    attempt.parts.words.errors.OUTCOME_UNKNOWN,
  );
}

function shareThought(input: Json): CallFact {
  const thought = textField(input, "thought");
  if (thought === null) return failed("`thought` is missing.");
  return { ...succeeded({ content: "Shown to the person." }, 0), preview: "", thought };
}

async function runSubAgent(scope: RunScope, call: StepCall, runAgent: RunAgent): Promise<CallFact> {
  const { attempt, agent, depth, root } = scope;
  const sub = calledAgent(agent, call.name, call.input);
  const task = textField(call.input, "task");
  if (sub === undefined)
    return failed(`There is no such agent. Call one of these: ${Object.keys(agent.agents).join(", ")}.`);
  if (task === null) return failed("`task` is missing.");
  if (depth >= root.limits.depth)
    return failed(`Sub-agents may not go deeper than ${root.limits.depth} here.`);
  await startResult(scope, call);
  // It was a hidden tool when it was called, and a sub-agent works where people see it.
  if (resultOf(attempt.turn, call.call)?.hidden === true) return failed(missing(call.name, true));
  const pinned = await pinnedFor(attempt, call.call, sub);
  const inner = await subScope(scope, call.call, sub, pinned);
  const prompt: Prompt = [
    ...(pinned.instructions === "" ? [] : [{ role: "system" as const, content: pinned.instructions }]),
    { role: "user", content: [{ type: "text", text: task }] },
  ];
  const name = labelOf({ label: sub.label, name: sub.name });
  try {
    const { text: answer, form } = await runAgent(inner, prompt);
    const none = form === null ? `${name} gave no answer.` : `${name} asks the person to fill in a form.`;
    const fact = succeeded({ content: answer === "" ? none : answer }, 0);
    const cited = new Set(markersIn(answer, inner.pool.has).map(({ reference }) => reference));
    const pool = inner.pool.handOn(cited, scope.agent.limits.resultChars);
    const asked = form === null ? null : { form, schema: null };
    return { ...fact, pool, form: asked, usage: attempt.spending.of(call.call) };
  } catch (error) {
    // What ends a sub-agent is for the agent that called it to deal with; what ends the turn is not.
    const end = attempt.signal.aborted ? null : endFor(error, attempt.parts.words);
    if (end?.reason !== "error" || (error instanceof LimitReached && error.isOfTurn)) throw error;
    attempt.parts.onError(error, `the sub-agent ${sub.name}`);
    return { ...failed(`${name} could not finish: ${end.text}`), usage: attempt.spending.of(call.call) };
  }
}
