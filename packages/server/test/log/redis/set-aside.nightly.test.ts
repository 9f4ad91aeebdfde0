/** Tests that a claim keeps a log that it must drop with entries that are not archived. */
import { type RedisServer, startRedis } from "@turnstream/testkit/servers/start-redis.ts";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { AppendResult, Log } from "../../../src/log/log.ts";
import { createRedisLog } from "../../../src/log/redis/create-redis-log.ts";
import { claimIdleSession } from "../../../src/session/lifecycle/claim.ts";
import { eraseSession } from "../../../src/session/lifecycle/erase.ts";
import { createLossReporter } from "../../../src/session/lifecycle/report-loss.ts";
import { createMemoryStore } from "@turnstream/testing";
import type { SessionRef } from "../../../src/util/refs.ts";
import { SessionHarness } from "../../session/session-harness.ts";
import { sessionRef, startSession, takeover, titles } from "../drafts.ts";

const DAY_MS = 24 * 60 * 60 * 1_000;

let redis: RedisServer;
let log: Log;

beforeAll(async () => {
  redis = await startRedis();
  log = await createRedisLog({ url: redis.url });
});
afterAll(async () => {
  await log.close();
  await redis.stop();
});

/** Starts a log that was trimmed up to 7-2, and has one more entry. */
async function startTrimmed(session: SessionRef, text: string, epoch = 7): Promise<void> {
  const writer = epoch === 7 ? "w1" : `w${epoch}`;
  await log.append(session, { writer, epoch, counter: 1, events: titles("archived", text) });
  const head = await log.head(session);
  await log.trim(session, `${epoch}-${Number(head?.last.split("-")[1]) - 1}`);
}

function claimFrom(session: SessionRef, epoch: number, archivedUpTo: string): Promise<AppendResult> {
  return log.claim(session, { epoch, writer: `w${epoch}`, event: takeover(), archivedUpTo });
}

const readKey = async (key: string | undefined): Promise<string> =>
  JSON.stringify(await redis.command("XRANGE", key ?? "", "-", "+"));

test("the archive is behind: the newest dropped log stays for seven days, and is removed with the session", async () => {
  const session = await startSession(log);
  await startTrimmed(session, "first");
  const { setAside } = await claimFrom(session, 8, "7-1");
  expect(setAside).toBe(`ts:{t/${session.session}}:set-aside`);
  expect(await readKey(setAside)).toContain("first");
  const ttl = Number(await redis.command("PTTL", setAside ?? ""));
  expect(ttl).toBeGreaterThan(6 * DAY_MS);
  expect(ttl).toBeLessThanOrEqual(7 * DAY_MS);
  await startTrimmed(session, "second", 8);
  expect((await claimFrom(session, 9, "7-1")).setAside).toBe(setAside);
  expect(await readKey(setAside)).toContain("second");
  expect(await readKey(setAside)).not.toContain("first");
  await log.remove(session);
  expect(await redis.command("KEYS", `*${session.session}*`)).toEqual([]);
});

test("a log whose entries are all archived is not kept", async () => {
  const session = await startSession(log, sessionRef());
  await log.append(session, { writer: "w1", epoch: 7, counter: 1, events: titles("lost in Redis") });
  expect((await claimFrom(session, 8, "7-9")).setAside).toBeUndefined();
  expect((await claimFrom(session, 9, "8-10")).setAside).toBeUndefined();
  expect(await redis.command("EXISTS", `ts:{t/${session.session}}:set-aside`)).toBe(0);
});

test("the report of the loss names the key, and erasing the session deletes it", async () => {
  const parts = { store: createMemoryStore(), log };
  const harness = await (await SessionHarness.make(parts)).start();
  const { ref } = harness;
  await harness.append(...titles("lost"));
  await log.trim(ref, harness.events.at(-1)?.id ?? "");
  await harness.append(...titles("in Redis only"));
  const errors: string[] = [];
  const onLoss = createLossReporter(
    () => undefined,
    (error) => errors.push(String(error)),
  );
  await claimIdleSession({ ...parts, onLoss }, ref, "worker");
  const key = `ts:{${ref.tenant}/${ref.session}}:set-aside`;
  expect(errors).toEqual([expect.stringContaining(`stay in Redis for seven days, as the stream ${key}`)]);
  expect(await readKey(key)).toContain("in Redis only");
  await eraseSession(parts, ref);
  expect(await redis.command("KEYS", `*${ref.session}*`)).toEqual([]);
});
