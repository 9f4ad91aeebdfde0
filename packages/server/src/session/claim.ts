/**
 * Taking a session over: an epoch from the store, then the log under that epoch. The store gives no number twice
 * and the log takes no lower one, so that the claim holds although either may have lost its newest state.
 */
import type { Cursor, EventDraft } from "@turnstream/protocol";
import { isLogError, LogError } from "../log/errors.ts";
import type { Claim } from "../log/log.ts";
import { StoreError } from "../store/errors.ts";
import type { Ref } from "../store/refs.ts";
import type { Parts } from "./parts.ts";

export interface ClaimRequest {
  /** Which process claims, and why: for people who look into what happened. */
  readonly by: string;
  readonly reason: string;
  /** The first event of the epoch: `session.start`, `turn.start` or `turn.takeover`. */
  readonly event: EventDraft;
}

export interface Claimed {
  readonly epoch: number;
  /** The name under which the new writer appends. */
  readonly writer: string;
  readonly cursor: Cursor;
}

const PATIENCE_MS = 20_000;
const RETRY_MS = 50;

/** Throws OUTBID when somebody else was quicker, and NOT_FOUND when the session is gone. */
export async function claimSession(parts: Parts, ref: Ref, request: ClaimRequest): Promise<Claimed> {
  const { store, log } = parts;
  const { by, reason, event } = request;
  const deadline = performance.now() + PATIENCE_MS;
  while (true) {
    const seen = (await log.head(ref.session))?.epoch ?? 0;
    const { epoch, archived } = await store.epochs.next(ref, { seen, by, reason });
    const writer = `${by}.${epoch}`;
    const seq = await claimLog(parts, ref.session, { epoch, writer, event, floor: archived }, deadline);
    if (seq === null) continue;
    await confirm(parts, ref, epoch);
    return { epoch, writer, cursor: `${epoch}-${seq}` };
  }
}

/** The claim of a session in which nobody works: so that a message, a title or a late payment can be told. */
export function claimIdle(parts: Parts, ref: Ref, by: string): Promise<Claimed> {
  const event = { type: "turn.takeover", turn: null, blocks: [], groups: [], runs: [] } as const;
  return claimSession(parts, ref, { by, reason: "idle", event });
}

/**
 * @returns the seq of the claim, or null when it did not happen, or was lost with the log meanwhile. It must not be
 * made again then: what is archived may have moved on, and the same positions would be given out twice.
 */
async function claimLog(
  { log }: Parts,
  session: string,
  claim: Claim,
  deadline: number,
): Promise<number | null> {
  for (let repeat = false; ; repeat = true) {
    try {
      return (await log.claim(session, { ...claim, repeat })).last;
    } catch (error) {
      const isOurs = isLogError(error, "OUTBID") && repeat && (error.epoch ?? 0) <= claim.epoch;
      if (performance.now() > deadline) throw error;
      if (isOurs) return null;
      if (!isLogError(error, "UNAVAILABLE")) throw error;
      await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
    }
  }
}

/** Between the epoch and the claim, the session may have been erased or taken over, and the log have lost entries. */
async function confirm({ store, log }: Parts, ref: Ref, epoch: number): Promise<void> {
  const session = await store.sessions.find(ref);
  if (session === null) {
    await log.remove(ref.session);
    throw new StoreError("NOT_FOUND", `session ${ref.session}`);
  }
  if (session.epoch > epoch) throw new LogError("OUTBID", { epoch: session.epoch });
  await store.outbox.reopen(ref);
}
