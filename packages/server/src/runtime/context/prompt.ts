/**
 * The prompt of a turn's main run, from its instructions, the conversation before and the message. When that gets too long
 * the older turns are summed up first, by a model; people can open the summary like any other step.
 */
import { cutText, type UserMessage } from "@turnstream/protocol";
import { askModel } from "../../models/ask.ts";
import type { Model, Prompt } from "../../models/model.ts";
import { NO_USAGE, usageOf } from "../../models/usage.ts";
import { COMPACT } from "../define/agent.ts";
import { type CompactFact, COMPACTED } from "../facts.ts";
import { openGroup } from "../groups.ts";
import type { RunScope } from "../run-scope.ts";
import { type Earlier, type EarlierTurn, readEarlier } from "./history.ts";
import { userMessage } from "./turn-messages.ts";

const CHARS_PER_TOKEN = 4;
const SUMMARY_CHARS = 8_000;
const PREVIEW_CHARS = 4_096;
const ASK =
  "Sum up the conversation so far for yourself: what the person wants, what was found and decided, names, numbers and open points. Write nothing else.";

export async function buildPrompt(scope: RunScope): Promise<Prompt> {
  const { attempt, pinned } = scope;
  const { turn } = attempt;
  const read = await readEarlier(attempt.parts.store, attempt.ref, turn);
  const { asked, earlier } = withoutRetried(read, attempt.row.retries);
  const compacted = await compactIfLong(scope, earlier);
  const system =
    pinned.instructions === "" ? [] : [{ role: "system" as const, content: pinned.instructions }];
  const before = promptOf(compacted);
  const message = await wholeOf(scope, attempt.row.message ?? asked);
  return [...system, ...before, ...(message === null ? [] : [userMessage(message)])];
}

/** Another try answers the message of the turn that failed, as if that one had not been. */
function withoutRetried(
  { summary, turns }: Earlier,
  retries: string | null,
): { readonly asked: UserMessage | null; readonly earlier: Earlier } {
  let asked: UserMessage | null = null;
  let rest = turns;
  for (let id = retries; id !== null;) {
    const failed: EarlierTurn | undefined = rest.find(({ turn }) => turn.id === id);
    rest = rest.filter((one) => one !== failed);
    asked = failed?.turn.message ?? null;
    id = asked === null ? (failed?.turn.retries ?? null) : null;
  }
  return { asked, earlier: { summary, turns: rest } };
}

async function wholeOf({ attempt }: RunScope, message: UserMessage | null): Promise<UserMessage | null> {
  const { parts, ref } = attempt;
  if (message === null || message.whole === null) return message;
  const blob = await parts.store.blobs.get(ref, message.whole.blob);
  return blob === null ? message : { ...message, text: Buffer.from(blob.body).toString("utf8") };
}

function promptOf({ summary, turns }: Earlier): Prompt {
  const told: Prompt =
    summary === null
      ? []
      : [
          { role: "user", content: [{ type: "text", text: `What was said before, in short:\n${summary}` }] },
          { role: "assistant", content: [{ type: "text", text: "I have read it." }] },
        ];
  return [...told, ...turns.flatMap(({ messages }) => messages)];
}

async function compactIfLong(scope: RunScope, earlier: Earlier): Promise<Earlier> {
  const { attempt, agent } = scope;
  const { afterTokens, keepTurns } = agent.compaction;
  const known = attempt.recall(COMPACTED);
  if (known !== undefined) {
    attempt.use(scope.run, known.usage);
    return after(earlier, known);
  }
  const older = earlier.turns.slice(0, Math.max(0, earlier.turns.length - keepTurns));
  const upTo = older.at(-1)?.turn.number;
  if (estimate(promptOf(earlier)) <= afterTokens || upTo === undefined || agent.model === null)
    return earlier;
  const fact = await compact(
    scope,
    agent.compaction.model ?? agent.model,
    { ...earlier, turns: older },
    upTo,
  );
  return after(earlier, fact);
}

function after(earlier: Earlier, { summary, upTo }: CompactFact): Earlier {
  return { summary, turns: earlier.turns.filter(({ turn }) => turn.number > upTo) };
}

/** Nobody tokenises here: a quarter of the characters is near enough to decide when to sum up. */
function estimate(prompt: Prompt): number {
  return Math.ceil(JSON.stringify(prompt).length / CHARS_PER_TOKEN);
}

/** Told as a call and its result, so that every client can show it. */
async function compact(scope: RunScope, model: Model, earlier: Earlier, upTo: number): Promise<CompactFact> {
  const { attempt, run } = scope;
  const { pen, parts, signal } = attempt;
  const group = openGroup(pen.turn);
  if (group !== null) await pen.write(group);
  const call = `${COMPACT}_${pen.turn.items.length}`;
  const named = { call, name: COMPACT, label: parts.words.compacted };
  const asked = await pen.start({ type: "tool_call.start", run, ...named });
  await pen.write({ type: "tool_call.end", ...asked, input: { turns: earlier.turns.length } });
  const result = await pen.start({ type: "tool_result.start", run, ...named });
  const prompt: Prompt = [...promptOf(earlier), { role: "user", content: [{ type: "text", text: ASK }] }];
  let summary = "";
  let usage = NO_USAGE;
  await parts.modelSlots.run(signal, async () => {
    for await (const part of askModel(model, { prompt }, { signal })) {
      if (part.type === "text-delta") summary += part.delta;
      if (part.type === "finish") usage = usageOf(part.usage);
    }
  });
  summary = cutText(summary, SUMMARY_CHARS);
  const preview = cutText(summary, PREVIEW_CHARS);
  await pen.write({ type: "tool_result.end", ...result, status: "success", preview, artifact: null });
  const fact: CompactFact = { summary, upTo, blocks: [asked.block, result.block], usage };
  await attempt.commitStep(COMPACTED, fact, { kept: true });
  attempt.use(run, usage);
  return fact;
}
