/**
 * `RecordedArchive` is the form of the files in tests/conformance/archives: the archive of a session as one schema version
 * wrote it. `readRecordedArchives` reads the files, and `loadRecordedArchive` writes one into a store.
 *
 * Invariant: from the first release on, a file never changes. A version that can't read it would lose the history of users.
 */
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Cursor, SessionEvent, Snapshot, TurnSnapshot } from "@turnstream/protocol";
import type { SessionRef } from "@turnstream/server";
import type { ArchiveBatch, Store } from "@turnstream/server/internal";

export interface RecordedArchive {
  /** The schema version that wrote it. */
  readonly v: number;
  readonly to: Cursor;
  readonly events: readonly SessionEvent[];
  readonly turns: readonly { readonly snapshot: TurnSnapshot; readonly open: boolean }[];
  readonly header: ArchiveBatch["header"];
  readonly checkpoint: Snapshot | null;
  /** The snapshot that the version folds from the events. */
  readonly state: Snapshot;
}

const FOLDER = join(import.meta.dirname, "../../conformance/archives");

export async function readRecordedArchives(): Promise<RecordedArchive[]> {
  const names = (await readdir(FOLDER)).filter((name) => name.endsWith(".json")).toSorted();
  const texts = await Promise.all(names.map((name) => readFile(join(FOLDER, name), "utf8")));
  return texts.map((text) => JSON.parse(text) as RecordedArchive);
}

/** Writes the archive into a new session of the store. */
export async function loadRecordedArchive(
  store: Store,
  actor: { readonly tenant: string; readonly user: string },
  { v, to, events, turns, header, checkpoint }: RecordedArchive,
): Promise<SessionRef> {
  const session = `archive-v${v}`;
  await store.sessions.create(actor, { id: session, firstEpoch: 1 });
  const ref = { tenant: actor.tenant, session };
  const epoch = Number(to.split("-")[0]);
  const rows = turns.map(({ snapshot, open }) => {
    const { id, start, end, status, message } = snapshot;
    return { id, start, end, status, message, open, snapshot };
  });
  const stored = { from: "0-0", to, epoch, events, turns: rows, header, v };
  const result = await store.archive.write(ref, {
    ...stored,
    ...(checkpoint === null ? {} : { checkpoint }),
  });
  if (result !== "written")
    throw new Error(`the archive of version ${v} was not written: ${JSON.stringify(result)}`);
  return ref;
}
