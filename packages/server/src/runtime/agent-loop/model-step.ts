/**
 * One step of a run: asks the model, tells what it says as it comes, and journals what the step amounts to. A failure
 * that may pass is tried again after a while: in place when nobody has seen anything of it, in a new attempt when
 * somebody has, because what was told has to be made void. So is an answer that could not be kept, as often as a model
 * that fails. Never runs a tool.
 */
import type { Usage } from "@turnstream/protocol";
import { askModel } from "../../models/ask-model.ts";
import { ModelError } from "../../models/errors.ts";
import type { Model, Prompt } from "../../models/model.ts";
import { retryDelay } from "../../models/retry.ts";
import { addUsage, NO_USAGE, usageOf } from "../../models/usage.ts";
import type { TurnAttempt, StepAttempts } from "../attempt/attempt.ts";
import { MAIN_RUN, type StepRecord, stepKey } from "../attempt/journal-entries.ts";
import { openGroup } from "../events/groups.ts";
import { enforceLimits } from "./enforce-limits.ts";
import { ModelStreamInterrupted, TurnFailed } from "../attempt/outcomes.ts";
import { toModelTools } from "./pinned-agent.ts";
import { type RunContext, createStepWriter } from "../attempt/run-context.ts";
import { toUsageRecord } from "../attempt/usage.ts";
import type { StepWriter } from "../events/step-writer.ts";
import { sleep } from "../../util/sleep.ts";

/** @param prompt made only when the model has to be asked */
export async function runModelStep(
  scope: RunContext,
  n: number,
  model: Model,
  prompt: () => Prompt,
): Promise<StepRecord> {
  const { attempt, path } = scope;
  const key = stepKey(path, n);
  const known = attempt.fromJournal(key);
  if (known !== undefined) return known;
  enforceLimits(scope, n);
  const { unsavedAnswers } = triedOf(attempt, key);
  // Asking costs money, and what keeps the answers from being kept may last.
  if (unsavedAnswers >= scope.agent.retry.maxAttempts)
    throw new TurnFailed("SERVER_ERROR", `${unsavedAnswers} answers could not be kept`, { canRetry: true });
  const writer = createStepWriter(scope);
  try {
    const usage = await askUntilAnswered(scope, key, model, prompt(), writer);
    const fact: StepRecord = {
      ...(await writer.finish()),
      ...toUsageRecord(scope.agent, model.modelId, usage),
    };
    await attempt.commitStep(key, fact);
    attempt.spending.add(path, fact);
    return fact;
  } catch (error) {
    const isModels = error instanceof ModelError || error instanceof ModelStreamInterrupted;
    // Whoever was told to stop has lost nothing of its own: another branch has, or a person wants it.
    if (!isModels && !attempt.signal.aborted)
      attempt.tries.set(key, { ...triedOf(attempt, key), unsavedAnswers: unsavedAnswers + 1, nextAt: 0 });
    throw error;
  }
}

function triedOf({ tries }: TurnAttempt, key: string): StepAttempts {
  return tries.get(key) ?? { modelFailures: 0, unsavedAnswers: 0, nextAt: 0 };
}

async function askUntilAnswered(
  scope: RunContext,
  key: string,
  model: Model,
  prompt: Prompt,
  writer: StepWriter,
): Promise<Usage> {
  const { attempt, agent, pinned } = scope;
  const { parts, signal } = attempt;
  let wasted = NO_USAGE;
  const { maxAttempts: maxTries, initialDelayMs } = agent.retry;
  const before = triedOf(attempt, key);
  // It broke off after something was shown, and what was shown is void now.
  if (before.nextAt > 0) await waitForRetry(scope, writer, before, maxTries);
  while (true) {
    let usage: Usage | null = null;
    try {
      await parts.modelSlots.run(signal, async () => {
        const tools = toModelTools(pinned);
        const request = { ...agent.modelSettings, prompt, ...(tools.length === 0 ? {} : { tools }) };
        for await (const part of askModel(model, request, { signal })) {
          if (part.type === "finish") usage = usageOf(part.usage);
          else await writer.writePart(part);
        }
        writer.checkComplete();
      });
      return addUsage(wasted, usage ?? { ...NO_USAGE, calls: 1 });
    } catch (error) {
      if (!(error instanceof ModelError)) throw error;
      const tried = triedOf(attempt, key);
      const times = tried.modelFailures + 1;
      const delayMs = retryDelay({
        attempt: times,
        error,
        random: randomOf(parts),
        limits: { maxTries, firstMs: initialDelayMs },
      });
      if (error.usage !== null) wasted = addUsage(wasted, usageOf(error.usage));
      // Nothing of this step will be journaled, and what it took was spent.
      if (delayMs === null || writer.hasWritten)
        await attempt.recordUsage(scope.path, key, toUsageRecord(agent, model.modelId, wasted));
      if (delayMs === null) throw error;
      const next = { ...tried, times, nextAt: parts.env.now() + delayMs };
      attempt.tries.set(key, next);
      if (writer.hasWritten) throw new ModelStreamInterrupted(error);
      await waitForRetry(scope, writer, next, maxTries);
    }
  }
}

function randomOf({ env }: { readonly env: { randomBytes(size: number): Uint8Array } }): number {
  return (env.randomBytes(1)[0] ?? 0) / 256;
}

/** Shown as a thought: people see that something is being done, and it is not part of the answer. */
async function waitForRetry(
  { attempt, run, path }: RunContext,
  writer: StepWriter,
  { modelFailures, nextAt }: StepAttempts,
  tries: number,
): Promise<void> {
  const { pen, parts, signal } = attempt;
  const delayMs = Math.max(0, nextAt - parts.env.now());
  const group = path === MAIN_RUN && pen.turn.mode === "agent" ? openGroup(pen.turn) : null;
  if (group !== null) await pen.write(group);
  const place = await pen.start({ type: "thinking.start", run });
  const text = parts.words.retrying(Math.ceil(delayMs / 1000), modelFailures + 1, tries);
  await pen.write({ type: "thinking.delta", ...place, text });
  await pen.write({ type: "thinking.end", ...place });
  writer.includeBlock(place.block);
  await sleep(delayMs, { signal });
}
