/**
 * `postgresKill` tests promise 3: everything that PostgreSQL has committed survives kill -9 of all its processes.
 * Clients archive, decide, start tools and take payments. The server dies at a random moment and restarts, and the
 * clients reconnect.
 *
 * Invariant: a transaction that was cut off is stored completely or not at all, and repeating it is safe.
 */
import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import {
  eraseSession,
  migrate,
  openDatabase,
  type Backend,
  createPostgresStore,
  type SessionRef,
} from "@turnstream/server";
import { createMemoryLog } from "@turnstream/server/testing";
import { type PostgresServer, startPostgres } from "@turnstream/testkit/servers/start-postgres.ts";
import { startProxy, type TcpProxy } from "@turnstream/testkit/network/tcp-proxy.ts";
import { until } from "@turnstream/testkit/util/until.ts";
import { ArchiveLoad } from "./archive-load.ts";
import { type Db, DurableWriteLoad } from "./durable-write-load.ts";
import type { Figure, RunOptions, Scenario } from "./scenario.ts";

const ABOUT = "kills PostgreSQL with -9 under load: no commit is lost, and none is stored in part";
const CLIENTS = 4;
const SESSIONS = 2;
const LONGEST_MS = 250;
const DEAF_MS = 20;
const AFTERWARDS_MS = 60;

const COUNTS = {
  acknowledged: 0,
  afterwards: 0,
  steps: 0,
  cutOff: 0,
  cutOffThere: 0,
  lost: 0,
  half: 0,
  repeatedWrong: 0,
};

interface World {
  readonly server: PostgresServer;
  readonly proxy: TcpProxy;
  readonly backend: Backend;
  readonly db: Db;
  readonly tenant: string;
}

async function run({ times, random, progress }: RunOptions): Promise<Figure[]> {
  const server = await startPostgres();
  const proxy = await startProxy({ to: { host: "127.0.0.1", port: server.port } });
  const url = new URL(server.url);
  url.port = String(proxy.port);
  const db = openDatabase({ url: url.href, max: 8 });
  const backend = { store: createPostgresStore(db), log: createMemoryLog() };
  const tenant = "chaos";
  try {
    await migrate(db);
    await backend.store.tenants.create({ id: tenant, name: "Chaos" });
    const sum = { ...COUNTS };
    for (let n = 1; n <= times; n++) {
      const moments = { killMs: random() * LONGEST_MS, deafMs: n % 3 === 0 ? 0 : 10 + random() * DEAF_MS };
      const counts = await round({ server, proxy, backend, db, tenant }, moments);
      for (const key of Object.keys(sum) as (keyof typeof sum)[]) sum[key] += counts[key];
      progress(`${n} of ${times}: ${JSON.stringify(sum)}`);
    }
    return figuresOf(sum, times);
  } finally {
    await Promise.all([backend.store.close(), backend.log.close()]);
    await proxy.close();
    await server.stop();
  }
}

interface Moments {
  readonly killMs: number;
  /** How long before the kill no answer arrives. Clients don't learn of commits in this time. */
  readonly deafMs: number;
}

async function round(world: World, { killMs, deafMs }: Moments): Promise<typeof COUNTS> {
  const { server, proxy, backend, db, tenant } = world;
  const refs = await Promise.all(Array.from({ length: SESSIONS + 1 }, () => newSession(backend, tenant)));
  const [archivedRef, ...writeRefs] = refs as [SessionRef, ...SessionRef[]];
  const writes = new DurableWriteLoad(backend.store, db, writeRefs);
  const archive = await ArchiveLoad.begin(backend, archivedRef);
  let over = false;
  let down = false;
  const isOver = () => over;
  const isDown = () => down;
  const working = Promise.all([
    archive.work(isOver, isDown),
    ...Array.from({ length: CLIENTS }, (_, n) => writes.work(`c${n}`, isOver, isDown)),
  ]);
  // The failure is reported where `working` is awaited.
  working.catch(() => undefined);
  // On a slow machine the first commit takes longer than any fixed time.
  await until("a commit before the kill", () => writes.acknowledged.length > 0);
  await sleep(killMs);
  if (deafMs > 0) proxy.blackhole("toClient");
  await sleep(deafMs);
  await server.kill();
  await proxy.heal();
  down = true;
  const before = writes.acknowledged.length;
  await server.restart();
  down = false;
  await sleep(AFTERWARDS_MS);
  await until(
    "a commit and an archiving step after the restart",
    () => writes.acknowledged.length > before && archive.acknowledged > 0,
  );
  over = true;
  await working;
  const [done, archived] = [await writes.aftermath(), await archive.aftermath()];
  for (const ref of refs) await eraseSession(backend, ref);
  return {
    acknowledged: before,
    afterwards: done.acknowledged - before,
    steps: archive.acknowledged,
    cutOff: done.cutOff + archive.ambiguous,
    cutOffThere: done.cutOffThere,
    lost: done.lost + archived.lost,
    half: done.half + archived.half,
    repeatedWrong: done.repeatedWrong + archived.repeatedWrong,
  };
}

async function newSession({ store }: Backend, tenant: string): Promise<SessionRef> {
  const session = `s-${randomUUID()}`;
  await store.sessions.create({ tenant, user: "someone" }, { id: session });
  return { tenant, session };
}

function figuresOf(sum: typeof COUNTS, times: number): Figure[] {
  return [
    { figure: "kills", value: times, exactly: times },
    { figure: "commits acknowledged before the kill", value: sum.acknowledged, atLeast: times },
    { figure: "commits acknowledged after the restart", value: sum.afterwards, atLeast: times },
    { figure: "archiving steps acknowledged", value: sum.steps, atLeast: times },
    { figure: "cut off in flight", value: sum.cutOff, atLeast: times },
    { figure: "cut off although committed", value: sum.cutOffThere, atLeast: times < 20 ? 0 : 1 },
    { figure: "acknowledged and lost", value: sum.lost, exactly: 0 },
    { figure: "stored in part", value: sum.half, exactly: 0 },
    { figure: "wrong after repeating", value: sum.repeatedWrong, exactly: 0 },
  ];
}

export const postgresKill: Scenario = { promise: 3, about: ABOUT, times: 100, short: 5, run };
