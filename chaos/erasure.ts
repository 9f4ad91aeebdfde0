/**
 * `erasure` tests promise 25: nothing of an erased session or user is left in PostgreSQL, in Redis, in their files or in
 * the object storage, although other processes keep working on it. Sessions of other users lose nothing. The test
 * searches for a canary that `fill` writes to every place with content. Every second round keeps files in PostgreSQL.
 *
 * Not searched: PostgreSQL's write-ahead log, which is overwritten in time.
 */
import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import {
  createRedisLog,
  eraseSession,
  eraseUser,
  forkShare,
  migrate,
  openDatabase,
  type Backend,
  createPostgresStore,
  verifyTenantAudit,
} from "@turnstream/server";
import { finishErasures } from "@turnstream/server/internal";
import { createS3Storage } from "@turnstream/server/s3";
import { isStoreError } from "@turnstream/server/ports";
import { until } from "@turnstream/testkit/util/until.ts";
import { startPostgres } from "@turnstream/testkit/servers/start-postgres.ts";
import { startRedis, type RedisServer } from "@turnstream/testkit/servers/start-redis.ts";
import { type S3Server, startS3 } from "@turnstream/testkit/servers/start-s3.ts";
import { runSql } from "@turnstream/testkit/servers/run-sql.ts";
import { ADDRESS, type Filled, fill } from "./canary-fill.ts";
import { idleOn, relayAll, workOn } from "./canary-work.ts";
import type { Figure, RunOptions, Scenario } from "./scenario.ts";
import { searchFiles, searchRedis, searchTables } from "./search.ts";

const ABOUT = "erases sessions and users that are in use, then searches for them everywhere";
const TENANT = "chaos";
const LONGEST_MS = 150;
const AFTERWARDS_MS = 50;
const HANGS_MS = 120_000;
/** Sessions that one round erases. */
const PER_ROUND = 5;

/** Canaries: texts that occur nowhere else. */
const ERASED = `erased${randomUUID().slice(0, 8)}`;
const RETAINED = `retained${randomUUID().slice(0, 8)}`;
const LENT = `lent${randomUUID().slice(0, 8)}`;

const COUNTS = {
  before: 0,
  done: 0,
  refused: 0,
  inTables: 0,
  inRedis: 0,
  inFiles: 0,
  objectsBefore: 0,
  inObjects: 0,
  objectsLost: 0,
  retainedTables: 0,
  retainedRedis: 0,
  retainedFiles: 0,
  lost: 0,
  signed: 0,
  forksLost: 0,
  badAudits: 0,
  addresses: 0,
};

interface World {
  readonly url: string;
  readonly backend: Backend;
  readonly redis: RedisServer;
  /** Null in a round that keeps files in PostgreSQL. */
  readonly s3: S3Server | null;
  readonly progress: (text: string) => void;
}

async function run({ times, random, progress }: RunOptions): Promise<Figure[]> {
  // Uncompressed, so that a search finds the bytes.
  const config = { rdbcompression: "no", "aof-use-rdb-preamble": "no" };
  const [server, redis, s3] = await Promise.all([startPostgres(), startRedis({ config }), startS3()]);
  const db = openDatabase({ url: server.url, max: 30 });
  const backend = { store: createPostgresStore(db), log: await createRedisLog({ url: redis.url }) };
  const storage = createS3Storage(s3.options);
  const inS3 = { ...backend, store: createPostgresStore(db, { storage }) };
  try {
    await migrate(db);
    await backend.store.tenants.create({ id: TENANT, name: "Chaos" });
    const sum = { ...COUNTS };
    const rounds = Math.ceil(times / PER_ROUND);
    for (let n = 1; n <= rounds; n++) {
      const files = n % 2 === 1 ? { backend: inS3, s3 } : { backend, s3: null };
      const counts = await round({ url: server.url, ...files, redis, progress }, n, random() * LONGEST_MS);
      for (const key of Object.keys(sum) as (keyof typeof sum)[]) sum[key] += counts[key];
      progress(`${n} of ${rounds}: ${JSON.stringify(sum)}`);
    }
    await Promise.all([rewritePostgres(server.url), rewriteRedis(redis)]);
    const files = (needle: string) => [
      ...searchFiles(server.folder, needle, ["pg_wal"]),
      ...searchFiles(redis.folder, needle),
    ];
    const found = files(ERASED);
    for (const file of found) progress(`left in ${file}`);
    sum.inFiles = found.length;
    sum.retainedFiles = files(RETAINED).length;
    return figuresOf(sum, rounds);
  } finally {
    // Stop the servers first: a client that hangs on one of them would otherwise never close.
    await Promise.all([server.stop(), redis.stop(), s3.stop()]);
    await Promise.all([backend.store.close(), inS3.store.close(), backend.log.close()]);
  }
}

/**
 * Rewrites all tables without deleted rows. `analyze` comes first, because the planner's samples are in a table too.
 */
async function rewritePostgres(url: string): Promise<void> {
  await runSql(url, "analyze", "vacuum full", "checkpoint");
}

async function rewriteRedis(redis: RedisServer): Promise<void> {
  await redis.command("BGREWRITEAOF");
  await until("Redis to rewrite its file", async () => {
    const info = String(await redis.command("INFO", "persistence"));
    return info.includes("aof_rewrite_in_progress:0") && info.includes("aof_rewrite_scheduled:0");
  });
}

async function round(world: World, n: number, eraseMs: number): Promise<typeof COUNTS> {
  const { url, backend, redis, s3 } = world;
  const session = (name: string) => ({ tenant: TENANT, session: `${name}.${n}` });
  const user = `${ERASED}.author.${n}`;
  const stays = `${RETAINED}.author.${n}`;
  const [one, two, idle, lent, mine, other] = [
    await fill(backend, session("one"), user, `${ERASED}.text.${n}`),
    await fill(backend, session("two"), user, `${ERASED}.text.${n}`),
    await fill(backend, session("idle"), user, `${ERASED}.text.${n}`),
    // The fork of this session belongs to another user and stays. The id of the user who wrote its messages must not
    // stay.
    await fill(backend, session("lent"), user, `${LENT}.text.${n}`, `${LENT}.author.${n}`),
    await fill(backend, session("mine"), stays, `${ERASED}.text.${n}`),
    await fill(backend, session("other"), stays, `${RETAINED}.text.${n}`),
  ];
  await forkShare(backend.store, { tenant: TENANT, user: stays }, lent.share, { id: `fork.${n}` });
  // The planner's samples contain content too.
  await runSql(url, "analyze");
  const before = (await searchTables(url, ERASED)).length + (await searchRedis(redis, ERASED)).length;
  const objectsBefore = s3?.search(ERASED).length ?? 0;
  let over = false;
  const isOver = () => over;
  const working = [
    idleOn(backend, idle, isOver),
    ...[one, two, lent, mine, other].map((filled) => workOn(backend, filled, isOver)),
  ];
  const relaying = [relayAll(backend, isOver), relayAll(backend, isOver)];
  const all = Promise.all([...working, ...relaying]);
  // The failure is reported where `all` is awaited.
  all.catch(() => undefined);
  try {
    await eraseBeside(backend, user, mine, eraseMs);
    await sleep(AFTERWARDS_MS);
  } finally {
    over = true;
  }
  await inTime(all);
  const work = await Promise.all(working);
  await finishErasures(backend, { graceMs: 0 });
  return {
    ...COUNTS,
    before,
    objectsBefore,
    done: work.reduce((sum, { done }) => sum + done, 0),
    refused: work.reduce((sum, { refused }) => sum + refused, 0),
    ...(await look(world, n, other)),
  };
}

/** Erases a user and one session of another user, then lets a late claim arrive. */
async function eraseBeside(backend: Backend, user: string, mine: Filled, eraseMs: number): Promise<void> {
  const { session } = mine.ref;
  await sleep(eraseMs);
  const { epoch, archived } = await backend.store.epochs.next(mine.ref, {
    seen: 0,
    by: "late",
    reason: "test",
  });
  await inTime(
    Promise.all([
      erase(() => eraseUser(backend, TENANT, user)),
      erase(() => eraseSession(backend, mine.ref)),
    ]),
  );
  await finishErasures(backend);
  // A worker got its epoch before the session was erased and claims only now.
  const event = { type: "session.start", session, number: 1, title: mine.canary } as const;
  await backend.log.claim(mine.ref, { epoch, writer: "late", event, archivedUpTo: archived });
}

async function inTime<T>(work: Promise<T>): Promise<T> {
  const late = sleep(HANGS_MS, undefined, { ref: false }).then(() => {
    throw new Error(`erasure and concurrent work did not finish within ${HANGS_MS} ms`);
  });
  return Promise.race([work, late]);
}

/** Retries while concurrent work blocks the erasure. */
async function erase(work: () => Promise<unknown>): Promise<void> {
  while (true) {
    try {
      await work();
      return;
    } catch (error) {
      if (!isStoreError(error, "BUSY")) throw error;
    }
  }
}

async function look({ url, backend, redis, s3, progress }: World, n: number, other: Filled) {
  const tables = await searchTables(url, ERASED);
  const keys = await searchRedis(redis, ERASED);
  for (const hit of [...tables, ...keys]) progress(hit);
  const retained = await searchTables(url, `${RETAINED}.text.${n}`);
  const retainedRedis = await searchRedis(redis, `${RETAINED}.text.${n}`);
  // The tables that contain rows of a session that was not erased.
  const names = new Set(retained.map((hit) => hit.split(":")[0]));
  const lost = (await backend.store.sessions.find(other.ref)) === null ? 1 : 0;
  const signed = (await searchTables(url, `${LENT}.author.${n}`)).length;
  const forked = (await searchTables(url, `${LENT}.text.${n}`)).filter((hit) =>
    hit.startsWith("archived_events"),
  );
  const { ok } = await verifyTenantAudit(backend.store.audit, TENANT);
  return {
    inTables: tables.length,
    inRedis: keys.length,
    inObjects: s3?.search(ERASED).length ?? 0,
    // A blob and an upload.
    objectsLost: s3 === null ? 0 : Math.max(0, 2 - s3.search(`${RETAINED}.text.${n}`).length),
    retainedTables: names.size,
    retainedRedis: retainedRedis.length,
    lost,
    signed,
    forksLost: forked.length === 0 ? 1 : 0,
    badAudits: ok ? 0 : 1,
    addresses: (await searchTables(url, ADDRESS)).length,
  };
}

function figuresOf(sum: typeof COUNTS, rounds: number): Figure[] {
  return [
    { figure: "erased sessions", value: rounds * PER_ROUND, exactly: rounds * PER_ROUND },
    { figure: "rows and keys with the canary before the erasure", value: sum.before, atLeast: 50 * rounds },
    { figure: "operations that succeeded meanwhile", value: sum.done, atLeast: 10 * rounds },
    { figure: "operations refused meanwhile", value: sum.refused, atLeast: 10 * rounds },
    { figure: "left in tables", value: sum.inTables, exactly: 0 },
    { figure: "left in Redis", value: sum.inRedis, exactly: 0 },
    { figure: "left in files", value: sum.inFiles, exactly: 0 },
    { figure: "objects with the canary before the erasure", value: sum.objectsBefore, atLeast: 8 },
    { figure: "left in the object storage", value: sum.inObjects, exactly: 0 },
    { figure: "other users' objects lost", value: sum.objectsLost, exactly: 0 },
    {
      figure: "tables that still contain the other users' canaries",
      value: sum.retainedTables,
      atLeast: 10 * rounds,
    },
    {
      figure: "Redis keys that still contain the other users' canaries",
      value: sum.retainedRedis,
      atLeast: rounds,
    },
    { figure: "files that still contain the other users' canaries", value: sum.retainedFiles, atLeast: 10 },
    { figure: "other users' sessions lost", value: sum.lost, exactly: 0 },
    { figure: "rows of forks that name the erased user", value: sum.signed, exactly: 0 },
    { figure: "forks lost", value: sum.forksLost, exactly: 0 },
    { figure: "audits that don't verify", value: sum.badAudits, exactly: 0 },
    { figure: "rows with a network address of the user", value: sum.addresses, exactly: 0 },
  ];
}

export const erasure: Scenario = { promise: 25, about: ABOUT, times: 100, short: 5, run };
