/**
 * `claimSession` takes over a session: it gets a new epoch from the store and claims the log under it.
 *
 * Invariant: the store never returns an epoch twice, and the log accepts no lower epoch. The claim is safe even if one
 * of them lost its newest state. If the archive is behind a trimmed log, the log restarts after the archive. The loss
 * is reported, and stored with the session, so that the next turn announces it.
 */
import { comparePositions, type Cursor, parseCursor } from "@turnstream/protocol";
import type { EventDraft } from "@turnstream/protocol/writer";
import { isLogError, LogError } from "../../log/errors.ts";
import type { AppendResult, Claim, LogHead } from "../../log/log.ts";
import { StoreError } from "../../store/errors.ts";
import type { SessionWithEpoch } from "../../store/sessions.ts";
import type { SessionRef } from "../../util/refs.ts";
import { retry } from "../../util/retry.ts";
import type { Backend } from "../backend.ts";

export interface ClaimRequest<First extends FirstEvent = FirstEvent> {
  /** The process that claims. It becomes a part of the writer's name. */
  readonly by: string;
  /**
   * The first event of the epoch: `session.start`, `turn.start` or `turn.takeover`. A function is called after the
   * epoch is allocated, when the previous writer can't commit any more. It is called again if the previous writer has
   * appended since.
   */
  readonly event: EventDraft | ((session: SessionWithEpoch) => Promise<First>);
  /**
   * Takes a new epoch, higher than the one in which the log was seen. It throws if the caller may not claim the
   * session.
   * @default the next epoch of the session, whoever has it
   */
  readonly takeEpoch?: (seen: number) => Promise<SessionWithEpoch>;
}

export interface FirstEvent {
  readonly event: EventDraft;
  /** The cursor that the event builds on: see `Claim.last`. */
  readonly last: Cursor;
}

export interface Claimed<First extends FirstEvent = FirstEvent> {
  readonly epoch: number;
  /** The name under which the new writer appends. */
  readonly writer: string;
  readonly cursor: Cursor;
  /** The seq after which events are lost; null if the claim found no loss. */
  readonly lostAfter: number | null;
  /** What `event` returned for the claim; null if it is no function. */
  readonly first: First | null;
}

const TIMEOUT_MS = 20_000;
const RETRY_DELAY_MS = 50;
/** How often the log may change between reading and claiming. After that it is claimed without this check. */
const MAX_MOVES = 20;

/** @throws LogError OUTBID if another process was faster, or StoreError NOT_FOUND if the session was erased */
export async function claimSession<First extends FirstEvent>(
  backend: Backend,
  ref: SessionRef,
  { by, event, takeEpoch = (seen) => backend.store.epochs.next(ref, { seen }) }: ClaimRequest<First>,
): Promise<Claimed<First>> {
  const deadline = performance.now() + TIMEOUT_MS;
  for (;;) {
    // Before the session: the archive may advance in between, and a log that starts after it would look like a loss.
    const head = await backend.log.head(ref);
    const session = await takeEpoch(head?.epoch ?? 0);
    const { epoch, archived } = session;
    const writer = `${by}.${epoch}`;
    const claim = { epoch, writer, archivedUpTo: archived };
    const { result, first } = await claimAfter(backend, session, event, claim, deadline);
    if (result === null) continue;
    const isLoss = head !== null && isArchiveBehind(head, archived);
    const { last: seq, setAside = null } = result;
    if (isLoss) backend.onLoss?.({ ...ref, archived, base: head.base, last: head.last, setAside });
    const lostAfter = isLoss ? (parseCursor(archived)?.seq ?? 0) : null;
    await confirm(backend, ref, epoch, lostAfter);
    return { epoch, writer, cursor: `${epoch}-${seq}`, lostAfter, first };
  }
}

/**
 * Returns true if the log starts after the archived position. Only archived events are trimmed, so the archive lost
 * commits. Pure.
 */
export function isArchiveBehind({ base }: Pick<LogHead, "base">, archived: Cursor): boolean {
  const [first, end] = [parseCursor(base), parseCursor(archived)];
  return first !== null && end !== null && comparePositions(end, first) < 0;
}

async function claimAfter<First extends FirstEvent>(
  backend: Backend,
  session: SessionWithEpoch,
  event: ClaimRequest<First>["event"],
  claim: Omit<Claim, "event" | "last">,
  deadline: number,
): Promise<{ readonly result: AppendResult | null; readonly first: First | null }> {
  const ref = { tenant: session.tenant, session: session.id };
  const claimWith = (rest: Pick<Claim, "event" | "last">) =>
    claimLog(backend, ref, { ...claim, ...rest }, deadline);
  if (typeof event !== "function") return { result: await claimWith({ event }), first: null };
  for (let moves = 0; ; moves++) {
    const first = await event(session);
    try {
      return { result: await claimWith({ event: first.event, last: first.last }), first };
    } catch (error) {
      if (!isLogError(error, "MOVED")) throw error;
      if (moves === MAX_MOVES) return { result: await claimWith({ event: first.event }), first };
    }
  }
}

/** The first event of an epoch in which no turn runs. */
export const IDLE = { type: "turn.takeover", turn: null, blocks: [], groups: [], runs: [] } as const;

/**
 * Claims a session without a turn, so that a message, a title or a late change can be appended.
 * @throws StoreError CONFLICT if it has a turn: the worker of the turn claims the log
 */
export function claimIdleSession(backend: Backend, ref: SessionRef, by: string): Promise<Claimed> {
  const takeEpoch = (seen: number) => backend.store.epochs.next(ref, { seen, ifIdle: true });
  return claimSession(backend, ref, { by, event: IDLE, takeEpoch });
}

/**
 * Claims the log, with retries while it is unavailable.
 * @returns the position of the claim, or null if it did not happen or was lost with the log. The caller must then take a new
 * epoch: the archive may have advanced, and the same positions would be used twice
 */
async function claimLog(
  { log }: Backend,
  ref: SessionRef,
  claim: Claim,
  deadline: number,
): Promise<AppendResult | null> {
  const attemptClaim = async (attempt: number): Promise<AppendResult | null> => {
    const isRetry = attempt > 1;
    try {
      return await log.claim(ref, { ...claim, isRetry });
    } catch (error) {
      const isOurs = isLogError(error, "OUTBID") && isRetry && (error.epoch ?? 0) <= claim.epoch;
      if (isOurs && performance.now() <= deadline) return null;
      throw error;
    }
  };
  return retry(attemptClaim, {
    isRetryable: (error) => isLogError(error, "UNAVAILABLE"),
    timeoutMs: deadline - performance.now(),
    initialDelayMs: RETRY_DELAY_MS,
  });
}

/**
 * Checks the session again: between epoch and claim it may have been erased or taken over. Also reopens outbox
 * rows, because the log may have lost entries.
 */
async function confirm(
  { store, log }: Backend,
  ref: SessionRef,
  epoch: number,
  lostAfter: number | null,
): Promise<void> {
  const newest = await store.epochs.confirm(ref, lostAfter ?? undefined);
  if (newest === null) {
    await log.remove(ref);
    throw new StoreError("NOT_FOUND", `session ${ref.session}`);
  }
  if (newest > epoch) throw new LogError("OUTBID", { epoch: newest });
}
