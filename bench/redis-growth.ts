/**
 * `benchRedisGrowth` measures whether the memory of Redis grows with the number of turns. Most turns only write to the
 * log through `Writer` and `LogRetention`; the others are whole turns of a worker. The lags are seconds instead of
 * minutes. Memory is measured when the log of every turn so far should have expired.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { formatCursor } from "@turnstream/protocol";
import { createRedisLog, defineAgent, type SessionRef } from "@turnstream/server";
import {
  createWorker,
  isLogError,
  type Log,
  LogRetention,
  systemEnv,
  Writer,
} from "@turnstream/server/internal";
import { createMemoryStore, script, scriptedModel } from "@turnstream/testing";
import { FEATURES } from "@turnstream/testkit/backend/test-features.ts";
import { openBackend } from "@turnstream/testkit/backend/open-backend.ts";
import { type RedisServer, startRedis } from "@turnstream/testkit/servers/start-redis.ts";
import { median } from "@turnstream/testkit/util/median.ts";
import { figure, type Measurement } from "./measure.ts";
import { KEY_PREFIX, openSessions, openTurnsEnvironment, runTurns } from "./turns-environment.ts";

export interface GrowthSize {
  readonly writtenTurns: number;
  readonly wholeTurns: number;
  /** Memory is measured after each of this many parts. */
  readonly parts: number;
}

const FULL: GrowthSize = { writtenTurns: 95_000, wholeTurns: 5_000, parts: 10 };
export const SHORT: GrowthSize = { writtenTurns: 400, wholeTurns: 20, parts: 2 };

const TRIM_MS = 500;
const EXPIRE_MS = 2_000;
/** How many turns are written at a time. */
const CONCURRENCY = 100;
const SAMPLE_MS = 100;
const TURNS_PER_SESSION = 4;
const APPENDS = 8;
const TEXT = "lorem ipsum dolor sit amet ".repeat(40);
/** How much more memory the last measurement may show than the first. */
const MAX_GROWTH = 1.05;

export async function benchRedisGrowth(size?: GrowthSize): Promise<Measurement[]> {
  const chosen = size ?? (process.argv.includes("--short") ? SHORT : FULL);
  return [...(await measureWritten(chosen)), ...(await measureWhole(chosen))];
}

async function measureWritten({ writtenTurns, parts }: GrowthSize): Promise<Measurement[]> {
  const redis = await startRedis({ config: { appendfsync: "everysec" } });
  const log = await createRedisLog({ url: redis.url, keyPrefix: KEY_PREFIX });
  const store = createMemoryStore();
  const retention = new LogRetention({ store, log }, { trimAfterMs: TRIM_MS, expireAfterMs: EXPIRE_MS });
  let next = 0;
  try {
    const work = async (): Promise<void> => {
      const end = next + Math.ceil(writtenTurns / parts);
      const takeSessions = async (): Promise<void> => {
        while (next < end) {
          const first = next;
          next += TURNS_PER_SESSION;
          const ref = { tenant: "bench", session: `s-${first}` };
          for (let n = 1; n <= TURNS_PER_SESSION; n++) await writeTurn(log, retention, ref, n);
        }
      };
      await Promise.all(Array.from({ length: CONCURRENCY }, takeSessions));
    };
    return await measureParts("written turns", redis, writtenTurns, parts, work);
  } finally {
    retention.close();
    await Promise.all([log.close(), store.close()]);
    await redis.stop();
  }
}

/** Claims the log, writes the events of one turn, and lets them expire, as a worker does after it has archived them. */
async function writeTurn(log: Log, retention: LogRetention, ref: SessionRef, epoch: number): Promise<void> {
  const writer = `w.${epoch}`;
  const archivedUpTo = (await log.head(ref))?.last ?? "0-0";
  const event = { type: "turn.takeover", turn: null, blocks: [], groups: [], runs: [] } as const;
  await log.claim(ref, { epoch, writer, event, archivedUpTo });
  const turn = new Writer({
    log,
    ref,
    writer,
    epoch,
    blobs: { put: async () => undefined },
    newBlobId: () => systemEnv.id(),
    batchDelayMs: 0,
  });
  const on = { turn: "t", run: "r", block: "b", index: 0 };
  for (let n = 0; n < APPENDS; n++) {
    await turn.write({ type: "text.delta", ...on, text: TEXT });
    await turn.flush();
  }
  const last = await turn.flush();
  if (last !== null) await retention.settle(ref, formatCursor(last));
}

async function measureWhole({ wholeTurns, parts }: GrowthSize): Promise<Measurement[]> {
  const environment = await openTurnsEnvironment();
  const { backend, actor } = environment;
  const { databaseUrl, redisUrl } = backend;
  const own = await openBackend({ databaseUrl, redisUrl, keyPrefix: KEY_PREFIX });
  const { store, log, signals } = own;
  const model = scriptedModel([[script.text(TEXT)]]);
  const failures: unknown[] = [];
  const worker = await createWorker({
    store,
    log,
    signals,
    agents: [defineAgent({ name: "short", model, title: false })],
    features: FEATURES,
    trimLogAfterMs: TRIM_MS,
    expireLogAfterMs: EXPIRE_MS,
    onError(error) {
      if (!isLogError(error, "NOT_DURABLE")) failures.push(error);
    },
  });
  try {
    const perPart = Math.ceil(wholeTurns / parts);
    const work = async (): Promise<void> => {
      for (let left = perPart; left > 0; left -= CONCURRENCY) {
        const refs = await openSessions({ backend, actor }, Math.min(CONCURRENCY, left));
        await runTurns(environment, refs, "short");
      }
    };
    return [
      ...(await measureParts("whole turns", backend.redis, wholeTurns, parts, work)),
      figure("whole turns: errors", failures.length, "", 0),
    ];
  } finally {
    await worker.shutdown();
    await own.close();
    await backend.close();
  }
}

/** Runs the parts, and measures the memory after each, when no log should be left. */
async function measureParts(
  name: string,
  redis: RedisServer,
  turns: number,
  parts: number,
  work: () => Promise<void>,
): Promise<Measurement[]> {
  const [afterExpiry, busy]: [number[], number[]] = [[], []];
  let forever = 0;
  for (let part = 0; part < parts; part++) {
    let most = 0;
    const sampling = setInterval(() => {
      void readMemory(redis).then((bytes) => (most = Math.max(most, bytes)));
    }, SAMPLE_MS);
    await work();
    clearInterval(sampling);
    busy.push(most);
    // Right after the turns, their logs are still there.
    forever += await countForever(redis);
    await waitForExpiry(redis);
    afterExpiry.push(await readMemory(redis));
  }
  const growth = (values: readonly number[]): number =>
    median(values.slice(-Math.ceil(parts / 3))) / median(values.slice(0, Math.ceil(parts / 3)));
  return [
    figure(`${name}: turns`, turns, ""),
    figure(
      `${name}: memory after the last / after the first, all logs expired`,
      growth(afterExpiry),
      "",
      MAX_GROWTH,
    ),
    figure(`${name}: memory while turns run, last / first`, growth(busy), ""),
    figure(`${name}: memory at the end`, (afterExpiry.at(-1) ?? 0) / 1024, "KB"),
    figure(`${name}: most memory while turns run`, Math.max(...busy) / 1024, "KB"),
    figure(`${name}: keys of sessions without a time to live`, forever, "", 0),
    figure(`${name}: keys of sessions left`, (await sessionKeys(redis)).length, "", 0),
  ];
}

async function waitForExpiry(redis: RedisServer): Promise<void> {
  const deadline = performance.now() + 20 * EXPIRE_MS;
  while ((await sessionKeys(redis)).length > 0 && performance.now() < deadline) await sleep(200);
  // What Redis frees in the background.
  await sleep(500);
}

/** All keys but those of health checks. */
async function sessionKeys(redis: RedisServer): Promise<string[]> {
  const keys = (await redis.command("KEYS", `${KEY_PREFIX}:{*`)) as string[];
  return keys;
}

async function countForever(redis: RedisServer): Promise<number> {
  const count = `local n = 0
    for _, key in ipairs(redis.call('KEYS', ARGV[1])) do if redis.call('PTTL', key) == -1 then n = n + 1 end end
    return n`;
  return Number(await redis.command("EVAL", count, 0, `${KEY_PREFIX}:{*`));
}

async function readMemory(redis: RedisServer): Promise<number> {
  return Number(/^used_memory:(\d+)/m.exec(String(await redis.command("INFO", "memory")))?.[1]);
}
