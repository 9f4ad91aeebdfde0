/**
 * Brings what is committed to the log: the writer itself right after its commit, or a relay if that one died.
 * Both bring a session's rows in their order, append under the row's key and look back first, so that each event is
 * in the log once, whoever does it and whoever dies in between. Holds no lock while it appends.
 */
import type { Cursor } from "@turnstream/protocol";
import { isLogError, LogError } from "../../log/errors.ts";
import { isStoreError } from "../../store/errors.ts";
import type { OutboxRow, TakeQuery } from "../../store/ports/archive.ts";
import type { SessionRef } from "../../store/refs.ts";
import type { Backend } from "../backend.ts";

/** Marks appends that come from the outbox, so that archiving them can mark their rows. */
const PREFIX = "o/";
const MAX_ROWS = 100;
const MAX_LOOKS = 5;

/** The key of the outbox row that an append came from, if it came from one. */
export function outboxKeyOf(appendKey: string): string | null {
  if (!appendKey.startsWith(PREFIX)) return null;
  return appendKey.slice(PREFIX.length, appendKey.lastIndexOf(":"));
}

export interface PublishResult {
  /** How many events are in the log now that were not marked before. */
  readonly delivered: number;
  /** Why the rest is not; null when nothing is left. */
  readonly failure: LogError | null;
}

/**
 * For whoever has just committed rows of a session: brings them, and those before them. What can't be delivered now
 * is left to a relay. Never throws for the log's sake, because the commit stands.
 */
export async function publishCommitted(backend: Backend, ref: SessionRef): Promise<PublishResult> {
  const { store } = backend;
  let delivered = 0;
  for (const row of await store.outbox.undelivered(ref, MAX_ROWS)) {
    try {
      const cursor = await bring(backend, row);
      if (cursor !== null && (await store.outbox.delivered(ref, row.key, cursor))) delivered++;
    } catch (error) {
      if (!isLogError(error)) throw error;
      return { delivered, failure: error };
    }
  }
  return { delivered, failure: null };
}

export interface RelayOptions extends Partial<TakeQuery> {
  /** Makes a log that nobody may append to writable again, if that is right. Its rows follow in a later round. */
  readonly claim?: (ref: SessionRef) => Promise<unknown>;
}

export interface RelayResult {
  readonly delivered: number;
  /** How many sessions have to wait. */
  readonly postponed: number;
}

/** One round of delivering what writers have left. */
export async function relayOutbox(backend: Backend, options: RelayOptions = {}): Promise<RelayResult> {
  const { limit = 100, olderThanMs = 1_000, leaseMs = 10_000, claim } = options;
  let [delivered, postponed] = [0, 0];
  for (const ref of await backend.store.outbox.take({ limit, olderThanMs, leaseMs })) {
    const result = await publishCommitted(backend, ref);
    delivered += result.delivered;
    if (result.failure === null) continue;
    postponed++;
    await backend.store.outbox.postpone(ref);
    if (claim !== undefined && isLogError(result.failure, "UNCLAIMED")) await claimQuietly(claim, ref);
  }
  return { delivered, postponed };
}

/** Somebody else was quicker, or the session is gone: the next round will tell. */
async function claimQuietly(claim: (ref: SessionRef) => Promise<unknown>, ref: SessionRef): Promise<void> {
  try {
    await claim(ref);
  } catch (error) {
    if (!isLogError(error) && !isStoreError(error)) throw error;
  }
}

/**
 * @returns its position, or null when it is archived meanwhile.
 * When the log no longer reaches back to where the event may be, the row tells: had it been in what was trimmed, then
 * archiving would have marked the row before. If it is unmarked, looking through what is still there is enough.
 */
async function bring({ store, log }: Backend, row: OutboxRow): Promise<Cursor | null> {
  const { session, key, draft } = row;
  let { since } = row;
  for (let looks = 0; looks < MAX_LOOKS; looks++) {
    try {
      const batch = { writer: `${PREFIX}${key}`, counter: 0, events: [draft], isRetry: true, since };
      const { epoch, last } = await log.append(session, batch);
      return `${epoch}-${last}`;
    } catch (error) {
      if (!isLogError(error, "UNSURE")) throw error;
      // First where the log begins, then whether the row is unmarked: the other way round it could be both.
      const head = await log.head(session);
      if (!(await store.outbox.isUndelivered(row, key))) return null;
      since = head?.base ?? since;
    }
  }
  throw new LogError("UNSURE", { detail: "The log was trimmed again and again" });
}
