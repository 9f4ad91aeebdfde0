/** Tests a failover behind a proxy that keeps the connections of its clients, so that they see no other server. */
import { startRespProxy, type RespProxy } from "@turnstream/testkit/network/resp-proxy.ts";
import {
  type RedisPair,
  startRedisPair,
  untilReplicated,
} from "@turnstream/testkit/servers/start-redis-pair.ts";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { Log } from "../../../src/log/log.ts";
import { createRedisLog } from "../../../src/log/redis/create-redis-log.ts";
import {
  describeEntry,
  Reader,
  readAll,
  refusal,
  sessionRef,
  startSession,
  takeover,
  titles,
} from "../drafts.ts";

let pair: RedisPair;
let proxy: RespProxy;
let log: Log;
let readers: Log;

beforeEach(async () => {
  pair = await startRedisPair();
  proxy = await startRespProxy(pair.primary.port);
  // Without a health check, nothing but the appends themselves notices the failover.
  const options = { url: proxy.url, healthCheckMs: 3_600_000, responseTimeoutMs: 30_000 };
  [log, readers] = await Promise.all([createRedisLog(options), createRedisLog(options)]);
});
afterEach(async () => {
  await Promise.all([log.close(), readers.close()]);
  await proxy.close();
  await pair.stop();
});

const own = { writer: "w1", epoch: 7 };
const joining = { writer: "o/row", counter: 0, isRetry: true, since: "0-0" };

/** Appends `kept` to both servers and `lost` to the first one only, and moves the clients to the second. */
async function failOver(session = sessionRef()): Promise<{ session: typeof session; reader: Reader }> {
  await startSession(log, session);
  await log.append(session, { ...own, counter: 1, events: titles("kept") });
  const reader = new Reader(readers, session, { after: "0-0" });
  await reader.until(({ texts }) => texts.includes("kept"));
  await untilReplicated(pair.primary, pair.replica);
  pair.link.cut();
  await log.append(session, { ...joining, events: titles("lost") });
  await reader.until(({ texts }) => texts.includes("lost"));
  await pair.promote();
  await proxy.moveTo(pair.replica.port);
  return { session, reader };
}

const texts = async (session: ReturnType<typeof sessionRef>): Promise<string[]> =>
  (await readAll(readers, session)).map(describeEntry);

test("refuses every write until the log is claimed again, and tells the readers", async () => {
  const { session, reader } = await failOver();
  const next = { ...own, counter: 2, events: titles("next") };
  expect(await refusal(log.append(session, next))).toBe("UNCLAIMED");
  expect(await refusal(log.append(session, { ...next, isRetry: true, generation: 1 }))).toBe("UNCLAIMED");
  expect(await refusal(log.append(session, { ...joining, events: titles("lost") }))).toBe("UNCLAIMED");
  expect(await texts(session)).toEqual(["session.start", "kept"]);
  await log.claim(session, { epoch: 8, writer: "w2", event: takeover(), archivedUpTo: "0-0" });
  await log.append(session, { ...own, writer: "w2", epoch: 8, counter: 1, events: titles("next") });
  await reader.until(({ end }) => end !== null);
  expect(reader.texts).toEqual(["session.start", "kept", "lost"]);
  // A client that comes back to a gateway that never read the session is told, too.
  expect(await readers.read(session, { after: "7-3" })).toEqual({ ok: false, reason: "lost" });
  expect(await texts(session)).toEqual(["session.start", "kept", "turn.takeover", "next"]);
});

test("a claim over a connection from before the failover begins a new timeline", async () => {
  const { session, reader } = await failOver();
  await log.claim(session, { epoch: 8, writer: "w2", event: takeover(), archivedUpTo: "0-0" });
  await reader.until(({ end }) => end !== null);
  expect(await texts(session)).toEqual(["session.start", "kept", "turn.takeover"]);
  await log.append(session, { ...joining, events: titles("lost") });
  expect(await texts(session)).toEqual(["session.start", "kept", "turn.takeover", "lost"]);
});
