/** The job queue and the locks of leases on a real PostgreSQL, with real processes. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { runSql } from "@turnstream/testkit/servers/run-sql.ts";
import { expect, onTestFinished, test } from "vitest";

import type { TurnJob } from "../../src/store/ports/jobs.ts";
import { openDatabase } from "../../src/store/postgres/open-database.ts";
import { createPostgresStore } from "../../src/store/postgres/store.ts";
import type { ClosableStore } from "../../src/store/store.ts";
import { newSession } from "./harness.ts";
import { postgresHarness } from "./postgres-harness.ts";

const HOLDER = fileURLToPath(new URL("lease-holder.ts", import.meta.url));

async function startHolder(url: string, executor: string): Promise<ChildProcess> {
  const child = spawn(process.execPath, [HOLDER, url, executor], { stdio: ["ignore", "pipe", "inherit"] });
  onTestFinished(() => void child.kill("SIGKILL"));
  const [line] = (await once(child.stdout, "data")) as [Buffer];
  expect(line.toString()).toBe("held\n");
  return child;
}

/** Waits until the executor is found dead, and returns after how many milliseconds. */
async function deathOf(store: ClosableStore, executor: string, mostMs: number): Promise<number | null> {
  const start = performance.now();
  while (performance.now() - start < mostMs) {
    if ((await store.leases.expired(10)).includes(executor)) return performance.now() - start;
    await sleep(100);
  }
  return null;
}

test("a killed process is found dead within seconds by one that holds a lock", async () => {
  const { store, url } = await postgresHarness();
  const other = createPostgresStore(openDatabase({ url }));
  onTestFinished(async () => {
    await store.close();
    await other.close();
  });
  await store.leases.take("observer", 60_000);
  expect(await store.leases.hold("observer")).toBe(true);
  expect(await store.leases.hold("observer")).toBe(true);
  const dead = await startHolder(url, "dead");
  await startHolder(url, "alive");
  await sleep(2_500);
  expect(await store.leases.expired(10)).toEqual([]);
  dead.kill("SIGKILL");
  // The lease lasts 60 s.
  expect(await deathOf(store, "dead", 30_000)).not.toBeNull();
  // Without a lock of its own, a process can't distinguish a death from a restart of the database.
  expect(await other.leases.expired(10)).toEqual([]);
  expect(await other.leases.takeDead("dead", "other")).toBe(false);
  expect(await store.leases.takeDead("dead", "observer")).toBe(true);
  expect(await store.leases.takeDead("alive", "observer")).toBe(false);
  expect(await store.leases.status()).toEqual({ anyLive: true, anyExpired: true });
}, 60_000);

test("a process that starts again under another name has a lock under that name", async () => {
  const { store, url } = await postgresHarness();
  onTestFinished(() => store.close());
  const countLocks = async () => {
    const [row] = await runSql(
      url,
      `select count(*)::int as n from pg_locks where locktype = 'advisory'
        and database = (select oid from pg_database where datname = current_database())`,
    );
    return row?.["n"];
  };
  expect(await store.leases.hold("first")).toBe(true);
  expect(await store.leases.hold("second")).toBe(true);
  await expect.poll(countLocks).toBe(1);
});

test("a process that loses only its lock's connection is not found dead", async () => {
  const { store, url } = await postgresHarness();
  onTestFinished(() => store.close());
  await store.leases.take("observer", 60_000);
  await store.leases.hold("observer");
  await startHolder(url, "unlucky");
  const renewedAt = async () => {
    const [row] = await runSql(
      url,
      "select renewed_at::text as at from turnstream.leases where executor = 'unlucky'",
    );
    return row?.["at"];
  };
  await runSql(
    url,
    `select pg_terminate_backend(pid) from pg_locks join pg_stat_activity using (pid)
      where locktype = 'advisory' and application_name = 'unlucky'`,
  );
  // It still runs, and has renewed its lease without that lock.
  const before = await renewedAt();
  await expect.poll(renewedAt).not.toBe(before);
  expect(await deathOf(store, "unlucky", 5_000)).toBeNull();
}, 60_000);

test("after all connections were lost, as in a restart, only the lease's time counts", async () => {
  const { store, url } = await postgresHarness();
  onTestFinished(() => store.close());
  await store.leases.take("observer", 60_000);
  await store.leases.hold("observer");
  const dead = await startHolder(url, "dead");
  dead.kill("SIGKILL");
  await runSql(
    url, // Other test files use the same server.
    `select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and pid <> pg_backend_pid()`,
  );
  expect(await deathOf(store, "dead", 4_000)).toBeNull();
  // A new lock is younger than the last renewal of the dead process.
  expect(await store.leases.hold("observer")).toBe(true);
  expect(await deathOf(store, "dead", 3_000)).toBeNull();
}, 60_000);

test("a turn costs five statements to queue, one to fetch, five to start and four to end", async () => {
  const statements: string[] = [];
  const { store } = await postgresHarness({ onQuery: ({ query }) => void statements.push(query.sql) });
  onTestFinished(() => store.close());
  const { ref } = await newSession(store);
  const add = (id: string) => store.queuedMessages.add(ref, { id, text: id });
  const fetch = async () => {
    const [job] = await store.jobs.fetch({ executor: "w", agents: [null], limit: 5, alone: false });
    return job as TurnJob;
  };
  const start = (job: TurnJob, turn: string) => store.running.start(job, { executor: "w", turn, agents: [] });
  const count = async <T>(work: Promise<T>): Promise<[T, number]> => {
    statements.length = 0;
    return [await work, statements.length];
  };
  // The first calls also read the list of queues.
  await add("m1");
  await start(await fetch(), "t1");
  await store.running.end(ref, "t1");
  expect(await count(add("m2"))).toEqual(["added", 5]);
  const [job, fetched] = await count(fetch());
  expect(fetched).toBe(1);
  const [turn, started] = await count(start(job, "t2"));
  expect([turn?.turn, started]).toEqual(["t2", 5]);
  // The turn is started, so this only reads.
  expect(await count(store.jobs.heartbeat([job]))).toEqual([[], 1]);
  expect(await count(store.running.end(ref, "t2"))).toEqual(["ended", 4]);
});

test("fetching stays quick with 10,000 queued jobs of one tenant, and a new tenant comes first", async () => {
  const { store, db } = await postgresHarness();
  onTestFinished(() => store.close());
  const { ref } = await newSession(store);
  await store.queuedMessages.add(ref, { id: "m", text: "t" });
  // Copies of one queued job, because 10,000 calls take too long here.
  await db.connection().execute(async (connection) => {
    for (const statement of [
      `insert into sessions (id, tenant_id, user_id, number, epoch) select 's' || n, '${ref.tenant}', 'u', n + 10, 1
        from generate_series(1, 10000) n`,
      `insert into waiting_messages (tenant_id, session_id, id, body, owner, job, rank)
        select '${ref.tenant}', 's' || n, 'm', '{"text":"t"}', 'u', gen_random_uuid(), n from generate_series(1, 10000) n`,
      `insert into turnstream_jobs.job (id, name, data, priority, singleton_key, group_id, policy, keep_until)
        select w.job, j.name, jsonb_build_object('tenant', w.tenant_id, 'session', w.session_id, 'user', 'u', 'deaths', 0,
          'rank', w.rank), -w.rank, w.session_id, w.tenant_id, j.policy, j.keep_until
        from waiting_messages w cross join (select * from turnstream_jobs.job limit 1) j where w.session_id like 's%'
          and w.rank > 0`,
      "analyze",
    ])
      await connection.executeQuery({ sql: statement, parameters: [], query: { kind: "RawNode" } } as never);
  });
  const fresh = await newSession(store);
  await store.queuedMessages.add(fresh.ref, { id: "m", text: "t" });
  const fetch = (limit: number) => store.jobs.fetch({ executor: "w", agents: [null], limit, alone: false });
  expect((await fetch(2)).map(({ session }) => session)).toContain(fresh.ref.session);
  const times: number[] = [];
  for (let n = 0; n < 50; n++) {
    const start = performance.now();
    expect(await fetch(5)).toHaveLength(5);
    times.push(performance.now() - start);
  }
  // A few milliseconds; a machine that runs other tests needs more.
  expect(times.toSorted((a, b) => a - b)[25]).toBeLessThan(50);
}, 60_000);
