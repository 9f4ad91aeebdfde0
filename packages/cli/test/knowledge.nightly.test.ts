/** Tests `turnstream knowledge` on a real database, in this process and as a child process. */
import { spawn } from "node:child_process";
import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { knowledgeOf } from "@turnstream/knowledge";
import { openDatabase, createPostgresStore } from "@turnstream/server";
import { migrateDatabase } from "@turnstream/testkit/backend/migrate-database.ts";
import { freshDatabaseUrl } from "@turnstream/testkit/servers/shared-servers.ts";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { ran } from "./ran.ts";

const MAIN = new URL("../src/main.ts", import.meta.url).pathname;

let folder: string;
let url: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "turnstream-cli-"));
  url = await freshDatabaseUrl();
});
afterEach(() => rm(folder, { recursive: true }));

/** Runs the CLI in this process: same result as `spawned`, but faster. */
const turnstream = (args: readonly string[], env: Record<string, string> = { DATABASE_URL: url }) =>
  ran(args, env);

function spawned(args: readonly string[], env: Record<string, string> = { DATABASE_URL: url }) {
  return new Promise<{ code: number | null; out: string; err: string }>((resolve) => {
    const child = spawn(process.execPath, ["--conditions=@turnstream/source", MAIN, ...args], {
      env: { PATH: process.env["PATH"], ...env },
      stdio: ["ignore", "pipe", "pipe"],
    });
    let [out, err] = ["", ""];
    child.stdout.on("data", (text: Buffer) => (out += text.toString()));
    child.stderr.on("data", (text: Buffer) => (err += text.toString()));
    child.on("close", (code) => resolve({ code, out, err }));
  });
}

async function prepare(): Promise<void> {
  await migrateDatabase(url);
  const store = createPostgresStore(openDatabase({ url }));
  await store.tenants.create({ id: "acme", name: "Acme" });
  await store.close();
  await mkdir(join(folder, "leave", ".git"), { recursive: true });
  await writeFile(join(folder, "hours.md"), "# 營業時間\n\n週一至週五\n");
  await writeFile(
    join(folder, "leave", "policy.html"),
    "<title>Leave</title><p>Thirty days of holiday.</p><script>no()</script>",
  );
  await writeFile(join(folder, "prices.csv"), "item,price\nheron,12\n");
  await writeFile(join(folder, "data.json"), '{"capital":"Hà Nội"}');
  await writeFile(join(folder, "notes.txt"), "Plain notes");
  await writeFile(join(folder, "picture.png"), "no text");
  await writeFile(join(folder, "leave", ".git", "x.md"), "hidden");
  await symlink(MAIN, join(folder, "link.md"));
}

const IN = ["--tenant", "acme", "--base", "handbook"];

describe("S11: turnstream knowledge", () => {
  test("imports a folder, and on the next import only the files that changed", async () => {
    await prepare();
    const first = await spawned(["knowledge", "import", folder, ...IN, "--url", "https://example.com/"]);
    expect(first).toMatchObject({ code: 0, out: "5 created, 0 replaced, 0 unchanged, 0 removed\n" });
    expect(first.err).toContain("created    leave/policy.html\n");
    const store = createPostgresStore(openDatabase({ url }));
    const search = (text: string) => knowledgeOf(store).search("acme", ["handbook"], { text, limit: 5 });
    expect(await search("holidays")).toMatchObject([
      { object: "leave/policy.html", title: "Leave", url: "https://example.com/leave/policy.html" },
    ]);
    expect(await search("ha noi")).toMatchObject([{ object: "data.json" }]);
    expect(await search("營業")).toMatchObject([{ object: "hours.md", title: "營業時間" }]);

    await writeFile(join(folder, "notes.txt"), "Other notes");
    await rm(join(folder, "prices.csv"));
    expect(
      (await turnstream(["knowledge", "import", folder, ...IN, "--url", "https://example.com/"])).out,
    ).toBe("0 created, 1 replaced, 3 unchanged, 0 removed\n");
    const pruned = await turnstream([
      "knowledge",
      "import",
      folder,
      ...IN,
      "--url",
      "https://example.com/",
      "--prune",
    ]);
    expect(pruned).toMatchObject({ code: 0, out: "0 created, 0 replaced, 4 unchanged, 1 removed\n" });
    expect(await search("heron")).toEqual([]);
    await store.close();
  });

  test("lists and removes knowledge bases and objects", async () => {
    await prepare();
    await turnstream(["knowledge", "import", folder, ...IN]);
    expect((await turnstream(["knowledge", "list", "--tenant", "acme"])).out).toBe("handbook\t5 objects\n");
    const { out } = await turnstream(["knowledge", "list", ...IN]);
    expect(out.split("\n").slice(0, 2)).toEqual([
      "data.json\t3 lines\tdata.json",
      "hours.md\t3 lines\t營業時間",
    ]);
    expect(await turnstream(["knowledge", "remove", ...IN, "data.json"])).toMatchObject({
      code: 0,
      out: "1 removed\n",
    });
    expect(await turnstream(["knowledge", "remove", ...IN, "data.json"])).toMatchObject({ code: 1 });
    expect(await turnstream(["knowledge", "remove", ...IN])).toMatchObject({ code: 2 });
    expect((await turnstream(["knowledge", "remove", ...IN, "--all"])).out).toBe("4 removed\n");
  });

  test("reports each file that can't be imported, and imports the others", async () => {
    await prepare();
    await writeFile(join(folder, "broken.json"), "{");
    await writeFile(join(folder, "latin.txt"), Buffer.from([0xe9, 0x74, 0xe9]));
    const { code, out, err } = await turnstream(["knowledge", "import", folder, ...IN, "--quiet"]);
    expect({ code, out }).toEqual({ code: 1, out: "5 created, 0 replaced, 0 unchanged, 0 removed\n" });
    expect(err).toBe(
      "failed     broken.json: The content is not valid JSON.\nfailed     latin.txt: The content is not text in UTF-8 or UTF-16.\nturnstream: 2 of 7 files could not be imported.\n",
    );
  });

  test("reports what is wrong, but never the database's address", async () => {
    const secret = "postgres://user:canary@127.0.0.1:1/none";
    const away = await spawned(["knowledge", "list", "--tenant", "acme"], { DATABASE_URL: secret });
    expect(away.code).toBe(1);
    expect(away.err).not.toContain("canary");
    expect(await turnstream(["knowledge", "list", "--tenant", "acme"])).toMatchObject({
      code: 1,
      err: "turnstream: The database does not have the tables of this version or of a feature. Run `turnstream migrate` first, with `--feature` and the package of each feature. The address is in DATABASE_URL.\n",
    });
    await migrateDatabase(url);
    expect((await turnstream(["knowledge", "list", "--tenant", "missing"])).err).toBe(
      "turnstream: There is no tenant missing. Correct `--tenant`, or create it with `turnstream keys create --new-tenant`.\n",
    );
    expect(await turnstream(["knowledge", "list", "--tenant", "acme"], {})).toMatchObject({ code: 1 });
    for (const args of [
      ["nonsense"],
      ["knowledge"],
      ["knowledge", "import"],
      ["knowledge", "list", "--what"],
      ["toString"],
    ])
      expect((await turnstream(args)).code).toBe(2);
    expect(await turnstream(["knowledge", "import", join(folder, "none"), ...IN])).toMatchObject({ code: 1 });
    const help = await turnstream(["knowledge", "--help"]);
    expect(help).toMatchObject({ code: 0 });
    expect(help.out).toContain("Examples:");
    expect((await turnstream([])).out).toContain("knowledge import");
  });
});
