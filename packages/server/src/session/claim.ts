/**
 * Taking a session over: an epoch from the store, then the log under that epoch. The store gives no number twice
 * and the log takes no lower one, so that the claim holds although either may have lost its newest state.
 */
import type { Cursor, EventDraft } from "@turnstream/protocol";
import { isLogError } from "../log/errors.ts";
import type { Appended, Claim } from "../log/log.ts";
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

/** Throws OUTBID when somebody else was quicker: they have the session now. */
export async function claimSession({ store, log }: Parts, ref: Ref, request: ClaimRequest): Promise<Claimed> {
  const { by, reason, event } = request;
  const seen = (await log.head(ref.session))?.epoch ?? 0;
  const { epoch, archived } = await store.epochs.next(ref, { seen, by, reason });
  const writer = `${by}.${epoch}`;
  const { last } = await claimPatiently({ log }, ref.session, { epoch, writer, event, floor: archived });
  return { epoch, writer, cursor: `${epoch}-${last}` };
}

/** The claim of a session in which nobody works: so that a message, a title or a late payment can be told. */
export function claimIdle(parts: Parts, ref: Ref, by: string): Promise<Claimed> {
  const event = { type: "turn.takeover", turn: null, blocks: [], groups: [], runs: [] } as const;
  return claimSession(parts, ref, { by, reason: "idle", event });
}

/** A claim that may have happened is repeated as it was; the log knows it again. */
async function claimPatiently({ log }: Pick<Parts, "log">, session: string, claim: Claim): Promise<Appended> {
  const started = performance.now();
  while (true) {
    try {
      return await log.claim(session, claim);
    } catch (error) {
      const isOver = performance.now() - started > PATIENCE_MS;
      if (!isLogError(error, "UNAVAILABLE") || isOver) throw error;
      await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
    }
  }
}
