/**
 * `outboxKill` tests promise 28: every committed event is shown, once. A process commits and then appends to the log.
 * It is killed with -9 at random moments, often right between the two. Relays publish the rows that it left, while the
 * log is archived and trimmed and connections to Redis are cut.
 */
import { randomUUID } from "node:crypto";
import {
  createRedisLog,
  eraseSession,
  migrate,
  openDatabase,
  type Backend,
  createPostgresStore,
  type SessionRef,
} from "@turnstream/server";
import { archiveSession, claimSession } from "@turnstream/server/internal";
import { until } from "@turnstream/testkit/util/until.ts";
import { startPostgres } from "@turnstream/testkit/servers/start-postgres.ts";
import { startProxy, type TcpProxy } from "@turnstream/testkit/network/tcp-proxy.ts";
import { startRedis } from "@turnstream/testkit/servers/start-redis.ts";
import { runSql } from "@turnstream/testkit/servers/run-sql.ts";
import { CommitterProcess } from "./committer-process.ts";
import { type Db, readOutboxDrafts } from "./durable-write-load.ts";
import { checkOutbox } from "./outbox-check.ts";
import { archiveOn, newNotes, relayOn } from "./outbox-round.ts";
import type { Figure, RunOptions, Scenario } from "./scenario.ts";

const ABOUT = "kills a writer with -9 between commit and append: every committed event reaches the log once";
const SESSIONS = 3;
const LONGEST_MS = 250;
const MOST_COMMITS = 12;
const CUT_EVERY_MS = 200;

const COUNTS = {
  committed: 0,
  between: 0,
  orphans: 0,
  brought: 0,
  found: 0,
  cuts: 0,
  trims: 0,
  interruptions: 0,
  unkept: 0,
  missing: 0,
  twice: 0,
  foreign: 0,
  otherContent: 0,
  outOfOrder: 0,
};

interface OutboxEnvironment {
  readonly url: string;
  readonly db: Db;
  readonly backend: Backend;
  /** With its own connection to Redis. */
  readonly other: Backend;
  readonly proxy: TcpProxy;
}

async function run({ times, random, progress }: RunOptions): Promise<Figure[]> {
  const [server, redis] = await Promise.all([startPostgres(), startRedis()]);
  const proxy = await startProxy({ to: { host: "127.0.0.1", port: redis.port } });
  const redisUrl = `redis://127.0.0.1:${proxy.port}`;
  const db = openDatabase({ url: server.url });
  const store = createPostgresStore(db);
  const logs = await Promise.all([createRedisLog({ url: redisUrl }), createRedisLog({ url: redisUrl })]);
  const environment = {
    url: server.url,
    db,
    backend: { store, log: logs[0] },
    other: { store, log: logs[1] },
    proxy,
  };
  const start = (n: number) =>
    new CommitterProcess({ name: childName(n), databaseUrl: server.url, redisUrl });
  try {
    await migrate(db);
    await store.tenants.create({ id: "chaos", name: "Chaos" });
    const sum = { ...COUNTS };
    let next = start(1);
    for (let n = 1; n <= times; n++) {
      const child = next;
      // The next process starts now, so that it is ready when this one is dead.
      if (n < times) next = start(n + 1);
      const counts = await round(environment, child, { name: childName(n), isPaused: n % 5 !== 0, random });
      for (const key of Object.keys(sum) as (keyof typeof sum)[]) sum[key] += counts[key];
      progress(`${n} of ${times}: ${JSON.stringify(sum)}`);
    }
    return figuresOf(sum, times);
  } finally {
    await Promise.all([store.close(), ...logs.map((log) => log.close())]);
    await proxy.close();
    await Promise.all([server.stop(), redis.stop()]);
  }
}

const childName = (n: number) => `child-${n}`;

interface Plan {
  /** The application name of the child's database connections. */
  readonly name: string;
  /** True if it is killed between a commit and its append, false if at a random time. */
  readonly isPaused: boolean;
  readonly random: () => number;
}

async function round(
  environment: OutboxEnvironment,
  child: CommitterProcess,
  { name, isPaused, random }: Plan,
): Promise<typeof COUNTS> {
  const { backend, other, proxy, db } = environment;
  const refs = await Promise.all(Array.from({ length: SESSIONS }, () => newSession(backend)));
  const notes = newNotes();
  let over = false;
  const isOver = () => over;
  const working = Promise.all([
    relayOn(backend, notes, isOver),
    relayOn(other, notes, isOver),
    archiveOn(backend, refs, notes, isOver),
  ]);
  // The failure is reported where `working` is awaited.
  working.catch(() => undefined);
  const pauseAt = isPaused ? 1 + Math.floor(random() * MOST_COMMITS) : null;
  await child.begin({ refs, seed: Math.floor(random() * 2 ** 31), pauseAt });
  const cuts = cutNowAndThen(proxy, random);
  if (pauseAt !== null) await child.killAt(pauseAt);
  else await child.killAfter(random() * LONGEST_MS);
  const broughtBefore = notes.brought.size;
  const cut = cuts.stop();
  await proxy.heal();
  // PostgreSQL may still commit what the dead process had sent.
  const open = `select 1 from pg_stat_activity where application_name = '${name}'`;
  await until("the last commits", async () => (await runSql(environment.url, open)).length === 0);
  const delivered = async () => (await undelivered(db, refs)).length === 0;
  await Promise.race([until("everything to be delivered", delivered), working]);
  over = true;
  await working;
  const drafts = await readOutboxDrafts(db, refs);
  const counts = { ...COUNTS, cuts: cut };
  counts.brought = notes.brought.size;
  counts.orphans = notes.brought.size - broughtBefore;
  counts.found = notes.found.size;
  counts.trims = notes.trims;
  counts.interruptions = notes.interruptions;
  const stored = new Set([...drafts.values()].flatMap((rows) => [...rows.keys()]));
  // The child waited before this append until it was killed. A relay may have appended it without recording it, if its
  // answer was cut off.
  const paused = pauseAt === null ? undefined : child.committed[pauseAt - 1];
  counts.between = paused !== undefined && stored.has(paused) ? 1 : 0;
  counts.unkept = child.committed.filter((key) => !stored.has(key)).length;
  for (const ref of refs) {
    await archiveSession(backend, ref);
    const found = await checkOutbox(backend, ref, drafts.get(ref.session) ?? new Map(), notes.brought);
    for (const key of Object.keys(found) as (keyof typeof found)[]) counts[key] += found[key];
    await eraseSession(backend, ref);
  }
  return counts;
}

function undelivered(db: Db, refs: readonly SessionRef[]) {
  const sessions = refs.map(({ session }) => session);
  return db
    .selectFrom("outbox")
    .select("key")
    .where("session_id", "in", sessions)
    .where("delivered_at", "is", null)
    .execute();
}

/** Cuts either all connections, or the one that carries the next answer, after its request has arrived. */
function cutNowAndThen(proxy: TcpProxy, random: () => number): { stop: () => number } {
  let cuts = 0;
  const before = proxy.counters().cutMidway;
  const timer = setInterval(() => {
    if (random() < 0.7) proxy.cutAfter(0, "toClient");
    else {
      cuts++;
      proxy.cutConnections();
    }
  }, CUT_EVERY_MS);
  return {
    stop: () => {
      clearInterval(timer);
      return cuts + proxy.counters().cutMidway - before;
    },
  };
}

async function newSession(backend: Backend): Promise<SessionRef> {
  const ref = { tenant: "chaos", session: `s-${randomUUID()}` };
  await backend.store.sessions.create({ tenant: ref.tenant, user: "someone" }, { id: ref.session });
  const event = { type: "session.start", session: ref.session, number: 1 } as const;
  await claimSession(backend, ref, { by: "chaos", reason: "test", event });
  return ref;
}

function figuresOf(sum: typeof COUNTS, times: number): Figure[] {
  // Relays may have published everything before the kill. In a short run this is a matter of chance.
  const afterKills = times >= 100 ? Math.ceil(times / 10) : 0;
  return [
    { figure: "kills", value: times, exactly: times },
    { figure: "kills between commit and append", value: sum.between, atLeast: Math.floor(times * 0.8) },
    { figure: "committed events", value: sum.committed, atLeast: times },
    { figure: "published by a relay", value: sum.brought, atLeast: Math.ceil(times / 4) },
    { figure: "published by a relay after the kill", value: sum.orphans, atLeast: afterKills },
    { figure: "already in the log when a relay published them", value: sum.found },
    { figure: "connections cut", value: sum.cuts, atLeast: Math.ceil(times / 10) },
    { figure: "trims", value: sum.trims, atLeast: times },
    { figure: "interruptions of relays and archivers", value: sum.interruptions },
    { figure: "reported as committed and missing in the database", value: sum.unkept, exactly: 0 },
    { figure: "committed and not in the log", value: sum.missing, exactly: 0 },
    { figure: "more than once in the log", value: sum.twice, exactly: 0 },
    { figure: "in the log and not committed", value: sum.foreign, exactly: 0 },
    { figure: "in the log with other content", value: sum.otherContent, exactly: 0 },
    { figure: "out of order", value: sum.outOfOrder, exactly: 0 },
  ];
}

export const outboxKill: Scenario = { promise: 28, about: ABOUT, times: 250, short: 5, run };
