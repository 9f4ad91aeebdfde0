/** Tests that a command changes nothing when Redis receives it late, after its sender has given it up and gone on. */
import { startProxy, type TcpProxy } from "@turnstream/testkit/network/tcp-proxy.ts";
import { type RedisServer, startRedis } from "@turnstream/testkit/servers/start-redis.ts";
import { until } from "@turnstream/testkit/util/until.ts";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import type { Log } from "../../../src/log/log.ts";
import { createRedisLog } from "../../../src/log/redis/create-redis-log.ts";
import { Writer } from "../../../src/log/writer/writer.ts";
import { describeEntry, readAll, refusal, sessionRef, startSession, takeover, titles } from "../drafts.ts";

let redis: RedisServer;
let proxy: TcpProxy;
let near: Log;
/** Its connections can be held. */
let far: Log;
/** The ids of its first connections. */
let farConnections: string[];

beforeAll(async () => {
  redis = await startRedis();
});
afterAll(() => redis.stop());

beforeEach(async () => {
  near = await createRedisLog({ url: redis.url });
  const before = await listConnections();
  proxy = await startProxy({ to: { host: "127.0.0.1", port: redis.port } });
  far = await createRedisLog({
    url: `redis://127.0.0.1:${proxy.port}`,
    healthCheckMs: 50,
    responseTimeoutMs: 1_000,
  });
  await until("both connections", async () => (await listConnections()).length >= before.length + 2);
  farConnections = (await listConnections()).filter((id) => !before.includes(id));
});
afterEach(async () => {
  await Promise.all([far.close(), near.close()]);
  await proxy.close();
});

async function listConnections(): Promise<string[]> {
  const list = String(await redis.command("CLIENT", "LIST"));
  // Not the connection that asks.
  return [...list.matchAll(/^id=(\d+)(?!.*cmd=client\|list)/gm)].map(([, id = ""]) => id);
}

/** Holds the bytes of `given`, runs `next` meanwhile, and resolves when Redis has executed the held bytes. */
async function deliverLate(given: () => Promise<unknown>, next: () => Promise<unknown>): Promise<void> {
  const release = proxy.hold();
  await given();
  await next();
  await until("both connections to be given up", () => proxy.counters().accepted >= 4);
  release();
  // Redis closes a connection after it has executed everything that arrived over it.
  await until("Redis to have executed the late bytes", async () => {
    const open = await listConnections();
    return !farConnections.some((id) => open.includes(id));
  });
}

const texts = async (ref = session): Promise<string[]> => (await readAll(near, ref)).map(describeEntry);

let session = sessionRef();
beforeEach(async () => {
  session = await startSession(near);
});

const own = { writer: "w1", epoch: 7 };

test("an append whose retry was acknowledged", async () => {
  const blobs = { put: async () => undefined };
  const writer = new Writer({ log: far, ref: session, ...own, blobs, newBlobId: () => "b" });
  const write = async (text: string): Promise<void> => {
    for (const event of titles(text)) await writer.write(event);
    await writer.flush();
  };
  await write("first");
  await deliverLate(
    () => write("second"),
    () => write("third"),
  );
  await write("fourth");
  expect(await texts()).toEqual(["session.start", "first", "second", "third", "fourth"]);
});

test("an append that was given up, after the next claim", async () => {
  const batch = { ...own, counter: 1, events: titles("late") };
  await deliverLate(
    async () => expect(await refusal(far.append(session, batch))).toBe("UNAVAILABLE"),
    () => near.claim(session, { epoch: 8, writer: "w2", event: takeover(), archivedUpTo: "0-0" }),
  );
  expect(await texts()).toEqual(["session.start", "turn.takeover"]);
});

test("the event of an outbox row that another process has published", async () => {
  const batch = { writer: "o/row", counter: 0, events: titles("decided"), isRetry: true, since: "0-0" };
  await deliverLate(
    async () => expect(await refusal(far.append(session, batch))).toBe("UNAVAILABLE"),
    () => near.append(session, batch),
  );
  expect(await texts()).toEqual(["session.start", "decided"]);
});

test("the event of an outbox row that was published, archived and trimmed", async () => {
  const batch = { writer: "o/row", counter: 0, events: titles("decided"), isRetry: true, since: "0-0" };
  await deliverLate(
    async () => expect(await refusal(far.append(session, batch))).toBe("UNAVAILABLE"),
    async () => {
      await near.append(session, batch);
      await near.trim(session, "7-2");
    },
  );
  expect(await near.head(session)).toMatchObject({ base: "7-2", last: "7-2" });
});

test("a claim that was given up, after the claim under the next epoch", async () => {
  const claim = { event: takeover(), archivedUpTo: "0-0" };
  await deliverLate(
    async () =>
      expect(await refusal(far.claim(session, { ...claim, epoch: 8, writer: "w2" }))).toBe("UNAVAILABLE"),
    () => near.claim(session, { ...claim, epoch: 9, writer: "w3" }),
  );
  expect(await near.head(session)).toMatchObject({ epoch: 9, last: "9-2" });
});

test("a trim and an expiry, after further appends", async () => {
  await deliverLate(
    async () => {
      // Both are sent again over the next connection, so their late bytes are the second ones.
      expect(await far.trim(session, "7-1")).toBe(true);
      expect(await far.expire(session, "7-1", 60_000)).toBe(true);
    },
    () => near.append(session, { ...own, counter: 1, events: titles("next") }),
  );
  expect(await near.head(session)).toMatchObject({ base: "7-1", last: "7-2" });
  const log = `ts:{${session.tenant}/${session.session}}`;
  expect(Number(await redis.command("PTTL", log))).toBeGreaterThan(3_600_000);
});
