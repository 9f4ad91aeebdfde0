/** Tests that every wait on a real PostgreSQL server has a limit: for a row, for a connection and for a migration. */
import { freshDatabaseUrl } from "@turnstream/testkit/servers/shared-servers.ts";
import { type LogEvent, sql } from "kysely";
import pg from "pg";
import { expect, test } from "vitest";

import { migrate } from "../../src/store/database/migrate.ts";
import { openDatabase } from "../../src/store/database/open-database.ts";
import { createPostgresStore } from "../../src/store/create-postgres-store.ts";
import { newSession } from "./harness.ts";
import { postgresHarness } from "./postgres-harness.ts";

const MESSAGE = { id: "m", text: "t" };

test("a transaction whose process is frozen is aborted, and its locks are released", async () => {
  const { store, url } = await postgresHarness();
  const { actor, ref } = await newSession(store);
  const frozen = createPostgresStore(openDatabase({ url, timeouts: { idleInTransactionMs: 2_000 } }));
  let takeover: Promise<unknown> | undefined;
  const locking = frozen.transaction(async (tx) => {
    await tx.sessions.rename(actor, ref.session, "locked");
    takeover = store.queuedMessages.add(ref, MESSAGE);
    await takeover;
    // The frozen process wakes up and doesn't know about the abort.
    await tx.sessions.rename(actor, ref.session, "late");
  });
  await expect(locking).rejects.toMatchObject({ code: "UNAVAILABLE" });
  expect(await takeover).toBe("added");
  expect(await store.sessions.find(ref)).toMatchObject({ title: null });
  // The connection is replaced.
  expect(await frozen.sessions.find(ref)).toMatchObject({ title: null });
  await Promise.all([store, frozen].map((each) => each.close()));
});

test("a wait for a locked row fails as busy after one timeout, without retries", async () => {
  const { store, url } = await postgresHarness();
  const { actor, ref } = await newSession(store);
  const hasty = createPostgresStore(openDatabase({ url, timeouts: { lockMs: 200 } }));
  const holder = new pg.Client({ connectionString: url });
  await holder.connect();
  await holder.query("begin");
  await holder.query("select from sessions where id = $1 for update", [ref.session]);
  let calls = 0;
  for (const work of [
    () => hasty.queuedMessages.add(ref, MESSAGE),
    () => hasty.sessions.remove(ref),
    () =>
      hasty.transaction(async (tx) => {
        calls += 1;
        await tx.sessions.rename(actor, ref.session, "x");
      }),
  ])
    await expect(work()).rejects.toMatchObject({ code: "BUSY", cause: { sqlstate: "55P03" } });
  expect(calls).toBe(1);
  await holder.query("rollback");
  await holder.end();
  expect(await hasty.queuedMessages.add(ref, MESSAGE)).toBe("added");
  await Promise.all([store, hasty].map((each) => each.close()));
});

test("every connection has its limits, whatever the URL or the server sets", async () => {
  const url = await freshDatabaseUrl();
  const admin = new pg.Client({ connectionString: url });
  await admin.connect();
  await admin.query(`alter database ${admin.database} set default_transaction_isolation = 'serializable'`);
  await admin.end();
  const settingsOf = async (options: Partial<Parameters<typeof openDatabase>[0]>) => {
    const db = openDatabase({ url, ...options });
    const names = ["statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout"];
    const { rows } = await sql<{ all: string[] }>`
      select array_agg(current_setting(name)) as all
      from unnest(${[...names, "default_transaction_isolation", "work_mem"]}::text[]) name`.execute(db);
    await db.destroy();
    return rows[0]?.all.slice(0, "options" in options ? 5 : 4);
  };
  expect(await settingsOf({})).toEqual(["30s", "5s", "5s", "read committed"]);
  const timeouts = { statementMs: 0, lockMs: 1, idleInTransactionMs: 2 };
  expect(await settingsOf({ timeouts })).toEqual(["0", "1ms", "2ms", "read committed"]);
  const withOptions = `${url}${url.includes("?") ? "&" : "?"}options=-c%20lock_timeout%3D7s`;
  expect(await settingsOf({ url: withOptions })).toEqual(["30s", "7s", "5s", "read committed"]);
});

test("a statement that takes too long is aborted", async () => {
  const db = openDatabase({ url: await freshDatabaseUrl(), timeouts: { statementMs: 100 } });
  await expect(sql`select pg_sleep(5)`.execute(db)).rejects.toMatchObject({ code: "57014" });
  await db.destroy();
});

test("a wait for a connection fails after its timeout", async () => {
  const { store, url } = await postgresHarness();
  const { ref } = await newSession(store);
  const small = createPostgresStore(openDatabase({ url, max: 1, timeouts: { connectMs: 200 } }));
  // The limit also applies to opening the connection.
  await expect.poll(() => small.sessions.find(ref)).not.toBeNull();
  let second: Promise<unknown> | undefined;
  await small.transaction(async (tx) => {
    await tx.sessions.find(ref);
    second = small.sessions.find(ref);
    await expect(second).rejects.toMatchObject({ code: "UNAVAILABLE" });
  });
  expect(await small.sessions.find(ref)).not.toBeNull();
  await Promise.all([store, small].map((each) => each.close()));
});

test("migrations wait for each other without a limit, and restore the limits of their connection", async () => {
  const url = await freshDatabaseUrl();
  const holder = new pg.Client({ connectionString: url });
  await holder.connect();
  await holder.query("select pg_advisory_lock(7817233602)");
  let tries = 0;
  const onQuery = ({ query }: LogEvent) => void (query.sql.includes("pg_try_advisory_lock") && tries++);
  const db = openDatabase({ url, max: 1, timeouts: { lockMs: 50, statementMs: 100 }, onQuery });
  const migrating = migrate(db);
  await expect.poll(() => tries).toBeGreaterThan(3);
  await holder.end();
  expect(await migrating).toHaveLength(1);
  const { rows } = await sql<{ lock: string; statement: string }>`
    select current_setting('lock_timeout') as lock, current_setting('statement_timeout') as statement`.execute(
    db,
  );
  expect(rows).toEqual([{ lock: "50ms", statement: "100ms" }]);
  await db.destroy();
});
