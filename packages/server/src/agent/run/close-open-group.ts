/**
 * `startGroup` and `closeOpenGroup` start and end groups of the main run, wherever that is allowed. The summary comes
 * from the agent's `summarizeGroup`, or is the label of the last call.
 *
 * Invariant: a hook never fails the turn. Null, an empty text, an error and a timeout give the default. The hook is not
 * journaled, so a takeover can call it again for the same group.
 */
import { type Block, findToolResult, toolLabel, type Turn } from "@turnstream/protocol";
import { MAX_LABEL, truncateText } from "@turnstream/protocol/writer";
import { abortable } from "../../util/concurrency.ts";
import type { Agent } from "../define/agent.ts";
import type { GroupStep, GroupSummaryContext } from "../define/summarize-group.ts";
import { closeGroup, groupBlocks, groupSummary, isShownCall, openGroup } from "../../engine/events/groups.ts";
import { MAIN_RUN } from "../../engine/events/turn-writer.ts";
import type { TurnAttempt } from "../../engine/attempt/attempt.ts";
import type { RunContext } from "./run-context.ts";
import { UsageCollector } from "./usage-record.ts";

/** How long the text after a group waits for its summary. */
const SUMMARY_TIMEOUT_MS = 3_000;

/** Starts a group for the next block of the run, unless one is open. Only the main run has groups. */
export async function startGroup({ attempt: { writer }, path }: RunContext): Promise<void> {
  const group = path === MAIN_RUN ? openGroup(writer.turn) : null;
  if (group !== null) await writer.write(group);
}

export async function closeOpenGroup({ attempt, agent, path }: RunContext): Promise<void> {
  const { writer } = attempt;
  const { turn } = writer;
  if (path !== MAIN_RUN || turn.group === null || closeGroup(turn, "") === null) return;
  const standard = groupSummary(turn, turn.group, attempt.strings.thinkingLabel);
  const own = agent.summarizeGroup === null ? null : await askHook(attempt, agent, turn.group, standard);
  const end = closeGroup(writer.turn, own ?? standard);
  if (end !== null) await writer.write(end);
}

async function askHook(
  attempt: TurnAttempt,
  agent: Agent,
  group: string,
  standard: string,
): Promise<string | null> {
  const { tenant, session, turn, user, message } = attempt.row;
  const timeout = AbortSignal.timeout(SUMMARY_TIMEOUT_MS);
  const signal = AbortSignal.any([attempt.signal, timeout]);
  const used = new UsageCollector(agent.name);
  const context: GroupSummaryContext = {
    steps: groupBlocks(attempt.turn, group).flatMap((block) => stepOf(attempt.turn, block) ?? []),
    defaultSummary: standard,
    signal,
    reportUsage: used.report,
    tenant,
    session,
    turn,
    user,
    message,
  };
  let summary: string | null = null;
  try {
    const returned = await abortable((async () => agent.summarizeGroup?.(context))(), signal);
    if (typeof returned === "string") summary = truncateText(returned.trim(), MAX_LABEL);
  } catch (error) {
    if (attempt.signal.aborted) throw attempt.signal.reason;
    attempt.context.onError(error, { during: `summarizeGroup of the agent ${agent.name}` });
  }
  await used.record(attempt, MAIN_RUN, `group/${group}`);
  return summary === "" ? null : summary;
}

function stepOf(turn: Turn, block: Block): GroupStep | null {
  if (block.kind === "thinking") return { type: "thinking", text: block.text };
  if (!isShownCall(block)) return null;
  const result = findToolResult(turn, block.call);
  const { name, input } = block;
  const status = result === undefined || result.status === "running" ? "cancelled" : result.status;
  return { type: "call", name, label: toolLabel(block), input, status, preview: result?.preview ?? "" };
}
