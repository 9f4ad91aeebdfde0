/**
 * `forkShare` creates a session from a share: the history up to the shared position, closed, with its blobs.
 *
 * Invariant: it works on any store, and commits in one transaction. It never crosses tenants and never changes the source. It
 * copies nothing after the shared position, not even a later title.
 */
import {
  type Cursor,
  type SessionEvent,
  foldAll,
  formatCursor,
  parseCursor,
  SCHEMA_VERSION,
  START_CURSOR,
} from "@turnstream/protocol";
import { findBlobIds } from "@turnstream/protocol/writer";
import { StoreError } from "../errors.ts";
import { forkLog } from "./fork-log.ts";
import { archivedTurn } from "../archive.ts";
import type { Actor, SessionRef } from "../../util/refs.ts";
import type { Share } from "../shares.ts";
import { MAX_BATCH } from "../rules/arguments.ts";
import { type Session } from "../sessions.ts";
import type { Store } from "../store.ts";

/**
 * @param share its id, from a link that was verified
 * @throws StoreError with NOT_FOUND if the share is revoked, erased or of another tenant, with EXISTS if the id is
 *   taken.
 */
export async function forkShare(
  store: Store,
  actor: Actor,
  share: string,
  made: { readonly id: string; readonly firstEpoch?: number },
): Promise<Session> {
  const source = await findShare(store, actor, share);
  // What was shared doesn't change. The transaction must not wait for the object storage.
  const shared = await history(store, source, source.upTo);
  const staged = await store.blobs.stageCopies(
    source,
    { tenant: actor.tenant, session: made.id },
    findBlobIds(shared),
  );
  return store.transaction(async (tx) => {
    const found = await findShare(tx, actor, share);
    // Use the title at the shared position: a later one may reveal later content.
    const { title, turns } = foldAll(shared);
    const session = await tx.sessions.create(actor, {
      ...made,
      ...(title === null ? {} : { title }),
      forkedTurns: turns.last()?.number ?? 0,
    });
    const ref = { tenant: actor.tenant, session: session.id };
    const events = forkLog(shared, {
      session: session.id,
      number: session.number,
      firstEpoch: session.epoch + 1,
      at: session.createdAt,
    });
    await archiveAll(tx, ref, events);
    await tx.blobs.copy(found, ref, findBlobIds(events), staged);
    const stored = (await tx.sessions.get(actor, session.id)) ?? session;
    const subject = { session: session.id, share };
    await tx.audit.add(actor.tenant, { actor: actor.user, action: "session.forked", subject });
    return stored;
  });
}

async function findShare(store: Store, { tenant }: Actor, id: string): Promise<Share> {
  const found = await store.shares.find(id);
  if (found === null || found.tenant !== tenant) throw new StoreError("NOT_FOUND", `share ${id}`);
  return found;
}

/** Reads the archived events up to a position. A share's position was an archived one, so no merged event spans it. */
async function history(store: Store, ref: SessionRef, upTo: Cursor): Promise<SessionEvent[]> {
  const end = parseCursor(upTo)?.seq ?? 0;
  const events: SessionEvent[] = [];
  let after = 0;
  while (after < end) {
    const page = await store.archive.events(ref, { after, limit: MAX_BATCH });
    if (page.length === 0) break;
    for (const event of page) {
      const seq = parseCursor(event.id)?.seq ?? end;
      if (seq <= end) events.push(event);
      after = seq;
    }
  }
  return events;
}

async function archiveAll(tx: Store, ref: SessionRef, events: readonly SessionEvent[]): Promise<void> {
  const { turns, ...header } = foldAll(events);
  await tx.archive.write(ref, {
    from: START_CURSOR,
    to: formatCursor(header),
    epoch: header.epoch,
    events,
    turns: turns.toArray().map(archivedTurn),
    header,
    v: SCHEMA_VERSION,
  });
}
