/**
 * `runTurn` runs attempts at a turn until it ends. It classifies each error: end the turn, start another attempt, or
 * leave the turn to its new owner.
 *
 * Invariant: a worker that lost its lease writes nothing more, and keeps its turns until the signal aborts. While
 * the lease is in doubt, no attempt starts. A worker that shuts down throws LEFT as soon as no step or tool runs. An
 * error outcome is journaled before its events are written, so every later attempt ends the turn the same way. One
 * commit archives the turn with its last step, counts its usage and ends it.
 */
import { listBlocks, mainRun, type Turn } from "@turnstream/protocol";
import { outlivesTurn } from "@turnstream/protocol/writer";
import { EngineError, isEngineError } from "../errors.ts";
import { isLogError } from "../../log/errors.ts";
import { enqueueTurnEvent } from "../../session/webhooks/enqueue-events.ts";
import { isStoreError } from "../../store/errors.ts";
import { type EndReceipt, type HeldTurn, MAX_DEATHS, type StartedTurn } from "../../store/turn-queue.ts";
import type { RunningTurn } from "../../store/running-turn.ts";
import type { TurnAttempt } from "../attempt/attempt.ts";
import { TurnMemory } from "../attempt/turn-memory.ts";
import type { TurnBodies, TurnBody } from "../turn-body.ts";
import { recoverEnd } from "../attempt/recover-end.ts";
import { beginAttempt } from "./begin-attempt.ts";
import { nextClosingEvents, type TurnOutcome } from "../events/closing-events.ts";
import type { RuntimeStrings } from "../../strings/runtime-strings.ts";
import { commitRequests, listRequests } from "../interactions/commit-requests.ts";
import { withdrawPending } from "../interactions/await-decision.ts";
import { LOSS_KEY, OUTCOME_KEY } from "../attempt/journal-keys.ts";
import { MAIN_RUN } from "../events/turn-writer.ts";
import {
  RestartAttempt,
  outcomeFor,
  errorOutcome,
  errorText,
  LimitReached,
  notRetryableText,
  StopRequested,
  TurnCrashed,
  UsageLimitReached,
} from "../attempt/outcomes.ts";
import type { EngineContext } from "../attempt/context.ts";
import { NOTHING_SPENT } from "../attempt/usage.ts";
import { untilAborted } from "../../util/concurrency.ts";
import type { SessionRef } from "../../util/refs.ts";
import { backoffDelay } from "../../util/retry.ts";
import { runAs } from "../../util/work-owner.ts";
import type { ActiveTurns } from "./active-turns.ts";
import { parkWhenIdle, TurnParked } from "./park-turn.ts";

const BACKOFF = { initialDelayMs: 100, maxDelayMs: 10_000 };

/**
 * Runs a turn that the store has given to this process. Returns when the turn has ended, is parked, or belongs to another
 * worker. Throws if it must return to the queue: after the signal is aborted or the worker has started to drain, or if the
 * session can't be claimed in many attempts.
 */
export async function runTurn(
  context: EngineContext,
  bodies: () => TurnBodies,
  activeTurns: ActiveTurns,
  { held, row }: StartedTurn,
  signal: AbortSignal,
): Promise<void> {
  const memory = new TurnMemory();
  const turn: CurrentTurn = { context, bodies, activeTurns, held, row, signal, memory };
  let failure: AttemptFailure | null = null;
  try {
    do {
      if (failure !== null) await activeTurns.pause(turn.row, failure.delayMs, signal);
      failure = await runAttempt(turn, failure);
    } while (failure !== null);
  } finally {
    memory.close(new RestartAttempt("this worker no longer runs the turn"));
  }
}

/** A turn that this process runs, at its newest attempt. */
interface CurrentTurn {
  readonly context: EngineContext;
  /** Those that the next attempt can run. */
  readonly bodies: () => TurnBodies;
  readonly activeTurns: ActiveTurns;
  readonly held: HeldTurn;
  readonly signal: AbortSignal;
  readonly memory: TurnMemory;
  row: RunningTurn;
}

/** Another attempt follows in this process. */
interface AttemptFailure {
  /** False if the next attempt doesn't count. */
  readonly isCounted: boolean;
  /** How many attempts in a row have failed here without progress. */
  readonly failures: number;
  /** How long to wait before the next one. */
  readonly delayMs: number;
}

/**
 * @param last how the previous attempt in this process failed, or null
 * @returns null if the turn has ended, is parked, or belongs to another worker
 */
async function runAttempt(turn: CurrentTurn, last: AttemptFailure | null): Promise<AttemptFailure | null> {
  const { context, held, signal, memory } = turn;
  let failures = last?.failures ?? 0;
  let hasClaimed = false;
  try {
    signal.throwIfAborted();
    if (last !== null) {
      if (!context.lease.isFresh()) throw new EngineError("LEFT", `turn ${turn.row.turn}`);
      const row = await context.store.queue.again(held, { isCounted: last.isCounted });
      if (row === null) return null;
      turn.row = row;
      // The previous attempt made progress.
      if (last.isCounted && row.attemptsWithoutProgress === 1) failures = 0;
    }
    const attempt = await runAs(turn.row, () => beginAttempt(context, turn));
    hasClaimed = true;
    parkWhenIdle(attempt, held);
    await runAs(turn.row, () => finishAttempt(attempt, turn));
    return null;
  } catch (error) {
    if (error instanceof TurnParked) return null;
    const { row } = turn;
    reportFenced(context, row, error);
    if (signal.aborted || context.draining.aborted) {
      if (context.lease.isFresh()) await forgiveAttempt(context, row);
      throw error;
    }
    const isExpected = error instanceof RestartAttempt;
    const isPaced = isExpected && error.isPacedByBody;
    if (!isExpected && !isTransient(error)) context.onError(error, { during: `turn ${row.turn}` });
    // A worker without a lease has lost the turn. Another claim would take it from its new owner.
    if (!(await context.lease.confirm(signal))) {
      memory.close(error);
      // Until the abort, because this process must not return the turn to the queue.
      return untilAborted(signal);
    }
    // Other turns need the slot.
    if (!hasClaimed && row.attemptsWithoutProgress > context.maxAttemptsWithoutProgress) throw error;
    return {
      // An outage may be long, and must not use up all attempts.
      isCounted: !isPaced && (hasClaimed || !isOutage(error)),
      failures: isPaced ? failures : failures + 1,
      delayMs: isPaced ? 0 : retryDelayMs(failures, isExpected),
    };
  }
}

/** The log or the store can't be reached. */
function isOutage(error: unknown): boolean {
  return isLogError(error, "UNAVAILABLE") || isStoreError(error, "UNAVAILABLE", "BUSY");
}

/** The log or the journal refused a write, because another worker has the session. */
function reportFenced({ reportSecurityEvent }: EngineContext, ref: SessionRef, error: unknown): void {
  const reason = isLogError(error, "FENCED") ? "log" : isStoreError(error, "FENCED") ? "journal" : null;
  if (reason !== null)
    reportSecurityEvent({ type: "writer_fenced", reason, tenant: ref.tenant, subject: ref.session });
}

/** Doesn't count an attempt that a shutdown ended: a turn may wait for a user across many deploys. */
async function forgiveAttempt(context: EngineContext, row: RunningTurn): Promise<void> {
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
  return isStoreError(error, "FENCED", "CONFLICT", "UNAVAILABLE", "BUSY", "NOT_FOUND");
}

async function finishAttempt(attempt: TurnAttempt, turn: CurrentTurn): Promise<void> {
  const { context, bodies, activeTurns, signal } = turn;
  const handOver = (): void => attempt.handOver(signal.reason, context.shutdownGraceMs);
  if (signal.aborted) handOver();
  signal.addEventListener("abort", handOver, { once: true });
  const drain = (): void => attempt.drainGate.drain();
  if (context.draining.aborted) drain();
  context.draining.addEventListener("abort", drain, { once: true });
  activeTurns.add(attempt);
  try {
    const body = bodies().byName.get(attempt.turn.agent);
    const end = attempt.fromJournal(OUTCOME_KEY) ?? (await runOrFail(attempt, body));
    await finishTurn(attempt, body, end);
  } finally {
    attempt.branches.close();
    // Another attempt follows an error. It runs no tool again whose outcome is only in memory.
    if (context.lease.isFresh()) await attempt.commitDeferred().catch(() => undefined);
    signal.removeEventListener("abort", handOver);
    context.draining.removeEventListener("abort", drain);
    activeTurns.delete(attempt);
    attempt.writer.close();
    attempt.abort(new RestartAttempt("the attempt is over"));
  }
}

async function runOrFail(attempt: TurnAttempt, body: TurnBody | undefined): Promise<TurnOutcome> {
  const outcome = outcomeOf(attempt.turn);
  if (outcome !== null) return outcome;
  const { context } = attempt;
  let end: TurnOutcome;
  try {
    await work(attempt, body);
    return { reason: completionReason(attempt.turn) };
  } catch (error) {
    const reason: unknown = attempt.signal.aborted ? attempt.signal.reason : error;
    if (reason instanceof TurnParked) throw reason;
    const known = outcomeFor(reason, attempt.strings) ?? body?.outcomeFor(reason, attempt) ?? null;
    if (known === null && canRetryAttempt(reason, attempt)) throw reason;
    attempt.memory.close(reason);
    if (!EXPECTED.some((type) => reason instanceof type))
      context.onError(reason, { during: `turn ${attempt.row.turn}` });
    end = known ?? failureFor(reason, attempt.strings);
  }
  await attempt.commitLastStep();
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
  return isEngineError(error, "LEFT");
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

/** A run that makes a request, such as a form, makes no further step, and neither do its parent runs. */
function completionReason(turn: Turn): "end_turn" | "requires_interaction" {
  return listRequests(turn).length > 0 ? "requires_interaction" : "end_turn";
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

async function work(attempt: TurnAttempt, body: TurnBody | undefined): Promise<void> {
  const { context, row, turn, writer } = attempt;
  if (mainRun(turn) === undefined)
    await writer.write({ type: "run.start", run: MAIN_RUN, agent: turn.agent });
  if (row.stop !== null) throw new StopRequested(row.stop.by);
  if (row.deaths >= MAX_DEATHS) throw new TurnCrashed(row.deaths);
  if (row.attemptsWithoutProgress > context.maxAttemptsWithoutProgress)
    throw new Error(`the turn made no progress in ${row.attemptsWithoutProgress} attempts in a row`);
  if (body === undefined) throw new EngineError("UNKNOWN_AGENT", `the agent ${turn.agent}`);
  const left = body.timeoutMs - attempt.ageMs + waitedMs(turn, context.storeClock.now());
  const limit = { limit: "seconds", value: Math.round(body.timeoutMs / 1000) } as const;
  if (left <= 0) throw new LimitReached(limit);
  attempt.setDeadline(left, () => new LimitReached(limit));
  try {
    await announceLoss(attempt);
    await body.run(attempt);
  } finally {
    attempt.stopClock();
  }
}

/**
 * Ends a turn: writes closing events until nothing is open. Then one commit archives the turn, counts its usage and
 * lets the next turn start. A later attempt can repeat all of it: it finds the last step in the events.
 */
async function finishTurn(attempt: TurnAttempt, body: TurnBody | undefined, end: TurnOutcome): Promise<void> {
  const { context, writer, row, ref, usage, ageMs: durationMs } = attempt;
  recoverEnd(attempt, body);
  const closing = {
    usage: usage.total.usage,
    durationMs,
    runUsage: usage.byRun,
    stoppedText: attempt.strings.stopped,
    thinkingLabel: attempt.strings.thinkingLabel,
  };
  await withdrawPending(attempt);
  await commitRequests(attempt);
  await attempt.commitHiddenOutcomes();
  await writer.writeAll((turn) => nextClosingEvents(turn, end, closing));
  let next = "over" as EndReceipt;
  const archived = await attempt.archiveEnd(async (tx) => {
    let turns = 1;
    // A turn that called no model still counts as one turn.
    const used = usage.byModel.size > 0 ? usage.byModel : new Map([[attempt.turn.agent, NOTHING_SPENT]]);
    for (const [model, { usage: tokens, cost }] of used) {
      const key = `turn/${row.turn}/${model}`;
      const { user, apiKey } = row;
      await tx.usage.add(ref.tenant, { ...tokens, key, user, apiKey, model, turns, cost });
      // Count the turn once, even if it used several models.
      turns = 0;
    }
    await enqueueTurnEvent(tx, ref, row.turn, end);
    await attempt.closeJournal(tx);
    if (row.deaths >= MAX_DEATHS) await tx.queue.bury(ref, row.turn);
    const { epoch } = attempt;
    next = await tx.queue.end(ref, row.turn, { epoch, executor: context.executor });
  });
  if (typeof next === "object") context.startNext(next.queuedFor);
  // Not awaited: the next turn must not wait for a slow Redis.
  context.logRetention
    .settle(ref, archived)
    .catch((error: unknown) => context.onError(error, { during: `turn ${row.turn}` }));
}

/**
 * Announces in the first turn after a loss that the session has lost events, so that clients that connect later see it
 * too. The block is journaled: it is written once, and a takeover keeps it.
 */
async function announceLoss(attempt: TurnAttempt): Promise<void> {
  if (!attempt.isFirstAfterLoss || attempt.fromJournal(LOSS_KEY) !== undefined) return;
  const { writer, strings } = attempt;
  const place = await writer.start({ type: "text.start", run: MAIN_RUN, part: true });
  await writer.write({ type: "text.delta", ...place, text: strings.historyLost });
  await writer.write({ type: "text.end", ...place, final: false });
  await attempt.commitStep(LOSS_KEY, { blocks: [place.block] });
}
