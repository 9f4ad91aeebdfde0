/**
 * Brings what is committed to the log: the writer itself right after its commit, or a relay if that one died.
 * Both append under the row's key and look back first, so that the event is in the log once, whoever dies in
 * between. Never commits anything but that a row is delivered.
 */
import type { Cursor } from "@turnstream/protocol";
import { isLogError } from "../log/errors.ts";
import type { Log } from "../log/log.ts";
import { isStoreError } from "../store/errors.ts";
import type { Delivered, DeliveryQuery, NewOutboxRow, OutboxRow } from "../store/outbox.ts";
import type { Ref } from "../store/refs.ts";
import type { Parts } from "./parts.ts";

/** Marks appends that come from the outbox, so that archiving them can mark their rows. */
const PREFIX = "o/";

/** The key of the outbox row that an append came from, if it came from one. */
export function outboxKeyOf(appendKey: string): string | null {
  if (!appendKey.startsWith(PREFIX)) return null;
  return appendKey.slice(PREFIX.length, appendKey.lastIndexOf(":"));
}

/**
 * For the one who has just committed the row. What can't be delivered now is left to a relay; never throws for
 * the log's sake, because the commit stands.
 * @returns the event's position, or null when it was left
 */
export async function deliverCommitted(
  { store, log }: Parts,
  ref: Ref,
  row: NewOutboxRow,
): Promise<Cursor | null> {
  try {
    const cursor = await appendRow(log, ref.session, row.key, row.draft, row.since);
    await store.outbox.delivered(ref, row.key, cursor);
    return cursor;
  } catch (error) {
    if (isLogError(error)) return null;
    throw error;
  }
}

export interface RelayOptions extends Partial<DeliveryQuery> {
  /** Makes a log that nobody may append to writable again, if that is right. Its rows follow in a later round. */
  readonly claim?: (ref: Ref) => Promise<unknown>;
}

/** One round of delivering rows that their writers have left. */
export async function relayOutbox({ store, log }: Parts, options: RelayOptions = {}): Promise<Delivered> {
  const { limit = 100, olderThanMs = 1_000, claim } = options;
  const unclaimed = new Map<string, Ref>();
  const result = await store.outbox.deliver({ limit, olderThanMs }, async (row) => {
    try {
      return await appendLocked(log, row);
    } catch (error) {
      if (isLogError(error, "UNCLAIMED"))
        unclaimed.set(row.session, { tenant: row.tenant, session: row.session });
      throw error;
    }
  });
  // Only now: a claim waits for whoever holds the session, and an archiver or eraser may wait for the rows held above.
  if (claim !== undefined) for (const ref of unclaimed.values()) await claimQuietly(claim, ref);
  return result;
}

/** Somebody else was quicker, or the session is gone: the next round will tell. */
async function claimQuietly(claim: (ref: Ref) => Promise<unknown>, ref: Ref): Promise<void> {
  try {
    await claim(ref);
  } catch (error) {
    if (!isLogError(error) && !isStoreError(error)) throw error;
  }
}

/**
 * For a row that is locked and undelivered: had its event been trimmed from the log, then it would have been
 * archived before, and archiving marks the row. So it is enough to look through what the log still holds.
 */
async function appendLocked(log: Log, { session, key, draft, since }: OutboxRow): Promise<Cursor> {
  try {
    return await appendRow(log, session, key, draft, since ?? undefined);
  } catch (error) {
    if (!isLogError(error, "UNSURE")) throw error;
    return appendRow(log, session, key, draft, undefined);
  }
}

async function appendRow(
  log: Log,
  session: string,
  key: string,
  draft: OutboxRow["draft"],
  since: Cursor | undefined,
): Promise<Cursor> {
  const batch = { writer: `${PREFIX}${key}`, counter: 0, events: [draft], repeat: true };
  const { epoch, last } = await log.append(session, since === undefined ? batch : { ...batch, since });
  return `${epoch}-${last}`;
}
