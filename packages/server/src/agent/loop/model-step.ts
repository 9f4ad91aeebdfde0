/**
 * `runModelStep` runs one model call of a run, streams its output to the log and journals the step. It does not run
 * tools. The step that ends the main run is journaled with the end of the turn.
 *
 * Invariant: a journaled step never calls the model again, and neither does one whose answer this process keeps; see
 * `ModelCalls`. A failed step retries in place if it wrote no output. Otherwise it retries in a new attempt, because its
 * blocks must be superseded. Failed calls and answers that were lost before they were journaled are counted separately,
 * each up to `maxAttempts`.
 */
import type { Usage } from "@turnstream/protocol";
import { ModelError } from "../../models/errors.ts";
import type { Model, Prompt } from "../../models/model.ts";
import { retryDelay } from "../../models/retry.ts";
import { addUsage, NO_USAGE } from "../../util/usage.ts";
import { usageOf } from "../../models/usage.ts";
import { askOnce } from "../run/ask-once.ts";
import { startGroup } from "../run/close-open-group.ts";
import type { StepAttempts } from "../run/agent-turn.ts";
import { type StepRecord, stepKey } from "../run/journal-entries.ts";
import { MAIN_RUN } from "../../engine/events/turn-writer.ts";
import { resolveImages } from "../prompt/images.ts";
import { enforceLimits, enforceUsageLimits } from "./enforce-limits.ts";
import { RestartAttempt, TurnFailed } from "../../engine/attempt/outcomes.ts";
import { type RunContext, toModelTools } from "../run/run-context.ts";
import { toUsageRecord } from "../run/usage-record.ts";
import { StepWriter } from "./step-writer.ts";
import { sleep } from "../../util/sleep.ts";

interface Step {
  readonly scope: RunContext;
  /** The number of the step in its run, from 0. */
  readonly n: number;
  readonly model: Model;
  /** Called only if the step is not in the journal. */
  readonly prompt: () => Prompt;
}

export async function runModelStep(step: Step): Promise<StepRecord> {
  const { attempt, path } = step.scope;
  const known = attempt.fromJournal(stepKey(path, step.n));
  return known ?? attempt.drainGate.run(attempt.signal, () => makeStep(step));
}

async function makeStep({ scope, n, model, prompt }: Step): Promise<StepRecord> {
  const { attempt, path } = scope;
  const key = stepKey(path, n);
  // The answer in memory is paid for, so no limit may discard it.
  if (!scope.modelCalls.has(key)) {
    enforceLimits(scope, n);
    // The first step of a turn was checked before the title and the prompt, which may call a model too.
    if (n > 0 || path !== MAIN_RUN) await enforceUsageLimits(attempt);
  }
  const { unsavedAnswers } = stepAttemptsOf(scope, key);
  // Limit the retries: every model call costs money, and the error that prevents the commit may persist.
  if (unsavedAnswers >= scope.agent.retry.maxAttempts)
    throw new TurnFailed(`${unsavedAnswers} answers of the model could not be committed`, { canRetry: true });
  const stepWriter = new StepWriter(scope);
  try {
    const usage = await askUntilAnswered(scope, key, model, prompt(), stepWriter);
    const used = toUsageRecord(scope.agent, model.modelId, usage);
    const record: StepRecord = { ...(await stepWriter.finish()), ...used };
    // The commit that ends the turn follows at once. Until then, another attempt reads the answer from memory.
    const isLast = path === MAIN_RUN && record.calls.length === 0 && scope.modelCalls.has(key);
    if (isLast) {
      // The log may refuse the events, so the end of the turn must not follow before they are there.
      await attempt.flush();
      attempt.journalLater(key, record);
    } else {
      await attempt.commitStep(key, record);
      scope.modelCalls.delete(key);
    }
    attempt.usage.add(path, record);
    return record;
  } catch (error) {
    const isModels = error instanceof ModelError || (error instanceof RestartAttempt && error.isPacedByBody);
    // Count only failures of this step that cost another model call. An abort comes from another branch or the user.
    if (!isModels && !attempt.signal.aborted && !scope.modelCalls.has(key)) {
      const { modelFailures } = stepAttemptsOf(scope, key);
      scope.stepAttempts.set(key, { modelFailures, unsavedAnswers: unsavedAnswers + 1, nextAt: 0 });
    }
    throw error;
  }
}

function stepAttemptsOf({ stepAttempts }: RunContext, key: string): StepAttempts {
  return stepAttempts.get(key) ?? { modelFailures: 0, unsavedAnswers: 0, nextAt: 0 };
}

async function askUntilAnswered(
  scope: RunContext,
  key: string,
  model: Model,
  prompt: Prompt,
  stepWriter: StepWriter,
): Promise<Usage> {
  const { attempt, agent, pinned } = scope;
  const { env } = attempt.context;
  let wasted = NO_USAGE;
  const { maxAttempts: maxTries, initialDelayMs: firstMs } = agent.retry;
  const before = stepAttemptsOf(scope, key);
  // The previous attempt failed after it wrote output, so the wait before the retry happens here.
  if (before.nextAt > 0) await waitForRetry(scope, stepWriter, before, maxTries);
  while (true) {
    let usage: Usage | null = null;
    try {
      const tools = toModelTools(pinned);
      const answer = askOnce(scope, key, model, prompt, async () => ({
        ...agent.modelSettings,
        prompt: await resolveImages(scope, prompt),
        ...(tools.length === 0 ? {} : { tools }),
      }));
      for await (const part of answer) {
        if (part.type === "finish") usage = usageOf(part.usage);
        else await stepWriter.writePart(part);
      }
      stepWriter.checkComplete();
      return addUsage(wasted, usage ?? { ...NO_USAGE, calls: 1 });
    } catch (error) {
      if (!(error instanceof ModelError)) throw error;
      scope.modelCalls.delete(key);
      const attempts = stepAttemptsOf(scope, key);
      const modelFailures = attempts.modelFailures + 1;
      const random = (env.randomBytes(1)[0] ?? 0) / 256;
      const delayMs = retryDelay({ attempt: modelFailures, error, random, limits: { maxTries, firstMs } });
      if (error.usage !== null) wasted = addUsage(wasted, usageOf(error.usage));
      // The step is not journaled after this error, so record the tokens that it used.
      if (delayMs === null || stepWriter.hasWritten)
        await attempt.recordUsage(scope.path, key, toUsageRecord(agent, model.modelId, wasted));
      if (delayMs === null) throw error;
      const next: StepAttempts = { ...attempts, modelFailures, nextAt: performance.now() + delayMs };
      scope.stepAttempts.set(key, next);
      if (stepWriter.hasWritten)
        throw new RestartAttempt("the model stream failed in the middle of a step", error, {
          isPacedByBody: true,
        });
      await waitForRetry(scope, stepWriter, next, maxTries);
    }
  }
}

/**
 * Waits until the retry. It shows the wait as thinking: users see that work continues, and the answer doesn't contain
 * it.
 */
async function waitForRetry(
  scope: RunContext,
  stepWriter: StepWriter,
  { modelFailures, nextAt }: StepAttempts,
  tries: number,
): Promise<void> {
  const { attempt, run } = scope;
  const { writer, signal, drainGate } = attempt;
  const delayMs = Math.max(0, nextAt - performance.now());
  if (writer.turn.mode === "agent") await startGroup(scope);
  const place = await writer.start({ type: "thinking.start", run });
  const text = attempt.strings.retrying(Math.ceil(delayMs / 1000), modelFailures + 1, tries);
  await writer.write({ type: "thinking.delta", ...place, text });
  await writer.write({ type: "thinking.end", ...place });
  stepWriter.includeBlock(place.block);
  await drainGate.waitInside(() => sleep(delayMs, { signal }));
}
