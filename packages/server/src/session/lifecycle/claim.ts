/**
 * Taking a session over: an epoch from the store, then the log under that epoch. The store gives no number twice
 * and the log takes no lower one, so that the claim holds although either may have lost its newest state.
 */
import type { Cursor } from "@turnstream/protocol";
import type { EventDraft } from "@turnstream/protocol/writer";
import { isLogError, LogError } from "../../log/errors.ts";
import type { Claim } from "../../log/log.ts";
import { StoreError } from "../../store/errors.ts";
import type { SessionRef } from "../../store/refs.ts";
import { retry } from "../../util/retry.ts";
import type { Backend } from "../backend.ts";

export interface ClaimRequest {
  /** Which process claims, and why: for people who look into what happened. */
  readonly by: string;
  readonly reason: string;
  /**
   * The first event of the epoch: `session.start`, `turn.start` or `turn.takeover`. One that depends on what is there is
   * made once the epoch is given out, when nobody before can commit anything any more; and made again when the writer
   * before has written meanwhile.
   */
  readonly event: EventDraft | (() => Promise<FirstEvent>);
  /** Only if nobody else takes it over meanwhile: see `EpochClaim.ifEpoch`. */
  readonly ifEpoch?: number;
}

export interface FirstEvent {
  readonly event: EventDraft;
  /** What it builds on: see `Claim.last`. */
  readonly last: Cursor;
}

export interface Claimed {
  readonly epoch: number;
  /** The name under which the new writer appends. */
  readonly writer: string;
  readonly cursor: Cursor;
}

const TIMEOUT_MS = 20_000;
const RETRY_DELAY_MS = 50;
/** How often others may write between reading and claiming. After that it is claimed all the same. */
const MAX_MOVES = 20;

/** Throws OUTBID when somebody else was quicker, and NOT_FOUND when the session is gone. */
export async function claimSession(
  backend: Backend,
  ref: SessionRef,
  request: ClaimRequest,
): Promise<Claimed> {
  const { store, log } = backend;
  const { by, reason } = request;
  const deadline = performance.now() + TIMEOUT_MS;
  let { ifEpoch } = request;
  while (true) {
    const seen = (await log.head(ref.session))?.epoch ?? 0;
    const { epoch, archived } = await store.epochs.next(ref, {
      seen,
      by,
      reason,
      ...(ifEpoch === undefined ? {} : { ifEpoch }),
    });
    if (ifEpoch !== undefined) ifEpoch = epoch;
    const writer = `${by}.${epoch}`;
    const seq = await claimAfter(
      backend,
      ref.session,
      request,
      { epoch, writer, archivedUpTo: archived },
      deadline,
    );
    if (seq === null) continue;
    await confirm(backend, ref, epoch);
    return { epoch, writer, cursor: `${epoch}-${seq}` };
  }
}

async function claimAfter(
  backend: Backend,
  session: string,
  { event }: ClaimRequest,
  claim: Omit<Claim, "event" | "last">,
  deadline: number,
): Promise<number | null> {
  if (typeof event !== "function") return claimLog(backend, session, { ...claim, event }, deadline);
  for (let moves = 0; ; moves++) {
    const first = await event();
    try {
      return await claimLog(backend, session, { ...claim, ...first }, deadline);
    } catch (error) {
      if (!isLogError(error, "MOVED")) throw error;
      if (moves === MAX_MOVES) return claimLog(backend, session, { ...claim, event: first.event }, deadline);
    }
  }
}

/** The claim of a session in which nobody works: so that a message, a title or a late payment can be told. */
export function claimIdleSession(backend: Backend, ref: SessionRef, by: string): Promise<Claimed> {
  const event = { type: "turn.takeover", turn: null, blocks: [], groups: [], runs: [] } as const;
  return claimSession(backend, ref, { by, reason: "idle", event });
}

/**
 * @returns the seq of the claim, or null when it did not happen, or was lost with the log meanwhile. It must not be
 * made again then: what is archived may have moved on, and the same positions would be given out twice.
 */
async function claimLog(
  { log }: Backend,
  session: string,
  claim: Claim,
  deadline: number,
): Promise<number | null> {
  const attemptClaim = async (attempt: number): Promise<number | null> => {
    const isRetry = attempt > 1;
    try {
      return (await log.claim(session, { ...claim, isRetry })).last;
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

/** Between the epoch and the claim, the session may have been erased or taken over, and the log have lost entries. */
async function confirm({ store, log }: Backend, ref: SessionRef, epoch: number): Promise<void> {
  const session = await store.sessions.find(ref);
  if (session === null) {
    await log.remove(ref.session);
    throw new StoreError("NOT_FOUND", `session ${ref.session}`);
  }
  if (session.epoch > epoch) throw new LogError("OUTBID", { epoch: session.epoch });
  await store.outbox.reopen(ref);
}
