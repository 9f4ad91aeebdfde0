/**
 * `compactIfNeeded` summarizes older turns when the prompt is too long. It shows the summary as a tool call, so that
 * users can open it.
 *
 * Invariant: a turn journals at most one summary, and later attempts and turns read it. The newest `keepTurns` turns
 * are never summarized. If the model fails, the prompt keeps the full conversation, because it may still fit.
 */
import { truncateText, MAX_PREVIEW } from "@turnstream/protocol/writer";
import { ModelError } from "../../models/errors.ts";
import type { Model, Prompt } from "../../models/model.ts";
import { COMPACT } from "../define/agent.ts";
import { askForText } from "../run/ask-once.ts";
import { startGroup } from "../run/close-open-group.ts";
import { type CompactionRecord, COMPACTION_KEY } from "../run/journal-entries.ts";
import { type RunContext, toModelTools } from "../run/run-context.ts";
import { toUsageRecord } from "../run/usage-record.ts";
import { withoutImages } from "./images.ts";
import { estimatePrompt, estimateTokens } from "./trim-to-budget.ts";
import { listMessages } from "./continuations.ts";
import { afterCompaction, type PriorTurns } from "./prior-turns.ts";
import { defined } from "../../util/defined.ts";

/** The start of the message that has the summary. */
export const SUMMARY_INTRO = "Summary of the conversation so far:";

const SUMMARY_CHARS = 8_000;
const ASK =
  "Sum up the conversation so far for yourself: what the user wants, what was found and decided, names, numbers and open points. Write nothing else.";

/** @param beside the rest of the prompt */
export async function compactIfNeeded(
  scope: RunContext,
  earlier: PriorTurns,
  beside: Prompt,
): Promise<PriorTurns> {
  const { attempt, agent, pinned } = scope;
  const { afterTokens, keepTurns } = agent.compaction;
  const known = attempt.fromJournal(COMPACTION_KEY);
  if (known !== undefined) return afterCompaction(earlier, known);
  const older = earlier.turns.slice(0, Math.max(0, earlier.turns.length - keepTurns));
  const upTo = older.at(-1)?.turn.number;
  const model = agent.compaction.model ?? agent.model;
  if (upTo === undefined || model === null) return earlier;
  const length =
    estimatePrompt([...beside, ...summaryPrompt(earlier)]) + estimateTokens(toModelTools(pinned));
  if (length <= afterTokens) return earlier;
  const record = await compact(scope, model, { ...earlier, turns: older }, upTo);
  return record === null ? earlier : afterCompaction(earlier, record);
}

/** @param note what the model must know besides the summary; null for nothing */
export function summaryPrompt({ summary, turns }: PriorTurns, note: string | null = null): Prompt {
  const about = summary === null ? null : `${SUMMARY_INTRO}\n${summary}`;
  const text = [about, note].filter((part) => part !== null).join("\n\n");
  if (text === "") return listMessages(turns);
  return [
    { role: "user", content: [{ type: "text", text }] },
    { role: "assistant", content: [{ type: "text", text: "I have read it." }] },
    ...listMessages(turns),
  ];
}

async function compact(
  scope: RunContext,
  model: Model,
  earlier: PriorTurns,
  upTo: number,
): Promise<CompactionRecord | null> {
  const { attempt, run, path } = scope;
  const { writer, context } = attempt;
  await startGroup(scope);
  const call = `${COMPACT}_${writer.turn.items.length}`;
  const named = { call, name: COMPACT, label: attempt.strings.conversationSummarized };
  const callRef = await writer.start({ type: "tool_call.start", run, ...named });
  await writer.write({ type: "tool_call.end", ...callRef, input: { turns: earlier.turns.length } });
  const result = await writer.start({ type: "tool_result.start", run, ...named });
  try {
    const { summary, usage } = await ask(scope, model, earlier);
    const preview = truncateText(summary, MAX_PREVIEW);
    await writer.write({ type: "tool_result.end", ...result, status: "success", preview, artifact: null });
    const blocks = [callRef.block, result.block];
    const used = toUsageRecord(scope.agent, model.modelId, usage);
    const record: CompactionRecord = { summary, upTo, blocks, ...used };
    await attempt.commitStep(COMPACTION_KEY, record);
    scope.modelCalls.delete(COMPACTION_KEY);
    attempt.usage.add(path, record);
    return record;
  } catch (error) {
    if (!(error instanceof ModelError)) throw error;
    context.onError(error, { during: "summarizing a conversation" });
    await writer.write({ type: "tool_result.end", ...result, status: "error", preview: "", artifact: null });
    return null;
  }
}

async function ask(scope: RunContext, model: Model, earlier: PriorTurns) {
  const { providerOptions, headers } = scope.agent.modelSettings;
  const prompt: Prompt = [
    ...withoutImages(summaryPrompt(earlier)),
    { role: "user", content: [{ type: "text", text: ASK }] },
  ];
  const request = { prompt, ...defined({ providerOptions, headers }) };
  const { text, usage } = await askForText(scope, COMPACTION_KEY, model, request);
  return { summary: truncateText(text, SUMMARY_CHARS), usage };
}
