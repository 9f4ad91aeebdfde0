/**
 * `erasure` tests promise 25: nothing of an erased session or user is left in PostgreSQL, in Redis, in their files or in
 * the object storage, although other processes keep working on it. Sessions of other users lose nothing. The test
 * searches for a canary that `fill` writes to every place with content. Every second round keeps files in PostgreSQL.
 *
 * Not searched: PostgreSQL's write-ahead log, which is overwritten in time.
 */
import { verifyTenantAudit } from "../../packages/cli/src/audit/verify-audit.ts";
import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import {
  createRedisLog,
  eraseSession,
  eraseUser,
  forkShare,
  openDatabase,
  type Backend,
  createPostgresStore,
} from "@turnstream/server";
import { finishErasures, isStoreError } from "@turnstream/server/internal";
import { migrateDatabase } from "@turnstream/testkit/backend/migrate-database.ts";
import { createS3Storage } from "@turnstream/s3";
import { until } from "@turnstream/testkit/util/until.ts";
import { startPostgres } from "@turnstream/testkit/servers/start-postgres.ts";
import { startRedis, type RedisServer } from "@turnstream/testkit/servers/start-redis.ts";
import { type S3Server, startS3 } from "@turnstream/testkit/servers/start-s3.ts";
import { runSql } from "@turnstream/testkit/servers/run-sql.ts";
import { ADDRESS, type Filled, fill } from "./canary-fill.ts";
import { idleOn, relayAll, workOn } from "./canary-work.ts";
import { Figures } from "./figures.ts";
import type { Figure, RunOptions, Scenario } from "./scenario.ts";
import { searchFiles, searchRedis, searchTables } from "./search.ts";

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

interface World {
  readonly url: string;
  readonly backend: Backend;
  readonly redis: RedisServer;
  /** Null in a round that keeps files in PostgreSQL. */
  readonly s3: S3Server | null;
  readonly figures: ReturnType<typeof createFigures>;
}

function createFigures(rounds: number, progress: RunOptions["progress"]) {
  return new Figures(progress, {
    "erased sessions": { exactly: rounds * PER_ROUND },
    "rows and keys with the canary before the erasure": { atLeast: 50 * rounds },
    "objects with the canary before the erasure": { atLeast: 8 },
    "operations that succeeded meanwhile": { atLeast: 10 * rounds },
    "operations refused meanwhile": { atLeast: 10 * rounds },
    "left in tables": { exactly: 0 },
    "left in Redis": { exactly: 0 },
    "left in files": { exactly: 0 },
    "left in the object storage": { exactly: 0 },
    "other users' objects lost": { exactly: 0 },
    "other users' sessions lost": { exactly: 0 },
    "tables that still contain the other users' canaries": { atLeast: 10 * rounds },
    "Redis keys that still contain the other users' canaries": { atLeast: rounds },
    "files that still contain the other users' canaries": { atLeast: 10 },
    "rows of forks that name the erased user": { exactly: 0 },
    "forks lost": { exactly: 0 },
    "audits that don't verify": { exactly: 0 },
    "rows with a network address of the user": { exactly: 0 },
  });
}

async function run({ times, random, progress }: RunOptions): Promise<Figure[]> {
  // Uncompressed, so that a search finds the bytes.
  const config = { rdbcompression: "no", "aof-use-rdb-preamble": "no" };
  const [server, redis, s3] = await Promise.all([startPostgres(), startRedis({ config }), startS3()]);
  const db = openDatabase({ url: server.url, max: 30 });
  const backend = { store: createPostgresStore(db), log: await createRedisLog({ url: redis.url }) };
  const inS3 = { ...backend, store: createPostgresStore(db, { storage: createS3Storage(s3.options) }) };
  const rounds = Math.ceil(times / PER_ROUND);
  const figures = createFigures(rounds, progress);
  try {
    await migrateDatabase(server.url);
    await backend.store.tenants.create({ id: TENANT, name: "Chaos" });
    for (let n = 1; n <= rounds; n++) {
      const files = n % 2 === 1 ? { backend: inS3, s3 } : { backend, s3: null };
      await playRound({ url: server.url, ...files, redis, figures }, n, random() * LONGEST_MS);
      figures.print(`${n} of ${rounds}`);
    }
    // PostgreSQL analyzes no empty table: its samples of deleted rows stay until it has rows again.
    await fill(backend, { tenant: TENANT, session: "last" }, `${RETAINED}.last`, `${RETAINED}.text`);
    await Promise.all([rewritePostgres(server.url), rewriteRedis(redis)]);
    const search = (needle: string) => [
      ...searchFiles(server.folder, needle, ["pg_wal"]),
      ...searchFiles(redis.folder, needle),
    ];
    figures.report("left in files", search(ERASED));
    figures.add("files that still contain the other users' canaries", search(RETAINED).length);
    return figures.list();
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

async function playRound(world: World, n: number, eraseMs: number): Promise<void> {
  const { url, backend, redis, s3, figures } = world;
  const user = `${ERASED}.author.${n}`;
  const stays = `${RETAINED}.author.${n}`;
  const fillSession = (name: string, owner: string, canary: string, signs?: string) =>
    fill(backend, { tenant: TENANT, session: `${name}.${n}` }, owner, `${canary}.text.${n}`, signs);
  const one = await fillSession("one", user, ERASED);
  const two = await fillSession("two", user, ERASED);
  const idle = await fillSession("idle", user, ERASED);
  // The fork of this session belongs to another user and stays. The id of the user who wrote its messages must not stay.
  const lent = await fillSession("lent", user, LENT, `${LENT}.author.${n}`);
  const mine = await fillSession("mine", stays, ERASED);
  const other = await fillSession("other", stays, RETAINED);
  await forkShare(backend.store, { tenant: TENANT, user: stays }, lent.share, { id: `fork.${n}` });
  // The planner's samples contain content too.
  await runSql(url, "analyze");
  const before = [...(await searchTables(url, ERASED)), ...(await searchRedis(redis, ERASED))];
  figures.add("rows and keys with the canary before the erasure", before.length);
  figures.add("objects with the canary before the erasure", s3?.search(ERASED).length ?? 0);
  let isEnded = false;
  const isOver = () => isEnded;
  const working = Promise.all([
    idleOn(backend, idle, isOver),
    ...[one, two, lent, mine, other].map((filled) => workOn(backend, filled, isOver)),
    ...[1, 2].map(() => relayAll(backend, isOver)),
  ]);
  // The failure is reported where `working` is awaited.
  working.catch(() => undefined);
  try {
    await eraseBeside(backend, user, mine, eraseMs);
    await sleep(AFTERWARDS_MS);
  } finally {
    isEnded = true;
  }
  for (const { done, refused } of await inTime(working)) {
    figures.add("operations that succeeded meanwhile", done);
    figures.add("operations refused meanwhile", refused);
  }
  await finishErasures(backend, { graceMs: 0 });
  figures.add("erased sessions", PER_ROUND);
  await check(world, n, other);
}

/** Erases a user and one session of another user, then lets a late claim arrive. */
async function eraseBeside(backend: Backend, user: string, mine: Filled, eraseMs: number): Promise<void> {
  const { session } = mine.ref;
  await sleep(eraseMs);
  const { epoch, archived } = await backend.store.epochs.next(mine.ref, { seen: 0 });
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

async function check({ url, backend, redis, s3, figures }: World, n: number, other: Filled): Promise<void> {
  figures.report("left in tables", await searchTables(url, ERASED));
  figures.report("left in Redis", await searchRedis(redis, ERASED));
  figures.report("left in the object storage", s3?.search(ERASED) ?? []);
  figures.report("rows of forks that name the erased user", await searchTables(url, `${LENT}.author.${n}`));
  figures.report("rows with a network address of the user", await searchTables(url, ADDRESS));
  const retained = `${RETAINED}.text.${n}`;
  const tables = new Set((await searchTables(url, retained)).map((hit) => hit.split(":")[0]));
  const keys = await searchRedis(redis, retained);
  figures.add("tables that still contain the other users' canaries", tables.size);
  figures.add("Redis keys that still contain the other users' canaries", keys.length);
  // A blob and an upload.
  if (s3 !== null) figures.add("other users' objects lost", Math.max(0, 2 - s3.search(retained).length));
  if ((await backend.store.sessions.find(other.ref)) === null) figures.add("other users' sessions lost");
  const forked = await searchTables(url, `${LENT}.text.${n}`);
  if (!forked.some((hit) => hit.startsWith("archived_events"))) figures.add("forks lost");
  if (!(await verifyTenantAudit(backend.store.audit, TENANT)).ok) figures.add("audits that don't verify");
}

export const erasure: Scenario = {
  promise: 25,
  about: "erases sessions and users that are in use, then searches for them everywhere",
  times: 100,
  short: 5,
  run,
};
