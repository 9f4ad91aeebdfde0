/**
 * Promise 25: of an erased session or person nothing is left, neither in PostgreSQL nor in Redis nor in their files,
 * although everybody goes on working on it meanwhile; and nobody else loses anything. What is searched for is a
 * canary that stands wherever content can. Left out: PostgreSQL's write-ahead log, which is overwritten in time.
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
import { isStoreError } from "@turnstream/server/ports";
import { until } from "@turnstream/testkit/util/until.ts";
import { startPostgres } from "@turnstream/testkit/servers/start-postgres.ts";
import { startRedis, type RedisServer } from "@turnstream/testkit/servers/start-redis.ts";
import { runSql } from "@turnstream/testkit/servers/run-sql.ts";
import { type Filled, fill } from "./canary-fill.ts";
import { idleOn, relayAll, workOn } from "./canary-work.ts";
import type { Figure, RunOptions, Scenario } from "./scenario.ts";
import { searchFiles, searchRedis, searchTables } from "./search.ts";

const ABOUT = "erases sessions and people at work, then looks for them everywhere";
const TENANT = "chaos";
const LONGEST_MS = 150;
const AFTERWARDS_MS = 50;
const HANGS_MS = 20_000;
/** Sessions that a round erases. */
const PER_ROUND = 5;

/** Words that stand nowhere else. */
const ERASED = `gone${randomUUID().slice(0, 8)}`;
const RETAINED = `kept${randomUUID().slice(0, 8)}`;
const LENT = `lent${randomUUID().slice(0, 8)}`;

const COUNTS = {
  before: 0,
  done: 0,
  refused: 0,
  inTables: 0,
  inRedis: 0,
  inFiles: 0,
  retainedTables: 0,
  retainedRedis: 0,
  retainedFiles: 0,
  lost: 0,
  signed: 0,
  forksLost: 0,
  badAudits: 0,
};

interface World {
  readonly url: string;
  readonly backend: Backend;
  readonly redis: RedisServer;
  readonly progress: (text: string) => void;
}

async function run({ times, random, progress }: RunOptions): Promise<Figure[]> {
  // Plain bytes, so that they can be found.
  const config = { rdbcompression: "no", "aof-use-rdb-preamble": "no" };
  const [server, redis] = await Promise.all([startPostgres(), startRedis({ config })]);
  const db = openDatabase({ url: server.url, max: 30 });
  const backend = { store: createPostgresStore(db), log: await createRedisLog({ url: redis.url }) };
  try {
    await migrate(db);
    await backend.store.tenants.create({ id: TENANT, name: "Chaos" });
    const sum = { ...COUNTS };
    const rounds = Math.ceil(times / PER_ROUND);
    for (let n = 1; n <= rounds; n++) {
      const counts = await round({ url: server.url, backend, redis, progress }, n, random() * LONGEST_MS);
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
    // The servers first: who hangs in them would else never let go.
    await Promise.all([server.stop(), redis.stop()]);
    await Promise.all([backend.store.close(), backend.log.close()]);
  }
}

/** First the planner's samples of the tables, which stand in one too; then all are written anew without the deleted. */
async function rewritePostgres(url: string): Promise<void> {
  await runSql(url, "analyze", "vacuum full", "checkpoint");
}

async function rewriteRedis(redis: RedisServer): Promise<void> {
  await redis.command("BGREWRITEAOF");
  await until("the file of Redis to be written anew", async () => {
    const info = String(await redis.command("INFO", "persistence"));
    return info.includes("aof_rewrite_in_progress:0") && info.includes("aof_rewrite_scheduled:0");
  });
}

async function round(world: World, n: number, eraseMs: number): Promise<typeof COUNTS> {
  const { url, backend, redis } = world;
  const session = (name: string) => ({ tenant: TENANT, session: `${name}.${n}` });
  const user = `${ERASED}.person.${n}`;
  const stays = `${RETAINED}.person.${n}`;
  const [one, two, idle, lent, mine, other] = [
    await fill(backend, session("one"), user, `${ERASED}.said.${n}`),
    await fill(backend, session("two"), user, `${ERASED}.said.${n}`),
    await fill(backend, session("idle"), user, `${ERASED}.said.${n}`),
    // Its fork is somebody else's and stays, and so does the id of the person who signed what is in it.
    await fill(backend, session("lent"), user, `${LENT}.said.${n}`, `${LENT}.person.${n}`),
    await fill(backend, session("mine"), stays, `${ERASED}.said.${n}`),
    await fill(backend, session("other"), stays, `${RETAINED}.said.${n}`),
  ];
  await forkShare(backend.store, { tenant: TENANT, user: stays }, lent.share, { id: `fork.${n}` });
  // What the planner knows of the tables is content too.
  await runSql(url, "analyze");
  const before = (await searchTables(url, ERASED)).length + (await searchRedis(redis, ERASED)).length;
  let over = false;
  const isOver = () => over;
  const working = [
    idleOn(backend, idle, isOver),
    ...[one, two, lent, mine, other].map((filled) => workOn(backend, filled, isOver)),
  ];
  const relaying = [relayAll(backend, isOver), relayAll(backend, isOver)];
  const all = Promise.all([...working, ...relaying]);
  // Its failure is reported where it is waited for.
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
  // Word of orders that are gone is nobody's, and goes by age.
  await backend.store.payments.pruneNotices({ olderThanMs: 0, limit: 1_000 });
  return {
    ...COUNTS,
    before,
    done: work.reduce((sum, { done }) => sum + done, 0),
    refused: work.reduce((sum, { refused }) => sum + refused, 0),
    ...(await look(world, n, other)),
  };
}

/** Erases a person and a session of somebody else, and lets a claim come late. */
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
  // Somebody got their epoch before the session was gone, and comes to claim only now.
  const event = { type: "session.start", session, number: 1, title: mine.canary } as const;
  await backend.log.claim(session, { epoch, writer: "late", event, archivedUpTo: archived });
}

async function inTime<T>(work: Promise<T>): Promise<T> {
  const late = sleep(HANGS_MS, undefined, { ref: false }).then(() => {
    throw new Error(`those who erase and those who work still wait after ${HANGS_MS} ms`);
  });
  return Promise.race([work, late]);
}

/** Whoever erases tries again when others stood in the way. */
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

async function look({ url, backend, redis, progress }: World, n: number, other: Filled) {
  const tables = await searchTables(url, ERASED);
  const keys = await searchRedis(redis, ERASED);
  for (const hit of [...tables, ...keys]) progress(hit);
  const retained = await searchTables(url, `${RETAINED}.said.${n}`);
  const retainedRedis = await searchRedis(redis, `${RETAINED}.said.${n}`);
  // The tables in which a session that nobody erased has something.
  const names = new Set(retained.map((hit) => hit.split(":")[0]));
  const lost = (await backend.store.sessions.find(other.ref)) === null ? 1 : 0;
  const signed = (await searchTables(url, `${LENT}.person.${n}`)).length;
  const forked = (await searchTables(url, `${LENT}.said.${n}`)).filter((hit) =>
    hit.startsWith("archived_events"),
  );
  const { ok } = await verifyTenantAudit(backend.store.audit, TENANT);
  return {
    inTables: tables.length,
    inRedis: keys.length,
    retainedTables: names.size,
    retainedRedis: retainedRedis.length,
    lost,
    signed,
    forksLost: forked.length === 0 ? 1 : 0,
    badAudits: ok ? 0 : 1,
  };
}

function figuresOf(sum: typeof COUNTS, rounds: number): Figure[] {
  return [
    { figure: "erased sessions", value: rounds * PER_ROUND, exactly: rounds * PER_ROUND },
    { figure: "rows and keys with the canary before", value: sum.before, atLeast: 50 * rounds },
    { figure: "done meanwhile", value: sum.done, atLeast: 10 * rounds },
    { figure: "refused meanwhile", value: sum.refused, atLeast: 10 * rounds },
    { figure: "left in tables", value: sum.inTables, exactly: 0 },
    { figure: "left in Redis", value: sum.inRedis, exactly: 0 },
    { figure: "left in files", value: sum.inFiles, exactly: 0 },
    { figure: "tables in which others' canaries still are", value: sum.retainedTables, atLeast: 10 * rounds },
    {
      figure: "keys of Redis in which others' canaries still are",
      value: sum.retainedRedis,
      atLeast: rounds,
    },
    { figure: "files in which others' canaries still are", value: sum.retainedFiles, atLeast: 10 },
    { figure: "others' sessions lost", value: sum.lost, exactly: 0 },
    { figure: "rows of forks that name the erased person", value: sum.signed, exactly: 0 },
    { figure: "forks lost", value: sum.forksLost, exactly: 0 },
    { figure: "audits that don't verify", value: sum.badAudits, exactly: 0 },
  ];
}

export const erasure: Scenario = { promise: 25, about: ABOUT, times: 100, short: 5, run };
