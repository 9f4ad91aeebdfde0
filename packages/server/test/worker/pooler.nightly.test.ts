/** Tests that everything works through a real PgBouncer in transaction mode, with the heartbeat of workers alone. */
import { type PgBouncerServer, startPgBouncer } from "@turnstream/testkit/servers/start-pgbouncer.ts";
import { runSql } from "@turnstream/testkit/servers/run-sql.ts";
import { freshDatabaseUrl, freshPrefix, sharedRedisUrl } from "@turnstream/testkit/servers/shared-servers.ts";
import { sql } from "kysely";
import { afterAll, beforeAll, expect, test } from "vitest";

import { createRedisLog } from "../../src/log/redis/create-redis-log.ts";
import { script } from "../../src/models/script-parts.ts";
import { scriptedModel } from "../../src/models/scripted-model.ts";
import { defineAgent } from "../../src/agent/define/agent.ts";
import { tool } from "../../src/agent/define/tool.ts";
import { decideApproval } from "../../src/session/interactions/decide-approval.ts";
import { createRedisSignals } from "../../src/signals/redis.ts";
import { migrate } from "../../src/store/database/migrate.ts";
import { openDatabase } from "../../src/store/database/open-database.ts";
import { createPostgresStore } from "../../src/store/create-postgres-store.ts";
import { outline, TurnHarness } from "../engine/turn-harness.ts";

/** Those of locks and idle transactions differ enough that a process may stop for seconds between them. */
const TIMEOUTS = { statementMs: 3_000, lockMs: 1_500, idleInTransactionMs: 4_500 };
let directUrl: string;
let pooler: PgBouncerServer;
let harness: TurnHarness;

const open = () => openDatabase({ url: pooler.url, timeouts: TIMEOUTS });

beforeAll(async () => {
  directUrl = await freshDatabaseUrl();
  const name = new URL(directUrl).pathname.slice(1);
  // Fewer than the connections of the clients, so that each of them gets different ones.
  pooler = await startPgBouncer({ databaseUrl: directUrl, poolSize: 4 });
  await runSql(
    directUrl,
    `alter database "${name}" set statement_timeout = ${TIMEOUTS.statementMs}`,
    `alter database "${name}" set lock_timeout = ${TIMEOUTS.lockMs}`,
    `alter database "${name}" set idle_in_transaction_session_timeout = ${TIMEOUTS.idleInTransactionMs}`,
  );
  const db = open();
  await migrate(db);
  const prefix = { url: sharedRedisUrl(), keyPrefix: freshPrefix() };
  harness = await TurnHarness.open({
    store: createPostgresStore(db, { leases: open() }),
    log: await createRedisLog(prefix),
    signals: createRedisSignals(prefix),
  });
});

afterAll(async () => {
  await harness.close();
  await pooler.stop();
});

test("a connection without the settings is refused, with the statements to run", async () => {
  const db = openDatabase({ url: pooler.url, timeouts: { ...TIMEOUTS, lockMs: 7 } });
  await expect(migrate(db)).rejects.toThrow(`alter role "postgres" set lock_timeout = '7';`);
  await db.destroy();
});

const look = tool({ idempotent: true, run: () => "seen" });
const trade = tool({ approval: true, run: () => "traded" });

test("turns run with tools and approvals, many at a time", async () => {
  const model = scriptedModel([
    [script.toolCall("look"), script.toolCall("look")],
    [script.toolCall("trade")],
    [script.text("done")],
  ]);
  const worker = await harness.worker([defineAgent({ name: "a", model, tools: { look, trade } })]);
  const refs = await Promise.all(Array.from({ length: 12 }, () => harness.session()));
  const turns = await Promise.all(
    refs.map(async (ref) => {
      const asked = harness.ask(ref, "go");
      const { interactions } = harness.backend.store;
      const key = await harness.until(
        ref,
        60_000,
        async () => (await interactions.list(ref, { pending: true }))[0]?.key ?? null,
      );
      await decideApproval(harness.backend, ref, { key, decision: "approve", userId: harness.actor.user });
      return asked;
    }),
  );
  for (const turn of turns)
    expect(outline(turn).filter((line) => line.startsWith("result ") || line.startsWith("text "))).toEqual([
      "result look success seen",
      "result look success seen",
      "result trade success traded",
      "text final done",
    ]);
  expect(harness.errors).toEqual([]);
  await worker.shutdown();
});

test("a worker whose heartbeat stays away loses its turn to another one", async () => {
  const { store } = harness.backend;
  let isSilent = false;
  const renew: typeof store.leases.renew = (...args) =>
    isSilent ? new Promise(() => undefined) : store.leases.renew(...args);
  const silent = { ...store, leases: { ...store.leases, renew } };
  const stuck = scriptedModel([[script.hang()]]);
  await harness.crashingWorker([defineAgent({ name: "a", model: stuck })], {
    store: silent,
    leaseTtlMs: 1_500,
  });
  const ref = await harness.session();
  const asked = harness.ask(ref, "go");
  await harness.until(ref, 30_000, (state) => (state.turns.last() === undefined ? null : true));
  isSilent = true;
  const model = scriptedModel([[script.text("done")]]);
  await harness.worker([defineAgent({ name: "a", model })], { leaseTtlMs: 1_500 });
  expect(outline(await asked)).toEqual(["text final done"]);
  expect((await harness.events(ref)).some(({ type }) => type === "turn.takeover")).toBe(true);
});

test("timeouts of statements, locks and idle transactions are in force on every connection", async () => {
  const [db, other] = [open(), open()];
  const store = createPostgresStore(db);
  const ref = await harness.session();
  const lock = sql`select from turn_queue where session_id = ${ref.session} for update`;
  const slow = Array.from({ length: 4 }, () => sql`select pg_sleep(60)`.execute(db));
  for (const ended of await Promise.allSettled(slow))
    expect(ended).toMatchObject({ status: "rejected", reason: { code: "57014" } });
  const idle = other.transaction().execute(async (tx) => {
    await lock.execute(tx);
    await expect(store.epochs.next(ref, { seen: 0 })).rejects.toMatchObject({
      code: "BUSY",
      cause: { sqlstate: "55P03" },
    });
    await new Promise((resolve) => setTimeout(resolve, TIMEOUTS.idleInTransactionMs + 1_000));
    await lock.execute(tx);
  });
  await expect(idle).rejects.toThrow(/terminat|connection/i);
  expect(await store.epochs.next(ref, { seen: 0 })).toMatchObject({
    epoch: expect.any(Number) as number,
  });
  await Promise.all([store.close(), other.destroy()]);
});
