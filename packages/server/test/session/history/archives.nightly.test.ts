/**
 * Tests that the recorded archives of every schema version are read exactly: by this version, and by copies of the
 * sources whose version is one higher. One of them can't convert snapshots and folds the events again.
 */
import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { SCHEMA_VERSION, type TurnSnapshot } from "@turnstream/protocol";
import { raiseVersion, type RaisedVersion } from "@turnstream/testkit/versions/raise-version.ts";
import type { ArchiveReading } from "@turnstream/testkit/versions/read-archives.ts";
import { readRecordedArchives, type RecordedArchive } from "@turnstream/testkit/versions/recorded-archive.ts";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

const execute = promisify(execFile);
const REPOSITORY = join(import.meta.dirname, "../../../../..");

/** What the next version adds to an ended turn of this one. */
const RAISED = { note: null, mood: "unknown" };

async function readWith(root: string): Promise<ArchiveReading[]> {
  const program = join(root, "tests/kit/versions/read-archives.ts");
  const args = ["--conditions=@turnstream/source", program];
  const { stdout } = await execute(process.execPath, args, { maxBuffer: 2 ** 26 });
  return JSON.parse(stdout) as ArchiveReading[];
}

describe.each([
  { name: "this version", by: 0, added: {} },
  { name: "the next version", by: 1, added: RAISED },
  { name: "a next version that folds again", by: 1, added: RAISED, convertsSnapshots: false },
])("$name", ({ by, added, convertsSnapshots = true }) => {
  let raised: RaisedVersion | null = null;
  let recorded: RecordedArchive[] = [];
  let readings: ArchiveReading[] = [];
  beforeAll(async () => {
    raised = by === 0 ? null : await raiseVersion({ convertsSnapshots });
    recorded = await readRecordedArchives();
    readings = await readWith(raised?.root ?? REPOSITORY);
  }, 120_000);
  afterAll(() => raised?.remove());

  const expectedTurns = ({ state }: RecordedArchive): TurnSnapshot[] =>
    state.turns.map((turn) => ({ ...turn, ...added }));

  test("reads an archive of every version up to the current one", () => {
    expect(readings.map(({ v }) => v)).toEqual(Array.from({ length: SCHEMA_VERSION }, (_, n) => n + 1));
    expect(readings.map(({ reader }) => reader)).toEqual(readings.map(() => SCHEMA_VERSION + by));
  });

  test("folds the recorded state from the events, and reads it from the snapshots", () => {
    for (const [n, { reader, folded, history, turns }] of readings.entries()) {
      const archive = recorded[n] as RecordedArchive;
      const expected = { ...archive.state, v: reader, turns: expectedTurns(archive) };
      expect(folded).toEqual(expected);
      expect(history).toEqual(expected);
      expect(turns).toEqual(expectedTurns(archive));
    }
  });
});
