/** Tests a data folder that can't be used. Nightly, because the creation of a database takes seconds of processor time. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { sql } from "kysely";
import { expect, onTestFinished, test } from "vitest";
import { scriptedModel } from "../../src/models/scripted-model.ts";
import { defineAgent } from "../../src/runtime/define/agent.ts";
import { openDataFolder } from "../../src/store/pglite/open-data-folder.ts";
import { migrate } from "../../src/store/postgres/migrate.ts";
import { turnstream } from "../../src/turnstream/turnstream.ts";

test("refuses a folder of another baseline until it is deleted", { timeout: 480_000 }, async () => {
  const dataFolder = mkdtempSync(join(tmpdir(), "turnstream-folder-"));
  onTestFinished(() => rmSync(dataFolder, { recursive: true, force: true }));
  const db = await openDataFolder(dataFolder);
  if (db === null) throw new Error("PGlite is installed");
  await migrate(db);
  await sql`update migrations set name = '0001-baseline-0'`.execute(db);
  await db.destroy();
  const agents = [defineAgent({ name: "a", title: false, model: scriptedModel([[]]) })];
  const open = () => turnstream({ agents, user: () => "an", print: false, dataFolder });
  await expect(open().parts()).rejects.toMatchObject({
    code: "FOLDER",
    message: `Another unreleased version created the folder ${dataFolder}. Delete it to start again, or choose another folder with --data.`,
    cause: { code: "OTHER_BASELINE" },
  });
  rmSync(dataFolder, { recursive: true });
  const app = open();
  expect(await app.parts()).toMatchObject({ place: "folder" });
  await app.close();
});
