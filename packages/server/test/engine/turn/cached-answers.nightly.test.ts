/**
 * Tests on real servers that a restart of Redis and a database that is away repeat no model call, and that a worker
 * which alone loses Redis gives up its turns. An HTTP server stands in for the provider and counts the calls.
 */
import { randomUUID } from "node:crypto";
import { createAnthropic } from "@ai-sdk/anthropic";
import { migrateDatabase } from "@turnstream/testkit/backend/migrate-database.ts";
import { migratedDatabaseUrl } from "@turnstream/testkit/backend/migrated-database-url.ts";
import { startAnthropicServer } from "@turnstream/testkit/model-servers/anthropic-server.ts";
import { HOST } from "@turnstream/testkit/network/free-port.ts";
import { startProxy } from "@turnstream/testkit/network/tcp-proxy.ts";
import { freshPrefix, sharedRedisUrl } from "@turnstream/testkit/servers/shared-servers.ts";
import { startPostgres } from "@turnstream/testkit/servers/start-postgres.ts";
import { startRedis } from "@turnstream/testkit/servers/start-redis.ts";
import { afterEach, describe, expect, it } from "vitest";
import type { Model } from "../../../src/models/model.ts";
import { defineAgent } from "../../../src/agent/define/agent.ts";
import { startWorker } from "../../../src/worker/supervise.ts";
import type { SessionRef } from "../../../src/util/refs.ts";
import { openBackendOn } from "../real-backend.ts";
import { outline, TurnHarness } from "../turn-harness.ts";

const cleanups: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

const SESSIONS = 4;
const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** A provider whose answer takes about `ms`. */
async function startProvider(ms: number) {
  const text = "some text of a long answer ".repeat(20);
  const chunk = 7;
  const paceMs = Math.ceil((ms * chunk) / text.length);
  const server = await startAnthropicServer(() => ({ parts: [{ type: "text", text }], chunk, paceMs }));
  cleanups.push(() => server.close());
  const model: Model = createAnthropic({ baseURL: server.baseUrl, apiKey: "key" })("model");
  return { server, text, agent: defineAgent({ name: "a", model, title: false }) };
}

/** Sends messages and waits until all answers stream. */
async function begin(harness: TurnHarness): Promise<SessionRef[]> {
  const refs: SessionRef[] = [];
  for (let n = 0; n < SESSIONS; n++) refs.push(await harness.session());
  for (const ref of refs) await harness.send(ref, "go");
  for (const ref of refs)
    await harness.until(ref, 40_000, (state) => ((state.turns.last()?.items.length ?? 0) > 0 ? true : null));
  return refs;
}

async function expectEnded(harness: TurnHarness, refs: readonly SessionRef[], text: string): Promise<void> {
  for (const ref of refs) {
    const turn = await harness.ended(ref, () => true, 90_000);
    expect([turn.status, outline(turn)]).toEqual(["end_turn", [`text final ${text}`]]);
  }
}

describe("model calls of running turns", () => {
  it.each(["restarted", "wiped"])(
    "stay one per turn when Redis is %s",
    { timeout: 180_000 },
    async (fault) => {
      const redis = await startRedis();
      cleanups.push(() => redis.stop());
      const harness = await TurnHarness.open(await openBackendOn(redis.url, await migratedDatabaseUrl()));
      cleanups.push(() => harness.close());
      const { server, text, agent } = await startProvider(4_000);
      await harness.worker([agent]);
      const refs = await begin(harness);
      if (fault === "wiped") await redis.command("FLUSHALL");
      else {
        await redis.kill();
        await pause(1_500);
        await redis.restart();
      }
      await expectEnded(harness, refs, text);
      expect(server.requests.length).toBe(SESSIONS);
    },
  );

  it.each(["frozen", "killed"])(
    "stay one per turn when PostgreSQL is %s for four lease times",
    { timeout: 180_000 },
    async (fault) => {
      const postgres = await startPostgres();
      cleanups.push(() => postgres.stop());
      const databaseUrl = await postgres.createDatabase(`t_${randomUUID().slice(0, 8)}`);
      await migrateDatabase(databaseUrl);
      const parts = await openBackendOn(sharedRedisUrl(), databaseUrl);
      const harness = await TurnHarness.open(parts);
      cleanups.push(() => harness.close());
      const { server, text, agent } = await startProvider(3_000);
      let losses = 0;
      const { store, log, signals } = parts;
      const worker = await startWorker({
        store,
        log,
        signals,
        agents: [agent],
        leaseTtlMs: 2_000,
        drainMs: 0,
        onLeaseLost: () => void losses++,
        onError: () => {},
      });
      cleanups.push(() => worker.shutdown());
      const refs = await begin(harness);
      if (fault === "frozen") postgres.freeze();
      else await postgres.kill();
      await pause(8_000);
      if (fault === "frozen") postgres.thaw();
      else await postgres.restart();
      await expectEnded(harness, refs, text);
      expect(server.requests.length).toBe(SESSIONS);
      expect(losses).toBe(0);
    },
  );
});

async function openPartition() {
  const redisUrl = new URL(sharedRedisUrl());
  const proxy = await startProxy({ to: { host: HOST, port: Number(redisUrl.port) } });
  cleanups.push(() => proxy.close());
  const [prefix, databaseUrl] = [freshPrefix(), await migratedDatabaseUrl()];
  const harness = await TurnHarness.open(await openBackendOn(redisUrl.href, databaseUrl, prefix));
  cleanups.push(() => harness.close());
  const far = await openBackendOn(`redis://${HOST}:${proxy.port}`, databaseUrl, prefix);
  cleanups.push(() => far.close());
  return { harness, proxy, far };
}

describe("worker that alone loses Redis", () => {
  it("gives up its turns, and takes none until it can reach Redis", { timeout: 180_000 }, async () => {
    const { harness, proxy, far } = await openPartition();
    const { server, text, agent } = await startProvider(20_000);
    const { store, log, signals } = far;
    const options = { store, log, signals, agents: [agent], drainMs: 0, onError: () => {} };
    const cutOff = await startWorker(options);
    cleanups.push(() => cutOff.shutdown());
    const refs = await begin(harness);
    const healthy = await harness.worker([agent], { leaseTtlMs: 15_000 });
    proxy.blackhole();
    await expect.poll(() => healthy.running, { timeout: 30_000, interval: 50 }).toBe(SESSIONS);
    expect(cutOff.current?.running ?? 0).toBe(0);
    await expectEnded(harness, refs, text);
    expect(server.requests.length).toBe(SESSIONS * 2);
    await proxy.heal();
    await expect.poll(() => cutOff.current, { timeout: 30_000 }).not.toBeNull();
  });

  it("keeps its turns and their model calls if it is alone", { timeout: 180_000 }, async () => {
    const { harness, proxy, far } = await openPartition();
    // So long that no turn ends before the connection is cut.
    const { server, text, agent } = await startProvider(12_000);
    const { store, log, signals } = far;
    const options = { store, log, signals, agents: [agent], drainMs: 0, onError: () => {} };
    const worker = await startWorker(options);
    cleanups.push(() => worker.shutdown());
    const refs = await begin(harness);
    proxy.blackhole();
    await pause(16_000);
    expect(worker.current?.running).toBe(SESSIONS);
    await proxy.heal();
    await expectEnded(harness, refs, text);
    expect(server.requests.length).toBe(SESSIONS);
  });
});
