/**
 * `relayOn` and `archiveOn` work next to the process that is killed: relays race to publish the rows that it left, and
 * an archiver trims the log behind them. They continue after cut connections. Each records what it did, for the
 * figures.
 */
import { setTimeout as sleep } from "node:timers/promises";
import type { Backend, SessionRef } from "@turnstream/server";
import { archiveSession, relayOutbox, trimLog } from "@turnstream/server/internal";
import { isLogError, isStoreError, type Log } from "@turnstream/server/ports";

/** Relays leave rows that are younger than this to their writers. */
const YOUNG_MS = 20;
const PAUSE_MS = 5;

export interface Notes {
  /** Keys that a relay has appended, and keys that it found in the log. */
  readonly brought: Set<string>;
  readonly found: Set<string>;
  trims: number;
  /** How often a relay or archiver was interrupted by an outage. */
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
      // The writer name of a relay is "o/" and the key of the row.
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

/** Tolerates a cut connection and a conflict between two writers. Both are documented errors. */
async function tolerateOutages(notes: Notes, work: () => Promise<unknown>): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (!isLogError(error, "UNAVAILABLE") && !isStoreError(error, "BUSY")) throw error;
    notes.interruptions++;
  }
}
