/**
 * `checkOutbox` compares the committed outbox rows of a session with its archive, by content and by order. Read-only.
 */
import type { SessionEvent } from "@turnstream/protocol";
import type { EventDraft } from "@turnstream/protocol/writer";
import type { Backend, SessionRef } from "@turnstream/server";
import { readArchive } from "@turnstream/testkit/backend/read-all-events.ts";
import { findWriteKey } from "./durable-writes.ts";

export interface OutboxFindings {
  committed: number;
  missing: number;
  twice: number;
  /** In the archive without having been committed. */
  foreign: number;
  otherContent: number;
  /** Appended by a relay before an event that was committed earlier. */
  outOfOrder: number;
}

/** @param drafts the session's outbox rows in commit order */
export async function checkOutbox(
  { store }: Backend,
  ref: SessionRef,
  drafts: ReadonlyMap<string, EventDraft>,
  brought: ReadonlySet<string>,
): Promise<OutboxFindings> {
  const events = await readArchive(store, ref);
  const places = new Map<string, number>();
  const findings = {
    committed: drafts.size,
    missing: 0,
    twice: 0,
    foreign: 0,
    otherContent: 0,
    outOfOrder: 0,
  };
  for (const [at, event] of events.entries()) {
    const key = findWriteKey(event);
    if (key === null) continue;
    const draft = drafts.get(key);
    if (places.has(key)) findings.twice++;
    else if (draft === undefined) findings.foreign++;
    else if (!isSame(event, draft)) findings.otherContent++;
    places.set(key, at);
  }
  let latest = -1;
  for (const key of drafts.keys()) {
    const place = places.get(key);
    if (place === undefined) findings.missing++;
    // A relay takes a row only after every earlier commit is in the log.
    else if (brought.has(key) && place < latest) findings.outOfOrder++;
    latest = Math.max(latest, place ?? -1);
  }
  return findings;
}

function isSame(
  { v: _v, id: _id, at: _at, first: _first, ...event }: SessionEvent,
  draft: EventDraft,
): boolean {
  return JSON.stringify(event) === JSON.stringify(draft);
}
