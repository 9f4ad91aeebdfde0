/**
 * Compares what a session's outbox says was committed with what its archive holds in the end, by content and by
 * order. Reads only.
 */
import { type SessionEvent, type EventDraft, parseCursor } from "@turnstream/protocol";
import type { Backend, SessionRef } from "@turnstream/server";
import { keyOfEvent } from "./durable-writes.ts";

export interface OutboxFindings {
  committed: number;
  missing: number;
  twice: number;
  /** There without having been committed. */
  foreign: number;
  otherContent: number;
  /** Brought by a relay before something that was committed earlier. */
  outOfOrder: number;
}

const PAGE = 1_000;

/** @param told the session's outbox rows in the order of their commits */
export async function checkOutbox(
  { store }: Backend,
  ref: SessionRef,
  told: ReadonlyMap<string, EventDraft>,
  brought: ReadonlySet<string>,
): Promise<OutboxFindings> {
  const events: SessionEvent[] = [];
  for (let after = 0; ; after = parseCursor(events.at(-1)?.id ?? "0-0")?.seq ?? 0) {
    const page = await store.archive.events(ref, { after, limit: PAGE });
    if (page.length === 0) break;
    events.push(...page);
  }
  const places = new Map<string, number>();
  const findings = { committed: told.size, missing: 0, twice: 0, foreign: 0, otherContent: 0, outOfOrder: 0 };
  for (const [at, event] of events.entries()) {
    const key = keyOfEvent(event);
    if (key === null) continue;
    const draft = told.get(key);
    if (places.has(key)) findings.twice++;
    else if (draft === undefined) findings.foreign++;
    else if (!isSame(event, draft)) findings.otherContent++;
    places.set(key, at);
  }
  let latest = -1;
  for (const key of told.keys()) {
    const place = places.get(key);
    if (place === undefined) findings.missing++;
    // A relay takes a row only once everything committed before it is in the log.
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
