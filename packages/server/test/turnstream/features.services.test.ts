/**
 * Tests processes with and without a feature on one database: `reactions`, which a third party could have written. A
 * process without it starts, and one without its tables doesn't.
 */
import { migratedDatabaseUrl } from "@turnstream/testkit/backend/migrated-database-url.ts";
import { FEATURES } from "@turnstream/testkit/backend/test-features.ts";
import { runSql } from "@turnstream/testkit/servers/run-sql.ts";
import { sharedRedisUrl } from "@turnstream/testkit/servers/shared-servers.ts";
import { beforeEach, expect, onTestFinished, test } from "vitest";
import { reactionPart, reactions } from "../../../../examples/reactions/reactions.ts";
import { scriptedModel } from "../../src/models/scripted-model.ts";
import { defineAgent } from "../../src/agent/define/agent.ts";
import { defineRoute } from "../../src/gateway/http/route.ts";
import { startWorker } from "../../src/worker/supervise.ts";
import { createKey } from "../../src/session/create-key.ts";
import { removeFeature } from "../../src/store/database/migrate.ts";
import { openDatabase } from "../../src/store/database/open-database.ts";
import type { ServerFeature } from "../../src/turnstream/feature.ts";
import type { TurnstreamOptions } from "../../src/turnstream/options.ts";
import { turnstream } from "../../src/turnstream/turnstream.ts";

const agents = [defineAgent({ name: "helper", title: false, model: scriptedModel([[]]) })];
const WITH = [...FEATURES, reactions];

let databaseUrl: string;
beforeEach(async () => {
  databaseUrl = await migratedDatabaseUrl();
});

/** Starts an app on the database of the test. */
function open(options: Partial<TurnstreamOptions>) {
  const lines: string[] = [];
  const app = turnstream({
    agents,
    user: () => "an",
    print: (line) => lines.push(line),
    secret: "s".repeat(32),
    databaseUrl,
    redisUrl: sharedRedisUrl(),
    ...options,
  });
  onTestFinished(() => app.close());
  /** Returns the status of a request for the reactions to a message of a session. */
  const read = async (session: string): Promise<number> => {
    const { store } = await app.parts();
    const { secret } = await createKey(store, "default", { name: "k", scopes: [] });
    const path = `/api/v1/sessions/${session}/messages/m/reactions`;
    const headers = { "x-api-key": secret, "x-user-id": "an" };
    return (await app.handle(new Request(`http://127.0.0.1${path}`, { headers }))).status;
  };
  return { app, lines, read, about: (text: string) => lines.filter((line) => line.includes(text)) };
}

test.each([true, false])(
  "a process without a feature of the database says so once, with runsTurns %j",
  async (runsTurns) => {
    const first = open({ features: WITH });
    await first.app.worker();
    const { id } = await first.app.sessions.create({ user: "an" });
    expect([await first.read(id), first.about("has the feature")]).toEqual([200, []]);

    const { app, read, about } = open({ features: FEATURES, runsTurns });
    await app.listen(0);
    expect(about("has the feature")).toEqual([
      expect.stringContaining(
        "The database has the feature reactions, and this process doesn't. Its routes answer 404, and its tasks wait for a process that has it. If nobody needs it any more: turnstream migrate --remove reactions.",
      ),
    ]);
    expect(await read(id)).toBe(404);
    expect(about("has the feature")).toHaveLength(1);
  },
);

const NAMED = "feature reactions: The database does not have the tables of this version or of a feature. Run";

test.each([
  ["listen", true],
  ["listen", false],
  ["worker", true],
  ["handle", true],
  ["handle", false],
] as const)(
  "without `migrates`, %s fails if the tables of a feature are missing, and names it, with runsTurns %j",
  async (how, runsTurns) => {
    const { app } = open({ features: WITH, migrates: false, runsTurns });
    const calls = {
      listen: () => app.listen(0),
      worker: () => app.worker(),
      handle: () => app.handle(new Request("http://127.0.0.1/api/v1/sessions")),
    };
    await expect(calls[how]()).rejects.toMatchObject({
      name: "SettingsError",
      message: expect.stringContaining(NAMED),
      cause: { code: "NOT_MIGRATED" },
    });
  },
);

test("a worker of its own fails if the tables of a feature are missing", async () => {
  const { store, log, signals } = await open({ features: FEATURES }).app.parts();
  const worker = startWorker({ store, log, signals, agents, features: WITH });
  await expect(worker).rejects.toMatchObject({
    code: "NOT_MIGRATED",
    message: expect.stringContaining(NAMED),
  });
});

test("a running process reports a feature that is removed, and serves everything else", async () => {
  const { app, read, about } = open({ features: WITH });
  const { id } = await app.sessions.create({ user: "an" });
  expect(await read(id)).toBe(200);
  const db = openDatabase({ url: databaseUrl });
  expect(await removeFeature(db, "reactions")).toBe(true);
  await db.destroy();
  expect(await read(id)).toBe(503);
  expect(about("`turnstream migrate` first, with `--feature`")).toEqual([
    expect.stringContaining("reactions.list: "),
  ]);
  expect((await app.sessions.read(id)).state.turns.length).toBe(0);
});

test("a feature has a scope and webhook events, which a gateway without it refuses", async () => {
  const list = defineRoute({
    method: "GET",
    path: "/notes",
    summary: "Lists the notes of the caller.",
    scope: "notes",
    handle: async ({ caller }) => ({ status: 200, json: { of: caller } }),
  });
  const notes: ServerFeature = {
    name: "notes",
    routes: [list],
    scope: "tokens",
    webhookEvents: ["notes.added"],
  };
  const { app } = open({ features: [...FEATURES, notes] });
  const without = open({ features: FEATURES });
  const { store } = await app.parts();
  const keyOf = async (...scopes: string[]) =>
    (await createKey(store, "default", { name: "k", scopes })).secret;
  const request = async (to: typeof app, key: string, method: string, path: string, body?: object) => {
    const headers = { "x-api-key": key, "x-user-id": "an", "content-type": "application/json" };
    const init = { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) };
    const response = await to.handle(new Request(`http://127.0.0.1/api/v1${path}`, init));
    return { status: response.status, json: (await response.json()) as Record<string, unknown> };
  };
  expect((await request(app, await keyOf("notes"), "GET", "/notes")).status).toBe(200);
  expect((await request(app, await keyOf("read", "admin"), "GET", "/notes")).status).toBe(403);
  const all = await keyOf();
  const asked = { user_id: "an", scopes: ["notes"] };
  expect((await request(app, all, "POST", "/tokens", asked)).json["scopes"]).toEqual(["notes"]);
  expect((await request(without.app, all, "POST", "/tokens", asked)).status).toBe(400);

  const hook = { url: "https://receiver.example/", events: ["notes.added"] };
  expect((await request(without.app, all, "POST", "/webhooks", hook)).status).toBe(400);
  const { json } = await request(app, all, "POST", "/webhooks", hook);
  const { id: session } = await app.sessions.create({ user: "an" });
  const event = { type: "notes.added", key: "n1", data: { note: "n1" } };
  for (let n = 0; n < 2; n++)
    await store.transaction((tx) => tx.webhooks.enqueue({ tenant: "default", session }, event));
  const path = `/webhooks/${String(json["webhook_id"])}/deliveries`;
  const { deliveries } = (await request(without.app, all, "GET", path)).json;
  expect(deliveries).toMatchObject([{ type: "notes.added" }]);
});

test("the task of a feature runs in every worker, and deletes what is old", async () => {
  const worker = { maintenanceIntervalMs: 100 };
  const apps = [open({ features: WITH, worker }), open({ features: WITH, worker })] as const;
  const [{ app }] = apps;
  const { id } = await app.sessions.create({ user: "an" });
  const ref = { tenant: "default", session: id };
  const reacted = (await app.parts()).store.use(reactionPart);
  for (const message of ["old", "new"]) await reacted.add(ref, message, "an", "👍");
  await runSql(databaseUrl, "update turnstream.reactions set at = now() - interval '2 years' where n = 1");
  for (const each of apps) await each.app.worker();
  await expect.poll(() => reacted.list(ref, "old")).toEqual([]);
  expect(await reacted.list(ref, "new")).toEqual([{ emoji: "👍", user: "an" }]);
  expect(apps.flatMap(({ about }) => about("error"))).toEqual([]);
});
