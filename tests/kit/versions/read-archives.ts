/**
 * This program loads the recorded archives into a store in memory, reads them as the server does, and prints what it has
 * read. It runs from this repository and from a copy with a raised version.
 */
import { foldAll, SCHEMA_VERSION, type Snapshot, snapshot, type TurnSnapshot } from "@turnstream/protocol";
import { readHistory } from "@turnstream/server";
import { createMemoryLog, createMemoryStore } from "@turnstream/testing";
import { readArchive } from "../backend/read-all-events.ts";
import { loadRecordedArchive, readRecordedArchives } from "./recorded-archive.ts";

export interface ArchiveReading {
  /** The schema version of the program. */
  readonly reader: number;
  /** The schema version of the archive. */
  readonly v: number;
  readonly folded: Snapshot;
  readonly history: Snapshot;
  /** Oldest first. */
  readonly turns: readonly TurnSnapshot[];
}

const actor = { tenant: "archives", user: "reader" };
const store = createMemoryStore();
const log = createMemoryLog();
await store.tenants.create({ id: actor.tenant, name: "Archives" });
const readings: ArchiveReading[] = [];
for (const recorded of await readRecordedArchives()) {
  const ref = await loadRecordedArchive(store, actor, recorded);
  const { state } = await readHistory({ store, log }, ref, { turns: 100 });
  const turns = await store.turns.list(ref, { limit: 100 });
  readings.push({
    reader: SCHEMA_VERSION,
    v: recorded.v,
    folded: snapshot(foldAll(await readArchive(store, ref))),
    history: snapshot(state),
    turns: turns.map((turn) => turn.snapshot).toReversed(),
  });
}
console.log(JSON.stringify(readings));
await log.close();
