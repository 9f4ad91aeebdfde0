/**
 * `executeToolCall` runs one tool call, or takes its outcome from the journal, and writes the result to the log.
 *
 * Invariant: the outcome is journaled before its result is written, so a takeover never changes what users saw. Only the
 * outcome of a quick tool that can run again is journaled with the next step; a takeover in between supersedes its
 * result and runs it again. A tool starts only after its `tool_result.start` is in the log under this attempt's epoch,
 * so a superseded worker fails before it runs a tool.
 */
import { findSubAgentRun } from "@turnstream/protocol/writer";
import { parseInput } from "../../models/tool-schema.ts";
import { type ToolCallRecord, callKey, type PinnedTool, type StepCall } from "../run/journal-entries.ts";
import { startKey } from "../../engine/attempt/journal-keys.ts";
import { CALL_AGENT } from "../define/agent.ts";
import type { Tool } from "../define/tool.ts";
import type { TurnAttempt } from "../../engine/attempt/attempt.ts";
import { nextRunClosingEvents, runSubtree } from "../../engine/events/closing-events.ts";
import { requestApproval } from "../interactions/approval.ts";
import { withdrawPending } from "../../engine/interactions/await-decision.ts";
import { escapeReferenceTagsIn } from "../run/reference-pool.ts";
import { failedResult } from "../run/tool-result.ts";
import { type CheckedCall, type RunContext, findToolSource } from "../run/run-context.ts";
import type { Slot } from "../../util/fair-semaphore.ts";
import { startToolResult, writeToolResult } from "./write-result.ts";
import { runTool } from "./run-tool.ts";

/** To run a tool again that took longer costs the user more than a commit costs the database. */
const QUICK_MS = 2_000;

type RunSubAgent = (scope: RunContext, call: StepCall) => Promise<ToolCallRecord>;

/** @param runSubAgent the agent loop, passed in because it calls this function */
export async function executeToolCall(
  scope: RunContext,
  call: StepCall,
  runSubAgent: RunSubAgent,
): Promise<ToolCallRecord> {
  const { attempt } = scope;
  let record = attempt.fromJournal(callKey(call.call));
  if (record === undefined) {
    const { env } = attempt.context;
    const startedAt = env.now();
    const performed = await resolveResult(scope, call, runSubAgent);
    record = { ...performed, content: escapeReferenceTagsIn(performed.content) };
    const isQuick = env.now() - startedAt <= QUICK_MS;
    const key = callKey(call.call);
    if (isQuick && canRunAgain(scope, call, record)) attempt.journalLater(key, record);
    else await attempt.journal(key, record);
  }
  await closeWithin(attempt, call.call);
  await writeToolResult(scope, call, record);
  return record;
}

/**
 * Returns true if a later attempt loses nothing when it runs the call again: it has no start, so the tool is idempotent,
 * and it used no tokens, asked for nothing and ran no agent.
 */
function canRunAgain(scope: RunContext, { call, name }: StepCall, record: ToolCallRecord): boolean {
  const { attempt, agent } = scope;
  const tool = agent.tools[name] ?? scope.host.builtInTools.get(name) ?? findToolSource(scope, name);
  if (tool === undefined || attempt.mayHaveRun(call)) return false;
  return record.ending === null && record.usage === null && record.isRefusal !== true;
}

/**
 * Closes what a finished call left open: pending interactions of its tool, and the run of a sub-agent that failed or
 * that a deploy removed.
 */
async function closeWithin(attempt: TurnAttempt, call: string): Promise<void> {
  const { writer, usage } = attempt;
  const run = findSubAgentRun(writer.turn, call);
  const isOpen = run?.status === "running";
  const runs = isOpen ? runSubtree(writer.turn, run.id).map(({ id }) => id) : [];
  await withdrawPending(attempt, (block) => block.call === call || runs.includes(block.run));
  if (isOpen) await writer.writeAll((turn) => nextRunClosingEvents(turn, run.id, usage.byRun));
}

async function resolveResult(
  scope: RunContext,
  call: StepCall,
  runSubAgent: RunSubAgent,
): Promise<ToolCallRecord> {
  const { attempt, agent, pinned, runtimeTools } = scope;
  const { name, problem } = call;
  if (problem !== undefined) return failedResult(problem);
  const isOffered = pinned.tools.some((offered) => offered.name === name);
  const sourced = findToolSource(scope, name);
  if (sourced !== undefined) return performFromSource(scope, call, sourced);
  const runtimeTool = runtimeTools.get(name);
  if (isOffered && runtimeTool !== undefined) return runtimeTool.run(scope, call);
  const wasStarted = attempt.fromJournal(startKey(call.call)) !== undefined;
  if (isOffered && !wasStarted && (name === CALL_AGENT || agent.subAgents[name] !== undefined))
    return runSubAgent(scope, call);
  const tool = scope.host.builtInTools.get(name) ?? agent.tools[name];
  // The tool was removed, but its earlier start may have taken effect.
  if (wasStarted && tool === undefined) return interrupted(scope, call);
  const wasAgent = findSubAgentRun(attempt.turn, call.call) !== undefined;
  if (!isOffered || tool === undefined || wasAgent) return failedResult(describeMissingTool(name, isOffered));
  return checkAndPerform(scope, call, tool);
}

/** Returns the error for the model when it calls a tool that doesn't exist. */
export function describeMissingTool(name: string, wasOffered: boolean): string {
  return `There is no tool ${name}${wasOffered ? " any more" : ""}.`;
}

/** Looks up the tool in its source at every call, because it may have changed or disappeared since the run started. */
async function performFromSource(
  scope: RunContext,
  call: StepCall,
  { name, tool: toolName }: NonNullable<PinnedTool["source"]>,
): Promise<ToolCallRecord> {
  const { attempt, agent } = scope;
  const { toolFailed } = attempt.strings;
  // The source may have changed since the call started, but the call may have taken effect.
  if (attempt.fromJournal(startKey(call.call)) !== undefined) return interrupted(scope, call);
  const source = agent.toolSources.find((candidate) => candidate.name === name);
  const offered = source === undefined ? {} : await scope.host.toolSources.list(source);
  if (offered === null)
    return failedResult(`${name}, where the tool ${call.name} comes from, is not available now.`, toolFailed);
  const tool = Object.hasOwn(offered, toolName) ? offered[toolName] : undefined;
  if (tool === undefined) return failedResult(describeMissingTool(call.name, true), toolFailed);
  return checkAndPerform(scope, call, tool);
}

async function checkAndPerform(scope: RunContext, call: StepCall, tool: Tool): Promise<ToolCallRecord> {
  const { name, input } = call;
  const { context } = scope.attempt;
  const parsed = await parseInput(tool.input, input).catch((error: unknown) => {
    context.onError(error, { during: `the schema of the tool ${name}` });
    return null;
  });
  if (parsed === null)
    return failedResult(`The arguments of ${name} could not be checked.`, scope.attempt.strings.toolFailed);
  if (!parsed.ok) return failedResult(`The arguments don't fit the tool ${name}: ${parsed.problem}`);
  return performTool({ scope, call, tool, input: parsed.value });
}

async function performTool(checked: CheckedCall): Promise<ToolCallRecord> {
  const { scope, call, tool } = checked;
  const { attempt } = scope;
  if (wasInterrupted(checked)) return interrupted(scope, call);
  const approved = await requestApproval(checked);
  if (!approved.ok) return approved.record;
  const { input } = approved;
  // The user may have edited the input. With the new input the call may no longer be idempotent.
  if (wasInterrupted({ ...checked, input })) return interrupted(scope, call);
  const isOnce = !tool.idempotent(input);
  const start = async (toolSlot: Slot): Promise<ToolCallRecord> => {
    attempt.signal.throwIfAborted();
    if (isOnce) await attempt.journal(startKey(call.call), true);
    const place = await startToolResult(scope, call);
    await attempt.writer.flush();
    // The journal now states that this call started. Run it unless it must stop: otherwise its outcome would count as
    // unknown.
    (isOnce ? attempt.toolSignal : attempt.signal).throwIfAborted();
    return runTool({ scope: { ...scope, toolSlot }, call, tool, input }, place);
  };
  return scope.host.toolSlots.run(attempt.row, attempt.signal, (slot) =>
    attempt.drainGate.run(attempt.signal, () => start(slot)),
  );
}

/** Returns true if an earlier attempt may have run this call and it must not run again. */
function wasInterrupted({ scope, call, tool, input }: CheckedCall): boolean {
  return scope.attempt.mayHaveRun(call.call) && !tool.idempotent(input);
}

function interrupted({ attempt }: RunContext, { name }: StepCall): ToolCallRecord {
  return failedResult(
    `The tool ${name} was interrupted while it ran, and may not be run again. It is unknown whether it took effect: find out before you try again.`,
    attempt.strings.errors.OUTCOME_UNKNOWN,
  );
}
