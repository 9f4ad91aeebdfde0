/** Tests that every subscribe ends: if the server is unreachable, if it stops responding, and when the log closes. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { connect, createServer, type Server } from "node:net";
import { type RedisServer, startRedis } from "@turnstream/testkit/servers/start-redis.ts";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createRedisLog } from "../../../src/log/redis/create-redis-log.ts";
import { Reader, refusal, sessionStart, titles, sessionRef } from "../drafts.ts";

const SESSION = sessionRef("s");
const NO_SERVER = "redis://127.0.0.1:1";
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

let redis: RedisServer;
beforeAll(async () => {
  redis = await startRedis();
});
afterAll(() => redis.stop());

interface Silencer {
  readonly url: string;
  /** The next `connections` connections stop responding once a request that contains `word` passes. */
  silence(word: string, connections: number): void;
  close(): Promise<void>;
}

async function startSilencer(): Promise<Silencer> {
  let word = "";
  let left = 0;
  const server: Server = createServer((client) => {
    const upstream = connect(redis.port, "127.0.0.1");
    let isSilent = false;
    for (const [from, to] of [[client, upstream] as const, [upstream, client] as const]) {
      from.on("error", () => undefined).on("close", () => to.destroy());
    }
    client.on("data", (data) => {
      if (left > 0 && data.toString().toLowerCase().includes(word)) {
        left--;
        isSilent = true;
      }
      upstream.write(data);
    });
    upstream.on("data", (data) => isSilent || client.write(data));
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as { port: number };
  return {
    url: `redis://127.0.0.1:${port}`,
    silence(at, connections) {
      word = at;
      left = connections;
    },
    async close() {
      server.close();
      await once(server, "close");
    },
  };
}

describe("subscribe", () => {
  test("ends the reader as unavailable in time when the server is unreachable", async () => {
    const log = await createRedisLog({ url: NO_SERVER, connectionWaitMs: 200, timeoutMs: 600 });
    const reader = new Reader(log, SESSION, { after: "1-1" });
    await reader.until(({ end }) => end !== null, 30_000);
    expect(reader.end).toBe("unavailable");
    await log.close();
  });

  test.for(["hello", "load", "ssubscribe"])(
    "replaces a connection that stops responding at %s and retries",
    async (word) => {
      const silencer = await startSilencer();
      const session = sessionRef(`silent-${word}`);
      const options = {
        url: silencer.url,
        responseTimeoutMs: 300,
        connectionWaitMs: 2_000,
        healthCheckMs: 5_000,
      };
      const direct = await createRedisLog({ url: redis.url, responseTimeoutMs: 30_000 });
      await direct.claim(session, {
        epoch: 1,
        writer: "w",
        event: sessionStart(session),
        archivedUpTo: "0-0",
      });
      silencer.silence(word, 2);
      const log = await createRedisLog(options);
      const reader = new Reader(log, session, { after: "0-0" });
      await reader.until(({ entries }) => entries.length === 1, 30_000);
      await pause(50);
      silencer.silence(word, 2);
      await redis.command("CLIENT", "KILL", "TYPE", "pubsub");
      await direct.append(session, { writer: "g", counter: 1, events: titles("missed") });
      await reader.until(({ entries }) => entries.length === 2, 30_000);
      await direct.append(session, { writer: "g", counter: 2, events: titles("live") });
      await reader.until(({ entries }) => entries.length === 3, 30_000);
      expect(reader.texts).toEqual(["session.start", "missed", "live"]);
      await reader.stop();
      await log.close();
      await direct.close();
      await silencer.close();
    },
  );

  test("fails when no server of a cluster is reachable", async () => {
    expect(await refusal(createRedisLog({ url: [NO_SERVER, NO_SERVER], responseTimeoutMs: 300 }))).toBe(
      "UNAVAILABLE",
    );
  });
});

test("ends every pending call when the log closes", async () => {
  const log = await createRedisLog({ url: NO_SERVER, connectionWaitMs: 30_000 });
  const head = refusal(log.head(SESSION));
  const reader = new Reader(log, SESSION, { after: "1-1" });
  await pause(50);
  await log.close();
  expect(await head).toBe("UNAVAILABLE");
  await reader.stop();
});

describe("a process with a Redis log exits by itself", () => {
  const log = JSON.stringify(new URL("../../../src/log/redis/create-redis-log.ts", import.meta.url));

  async function run(script: string): Promise<{ code: number | null; ms: number; errors: string }> {
    const code = `import { createRedisLog } from ${log};\n${script}`;
    const args = ["--conditions=@turnstream/source", "--input-type=module", "-e", code];
    const child = spawn(process.execPath, args, { stdio: ["ignore", "ignore", "pipe"] });
    let errors = "";
    child.stderr.on("data", (data: Buffer) => (errors += data.toString()));
    const timer = setTimeout(() => child.kill("SIGKILL"), 40_000);
    const started = performance.now();
    await once(child, "close");
    clearTimeout(timer);
    return { code: child.exitCode, ms: performance.now() - started, errors };
  }

  test.for([
    ["after the log was closed during pending calls", "await log.close();"],
    ["if the log never reached its server", ""],
  ])("%s", { timeout: 60_000 }, async ([, close]) => {
    const url = close === "" ? NO_SERVER : redis.url;
    const script = `
      const ref = { tenant: "t", session: "s" };
      const log = await createRedisLog({ url: ${JSON.stringify(url)}, connectionWaitMs: 500, timeoutMs: 100 });
      const reading = (async () => { for await (const _ of log.attach(ref, { after: "1-1" })); })();
      await log.head(ref).catch(() => undefined);
      void log.claim(ref, { epoch: 1, writer: "w", event: { type: "session.start", session: "s", number: 1 }, archivedUpTo: "0-0" })
        .catch(() => undefined);
      ${close}`;
    const { code, ms, errors } = await run(script);
    expect({ code, errors }).toEqual({ code: 0, errors: "" });
    expect(ms).toBeLessThan(30_000);
  });
});
