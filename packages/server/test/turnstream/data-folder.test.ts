/** Tests the data folder of `turnstream()`: who may open it, and how it is prepared. */
import { execFile } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { Worker } from "node:worker_threads";
import { createDataFolder } from "@turnstream/testkit/util/data-folder.ts";
import { sql } from "kysely";
import { expect, onTestFinished, test } from "vitest";
import { reactionPart, reactions } from "../../../../examples/reactions/reactions.ts";
import { script } from "../../src/models/script-parts.ts";
import { scriptedModel } from "../../src/models/scripted-model.ts";
import { defineAgent } from "../../src/agent/define/agent.ts";
import { openDataFolder } from "../../src/store/pglite/open-data-folder.ts";
import type { Db } from "../../src/store/database/database.ts";
import type { ServerFeature } from "../../src/turnstream/feature.ts";
import { type Turnstream, turnstream } from "../../src/turnstream/turnstream.ts";

const PROGRAM = join(import.meta.dirname, "listening-process.ts");
const agents = [defineAgent({ name: "a", title: false, model: scriptedModel([[script.text("Hello.")]]) })];

function open(dataFolder: string, features: readonly ServerFeature[] = []): Turnstream {
  const app = turnstream({ agents, user: () => "an", print: false, dataFolder, features });
  onTestFinished(() => app.close());
  return app;
}

/** Changes the database of a folder that no app uses. */
async function change(folder: string, work: (db: Db) => Promise<unknown>): Promise<void> {
  const db = await openDataFolder(folder);
  await work(db);
  await db.destroy();
}

async function countPeriods(db: Db): Promise<unknown> {
  const { rows } = await sql`select
    (select count(*) from archive_periods where period >= current_archive_period()) as archive,
    (select count(*) from audit_periods where period >= current_audit_period()) as audit`.execute(db);
  return rows;
}

/** Starts a program in the folder, and returns what it prints before it fails. */
async function fail(folder: string, flags: readonly string[] = []): Promise<string> {
  const env = { ...process.env, DATABASE_URL: "", REDIS_URL: "", PORT: "0", DEBUG: undefined };
  const run = promisify(execFile)(process.execPath, ["--conditions=@turnstream/source", ...flags, PROGRAM], {
    cwd: folder,
    env,
  });
  const failure: unknown = await run.then(
    () => new Error("the program succeeded"),
    (error: unknown) => error,
  );
  return (failure as { readonly stderr?: string }).stderr ?? String(failure);
}

test("apps in one process share a folder, and the last one closes it", async () => {
  const folder = await createDataFolder();
  const [first, second] = [open(folder), open(join(folder, "."))];
  await Promise.all([first.worker(), second.parts()]);
  const { id } = await second.sessions.create({ user: "an" });
  await first.close();
  await second.sessions.send(id, "Hi");
  await second.worker();
  const readStatus = async () => (await second.sessions.read(id)).state.turns.last()?.status;
  await expect.poll(readStatus).toBe("end_turn");

  const closing = second.close();
  const third = open(folder);
  expect((await third.sessions.read(id)).state.turns.length).toBe(1);
  await closing;
  expect((await third.sessions.create({ user: "an" })).id).not.toBe(id);
});

test("apps that share a folder can have different features", async () => {
  const folder = await createDataFolder();
  const without = open(folder);
  await without.worker();
  const { id } = await without.sessions.create({ user: "an" });
  const app = open(folder, [reactions]);
  await app.worker();
  const { store } = await app.parts();
  expect(await store.use(reactionPart).list({ tenant: "default", session: id }, "m")).toEqual([]);
});

test("another process and another thread are refused", async () => {
  const folder = await createDataFolder();
  await open(join(folder, ".turnstream")).parts();
  const refused = `Process ${process.pid} uses the folder .turnstream. Stop it, or choose another folder with \`dataFolder\` or --data.\n`;
  expect(await fail(folder)).toBe(refused);

  const source = `
    const { parentPort, workerData } = require("node:worker_threads");
    import(workerData.module).then(async ({ lockFolder }) => {
      try {
        lockFolder(workerData.file);
        parentPort.postMessage("opened");
      } catch (error) {
        parentPort.postMessage(error.name);
      }
    });`;
  const module = new URL("../../src/store/pglite/lock-folder.ts", import.meta.url).href;
  const workerData = { module, file: join(folder, ".turnstream/pid") };
  const worker = new Worker(source, { eval: true, workerData });
  expect(await new Promise((resolve) => worker.once("message", resolve))).toBe("FolderInUse");
  await worker.terminate();
});

test("a process with the id of a dead one opens its folder", async () => {
  const folder = await createDataFolder();
  writeFileSync(join(folder, "pid"), `${process.pid} 1\n`);
  await expect(open(folder).sessions.create({ user: "an" })).resolves.toHaveProperty("id");
});

test("a folder whose creation was interrupted is created again", async () => {
  const folder = await createDataFolder();
  mkdirSync(join(folder, "pglite"));
  writeFileSync(join(folder, "pglite/PG_VERSION"), "18\n");
  writeFileSync(join(folder, "unfinished"), "");
  await expect(open(folder).sessions.create({ user: "an" })).resolves.toHaveProperty("id");
});

test("the partitions of today are there after months without a start", async () => {
  const folder = await createDataFolder();
  const app = open(folder);
  await app.parts();
  await app.close();
  await change(folder, async (db) => {
    await sql`update archive_periods set emptied_at = clock_timestamp()`.execute(db);
    for (const table of ["archived_events", "turns", "turn_journal"])
      await sql`do ${sql.lit(
        `declare name text; begin for name in select inhrelid::regclass::text from pg_inherits
         where inhparent = '${table}'::regclass loop execute 'drop table ' || name; end loop; end`,
      )}`.execute(db);
    await sql`delete from archive_periods`.execute(db);
    expect(await countPeriods(db)).toEqual([{ archive: 0, audit: 4 }]);
  });
  const later = open(folder);
  await later.parts();
  await later.close();
  await change(folder, async (db) => expect(await countPeriods(db)).toEqual([{ archive: 5, audit: 4 }]));
});

test("a folder of another baseline is refused until it is deleted", async () => {
  const folder = await createDataFolder();
  const app = open(folder);
  await app.parts();
  await app.close();
  await change(folder, (db) =>
    sql`update migrations set name = '0001-baseline-0' where name not like '%/%'`.execute(db),
  );
  await expect(open(folder).parts()).rejects.toMatchObject({
    code: "FOLDER",
    message: `Another unreleased version created the folder ${folder}. Delete it to start again, or choose another folder with \`dataFolder\` or --data.`,
    cause: { code: "OTHER_BASELINE" },
  });
});

test("a folder that can't be created is named", async () => {
  const file = join(await createDataFolder(), "file");
  writeFileSync(file, "");
  await expect(open(file).parts()).rejects.toMatchObject({
    code: "FOLDER",
    message: expect.stringContaining(file),
  });
});

test("without the package of the database, the error names the command that installs it", async () => {
  const hooks = `import { registerHooks } from "node:module";
    registerHooks({ resolve: (name, context, next) => next(name === "@turnstream/dev" ? name + "-none" : name, context) });`;
  const printed = await fail(await createDataFolder(), [
    `--import=data:text/javascript,${encodeURIComponent(hooks)}`,
  ]);
  expect(printed).toBe(
    "Neither DATABASE_URL nor REDIS_URL is set. For development, run `npm install --save-dev @turnstream/dev`, which keeps the data in a folder. Otherwise, set both.\n",
  );
});
