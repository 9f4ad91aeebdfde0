/**
 * This program reads sessions as a server does: all events, the history and the archived turns. It runs from this
 * repository and from a copy with a raised version.
 */
import { foldAll, type Snapshot, snapshot, type TurnSnapshot } from "@turnstream/protocol";
import { readHistory, type SessionRef } from "@turnstream/server";
import { archiveSession } from "@turnstream/server/internal";
import { openBackend } from "@turnstream/testkit/backend/open-backend.ts";
import { readAllEvents } from "@turnstream/testkit/backend/read-all-events.ts";
import { connectParent, readSettings } from "@turnstream/testkit/processes/parent-process.ts";

export interface ReadRequest {
  readonly ref: SessionRef;
  /** Archives the rest of the log first. */
  readonly archives: boolean;
}

export interface SessionReading {
  readonly session: string;
  readonly folded: Snapshot;
  readonly history: Snapshot;
  /** Oldest first. */
  readonly turns: readonly TurnSnapshot[];
}

export type ReaderMessage = { readonly ready: true } | SessionReading;

const TURNS = 50;
const settings = readSettings() as { readonly databaseUrl: string; readonly redisUrl: string };
const parent = connectParent<ReadRequest, ReaderMessage>();
const backend = await openBackend({ ...settings, database: { max: 4 } });

async function read({ ref, archives }: ReadRequest): Promise<SessionReading> {
  if (archives) await archiveSession(backend, ref);
  const folded = snapshot(foldAll(await readAllEvents(backend, ref)));
  const { state } = await readHistory(backend, ref, { turns: TURNS });
  const turns = await backend.store.turns.list(ref, { limit: TURNS });
  return {
    session: ref.session,
    folded,
    history: snapshot(state),
    turns: turns.map((turn) => turn.snapshot).toReversed(),
  };
}

parent.onMessage((request) => void read(request).then((reading) => parent.send(reading)));
parent.send({ ready: true });
