/**
 * `outboxWipe` wipes Redis while committed events are in any stage between commit and archive.
 *
 * Invariant: in the end each committed event is in the archive once, in commit order. A wipe may lose only events that
 * were never committed.
 */
import { randomUUID } from "node:crypto";
import {
  createRedisLog,
  migrate,
  openDatabase,
  type Backend,
  createPostgresStore,
  type SessionRef,
} from "@turnstream/server";
import {
  archiveSession,
  claimIdleSession,
  publishCommitted,
  relayOutbox,
  trimLog,
} from "@turnstream/server/internal";
import { isLogError, isStoreError } from "@turnstream/server/ports";
import { startPostgres } from "@turnstream/testkit/servers/start-postgres.ts";
import { type RedisServer, startRedis } from "@turnstream/testkit/servers/start-redis.ts";
import type { Figure, RunOptions, Scenario } from "./scenario.ts";

const SESSIONS = 5;
const COMMITS = 12;

interface Found {
  committed: number;
  missing: number;
  twice: number;
  disordered: number;
  /** Rows that were delivered, and published again because the log had lost them. */
  broughtAgain: number;
}

export const outboxWipe: Scenario = {
  promise: 28,
  about: "runs FLUSHALL while committed events are on their way to the archive",
  times: 100,
  run,
};

async function run({ times, random, progress }: RunOptions): Promise<Figure[]> {
  const [redis, postgres] = await Promise.all([startRedis(), startPostgres()]);
  const db = openDatabase({ url: await postgres.createDatabase("outbox_wipe") });
  await migrate(db);
  const backend = { store: createPostgresStore(db), log: await createRedisLog({ url: redis.url }) };
  const found: Found = { committed: 0, missing: 0, twice: 0, disordered: 0, broughtAgain: 0 };
  try {
    await backend.store.tenants.create({ id: "t", name: "Test" });
    for (let n = 1; n <= times; n++) {
      await round(backend, redis, random, found);
      if (n % 10 === 0) progress(`${n} of ${times}`);
    }
  } finally {
    await backend.log.close();
    await backend.store.close();
    await Promise.all([redis.stop(), postgres.stop()]);
  }
  return [
    { figure: "committed events", value: found.committed, atLeast: times * SESSIONS * COMMITS },
    { figure: "delivered, and published again after the wipe", value: found.broughtAgain, atLeast: times },
    { figure: "missing in the archive", value: found.missing, exactly: 0 },
    { figure: "twice in the archive", value: found.twice, exactly: 0 },
    { figure: "sessions whose events are not in commit order", value: found.disordered, exactly: 0 },
  ];
}

async function round(
  backend: Backend,
  redis: RedisServer,
  random: () => number,
  found: Found,
): Promise<void> {
  const refs = await Promise.all(Array.from({ length: SESSIONS }, () => begin(backend)));
  const at = Math.floor(random() * COMMITS);
  for (let n = 0; n < COMMITS; n++) {
    for (const ref of refs) await commit(backend, ref, n, random);
    if (n === at) await wipe(backend, redis, refs, found);
  }
  for (const ref of refs) await check(backend, ref, found);
}

async function begin({ store, log }: Backend): Promise<SessionRef> {
  const ref = { tenant: "t", session: `s-${randomUUID()}` };
  await store.sessions.create({ tenant: "t", user: "u" }, { id: ref.session });
  await claimIdleSession({ store, log }, ref, "worker");
  return ref;
}

async function commit(backend: Backend, ref: SessionRef, n: number, random: () => number): Promise<void> {
  const draft = { type: "session.update", title: `${n}` } as const;
  await backend.store.transaction((tx) => tx.outbox.add(ref, { key: `k${n}`, draft }));
  // Some rows are left to a relay, some are archived at once, and some of those are trimmed.
  if (random() < 0.7) await publishCommitted(backend, ref);
  if (random() < 0.2) await archiveSession(backend, ref);
  if (random() < 0.1) await trimLog(backend, ref);
}

async function wipe(
  backend: Backend,
  redis: RedisServer,
  refs: readonly SessionRef[],
  found: Found,
): Promise<void> {
  await redis.command("FLUSHALL");
  const before = await Promise.all(refs.map((ref) => backend.store.outbox.undelivered(ref, 100)));
  for (const [n, ref] of refs.entries()) {
    await claimIdleSession(backend, ref, "worker");
    const after = await backend.store.outbox.undelivered(ref, 100);
    found.broughtAgain += after.length - (before[n]?.length ?? 0);
  }
}

async function check(backend: Backend, ref: SessionRef, found: Found): Promise<void> {
  const claim = (of: SessionRef) => claimIdleSession(backend, of, "relay");
  while ((await backend.store.outbox.undelivered(ref, 1)).length > 0) {
    await relayOutbox(backend, { olderThanMs: 0, leaseMs: 0, claim }).catch((error: unknown) => {
      if (!isLogError(error) && !isStoreError(error, "BUSY")) throw error;
    });
  }
  await archiveSession(backend, ref);
  const events = await backend.store.archive.events(ref, { after: 0, limit: 1_000 });
  const titles = events.flatMap((event) => (event.type === "session.update" ? [Number(event.title)] : []));
  const unique = new Set(titles);
  found.committed += COMMITS;
  found.missing += COMMITS - unique.size;
  found.twice += titles.length - unique.size;
  if (titles.some((title, n) => title < (titles[n - 1] ?? 0))) found.disordered++;
}
