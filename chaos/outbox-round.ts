/**
 * The processes beside the one that is killed: relays that race for what it has left, and an archiver that trims
 * behind them. They go on over cut connections. Each notes what it did, for the figures.
 */
import { setTimeout as sleep } from "node:timers/promises";
import type { Backend, SessionRef } from "@turnstream/server";
import { archiveSession, relayOutbox, trimLog } from "@turnstream/server/internal";
import { isLogError, isStoreError, type Log } from "@turnstream/server/ports";

/** Rows younger than this are left to their writers. */
const YOUNG_MS = 20;
const PAUSE_MS = 5;

export interface Notes {
  /** Keys that a relay has appended, and those that it found in the log. */
  readonly brought: Set<string>;
  readonly found: Set<string>;
  trims: number;
  /** Times that somebody could not go on at once. */
  interruptions: number;
}

export function newNotes(): Notes {
  return { brought: new Set(), found: new Set(), trims: 0, interruptions: 0 };
}

export async function relayOn({ store, log }: Backend, notes: Notes, isOver: () => boolean): Promise<void> {
  const watched: Log = {
    ...log,
    async append(session, batch) {
      const appended = await log.append(session, batch);
      // A relay's writer is "o/" and the key of the row.
      (appended.repeated ? notes.found : notes.brought).add(batch.writer.slice(2));
      return appended;
    },
  };
  while (!isOver()) {
    await tolerateOutages(notes, () =>
      relayOutbox({ store, log: watched }, { olderThanMs: YOUNG_MS, leaseMs: 300 }),
    );
    await sleep(PAUSE_MS);
  }
}

export async function archiveOn(
  backend: Backend,
  refs: readonly SessionRef[],
  notes: Notes,
  isOver: () => boolean,
): Promise<void> {
  while (!isOver()) {
    for (const ref of refs) {
      await tolerateOutages(notes, async () => {
        await archiveSession(backend, ref, { step: 10 });
        if (await trimLog(backend, ref)) notes.trims++;
      });
    }
    await sleep(PAUSE_MS);
  }
}

/** A connection was cut, or two stood in each other's way: what the product says may happen. */
async function tolerateOutages(notes: Notes, work: () => Promise<unknown>): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (!isLogError(error, "UNAVAILABLE") && !isStoreError(error, "BUSY")) throw error;
    notes.interruptions++;
  }
}
