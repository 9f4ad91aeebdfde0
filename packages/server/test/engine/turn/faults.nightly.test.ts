/** Tests a running turn when its servers fail, and what remains of an erased session. */
import { randomUUID } from "node:crypto";
import { startPostgres } from "@turnstream/testkit/servers/start-postgres.ts";
import { startRedis } from "@turnstream/testkit/servers/start-redis.ts";
import { sharedRedisUrl } from "@turnstream/testkit/servers/shared-servers.ts";
import pg from "pg";
import { afterEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { script } from "../../../src/models/script-parts.ts";
import { scriptedModel } from "../../../src/models/scripted-model.ts";
import { defineAgent } from "../../../src/agent/define/agent.ts";
import { tool } from "../../../src/agent/define/tool.ts";
import { startWorker } from "../../../src/worker/supervise.ts";
import { eraseSession, finishErasures } from "../../../src/session/lifecycle/erase.ts";
import type { SessionRef } from "../../../src/util/refs.ts";
import { migratedDatabaseUrl } from "@turnstream/testkit/backend/migrated-database-url.ts";
import { migrateDatabase } from "@turnstream/testkit/backend/migrate-database.ts";
import { openBackendOn } from "../real-backend.ts";
import { outline, TurnHarness } from "../turn-harness.ts";

const cleanups: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

/** Without a listener, each failure during the database outage would be a Node warning. */
function ignore(): void {}

const count = tool({
  idempotent: true,
  input: z.object({ n: z.number() }),
  run: async ({ n }) => {
    await new Promise((resolve) => setTimeout(resolve, 100));
    return `counted ${n}`;
  },
});

const model = scriptedModel([
  [
    script.reasoning("a thought that takes a while ".repeat(3), { paceMs: 8 }),
    script.toolCall("count", { n: 1 }),
  ],
  [script.text("in between, some text ".repeat(3), { paceMs: 8 }), script.toolCall("count", { n: 2 })],
  [script.text("the end, at last, of a long answer", { paceMs: 8 })],
]);
const agent = defineAgent({ name: "a", model, tools: { count } });
const steps = [
  "(",
  `thinking ${"a thought that takes a while ".repeat(3)}`,
  'call count {"n":1}',
  "result count success counted 1",
  ") Count",
  `text ${"in between, some text ".repeat(3)}`,
  "(",
  'call count {"n":2}',
  "result count success counted 2",
  ") Count",
  "text final the end, at last, of a long answer",
];

/** Waits until the turn has that many items. */
async function reached(harness: TurnHarness, ref: SessionRef, items: number): Promise<void> {
  await harness.until(ref, 40_000, (state) =>
    (state.turns.last()?.items.length ?? 0) >= items ? true : null,
  );
}

describe("running turn", () => {
  it.each([2, 4, 7, 9])(
    "ends well when Redis is wiped after %i items",
    { timeout: 120_000 },
    async (items) => {
      const redis = await startRedis();
      cleanups.push(() => redis.stop());
      const harness = await TurnHarness.open(await openBackendOn(redis.url, await migratedDatabaseUrl()));
      cleanups.push(() => harness.close());
      await harness.worker([agent]);
      const ref = await harness.session();
      await harness.send(ref, "go");
      await reached(harness, ref, items);
      await redis.command("FLUSHALL");
      const turn = await harness.ended(ref, () => true, 60_000);
      expect(turn.status).toBe("end_turn");
      expect(outline(turn)).toEqual(steps);
    },
  );

  it("ends well when Redis is killed and restarted", { timeout: 120_000 }, async () => {
    const redis = await startRedis();
    cleanups.push(() => redis.stop());
    const harness = await TurnHarness.open(await openBackendOn(redis.url, await migratedDatabaseUrl()));
    cleanups.push(() => harness.close());
    await harness.worker([agent]);
    const ref = await harness.session();
    await harness.send(ref, "go");
    await reached(harness, ref, 5);
    await redis.kill();
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    await redis.restart();
    const turn = await harness.ended(ref, () => true, 60_000);
    expect(outline(turn)).toEqual(steps);
  });

  it.each([200, 5_000])(
    "ends well when PostgreSQL is unreachable for %i ms",
    { timeout: 120_000 },
    async (awayMs) => {
      const postgres = await startPostgres();
      cleanups.push(() => postgres.stop());
      const databaseUrl = await postgres.createDatabase(`t_${randomUUID().slice(0, 8)}`);
      await migrateDatabase(databaseUrl);
      const parts = await openBackendOn(sharedRedisUrl(), databaseUrl);
      const harness = await TurnHarness.open(parts);
      cleanups.push(() => harness.close());
      const { store, log, signals } = parts;
      let losses = 0;
      const onLost = (): void => void losses++;
      const parameters = { store, log, signals, agents: [agent] };
      const worker = await startWorker({
        ...parameters,
        leaseTtlMs: 2_000,
        onLeaseLost: onLost,
        onError: ignore,
      });
      cleanups.push(() => worker.shutdown());
      const ref = await harness.session();
      await harness.send(ref, "go");
      await reached(harness, ref, 5);
      await postgres.kill();
      await new Promise((resolve) => setTimeout(resolve, awayMs));
      await postgres.restart();
      const turn = await harness.ended(ref, () => true, 60_000);
      expect(outline(turn)).toEqual(steps);
      // The lease was in doubt, but no other worker took it over.
      expect(losses).toBe(0);
    },
  );
});

describe("erased session", () => {
  it("leaves nothing in any table", { timeout: 120_000 }, async () => {
    const databaseUrl = await migratedDatabaseUrl();
    const harness = await TurnHarness.open(await openBackendOn(sharedRedisUrl(), databaseUrl));
    cleanups.push(() => harness.close());
    const worker = await harness.worker([agent]);
    const [ended, running] = [await harness.session(), await harness.session()];
    await harness.ask(ended, "canary-message");
    await harness.send(running, "canary-message");
    await reached(harness, running, 5);
    const client = new pg.Client({ connectionString: databaseUrl });
    await client.connect();
    cleanups.push(() => client.end());
    const needles = [ended.session, running.session, "canary-message"];
    expect((await search(client, needles)).length).toBeGreaterThan(5);
    for (const ref of [ended, running]) await eraseSession(harness.backend, ref);
    await expect.poll(() => worker.running, { timeout: 30_000 }).toBe(0);
    // The worker's maintenance does this once a minute.
    await finishErasures(harness.backend, { graceMs: 0 });
    expect(await search(client, needles)).toEqual([]);
  });
});

/** Every table and column of every schema that is not PostgreSQL's own. */
async function search(client: pg.Client, needles: readonly string[]): Promise<string[]> {
  const { rows } = await client.query<{ name: string }>(
    `select quote_ident(schemaname) || '.' || quote_ident(tablename) as name from pg_tables
     where schemaname not in ('pg_catalog', 'information_schema')`,
  );
  const hits: string[] = [];
  for (const { name } of rows) {
    for (const needle of needles) {
      const found = await client.query(`select from ${name} t where strpos(t::text, $1) > 0 limit 1`, [
        needle,
      ]);
      if (found.rowCount !== 0) hits.push(`${name}: ${needle}`);
    }
  }
  return hits;
}
