/**
 * `claimSession` takes over a session: it gets a new epoch from the store and claims the log under it.
 *
 * Invariant: the store never returns an epoch twice, and the log accepts no lower epoch. The claim is safe even if one
 * of them lost its newest state. If the archive is behind a trimmed log, the log restarts after the archive. The loss is
 * reported, and stored with the session, so that the next turn announces it.
 */
import { comparePositions, type Cursor, parseCursor } from "@turnstream/protocol";
import type { EventDraft } from "@turnstream/protocol/writer";
import { isLogError, LogError } from "../../log/errors.ts";
import type { AppendResult, Claim, LogHead } from "../../log/log.ts";
import { StoreError } from "../../store/errors.ts";
import type { Session } from "../../store/ports/sessions.ts";
import type { SessionRef } from "../../util/refs.ts";
import { retry } from "../../util/retry.ts";
import type { Backend } from "../backend.ts";
import { defined } from "../../util/defined.ts";

export interface ClaimRequest {
  /** The process that claims, and the reason, for operators. */
  readonly by: string;
  readonly reason: string;
  /**
   * The first event of the epoch: `session.start`, `turn.start` or `turn.takeover`. A function is called after the
   * epoch is allocated, when the previous writer can't commit any more. It is called again if the previous writer has
   * appended since.
   */
  readonly event: EventDraft | ((session: Session) => Promise<FirstEvent>);
  /** Returns the epoch of the claimed state, to claim only if no other process has taken over: see `EpochClaim.ifEpoch`. */
  readonly ifEpoch?: () => Promise<number>;
  /** The epoch to claim under first. Default: a new one. */
  readonly taken?: TakenEpoch | null;
}

/** A new epoch whose log is not claimed yet. */
export interface TakenEpoch {
  /** The session with the epoch. */
  readonly session: Session;
  /** The head of the log before the epoch was taken. */
  readonly head: LogHead | null;
}

export interface FirstEvent {
  readonly event: EventDraft;
  /** The cursor that the event builds on: see `Claim.last`. */
  readonly last: Cursor;
}

export interface Claimed {
  readonly epoch: number;
  /** The name under which the new writer appends. */
  readonly writer: string;
  readonly cursor: Cursor;
  /** The seq after which events are lost; null if the claim found no loss. */
  readonly lostAfter: number | null;
}

const TIMEOUT_MS = 20_000;
const RETRY_DELAY_MS = 50;
/** How often the log may change between reading and claiming. After that it is claimed without this check. */
const MAX_MOVES = 20;

/** @throws LogError OUTBID if another process was faster, or StoreError NOT_FOUND if the session was erased */
export async function claimSession(
  backend: Backend,
  ref: SessionRef,
  request: ClaimRequest,
): Promise<Claimed> {
  const deadline = performance.now() + TIMEOUT_MS;
  let taken = request.taken ?? (await takeEpoch(backend, ref, request));
  for (;;) {
    const { head, session } = taken;
    const { epoch, archived } = session;
    const writer = `${request.by}.${epoch}`;
    const claim = { epoch, writer, archivedUpTo: archived };
    const result = await claimAfter(backend, session, request.event, claim, deadline);
    if (result === null) {
      const ifEpoch = request.ifEpoch && (() => Promise.resolve(epoch));
      taken = await takeEpoch(backend, ref, { ...request, ...(ifEpoch && { ifEpoch }) });
      continue;
    }
    const isLoss = head !== null && isArchiveBehind(head, archived);
    const { last: seq, setAside = null } = result;
    if (isLoss) backend.onLoss?.({ ...ref, archived, base: head.base, last: head.last, setAside });
    const lostAfter = isLoss ? (parseCursor(archived)?.seq ?? 0) : null;
    await confirm(backend, ref, epoch, lostAfter);
    return { epoch, writer, cursor: `${epoch}-${seq}`, lostAfter };
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

async function takeEpoch(
  { store, log }: Backend,
  ref: SessionRef,
  { by, reason, ifEpoch }: ClaimRequest,
): Promise<TakenEpoch> {
  const [head, expected] = await Promise.all([log.head(ref), ifEpoch?.()]);
  const seen = head?.epoch ?? 0;
  const session = await store.epochs.next(ref, {
    seen,
    by,
    reason,
    ...defined({ ifEpoch: expected }),
  });
  return { session, head };
}

async function claimAfter(
  backend: Backend,
  session: Session,
  event: ClaimRequest["event"],
  claim: Omit<Claim, "event" | "last">,
  deadline: number,
): Promise<AppendResult | null> {
  const ref = { tenant: session.tenant, session: session.id };
  if (typeof event !== "function") return claimLog(backend, ref, { ...claim, event }, deadline);
  for (let moves = 0; ; moves++) {
    const first = await event(session);
    try {
      return await claimLog(backend, ref, { ...claim, ...first }, deadline);
    } catch (error) {
      if (!isLogError(error, "MOVED")) throw error;
      if (moves === MAX_MOVES) return claimLog(backend, ref, { ...claim, event: first.event }, deadline);
    }
  }
}

/** Claims a session without a running turn, so that a message, a title or a late payment can be appended. */
export function claimIdleSession(backend: Backend, ref: SessionRef, by: string): Promise<Claimed> {
  const event = { type: "turn.takeover", turn: null, blocks: [], groups: [], runs: [] } as const;
  return claimSession(backend, ref, { by, reason: "idle", event });
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
