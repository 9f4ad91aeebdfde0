/**
 * `runTurn` runs attempts at a turn until it ends. It classifies each error: end the turn, start another attempt, or
 * leave the turn to its new owner.
 *
 * Invariant: a worker that lost its lease writes nothing more, and its job stays unfinished until the signal aborts. An
 * error outcome is journaled before its events are written, so every later attempt ends the turn the same way. One
 * commit archives the turn, counts its usage and ends it.
 */
import { listBlocks, mainRun, type Turn } from "@turnstream/protocol";
import { outlivesTurn } from "@turnstream/protocol/writer";
import type { Job } from "../../engine/engine.ts";
import { EngineError } from "../../engine/errors.ts";
import { isLogError } from "../../log/errors.ts";
import { enqueueTurnEvent } from "../../session/webhooks/enqueue-events.ts";
import { isStoreError } from "../../store/errors.ts";
import type { RunningTurn } from "../../store/ports/running.ts";
import type { TurnAttempt, StepAttempts } from "../attempt/attempt.ts";
import { runStreamAgent } from "../agent-loop/stream-agent.ts";
import { beginAttempt } from "./begin-attempt.ts";
import { nextClosingEvents, type TurnOutcome } from "../events/closing-events.ts";
import type { RuntimeStrings } from "../strings/runtime-strings.ts";
import { buildPrompt } from "../prompt/build-prompt.ts";
import type { Agent } from "../define/agent.ts";
import { NO_USAGE } from "../../models/usage.ts";
import { commitRequests } from "../interactions/ending-request.ts";
import { withdrawPending } from "../interactions/withdraw.ts";
import { RuntimeError } from "../errors.ts";
import { OUTCOME_KEY, type PinnedAgent, stepKey, STREAM_STARTED_KEY } from "../attempt/journal-entries.ts";
import { closeOpenGroup } from "../attempt/close-open-group.ts";
import { MAIN_RUN } from "../events/turn-writer.ts";
import { readFiles } from "../files/read-files.ts";
import type { TurnRef } from "../attempt/job-id.ts";
import {
  RestartAttempt,
  ModelStreamInterrupted,
  outcomeFor,
  errorOutcome,
  errorText,
  LimitReached,
  notRetryableText,
  StopRequested,
  UsageLimitReached,
} from "../attempt/outcomes.ts";
import type { RuntimeContext } from "../attempt/context.ts";
import { enforceUsageLimits } from "../agent-loop/enforce-limits.ts";
import { pinAgent } from "../agent-loop/pinned-agent.ts";
import { runAgent } from "../agent-loop/run-agent.ts";
import { mainRunContext } from "../attempt/run-context.ts";
import { generateTitle } from "./title.ts";
import { backoffDelay } from "../../util/retry.ts";
import { sleep } from "../../util/sleep.ts";
import { runAs } from "../../util/work-owner.ts";
import type { ActiveTurns } from "./active-turns.ts";

const BACKOFF = { initialDelayMs: 100, maxDelayMs: 10_000 };
/** How long a finished turn waits for the title of its session. */
const TITLE_MS = 3_000;

/** Returns when the turn has ended or belongs to another worker. Throws only after the job's signal is aborted. */
export async function runTurn(
  context: RuntimeContext,
  activeTurns: ActiveTurns,
  ref: TurnRef,
  job: Job,
): Promise<void> {
  const stepAttempts = new Map<string, StepAttempts>();
  const { running } = context.store;
  let isCounted = false;
  let row: RunningTurn | null = null;
  for (let failures = 0; ;) {
    job.signal.throwIfAborted();
    let delayMs: number;
    try {
      // Don't count an attempt again if it could not claim the session. Otherwise a long outage would use up all
      // attempts.
      row = isCounted ? await running.get(ref) : await running.attempt(ref, ref.turn);
      if (row === null || row.turn !== ref.turn) return;
      // The previous attempt made progress.
      if (!isCounted && row.attemptsWithoutProgress === 1) failures = 0;
      isCounted = true;
      const current = row;
      const attempt = await runAs(row, () => beginAttempt(context, current, stepAttempts));
      isCounted = false;
      await runAs(row, () => finishAttempt(attempt, activeTurns, job.signal));
      return;
    } catch (error) {
      reportFenced(context, ref, error);
      if (job.signal.aborted) {
        if (row !== null && context.holdsLease()) await forgiveAttempt(context, row);
        throw error;
      }
      const isExpected = error instanceof RestartAttempt;
      if (!isExpected && !isTransient(error)) context.onError(error, { during: `turn ${ref.turn}` });
      // The step counts its own model failures, so this attempt is not counted again.
      if (error instanceof ModelStreamInterrupted) [delayMs, isCounted] = [0, true];
      else delayMs = retryDelayMs(failures++, isExpected);
      // A worker without a lease has lost the turn. Another claim would take it from its new owner.
      if (!(await stillHoldsLease(context))) return waitForAbort(job.signal, ref);
    }
    await activeTurns.pause(ref, delayMs, job.signal);
  }
}

/** The log or the journal refused a write, because another worker has the session. */
function reportFenced({ reportSecurityEvent }: RuntimeContext, ref: TurnRef, error: unknown): void {
  const reason = isLogError(error, "FENCED") ? "log" : isStoreError(error, "FENCED") ? "journal" : null;
  if (reason !== null)
    reportSecurityEvent({ type: "writer_fenced", reason, tenant: ref.tenant, subject: ref.session });
}

/** Doesn't count an attempt that a shutdown ended: a turn may wait for a user across many deploys. */
async function forgiveAttempt(context: RuntimeContext, row: RunningTurn): Promise<void> {
  const forgiven = context.store.running.forgive(row, row);
  await forgiven.catch((error: unknown) => context.onError(error, { during: `turn ${row.turn}` }));
}

/**
 * Retries immediately after the first restart. Later restarts back off, because the error that prevented the commit may
 * persist.
 */
function retryDelayMs(failures: number, isExpected: boolean): number {
  if (isExpected && failures === 0) return 0;
  return backoffDelay(isExpected ? failures : failures + 1, BACKOFF, Math.random());
}

/** Errors of servers and of concurrent writers. They are not bugs, so they are not reported. */
function isTransient(error: unknown): boolean {
  if (isLogError(error)) return !isLogError(error, "TOO_LARGE", "INVALID");
  return (
    isStoreError(error) &&
    (["FENCED", "CONFLICT", "UNAVAILABLE", "BUSY", "NOT_FOUND"] as string[]).includes(error.code)
  );
}

async function stillHoldsLease(context: RuntimeContext): Promise<boolean> {
  try {
    return await context.confirmLease();
  } catch {
    // The store is unavailable, so other workers can't take over either. If one did, the next attempt fails on its
    // epoch.
    return context.holdsLease();
  }
}

/** Never resolves: the engine must not mark the job as done, because another worker owns it or will soon. */
function waitForAbort(signal: AbortSignal, { turn }: TurnRef): Promise<never> {
  return new Promise((_, reject) => {
    const stop = (): void =>
      reject((signal.reason as Error | undefined) ?? new Error(`turn ${turn} was taken over`));
    if (signal.aborted) stop();
    else signal.addEventListener("abort", stop, { once: true });
  });
}

async function finishAttempt(
  attempt: TurnAttempt,
  activeTurns: ActiveTurns,
  signal: AbortSignal,
): Promise<void> {
  const { context } = attempt;
  const handOver = (): void => attempt.abort(signal.reason, context.shutdownGraceMs);
  if (signal.aborted) handOver();
  signal.addEventListener("abort", handOver, { once: true });
  activeTurns.add(attempt);
  try {
    const agent = context.agents.get(attempt.turn.agent);
    const end = attempt.fromJournal(OUTCOME_KEY) ?? (await runOrFail(attempt, agent));
    await finishTurn(attempt, end);
  } finally {
    signal.removeEventListener("abort", handOver);
    activeTurns.delete(attempt);
    attempt.writer.close();
    attempt.abort(new RestartAttempt("the attempt is over"));
  }
}

async function runOrFail(attempt: TurnAttempt, agent: Agent | undefined): Promise<TurnOutcome> {
  const outcome = outcomeOf(attempt.turn);
  if (outcome !== null) return outcome;
  const { context } = attempt;
  let end: TurnOutcome;
  try {
    await work(attempt, agent);
    return { reason: completionReason(attempt.turn) };
  } catch (error) {
    const reason: unknown = attempt.signal.aborted ? attempt.signal.reason : error;
    const known = outcomeFor(reason, attempt.strings, context.showsProviderErrors);
    if (known === null && canRetryAttempt(reason, attempt)) throw reason;
    if (!EXPECTED.some((type) => reason instanceof type))
      context.onError(reason, { during: `turn ${attempt.row.turn}` });
    end = known ?? failureFor(reason, attempt.strings);
  }
  // From here on every attempt only ends the turn.
  await attempt.journal(OUTCOME_KEY, end);
  return end;
}

/** Reasons to end a turn that are no errors. */
const EXPECTED = [StopRequested, LimitReached, UsageLimitReached];

/** The log rejects the same events again, so TOO_LARGE and INVALID can't be retried. */
function failureFor(error: unknown, strings: RuntimeStrings): TurnOutcome {
  const canRetry = !isLogError(error, "TOO_LARGE", "INVALID");
  const text = canRetry ? errorText(strings, "SERVER_ERROR") : notRetryableText(strings);
  return errorOutcome("SERVER_ERROR", text, { canRetry });
}

function canRetryAttempt(error: unknown, { row, context }: TurnAttempt): boolean {
  if (isTransient(error) || error instanceof RestartAttempt)
    return row.attemptsWithoutProgress < context.maxAttemptsWithoutProgress;
  return error instanceof EngineError;
}

/** Returns how the turn has ended or will end. If the main run has ended, the outcome is already visible to users. */
function outcomeOf(turn: Turn): TurnOutcome | null {
  if (turn.status !== "running" && turn.status !== "error" && turn.status !== "user_stopped")
    return { reason: turn.status };
  const status = mainRun(turn)?.status;
  if (status === "completed") return { reason: completionReason(turn) };
  if (status === "cancelled") return { reason: "user_stopped", by: null };
  return status === "failed" ? errorOutcome("SERVER_ERROR", { text: "" }, { canRetry: false }) : null;
}

/** A run that requests a form or payment makes no further step, and neither do its parent runs. */
function completionReason(turn: Turn): "end_turn" | "requires_interaction" {
  const asks = listBlocks(turn).some((block) => "version" in block && outlivesTurn(block));
  return asks ? "requires_interaction" : "end_turn";
}

/** Returns how long the turn has waited for users. Overlapping waits count once, as in the attempt's clock. */
function waitedMs(turn: Turn, now: number): number {
  const waits = listBlocks(turn).flatMap((block) =>
    "version" in block && !outlivesTurn(block)
      ? [{ from: block.started_at, to: block.decided_at ?? now }]
      : [],
  );
  let waited = 0;
  let until = 0;
  for (const { from, to } of waits.toSorted((a, b) => a.from - b.from)) {
    waited += Math.max(0, to - Math.max(from, until));
    until = Math.max(until, to);
  }
  return waited;
}

async function work(attempt: TurnAttempt, agent: Agent | undefined): Promise<void> {
  const { context, row, turn, writer } = attempt;
  if (mainRun(turn) === undefined)
    await writer.write({ type: "run.start", run: MAIN_RUN, agent: turn.agent });
  if (row.stop !== null) throw new StopRequested(row.stop.by);
  if (row.attemptsWithoutProgress > context.maxAttemptsWithoutProgress)
    throw new Error(`the turn made no progress in ${row.attemptsWithoutProgress} attempts in a row`);
  if (agent === undefined) throw new RuntimeError("UNKNOWN_AGENT", `the agent ${turn.agent}`);
  const now = context.env.now();
  const left = agent.limits.timeoutMs - (now - row.startedAt) + waitedMs(turn, now);
  const limit = { limit: "seconds", value: Math.round(agent.limits.timeoutMs / 1000) } as const;
  if (left <= 0) throw new LimitReached(limit);
  attempt.setDeadline(left, () => new LimitReached(limit));
  try {
    const hasStarted = [stepKey(MAIN_RUN, 0), STREAM_STARTED_KEY].some(
      (key) => attempt.fromJournal<unknown>(key) !== undefined,
    );
    if (!hasStarted) await enforceUsageLimits(attempt);
    const pinned: PinnedAgent = await pinAgent(attempt, MAIN_RUN, agent);
    const scope = await mainRunContext(attempt, agent, pinned);
    await readFiles(scope);
    const title = generateTitle(attempt, agent);
    const prompt = await buildPrompt(scope);
    if (agent.body === null) await runAgent(scope, prompt);
    else await runStreamAgent(scope, agent.body, prompt);
    await closeOpenGroup(scope);
    await Promise.race([title, sleep(TITLE_MS, { signal: attempt.signal })]);
  } finally {
    attempt.stopClock();
  }
}

/**
 * Ends a turn: writes closing events until nothing is open. Then one commit archives the turn, counts its usage and
 * lets the next turn start. A later attempt can repeat all of it.
 */
async function finishTurn(attempt: TurnAttempt, end: TurnOutcome): Promise<void> {
  const { context, writer, row, ref, usage } = attempt;
  const durationMs = Math.max(0, context.env.now() - row.startedAt);
  const closing = {
    usage: usage.total,
    durationMs,
    runUsage: usage.byRun,
    stoppedText: attempt.strings.stopped,
    thinkingLabel: attempt.strings.thinkingLabel,
  };
  await withdrawPending(attempt);
  await commitRequests(attempt);
  await writer.writeAll((turn) => nextClosingEvents(turn, end, closing));
  const archived = await attempt.archive(async (tx) => {
    let turns = 1;
    // A turn that called no model still counts as one turn.
    const used = usage.byModel.size > 0 ? usage.byModel : new Map([[attempt.turn.agent, NO_USAGE]]);
    for (const [model, usedByModel] of used) {
      const cost = usage.costOfModel(model);
      const key = `turn/${row.turn}/${model}`;
      const { user, apiKey } = row;
      await tx.usage.add(ref.tenant, { ...usedByModel, key, user, apiKey, model, turns, cost });
      // Count the turn once, even if it used several models.
      turns = 0;
    }
    await enqueueTurnEvent(tx, ref, row.turn, end);
    await tx.journal.close(ref, row.turn);
    await tx.running.end(ref, row.turn);
  });
  // Not awaited: the next turn must not wait for a slow Redis.
  context.logRetention
    .settle(ref, archived)
    .catch((error: unknown) => context.onError(error, { during: `turn ${row.turn}` }));
}
