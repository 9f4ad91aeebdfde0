/** The statements of the queue of turns, and the locks of leases, on a real PostgreSQL, with real processes. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { runSql } from "@turnstream/testkit/servers/run-sql.ts";
import { expect, onTestFinished, test } from "vitest";

import type { StartedTurn } from "../../src/store/turn-queue.ts";
import { openDatabase } from "../../src/store/database/open-database.ts";
import { createPostgresStore } from "../../src/store/create-postgres-store.ts";
import type { ClosableStore, Store } from "../../src/store/store.ts";
import { newSession } from "./harness.ts";
import { postgresHarness } from "./postgres-harness.ts";
import { YEAR_MS } from "./start-turn.ts";

const HOLDER = fileURLToPath(new URL("lease-holder.ts", import.meta.url));

async function startHolder(url: string, executor: string): Promise<ChildProcess> {
  const program = ["--conditions=@turnstream/source", HOLDER, url, executor];
  const child = spawn(process.execPath, program, { stdio: ["ignore", "pipe", "inherit"] });
  onTestFinished(() => void child.kill("SIGKILL"));
  const [line] = (await once(child.stdout, "data")) as [Buffer];
  expect(line.toString()).toBe("held\n");
  return child;
}

/** Waits until the executor is found dead. */
async function untilDead(store: ClosableStore, executor: string): Promise<void> {
  await expect.poll(() => store.leases.expired(10)).toContain(executor);
}

test("a killed process is found dead before its lease ends, by one that holds a lock", async () => {
  const { store, url } = await postgresHarness();
  const other = createPostgresStore(openDatabase({ url }));
  onTestFinished(async () => {
    await store.close();
    await other.close();
  });
  await store.leases.take("observer", 3_600_000);
  expect(await store.leases.hold("observer")).toBe(true);
  expect(await store.leases.hold("observer")).toBe(true);
  const dead = await startHolder(url, "dead");
  await startHolder(url, "alive");
  expect(await store.leases.expired(10)).toEqual([]);
  dead.kill("SIGKILL");
  await untilDead(store, "dead");
  expect(await store.leases.expired(10)).toEqual(["dead"]);
  // Without a lock of its own, a process can't distinguish a death from a restart of the database.
  expect(await other.leases.expired(10)).toEqual([]);
  expect(await other.leases.takeDead("dead", "other")).toBe(false);
  expect(await store.leases.takeDead("dead", "observer")).toBe(true);
  expect(await store.leases.takeDead("alive", "observer")).toBe(false);
  expect(await store.leases.status()).toEqual({ anyLive: true, anyExpired: true });
});

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
  await store.leases.take("observer", 3_600_000);
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
  const dead = await startHolder(url, "dead");
  dead.kill("SIGKILL");
  await untilDead(store, "dead");
  expect(await store.leases.expired(10)).toEqual(["dead"]);
});

test("after all connections were lost, as in a restart, only the lease's time counts", async () => {
  const { store, url } = await postgresHarness();
  onTestFinished(() => store.close());
  await store.leases.take("observer", 3_600_000);
  await store.leases.hold("observer");
  const dead = await startHolder(url, "dead");
  dead.kill("SIGKILL");
  await runSql(
    url, // Other test files use the same server.
    `select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and pid <> pg_backend_pid()`,
  );
  expect(await store.leases.expired(10)).toEqual([]);
  // A new lock is younger than the last renewal of the dead process.
  expect(await store.leases.hold("observer")).toBe(true);
  const later = await startHolder(url, "later");
  later.kill("SIGKILL");
  await untilDead(store, "later");
  expect(await store.leases.expired(10)).toEqual(["later"]);
});

/** Waits until a statement waits for a row that another transaction has locked. */
async function untilBlocked(url: string): Promise<void> {
  const blocked =
    "select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'";
  await expect.poll(() => runSql(url, blocked)).toHaveLength(1);
}

test("a start that is executed while its process leaves takes nothing, or what it takes is returned", async () => {
  const { store, url } = await postgresHarness();
  onTestFinished(() => store.close());
  const { ref } = await newSession(store);
  await store.queuedMessages.add(ref, { id: "m", text: "m" });
  const request = { agents: [], limit: 8, isIdle: true };
  const run = async (work: (tx: Store) => Promise<unknown>, during: () => Promise<unknown>) => {
    let first: unknown;
    let second: Promise<unknown> = Promise.resolve();
    await store.transaction(async (tx) => {
      first = await work(tx);
      second = during();
      await untilBlocked(url);
    });
    return [first, await second];
  };
  await store.leases.take("w1", YEAR_MS);
  const late = () => store.queue.start({ executor: "w1", ...request });
  expect(await run((tx) => tx.queue.leave("w1"), late)).toEqual([true, []]);
  await store.leases.take("w2", YEAR_MS);
  const early = (tx: Store) => tx.queue.start({ executor: "w2", ...request });
  expect(await run(early, () => store.queue.leave("w2"))).toMatchObject([[{ held: ref }], true]);
  await store.leases.take("w3", YEAR_MS);
  expect(await store.queue.start({ executor: "w3", ...request })).toMatchObject([
    { row: { attempts: 2, deaths: 0 } },
  ]);
});

test("a turn costs one statement to queue, one to start, one for another attempt, and three to end", async () => {
  const statements: string[] = [];
  const { store } = await postgresHarness({ onQuery: ({ query }) => void statements.push(query.sql) });
  onTestFinished(() => store.close());
  const { ref } = await newSession(store);
  await store.leases.take("w", YEAR_MS);
  const agents = Array.from({ length: 20 }, (_, n) => `agent-${n}`);
  const add = (id: string) => store.queuedMessages.add(ref, { id, text: id, options: { agent: "agent-7" } });
  const start = () => store.queue.start({ executor: "w", agents, limit: 8, isIdle: true });
  const count = async <T>(work: Promise<T>): Promise<[T, number]> => {
    statements.length = 0;
    return [await work, statements.length];
  };
  expect(await count(add("m1"))).toEqual(["added", 1]);
  expect(await count(add("m2"))).toEqual(["added", 1]);
  const [[first], started] = await count(start());
  if (first === undefined) throw new Error("no turn started");
  expect([first.row.message?.id, started]).toEqual(["m1", 1]);
  const [again, attempted] = await count(store.queue.again(first.held));
  expect([again?.attempts, attempted]).toEqual([2, 1]);
  const end = ({ held, row }: StartedTurn) => store.queue.end(held, row.turn, { epoch: held.epoch });
  // They are in a transaction.
  expect(await count(end(first))).toEqual([{ queuedFor: "agent-7" }, 5]);
  const [[second]] = await count(start());
  if (second === undefined) throw new Error("no turn started");
  expect(await count(end(second))).toEqual(["ended", 5]);
});
