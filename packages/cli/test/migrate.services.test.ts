/** Tests `turnstream migrate` with features: a package, and a file as an app has it. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { makeFolder, removeFolder } from "@turnstream/testkit/processes/watch.ts";
import { runSql } from "@turnstream/testkit/servers/run-sql.ts";
import { freshDatabaseUrl } from "@turnstream/testkit/servers/shared-servers.ts";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { AgentFolder, runCli } from "./cli-process.ts";
import { ran } from "./ran.ts";

const REACTIONS = join(import.meta.dirname, "../../../examples/reactions/reactions.ts");

let folder: AgentFolder;
let env: Record<string, string>;
beforeAll(async () => {
  folder = await AgentFolder.create({
    "reactions.ts": `export { tables } from ${JSON.stringify(REACTIONS)};\n`,
    "nothing.ts": "export const name = 'nothing';\n",
    "broken.ts": "export const tables = missing;\n",
    "wrong.ts": `export const tables = { feature: "wrong", names: ["sessions"], migrations: [] };\n`,
  });
});
afterAll(() => folder?.remove());
beforeEach(async () => {
  env = { DATABASE_URL: await freshDatabaseUrl() };
});

/** Runs the command in the folder of an app. */
const migrate = (...args: string[]) => runCli(folder.path, ["migrate", ...args], env);

/** Returns the exit code and the error, in one line. */
async function refused(...args: string[]): Promise<string> {
  const { code, err } = await migrate(...args);
  return `${code} ${err.replaceAll(/\s+/g, " ").trim()}`;
}

async function listTables(prefix: string): Promise<unknown[]> {
  const rows = await runSql(
    env["DATABASE_URL"] ?? "",
    `select table_name from information_schema.tables
      where table_schema = 'turnstream' and starts_with(table_name, '${prefix}') order by 1`,
  );
  return rows.map((row) => row["table_name"]);
}

test("creates the tables of a file and of a package, and removes those of one feature", async () => {
  const { code, out } = await migrate("--feature", "./reactions.ts", "--feature", "@turnstream/knowledge");
  expect(code).toBe(0);
  expect(out).toMatch(
    /^Applied: 0001-baseline-\w+, reactions\/0001-tables-\w+, knowledge\/0001-tables-\w+\nThe database schema is up to date.\n$/,
  );
  expect(await listTables("reactions")).toEqual(["reactions"]);
  const again = await migrate("--feature", "./reactions.ts");
  expect(again).toMatchObject({ code: 0, out: "The database schema is up to date.\n" });
  // A deploy of a server without the features leaves their tables.
  expect(await ran(["migrate"], env)).toMatchObject({ code: 0 });

  expect(await ran(["migrate", "--remove", "reactions"], env)).toEqual({
    code: 0,
    out: "Deleted the tables of the feature reactions.\n",
    err: "",
  });
  expect([await listTables("reactions"), await listTables("knowledge")]).toEqual([
    [],
    ["knowledge_chunks", "knowledge_objects"],
  ]);
  expect(await ran(["migrate", "--remove", "reactions"], env)).toEqual({
    code: 1,
    out: "",
    err: "turnstream: The database doesn't have the feature reactions.\n",
  });
});

test("finds a package that only the app has installed, also one that can only be imported", async () => {
  const app = await makeFolder("app");
  const installed = join(app, "node_modules/@acme/notes");
  mkdirSync(installed, { recursive: true });
  const exported = { type: "module", exports: { ".": { import: "./index.js" } } };
  writeFileSync(join(installed, "package.json"), JSON.stringify({ name: "@acme/notes", ...exported }));
  writeFileSync(
    join(installed, "index.js"),
    `const up = async () => {};
export const tables = { feature: "notes", names: [], migrations: [{ name: "0001-notes", up }] };\n`,
  );
  const { code, out } = await runCli(app, ["migrate", "--feature", "@acme/notes"], env);
  expect([code, out]).toEqual([0, expect.stringContaining(", notes/0001-notes\n")]);
  removeFolder(app);
});

test("refuses modules that are no features, and changes nothing", async () => {
  expect(await refused("--feature", "./nothing.ts")).toBe(
    "1 turnstream: ./nothing.ts must export `tables`, as @turnstream/payments does.",
  );
  expect(await refused("--feature", "./broken.ts")).toBe(
    "1 turnstream: broken.ts:1: missing is not defined.",
  );
  expect(await refused("--feature", "./none.ts")).toBe("1 turnstream: There is no file ./none.ts.");
  expect(await refused("--feature", "no-such-package")).toContain(
    "The feature no-such-package can't be loaded: ",
  );
  expect(await refused("--feature", "./wrong.ts")).toContain(
    "the table sessions of the feature wrong must be wrong, or start with wrong_",
  );
  expect(await refused("--feature", "./reactions.ts", "--remove", "reactions")).toContain(
    "--remove can't be used together with --feature.",
  );
  expect(await listTables("")).toEqual([]);
});
