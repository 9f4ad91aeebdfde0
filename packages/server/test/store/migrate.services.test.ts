/** Migrating and opening a real PostgreSQL: several at once, repeatedly, and errors that tell no content. */
import { freshDatabaseUrl } from "@turnstream/services/shared.ts";
import { sql } from "kysely";
import { expect, test } from "vitest";

import { StoreError } from "../../src/store/errors.ts";
import { migrate } from "../../src/store/postgres/migrate.ts";
import { openDatabase } from "../../src/store/postgres/open.ts";
import { postgresStore } from "../../src/store/postgres/store.ts";
import { newSession, newTenant } from "./harness.ts";
import { postgresHarness } from "./postgres-harness.ts";

test("four processes may migrate an empty database at once, and each migration runs once", async () => {
  const url = await freshDatabaseUrl();
  const pools = Array.from({ length: 4 }, () => openDatabase({ url, max: 2 }));
  const ran = await Promise.all(pools.map((db) => migrate(db)));
  expect(ran.flat().toSorted()).toEqual(["0001-core", "0002-ledger"]);
  expect(await migrate(pools[0] as (typeof pools)[0])).toEqual([]);
  const stores = pools.map((db) => postgresStore(db));
  await newTenant(stores[3] as (typeof stores)[0]);
  await Promise.all(stores.map((store) => store.close()));
});

test("migrating needs one connection only", async () => {
  const db = openDatabase({ url: await freshDatabaseUrl(), max: 1 });
  expect(await migrate(db)).toHaveLength(2);
  await db.destroy();
});

test("an error of the database is a StoreError that quotes no row", async () => {
  const { store, db } = await postgresHarness();
  const { actor, ref } = await newSession(store);
  await sql`alter table sessions add constraint no_canary check (title <> 'canary-7f')`.execute(db);
  const error = await store.sessions.rename(actor, ref.session, "canary-7f").catch((e: unknown) => e);
  expect(error).toBeInstanceOf(StoreError);
  expect(error).toMatchObject({ code: "INVALID", cause: { sqlstate: "23514", constraint: "no_canary" } });
  const { message, stack, cause } = error as StoreError;
  expect(JSON.stringify([message, stack, cause])).not.toContain("canary-7f");
  await store.close();
});

test("a database that can't be reached is UNAVAILABLE", async () => {
  const store = postgresStore(openDatabase({ url: "postgres://nobody@127.0.0.1:1/none" }));
  await expect(store.tenants.get("t")).rejects.toMatchObject({ code: "UNAVAILABLE" });
  await expect(store.transaction((tx) => tx.tenants.get("t"))).rejects.toMatchObject({ code: "UNAVAILABLE" });
  await store.close();
});

test("transactions that deadlock are tried again", async () => {
  const { store } = await postgresHarness();
  const one = await newSession(store);
  const two = await newSession(store);
  let calls = 0;
  const both = (first: typeof one, second: typeof one) =>
    store.transaction(async (tx) => {
      calls += 1;
      await tx.sessions.rename(first.actor, first.ref.session, "x");
      await new Promise((done) => setTimeout(done, 100));
      await tx.sessions.rename(second.actor, second.ref.session, "x");
    });
  await Promise.all([both(one, two), both(two, one)]);
  expect(calls).toBeGreaterThan(2);
  await store.close();
});

test("whatever refers to a session is found by an index when the session is erased", async () => {
  const { store, db } = await postgresHarness();
  const references = await sql<{ from: string; same: boolean; indexed: boolean }>`
    select k.conrelid::regclass::text as from, own.attcollation = other.attcollation as same,
      exists (select from pg_index i where i.indrelid = k.conrelid and i.indkey[0] = k.conkey[1]
        and i.indcollation[0] = other.attcollation and coalesce(pg_get_expr(i.indpred, i.indrelid), '') in ('', '(session_id IS NOT NULL)')) as indexed
    from pg_constraint k
    join pg_attribute own on own.attrelid = k.conrelid and own.attnum = k.conkey[1]
    join pg_attribute other on other.attrelid = k.confrelid and other.attnum = k.confkey[1]
    where k.contype = 'f' and k.confrelid = 'sessions'::regclass`.execute(db);
  expect(references.rows.length).toBeGreaterThanOrEqual(7);
  expect(references.rows.filter(({ same, indexed }) => !same || !indexed)).toEqual([]);
  await store.close();
});
